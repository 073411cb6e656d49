"""Learners on codes: accuracy for classes, share of variance explained for numbers; none of them sees the test part."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rkhs.evaluation import SmoothClassifier, SmoothRegressor

HEADS = ("k-NN", "ridge", "smooth", "forest", "few labels")
PER_CLASS, FEW_NUMBERS, DRAWS = 5, 20, 3


def head_scores(
    known: np.ndarray, new: np.ndarray, y_known: np.ndarray, y_new: np.ndarray, classes: bool, seed: int
) -> dict[str, float]:
    """Score of every head on the codes of the test part."""
    neighbours = min(5, len(known))
    alphas = np.logspace(-4.0, 4.0, 9)
    heads: dict[str, Any] = {
        "k-NN": KNeighborsClassifier(neighbours) if classes else KNeighborsRegressor(neighbours),
        "ridge": make_pipeline(StandardScaler(), RidgeClassifierCV(alphas) if classes else RidgeCV(alphas)),
        "smooth": SmoothClassifier() if classes else SmoothRegressor(),
        "forest": (RandomForestClassifier if classes else RandomForestRegressor)(
            100, max_features="sqrt", random_state=seed, n_jobs=1
        ),
    }
    scores = {
        name: _score(head.fit(known, y_known).predict(new), y_new, y_known, classes) for name, head in heads.items()
    }
    few = []
    for draw in range(DRAWS):
        rows = _few(y_known, classes, np.random.default_rng(1000 * seed + draw))
        head = SmoothClassifier() if classes else SmoothRegressor()
        few.append(_score(head.fit(known[rows], y_known[rows]).predict(new), y_new, y_known, classes))
    scores["few labels"] = float(np.mean(few))
    return scores


def _few(y: np.ndarray, classes: bool, rng: np.random.Generator) -> np.ndarray:
    if not classes:
        return rng.permutation(len(y))[:FEW_NUMBERS]
    return np.concatenate([rng.permutation(np.flatnonzero(y == label))[:PER_CLASS] for label in np.unique(y)])


def _score(predicted: np.ndarray, truth: np.ndarray, known: np.ndarray, classes: bool) -> float:
    if classes:
        return float((predicted == truth).mean())
    return 1.0 - float(((predicted - truth) ** 2).sum() / ((truth - known.mean(0)) ** 2).sum())
