"""The fuzz itself: it covers every public name, sees each kind of mistake, and repeats a case from its seed."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs._core.errors import InputError
from studies.reliability.fuzz import subjects as every
from studies.reliability.fuzz.case import Case, Failure
from studies.reliability.fuzz.runner import last_line, main, run_case

PACKAGES = (
    "estimators",
    "kernels",
    "losses",
    "metrics",
    "constraints",
    "outputs",
    "augment",
    "features",
    "selection",
    "data",
    "evaluation",
)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case("a subject", 0, 0, tmp_path)


def kinds_of(case: Case) -> list[str]:
    return [failure.kind for failure in case.failures]


def test_every_public_name_is_fuzzed_or_says_why_not() -> None:
    public = {name for package in PACKAGES for name in importlib.import_module(f"rkhs.{package}").__all__}
    assert sorted(public - every.covered() - set(every.LEFT_OUT)) == [], "public names without a subject"
    assert sorted(set(every.LEFT_OUT) - public) == [], "names that are not public any more"


def test_an_answer_and_a_named_refusal_are_right(case: Case) -> None:
    def refuse(X: Any) -> None:
        raise InputError("X must be positive; got -1")

    assert case.call("answer", lambda X: X + 1.0, np.ones(3)).answered
    assert case.call("refuse", refuse, np.ones(3), may_name=r"\bX\b").refused
    assert not case.failures
    assert case.calls == 2


def change(X: np.ndarray) -> None:
    X[0] = 5.0


def warn(X: np.ndarray) -> None:
    warnings.warn("from nowhere", RuntimeWarning, stacklevel=1)


def unnamed(X: np.ndarray) -> None:
    raise InputError("something is wrong")


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda X: X["a"], "raw error"),
        (lambda X: np.linalg.inv(np.zeros((2, 2))), "raw error"),
        (lambda X: X / 0.0, "raw error"),  # NumPy's own warning
        (warn, "raw error"),
        (unnamed, "raw error"),
        (lambda X: np.where(X > 0, np.nan, X), "silent NaN"),
        (lambda X: {"error": [float("inf")]}, "silent NaN"),
        (change, "disagreement"),
    ],
)
def test_each_kind_of_mistake_is_seen(case: Case, function: Any, kind: str) -> None:
    case.call("a call", function, np.ones(3), may_name=r"\bX\b")
    assert kinds_of(case) == [kind]


def test_results_that_differ_are_seen(case: Case) -> None:
    assert case.agree("equal", np.ones(3) * (1 + 1e-12), np.ones(3), rtol=1e-9)
    for other in (np.array([1.0, 1.0, 1.1]), np.ones(4), np.array([1.0, 1.0, np.inf])):
        assert not case.agree("not equal", other, np.ones(3), rtol=1e-9)
    assert kinds_of(case) == ["disagreement"] * 3


def test_a_case_repeats_from_its_seed(tmp_path: Path) -> None:
    first, second = (run_case("losses.Huber", 3, 2, tmp_path) for _ in range(2))
    assert first.calls == second.calls > 0
    assert first.rng.random() == second.rng.random()
    assert first.rng.random() != run_case("losses.Huber", 3, 3, tmp_path).rng.random()


def test_the_last_line_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--calls", "20", "--only", "losses.Squared", "--seed", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("calls, 0 raw errors, 0 silent NaN, 0 disagreements")
    failures = [Failure("raw error", "a", "b", "c"), Failure("disagreement", "a", "b", "c")]
    assert last_line({"a": 7}, failures) == "rkhs-fuzz: 7 calls, 1 raw errors, 0 silent NaN, 1 disagreements"
