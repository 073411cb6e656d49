"""Solvers as options: names stand for objects, estimators fill limits that an object leaves open, one's own serve."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import rkhs
from rkhs import DeepRKM, KernelAutoencoder, OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.protocols import Monitor, Reason, Solution
from rkhs.solvers import (
    ADMM,
    LBFGS,
    Adam,
    Alternating,
    GradientDescent,
    RiemannianLBFGS,
    Solver,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.random.default_rng(0).normal(size=(40, 4)) @ np.diag([2.0, 1.0, 0.3, 0.1])
FITS: dict[str, tuple[Solver, dict[str, Any]]] = {
    "lbfgs": (LBFGS(), {}),
    "adam": (Adam(), {}),
    "gradient_descent": (GradientDescent(), {}),
    "alternating": (Alternating(), {}),
}


class Momentum(Solver):
    """A user's solver: steps along a running mean of gradients."""

    def __init__(self, step: float = 0.3, max_iter: int | None = None) -> None:
        self.step = step
        self.max_iter = max_iter

    def _solve(self, problem: Any, start: torch.Tensor, monitor: Monitor) -> Solution:
        point, mean = start, torch.zeros_like(start)
        for _ in range(self.max_iter):
            mean = 0.9 * mean + problem.value_and_grad(point)[1]
            point = point - self.step * mean
        return Solution(point, problem.value_and_grad(point)[0], Reason.SCHEDULE, self.max_iter, self.max_iter + 1)


def fit(**options: Any) -> KernelAutoencoder:
    settings: dict[str, Any] = {"kernel": Gaussian(0.3), "reg": 1e-3, "max_iter": 6, "random_state": 0}
    return KernelAutoencoder(2, **{**settings, **options}).fit(X)


@pytest.mark.parametrize("name", FITS)
def test_a_name_is_the_object_with_its_defaults(name: str) -> None:
    solver, options = FITS[name]
    by_name, by_object = fit(solver=name, **options), fit(solver=solver, **options)
    np.testing.assert_array_equal(by_name.codes_, by_object.codes_)
    assert by_name.n_evaluations_ == by_object.n_evaluations_
    with pytest.raises(InputError, match=rf"solver__tol is .* got solver='{name}'.* \(for '{name}': {solver!r}"[:-2]):
        by_name.set_params(solver__tol=1.0)


@pytest.mark.usefixtures("all_candidates")
def test_limits_of_an_object_come_first_and_those_of_the_estimator_fill_the_rest() -> None:
    assert fit(solver=Adam(0.1)).n_iter_ == 6
    assert fit(solver=Adam(0.1, max_iter=3)).n_iter_ == 3
    assert fit(solver=Adam(0.1, max_iter=3), max_iter=50).n_iter_ == 3
    assert fit(solver=LBFGS(tol=10.0), max_iter=50).n_iter_ < fit(solver=LBFGS(), max_iter=50).n_iter_
    deep = DeepRKM((2, 1), solver=RiemannianLBFGS(), max_iter=2, tol=0.0).fit(X)
    assert deep.n_iter_ == 2
    loose, exact = (
        OperatorKernelRegressor(solver=solver, loss="huber", tol=0.1).fit(X, X[:, :1]).gap_
        for solver in (ADMM(), ADMM(tol=1e-9))
    )
    assert exact < loose
    alone = Adam(0.1).within(7, 0.5)
    assert alone == Adam(0.1, 7, 0.5)
    assert alone.within(8) is alone
    assert alone.within(8, force=True) == Adam(0.1, 8, 0.5)


def test_a_solver_of_ones_own_serves_the_autoencoder(tmp_path: Path) -> None:
    choices: list[dict[str, Any]] = [{"linear_part": "free"}, {"operators": (np.eye(2), None)}, {"dtype": "float32"}]
    for options in choices:
        own, first = (fit(solver=Momentum(1e-2, steps), **options) for steps in (40, 1))
        assert own.objective_ < first.objective_
        assert own.n_iter_ == 40
    assert fit(solver=Momentum(1e-2)).n_iter_ == 6
    assert KernelAutoencoder(2, solver=Momentum(1e-2), max_iter=5).fit(X).model_.linear is not None
    own = fit(solver=Momentum(1e-2))
    again = pickle.loads(pickle.dumps(clone(own))).fit(X)
    np.testing.assert_array_equal(again.codes_, own.codes_)
    with pytest.raises(InputError, match="a model file holds objects of rkhs only"):
        rkhs.save(own, tmp_path / "model.rkhs")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DeepRKM(2, solver=Momentum()).fit(X), r"solver: Momentum does not satisfy Stiefel"),
        (lambda: fit(solver=Momentum(), storage=Nystroem(5)), r"solver=Momentum\(\) needs storage='dense'"),
        (
            lambda: fit(solver=Momentum(), constraint="sphere"),
            r"constraint='sphere' needs solver='lbfgs'; got Momentum",
        ),
        (lambda: fit(solver=Adam(), loss="huber"), r"loss='huber' needs solver='lbfgs'; got Adam\(\)"),
        (
            lambda: fit(solver=ADMM()),
            "ADMM needs a problem with .*; Autoencoder does not have it. Solvers for this problem: lbfgs",
        ),
        (
            lambda: fit(solver=Adam),
            r"solver must be one of 'lbfgs', .*, or an object of rkhs.solvers such as LBFGS\(\)",
        ),
        (lambda: fit(solver="newton"), "solver must be one of 'lbfgs', 'adam', .*; got 'newton'"),
        (lambda: fit(solver=Adam(-1.0)), "Adam.learning_rate must be > 0; got -1"),
        (lambda: fit(solver=Adam(patience=0)), "Adam.patience must be an integer >= 1; got 0"),
        (
            lambda: OperatorKernelRegressor(solver=LBFGS()).fit(X, X),
            r"solver must be one of 'auto', 'admm', .*, or an object that solves dual problems, such as ADMM\(\)",
        ),
        (lambda: DeepRKM(2, solver="adam").fit(X), r"solver must be one of 'subspace', .* such as Subspace\(\)"),
    ],
)
def test_wrong_solvers_are_refused_in_words(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_options_of_solvers_are_searched_and_stored(tmp_path: Path) -> None:
    base = KernelAutoencoder(2, linear_part="kernel", solver=Adam(), max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = GridSearchCV(base, {"solver__patience": [8, 16], "solver__learning_rate": [1e-3]}, cv=2).fit(X)
        assert found.best_params_["solver__patience"] in (8, 16)
        with pytest.raises(InputError, match=r"solver__patience .* \(for 'adam': Adam\(\)\)"):
            GridSearchCV(clone(base).set_params(solver="adam"), {"solver__patience": [8]}, cv=2).fit(X)
    best = found.best_estimator_
    rkhs.save(best, tmp_path / "model.rkhs")
    again = rkhs.load(tmp_path / "model.rkhs")
    assert again.solver == best.solver
    assert "Adam(patience=" in repr(again) or "Adam(learning_rate=" in repr(again)
