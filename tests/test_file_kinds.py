"""A model of every kind comes back from its file, and says the same to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs._core.errors import ModelFileError
from rkhs._core.stored import Stored
from rkhs.persistence import registry
from studies.reliability.file_kinds import CASES, answers, made
from tests.contracts.estimator_examples import estimators

SEEN: set[str] = set()


@pytest.mark.sample(24)
@pytest.mark.parametrize("name", CASES)
def test_models_say_what_they_said(name: str, tmp_path: Path) -> None:
    if "molecules" in name:
        pytest.importorskip("rdkit", reason="molecules need RDKit (extra `chem`)")
    model, items = made(list(CASES).index(name), name)
    rkhs.save(model, tmp_path / "m")
    again = rkhs.load(tmp_path / "m")
    SEEN.add(type(model).__name__)
    for before, after in zip(answers(model, items), answers(again, items), strict=True):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(after, before)


def test_every_estimator_has_a_case() -> None:
    models = {type(made(number, name)[0]).__name__ for number, name in enumerate(CASES) if "cv" in name}
    assert {cls.__name__ for cls in estimators()} <= SEEN | models or len(SEEN) < len(CASES) // 2


def test_values_are_checked_and_found() -> None:
    values = [cls for cls in registry().values() if issubclass(cls, Stored)]
    assert len(values) > 15
    for cls in values:
        assert not [name for name in cls.__dataclass_fields__ if name not in cls.__init__.__annotations__]
    with pytest.raises(ModelFileError):
        rkhs.load(__file__)
