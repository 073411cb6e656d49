"""Pairs of fits that must agree: one of each estimator and relation, and a fault that is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rkhs
from studies.reliability import metamorphic
from studies.reliability.metamorphic import PAIRS, compare


@pytest.mark.sample(12)
@pytest.mark.parametrize("seed", range(len(PAIRS)), ids=lambda seed: " ".join(PAIRS[seed]))
def test_two_fits_that_must_agree_do(seed: int) -> None:
    outcome = compare(seed)
    assert outcome.holds, str(outcome)


def test_an_estimator_that_ignores_its_weights_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_weights(model: Any, sample: Any) -> Any:
        return model.fit(sample.X, *(() if sample.y is None else (sample.y,)))

    seed = PAIRS.index(("OperatorKernelRegressor", "absent"))
    monkeypatch.setattr(metamorphic, "fitted", without_weights)
    assert not compare(seed).holds


def test_every_public_estimator_is_drawn() -> None:
    public = {name for name in rkhs.__all__ if hasattr(getattr(rkhs, name), "fit")}
    named = {name.split(",")[0] for name in metamorphic.SUBJECTS}
    assert public <= named, public - named
    assert np.all([relation in {*metamorphic.RELATIONS, "saved"} for _, relation in PAIRS])
