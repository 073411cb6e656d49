"""One cell: a set, a number of components, a split and a method; what is measured on rows that nothing has seen.

A split is fixed by its seed: at most ``limit`` rows are drawn, a quarter of them is the test part. Whatever a method
chooses, it chooses on parts of the rest.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from studies.bench.usefulness.heads import head_scores
from studies.bench.usefulness.sets import DataSet

DIGITS = 4  # of the errors that are stored, row by row


@dataclass(frozen=True)
class Task:
    """Rows to fit and rows to measure; for Gram matrices kernel values with the rows to fit."""

    train: np.ndarray
    test: np.ndarray
    y_train: np.ndarray | None
    y_test: np.ndarray | None
    classes: bool
    gram: bool
    diagonal: float = 1.0

    def spread(self, X: np.ndarray) -> np.ndarray:
        """Squared distances to the mean of the rows to fit: what predicting that mean would cost."""
        if not self.gram:
            return ((X - self.train.mean(0)) ** 2).sum(1)
        return self.diagonal - 2.0 * X.mean(1) + self.train.mean()


def make_task(data: DataSet, seed: int, limit: int) -> Task:
    """The split of one seed."""
    rng = np.random.default_rng(seed)
    X, y = data.load()
    order = rng.permutation(len(X))[:limit]
    if data.sample is not None:
        X, y = data.sample(order)
    else:
        X, y = X[order], None if y is None else y[order]
    cut = len(order) // 4
    test, train = np.arange(cut), np.arange(cut, len(order))
    labels = (None, None) if y is None else (y[train], y[test])
    if data.gram:
        return Task(
            X[np.ix_(train, train)], X[np.ix_(test, train)], *labels, data.classes, True, float(X.diagonal()[0])
        )
    X = np.ascontiguousarray(X, dtype=float)
    if data.standardise:
        spread = X[train].std(0)
        X = (X - X[train].mean(0)) / np.where(spread > 0.0, spread, 1.0)
    return Task(X[train], X[test], *labels, data.classes, False)


def components(task: Task, level: int) -> int | None:
    """Two; or ten, four for fewer than 13 inputs; None where that is no compression or there are too few rows."""
    d = task.train.shape[1]
    p = 2 if level == 2 else 10 if task.gram or d >= 13 else 4
    return p if p < min(d, len(task.train)) else None


def measure(task: Task, p: int, method: ModuleType, seed: int) -> dict[str, Any]:
    """Processor seconds (one thread; other load does not count), errors and head scores of one method."""
    record: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(method, "warm_up", lambda: None)()
        start = time.process_time()
        coder = method.fit(task, p, seed)
        record["fit_s"] = round(time.process_time() - start, 4)
        start = time.process_time()
        codes = np.asarray(coder.encode(task.test), dtype=float)
        record["encode_s"] = round(time.process_time() - start, 4)
        scale = float(task.spread(task.test).mean())
        if coder.errors is not None and scale > 0.0:
            record |= _errors("", coder.errors(task.test) / scale)
        if task.y_train is not None:
            # Codes of rows that were fitted, made as those of new rows are.
            known = coder.encode(task.train) if coder.train_codes is None else coder.train_codes
            scores = head_scores(np.asarray(known, dtype=float), codes, task.y_train, task.y_test, task.classes, seed)
            record["heads"] = {name: round(score, 5) for name, score in scores.items()}
        if coder.plain is not None and scale > 0.0:
            record |= _errors("plain_", coder.plain(task.test) / scale)
    return record


def _errors(prefix: str, rows: np.ndarray) -> dict[str, Any]:
    return {prefix + "fvu": float(rows.mean()), prefix + "rows": [float(f"{value:.{DIGITS}g}") for value in rows]}
