"""Arrays that are the model cannot be written: a change of one would change the answers without a fit."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

import rkhs
from rkhs import KernelAutoencoder, KernelPCA
from rkhs.estimators import GramTransformer
from rkhs.evaluation import SmoothClassifier
from tests.contracts.estimator_examples import QUICK, configurations, is_pairwise

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
y = X[:, 0] + 0.1 * RNG.normal(size=40)


def fitted_arrays(model: Any) -> dict[str, np.ndarray]:
    """The fitted attributes that are arrays, and the arrays in those that are lists."""
    found = {}
    for name in dir(model):
        if name.startswith("_") or not name.endswith("_") or not hasattr(model, name):
            continue
        value = getattr(model, name)
        parts = value if isinstance(value, (list, tuple)) else [value]
        found |= {f"{name}[{i}]": part for i, part in enumerate(parts) if isinstance(part, np.ndarray)}
    return found


def writable(model: Any) -> list[str]:
    return [name for name, array in fitted_arrays(model).items() if array.flags.writeable]


@pytest.mark.sample(8)
@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("estimator", [*configurations(QUICK), SmoothClassifier()], ids=repr)
def test_fitted_arrays_are_read_only_and_stay_so(estimator: BaseEstimator, tmp_path: Path) -> None:
    rows = X @ X.T if is_pairwise(estimator) else X
    given = rows.copy()
    labels = np.arange(40) % 2 if isinstance(estimator, SmoothClassifier) else y
    model = clone(estimator).fit(rows, labels)
    assert fitted_arrays(model) or isinstance(model, GramTransformer)  # it only computes kernel values
    assert not writable(model)
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    copies += [joblib.load(tmp_path / "model.joblib"), joblib.load(tmp_path / "model.joblib", mmap_mode="r")]
    if not isinstance(model, SmoothClassifier):
        rkhs.save(model, tmp_path / "model.rkhs")
        copies.append(rkhs.load(tmp_path / "model.rkhs"))
    for other in copies:
        assert not writable(other)
        assert fitted_arrays(other).keys() == fitted_arrays(model).keys()
    assert rows.flags.writeable
    np.testing.assert_array_equal(rows, given)
    found = model.transform(rows) if hasattr(model, "transform") else model.predict(rows)
    assert found.flags.writeable  # answers belong to the caller


@pytest.mark.parametrize("made", [KernelAutoencoder(2, reg=1e-2, max_iter=2, tol=1.0), KernelPCA(2)], ids=repr)
@pytest.mark.filterwarnings("ignore::Warning")
def test_codes_cannot_be_changed_in_place(made: Any) -> None:
    model = made.fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="read-only"):
        model.codes_ -= model.codes_.mean(0)
    with pytest.raises(ValueError, match="read-only"):
        model.codes_[0] = 1.0
    np.testing.assert_array_equal(model.transform(X), before)
    assert model.fit_transform(X).flags.writeable


def test_partial_fits_go_on_after_a_fit() -> None:
    model = KernelPCA(2, kernel="linear", storage=rkhs.features.Nystroem(5)).partial_fit(X[:20])
    model.partial_fit(X[20:])
    assert not writable(model)
