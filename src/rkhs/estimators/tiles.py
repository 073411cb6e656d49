"""Results row by row of the input with bounded memory: in tiles, and from files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs.engines import Rows, as_rows

if TYPE_CHECKING:
    from rkhs.estimators.options.arguments import Items

__all__ = [
    "TILE_BYTES",
    "is_stream",
    "tile_rows",
    "tiles",
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


def transform_rows(rows: Items | Rows, function: Callable[[np.ndarray], np.ndarray], step: int) -> np.ndarray:
    """Stack what a function returns for tiles of rows."""
    source: Rows = as_rows(rows)
    out: np.ndarray | None = None
    for tile in tiles(source.shape[0], step):
        part = function(source.read(tile.start, tile.stop))
        if out is None:
            out = np.empty((source.shape[0], *part.shape[1:]), part.dtype)
        out[tile] = part
    assert out is not None
    return out
