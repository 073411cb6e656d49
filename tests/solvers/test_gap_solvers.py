"""Every solver of dual problems: certified, in agreement, batched, and refusing what it cannot do."""

import numpy as np
import pytest
import torch

from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian
from rkhs.losses import (
    EpsilonInsensitive,
    Huber,
    InfimalConvolution,
    MaximumMargin,
    Norm,
    Power,
    Squared,
    SquaredEpsilonInsensitive,
)
from rkhs.problems.dual import dual_problem
from rkhs.protocols import Monitor, Reason
from rkhs.solvers import ADMM, FISTA, Direct, ProximalGradient, leave_one_out_residuals

NAMED = [Squared(), SquaredEpsilonInsensitive(0.3), EpsilonInsensitive(0.3), Huber(0.4)]
OTHERS = [Norm(0.5), Power(1.5), Power(3.0), MaximumMargin(), InfimalConvolution(Norm(0.6), Power(3.0))]
COSTLY = [OTHERS[1], OTHERS[4]]  # their proximal steps are iterations; the power 3 stands for them
SOLVERS = [ADMM, FISTA, ProximalGradient]


def data(seed, n=20, q=3):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, 2))
    Y = np.cos(X @ r.normal(size=(2, q)) * 2) + 0.1 * r.standard_t(2, size=(n, q))
    return torch.from_numpy(Gaussian(0.5)(X)), torch.from_numpy(Y)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "loss",
    [pytest.param(loss, marks=pytest.mark.slow) if loss in COSTLY else loss for loss in NAMED + OTHERS],
    ids=repr,
)
def test_all_solvers_agree_within_their_certificates(loss):
    K, Y = data(0)
    problem = dual_problem([(K, None)], Y, loss, 0.05)
    null = float(problem.null_value())
    found = [solver(tol=1e-6).solve(problem) for solver in SOLVERS]
    for solution in found:
        assert solution.reason is Reason.GAP
        assert 0.0 <= solution.gap <= 1e-6 * null
    lower = max(s.value - s.gap for s in found)
    assert all(s.value >= lower - 1e-13 for s in found)


PATH = [(reg, loss) for reg in (1e-1, 1e-2) for loss in NAMED]


@pytest.fixture(scope="module")
def lower_bounds() -> list[float]:
    """Of the minima along the path, each solved alone."""
    K, Y = data(1)
    found = [ADMM(tol=1e-11).solve(dual_problem([(K, None)], Y, loss, reg)) for reg, loss in PATH]
    return [alone.value - alone.gap for alone in found]


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_path_is_its_members(solver, lower_bounds):
    K, Y = data(1)
    problem = dual_problem([(K, None)], Y, [loss for _, loss in PATH], [reg for reg, _ in PATH])
    path = solver(tol=1e-6).solve_batch(problem)
    assert bool(path.converged.all())
    assert path.points.shape == (8, 20, 3)
    for b, lower in enumerate(lower_bounds):
        assert -1e-14 <= float(path.values[b]) - lower <= 2e-6 * float(problem.null_value()[b])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_gap_that_is_no_number_ends_its_problem(solver):
    K, Y = data(1)
    found = solver(tol=1e-6).solve_batch(dual_problem([(K, None)], 1e200 * Y, Huber(0.3), [0.1]))
    assert not bool(found.converged.any())
    assert int(found.n_iter.max()) < 100


def test_small_chunks_give_the_same_answers(monkeypatch):
    K, Y = data(2)
    regs = np.logspace(-3, -1, 40)
    problem = dual_problem([(K, None)], Y, Huber(0.3), list(regs))
    whole = ADMM(tol=1e-9).solve_batch(problem)
    monkeypatch.setattr("rkhs.solvers.batched._CHUNK", 1000)
    pieces = ADMM(tol=1e-9).solve_batch(problem)
    torch.testing.assert_close(whole.points, pieces.points, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(whole.gaps, pieces.gaps, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_at_the_solution_stops_at_once(solver):
    K, Y = data(3)
    problem = dual_problem([(K, None)], Y, SquaredEpsilonInsensitive(0.2), 0.05)
    exact = FISTA(tol=1e-13).solve(problem)
    again = solver(tol=1e-6).solve(problem, exact.point)
    assert again.n_iter <= 20
    if solver is not ADMM:  # ADMM also needs the multiplier, which a point alone does not give
        assert again.n_iter == 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_running_out_of_iterations_is_said(solver):
    K, Y = data(4)
    problem = dual_problem([(K, None)], Y, EpsilonInsensitive(0.1), 1e-4)
    solution = solver(tol=1e-12, max_iter=3).solve(problem)
    assert solution.reason is Reason.MAX_ITER
    assert solution.gap > 0.0
    assert solution.n_iter == 3


def test_time_limit_stops_every_piece():
    K, Y = data(5)
    problem = dual_problem([(K, None)], Y, EpsilonInsensitive(0.1), 1e-4)
    solution = FISTA(tol=1e-14).solve(problem, monitor=Monitor(time_limit=0.0))
    assert solution.reason is Reason.TIME


@pytest.mark.sample(2)
@pytest.mark.parametrize("loss", NAMED, ids=repr)
def test_the_printed_threshold_does_not_solve_the_problem(loss):
    """Algorithm 1 as printed thresholds by epsilon; with the step in front the gap closes (see ProximalGradient)."""
    K, Y = data(6)
    problem = dual_problem([(K, None)], Y, loss, 0.01)
    step = 1.0 / problem.lipschitz()
    W = torch.zeros(20, 3, 1, dtype=torch.float64)
    for _ in range(3000):
        gradient = problem.apply(W) + problem.rows.curvature * W - problem.targets[..., None]
        W = problem.prox(W - step * gradient, torch.ones_like(step))  # threshold epsilon / tau per unit, not times step
    gap = float(problem.check(W)[1] / problem.null_value())
    assert gap < 1e-10 if loss.dual_parameters[1] == 0.0 else gap > 1e-4


def test_direct_with_sums_weights_and_paths():
    K, Y = data(7)
    K2 = torch.from_numpy(Gaussian(3.0)(np.random.default_rng(1).normal(size=(20, 2))))
    A1, A2 = torch.diag(torch.tensor([1.0, 0.1, 3.0]).double()), torch.ones(3, 3, dtype=torch.float64)
    weights = torch.linspace(0.5, 2.0, 20).double()
    problem = dual_problem([(K, A1), (K2, A2)], Y, Squared(), [1e-1, 1e-2, 1e-3], weights)
    path = Direct(tol=1e-13).solve_batch(problem)
    assert bool(path.converged.all())
    big = torch.kron(K.contiguous(), A1) + torch.kron(K2, A2)
    for b, reg in enumerate((1e-1, 1e-2, 1e-3)):
        D = torch.diag((reg * weights.sum() / weights).repeat_interleave(3))
        expected = torch.linalg.solve(big + D, Y.ravel()).view(20, 3)
        torch.testing.assert_close(problem.coefficients(path.points)[b], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", [None, "psd"])
def test_leave_one_out_equals_refitting(operator):
    K, Y = data(8, n=9)
    B = torch.from_numpy(np.random.default_rng(2).normal(size=(3, 3)))
    A = None if operator is None else B @ B.mT
    problem = dual_problem([(K, A)], Y, Squared(), [0.1, 0.01])
    for keep, factor in ((False, 1.0), (True, 9 / 8)):
        residuals = leave_one_out_residuals(problem, keep_weight=keep)
        for i in range(9):
            kept = [j for j in range(9) if j != i]
            for b, reg in enumerate((0.1, 0.01)):
                refit = Direct().solve(dual_problem([(K[kept][:, kept], A)], Y[kept], Squared(), reg * factor))
                h = K[i, kept] @ refit.point @ (torch.eye(3, dtype=torch.float64) if A is None else A)
                torch.testing.assert_close(residuals[b, i], Y[i] - h, rtol=1e-9, atol=1e-11)


def test_misfits_are_refused_with_what_fits():
    K, Y = data(9)
    A = torch.diag(torch.tensor([1.0, 2.0, 3.0]).double())
    two = dual_problem([(K, A), (K, None)], Y, Huber(0.3), 0.1)
    with pytest.raises(InputError, match="no common eigenbasis"):
        ADMM().solve(two)
    with pytest.raises(InputError, match="Direct solves the squared loss only"):
        Direct().solve(dual_problem([(K, A)], Y, Huber(0.3), 0.1))
    with pytest.raises(InputError, match="squared loss only"):
        leave_one_out_residuals(two)
    with pytest.raises(InputError, match="HasResolvent"):
        ADMM().solve(object())
    with pytest.raises(InputError, match="tol must be >= 0"):
        ADMM(tol=-1.0).solve(two)


def test_settings_whose_closed_form_misses_its_gap_are_recorded_beside_those_that_reach_it():
    for seed in range(40):
        r = np.random.default_rng(seed)
        x, y = torch.from_numpy(r.normal(size=(4, 1))), torch.from_numpy(1e6 * r.normal(size=(4, 1)))
        regs = list(10.0 ** r.uniform(-14.0, 1.0, 3))
        found = Direct().solve_batch(dual_problem([(x @ x.T, None)], y, [Squared()] * 3, regs))
        for j, reg in enumerate(regs):
            alone = Direct().solve(dual_problem([(x @ x.T, None)], y, Squared(), reg))
            torch.testing.assert_close(found.points[j], alone.point, rtol=1e-6, atol=1e-3)
