"""Results row by row of the input with bounded memory: in tiles, from files, to files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rkhs._core.errors import InputError
from rkhs._core.files import atomic_path
from rkhs.engines import ArrayRows, Rows, as_rows

if TYPE_CHECKING:
    from rkhs.estimators.arguments import Items
    from rkhs.estimators.base import KernelEstimator

__all__ = [
    "TILE_BYTES",
    "check_width",
    "is_stream",
    "tile_rows",
    "tiles",
    "transform_file",
    "transform_rows",
]

TILE_BYTES = 2**26
"""Kernel values of one tile."""


def tile_rows(support: int) -> int:
    """Rows of a tile whose kernel values with so many supports take 64 MiB."""
    return max(256, TILE_BYTES // (8 * max(support, 1)))


def tiles(n: int, step: int) -> Iterator[slice]:
    """Slices of at most ``step`` rows."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def is_stream(X: Any) -> bool:
    """Whether data are read block by block: memory maps, open rows, paths and Dask collections."""
    library = type(X).__module__.partition(".")[0]
    return isinstance(X, (Rows, np.memmap)) or library in ("dask", "dask_expr")


def check_width(model: KernelEstimator, rows: Rows) -> None:
    """Refuse rows that have not the columns of the training rows."""
    if rows.shape[1] != model.n_features_in_:
        raise InputError(
            f"X has {rows.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features "
            "as input"
        )


def transform_rows(rows: Items | Rows, function: Callable[[np.ndarray], np.ndarray], step: int) -> np.ndarray:
    """Stack what a function returns for tiles of rows.

    Parameters
    ----------
    rows : Rows or what :func:`~rkhs.engines.as_rows` takes
    function : callable
    step : int
        Rows of a tile.

    Returns
    -------
    ndarray of shape (n, ...)
    """
    source: Rows = as_rows(rows)
    out: np.ndarray | None = None
    for tile in tiles(source.shape[0], step):
        part = function(source.read(tile.start, tile.stop))
        if out is None:
            out = np.empty((source.shape[0], *part.shape[1:]), part.dtype)
        out[tile] = part
    assert out is not None
    return out


def transform_file(
    model: KernelEstimator,
    source: Items | Rows | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    progress: bool = False,
    layer: int | None = None,
) -> tuple[int, int]:
    """Encode rows of a file, or of any size, into a ``.npy`` file, a tile at a time.

    Parameters
    ----------
    model : estimator
        Fitted; reads vectors.
    source : path of a .npy or parquet file or folder, memory map, or Rows
    path : str or path
        Ends in ``.npy``; it is complete or the old one stays.
    progress : bool, default=False
        Show rows done and time left on standard error.
    layer : int, optional
        Of a deep autoencoder.

    Returns
    -------
    tuple of int
        Shape of the codes.
    """
    if not os.fspath(path).lower().endswith(".npy"):
        raise InputError(f"codes are streamed to .npy files; got {os.fspath(path)!r}. Name a .npy file")
    check_is_fitted(model)
    if model.kernel_.domain != "vectors":
        raise InputError("streams are rows of numbers; this model reads other items. Leave out --stream")
    rows, options = as_rows(source), {} if layer is None else {"layer": layer}
    check_width(model, rows)
    n, step, clock = rows.shape[0], tile_rows(model.map_.width), time.perf_counter()
    width = 0
    # Written in order, not through a memory map: on a full disk a map ends the process without a word.
    with atomic_path(path) as temporary, open(temporary, "wb") as handle:
        for tile in tiles(n, step):
            part = np.ascontiguousarray(model.transform(ArrayRows(rows.read(tile.start, tile.stop)), **options))
            if tile.start == 0:
                width = part.shape[1]
                head = {"descr": np.lib.format.dtype_to_descr(part.dtype), "fortran_order": False, "shape": (n, width)}
                np.lib.format.write_array_header_1_0(handle, head)
            handle.write(part.data)
            if progress:
                left = (time.perf_counter() - clock) / tile.stop * (n - tile.stop)
                sys.stderr.write(f"\r{tile.stop} of {n} rows, {left:.0f} s left\x1b[K")
    if progress:
        sys.stderr.write("\n")
    return n, width
