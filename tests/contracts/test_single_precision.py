"""``dtype="float32"``: how far codes, predictions, objectives and errors are from those of ``dtype="float64"``.

The tolerances are those of ``docs/user/precision.md``. One set always; all with ``-m slow``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from rkhs import DeepRKM, KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor
from rkhs.features import Nystroem, RandomFeatures

pytestmark = pytest.mark.filterwarnings("ignore::rkhs._core.errors.ColumnWarning")  # raw columns on purpose

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user" / "precision.md"


class Tolerance(NamedTuple):
    """Largest differences: of results relative to their norm, of the objective, of the error on new rows."""

    results: float | None
    objective: float | None
    error: float | None


def standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(0)) / X.std(0)


SETS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "iris + 1000": lambda: (load_iris().data + 1000.0, load_iris().target),
    "wine": lambda: (standardised(load_wine().data), load_wine().target),
    "wine, raw": lambda: load_wine(return_X_y=True),
    "diabetes": lambda: (standardised(load_diabetes().data)[:300], load_diabetes().target[:300]),
    "digits": lambda: (load_digits().data[:300] / 16.0, load_digits().target[:300]),
    "cancer": lambda: (standardised(load_breast_cancer().data)[:300], load_breast_cancer().target[:300]),
}
MODELS: dict[str, tuple[Any, Tolerance]] = {
    "KernelPCA": (KernelPCA(5), Tolerance(1e-4, None, 1e-3)),
    "KernelPCA, blocked": (KernelPCA(5, storage="blocked"), Tolerance(1e-4, None, 1e-3)),
    "KernelPCA, landmarks": (KernelPCA(5, storage=Nystroem(100)), Tolerance(1e-4, None, 5e-2)),
    "KernelPCA, random features": (KernelPCA(5, storage=RandomFeatures(200)), Tolerance(1e-4, None, 1e-3)),
    "KernelContrastive": (KernelContrastive(3), Tolerance(5e-3, 1e-3, None)),
    "OperatorKernelRegressor": (OperatorKernelRegressor(reg=1e-3), Tolerance(1e-3, 1e-4, 1e-3)),
    "OperatorKernelRegressor, huber": (OperatorKernelRegressor(loss="huber"), Tolerance(1e-3, 1e-4, 1e-3)),
    "OperatorKernelRegressor, landmarks": (
        OperatorKernelRegressor(storage=Nystroem(100)),
        Tolerance(1e-3, 1e-4, 1e-3),
    ),
    "KernelAutoencoder": (KernelAutoencoder(3), Tolerance(None, 5e-2, 5e-2)),
    "KernelAutoencoder, landmarks": (
        KernelAutoencoder(3, storage=Nystroem(100), reg=1e-3),
        Tolerance(None, 5e-2, 5e-2),
    ),
    "DeepRKM": (DeepRKM((3, 2)), Tolerance(None, 1e-4, None)),
}
QUICK = [(name, "wine, raw") for name in MODELS if not name.startswith(("KernelAuto", "Deep"))]


def aligned(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Codes turned onto others: axes of nearly equal variance may turn in their plane."""
    U, _, V = np.linalg.svd(A.T @ B)
    return A @ (U @ V)


def differences(model: Any, X: np.ndarray, y: np.ndarray) -> Tolerance:
    rows = np.random.default_rng(0).permutation(len(X))
    train, new = rows[: 7 * len(rows) // 10], rows[7 * len(rows) // 10 :]
    found = []
    for dtype in ("float64", "float32"):
        model.set_params(dtype=dtype).fit(X[train], y[train].astype(float))
        if hasattr(model, "transform"):
            codes = model.transform(X[new])
            back = model.inverse_transform(codes) if hasattr(model, "inverse_transform") else None
            error = None if back is None else float(((back - X[new]) ** 2).mean())
        else:
            codes = (model.predict(X[new]) - y[train].mean())[:, None]
            error = float(((model.predict(X[new]) - y[new]) ** 2).mean())
        found.append((codes, getattr(model, "objective_", None), error, getattr(model, "reg_", None)))
    (Z, objective, error, reg), (near, near_objective, near_error, near_reg) = found
    results = float(np.linalg.norm(aligned(near, Z) - Z) / np.linalg.norm(Z))
    return Tolerance(
        results,
        None if objective is None or near_reg != reg else abs(near_objective / objective - 1.0),  # of the same problem
        None if error is None else abs(near_error / error - 1.0),
    )


def check(model: str, name: str) -> None:
    estimator, allowed = MODELS[model]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the line search may end at rounding
        found = differences(estimator, *SETS[name]())
    for field, value, most in zip(Tolerance._fields, found, allowed, strict=True):
        assert most is None or value is None or value <= most, f"{field} of {model} on {name}: {value:.1e} > {most:.0e}"


@pytest.mark.sample(4)
@pytest.mark.parametrize(("model", "name"), QUICK)
def test_single_precision_stays_within_its_tolerances(model: str, name: str) -> None:
    check(model, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("model", MODELS)
def test_single_precision_stays_within_its_tolerances_on_all_sets(model: str, name: str) -> None:
    check(model, name)


def test_the_page_says_these_tolerances() -> None:
    said = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].strip("`") in MODELS:
            said[cells[0].strip("`")] = Tolerance(*(float(c) if re.match(r"\d", c) else None for c in cells[1:]))
    assert said == {name: allowed for name, (_, allowed) in MODELS.items()}
