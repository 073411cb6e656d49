"""Near-singular, duplicated, scaled and shifted inputs against high precision or a rescaled computation.

The relative error stays under 1e-6, or a warning says what was changed; never NaN. ``RKHS_FUZZ`` multiplies the seeds.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian, Laplacian, Matern
from rkhs.problems.autoencoder import items_autoencoder

pytestmark = pytest.mark.filterwarnings("ignore::rkhs._core.errors.ColumnWarning")  # raw columns on purpose

SEEDS = range(2 if "RKHS_FUZZ" not in os.environ else 20)
N, D = 9, 3

SHAPES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "plain": lambda rng: rng.standard_normal((N, D)),
    "duplicated": lambda rng: rng.standard_normal((3, D))[[0, 1, 2, 0, 1, 2, 0, 1, 2]],
    "nearly duplicated": lambda rng: rng.standard_normal((3, D))[[0, 1, 2] * 3] + 1e-7 * rng.standard_normal((N, D)),
    "on a line": lambda rng: np.outer(rng.standard_normal(N), rng.standard_normal(D)),
    "one far point": lambda rng: np.r_[rng.standard_normal((N - 1, D)), np.full((1, D), 1e4)],
    "columns of all scales": lambda rng: rng.standard_normal((N, D)) * [1e-8, 1.0, 1e8],
}
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_seed = pytest.mark.parametrize("seed", SEEDS)


def make(shape: str, seed: int) -> np.ndarray:
    return SHAPES[shape](np.random.default_rng(seed))


def exact(X: np.ndarray, value: Callable[[Any], Any]) -> Any:
    """Gram matrix of a radial kernel in 50 digits from the doubles themselves."""
    rows = [[mpmath.mpf(float(v)) for v in row] for row in X]
    return mpmath.matrix([[value(sum((a - b) ** 2 for a, b in zip(r, s, strict=True))) for s in rows] for r in rows])


@pytest.mark.sample(6)
@each_shape
@each_seed
def test_eigenvalues_against_fifty_digits(shape: str, seed: int) -> None:
    X = make(shape, seed)
    X = X / np.abs(X).max(0) if "scales" in shape else X
    with mpmath.workdps(50):
        K = exact(X, lambda d: mpmath.exp(-d / 4))
        C = mpmath.eye(N) - mpmath.ones(N) / N
        values = mpmath.eigsy(C * K * C, eigvals_only=True)
        expected = np.array(sorted((float(v) for v in values), reverse=True))
    found = KernelPCA(None, kernel=Gaussian(0.25)).fit(X).eigenvalues_
    np.testing.assert_allclose(found, expected[: len(found)], rtol=1e-6, atol=1e-12 * expected[0])
    assert (expected[len(found) :] < 1e-12 * N).all()


@each_shape
@pytest.mark.parametrize("reg", [1e-1, 1e-6])
def test_decoder_against_fifty_digits(shape: str, reg: float) -> None:
    """``reg / 2 <T, (K + n reg I)^-1 T>`` at given codes."""
    Z, T = make(shape, 0), np.random.default_rng(1).standard_normal((N, 2))
    Z = Z / np.abs(Z).max(0) if "scales" in shape else Z
    with mpmath.workdps(50):
        K = exact(Z, lambda d: (1 + mpmath.sqrt(3 * d)) * mpmath.exp(-mpmath.sqrt(3 * d)))
        W = K + N * reg * mpmath.eye(N)
        columns = [mpmath.matrix(column.tolist()) for column in T.T]
        expected = float(sum((t.T * mpmath.lu_solve(W, t))[0, 0] for t in columns))
    codes = torch.from_numpy(Z)
    problem = items_autoencoder(factorize(codes @ codes.mT), torch.from_numpy(T), (Matern(1.5, 1.0),), (D,), (1.0, reg))
    assert problem.last_layer.solve(codes).value == pytest.approx(0.5 * reg * expected, rel=1e-6)


@each_shape
@pytest.mark.parametrize("offset", [0.0, 2.0**30])
@pytest.mark.parametrize("kernel", [Gaussian(0.25), Matern(0.5, 0.3), Laplacian("l1", 0.3)], ids=repr)
def test_kernel_values_against_fifty_digits(shape: str, offset: float, kernel: Any) -> None:
    X = np.round(make(shape, 3) * 2**16) / 2**16 + offset  # the offset loses no digit of these
    if "scales" in shape and offset:
        X = X[:, :2]
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(float(v)) for v in row] for row in X]

        def value(r: list[Any], s: list[Any]) -> float:
            gaps = [a - b for a, b in zip(r, s, strict=True)]
            if isinstance(kernel, Gaussian):
                return float(mpmath.exp(-sum(g**2 for g in gaps) * mpmath.mpf(kernel.gamma)))
            norm = mpmath.norm(gaps, 1 if isinstance(kernel, Laplacian) else 2)
            return float(mpmath.exp(-norm * mpmath.mpf(kernel.gamma)))

        expected = np.array([[value(r, s) for s in rows] for r in rows])
    # A double holds the distance to a far point with that point's rounding: compare up to what the inputs allow.
    near = np.abs(X - np.median(X, 0)).max(1) < 1e3
    found = kernel(X)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[np.ix_(near, near)], expected[np.ix_(near, near)], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["plain", "duplicated", "nearly duplicated", "on a line", "one far point"])
@pytest.mark.parametrize("scale", [1e-8, *(pytest.param(scale, marks=pytest.mark.slow) for scale in (1e-4, 1e4)), 1e8])
@pytest.mark.parametrize("kind", ["pca", "autoencoder"])
def test_scaled_data_have_scaled_answers(shape: str, scale: float, kind: str) -> None:
    X = make(shape, 4)
    power = 2.0 ** round(np.log2(scale))  # exact, so that both computations see the same data
    first, second = (KernelPCA(2) if kind == "pca" else KernelAutoencoder(2, max_iter=200) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first.fit(X)
        second.fit(X * power)
    if kind == "autoencoder":
        assert second.objective_ == pytest.approx(first.objective_, rel=1e-6)
    np.testing.assert_allclose(second.codes_, first.codes_, rtol=1e-6, atol=1e-6 * np.abs(first.codes_).max())
    np.testing.assert_allclose(
        second.inverse_transform(first.codes_) / power, first.inverse_transform(first.codes_), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize(
    ("kind", "offset"),
    [
        pytest.param(kind, offset, marks=pytest.mark.slow if (i + j) % 3 else ())
        for i, kind in enumerate(["pca", "deep", "autoencoder"])
        for j, offset in enumerate([1e3, 1e9, 1e6])
    ],
)
def test_shifted_data_have_the_same_codes(offset: float, kind: str) -> None:
    X = np.round(make("plain", 5) * 2**14) / 2**14
    first, second = (
        KernelPCA(2) if kind == "pca" else KernelAutoencoder(2 if kind == "autoencoder" else (3, 2), max_iter=30)
        for _ in range(2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        first.fit(X)
        second.fit(X + offset)
    np.testing.assert_allclose(second.codes_, first.codes_, atol=1e-6 * np.abs(first.codes_).max())
    np.testing.assert_allclose(
        second.inverse_transform(first.codes_) - offset, first.inverse_transform(first.codes_), atol=1e-5
    )


@each_shape
@each_seed
def test_factors_of_near_singular_matrices(shape: str, seed: int) -> None:
    X = make(shape, seed)
    K = torch.from_numpy(Gaussian()(X))
    factor = factorize(K)
    assert float((factor.matrix @ factor.matrix.mT - K).abs().max()) < 1e-11
    V = factor.solve(factor.matrix)
    assert torch.isfinite(V).all()
    assert float((V - torch.eye(V.shape[0], dtype=V.dtype)).abs().max()) < 1e-6


@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
def test_one_far_point_costs_the_others_nothing(far: float) -> None:
    X = np.r_[make("plain", 6), np.full((1, D), far)]
    D2 = ((X[:, None] - X[None]) ** 2).sum(-1)
    for kernel, distances in ((Gaussian(), D2), (Matern(0.5), np.sqrt(D2))):
        gamma = KernelPCA(2, kernel=kernel).fit(X).kernel_.gamma
        assert gamma == pytest.approx(1.0 / np.median(distances), rel=1e-12)
        np.testing.assert_allclose(kernel(X), np.exp(-gamma * distances), atol=1e-12)
        np.testing.assert_allclose(kernel.set_params(gamma=gamma)(X[:4], X), np.exp(-gamma * distances[:4]), atol=1e-12)
