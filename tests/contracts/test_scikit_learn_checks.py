"""The checks of scikit-learn on every public estimator: its suite, and the common checks that the suite leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils import estimator_checks

from tests.contracts.estimator_examples import (
    COSTLY_GRAMS,
    QUICK,
    VARIANTS,
    configurations,
    estimators,
    hands_rows,
    is_pairwise,
    plain,
    refuses_parts,
)

ROOT = Path(__file__).resolve().parents[2]


def test_estimators_are_found() -> None:
    assert {"KernelAutoencoder", "KernelPCA"} <= {kind.__name__ for kind in estimators()}
    assert set(VARIANTS) <= {kind.__name__ for kind in estimators()}


# The array-API check runs in a process of its own (below, -m slow): its switch must be set before SciPy is imported.
ELSEWHERE = "check_array_api_input"


def check_all(
    estimator: BaseEstimator, rounded: frozenset[str] = frozenset(), refused: dict[str, str] | None = None
) -> None:
    """Every check passes; those in ``rounded`` may differ by more than they allow, ``refused`` meet an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks hand over collinear and constant data; every failure raises anyway
        results = estimator_checks.check_estimator(clone(estimator), on_skip=None, on_fail=None)
    seen = [r for r in results if r["check_name"] != ELSEWHERE and not hands_rows(estimator, r["check_name"])]
    seen = [r for r in seen if not refuses_parts(r)]
    bad = {r["check_name"]: r["exception"] for r in seen if r["status"] != "passed"}
    for name, words in (refused or {}).items():
        assert words in str(bad.pop(name)), f"{name} must be refused: {words}"
    assert not {name: error for name, error in bad.items() if name not in rounded or type(error) is not AssertionError}
    assert not any(r["expected_to_fail"] for r in results)
    assert len(results) > 40


# The classes that other classes of the fast suite stand for, and Gram matrices of classes that fit by iteration.
COSTLY = COSTLY_GRAMS
GRAM_COSTLY = ("InputOutputKernelRegressor", "KernelAutoencoder", "OperatorKernelRegressor", *COSTLY_GRAMS)


def costly_last(made: list[BaseEstimator]) -> list[Any]:
    """The estimators, those that take long and say what another one says marked as slow."""

    def slow(estimator: BaseEstimator) -> bool:
        return type(estimator).__name__ in (GRAM_COSTLY if is_pairwise(estimator) else COSTLY)

    return [pytest.param(one, marks=pytest.mark.slow) if slow(one) else one for one in made]


@pytest.mark.sample(3)
@pytest.mark.parametrize("estimator", costly_last(plain(QUICK)), ids=repr)
def test_check_estimator_passes_with_no_failure_and_no_skip(estimator: BaseEstimator) -> None:
    check_all(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", configurations(), ids=repr)
def test_check_estimator_passes_at_the_defaults_and_all_variants(estimator: BaseEstimator) -> None:
    check_all(estimator)


LEFT_OUT = [
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]
ANY_ESTIMATOR = {"check_dataframe_column_names_consistency", "check_inplace_ensure_writeable"}


def check_by_name(estimator: BaseEstimator, check: str) -> None:
    if check not in ANY_ESTIMATOR and not hasattr(estimator, "transform"):
        assert not hasattr(estimator, "get_feature_names_out")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks mix frames and arrays on purpose; every failure raises anyway
        getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))


@pytest.mark.slow
@pytest.mark.parametrize("check", LEFT_OUT)
@pytest.mark.parametrize("estimator", costly_last([e for e in plain(QUICK) if not is_pairwise(e)]), ids=repr)
def test_common_checks_that_check_estimator_leaves_out(estimator: BaseEstimator, check: str) -> None:
    check_by_name(estimator, check)


@pytest.mark.slow
@pytest.mark.parametrize("check", LEFT_OUT)
@pytest.mark.parametrize("estimator", plain(), ids=repr)
def test_common_checks_at_the_defaults_and_on_gram_matrices(estimator: BaseEstimator, check: str) -> None:
    check_by_name(estimator, check)


@pytest.mark.slow
@pytest.mark.parametrize("name", [kind.__name__ for kind in estimators()])
def test_all_checks_with_the_array_api_in_a_process_of_its_own(name: str) -> None:
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from tests.contracts.estimator_examples import hands_rows, plain, refuses_parts\n"
        f"made = [one for one in plain() if type(one).__name__ == {name!r}]\n"
        "every = [(one, r) for one in made for r in check_estimator(one, on_skip=None, on_fail=None)]\n"
        "seen = [r for one, r in every if not hands_rows(one, r['check_name'])]\n"
        "seen = [r for r in seen if not refuses_parts(r)]\n"
        "bad = [(r['check_name'], r['status'], r['exception']) for r in seen if r['status'] != 'passed']\n"
        "ran = [r for r in seen if r['check_name'] == 'check_array_api_input' and r['status'] == 'passed']\n"
        "assert not bad, bad\n"
        "assert len(ran) >= len(made), len(ran)\n"
    )
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
