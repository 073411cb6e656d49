"""A fit that is refused or interrupted leaves an estimator as it was; one that ends well leaves nothing of the last."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressor
from rkhs._core.errors import ColumnWarning
from rkhs.estimators import reader
from rkhs.estimators.base import KernelEstimator
from rkhs.evaluation import SmoothClassifier, SmoothRegressor
from rkhs.features import FilledTable, Nystroem, RandomFeatures
from tests.contracts.estimator_examples import QUICK, costly_grams_last, is_pairwise, plain

RNG = np.random.default_rng(3)
X, NEW = RNG.normal(size=(12, 3)), RNG.normal(size=(4, 3))
OTHER = 5.0 + 10.0 * RNG.normal(size=(9, 3))
SHORT: dict[str, dict[str, Any]] = {**QUICK, "FunctionalKernelRegressor": {"reg": 1e-3, "loss": "squared"}}

ESTIMATORS: list[Any] = [
    *costly_grams_last(plain(SHORT)),
    KernelPCA(2, columns="scaled"),
    KernelPCA(2, loss="huber"),
    KernelPCA(2, storage=Nystroem(5)),
    KernelAutoencoder(2, columns="scaled", storage=Nystroem(5), reg=(1e-2, 1e-2), max_iter=5),
    KernelAutoencoder(1, warm_start=True, reg=1e-2, max_iter=5),
]
OTHERS: list[Any] = [FilledTable(), Nystroem(5), RandomFeatures(5), SmoothRegressor(), SmoothClassifier()]
IN_PARTS: list[Any] = [
    KernelPCA(2, columns="scaled", storage=Nystroem(5)),
    KernelPCA(2, storage=RandomFeatures(5)),
    KernelAutoencoder(2, reg=1e-2, max_iter=5),
    KernelAutoencoder(2, columns="scaled", storage=Nystroem(5), reg=(1e-2, 1e-2), max_iter=5),
]
each = pytest.mark.parametrize("estimator", [*ESTIMATORS, *OTHERS], ids=repr)
each_in_parts = pytest.mark.parametrize("estimator", IN_PARTS, ids=repr)
pytestmark = pytest.mark.filterwarnings("ignore")


def rows_for(estimator: BaseEstimator, rows: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Rows in the form that the estimator reads."""
    return np.exp(-((rows[:, None] - train) ** 2).sum(2) / 50.0) if is_pairwise(estimator) else rows


def arguments(estimator: BaseEstimator, rows: np.ndarray) -> tuple[Any, ...]:
    """What a fit is called with."""
    if isinstance(estimator, SmoothClassifier):
        return rows, np.arange(len(rows)) % 2
    return rows_for(estimator, rows, rows), rows[:, 0]


def fit(estimator: BaseEstimator) -> Any:
    return clone(estimator).fit(*arguments(estimator, X))


def answer(model: Any, train: np.ndarray = X) -> np.ndarray:
    """What a fitted model says of new rows."""
    return np.asarray((model.transform if hasattr(model, "transform") else model.predict)(rows_for(model, NEW, train)))


def state(model: Any) -> tuple[np.ndarray, dict[str, Any], dict[str, bytes]]:
    """What an estimator answers, all that it holds, and the bits of that."""
    answered, held = answer(model), dict(vars(model))
    return answered, held, {name: pickle.dumps(value) for name, value in held.items()}


def assert_unchanged(model: Any, before: Any) -> None:
    answered, held, bits = state(model)
    assert list(held) == list(before[1])
    assert all(held[name] is before[1][name] for name in held)
    assert bits == before[2]
    np.testing.assert_array_equal(answered, before[0])


def refused(estimator: BaseEstimator, call: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
    """Calls with data that no estimator takes."""
    given = arguments(estimator, OTHER)
    gaps = given[0].copy()
    gaps[1, 0] = np.inf if isinstance(estimator, FilledTable) else np.nan
    yield lambda: call(gaps, *given[1:])
    yield lambda: call(given[0][:, :0], *given[1:])
    if "sample_weight" in inspect.signature(call).parameters:
        yield lambda: call(*given, sample_weight=-np.ones(len(OTHER)))
        yield lambda: call(*given, sample_weight=np.ones(3))


@pytest.mark.sample(12)
@each
def test_a_second_fit_that_is_refused_leaves_the_first(estimator: BaseEstimator) -> None:
    model = fit(estimator)
    before = state(model)
    for call in refused(model, model.fit):
        with pytest.raises(ValueError, match="."):
            call()
        assert_unchanged(model, before)


class Stop:
    """Raises at one call of a method of a class, and counts the calls."""

    def __init__(self, patch: pytest.MonkeyPatch, cls: Any, name: str, at: int | None, error: type[BaseException]):
        self.calls, method = 0, getattr(cls, name)

        def counted(model: Any, *args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == at:
                raise error
            return method(model, *args, **options)

        patch.setattr(cls, name, counted)


@pytest.mark.sample(6)
@each
def test_a_second_fit_that_is_interrupted_leaves_the_first(
    estimator: BaseEstimator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignments = Stop(monkeypatch, type(estimator), "__setattr__", None, KeyboardInterrupt)
    model = clone(estimator)
    assignments.calls = 0
    model.fit(*arguments(model, X))
    last, before = assignments.calls, state(model)
    for at, error in ((last, KeyboardInterrupt), (last // 2, MemoryError)):
        with monkeypatch.context() as patch:
            Stop(patch, type(estimator), "__setattr__", at, error)
            with pytest.raises(error):
                model.fit(*arguments(model, OTHER))
        assert_unchanged(model, before)


@pytest.mark.sample(6)
@each
def test_nothing_of_an_earlier_fit_is_left(estimator: BaseEstimator) -> None:
    if getattr(estimator, "warm_start", False):
        return  # starts from the earlier one
    again, fresh = fit(estimator), clone(estimator)
    for model in (again, fresh):
        model.fit(*arguments(model, OTHER))
    assert sorted(vars(again)) == sorted(vars(fresh))
    np.testing.assert_array_equal(answer(again, OTHER), answer(fresh, OTHER))


def test_what_the_second_fit_does_not_set_is_gone() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = KernelPCA(2, loss="huber", columns="scaled").fit(frame)
    assert {"history_", "feature_names_in_"} <= vars(model).keys()
    model.set_params(loss="squared", columns="raw", storage=Nystroem(5)).fit(X)
    assert not {"history_", "feature_names_in_"} & vars(model).keys()


@each_in_parts
def test_parts_that_are_refused_or_interrupted_are_forgotten_and_no_others(estimator: BaseEstimator) -> None:
    model, twin = clone(estimator).partial_fit(X), clone(estimator).partial_fit(X)
    before = state(model)
    for part in (OTHER * np.nan, OTHER[:, :2], OTHER[:0]):
        with pytest.raises(ValueError, match="."):
            model.partial_fit(part)
        assert_unchanged(model, before)
    for owner, name, error in ((reader, "read_rows", MemoryError), (KernelEstimator, "_to_output", KeyboardInterrupt)):
        with pytest.MonkeyPatch.context() as patch:
            Stop(patch, owner, name, 1, error)
            with pytest.raises(error):
                model.partial_fit(OTHER)
        assert_unchanged(model, before)
    np.testing.assert_array_equal(model.partial_fit(OTHER).transform(NEW), twin.partial_fit(OTHER).transform(NEW))


class Closed:
    """Standard error of a terminal whose user presses Ctrl-C when something is shown."""

    def write(self, text: str) -> None:
        raise KeyboardInterrupt

    flush = isatty = lambda self: None


@pytest.mark.parametrize("estimator", [KernelAutoencoder(2, reg=1e-2), OperatorKernelRegressor(loss="huber")], ids=repr)
def test_progress_may_be_interrupted(estimator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fit(estimator).set_params(verbose=1)
    before = state(model)
    monkeypatch.setattr(sys, "stderr", Closed())
    with pytest.raises(KeyboardInterrupt):
        model.fit(OTHER, OTHER[:, 0])
    assert_unchanged(model, before)


class Noted(KernelPCA):
    """A user's class, which notes something before the fit that it extends."""

    def fit(self, X: Any, y: Any = None, **options: Any) -> Any:
        self.width_ = X.shape[1]
        return super().fit(X[:, :2], y, **options)


def test_a_subclass_keeps_what_it_noted_before_the_fit_that_it_extends() -> None:
    model = Noted(2).fit(X)
    assert (model.width_, model.n_features_in_) == (3, 2)
    assert vars(model).keys() - {"width_"} == vars(KernelPCA(2).fit(X[:, :2])).keys()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((9, 5), np.nan))
    assert model.width_ == 3


def test_a_fit_keeps_its_signature_and_the_settings_beside_the_parameters() -> None:
    assert list(inspect.signature(KernelPCA.fit).parameters) == ["self", "X", "y", "sample_weight"]
    model = KernelPCA(2).set_output(transform="pandas")
    assert list(model.fit(X).fit_transform(X).columns) == ["kernelpca0", "kernelpca1"]


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (KernelAutoencoder(1, reg=1e-2, max_iter=1), ConvergenceWarning),
        (OperatorKernelRegressor(loss="huber", max_iter=1), ConvergenceWarning),
        (KernelPCA(2), ColumnWarning),
        (make_pipeline(KernelPCA(2)), ColumnWarning),
    ],
    ids=repr,
)
def test_warnings_of_a_fit_name_the_line_that_asked_for_it(model: Any, kind: type[Warning]) -> None:
    with pytest.warns(kind) as caught:
        model.fit(X * [1.0, 1.0, 1e3], X)
    assert {one.filename for one in caught if issubclass(one.category, kind)} == {__file__}
