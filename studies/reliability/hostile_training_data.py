"""Hostile data handed to ``fit``: contents, shapes, containers, scales, offsets far from the origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import torch

from rkhs._core.errors import InputError
from rkhs.kernels import Laplacian, Linear, Matern
from studies.reliability.hostile_calls import MODELS, NEW, D, HostileCalls, N, X, ae, changed, pca, rebuilt

calls = HostileCalls()
refused, answered = calls.refused, calls.answered

for model_name, make in MODELS.items():

    def both(name: str, data: Callable[[], Any], match: str, error: type[Exception] = ValueError) -> None:
        def act(make: Callable[..., Any] = make, data: Callable[[], Any] = data) -> Any:
            return make().fit(data())

        refused(f"{model_name}: {name}", act, match, error)

    both("NaN", lambda: changed(np.nan), r"Input X contains NaN.* fit with columns='filled'.*curves_on_grid")
    both("infinity", lambda: changed(np.inf), r"Input X contains infinity")
    both("minus infinity", lambda: changed(-np.inf), r"Input X contains infinity")
    both("no rows", lambda: np.empty((0, 3)), r"X must have at least [12] rows?; got n_samples=0")
    both("no columns", lambda: np.empty((5, 0)), r"Found array with 0 feature\(s\) \(shape=\(5, 0\)\)")
    both("one dimension", lambda: X[:, 0], r"Expected 2D array, got 1D array instead")
    both("three dimensions", lambda: X.reshape(7, 2, 3), r"Found array with dim 3, while dim <= 2 is required")
    both("a number", lambda: 3.0, r"Expected 2D array, got scalar array instead")
    both("None", lambda: None, r"Expected 2D array, got scalar array instead")
    both("complex", lambda: X + 1j, r"Complex data not supported")
    both("strings", lambda: np.full((6, 2), "a"), r"X must hold numbers; got the text 'a' in column 0, row 0")
    both(
        "objects",
        lambda: changed("?", matrix=X.astype(object)),
        r"X must hold numbers; got the text '\?' in column 1, row 2",
    )
    both(
        "None inside",
        lambda: changed(None, matrix=X.astype(object)),
        r"Input X contains NaN|float\(\) argument.*NoneType",
    )
    both("dates", lambda: np.full((4, 2), "2020-01-01", dtype="M8[D]"), r"X must hold numbers; got dtype datetime64")
    both("ragged lists", lambda: [[1.0, 2.0], [3.0]], r"got rows of different lengths")
    both(
        "sparse with NaN",
        lambda: scipy.sparse.csr_matrix(changed(np.nan)),
        r"X must hold finite numbers; got NaN or infinity in row",
    )
    both(
        "sparse and complex",
        lambda: scipy.sparse.csc_array(X + 1j),
        r"X must hold real numbers; got a sparse csc_array of dtype complex128",
    )
    both("sparse without rows", lambda: scipy.sparse.csr_array((0, 3)), r"X must have rows and columns")
    both(
        "sparse in one dimension", lambda: scipy.sparse.coo_array(X[:, 0]), r"must have rows and columns|reads rows of"
    )
    both("sparse, overflowing", lambda: scipy.sparse.csr_array(X * 1e200), r"X must hold values of modulus under")
    both("a dictionary", lambda: {"a": 1.0}, "X must be rows in memory; got a dict")
    both("a sentence", lambda: "data", "X must be rows in memory; got an object of type str")
    both(
        "masked entry",
        lambda: np.ma.masked_array(X, mask=X > 1.0),
        r"X must have no missing values; got a masked array with \d+ masked entries",
    )
    both("overflowing squares", lambda: X * 1e200, r"X must hold values of modulus under .*; rescale the data")
    both("float64 limit", lambda: changed(np.finfo(float).max), r"X must hold values of modulus under")
    both("NaN in a tensor", lambda: torch.as_tensor(changed(np.nan)), r"Input X contains NaN")
    both("complex tensor", lambda: torch.as_tensor(X + 1j), r"Complex data not supported")
    both("one dimension in a tensor", lambda: torch.as_tensor(X[:, 0]), r"Expected 2D array, got 1D array instead")
    both(
        "sparse tensor",
        lambda: torch.as_tensor(X).to_sparse(),
        r"X must be a dense tensor; got layout torch.sparse_coo",
        InputError,
    )
    both(
        "record array",
        lambda: np.zeros(4, dtype=[("a", float), ("b", float)]),
        r"X must hold numbers; got dtype \[\('a'",
    )
    both(
        "subnormal values",
        lambda: X * 1e-310,
        r"X must vary by more than 1e-151, or not at all; got a largest spread of .*e-310",
    )
    both("squares that underflow", lambda: X * 1e-170, r"X must vary by more than 1e-151, or not at all")
refused("autoencoder: one row", lambda: ae().fit(X[:1]), r"X must have at least 2 rows; got n_samples=1", ValueError)
refused("autoencoder: two rows", lambda: ae().fit(X[:2]), r"n_components must be at most 1 for n_samples=2")
answered("pca: two rows", lambda: rebuilt(pca(), X[:2]))

for model_name, make in MODELS.items():

    def fine(name: str, data: Callable[[], Any], check: Callable[[Any], bool] | None = None, new: Any = NEW) -> None:
        def act(make: Callable[..., Any] = make, data: Callable[[], Any] = data, new: Any = new) -> Any:
            return rebuilt(make(), data(), new)

        answered(f"{model_name}: {name}", act, check)

    def same_as(model: Callable[..., Any] = make, data: np.ndarray = X, tol: float = 0.0) -> Callable[[Any], bool]:
        return lambda out: np.allclose(out[1], model().fit(data).transform(NEW), rtol=tol, atol=tol)

    both("constant data", lambda: np.ones((N, D)), r"X must hold at least two different items")
    both("zeros", lambda: np.zeros((N, D)), r"X must hold at least two different items")
    fine("one constant column", lambda: np.c_[X[:, :2], np.full(N, 7.0)])
    fine("three rows", lambda: X[:3])
    fine("every row twice", lambda: np.r_[X, X])
    fine("one row many times", lambda: np.r_[np.repeat(X[:1], 20, 0), X[:3]])
    fine("nearly equal rows", lambda: np.r_[X, X + 1e-13])
    fine("one column", lambda: X[:, :1], new=NEW[:, :1])
    fine("more columns than rows", lambda: np.tile(X, 30), new=np.tile(NEW, 30))
    fine("dependent columns", lambda: np.c_[X, X @ np.ones(3)], new=np.c_[NEW, NEW @ np.ones(3)])
    fine("one outlier", lambda: changed(1e12))
    fine("scales from 1e-8 to 1e8", lambda: X * [1e-8, 1.0, 1e8], new=NEW * [1e-8, 1.0, 1e8])
    fine("a subnormal column", lambda: X * [1e-310, 1.0, 1.0], new=NEW * [1e-310, 1.0, 1.0])
    fine("tiny values", lambda: X * 1e-100, new=NEW * 1e-100)
    fine("huge values", lambda: X * 1e100, new=NEW * 1e100)
    fine("nearly overflowing squares", lambda: X * 1e152, new=NEW * 1e152)
    fine("integers", lambda: np.arange(N * D).reshape(N, D))
    fine("small integers", lambda: np.arange(N * D, dtype=np.int8).reshape(N, D))
    fine("unsigned integers", lambda: np.arange(N * D, dtype=np.uint64).reshape(N, D))
    fine("booleans", lambda: X > 0.0)
    fine("float16", lambda: X.astype(np.float16))
    fine("long double", lambda: X.astype(np.longdouble), same_as())
    fine("big-endian", lambda: X.astype(">f8"), same_as())
    fine("negative strides", lambda: X[::-1, ::-1][::-1, ::-1], same_as())
    fine("Fortran order", lambda: np.asfortranarray(X), same_as())
    fine("every second column", lambda: np.repeat(X, 2, 1)[:, ::2], same_as())
    fine("list of lists", lambda: X.tolist(), same_as())
    fine("objects that are numbers", lambda: X.astype(object), same_as())
    fine("masked array without masked entries", lambda: np.ma.masked_array(X, mask=False), same_as())
    fine("matrix subclass view", lambda: X.view(type("Sub", (np.ndarray,), {})), same_as())
    fine("tensor that wants gradients", lambda: torch.tensor(X, requires_grad=True), same_as())
    fine("bfloat16 tensor", lambda: torch.tensor(X).to(torch.bfloat16))
    fine("float32 tensor", lambda: torch.tensor(X, dtype=torch.float32))
    fine("conjugated view of a tensor", lambda: torch.tensor(X + 0j).conj().real, same_as())
    fine("transposed tensor", lambda: torch.tensor(X.T.copy()).T, same_as())
    fine("read-only array", lambda: read_only(X), same_as())
    fine("sparse matrix", lambda: scipy.sparse.csr_matrix(X), same_as(tol=1e-4))
    fine("sparse array by columns", lambda: scipy.sparse.csc_array(X), same_as(tol=1e-4))


def read_only(matrix: np.ndarray) -> np.ndarray:
    copy = matrix.copy()
    copy.flags.writeable = False
    return copy


def centred_twin(make: Callable[..., Any], offset: float) -> list[Any]:
    """Codes of the data at an offset less those of the data at the origin, relative to their size."""
    base = np.round(X * 2**12) / 2**12  # so that the offset loses no digit of the data
    new = np.round(NEW * 2**12) / 2**12
    far, near = make().fit(base + offset), make().fit(base)
    a, b = far.transform(new + offset), near.transform(new)
    return [
        np.abs(a - b).max() / np.abs(b).max(),
        np.abs(far.reconstruction_error(new + offset) - near.reconstruction_error(new)).max(),
    ]


for model_name, make in MODELS.items():
    for offset in (1e3, -1e6, 2.0**30, 1e9):
        answered(
            f"{model_name}: offset {offset:g}",
            lambda make=make, offset=offset: centred_twin(make, offset),
            lambda out: out[0] < 1e-6 and out[1] < 1e-5,
        )
    for label, kernel in {
        "linear": Linear("mean_norm", "mean"),
        "matern": Matern(0.5),
        "laplacian": Laplacian(),
        "laplacian l2": Laplacian("l2"),
    }.items():
        answered(
            f"{model_name}: offset 1e9, {label}",
            lambda make=make, kernel=kernel: centred_twin(lambda: make(kernel=kernel), 1e9),
            lambda out: out[0] < 1e-6 and out[1] < 1e-5,
        )
