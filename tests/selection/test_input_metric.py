"""A metric of the inputs learned from gradients, taken where rows that it has not seen are predicted better."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rkhs.kernels import Gaussian, MappedInputs, Matern, ScaledInputs
from rkhs.selection.halving import Rows, solved
from rkhs.selection.input_metric import InputMetric, choose, importances, mean_outer_gradients

rng = np.random.default_rng(1)


def rows_of(X: np.ndarray, y: np.ndarray, groups: Any = None) -> Rows:
    Y = torch.as_tensor(y.reshape(len(y), -1) / y.std(0))
    return Rows(torch.as_tensor(X), Y, torch.full((len(X),), 1.0 / len(X), dtype=torch.float64), groups, True)


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(0.7), MappedInputs(Matern(1.5, 0.8), [[1.0, 0.2], [0.0, 1.5], [0.4, 0.0]])],
    ids=["plain", "mapped"],
)
def test_gradients_are_differences_of_the_fit(kernel: Any) -> None:
    rows = rows_of(rng.normal(size=(12, 3)), rng.normal(size=(12, 2)))
    C, step = solved(kernel, rows, 1e-3), 1e-6
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for x in rows.X:
        ends = torch.stack([x + s * step * e for e in torch.eye(3, dtype=torch.float64) for s in (1.0, -1.0)])
        values = kernel._gram(ends, rows.X) @ C
        J = (values[::2] - values[1::2]) / (2.0 * step)
        expected += J @ J.T / 12.0
    torch.testing.assert_close(mean_outer_gradients(kernel, rows, C), expected, rtol=1e-5, atol=1e-7)


def test_weights_of_columns_and_directions_are_roots_of_the_gradients() -> None:
    M = torch.tensor([[4.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    columns, full = InputMetric.of(M, "columns", 1), InputMetric.of(M, "full", 1)
    torch.testing.assert_close(columns.W, (2.0 * M.diagonal() / 5.0).sqrt())
    torch.testing.assert_close(full.W @ full.W.T, 2.0 * M / 5.0)
    X = torch.as_tensor(rng.normal(size=(4, 2)))
    for metric, kind in ((columns, ScaledInputs), (full, MappedInputs)):
        kernel = metric.kernel(Gaussian(0.5))
        assert isinstance(kernel, kind)
        torch.testing.assert_close(kernel._gram(X), Gaussian(0.5)._gram(metric.mapped(X)))


def test_one_direction_of_many_is_found() -> None:
    X, u = rng.normal(size=(350, 12)), np.linalg.qr(rng.normal(size=(12, 12)))[0][:, 0]
    rows = rows_of(X, np.sin(2.0 * X @ u) + 0.1 * rng.normal(size=350))
    found = choose(rows)
    assert found.metric.kind == "full"
    leading = torch.linalg.eigh(found.metric.W @ found.metric.W.T)[1][:, -1]
    assert abs(float(leading @ torch.as_tensor(u))) > 0.98
    assert found.candidate.error < 0.3 * found.errors["none"]


def test_idle_columns_lose_their_weight() -> None:
    X = rng.random((300, 12))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 0.5 * rng.normal(size=300)
    rows = rows_of(X, y)
    found = choose(rows)
    assert found.metric.kind == "columns"
    shares = importances(found, rows)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[:3].min() > 10.0 * shares[3:].max()


def test_a_function_of_the_length_alone_keeps_the_columns_as_they_are() -> None:
    X = rng.normal(size=(300, 4))
    found = choose(rows_of(X, np.exp(-0.5 * (X**2).sum(1)) + 0.05 * rng.normal(size=300)))
    assert found.metric.turns == 0


def test_columns_in_other_units_are_scaled() -> None:
    X = rng.normal(size=(200, 3))
    y = X.sum(1) + 0.1 * rng.normal(size=200)
    found = choose(rows_of(X * [1.0, 1e3, 1e-3], y))
    assert found.errors["scaled"] < 0.5 * found.errors["none"]
    assert found.metric.kind is not None


def test_a_linear_function_of_few_rows_is_announced_as_well_as_it_is_predicted() -> None:
    """Errors of rows left out at a metric that has seen them were seventy times too small."""
    announced, true = [], []
    for seed in range(6):
        r = np.random.default_rng(seed)
        X, b = r.normal(size=(1060, 20)), r.normal(size=20)
        y = X @ b + 0.1 * np.sqrt((b**2).sum()) * r.normal(size=1060)
        rows = rows_of(X[:60], y[:60])
        found = choose(rows)
        C = solved(found.kernel, rows, found.candidate.reg)
        predicted = found.kernel._gram(torch.as_tensor(X[60:]), rows.X) @ C + rows.mean
        announced.append(float(found.residuals.square().mean()))
        true.append(float(((predicted[:, 0] - torch.as_tensor(y[60:] / y[:60].std())) ** 2).mean()))
    assert np.mean(announced) > 0.5 * np.mean(true)
