"""Refined codes: what they minimise, where they do nothing, and that they help."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from sklearn.datasets import load_wine

import rkhs
from rkhs import KernelAutoencoder
from rkhs._core.linalg import factorize
from rkhs.constraints import SoftSphere
from rkhs.kernels import Gaussian, Kernel, Linear, Matern
from rkhs.problems.refinement import CodeRefinement, LeaveOneOutRefinement, power_function
from rkhs.solvers.row_newton import descend


def table(seed: int, n: int = 40, d: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.tanh(rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))) + 0.05 * rng.normal(size=(n, d))


KERNELS = (Matern(1.5, 0.7) + 0.1 * Linear(), 0.8 * Matern(1.5, 0.7) + 0.2 * Matern(0.5, 0.4))  # the second is radial


def problem(seed: int, kernel: Kernel = KERNELS[0], onto: SoftSphere | None = None) -> CodeRefinement:
    rng = np.random.default_rng(seed)
    shapes = ((12, 2), (12, 3), (6, 3), (6, 2))
    supports, coefficients, goal, start = (torch.as_tensor(rng.normal(size=s)) for s in shapes)
    radius = torch.as_tensor(rng.uniform(0.1, 3.0, 6))
    return CodeRefinement(kernel, supports, coefficients, goal, start, radius, 12.0, row_constraint=onto)


@pytest.mark.parametrize("onto", [None, SoftSphere(0.7)], ids=["free", "soft"])
@pytest.mark.parametrize("kernel", KERNELS, ids=["mixed", "radial"])
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_by_finite_differences(seed: int, kernel: Kernel, onto: SoftSphere | None) -> None:
    p = problem(seed, kernel, onto)
    U, D = (torch.as_tensor(np.random.default_rng(seed + 9 + i).normal(size=(6, 2))) for i in range(2))
    grads = p.values_and_grads(U)[1]
    slope = (p.values_and_grads(U + 1e-6 * D)[0] - p.values_and_grads(U - 1e-6 * D)[0]) / 2e-6
    torch.testing.assert_close((grads * D).sum(1), slope, rtol=1e-6, atol=1e-8)


def test_a_soft_sphere_is_one_more_target_of_value_zero() -> None:
    free, soft = problem(3), problem(3, onto=SoftSphere(0.7))
    U = torch.as_tensor(np.random.default_rng(4).normal(size=(6, 2)))
    Z, n = free.codes(U), free.n
    excess = (Z * Z).sum(1) - 1.0
    torch.testing.assert_close(soft.values_and_grads(U)[0] - free.values_and_grads(U)[0], 0.7 * excess**2 / (2.0 * n))
    J = free.radius[:, None] * 2.0 * 0.7**0.5 * Z / n**0.5  # in the steps, of the misfit
    more = torch.linalg.inv(soft.with_curvature(U)[2]) - torch.linalg.inv(free.with_curvature(U)[2])
    torch.testing.assert_close(more, J[:, :, None] * J[:, None, :])
    start = soft.nearest()
    assert bool((soft.values_and_grads(start)[0] <= soft.values_and_grads(torch.zeros_like(start))[0]).all())
    assert not torch.equal(start, free.nearest())


def test_a_steep_decoder_in_single_precision_has_a_curvature_with_an_inverse() -> None:
    p = problem(5)
    steep = torch.outer(p.coefficients[:, 0], torch.tensor([1.0, -2.0, 3.0]).double())  # of one direction
    wide = [3e7 * steep, p.targets, p.start, p.radius, p.supports]
    coefficients, goal, start, radius, supports = (part.float() for part in wide)
    p = CodeRefinement(Gaussian(0.5), supports, coefficients, goal, start, radius, 12.0)
    values, _, inverse = p.with_curvature(torch.zeros(6, 2))
    assert bool(torch.isfinite(inverse).all())
    assert float(torch.linalg.eigvalsh(inverse.double()).min()) > 0.0
    found = descend(p, torch.zeros(6, 2), 10, 1e-4)
    assert bool((p.values_and_grads(found)[0] <= values).all())
    assert bool((p.values_and_grads(found)[0] < 0.9 * values).any())


def test_every_row_is_a_problem_of_its_own() -> None:
    p = problem(2)
    together = descend(p, torch.zeros(6, 2, dtype=torch.float64), 50, 1e-9)
    for i in range(6):
        index = torch.tensor([i])
        alone = descend(p.rows(index), torch.zeros(1, 2, dtype=torch.float64), 50, 1e-9)
        torch.testing.assert_close(together[index], alone, rtol=1e-4, atol=1e-4)


def test_power_function_is_the_residual_of_projection() -> None:
    X, new = torch.as_tensor(table(0)), torch.as_tensor(table(1, 7))
    kernel = Gaussian(0.3)
    K, cross = kernel._gram(X), kernel._gram(new, X)
    factor = factorize(K)
    found = power_function(factor.cholesky, cross[:, factor.pivots], kernel._diag(new))
    expected = 1.0 - (cross * torch.linalg.lstsq(K, cross.mT).solution.mT).sum(1)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [{}, {"output_kernel": "same"}, {"kernel": Gaussian(0.3)}], ids=str)
def test_training_codes_stay_and_new_ones_are_rebuilt_better(options: dict[str, Any]) -> None:
    X, new = table(0), table(1)
    plain = KernelAutoencoder(2, refine=False, reg=1e-3, **options).fit(X)  # the default reg reads refine
    model = KernelAutoencoder(2, reg=1e-3, **options).fit(X)
    np.testing.assert_array_equal(plain.codes_, model.codes_)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-7)
    assert not np.allclose(model.transform(new), plain.transform(new))
    assert (model.reconstruction_error(new) <= plain.reconstruction_error(new) + 1e-9).all()


def test_nothing_of_an_earlier_fit_is_used() -> None:
    X, new = table(0), table(1)
    again = KernelAutoencoder(2, reg=1e-3).fit(table(2)).set_params(refine=False).fit(X).set_params(refine=True)
    fresh = KernelAutoencoder(2, reg=1e-3, refine=False).fit(X).set_params(refine=True)
    np.testing.assert_array_equal(again.transform(new), fresh.transform(new))


@pytest.mark.slow
def test_gram_input_gives_the_codes_of_its_kernel() -> None:
    X, new, kernel = table(0), table(1), Gaussian(0.3)
    explicit = KernelAutoencoder(2, kernel=kernel, output_kernel="same").fit(X)
    implicit = KernelAutoencoder(2, kernel="precomputed").fit(kernel(X))
    np.testing.assert_allclose(implicit.transform(kernel(new, X)), explicit.transform(new), atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{"operators": ([[2.0, 0.0], [0.0, 1.0]], None)}, {"constraint": "sphere"}],
    ids=str,
)
def test_models_that_cannot_refine_have_plain_codes(options: dict[str, Any]) -> None:
    X, new = table(0), table(1)
    settings = {"n_components": 2, "max_iter": 2000, "reg": 1e-3, **options}
    codes = [KernelAutoencoder(**settings, refine=refine).fit(X).transform(new) for refine in (True, False)]
    np.testing.assert_array_equal(*codes)


@pytest.mark.slow
def test_codes_do_not_change_on_the_way_through_files(tmp_path: Path) -> None:
    X, new, kernel = table(0), table(1), Gaussian(0.3)
    for model, rows in (
        (KernelAutoencoder(2).fit(X), new),
        (KernelAutoencoder(2, kernel="precomputed").fit(kernel(X)), kernel(new, X)),
    ):
        rkhs.save(model, tmp_path / "model.rkhs")
        for copy in (rkhs.load(tmp_path / "model.rkhs"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_allclose(copy.transform(rows), model.transform(rows), rtol=0.0, atol=1e-12)


def test_a_pickle_leaves_out_the_cholesky_factor_of_the_penalty() -> None:
    model = KernelAutoencoder(2).fit(table(0))
    assert model.model_.penalty.cholesky is not None
    assert pickle.loads(pickle.dumps(model)).model_.penalty.cholesky is None


@pytest.mark.slow
def test_refinement_helps_where_the_encoder_overfits() -> None:
    X = load_wine().data
    X = (X - X.mean(0)) / X.std(0)
    order = np.random.default_rng(0).permutation(len(X))
    train, new = X[order[:120]], X[order[120:]]
    plain, refined = (
        KernelAutoencoder(10, refine=r).fit(train).reconstruction_error(new).mean() for r in (False, True)
    )
    assert refined < 0.9 * plain


def left_out(seed: int, kernel: Kernel) -> LeaveOneOutRefinement:
    rng = np.random.default_rng(seed)
    shapes = ((7, 2), (7, 3), (7, 3), (7, 2), (3, 3), (7, 7), (7, 3), (7, 3))
    supports, coefficients, goal, start, linear, own, steps, beside = (
        torch.as_tensor(rng.normal(size=s)) for s in shapes
    )
    radius = torch.as_tensor(rng.uniform(0.1, 3.0, 7))
    return LeaveOneOutRefinement(
        kernel,
        supports,
        coefficients,
        goal,
        start,
        radius,
        7.0,
        linear,
        influence=own,
        steps=steps,
        linear_influence=beside,
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=["mixed", "radial"])
@pytest.mark.parametrize("seed", [0, 1])
def test_left_out_gradients_and_slopes_by_finite_differences(seed: int, kernel: Kernel) -> None:
    p = left_out(seed, kernel)
    assert (p.values_and_grads(torch.zeros(7, 2, dtype=torch.float64))[2] is None) == (kernel is KERNELS[0])
    U, D = (torch.as_tensor(np.random.default_rng(seed + 9 + i).normal(size=(7, 2))) for i in range(2))
    _, grads, slopes = p.values_and_grads(U)
    step = 1e-6
    rise = (p.values_and_grads(U + step * D)[0] - p.values_and_grads(U - step * D)[0]) / (2.0 * step)
    torch.testing.assert_close((grads * D).sum(1), rise, rtol=1e-6, atol=1e-8)
    Z = p.codes(U)
    ahead, behind = (p._decoded(z, p.kernel._gram(z, p.supports)) for z in (Z + step * D, Z - step * D))
    moved = (ahead - behind) / (2.0 * step)
    torch.testing.assert_close((p._jacobian(Z, slopes) * D[:, :, None]).sum(1), moved, rtol=1e-6, atol=1e-7)
    some = torch.tensor([4, 1])
    torch.testing.assert_close(p.rows(some).values_and_grads(U[some])[0], p.values_and_grads(U)[0][some])


@pytest.mark.parametrize("kernel", KERNELS, ids=["mixed", "radial"])
def test_the_start_is_the_best_support_where_it_beats_the_code_of_the_encoder(kernel: Kernel) -> None:
    p = problem(3, kernel)
    steps = (p.supports[None] - p.start[:, None]) / p.radius[:, None, None]
    values = torch.stack([p.values_and_grads(steps[:, j])[0] for j in range(len(p.supports))], 1)
    plain = p.values_and_grads(torch.zeros_like(p.start))[0]
    least, chosen = values.min(1)
    found = p.nearest()
    assert 0 < int((least < plain).sum()) < len(plain)
    expected = torch.where((least < plain)[:, None], steps[torch.arange(len(chosen)), chosen], 0.0)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=["mixed", "radial"])
@pytest.mark.parametrize("seed", [0, 1])
def test_left_out_items_are_searched_among_the_other_supports(seed: int, kernel: Kernel) -> None:
    p = left_out(seed, kernel)
    steps = (p.supports[None] - p.start[:, None]) / p.radius[:, None, None]
    values = torch.stack([p.values_and_grads(steps[:, j])[0] for j in range(7)], 1).fill_diagonal_(torch.inf)
    plain = p.values_and_grads(torch.zeros_like(p.start))[0]
    least, chosen = values.min(1)
    expected = torch.where((least < plain)[:, None], steps[torch.arange(7), chosen], 0.0)
    assert (least < plain).any()
    torch.testing.assert_close(p.nearest(), expected)


def test_two_components_are_searched_from_all_training_codes() -> None:
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1.0, 1.0, (400, 3))
    X = np.sin(3.0 * Z @ rng.normal(size=(3, 20))) + 0.1 * rng.normal(size=(400, 20))
    train, new = X[:160], X[250:350]
    model = KernelAutoencoder(2).fit(train)
    searched = model.reconstruction_error(new).mean()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodeRefinement, "nearest", lambda self, decoded=None: torch.zeros_like(self.start))
        descended = model.reconstruction_error(new).mean()
    assert searched < 0.95 * descended


def test_kernels_of_finite_rank_are_refined_at_the_price_of_the_whole_diagonal() -> None:
    X, new = table(0, 60), table(0, 80)[60:]
    model = KernelAutoencoder(2, kernel="linear", output_kernel="same", reg=(1e-2, 1e-3), code_metric=0.0)
    model.fit(X)
    assert model.code_variance_ == "diagonal"
    model._steps = (200, 1e-10)
    np.testing.assert_allclose(model.transform(X), model.codes_, atol=1e-7)
    refined = model.transform(new)
    diag, target = (new**2).sum(1), model.output_.encode(torch.as_tensor(new @ X.T))
    plain = model.set_params(refine=False).transform(new)
    assert (
        model.reconstruction_error(new).mean() > 1.01 * model.set_params(refine=True).reconstruction_error(new).mean()
    )

    def objective(z: np.ndarray, i: int) -> float:
        said = model.model_.decode(torch.as_tensor(z)[None])[0]
        loss = float(((target[i] - said) ** 2).sum()) / (2.0 * len(X))
        return loss + 0.5 * 1e-2 * float(((z - plain[i]) ** 2).sum()) / diag[i]

    for i in range(5):
        best = minimize(objective, refined[i], args=(i,), tol=1e-12)
        assert objective(refined[i], i) <= best.fun * (1.0 + 1e-6)
        np.testing.assert_allclose(best.x, refined[i], atol=1e-3)
