"""A small part of the generated fuzz, and of all parameters beside all values, always the same cases.

The full runs, with as many cases as are asked for::

    python -m studies.reliability.fuzz --full --seed 1       # 100,000 calls over all subjects
    python -m studies.reliability.fuzz --calls 5000 --only KernelPCA,Nystroem
    python -m studies.reliability.fuzz --case KernelPCA:1:14  # one case, with every call told
    python -m studies.reliability.signatures                 # every parameter of every class beside 19 values
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from studies.reliability import signatures
from studies.reliability.fuzz import estimators
from studies.reliability.fuzz.case import Case
from studies.reliability.fuzz.runner import run_case
from studies.reliability.fuzz.subjects import subjects

SEED = 8
SLOW = {"commands", "fit_robust"}  # seconds a case: in the full run


@pytest.mark.sample(30)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "units.DeepRKM" else name
        for name in sorted(set(subjects()) - SLOW)
    ],
)
def test_a_case_of_each_subject(name: str, tmp_path: Path) -> None:
    failures = [str(failure) for failure in run_case(name, SEED, 0, tmp_path).failures]
    assert not failures, "\n".join(failures)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(estimators.kinds()))
def test_parameters_of_the_wrong_kind_are_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few = [i for i, value in enumerate(signatures.VALUES) if isinstance(value, (str, dict)) or hasattr(value, "ndim")]
    calls = (call for call in signatures.calls() if call.subject == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [
            text
            for number, call in enumerate(calls)
            if number % len(signatures.VALUES) in few
            for text in call.outcome(Case(f"signatures.{name}", 0, 0, tmp_path))
        ]
    assert not wrong, "\n".join(wrong)
