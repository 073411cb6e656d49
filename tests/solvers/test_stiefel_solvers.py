"""Solvers on orthonormal columns: same optimum, feasible, refuse misfits, keep their stop rules."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Polynomial
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.protocols import Monitor, Reason
from rkhs.solvers import (
    LBFGS,
    Adam,
    CayleyAdam,
    ProjectedGradient,
    QuadraticPenalty,
    RiemannianLBFGS,
    Subspace,
)
from rkhs.solvers.subspace import maximise_traces

FEASIBLE = [
    Subspace(tol=1e-8),
    RiemannianLBFGS(tol=1e-8),
    ProjectedGradient(tol=1e-8, max_iter=20000),
    ProjectedGradient(tol=1e-7, growth=1.0, max_iter=20000),
    CayleyAdam(learning_rate=0.05, tol=1e-5, max_iter=5000),
]
PENALTY = [
    QuadraticPenalty(tau=1e-4, tol=1e-14, max_iter=2000),
    QuadraticPenalty(tau=1e-4, growth=2.0, tol=1e-12, max_iter=2000),
]


def name(solver):
    return type(solver).__name__


def problem(widths=(3, 2), n=40, inner=None, seed=0, **settings):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 3, dtype=torch.float64, generator=g)
    X[: n // 2] += 2.0
    settings = {"center": True, "code_scale": "sqrt_n", **settings}
    kernels = tuple([inner or Gaussian(0.4)] * (len(widths) - 1))
    eta = tuple(1.0 / (1 + layer) for layer in range(len(widths)))
    return ConstrainedDRKM.from_gram(
        Gaussian(0.2)._gram(X), kernels=kernels, n_components=tuple(widths), eta=eta, **settings
    )


@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(one, marks=pytest.mark.slow) if i in (2, 4, 5) else one
        for i, one in enumerate([*FEASIBLE, *PENALTY])
    ],
    ids=name,
)
def test_one_layer_agrees_with_eigenvalues(solver):
    """With one layer all algorithms of the paper reach the same objective from the same start."""
    P = problem((3,))
    best = -0.5 * float(torch.linalg.eigvalsh(P.gram)[-3:].sum())
    done = solver.solve(P, P.random_start(torch.Generator().manual_seed(1)))
    assert done.value == pytest.approx(best, rel=1e-6)
    assert P.constraint.violation(done.point) < 1e-12


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "solver", [*FEASIBLE[:3], *(pytest.param(one, marks=pytest.mark.slow) for one in FEASIBLE[3:])], ids=name
)
def test_every_iterate_is_feasible_and_the_end_stationary(solver):
    P = problem()
    done = solver.solve(P, P.random_start(torch.Generator().manual_seed(2)))
    assert max(row.get("infeasibility", 0.0) for row in done.history) < 1e-12
    grad = P.value_and_grad(done.point)[1]
    assert float(P.constraint.tangent(done.point, grad).norm()) < 1e-4 * abs(done.value)
    assert done.converged
    if not isinstance(solver, CayleyAdam):
        values = [row["value"] for row in done.history]
        assert all(b <= a + 1e-12 * abs(a) for a, b in pairwise(values))


@pytest.mark.parametrize("inner", ["lbfgs", pytest.param("adam", marks=pytest.mark.slow)])
def test_penalty_reports_infeasibility_and_returns_a_feasible_point(inner):
    P = problem()
    solver = QuadraticPenalty(inner, tau=1e-3, tol=1e-6, max_iter=400, learning_rate=0.01)
    done = solver.solve(P, P.kpca_start())
    assert 0.0 < done.history[-1]["infeasibility"] < 0.1
    assert P.constraint.violation(done.point) < 1e-12
    best = Subspace().solve(P, P.kpca_start()).value
    assert done.value == pytest.approx(best, rel=1e-2)
    mus = [row["mu"] for row in done.history]
    assert mus[0] == 1.0
    assert mus == sorted(mus)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_subspace_needs_few_evaluations(seed):
    P = problem((5, 3), n=25, seed=seed)
    reference = ProjectedGradient(tol=1e-8, max_iter=5000).solve(P, P.kpca_start())
    done = Subspace(tol=1e-6).solve(P, P.kpca_start())
    assert done.value <= reference.value + 1e-6 * abs(reference.value)
    assert 3 * done.n_evaluations < reference.n_evaluations


def test_end_to_end_is_at_least_as_good_as_layer_wise():
    for seed in range(2):
        P = problem(seed=seed)
        layer_wise = P.kpca_start()
        assert Subspace().solve(P, layer_wise).value < P.value_and_grad(layer_wise)[0]


def test_small_sum_of_traces():
    rng = np.random.default_rng(0)
    A = [(lambda B: B + B.T)(rng.normal(size=(12, 12))) for _ in range(2)]
    spans = (slice(0, 3), slice(3, 5))
    Y = maximise_traces(A, np.linalg.qr(rng.normal(size=(12, 5)))[0], spans, tol=1e-8, max_newton=50)
    assert np.allclose(Y.T @ Y, np.eye(5), atol=1e-13)
    G = np.hstack([a @ Y[:, s] for a, s in zip(A, spans, strict=True)])
    M = Y.T @ G
    assert np.allclose(M, M.T, atol=1e-6)
    assert np.allclose(G, Y @ M, atol=1e-6)
    same = maximise_traces([A[0], A[0]], Y, spans, tol=1e-8, max_newton=50)
    assert np.trace(same.T @ A[0] @ same) == pytest.approx(np.linalg.eigvalsh(A[0])[-5:].sum())


def test_adam_and_lbfgs_agree_on_a_quadratic():
    class Quadratic:
        def value_and_grad(self, x):
            d = x - torch.tensor([[1.0, -2.0]], dtype=x.dtype)
            return 0.5 * float((d * d).sum()), d

    zero = torch.zeros(1, 2, dtype=torch.float64)
    done = Adam(learning_rate=0.05, max_iter=2000, tol=1e-6, patience=2000).solve(Quadratic(), zero)
    assert done.reason is Reason.GRADIENT
    assert torch.dist(done.point, LBFGS().solve(Quadratic(), zero).point) < 1e-5
    assert torch.equal(zero, torch.zeros(1, 2, dtype=torch.float64))
    assert Adam(max_iter=3).solve(Quadratic(), zero).reason is Reason.MAX_ITER


@pytest.mark.parametrize("solver", [*FEASIBLE, *PENALTY], ids=name)
def test_time_limit_and_unchanged_start(solver):
    P = problem()
    H = P.random_start(torch.Generator().manual_seed(0))
    before = H.clone()
    done = solver.solve(P, H, Monitor(time_limit=0.0))
    assert done.reason is Reason.TIME
    assert torch.equal(H, before)


def test_misfits_are_refused():
    class Plain:
        def value_and_grad(self, x):
            return 0.0, x

    with pytest.raises(InputError, match="HasConstraint"):
        RiemannianLBFGS().solve(Plain(), torch.zeros(3, 1))
    P = problem(inner=Polynomial(2, 1.0, 1.0))
    with pytest.raises(InputError, match="unbounded below"):
        QuadraticPenalty().solve(P, P.kpca_start())
    P = problem(inner=Polynomial(1, 1.0, 1.0))
    with pytest.raises(InputError, match=r"mu must be > .* got 1"):
        QuadraticPenalty().solve(P, P.kpca_start())
    with pytest.raises(InputError, match="inner must be one of"):
        QuadraticPenalty("newton").solve(problem(), problem().kpca_start())


def test_the_penalty_method_gives_its_last_point_if_asked():
    P = problem()
    start = 2.0 * P.kpca_start()  # not on the set
    options = {"max_outer": 2, "max_iter": 20}
    last, feasible = (QuadraticPenalty("adam", feasible=on, **options).solve(P, start) for on in (False, True))
    assert P.constraint.violation(last.point) > 0.1
    torch.testing.assert_close(P.constraint.project(last.point), feasible.point)
    assert last.value == pytest.approx(P.value_and_grad(last.point)[0])
    assert last.history[-1]["infeasibility"] == feasible.history[-1]["infeasibility"]
