"""L-BFGS: known minima, every reason to stop, and the monitor."""

from __future__ import annotations

import math
import sys
import time

import numpy as np
import pytest
import torch

from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.protocols import Monitor, Reason
from rkhs.solvers import LBFGS
from rkhs.solvers.lbfgs import _Pairs, two_loop
from tests.solvers.functions import Broken, Quadratic, Rosenbrock


@pytest.mark.parametrize("dimension", [2, 10])
def test_rosenbrock(dimension: int) -> None:
    start = torch.full((dimension,), -1.2, dtype=torch.float64)
    solution = LBFGS(500, 1e-14).solve(Rosenbrock(), start)
    assert solution.value < 1e-18
    torch.testing.assert_close(solution.point, torch.ones(dimension, dtype=torch.float64), atol=1e-7, rtol=0.0)
    assert solution.n_evaluations <= 3 * solution.n_iter
    assert (start == -1.2).all(), "the start is not changed"


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_quadratic(seed: int) -> None:
    problem = Quadratic(seed, condition=1e6)
    solution = LBFGS(5000, 1e-12).solve(problem, torch.as_tensor(np.random.default_rng(seed).normal(size=20)))
    assert solution.converged
    assert solution.value == pytest.approx(problem.minimum, rel=1e-9)


@pytest.mark.parametrize("count", [1, 4, 5, 13])
def test_the_compact_direction_is_that_of_the_two_loops(count: int) -> None:
    rng = np.random.default_rng(count)
    grad, rate = (torch.as_tensor(x) for x in (rng.normal(size=(6, 2)), rng.uniform(0.1, 3.0, (6, 2))))
    pairs = _Pairs(grad, 5)
    for _ in range(count):
        s = torch.as_tensor(rng.normal(size=(6, 2)))
        pairs.append(s, rate * s)
    assert len(pairs) == min(count, 5)
    _, y, rho = pairs.all()[-1]
    torch.testing.assert_close(y, rate * s)
    assert rho == pytest.approx(1.0 / float((s * y).sum()))
    torch.testing.assert_close(pairs.direction(grad), two_loop(grad, pairs.all()), rtol=1e-10, atol=1e-12)
    pairs.clear()
    torch.testing.assert_close(pairs.direction(grad), -grad)
    pairs.append(s, rate * s)  # a place that was used before
    again = _Pairs(grad, 5)
    again.append(s, rate * s)
    torch.testing.assert_close(pairs.direction(grad), again.direction(grad))


def test_a_pair_in_single_precision_keeps_the_curvature_that_it_was_accepted_for() -> None:
    accepted = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        s, y = (torch.as_tensor(rng.normal(size=50), dtype=torch.float32) for _ in range(2))
        y = y - s * float((s * y).sum()) / float((s * s).sum())  # nearly orthogonal: rounding decides
        curvature = float((s * y).sum())
        if curvature > 1e-14 * float(s.norm()) * float(y.norm()):
            accepted += 1
            pairs = _Pairs(s, 5)
            pairs.append(s, y)
            assert pairs.all()[0][2] == 1.0 / curvature
    assert accepted > 50


def test_reason_gradient_at_the_minimum() -> None:
    problem = Quadratic(0)
    solution = LBFGS(tol=1e-8).solve(problem, problem.solution)
    assert (solution.reason, solution.n_iter, solution.n_evaluations) == (Reason.GRADIENT, 1, 1)


def test_no_stop_where_the_gradient_is_larger_than_asked() -> None:
    problem = Quadratic(0)
    start = problem.solution + 1e-5
    before = float(problem.value_and_grad(start)[1].norm())
    assert 1e-6 < before < 1e-3
    after = float(problem.value_and_grad(LBFGS(tol=1e-7).solve(problem, start).point)[1].norm())
    assert after < 0.1 * before


def test_reason_decrease() -> None:
    # Down to zero the gradient rule asks for more and more, the decrease rule does not.
    solution = LBFGS(500, 0.9).solve(Quadratic(0, condition=1e8, shift=1e-6), torch.ones(20, dtype=torch.float64))
    assert solution.reason in (Reason.DECREASE, Reason.GRADIENT)
    slow = LBFGS(500, 1e-3).solve(Rosenbrock(), torch.full((10,), -1.2, dtype=torch.float64))
    assert slow.reason.converged


def test_reason_max_iter() -> None:
    solution = LBFGS(3, 1e-12).solve(Rosenbrock(), torch.full((10,), -1.2, dtype=torch.float64))
    assert (solution.reason, solution.n_iter, solution.converged) == (Reason.MAX_ITER, 3, False)
    assert [row["iteration"] for row in solution.history] == [0, 1, 2, 3]


def test_reason_line_search_where_the_gradient_lies() -> None:
    solution = LBFGS(50, 1e-12).solve(Broken("uphill"), torch.ones(3, dtype=torch.float64))
    assert solution.reason is Reason.LINE_SEARCH
    assert (solution.point == 1.0).all()


def test_trials_that_are_not_finite_are_stepped_back_from() -> None:
    solution = LBFGS(100, 1e-10).solve(Broken("wall"), torch.full((1,), 5.0, dtype=torch.float64))
    assert solution.converged
    assert float(solution.point) == pytest.approx(1.0, abs=1e-4)


def test_the_monitor_stops_by_time_and_by_callback() -> None:
    start = torch.full((10,), -1.2, dtype=torch.float64)
    late = LBFGS(500, 1e-12).solve(Rosenbrock(), start, Monitor(time_limit=0.0))
    assert late.reason is Reason.TIME
    rows: list[dict] = []

    def callback(row: dict) -> bool:
        rows.append(row)
        return row["iteration"] == 4

    asked = LBFGS(500, 1e-12).solve(Rosenbrock(), start, Monitor(callback=callback))
    assert (asked.reason, len(rows), len(asked.history)) == (Reason.TIME, 5, 5)
    assert asked.value <= rows[0]["value"]
    assert all(math.isfinite(row["seconds"]) for row in rows)


def test_progress_is_shown_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    LBFGS(3, 1e-12).solve(Quadratic(0), torch.zeros(20, dtype=torch.float64), Monitor(verbose=1, label="fit"))
    shown = capsys.readouterr().err
    assert "fit: iteration 0, objective" in shown
    assert shown.endswith("\n")
    LBFGS(3, 1e-12).solve(Quadratic(0), torch.zeros(20, dtype=torch.float64))
    assert capsys.readouterr().err == ""


def test_progress_says_the_time_left_from_the_second_second_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the decades between the largest measure and the goal took ten seconds: so will the other half."""
    slow = Monitor(verbose=1, label="fit", started=time.perf_counter() - 10.0, tolerance=1e-4, max_iter=1000)
    for iteration, measure in enumerate((1.0, 1e-2)):
        slow.row(iteration, 1.0, measure)
    assert capsys.readouterr().err.endswith("fit: iteration 1, objective 1, 10.0 s, about 10 s left\x1b[K")
    slow.row(800, 1.0, math.nan)  # four fifths of the iterations are done, whatever the measure
    assert "iteration 800, objective 1, 10.0 s, about 3 s left" in capsys.readouterr().err
    quick = Monitor(verbose=1, label="fit", tolerance=1e-4, max_iter=1000)
    LBFGS(30, 1e-6).solve(Quadratic(0), torch.zeros(20, dtype=torch.float64), quick)
    assert "left" not in capsys.readouterr().err
    assert quick.max_iter == 30
    assert quick.tolerance > 0.0


def test_a_problem_that_lacks_the_protocol_is_refused() -> None:
    with pytest.raises(InputError, match="LBFGS needs a problem with the protocol HasValueAndGrad; int does not"):
        LBFGS().solve(3, torch.zeros(1))


@pytest.mark.parametrize(("terminal", "seconds", "shown"), [(True, 60.0, True), (True, 0.0, False), (False, 60.0, 0)])
def test_long_fits_show_progress_where_somebody_looks(
    terminal: bool, seconds: float, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    started = time.perf_counter() - seconds
    monitor = Monitor(verbose="auto", label="fit", started=started)
    monitor.row(1, 1.0, 1.0)
    monitor.finish()
    assert ("fit: iteration 1" in capsys.readouterr().err) == shown


def test_estimators_show_progress_by_themselves_and_print_no_memory(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("rkhs.protocols._PATIENCE", 0.0)
    X = np.random.default_rng(0).normal(size=(30, 3))
    assert KernelAutoencoder(2).fit(X).verbose == "auto"
    assert capsys.readouterr().err.startswith("\rKernelAutoencoder")
    KernelAutoencoder(2, verbose=0).fit(X)
    assert capsys.readouterr().err == ""
