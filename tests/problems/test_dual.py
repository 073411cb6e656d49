"""The canonical dual problem: identities of operator-valued machines, independent oracles, and the printed n^4 form."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVR

from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Linear
from rkhs.losses import EpsilonInsensitive, Huber, Loss, MaximumMargin, Norm, Power, Squared, SquaredEpsilonInsensitive
from rkhs.problems.certificates import covariance_operator, restricted_operator, sample_report
from rkhs.problems.dual import dual_problem
from rkhs.solvers import ADMM, FISTA, Direct
from tests.reference import dual as naive

LOSSES = [Squared(), SquaredEpsilonInsensitive(0.4), EpsilonInsensitive(0.4), Huber(0.6), Norm(0.7)]
REG = 0.02


def data(seed, n=18, d=3, q=2):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, d))
    Y = np.sin(X @ r.normal(size=(d, q))) + 0.2 * r.standard_t(2, size=(n, q))
    return X, Y


def eye(q):
    return torch.eye(q, dtype=torch.float64)


def psd(seed, q):
    B = np.random.default_rng(seed).normal(size=(q, q))
    return torch.from_numpy(B @ B.T / q)


def gram(X, Z=None, gamma=0.4):
    return torch.from_numpy(Gaussian(gamma)(X, Z))


def solve(K, Y, loss, reg=REG, A=None, tol=1e-12, weights=None):
    problem = dual_problem([(K, A)], torch.as_tensor(Y), loss, reg, weights)
    return ADMM(tol=tol, max_iter=50000).solve(problem), problem


def cvx_objective(K, Y, loss, reg, A=None):
    """Primal optimum in ``h(X) = F V`` with ``F F^T = K (x) A``."""
    n, q = Y.shape
    A = np.eye(q) if A is None else A.numpy()
    F = np.linalg.cholesky(K.numpy() + 1e-13 * np.eye(n))
    G = np.linalg.cholesky(A + 1e-13 * np.eye(q))
    V = cp.Variable((n, q))
    R = F @ V @ G.T - Y
    c, epsilon, cap = loss.dual_parameters
    total = 0.0
    for i in range(n):
        t = cp.pos(cp.norm(R[i]) - epsilon)
        if c == 0.0:
            total += cap * t
        elif np.isinf(cap):
            total += 0.5 * cp.square(t)
        else:
            total += 0.5 * cp.huber(cp.norm(R[i]), cap)
    problem = cp.Problem(cp.Minimize(total / n + reg / 2 * cp.sum_squares(V)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it cannot confirm its last digits
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return problem.value


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("seed", [0, 1])
def test_objective_agrees_with_a_convex_solver(loss, seed):
    X, Y = data(seed, n=12)
    A = psd(seed, 2) if seed else None
    solution, _ = solve(gram(X), Y, loss, A=A, tol=1e-13)
    expected = cvx_objective(gram(X), Y, loss, REG, A)
    assert abs(solution.value - expected) <= 1e-8 * expected


LIBLINEAR = [pytest.param(EpsilonInsensitive(0.2), marks=pytest.mark.slow), SquaredEpsilonInsensitive(0.2)]


@pytest.mark.parametrize("loss", LIBLINEAR, ids=repr)
def test_scalar_outputs_equal_liblinear_on_cholesky_features(loss):
    X, Y = data(3, n=12, q=1)
    K = gram(X)
    squared = isinstance(loss, SquaredEpsilonInsensitive)
    name = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    reg = 0.3
    C = 1.0 / (reg * len(X)) / (2.0 if squared else 1.0)
    F = torch.linalg.cholesky(K).numpy()
    machine = LinearSVR(epsilon=0.2, C=C, loss=name, fit_intercept=False, tol=1e-10, max_iter=2_000_000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(F, Y[:, 0])
    solution, _ = solve(K, Y, loss, reg, tol=1e-17)
    np.testing.assert_allclose(F @ machine.coef_, (K @ solution.point).numpy()[:, 0], atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_kkt_gaps_support_and_saturation(loss):
    X, Y = data(4)
    reg = 0.2
    solution, problem = solve(gram(X), Y, loss, reg)
    report = sample_report(problem, solution.point[None])
    assert float(report.kkt.max()) <= 2e-5
    assert float(report.gaps.min()) >= -1e-14
    assert abs(float(report.gaps.sum()) / len(X) - solution.gap) <= 1e-14
    alpha = solution.point * reg * len(X)
    residual = torch.linalg.vector_norm(torch.as_tensor(Y) - gram(X) @ solution.point, dim=1)
    _, epsilon, cap = loss.dual_parameters
    inside = residual < epsilon - 1e-6
    assert not bool(report.support[inside, 0].any())
    beyond = residual > epsilon + (cap if isinstance(loss, Huber) else 0.0) + 1e-6
    if np.isfinite(cap):
        np.testing.assert_array_equal(report.saturated[:, 0], beyond)
        assert 0 < int(beyond.sum()) < len(X) or isinstance(loss, Norm)
    assert float(torch.linalg.vector_norm(alpha, dim=1).max()) <= cap * (1 + 1e-12)


def test_squared_loss_is_ridge_and_the_other_losses_reach_it():
    X, Y = data(5)
    K, n = gram(X), len(X)
    expected = torch.linalg.solve(K + n * REG * eye(n), torch.from_numpy(Y))
    for loss in (Squared(), SquaredEpsilonInsensitive(0.0), Huber(1e6)):
        solution, _ = solve(K, Y, loss, tol=1e-14)
        torch.testing.assert_close(solution.point, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", [SquaredEpsilonInsensitive, EpsilonInsensitive])
def test_epsilon_beyond_every_output_gives_zero(loss):
    X, Y = data(6)
    largest = float(np.linalg.norm(Y, axis=1).max())
    assert not bool(solve(gram(X), Y, loss(1.0001 * largest))[0].point.any())
    assert bool(solve(gram(X), Y, loss(0.99 * largest))[0].point.any())


@pytest.mark.parametrize("loss", LOSSES[:4], ids=repr)
@pytest.mark.parametrize("operator", [None, "covariance"])
def test_gram_outputs_equal_explicit_outputs(loss, operator):
    X, Y = data(7, q=4)
    K, T = gram(X), torch.as_tensor(Y)
    factor = torch.linalg.eigh(T @ T.mT)
    V = factor.eigenvectors[:, -4:] * factor.eigenvalues[-4:].sqrt()
    A = None if operator is None else covariance_operator(T)
    A_V = None if operator is None else covariance_operator(V)
    explicit, _ = solve(K, T, loss, A=A)
    known, _ = solve(K, V, loss, A=A_V)
    assert abs(explicit.value - known.value) <= 1e-10 * explicit.value
    H = K @ explicit.point @ (eye(4) if A is None else A)
    H_V = K @ known.point @ (eye(4) if A is None else A_V)
    torch.testing.assert_close(H @ T.mT, H_V @ V.mT, rtol=0, atol=2e-5)


@pytest.mark.parametrize("loss", LOSSES[1:4], ids=repr)
def test_theorem_four_with_its_tensor(loss):
    """A general kernel ``k1 A1 + k2 A2``, as a matrix-valued function, solved by plain loops."""
    X, Y = data(8, n=8)
    A1, A2 = psd(1, 2), psd(2, 2)

    def kernel(x, z):
        return np.exp(-0.4 * ((x - z) ** 2).sum()) * A1.numpy() + (1 + x @ z) * A2.numpy()

    alpha = naive.solve(kernel, X, Y, loss, 0.1)
    linear = torch.from_numpy(Linear()(X)) + 1.0
    problem = dual_problem([(gram(X), A1), (linear, A2)], torch.from_numpy(Y), loss, 0.1)
    solution = FISTA(tol=1e-13, max_iter=50000).solve(problem)
    omega = alpha @ np.linalg.pinv(Y)
    D = naive.dual_value(naive.tensor(kernel, X, Y), omega, Y, loss, 0.1)
    assert abs(solution.value + D / len(X)) <= 1e-10 * (1 + solution.value)
    mine = gram(X) @ solution.point @ A1 + linear @ solution.point @ A2
    np.testing.assert_allclose(naive.predict(kernel, X, alpha, 0.1, X), mine.numpy(), atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES[1:4], ids=repr)
def test_structure_on_the_support_and_refit(loss):
    X, Y = data(9, n=25)
    K, T = gram(X), torch.as_tensor(Y)
    solution, _ = solve(K, T, loss, tol=1e-15)
    alpha = solution.point * REG * len(X)
    kept = torch.linalg.vector_norm(alpha, dim=1) > 1e-9
    residual = torch.linalg.vector_norm(T - K @ solution.point, dim=1)[kept]
    d = residual / torch.linalg.vector_norm(alpha[kept], dim=1)
    small = torch.linalg.solve(torch.diag(d) + K[kept][:, kept] / (REG * len(X)), T[kept])
    torch.testing.assert_close(small, alpha[kept], rtol=1e-5, atol=1e-6)
    m = int(kept.sum())
    refit, _ = solve(K[kept][:, kept], T[kept], loss, reg=REG * len(X) / m, tol=1e-15)
    torch.testing.assert_close(K[:, kept] @ refit.point, K @ solution.point, rtol=0, atol=1e-6)
    if not isinstance(loss, Huber):
        assert m < len(X)


def test_diagonal_operator_is_ridge_by_coordinate():
    X, Y = data(10)
    K, T, n = gram(X), torch.as_tensor(Y), len(X)
    a = torch.tensor([0.3, 2.0], dtype=torch.float64)
    solution, _ = solve(K, T, Squared(), A=torch.diag(a))
    for j in range(2):
        expected = torch.linalg.solve(K + n * REG / a[j] * eye(n), T[:, j])
        torch.testing.assert_close(K @ solution.point[:, j] * a[j], K @ expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES[:4], ids=repr)
def test_terms_with_one_operator_add_up(loss):
    X, Y = data(11)
    K1, K2, A, T = gram(X), gram(X, gamma=2.0), psd(4, 2), torch.as_tensor(Y)
    together, _ = solve(K1 + K2, T, loss, A=A)
    apart = dual_problem([(K1, A), (K2, A)], T, loss, REG)
    solution = (Direct if loss == Squared() else FISTA)(tol=1e-12, max_iter=100000).solve(apart)
    assert solution.converged
    assert abs(solution.value - together.value) <= 1e-10
    torch.testing.assert_close((K1 + K2) @ solution.point @ A, (K1 + K2) @ together.point @ A, rtol=0, atol=1e-4)


@pytest.mark.sample(4)
@pytest.mark.parametrize("loss", [*LOSSES, Power(1.5), Power(3.0), MaximumMargin()], ids=repr)
def test_weights_are_repetitions_and_zero_weights_absences(loss):
    X, Y = data(12, n=10)
    counts = np.array([1, 2, 0, 1, 3, 1, 0, 2, 1, 1])
    rows = np.repeat(np.arange(10), counts)
    solver = FISTA(tol=1e-11, max_iter=100000)
    weighted = dual_problem([(gram(X), None)], torch.as_tensor(Y), loss, REG, torch.as_tensor(counts))
    repeated = dual_problem([(gram(X[rows]), None)], torch.as_tensor(Y[rows]), loss, REG)
    first, second = solver.solve(weighted), solver.solve(repeated)
    assert first.converged
    assert second.converged
    assert abs(first.value - second.value) <= 1e-9 * second.value
    assert not bool(first.point[counts == 0].any())
    torch.testing.assert_close(gram(X) @ first.point, gram(X, X[rows]) @ second.point, rtol=0, atol=2e-4)


def test_settings_share_a_batch_and_rows_of_weight_zero_are_absent():
    X, Y = data(13, n=14)
    weights, kept = torch.ones(14, dtype=torch.float64), np.arange(4, 14)
    weights[:4] = 0.0
    losses, regs = [Huber(0.5), Squared(), EpsilonInsensitive(0.3)], [0.1, 0.02, 0.05]
    batch = dual_problem([(gram(X), psd(0, 2))], torch.as_tensor(Y), losses, regs, weights)
    found = ADMM(tol=1e-12).solve_batch(batch)
    points = batch.coefficients(found.points)
    for b, (loss, reg) in enumerate(zip(losses, regs, strict=True)):
        alone, _ = solve(gram(X[kept]), Y[kept], loss, reg=reg, A=psd(0, 2))
        assert abs(alone.value - float(found.values[b])) <= 1e-10
        torch.testing.assert_close(points[b, kept], alone.point, rtol=0, atol=2e-4)


def test_float32_reaches_a_float32_gap():
    X, Y = data(14)
    problem = dual_problem([(gram(X).float(), None)], torch.as_tensor(Y).float(), Huber(0.6), REG)
    solution = ADMM(tol=1e-5).solve(problem)
    assert solution.converged
    assert solution.point.dtype == torch.float32
    exact, _ = solve(gram(X), Y, Huber(0.6))
    assert abs(solution.value - exact.value) <= 1e-4 * exact.value


def test_operators_that_leave_the_outputs_are_explained():
    basis = torch.eye(4, dtype=torch.float64)[:2]
    A = psd(1, 4)
    with pytest.raises(InputError, match=r"assumption 3 .* of its image lies outside"):
        restricted_operator(A, basis)
    torch.testing.assert_close(restricted_operator(torch.diag(torch.arange(4.0).double()), basis)[1, 1].item(), 1.0)


def test_bad_batches_are_refused():
    X, Y = data(15)
    terms = [(gram(X), None)]
    with pytest.raises(InputError, match=r"reg must be > 0; got 0\.0"):
        dual_problem(terms, torch.as_tensor(Y), Squared(), 0.0)
    with pytest.raises(InputError, match="losses must have one entry or one per setting"):
        dual_problem(terms, torch.as_tensor(Y), [Squared(), Huber(1.0)], [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="losses of a batch must be equal"):
        dual_problem(terms, torch.as_tensor(Y), [Power(1.5), Power(3.0)], 0.1)


class Absolute(Loss):
    """``scale sum_j |r_j|``, its conjugate finite on the box alone, to the last bit."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def value(self, R):
        return self.scale * R.abs().sum(-1)

    def gradient(self, R):
        return self.scale * R.sign()

    def conjugate(self, A):
        return torch.where((A.abs() > self.scale).any(-1), torch.inf, 0.0).to(A.dtype)

    def prox_conjugate(self, A, step):
        return A.clamp(-self.scale, self.scale)


@pytest.mark.parametrize("scale", [0.1, 0.7])
def test_rows_on_the_edge_of_the_domain_do_not_make_the_gap_infinite(scale):
    """Weights are multiplied in and divided out again: rounding leaves a row just outside the box."""
    r = np.random.default_rng(0)
    X = r.normal(size=(40, 3))
    Y = np.c_[np.sin(X[:, 0]), X[:, 1] ** 2]
    Y[:5] += 20 * r.normal(size=(5, 2))
    for reg in (1e-3, 3e-3):
        found, _ = solve(gram(X, gamma=1.0), Y, Absolute(scale), reg, tol=1e-8)
        assert found.n_iter < 50000
        assert np.isfinite(found.gap)
