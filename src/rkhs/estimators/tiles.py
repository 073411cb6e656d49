"""Results row by row of the input with bounded memory: in tiles, from files, to files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs.engines import Rows, as_rows
from rkhs.estimators.storage import is_stream, note_columns

__all__ = ["TILE_BYTES", "encode_tiles", "tile_rows", "tiles", "transform_rows"]

TILE_BYTES = 2**26
"""Kernel values of one tile."""


def tile_rows(support: int) -> int:
    """Rows of a tile whose kernel values with so many supports take 64 MiB."""
    return max(256, TILE_BYTES // (8 * max(support, 1)))


def tiles(n: int, step: int) -> Iterator[slice]:
    """Slices of at most ``step`` rows."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def encode_tiles(model: Any, X: Any, function: Callable[[Any], Tensor]) -> np.ndarray:
    """Results of a fitted model for rows of any origin, tile by tile, in the dtype of the training data.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : as for the model, or a stream of rows
    function : callable
        From items in the form that the kernel reads to a tensor of as many rows.

    Returns
    -------
    ndarray of shape (m, ...)
    """
    check_is_fitted(model)
    step = tile_rows(support_size(model))
    if model.kernel_.domain == "vectors" and is_stream(X):
        rows = as_rows(X)
        note_columns(model, rows, X, reset=False)
        return transform_rows(rows, lambda part: model._to_output(function(to_tensor(part, **model._options))), step)
    items = model._read_new(X)
    if len(items) <= step:
        return model._to_output(function(items))
    return np.concatenate([model._to_output(function(items[tile])) for tile in tiles(len(items), step)])


def support_size(model: Any) -> int:
    """How many kernel values a new item needs."""
    features = getattr(model, "map_", None)
    if features is not None:
        return int(features.width)
    support = model.support_items_
    return int(model._n_training if support is None else len(support))


def transform_rows(rows: Any, function: Callable[[np.ndarray], np.ndarray], step: int) -> np.ndarray:
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
