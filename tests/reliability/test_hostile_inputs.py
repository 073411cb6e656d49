"""Hostile inputs written by hand: refused with a message that names the argument, or answered with finite numbers.

A refusal states what was expected and what came. An answer may warn, but only with a warning that somebody chose: never
a bare one from NumPy, never a silent NaN, never an error of LAPACK or torch.

The calls are listed beside this file, by what is hostile in them, in the modules ``hostile_...`` that it imports.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from rkhs._core.errors import (
    CollapseWarning,
    ColumnWarning,
    JitterWarning,
    NotPositiveSemidefiniteWarning,
    RoundingWarning,
)
from rkhs.kernels import Gaussian
from studies.reliability import (
    hostile_gram_matrices,
    hostile_kernel_items,
    hostile_new_data,
    hostile_parameters,
    hostile_targets_and_weights,
    hostile_training_data,
)
from studies.reliability.hostile_calls import MODELS, NEW, Case, K, X

CHOSEN = (
    CollapseWarning,
    ColumnWarning,
    ConvergenceWarning,
    JitterWarning,
    NotPositiveSemidefiniteWarning,
    RoundingWarning,
)
LISTED = (
    hostile_training_data,
    hostile_new_data,
    hostile_parameters,
    hostile_targets_and_weights,
    hostile_gram_matrices,
    hostile_kernel_items,
)
REFUSED = [case for module in LISTED for case in module.calls.to_refuse]
ANSWERED = [case for module in LISTED for case in module.calls.to_answer]


def numbers(out: Any) -> list[np.ndarray]:
    return [
        np.asarray(part.detach() if isinstance(part, torch.Tensor) else part, dtype=float)
        for part in (out if isinstance(out, list) else [out])
    ]


def test_there_are_enough_of_them() -> None:
    names = [case.name for case in REFUSED + ANSWERED]
    assert len(names) == len(set(names))
    assert len(names) >= 150


@pytest.mark.sample(160)
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused_with_a_message_that_names_the_argument(case: Case) -> None:
    with warnings.catch_warnings():
        for category in CHOSEN:
            warnings.simplefilter("ignore", category)
        with pytest.raises(case.error, match=re.compile(case.match, re.DOTALL)) as caught:
            case.act()
    assert isinstance(caught.value, (ValueError, TypeError))
    assert not isinstance(caught.value, np.linalg.LinAlgError)


@pytest.mark.slow
@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_answered_with_finite_numbers(case: Case) -> None:
    with warnings.catch_warnings():
        for category in CHOSEN:
            warnings.simplefilter("ignore", category)
        out = case.act()
    assert all(np.isfinite(part).all() for part in numbers(out))
    assert case.check is None or case.check(out)


def test_read_only_memory_map(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for make in MODELS.values():
        np.testing.assert_array_equal(make().fit(mapped).transform(mapped), make().fit(X).transform(X))
    np.testing.assert_array_equal(Gaussian(1.0)(mapped), Gaussian(1.0)(X))


def test_data_are_never_changed() -> None:
    for make in MODELS.values():
        data, new = X.copy(), NEW.copy()
        model = make().fit(data)
        codes = model.transform(new)
        kept = codes.copy()
        model.inverse_transform(codes)
        model.reconstruction_error(new)
        assert (data == X).all()
        assert (new == NEW).all()
        assert (codes == kept).all()
        matrix = K.copy()
        make(kernel="precomputed").fit(matrix).transform(matrix)
        assert (matrix == K).all()
