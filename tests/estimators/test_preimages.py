"""Pre-images within bounds: against SciPy from many starts, known answers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import (
    FromFunction,
    FunctionalGaussian,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Tanimoto,
)
from rkhs.problems.preimage import Preimage
from rkhs.solvers import PreimageInBox


def counts(n: int = 30, d: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).poisson(3.0, size=(n, d)).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.05), Matern(1.5, 0.3), Polynomial(2), Tanimoto(), FunctionalGaussian(0.3)], ids=repr
)
def test_no_start_finds_a_lower_point(kernel: Kernel) -> None:
    X = torch.from_numpy(counts())
    k = kernel.resolve(X)
    weights = torch.from_numpy(np.random.default_rng(1).dirichlet(np.full(30, 0.2), size=3))
    problem = Preimage(k, X, weights)
    low, high = torch.zeros(4, dtype=torch.float64), torch.full((4,), 6.0, dtype=torch.float64)
    found = PreimageInBox().solve(problem, low, high)
    assert bool(((found >= low) & (found <= high)).all())
    values = problem.values(found)
    rng = np.random.default_rng(2)
    for i in range(3):
        row = problem.rows(torch.tensor([i]))

        def value(y: np.ndarray, row: Any = row) -> float:
            return float(row.values(torch.from_numpy(y[None]))[0])

        ends = [minimize(value, rng.uniform(0, 6, 4), bounds=[(0, 6)] * 4, method="L-BFGS-B").fun for _ in range(5)]
        assert float(values[i]) <= min(ends) + 1e-5
    np.testing.assert_allclose(problem.table(found).diagonal(), values, rtol=1e-10, atol=1e-12)


def test_a_linear_kernel_gives_the_mean_put_into_the_box() -> None:
    X = counts() - 3.0
    model = KernelPCA(4, kernel=Linear()).fit(X)
    codes = model.transform(X[:5])
    np.testing.assert_allclose(model.preimages(codes), X[:5], atol=1e-5)
    np.testing.assert_allclose(model.preimages(codes, bounds=(0.0, None)), X[:5].clip(0.0), atol=1e-5)
    upper = np.array([1.0, 2.0, 0.5, 9.0])
    np.testing.assert_allclose(model.preimages(codes, bounds=(-1.0, upper)), X[:5].clip(-1.0, upper), atol=1e-5)


@pytest.mark.slow
def test_autoencoders_of_features_and_of_vectors() -> None:
    X, new = counts(60)[:40], counts(60)[40:]
    features = KernelAutoencoder(4, kernel=Gaussian(0.02), output_kernel="same").fit(X)
    codes = features.transform(new)
    back = features.preimages(codes, bounds=(0, None))
    assert back.min() >= 0.0
    nearest = X[features.decode(codes, n_best=1).indices[:, 0]]
    goal = torch.from_numpy(features.inverse_transform(codes))
    problem = Preimage(features.output_kernel_, torch.from_numpy(X), goal)
    assert bool((problem.values(torch.from_numpy(back)) <= problem.values(torch.from_numpy(nearest)) + 1e-12).all())
    assert ((back - new) ** 2).mean() < 0.5 * ((nearest - new) ** 2).mean()
    plain = KernelAutoencoder(2).fit(X)
    codes = plain.transform(X[:6])
    np.testing.assert_array_equal(plain.preimages(codes, bounds=(1, 4)), plain.inverse_transform(codes).clip(1, 4))
    tensor = plain.preimages(torch.from_numpy(codes), bounds=(1, 4))
    assert isinstance(tensor, torch.Tensor)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (3.0, "bounds must be a pair"),
        ((1.0, 0.0), "bounds must be in order; got 1 > 0 in column 0"),
        (([0.0, 1.0], None), r"arrays of shape \(4,\)"),
        ((np.nan, None), "bounds must be numbers"),
    ],
)
def test_bad_bounds(bounds: Any, message: str) -> None:
    model = KernelPCA(2).fit(counts())
    with pytest.raises(InputError, match=message):
        model.preimages(model.codes_[:2], bounds=bounds)


def test_models_without_vectors_say_what_to_do() -> None:
    model = KernelPCA(1, kernel=FromFunction(lambda x, y: float(len(set(x) & set(y))))).fit(["ab", "bc", "cd"])
    with pytest.raises(InputError, match="kernel of this model reads objects. Use decode"):
        model.preimages(model.codes_)
    few = KernelPCA(2, storage=Nystroem(10)).fit(counts())
    with pytest.raises(InputError, match="needs all training items"):
        few.preimages(few.codes_[:1])
    rough = KernelPCA(2, kernel=FromFunction(lambda x, y: float(np.exp(-((x - y) ** 2).sum())), inputs="vectors")).fit(
        counts()
    )
    with pytest.raises(InputError, match="no gradient"):
        rough.preimages(rough.codes_[:1])
    smooth = KernelPCA(2, kernel=Laplacian("l1")).fit(counts())
    assert smooth.preimages(smooth.codes_[:2], bounds=(0, None)).min() >= 0.0
