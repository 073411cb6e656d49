# ruff: noqa: E501 -- a case with its message is one line
"""Hostile inputs written by hand: each is refused with a message that names the argument, or answered with finite numbers.

A refusal states what was expected and what came. An answer may warn, but only with a warning that somebody chose: never
a bare one from NumPy, never a silent NaN, never an error of LAPACK or torch.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import CollapseWarning, InputError, JitterWarning, NotPositiveSemidefiniteWarning
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Product, Scaled, Sum

CHOSEN = (CollapseWarning, JitterWarning, NotPositiveSemidefiniteWarning, ConvergenceWarning)
RNG = np.random.default_rng(3)
N, D = 14, 3
X = RNG.standard_normal((N, D))
NEW = RNG.standard_normal((5, D))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 3.0)
K_NEW = np.exp(-((NEW[:, None] - X[None]) ** 2).sum(-1) / 3.0)


@dataclass(frozen=True)
class Case:
    """One hostile call, and what must come of it."""

    name: str
    act: Callable[[], Any]
    match: str = ""
    error: type[Exception] = InputError
    check: Callable[[Any], bool] | None = None


REFUSED: list[Case] = []
ANSWERED: list[Case] = []


def refused(name: str, act: Callable[[], Any], match: str, error: type[Exception] = InputError) -> None:
    """The call raises ``error`` with a message that matches."""
    REFUSED.append(Case(name, act, match, error))


def answered(name: str, act: Callable[[], Any], check: Callable[[Any], bool] | None = None) -> None:
    """The call returns finite numbers, which meet ``check``."""
    ANSWERED.append(Case(name, act, check=check))


def changed(value: Any, row: int = 2, column: int = 1, matrix: np.ndarray = X) -> np.ndarray:
    """A copy of the data with one entry replaced."""
    copy = matrix.copy()
    copy[row, column] = value
    return copy


def ae(**params: Any) -> KernelAutoencoder:
    return KernelAutoencoder(**{"max_iter": 100, **params})


def pca(**params: Any) -> KernelPCA:
    return KernelPCA(**params)


def rebuilt(model: Any, data: Any = X, new: Any = NEW, **fit: Any) -> list[Any]:
    """Everything that a fitted model says: codes, new codes, errors, and the way back."""
    model.fit(data, **fit)
    codes = model.transform(new)
    return [model.codes_, codes, model.reconstruction_error(new), model.inverse_transform(codes)]


MODELS: dict[str, Callable[..., Any]] = {"autoencoder": ae, "pca": pca}

# ---------------------------------------------------------------- the data of fit

for model_name, make in MODELS.items():

    def both(name: str, data: Callable[[], Any], match: str, error: type[Exception] = ValueError) -> None:
        def act(make: Callable[..., Any] = make, data: Callable[[], Any] = data) -> Any:
            return make().fit(data())

        refused(f"{model_name}: {name}", act, match, error)

    both("NaN", lambda: changed(np.nan), r"Input X contains NaN")
    both("infinity", lambda: changed(np.inf), r"Input X contains infinity")
    both("minus infinity", lambda: changed(-np.inf), r"Input X contains infinity")
    both("no rows", lambda: np.empty((0, 3)), r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)")
    both("no columns", lambda: np.empty((5, 0)), r"Found array with 0 feature\(s\) \(shape=\(5, 0\)\)")
    both("one dimension", lambda: X[:, 0], r"Expected 2D array, got 1D array instead")
    both("three dimensions", lambda: X.reshape(7, 2, 3), r"Found array with dim 3, while dim <= 2 is required")
    both("a number", lambda: 3.0, r"Expected 2D array, got scalar array instead")
    both("None", lambda: None, r"Expected 2D array, got scalar array instead")
    both("complex", lambda: X + 1j, r"Complex data not supported")
    both("strings", lambda: np.full((6, 2), "a"), r"could not convert string to float: .*'a'")
    both("objects", lambda: changed("?", matrix=X.astype(object)), r"could not convert string to float: '\?'")
    both(
        "None inside",
        lambda: changed(None, matrix=X.astype(object)),
        r"Input X contains NaN|float\(\) argument.*NoneType",
    )
    both("dates", lambda: np.full((4, 2), "2020-01-01", dtype="M8[D]"), r"X must hold numbers; got dtype datetime64")
    both("ragged lists", lambda: [[1.0, 2.0], [3.0]], r"inhomogeneous shape")
    both(
        "sparse",
        lambda: scipy.sparse.csr_matrix(X),
        r"Sparse data was passed for X, but dense data is required",
        TypeError,
    )
    both(
        "sparse array",
        lambda: scipy.sparse.csc_array(X),
        r"Sparse data was passed for X, but dense data is required",
        TypeError,
    )
    both("a dictionary", lambda: {"a": 1.0}, r"must be a string or a real number, not 'dict'", TypeError)
    both("a sentence", lambda: "data", r"could not convert string to float: .*'data'")
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
refused("autoencoder: one row", lambda: ae().fit(X[:1]), r"minimum of 2 is required", ValueError)

for model_name, make in MODELS.items():

    def fine(name: str, data: Callable[[], Any], check: Callable[[Any], bool] | None = None, new: Any = NEW) -> None:
        def act(make: Callable[..., Any] = make, data: Callable[[], Any] = data, new: Any = new) -> Any:
            return rebuilt(make(), data(), new)

        answered(f"{model_name}: {name}", act, check)

    def same_as(model: Callable[..., Any] = make, data: np.ndarray = X, tol: float = 0.0) -> Callable[[Any], bool]:
        return lambda out: np.allclose(out[1], model().fit(data).transform(NEW), rtol=tol, atol=tol)

    fine("constant data", lambda: np.ones((N, D)))
    fine("zeros", lambda: np.zeros((N, D)))
    fine("one constant column", lambda: np.c_[X[:, :2], np.full(N, 7.0)])
    fine("two equal rows", lambda: np.r_[X[:1], X[:1]])
    fine("two rows", lambda: X[:2])
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

# ---------------------------------------------------------------- the data of transform and inverse_transform

for model_name, make in MODELS.items():

    def after(
        name: str,
        use: Callable[[Any], Any],
        match: str,
        error: type[Exception] = ValueError,
        make: Callable[..., Any] = make,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: use(make().fit(X)), match, error)

    for method in ("transform", "inverse_transform", "reconstruction_error", "score", "decode"):
        refused(
            f"{model_name}: {method} before fit",
            lambda make=make, method=method: getattr(make(), method)(X),
            r"not fitted yet",
            NotFittedError,
        )
    after(
        "transform of more columns",
        lambda m: m.transform(np.c_[X, X]),
        r"X has 6 features, but Kernel\w+ is expecting 3 features",
    )
    after(
        "transform of fewer columns",
        lambda m: m.transform(X[:, :2]),
        r"X has 2 features, but Kernel\w+ is expecting 3 features",
    )
    after("transform of one dimension", lambda m: m.transform(X[0]), r"Expected 2D array, got 1D array")
    after("transform of NaN", lambda m: m.transform(changed(np.nan)), r"Input X contains NaN")
    after("transform of no rows", lambda m: m.transform(X[:0]), r"Found array with 0 sample")
    after("transform of huge values", lambda m: m.transform(X * 1e200), r"X must hold values of modulus under")
    after("transform of complex", lambda m: m.transform(X + 1j), r"Complex data not supported")
    after("errors of more columns", lambda m: m.reconstruction_error(np.c_[X, X]), r"X has 6 features")
    after(
        "codes of another width",
        lambda m: m.inverse_transform(np.zeros((4, 5))),
        r"codes must be a finite array of shape \(m, 2\).*got shape \(4, 5\)",
    )
    after(
        "codes with NaN",
        lambda m: m.inverse_transform([[np.nan, 0.0]]),
        r"codes must be a finite array of shape \(m, 2\).*NaN or infinity",
    )
    after(
        "codes of one dimension",
        lambda m: m.inverse_transform([0.0, 0.0]),
        r"codes must be a finite array of shape \(m, 2\).*got shape \(2,\)",
    )
    after(
        "codes of strings", lambda m: m.inverse_transform([["a", "b"]]), r"codes must hold real numbers; got dtype <U1"
    )
    after(
        "complex codes",
        lambda m: m.inverse_transform(np.zeros((1, 2)) + 1j),
        r"codes must hold real numbers; got dtype complex128",
    )
    after(
        "ragged codes",
        lambda m: m.inverse_transform([[1.0], [1.0, 2.0]]),
        r"codes must hold real numbers; got .*inhomogeneous",
    )
    after(
        "sparse codes",
        lambda m: m.inverse_transform(scipy.sparse.csr_matrix(np.zeros((2, 2)))),
        r"codes must be a dense array; got a sparse",
    )
    after(
        "no codes",
        lambda m: m.inverse_transform(np.empty((0, 2))),
        r"codes must have at least one row; got n_samples=0",
    )
    after(
        "huge codes", lambda m: m.inverse_transform(np.full((1, 2), 1e200)), r"codes must hold values of modulus under"
    )
    after(
        "candidates of another width",
        lambda m: m.decode(m.codes_, np.zeros((4, 5))),
        r"candidates must .*\(m, 3\); got shape \(4, 5\)|X has 5 features",
    )
    after(
        "candidates with NaN",
        lambda m: m.decode(m.codes_, changed(np.nan)),
        r"candidates must be .*finite|Input X contains NaN",
    )
    after(
        "no candidates",
        lambda m: m.decode(m.codes_, X[:0]),
        r"candidates must have at least one row; got n_samples=0|0 sample",
    )
    after(
        "candidates of strings",
        lambda m: m.decode(m.codes_, [["a", "b", "c"]]),
        r"candidates must hold real numbers|could not convert string",
    )
    after("n_best = 0", lambda m: m.decode(m.codes_, X, n_best=0), r"n_best must be an integer >= 1; got 0")
    after("n_best = 1.5", lambda m: m.decode(m.codes_, X, n_best=1.5), r"n_best must be an integer >= 1; got 1.5")
    answered(
        f"{model_name}: n_best above the candidates",
        lambda make=make: make().fit(X).decode(X[:2, :2], X, n_best=99).distances,
    )
    answered(f"{model_name}: far new rows", lambda make=make: rebuilt(make(), X, NEW * 1e50))
    answered(f"{model_name}: far codes", lambda make=make: make().fit(X).inverse_transform(np.full((2, 2), 1e30)))

# ---------------------------------------------------------------- parameters of both

for model_name, make in MODELS.items():

    def wrong(
        name: str,
        match: str,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
        data: Any = X,
        error: type[Exception] = InputError,
        **params: Any,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: make(**params).fit(data), match, error)

    wrong("n_components = 0", r"n_components must be an integer .*; got 0", n_components=0)
    wrong("n_components = -1", r"n_components must be an integer .*; got -1", n_components=-1)
    wrong("n_components = '2'", r"n_components must be .*; got '2'", n_components="2")
    wrong("n_components = True", r"n_components must be .*; got True", n_components=True)
    wrong("n_components = NaN", r"n_components must be .*; got nan", n_components=float("nan"))
    wrong("n_components = 2.5", r"n_components must be .*; got 2.5", n_components=2.5)
    wrong("kernel by a wrong name", r"kernel must be .*; got 'gausian'", kernel="gausian")
    wrong("kernel = 3", r"kernel must be .*; got 3", kernel=3)
    wrong("kernel = None", r"kernel must be .*; got None", kernel=None)
    wrong(
        "kernel class instead of an object",
        r"kernel must be an instance; got the class Gaussian. Write Gaussian\(\)",
        kernel=Gaussian,
    )
    wrong(
        "negative gamma", r"Gaussian.gamma must be > 0 or 'median' or 'scale' or '1/d'; got -1.0", kernel=Gaussian(-1.0)
    )
    wrong("gamma = 0", r"Gaussian.gamma must be > 0 .*; got 0", kernel=Gaussian(0))
    wrong("gamma = NaN", r"Gaussian.gamma must be > 0 .*; got nan", kernel=Gaussian(float("nan")))
    wrong("gamma = infinity", r"Gaussian.gamma must be > 0 .*; got inf", kernel=Gaussian(float("inf")))
    wrong("gamma by a wrong name", r"Gaussian.gamma must be > 0 or one of .*; got 'auto'", kernel=Gaussian("auto"))
    wrong("gamma = None", r"Gaussian.gamma must be > 0 .*; got None", kernel=Gaussian(None))
    wrong("gamma = True", r"Gaussian.gamma must be > 0 .*; got True", kernel=Gaussian(True))
    wrong("gamma a list", r"Gaussian.gamma must be > 0 .*; got \[1.0\]", kernel=Gaussian([1.0]))
    wrong(
        "gamma that overflows",
        r"Matern.gamma must be at most 1e\+150; got 1.0e\+200. Rescale",
        kernel=Matern(0.5, 1e200),
    )
    wrong("nu = 1", r"Matern.nu must be 0.5, 1.5 or 2.5; got 1", kernel=Matern(1))
    wrong("nu = array", r"Matern.nu must be 0.5, 1.5 or 2.5; got array", kernel=Matern(np.array([0.5, 1.5])))
    wrong("norm = 'l3'", r"Laplacian.norm must be 'l1' or 'l2'; got 'l3'", kernel=Laplacian("l3"))
    wrong("degree = 0", r"Polynomial.degree must be an integer >= 1; got 0", kernel=Polynomial(0))
    wrong("degree = 2.5", r"Polynomial.degree must be an integer >= 1; got 2.5", kernel=Polynomial(2.5))
    wrong(
        "negative offset of a polynomial", r"Polynomial.offset must be >= 0; got -1.0", kernel=Polynomial(2, 1.0, -1.0)
    )
    wrong(
        "scale of a polynomial by a wrong name",
        r"Polynomial.scale must be > 0 or '1/d'; got 'x'",
        kernel=Polynomial(2, "x"),
    )
    wrong("scale of a linear kernel = 0", r"Linear.scale must be > 0 or 'mean_norm'; got 0.0", kernel=Linear(0.0))
    wrong(
        "offset of another length",
        r"Linear.offset must have shape \(3,\).*got \(2,\)",
        kernel=Linear(offset=np.zeros(2)),
    )
    wrong(
        "offset with NaN", r"Linear.offset must be finite; got NaN", kernel=Linear(offset=np.array([0.0, np.nan, 0.0]))
    )
    wrong(
        "offset of strings",
        r"Linear.offset must hold real numbers; got dtype <U1",
        kernel=Linear(offset=["a", "b", "c"]),
    )
    wrong("scaled by zero", r"Scaled.scale must be > 0; got 0.0", kernel=Scaled(Gaussian(), 0.0))
    wrong("scaled by minus one", r"Scaled.scale must be > 0; got -1.0", kernel=-1.0 * Gaussian())
    wrong("scaled nothing", r"Scaled.base must be a kernel; got 'gaussian'", kernel=Scaled("gaussian", 1.0))
    wrong("empty sum", r"Sum.terms must be a tuple of at least one kernel; got \(\)", kernel=Sum(()))
    wrong("sum with a number", r"Sum.terms must be kernels; got 1.0", kernel=Sum((Gaussian(), 1.0)))
    wrong("product with a name", r"Product.terms must be kernels; got 'linear'", kernel=Product((Gaussian(), "linear")))
    wrong(
        "values that overflow",
        r"the kernel Polynomial.*gives values that are not finite on these data; rescale",
        kernel=Polynomial(9),
        data=X * 1e60,
    )
    wrong("psd by a wrong name", r"psd must be one of 'clip', 'raise'; got 'fix'", psd="fix")
    wrong("psd = None", r"psd must be one of 'clip', 'raise'; got None", psd=None)
    wrong("device by a wrong name", r"device must be one of 'auto', 'cpu', 'cuda', 'mps'; got 'tpu'", device="tpu")
    wrong("device an object", r"device must be one of .*; got device\(type='cpu'\)", device=torch.device("cpu"))
    wrong("dtype by a wrong name", r"dtype must be one of 'float64', 'float32'; got 'float16'", dtype="float16")
    wrong("dtype an object", r"dtype must be one of .*; got torch.float32", dtype=torch.float32)
    wrong("center = 'yes'", r"center must be True or False; got 'yes'", center="yes")
    wrong("center = None", r"center must be True or False; got None", center=None)
    wrong("center = array", r"center must be True or False; got array", center=np.array([True, False]))
    wrong("float32 overflow", r"X must hold values of modulus under", dtype="float32", data=X * 1e20)

# ---------------------------------------------------------------- parameters of one

refused(
    "pca: n_components above the rows",
    lambda: pca(n_components=99).fit(X),
    r"n_components must be an integer from 1 to 14 \(the number of samples\); got 99",
)
refused(
    "pca: n_components = 1.0",
    lambda: pca(n_components=1.0).fit(X),
    r"n_components must be an integer >= 1, a share in \(0, 1\) or None; got 1.0",
)
refused("pca: n_components = 0.0", lambda: pca(n_components=0.0).fit(X), r"a share in \(0, 1\) or None; got 0.0")
refused("pca: n_components = -0.5", lambda: pca(n_components=-0.5).fit(X), r"a share in \(0, 1\) or None; got -0.5")
refused(
    "pca: n_components a tuple",
    lambda: pca(n_components=(2, 3)).fit(X),
    r"n_components must be an integer >= 1.*; got \(2, 3\)",
)
refused(
    "pca: preimage by a wrong name",
    lambda: pca(preimage="mika").fit(X),
    r"preimage must be one of 'ridge', 'fixed_point', 'nearest'; got 'mika'",
)
refused("pca: reg = 0", lambda: pca(reg=0.0).fit(X), r"reg must be > 0; got 0.0")
refused("pca: reg = -1", lambda: pca(reg=-1.0).fit(X), r"reg must be > 0; got -1.0")
refused("pca: reg = NaN", lambda: pca(reg=np.nan).fit(X), r"reg must be > 0; got nan")
refused("pca: reg a tuple", lambda: pca(reg=(1.0, 1.0)).fit(X), r"reg must be > 0; got \(1.0, 1.0\)")
refused(
    "pca: decoder_kernel by a wrong name",
    lambda: pca(decoder_kernel="x").fit(X),
    r"decoder_kernel: kernel must be one of .*; got 'x'",
)
refused(
    "pca: decoder_kernel of Gram matrices",
    lambda: pca(decoder_kernel="precomputed").fit(X),
    r"decoder_kernel: decoder_kernel must be a kernel on vectors; got",
)
refused(
    "pca: space by a wrong name",
    lambda: pca().fit(X).reconstruction_error(X, space="x"),
    r"space must be one of 'auto', 'input', 'feature'; got 'x'",
)
refused(
    "pca: input space of a Gram matrix",
    lambda: pca(kernel="precomputed").fit(K).reconstruction_error(K, space="input"),
    r"space='input' needs vector inputs",
)
answered("pca: all components of duplicated rows", lambda: rebuilt(pca(n_components=None), np.r_[X, X]))
answered("pca: as many components as rows", lambda: rebuilt(pca(n_components=N)))
answered("pca: a share of constant data", lambda: rebuilt(pca(n_components=0.9), np.ones((6, 3))))
answered("pca: one row", lambda: pca(n_components=1).fit(X[:1]).transform(NEW))
for preimage in ("fixed_point", "nearest"):
    answered(
        f"pca: {preimage} of constant data", lambda preimage=preimage: rebuilt(pca(preimage=preimage), np.ones((6, 3)))
    )
    answered(f"pca: {preimage} of far rows", lambda preimage=preimage: rebuilt(pca(preimage=preimage), X, NEW * 1e6))
    answered(
        f"pca: {preimage} at tiny scale",
        lambda preimage=preimage: rebuilt(pca(preimage=preimage), X * 1e-8, NEW * 1e-8),
    )
    answered(
        f"pca: {preimage} at huge scale", lambda preimage=preimage: rebuilt(pca(preimage=preimage), X * 1e8, NEW * 1e8)
    )
    answered(
        f"pca: {preimage} of a polynomial",
        lambda preimage=preimage: rebuilt(pca(preimage=preimage, kernel=Polynomial(3))),
    )


def wrong_ae(name: str, match: str, error: type[Exception] = InputError, **params: Any) -> None:
    refused(f"autoencoder: {name}", lambda: ae(**params).fit(X), match, error)


wrong_ae(
    "n_components = ()", r"n_components must be an integer >= 1 or a tuple of such; got an empty one", n_components=()
)
wrong_ae("n_components = (3, 0)", r"n_components must be an integer >= 1; got 0", n_components=(3, 0))
wrong_ae("n_components = (3, 2.0)", r"n_components must be an integer >= 1; got 2.0", n_components=(3, 2.0))
wrong_ae("n_components = None", r"n_components must be an integer >= 1; got None", n_components=None)
wrong_ae("n_components a matrix", r"n_components must be an integer >= 1; got", n_components=np.ones((2, 2), dtype=int))
wrong_ae("reg = -1", r"reg must be >= 0; got -1.0", reg=-1.0)
wrong_ae("reg = 0", r"reg of the last layer must be > 0: .*; try 1e-8", reg=0.0)
wrong_ae("reg of the last layer = 0", r"reg of the last layer must be > 0", reg=(1.0, 0.0))
wrong_ae("reg = NaN", r"reg must be >= 0; got nan", reg=np.nan)
wrong_ae("reg = infinity", r"reg must be >= 0; got inf", reg=np.inf)
wrong_ae("reg = '1'", r"reg must be >= 0, one number or one a layer, or 'auto'; got '1'", reg="1")
wrong_ae("reg of three layers", r"reg must be one number or 2, one a layer, encoder first; got 3", reg=(1.0, 1.0, 1.0))
wrong_ae("reg empty", r"reg must be one number or 2, one a layer, encoder first; got 0", reg=())
wrong_ae("solver by a wrong name", r"solver must be .*; got 'sgd'", solver="sgd")
wrong_ae("init by a wrong name", r"init must be one of 'kpca', 'random'; got 'pca'", init="pca")
wrong_ae("n_init = 0", r"n_init must be an integer >= 1; got 0", n_init=0)
wrong_ae("max_iter = 0", r"max_iter must be an integer >= 1; got 0", max_iter=0)
wrong_ae("max_iter = 1.5", r"max_iter must be an integer >= 1; got 1.5", max_iter=1.5)
wrong_ae("tol = -1", r"tol must be >= 0; got -1", tol=-1)
wrong_ae("tol = NaN", r"tol must be >= 0; got nan", tol=np.nan)
wrong_ae("tol = 'tight'", r"tol must be >= 0; got 'tight'", tol="tight")
wrong_ae("random_state = 'a'", r"random_state must be .*; got 'a'", random_state="a", n_init=2)
wrong_ae("random_state = -1", r"random_state must be .*; got -1", random_state=-1, n_init=2)
wrong_ae("scale = 'std'", r"scale must be True or False; got 'std'", scale="std")
wrong_ae("warm_start = 'no'", r"warm_start must be True or False; got 'no'", warm_start="no")
wrong_ae("verbose = 'loud'", r"verbose must be .*; got 'loud'", verbose="loud")
wrong_ae("decoder_kernel by a wrong name", r"decoder_kernel: kernel must be one of .*; got 'x'", decoder_kernel="x")
wrong_ae("decoder_kernel = 3", r"decoder_kernel: kernel must be .*; got 3", decoder_kernel=3)
wrong_ae(
    "decoder_kernel with a bandwidth from data",
    r"decoder_kernel must have numbers for its bandwidths.*; got Gaussian",
    decoder_kernel=Gaussian("median"),
)
wrong_ae(
    "two decoder kernels for one layer",
    r"decoder_kernel must be one kernel or 1.*; got 2",
    decoder_kernel=(Gaussian(1.0), Gaussian(1.0)),
)
wrong_ae(
    "decoder_kernel of Gram matrices",
    r"decoder_kernel must be a differentiable kernel on vectors; got",
    decoder_kernel="precomputed",
)
wrong_ae(
    "negative gamma in the decoder",
    r"decoder_kernel: Gaussian.gamma must be > 0 .*; got -1.0",
    decoder_kernel=Gaussian(-1.0),
)
wrong_ae("output_kernel by a wrong name", r"output_kernel: kernel must be one of .*; got 'x'", output_kernel="x")
wrong_ae("output_kernel = 3", r"output_kernel: kernel must be .*; got 3", output_kernel=3)
wrong_ae(
    "output_kernel of other data",
    r"output_kernel reads gram, kernel reads vectors; pass fit\(X, targets=",
    output_kernel="precomputed",
)
wrong_ae(
    "operators = 'identity'",
    r"operators must be a sequence of 2 matrices or None.*; got 'identity'",
    operators="identity",
)
wrong_ae("three operators", r"operators must be a sequence of 2 matrices or None", operators=(None, None, None))
wrong_ae(
    "operator of another shape", r"operators\[0\] must have shape \(2, 2\); got \(3, 3\)", operators=(np.eye(3), None)
)
wrong_ae(
    "output operator of another shape",
    r"operators\[1\] must have shape \(3, 3\); got \(4, 4\)",
    operators=(None, np.eye(4)),
)
wrong_ae("operator not square", r"operators\[1\] must have shape .*; got \(3, 2\)", operators=(None, np.ones((3, 2))))
wrong_ae("operator a number", r"operators\[1\] must have shape .*; got \(\)", operators=(None, 2.0))
wrong_ae(
    "asymmetric operator", r"operators\[0\] must be symmetric", operators=(np.array([[1.0, 0.5], [0.0, 1.0]]), None)
)
wrong_ae(
    "indefinite operator",
    r"operators\[0\] must be positive semi-definite; its smallest eigenvalue is -1",
    operators=(np.diag([1.0, -1.0]), None),
)
wrong_ae(
    "operator with NaN",
    r"operators\[0\] must be finite; got NaN or infinity",
    operators=(np.full((2, 2), np.nan), None),
)
wrong_ae(
    "complex operator", r"operators\[0\] must hold real numbers; got dtype complex128", operators=(np.eye(2) * 1j, None)
)
wrong_ae(
    "operator of strings",
    r"operators\[0\] must hold real numbers; got dtype <U1",
    operators=([["a", "b"], ["c", "d"]], None),
)
answered("autoencoder: operator of zeros", lambda: rebuilt(ae(operators=(np.zeros((2, 2)), None))))
refused(
    "autoencoder: output operator of features",
    lambda: ae(output_kernel="same", operators=(None, np.eye(3))).fit(X),
    r"operators of the last layer must be None when features are rebuilt",
)
refused(
    "autoencoder: layer = 0", lambda: ae().fit(X).transform(X, layer=0), r"layer must be an integer from 1 to 1; got 0"
)
refused(
    "autoencoder: layer = 2 of 1",
    lambda: ae().fit(X).transform(X, layer=2),
    r"layer must be an integer from 1 to 1; got 2",
)
answered("autoencoder: encoder reg = 0", lambda: rebuilt(ae(reg=(0.0, 1e-3))))
answered("autoencoder: huge reg", lambda: rebuilt(ae(reg=1e50)))
refused("autoencoder: overflowing reg", lambda: ae(reg=1e100).fit(X), r"reg must be at most 1e\+60, .*; got 1e\+100")
answered("autoencoder: tiny reg", lambda: rebuilt(ae(reg=1e-300)))
answered("autoencoder: more components than rows", lambda: rebuilt(ae(n_components=40)))
answered("autoencoder: components as numpy integer", lambda: rebuilt(ae(n_components=np.int64(2))))
answered(
    "autoencoder: singular operator", lambda: rebuilt(ae(operators=(np.diag([1.0, 0.0]), np.diag([1.0, 0.0, 2.0]))))
)
answered("autoencoder: tiny operator", lambda: rebuilt(ae(operators=(np.eye(2) * 1e-200, None))))
answered("autoencoder: tol = 0", lambda: rebuilt(ae(tol=0.0)))
answered("autoencoder: linear kernels", lambda: rebuilt(ae(kernel="linear", decoder_kernel="linear")))
answered(
    "autoencoder: linear kernels, huge data",
    lambda: rebuilt(ae(kernel="linear", decoder_kernel="linear"), X * 1e70, NEW * 1e70),
)
answered("autoencoder: three layers of constant data", lambda: rebuilt(ae(n_components=(3, 2)), np.ones((6, 3))))
answered("autoencoder: three layers of duplicates", lambda: rebuilt(ae(n_components=(3, 2)), np.r_[X, X]))
answered("autoencoder: features of constant data", lambda: rebuilt(ae(output_kernel="same"), np.ones((6, 3))))
answered("autoencoder: features of duplicates", lambda: rebuilt(ae(output_kernel="same"), np.r_[X, X]))
answered(
    "autoencoder: random start of constant data", lambda: rebuilt(ae(init="random", random_state=0), np.ones((6, 3)))
)
answered("autoencoder: without centring or scaling", lambda: rebuilt(ae(center=False, scale=False), np.zeros((6, 3))))

# ---------------------------------------------------------------- targets


def wrong_targets(name: str, targets: Callable[[], Any], match: str, **params: Any) -> None:
    refused(f"autoencoder: {name}", lambda: ae(**params).fit(X, targets=targets()), match)


wrong_targets("targets with fewer rows", lambda: X[:5], r"targets must have one row a row of X, 14; got 5")
wrong_targets(
    "targets with NaN", lambda: changed(np.nan), r"targets must be a finite array of shape \(n, q\).*NaN or infinity"
)
wrong_targets(
    "targets of one dimension", lambda: X[:, 0], r"targets must be a finite array of shape \(n, q\); got shape \(14,\)$"
)
wrong_targets("complex targets", lambda: X + 1j, r"targets must hold real numbers; got dtype complex128")
wrong_targets("targets of strings", lambda: np.full((N, 2), "a"), r"targets must hold real numbers; got dtype <U1")
wrong_targets(
    "targets without columns", lambda: np.empty((N, 0)), r"targets must have at least one column; got shape \(14, 0\)"
)
wrong_targets("sparse targets", lambda: scipy.sparse.csr_matrix(X), r"targets must be a dense array; got a sparse")
wrong_targets("huge targets", lambda: X * 1e200, r"targets must hold values of modulus under")
wrong_targets(
    "masked targets",
    lambda: np.ma.masked_array(X, mask=X > 1.0),
    r"targets must have no missing values; got a masked array",
)
wrong_targets("targets = 3", lambda: 3.0, r"targets must be a finite array of shape \(n, q\); got shape \(\)")
refused(
    "autoencoder: errors without targets",
    lambda: ae().fit(X, targets=X[:, :2]).reconstruction_error(X),
    r"targets must be given: the model was fitted with fit\(X, targets=...\)",
)
refused(
    "autoencoder: errors with targets of another width",
    lambda: ae().fit(X, targets=X[:, :2]).reconstruction_error(X, targets=X),
    r"targets must be a finite array of shape \(m, 2\); got shape \(14, 3\)",
)
refused(
    "autoencoder: errors with fewer targets",
    lambda: ae().fit(X).reconstruction_error(X, targets=X[:5]),
    r"targets must have one row a row of X, 14; got 5",
)
refused(
    "autoencoder: one target for many",
    lambda: ae().fit(X).reconstruction_error(X, targets=X[:1]),
    r"targets must have one row a row of X, 14; got 1",
)
refused(
    "autoencoder: decode without stored targets",
    lambda: ae().fit(X, targets=X[:, :2]).decode(X[:, :2]),
    r"candidates must be given",
)
answered(
    "autoencoder: constant targets",
    lambda: ae().fit(X, targets=np.ones((N, 2))).reconstruction_error(X, targets=np.ones((N, 2))),
)
answered("autoencoder: integer targets", lambda: ae().fit(X, targets=np.ones((N, 1), dtype=int)).codes_)
answered(
    "autoencoder: targets at 1e9",
    lambda: ae().fit(X, targets=X + 1e9).codes_,
    lambda out: np.allclose(out, ae().fit(X, targets=X).codes_, rtol=1e-4, atol=1e-4),
)

# ---------------------------------------------------------------- sample weights

for model_name, make in MODELS.items():

    def weights(
        name: str,
        w: Any,
        match: str,
        error: type[Exception] = ValueError,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: make().fit(X, sample_weight=w), match, error)

    weights(
        "negative weight",
        np.r_[-1.0, np.ones(N - 1)],
        r"sample_weight must not be negative; got a smallest weight of -1",
        InputError,
    )
    weights("NaN weight", np.r_[np.nan, np.ones(N - 1)], r"Input sample_weight contains NaN")
    weights("infinite weight", np.r_[np.inf, np.ones(N - 1)], r"Input sample_weight contains infinity")
    weights("weights of another length", np.ones(N + 1), r"sample_weight.shape == \(15,\), expected \(14,\)")
    weights("weights all zero", np.zeros(N), r"sample_weight must have a positive sum; got zeros only|zero", ValueError)
    weights("weights in two dimensions", np.ones((N, 2)), r"Sample weights must be 1D")
    weights("weights of strings", np.full(N, "a"), r"could not convert string to float")
    answered(
        f"{model_name}: weights whose sum overflows", lambda make=make: rebuilt(make(), sample_weight=np.full(N, 1e308))
    )
    answered(
        f"{model_name}: weights over 16 orders", lambda make=make: rebuilt(make(), sample_weight=np.logspace(-8, 8, N))
    )
    answered(
        f"{model_name}: tiny weights", lambda make=make: rebuilt(make(), sample_weight=np.linspace(1e-300, 2e-300, N))
    )
    answered(
        f"{model_name}: subnormal weights",
        lambda make=make: rebuilt(make(), sample_weight=np.linspace(1e-320, 2e-320, N)),
    )
    answered(f"{model_name}: integer weights", lambda make=make: rebuilt(make(), sample_weight=np.arange(N)))
    answered(f"{model_name}: boolean weights", lambda make=make: rebuilt(make(), sample_weight=np.arange(N) > 3))
    answered(f"{model_name}: one weight", lambda make=make: rebuilt(make(), sample_weight=2.0))
    answered(
        f"{model_name}: one weight far above the others",
        lambda make=make: rebuilt(make(), sample_weight=np.r_[1e12, np.ones(N - 1)]),
    )
refused(
    "autoencoder: one row of positive weight",
    lambda: ae().fit(X, sample_weight=np.eye(N)[0]),
    r"X must have at least 2 rows of positive weight; got n_samples=1",
)
refused(
    "pca: more components than rows of positive weight",
    lambda: pca(n_components=2).fit(X, sample_weight=np.eye(N)[0]),
    r"n_components must be an integer from 1 to 1 \(the number of samples\); got 2",
)

# ---------------------------------------------------------------- Gram matrices

for model_name, make in MODELS.items():

    def gram(
        name: str,
        matrix: Callable[[], Any],
        match: str,
        error: type[Exception] = InputError,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
        **params: Any,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: make(kernel="precomputed", **params).fit(matrix()), match, error)

    def fine_gram(
        name: str,
        matrix: Callable[[], Any],
        new: Any = K_NEW,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
        **params: Any,
    ) -> None:
        def act() -> Any:
            model = make(kernel="precomputed", **params).fit(matrix())
            return [
                model.codes_,
                model.transform(new),
                model.inverse_transform(model.codes_),
                model.reconstruction_error(new, diag=new.max()),
            ]

        answered(f"{model_name}: {name}", act)

    def used(
        name: str,
        use: Callable[[Any], Any],
        match: str,
        error: type[Exception] = ValueError,
        make: Callable[..., Any] = make,
        model_name: str = model_name,
    ) -> None:
        refused(f"{model_name}: {name}", lambda: use(make(kernel="precomputed").fit(K)), match, error)

    gram("rectangular Gram matrix", lambda: K[:5], r"must be a square Gram matrix in fit .*; got shape \(5, 14\)")
    gram(
        "asymmetric Gram matrix",
        lambda: changed(2.0, matrix=K),
        r"must be symmetric; got entries that differ by .* from their mirror image",
    )
    gram(
        "slightly asymmetric Gram matrix",
        lambda: changed(K[2, 1] + 1e-4, matrix=K),
        r"must be symmetric; got entries that differ by 0.0001",
    )
    gram("Gram matrix with NaN", lambda: changed(np.nan, matrix=K), r"Input X contains NaN", ValueError)
    gram("Gram matrix with infinity", lambda: changed(np.inf, matrix=K), r"Input X contains infinity", ValueError)
    gram(
        "indefinite Gram matrix, psd='raise'",
        lambda: K - 0.5 * np.eye(N),
        r"must be positive semi-definite; its smallest eigenvalue is -.* times the largest",
        psd="raise",
    )
    gram("negative definite Gram matrix", lambda: -np.eye(N), r"must have a positive eigenvalue; got a largest of -1")
    gram("sparse Gram matrix", lambda: scipy.sparse.csr_matrix(K), r"Sparse data was passed for X", TypeError)
    gram("strings as a Gram matrix", lambda: np.full((3, 3), "CCO"), r"could not convert string to float", ValueError)
    gram("huge Gram matrix", lambda: K * 1e200, r"X must hold values of modulus under")
    fine_gram("indefinite Gram matrix", lambda: K - 0.5 * np.eye(N))
    fine_gram("negative diagonal entry", lambda: changed(-1.0, 0, 0, K))
    fine_gram("Gram matrix of zeros", lambda: np.zeros((N, N)))
    fine_gram("Gram matrix of ones", lambda: np.ones((N, N)))
    fine_gram("Gram matrix of rank one", lambda: np.outer(X[:, 0], X[:, 0]))
    fine_gram("identity as a Gram matrix", lambda: np.eye(N))
    fine_gram("Gram matrix asymmetric by rounding", lambda: changed(K[2, 1] * (1 + 1e-15), matrix=K))
    fine_gram("tiny Gram matrix", lambda: K * 1e-100, K_NEW * 1e-100)
    gram(
        "Gram matrix too small to invert",
        lambda: np.full((N, N), 1e-200),
        r"the kernel Precomputed.* gives values of at most 1.0e-200 on these data, too small",
    )
    gram("subnormal Gram matrix", lambda: K * 1e-310, r"X must vary by more than 1e-151")
    fine_gram("large Gram matrix", lambda: K * 1e100, K_NEW * 1e100)
    fine_gram("integer Gram matrix", lambda: np.eye(N, dtype=int) * 3)
    fine_gram("Gram matrix as a tensor", lambda: torch.as_tensor(K))
    fine_gram("Gram matrix plus a huge constant", lambda: K + 1e9, K_NEW + 1e9)
    fine_gram("Gram matrix with a zero row", lambda: K * np.outer(np.arange(N) > 0, np.arange(N) > 0))
    used(
        "kernel values of another width",
        lambda m: m.transform(K_NEW[:, :9]),
        r"X has 9 features, but Kernel\w+ is expecting 14 features",
    )
    used("kernel values with NaN", lambda m: m.transform(changed(np.nan, matrix=K_NEW)), r"Input X contains NaN")
    used(
        "candidates missing",
        lambda m: m.decode(m.codes_),
        r"candidates must be kernel values \(c, n\) with the training items",
    )
    used(
        "candidates of another width, Gram",
        lambda m: m.decode(m.codes_, K_NEW[:, :9]),
        r"candidates must be a finite array of shape \(c, 14\), kernel values with the training items; got shape \(5, 9\)",
    )
    used(
        "candidates with NaN, Gram",
        lambda m: m.decode(m.codes_, changed(np.nan, matrix=K_NEW)),
        r"candidates must be a finite array of shape \(c, 14\).*; got NaN or infinity",
    )
    used("candidates of strings, Gram", lambda m: m.decode(m.codes_, [["a"] * N]), r"candidates must hold real numbers")
    used("diag with NaN", lambda m: m.decode(m.codes_, K_NEW, diag=np.nan), r"diag must be finite and not negative")
    used("negative diag", lambda m: m.decode(m.codes_, K_NEW, diag=-1.0), r"diag must be finite and not negative")
    used(
        "diag of another length",
        lambda m: m.decode(m.codes_, K_NEW, diag=np.ones(3)),
        r"diag must be one number or 5 numbers, .*; got shape \(3,\)",
    )
    used(
        "diag = 'ones'",
        lambda m: m.reconstruction_error(K_NEW, diag="ones"),
        r"diag must hold real numbers; got dtype <U4",
    )
    used(
        "diag as a matrix",
        lambda m: m.reconstruction_error(K_NEW, diag=np.ones((2, 5))),
        r"diag must be one number or 5 numbers, .*; got shape \(2, 5\)",
    )

# ---------------------------------------------------------------- kernels by themselves

for kernel in (Gaussian(1.0), Laplacian("l1", 1.0), Matern(2.5, 1.0), Linear(), Polynomial(2, 1.0)):
    label = type(kernel).__name__
    refused(f"{label}: strings", lambda kernel=kernel: kernel([["a", "b"]]), r"reads numbers; got dtype <U1")
    refused(f"{label}: complex", lambda kernel=kernel: kernel(X + 1j), r"reads numbers; got dtype complex128")
    refused(
        f"{label}: one dimension",
        lambda kernel=kernel: kernel(X[0]),
        r"reads a 2-D array \(n samples, d inputs\); got shape \(3,\)",
    )
    refused(
        f"{label}: columns that differ",
        lambda kernel=kernel: kernel(X, X[:, :2]),
        r"X and Y must have as many columns; got shapes \(14, 3\) and \(14, 2\)",
    )
    refused(f"{label}: ragged", lambda kernel=kernel: kernel([[1.0, 2.0], [3.0]]), r"reads numbers; got dtype object")
    refused(
        f"{label}: NaN",
        lambda kernel=kernel: kernel(changed(np.nan)),
        r"reads finite numbers; got NaN or infinity in row 2",
    )
    refused(f"{label}: no rows", lambda kernel=kernel: kernel(X[:0]), r"got shape \(0, 3\), which holds no number")
    refused(
        f"{label}: complex tensor",
        lambda kernel=kernel: kernel(torch.as_tensor(X + 1j)),
        r"reads real numbers; got dtype torch.complex128",
    )
    refused(
        f"{label}: sparse",
        lambda kernel=kernel: kernel(scipy.sparse.csr_matrix(X)),
        r"reads dense arrays; got a sparse csr_matrix",
    )
    answered(f"{label}: integers", lambda kernel=kernel: kernel(np.arange(6).reshape(3, 2)))
    answered(f"{label}: constant data", lambda kernel=kernel: kernel(np.ones((4, 2))))
    answered(f"{label}: tensors and arrays together", lambda kernel=kernel: kernel(torch.as_tensor(X), X))

# ---------------------------------------------------------------- the tests


def numbers(out: Any) -> list[np.ndarray]:
    return [
        np.asarray(part.detach() if isinstance(part, torch.Tensor) else part, dtype=float)
        for part in (out if isinstance(out, list) else [out])
    ]


def test_there_are_enough_of_them() -> None:
    names = [case.name for case in REFUSED + ANSWERED]
    assert len(names) == len(set(names))
    assert len(names) >= 150


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused_with_a_message_that_names_the_argument(case: Case) -> None:
    with warnings.catch_warnings():
        for category in CHOSEN:
            warnings.simplefilter("ignore", category)
        with pytest.raises(case.error, match=re.compile(case.match, re.DOTALL)) as caught:
            case.act()
    assert isinstance(caught.value, (ValueError, TypeError))
    assert not isinstance(caught.value, np.linalg.LinAlgError)


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_answered_with_finite_numbers(case: Case) -> None:
    with warnings.catch_warnings():
        for category in CHOSEN:
            warnings.simplefilter("ignore", category)
        out = case.act()
    assert all(np.isfinite(part).all() for part in numbers(out))
    assert case.check is None or case.check(out)


def test_read_only_memory_map(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for make in MODELS.values():
        np.testing.assert_array_equal(make().fit(mapped).transform(mapped), make().fit(X).transform(X))
    np.testing.assert_array_equal(Gaussian(1.0)(mapped), Gaussian(1.0)(X))


def test_data_are_never_changed() -> None:
    for make in MODELS.values():
        data, new = X.copy(), NEW.copy()
        model = make().fit(data)
        codes = model.transform(new)
        kept = codes.copy()
        model.inverse_transform(codes)
        model.reconstruction_error(new)
        assert (data == X).all()
        assert (new == NEW).all()
        assert (codes == kept).all()
        matrix = K.copy()
        make(kernel="precomputed").fit(matrix).transform(matrix)
        assert (matrix == K).all()
