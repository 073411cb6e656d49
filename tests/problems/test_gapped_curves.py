"""Ridge regression of curves with gaps, against the system of all known values written out."""

from __future__ import annotations

import numpy as np
import torch

from rkhs.problems.gapped_curves import GappedCurves

RNG = np.random.default_rng(0)
N, T, M, REG = 6, 7, 3, 0.03
A = RNG.normal(size=(N, 4))
K = A @ A.T
PSI = RNG.normal(size=(M, T))  # not orthonormal
LAM = np.array([1.0, 0.5, 0.25])
Q = RNG.uniform(0.1, 0.3, size=T)
Y = RNG.normal(size=(N, T))
GAPS = RNG.random((N, T)) < 0.3
GAPS[2, 1:] = True  # fewer known values than functions
GAPS[3] = False


def problem(Y: np.ndarray, weights: np.ndarray | None = None, *, center: bool = False) -> GappedCurves:
    kernel, curves, functions, eigenvalues, q = (torch.as_tensor(part) for part in (K, Y, PSI, LAM, Q))
    w = None if weights is None else torch.as_tensor(weights)
    return GappedCurves(kernel, curves, functions, eigenvalues, q, w, center)


def solved(Y: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    C, mean, value = problem(Y, weights).solve(REG)
    assert not mean.any()
    return C.numpy(), value


def objective(C: np.ndarray, Y: np.ndarray, w: np.ndarray) -> float:
    left = Y - K @ (C * LAM) @ PSI
    losses = np.nansum(Q * left**2, axis=1)
    return float(0.5 * w @ losses + 0.5 * REG * np.sum((K @ (C * LAM)) * C))


def test_the_solution_is_that_of_the_system_of_all_known_values() -> None:
    """Kernel ridge regression of the values ``y_i(t)`` with the kernel ``k(x, x') sum_j l_j psi_j(t) psi_j(t')``."""
    gapped = np.where(GAPS, np.nan, Y)
    w = RNG.uniform(0.5, 1.5, N)
    w /= w.sum()
    i, t = np.nonzero(~GAPS)
    system = K[np.ix_(i, i)] * (PSI[:, t].T @ (LAM[:, None] * PSI[:, t])) + np.diag(REG / (w[i] * Q[t]))
    alpha = np.linalg.solve(system, Y[i, t])
    expected = K[:, i] @ (alpha[:, None] * PSI[:, t].T) * LAM  # values in coordinates at the items
    C, value = solved(gapped, w)
    np.testing.assert_allclose(K @ (C * LAM), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value, objective(C, gapped, w), rtol=1e-10)


def test_no_step_lowers_the_objective() -> None:
    gapped, w = np.where(GAPS, np.nan, Y), np.full(N, 1.0 / N)
    C, value = solved(gapped)
    np.testing.assert_allclose(value, objective(C, gapped, w), rtol=1e-10)
    for _ in range(20):
        assert objective(C + 1e-3 * RNG.normal(size=C.shape), gapped, w) > value


def test_rows_of_weight_zero_are_as_if_they_were_not_there() -> None:
    gapped, w = np.where(GAPS, np.nan, Y), np.full(N, 1.0 / (N - 1))
    w[4] = 0.0
    C, value = solved(gapped, w)
    gapped[4] = 100.0
    again, same = solved(gapped, w)
    assert not C[4].any()
    np.testing.assert_array_equal(again, C)
    assert same == value


def test_the_mean_is_that_of_the_curves_with_predicted_values_in_their_gaps() -> None:
    gapped, w = np.where(GAPS, np.nan, Y), RNG.uniform(0.5, 1.5, N)
    w /= w.sum()
    found, middle, value = problem(gapped, w, center=True).solve(REG)
    C, mean = found.numpy(), middle.numpy()
    filled = np.where(GAPS, mean + K @ (C * LAM) @ PSI, Y)
    np.testing.assert_allclose(mean, w @ filled, rtol=1e-7)
    again, same = solved(gapped - mean, w)
    np.testing.assert_allclose(C, again, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(value, same, rtol=1e-9)
    np.testing.assert_allclose(problem(Y, w, center=True).solve(REG)[1], w @ Y, rtol=1e-12)


def test_left_out_errors_are_those_of_fits_without_each_curve() -> None:
    gapped, regs, n = np.where(GAPS, np.nan, Y), np.array([0.3, 0.03, 0.003]), float(N)
    expected = np.zeros(len(regs))
    for i in range(N):
        w = np.where(np.arange(N) == i, 0.0, 1.0 / n)  # the other curves weigh what they did
        for s, reg in enumerate(regs):
            C = problem(gapped, w).solve(reg)[0].numpy()
            expected[s] += np.nansum(Q * (gapped[i] - K[i] @ (C * LAM) @ PSI) ** 2) / n
    np.testing.assert_allclose(problem(gapped).left_out_errors(regs), expected, rtol=1e-8)
