"""No public method of an estimator answers, or fails without a name, before fit."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from studies.reliability.fuzz.estimators import BY_CODE, BY_ROW, kinds

METHODS = (*BY_ROW, *BY_CODE, "score", "rank", "traverse", "get_feature_names_out", "decision_function")


@pytest.mark.parametrize("name", sorted(kinds()))
def test_methods_before_fit_say_so(name: str) -> None:
    X = np.ones((3, 2))
    for method in METHODS:
        model = kinds()[name]()
        try:
            bound = getattr(model, method)
        except AttributeError:  # such as the decoders of a model that has none yet
            continue
        required = [p for p in inspect.signature(bound).parameters.values() if p.default is p.empty and p.kind < 2]
        with pytest.raises(NotFittedError):
            bound(*[X] * len(required))
