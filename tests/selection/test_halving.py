"""Ridge regression for many regularisers, and the choice among kernels by left-out rows of subsamples."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs.kernels import Gaussian, Matern
from rkhs.selection.halving import RidgeOfAll, Rows, candidate_kernels, halving, left_out, solved

rng = np.random.default_rng(0)
N = 40
X, Y = torch.as_tensor(rng.random((N, 3))), torch.as_tensor(rng.normal(size=(N, 2)))
V = torch.as_tensor(rng.random(N) + 0.5)
TRIPLES = np.arange(N) // 3


def rows_of(groups: np.ndarray | None, *, center: bool = True) -> Rows:
    return Rows(X, Y, V / V.sum(), groups, center)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("groups", [None, TRIPLES], ids=["rows", "groups"])
def test_residuals_are_those_of_fits_without_the_rows(groups: np.ndarray | None, *, center: bool) -> None:
    rows, kernel, reg = rows_of(groups, center=center), Gaussian(3.0), 1e-2
    found = left_out(kernel, rows, reg)[1]
    for i in (0, 5, 39):
        out = [i] if groups is None else np.flatnonzero(groups == groups[i]).tolist()
        rest = rows.part(np.setdiff1d(np.arange(N), out))
        predicted = kernel._gram(X[out], rest.X) @ solved(kernel, rest, reg) + rest.mean
        torch.testing.assert_close(found[out], Y[out] - predicted, rtol=0.0, atol=1e-8)


def test_every_regulariser_has_the_errors_of_its_own_refits() -> None:
    rows = rows_of(None)
    ridge = RidgeOfAll(Matern(1.5, 2.0), rows)
    errors, regs = ridge.left_out_errors(ridge.regs), ridge.regs
    for k in (0, 8, 18):
        total = 0.0
        for i in range(N):
            rest = rows.part(np.delete(np.arange(N), i))
            reg = float(regs[k] * rest.v.sum() / rows.v.sum())  # the regulariser of a share of the weights
            predicted = ridge.kernel._gram(X[[i]], rest.X) @ solved(ridge.kernel, rest, reg) + rest.mean
            total += float(rows.v[i] * ((Y[[i]] - predicted) ** 2).mean() / rows.v.sum())
        assert errors[k] == pytest.approx(total, rel=1e-8)
    torch.testing.assert_close(ridge.coefficients(float(regs[9])), solved(ridge.kernel, rows, float(regs[9])))


def test_held_out_errors_are_those_of_the_machines() -> None:
    rows, others = rows_of(None).part(np.arange(30)), rows_of(None).part(np.arange(30, N))
    ridge = RidgeOfAll(Gaussian(2.0), rows)
    predicted = ridge.kernel._gram(others.X, rows.X) @ solved(ridge.kernel, rows, float(ridge.regs[5])) + rows.mean
    expected = float(others.v @ ((others.Y - predicted) ** 2).sum(1))
    assert ridge.held_out_errors(others)[5] == pytest.approx(expected, rel=1e-8)


def test_subsamples_hold_whole_groups_and_have_no_row_in_common() -> None:
    one, two = (rows_of(TRIPLES).subsample(12, 0, number) for number in (0, 1))
    assert not set(one) & set(two)
    for part in (one, two):
        inside = np.unique(TRIPLES[part])
        assert sorted(part) == np.flatnonzero(np.isin(TRIPLES, inside)).tolist()


def test_the_bandwidth_of_least_error_stays() -> None:
    x = torch.linspace(0.0, 1.0, 500, dtype=torch.float64)[:, None]
    y = torch.sin(40.0 * x) + 0.1 * torch.as_tensor(rng.normal(size=(500, 1)))
    rows = Rows(x, y, torch.full((500,), 1 / 500.0, dtype=torch.float64), None, True)
    found = halving([rows], candidate_kernels(rows))
    best = min(RidgeOfAll(one, rows).best.error for one in candidate_kernels(rows))
    assert found[0].error < 1.1 * best
    assert RidgeOfAll(Gaussian(0.1), rows).best.error > 2.0 * found[0].error
