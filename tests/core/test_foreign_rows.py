"""Rows of foreign classes are read, or refused with a way out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import rkhs
from rkhs import KernelNovelty, KernelPCA, OperatorKernelRegressor
from rkhs.errors import InputError
from rkhs.features import FilledTable

X = np.random.default_rng(0).normal(size=(12, 3))


class Foreign:
    """What NumPy reads by a method."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if self.rows is None:
            raise RuntimeError("it lies on another device")
        return self.rows


@pytest.mark.parametrize("columns", ["raw", "scaled", "filled"])
@pytest.mark.parametrize("made", [memoryview, Foreign])
def test_what_numpy_reads_is_read(made: Any, columns: str) -> None:
    expected = KernelPCA(2, columns=columns).fit(X)
    found = KernelPCA(2, columns=columns).fit(made(X))
    np.testing.assert_array_equal(found.transform(made(X[:4].copy())), expected.transform(X[:4]))


REFUSED = [
    (lambda: pl.DataFrame(X).lazy(), r"rows in memory; got a LazyFrame. Pass .\.collect\(\)"),
    (lambda: {"a": X[:, 0], "b": X[:, 1]}, "rows in memory; got a dict. Pass a frame, or a list of rows"),
    (lambda: {1.0, 2.0}, "rows in memory; got a set. Pass a frame, or a list of rows"),
    (
        lambda: Foreign(None),
        r"convertible to an array; its Foreign is not \(it lies on another device\)",
    ),
]


@pytest.mark.parametrize(("made", "message"), REFUSED)
def test_what_is_no_rows_is_refused_with_a_way_out(made: Any, message: str) -> None:
    for model in (KernelPCA(2), KernelPCA(2, columns="filled"), KernelNovelty(), rkhs.KernelAutoencoder(2)):
        with pytest.raises(InputError, match="X must be " + message):
            model.fit(made())
    with pytest.raises(InputError, match="X must be " + message):
        KernelPCA(2).fit(X).transform(made())
    with pytest.raises(InputError, match="y must be " + message):
        OperatorKernelRegressor().fit(X, made())


def test_a_sparse_frame_names_its_own_way_to_a_dense_one() -> None:
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.csr_array(np.maximum(X, 0.0)))
    for model in (KernelPCA(2), KernelNovelty(), rkhs.KernelAutoencoder(2)):
        with pytest.raises(InputError, match=r"dense frame; got sparse columns. Pass its sparse.to_dense\(\)"):
            model.fit(frame)
    assert KernelPCA(2).fit(frame.sparse.to_dense()).codes_.shape == (12, 2)


@pytest.mark.parametrize(("model", "least"), [(KernelNovelty(), 3), (rkhs.KernelAutoencoder(1), 2)])
def test_too_few_rows_are_counted(model: Any, least: int) -> None:
    for rows in (X, pd.DataFrame(X), scipy.sparse.csr_array(X)):
        few = rows[: least - 1]
        with pytest.raises(InputError, match=f"at least {least} rows; got n_samples={least - 1}. Give more rows"):
            model.fit(few)


@pytest.mark.parametrize(
    "huge", [10**400, -(10**5000), Fraction(10**400), complex(1.0, 1.0)], ids=lambda value: type(value).__name__
)
def test_a_cell_beyond_every_float_is_named_by_its_place(huge: Any) -> None:
    table = [[1.0, 2.0], [3.0, huge], [4.0, 5.0]]
    for model in (KernelPCA(2, columns="filled"), FilledTable()):
        with pytest.raises(InputError, match=r"reads finite numbers, .* in row 1, column 1. Make it a number"):
            model.fit(table)
