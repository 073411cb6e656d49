"""Random hostile inputs: a finite answer or a typed error that names the argument.

The ordinary run takes 100 examples an estimator, the same ones every time; ``RKHS_FUZZ=2000`` takes as many new ones.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import (
    CollapseWarning,
    InputError,
    JitterWarning,
    NotPositiveSemidefiniteWarning,
    RoundingWarning,
)
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial

CHOSEN = (CollapseWarning, JitterWarning, NotPositiveSemidefiniteWarning, RoundingWarning, ConvergenceWarning)
ASKED = os.environ.get("RKHS_FUZZ")
fuzz = settings(
    max_examples=int(ASKED or 100),
    derandomize=ASKED is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

SPECIAL = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e-310, 1e160, -0.0, 1e30]
NUMBERS = [
    0,
    1,
    2,
    3,
    -1,
    0.0,
    0.5,
    1.0,
    -1.0,
    1e-12,
    1e-300,
    1e300,
    float("nan"),
    float("inf"),
    None,
    "a",
    True,
    (1.0, 1.0),
]


def mostly(good: list[Any], any_of: list[Any]) -> st.SearchStrategy[Any]:
    """Good values most of the time, so that most fits get far."""
    return st.integers(0, 15).flatmap(lambda i: st.sampled_from(any_of if i == 7 else good))


@st.composite
def matrices(draw: st.DrawFn, rows: int | None = None, columns: int | None = None) -> np.ndarray:
    """Matrices of bad taste: duplicated, constant, of every scale and offset, with special values here and there."""
    n = draw(st.integers(1, 12)) if rows is None else rows
    d = draw(st.integers(1, 5)) if columns is None else columns
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["normal", "heavy", "integers", "few", "constant", "line", "zeros"]))
    X = {
        "normal": lambda: rng.standard_normal((n, d)),
        "heavy": lambda: rng.standard_cauchy((n, d)) ** 3,
        "integers": lambda: rng.integers(-3, 3, (n, d)).astype(float),
        "few": lambda: rng.standard_normal((2, d))[rng.integers(0, 2, n)] + 1e-9 * rng.standard_normal((n, d)),
        "constant": lambda: np.tile(rng.standard_normal(d), (n, 1)),
        "line": lambda: np.outer(rng.standard_normal(n), rng.standard_normal(d)),
        "zeros": lambda: np.zeros((n, d)),
    }[kind]()
    with np.errstate(all="ignore"):
        if draw(st.booleans()):
            X = X * 10.0 ** draw(st.sampled_from([-320, -160, -100, -20, -8, -1, 1, 8, 20, 100, 150, 300]))
        if draw(st.booleans()):
            X = X + 10.0 ** draw(st.sampled_from([0, 3, 9, 15, 100]))
        if draw(st.booleans()):
            X = X * 10.0 ** rng.integers(-8, 9, d)
        if draw(st.integers(0, 7)) == 5:
            X[rng.integers(n), rng.integers(d)] = draw(st.sampled_from(SPECIAL))
        dtype = draw(st.sampled_from(["f8", "f8", "f8", "f4", "f2", ">f8", "O"]))
        return X.astype(dtype)


def grams(X: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        X = X.astype(float)
        return X @ X.T


@st.composite
def weights(draw: st.DrawFn, n: int) -> np.ndarray | None:
    if draw(st.booleans()):
        return None
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    w = rng.integers(0, 3, n).astype(float) * 10.0 ** rng.integers(-6, 6, n)
    if draw(st.integers(0, 5)) == 0:
        w[0] = draw(st.sampled_from([*SPECIAL, -1.0]))
    return w


KERNELS: list[Any] = [
    "gaussian",
    "linear",
    "matern",
    "laplacian",
    "polynomial",
    Gaussian("scale"),
    Matern(2.5, "1/d"),
    Laplacian("l2"),
    Linear("mean_norm", "mean"),
    0.5 * Gaussian() + Linear(),
]
BAD_KERNELS: list[Any] = [
    "precomputed",
    "x",
    None,
    Gaussian(-1.0),
    Gaussian(1e300),
    Gaussian(1e-300),
    Polynomial(20),
    Matern(0.7),
    Linear(np.nan),
]

AUTOENCODER = st.fixed_dictionaries(
    {
        "n_components": mostly([1, 2, (3, 2)], [0, 20, 2.5, (2, 0), None]),
        "kernel": mostly(["auto", *KERNELS], BAD_KERNELS),
        "decoder_kernel": mostly(["auto", Gaussian(1.0), "linear"], [Gaussian("median"), Polynomial(3), "x"]),
        "output_kernel": mostly([None, "same"], ["linear", "x"]),
        "reg": mostly([None, 1e-3, (0.0, 1e-6)], NUMBERS),
        "center": mostly([True, False], [None]),
        "scale": mostly([True, False], [3]),
        "init": mostly(["kpca", "random"], ["x"]),
        "n_init": mostly([1], [2, 0]),
        "tol": mostly([1e-5, 0.0], [-1.0, None]),
        "dtype": mostly(["float64"], ["float32", "float16"]),
        "random_state": st.just(0),
        "max_iter": st.just(6),
    }
)
PCA = st.fixed_dictionaries(
    {
        "n_components": mostly([1, 2, None, 0.9], [0, 20, 1.0, (2,), -0.5, 1e-300]),
        "kernel": mostly(KERNELS, BAD_KERNELS),
        "center": mostly([True, False], [None]),
        "preimage": mostly(["ridge", "fixed_point", "nearest"], ["x"]),
        "decoder_kernel": mostly(["auto", "gaussian"], ["linear", "precomputed", "x"]),
        "reg": mostly([1e-5, 1e-12, 1.0], NUMBERS),
        "psd": mostly(["clip", "raise"], ["x"]),
        "dtype": mostly(["float64"], ["float32", "float16"]),
    }
)

NAMED = (
    r"\b(X|codes|sample_weight|Sample weights|candidates|targets|n_components|kernel|Gram matrix|reg|center|scale|"
    r"init|n_init|tol|dtype|psd|preimage|decoder_kernel|output_kernel|gamma|nu|features|array|reads|sample\(s\)|data)\b"
)


def survive(run: Callable[[], list[Any]]) -> None:
    """Finite numbers, or a typed error that names what is wrong; no warning that nobody chose."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in CHOSEN:
            warnings.simplefilter("ignore", kind)
        warnings.filterwarnings("ignore", "k\\(x, x\\) of the new items is unknown", UserWarning)
        try:
            out = run()
        except (ValueError, TypeError) as error:
            assert not isinstance(error, np.linalg.LinAlgError)
            if not isinstance(error, InputError):
                said = str(error).startswith(("Input X", "Input sample_weight", "Found array", "Sample weights"))
                assert said, error  # one of the messages of scikit-learn
            with pytest.raises(type(error), match=NAMED):
                raise error
            return
    for part in out:
        assert np.isfinite(np.asarray(part, dtype=float)).all()


def use(model: Any, X: Any, new: Any, w: Any) -> list[Any]:
    model.fit(X, sample_weight=w)
    codes = model.transform(new)
    return [model.codes_, codes, model.inverse_transform(codes), model.reconstruction_error(new)]


def explore(data: st.DataObject, make: Callable[..., Any], params: dict[str, Any]) -> None:
    X = data.draw(matrices())
    new = data.draw(matrices(rows=3, columns=X.shape[1])) if data.draw(st.booleans()) else X
    w = data.draw(weights(len(X)))
    survive(lambda: use(make(**params), X, new, w))


@fuzz
@given(data=st.data(), params=AUTOENCODER)
def test_autoencoder_on_vectors(data: st.DataObject, params: dict[str, Any]) -> None:
    explore(data, KernelAutoencoder, params)


@fuzz
@given(data=st.data(), params=PCA)
def test_pca_on_vectors(data: st.DataObject, params: dict[str, Any]) -> None:
    explore(data, KernelPCA, params)


@fuzz
@given(data=st.data(), autoencoder=st.booleans(), psd=st.sampled_from(["clip", "raise"]))
def test_gram_matrices(data: st.DataObject, autoencoder: bool, psd: str) -> None:
    X = data.draw(matrices())
    K = grams(X)
    change = data.draw(st.sampled_from(["none", "none", "shift", "bend", "sign", "transposed"]))
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        if change == "shift":
            K = K - 0.5 * np.diag(K).mean() * np.eye(len(K))
        elif change == "bend":
            K = K + 1e-3 * np.abs(K).max() * rng.standard_normal(K.shape)
        elif change == "sign":
            K = -K
    w = data.draw(weights(len(K)))
    model = (
        KernelAutoencoder(1, kernel="precomputed", psd=psd, max_iter=6)
        if autoencoder
        else KernelPCA(1, kernel="precomputed", psd=psd)
    )
    survive(lambda: use(model, K, K[:2], w))


VECTOR_KERNELS = [
    Gaussian(),
    Gaussian("scale"),
    Matern(0.5),
    Matern(2.5, "1/d"),
    Laplacian(),
    Laplacian("l2"),
    Linear(),
    Linear("mean_norm", "mean"),
    Polynomial(2),
    Gaussian() * Linear() + 0.5 * Matern(),
]


@fuzz
@given(data=st.data(), kernel=st.sampled_from(VECTOR_KERNELS))
def test_kernels(data: st.DataObject, kernel: Any) -> None:
    X = data.draw(matrices())
    survive(lambda: [kernel(X), kernel.diag(X)])
