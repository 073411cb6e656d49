"""Whether a target can be predicted from the items: each row from the others, and what the prediction depends on."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils import _safe_indexing

from rkhs._core.errors import RkhsError
from rkhs.estimators import KernelEstimator, OperatorKernelRegressorCV
from rkhs.evaluation import atom_contributions
from rkhs.reports.audit import class_name, is_class
from rkhs.reports.items import Items
from rkhs.reports.wording import readable, with_error

_MOST, _SHUFFLED, _COLUMNS, _CLASSES = 2000, 300, 60, 20  # rows, rows that columns are mixed in, columns, classes
_FAR_OFF = 5.0  # times the median residual, as in rkhs fit --predict
_LITTLE = 0.3  # R^2


@dataclass(frozen=True, eq=False)
class Prediction:
    """A target predicted of each row by a machine that did not see it."""

    name: str
    sentences: list[str]
    rows: np.ndarray  # (m,): those with a value, by position
    true: np.ndarray  # (m,): numbers, or numbers of classes
    predicted: np.ndarray  # (m,)
    classes: list[str]  # empty for numbers
    wrong: list[int]  # places in rows, the worst first
    columns: list[tuple[str, float]]  # how far predictions move when a column is mixed up
    atoms: list[tuple[int, np.ndarray]]  # rows of items, and what each of their atoms contributes

    def cell(self, value: float) -> str:
        """A value of the target as a person writes it."""
        return self.classes[int(value)] if self.classes else readable(value)


def predict_target(model: KernelEstimator, items: Items, target: tuple[str, np.ndarray]) -> Prediction | str:
    """Predict each row from the others; a sentence that says why not."""
    name, values = target
    texts = np.array([class_name(value) for value in values.tolist()], dtype=object)
    counts = Counter(texts[texts != ""].tolist())
    classed = is_class(values)
    classes = sorted(text for text, count in counts.items() if count > 1 and classed)
    if classed and not 2 <= len(classes) <= _CLASSES:
        return f"{name} was not predicted: expected 2 to {_CLASSES} classes of two rows or more; got {len(classes)}."
    known = np.flatnonzero([text in classes if classed else text != "" for text in texts])
    rows = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), _MOST)).astype(int))]
    true = np.array([classes.index(text) for text in texts[rows]] if classed else values[rows], dtype=float)
    Y = np.eye(len(classes))[true.astype(int)] if classed else true[:, None]
    try:
        machine, X, left_out = _left_out(model, items, rows, Y)
    except (RkhsError, AttributeError) as error:
        return f"{name} was not predicted: {error}."
    predicted, residuals, sentence = (_of_classes if classed else _of_numbers)(name, true, left_out)
    wrong = np.flatnonzero(residuals > (0.5 if classed else _FAR_OFF * np.median(residuals)))
    how = f"Each of {len(rows)} rows was predicted from the others; copies of a row were left out with it."
    return Prediction(
        name=name,
        sentences=[sentence, how],
        rows=rows,
        true=true,
        predicted=predicted,
        classes=classes,
        wrong=sorted(wrong.tolist(), key=lambda i: -residuals[i]),
        columns=_moved_by_columns(machine, items, X),
        atoms=_moved_by_atoms(machine, items, rows, left_out[:, -1]),
    )


def _left_out(model: KernelEstimator, items: Items, rows: np.ndarray, Y: np.ndarray) -> tuple[Any, Any, np.ndarray]:
    options: dict[str, Any] = {"columns": getattr(model, "columns", "raw")}
    gram = None
    if items.smiles is not None:
        from rkhs.kernels import MoleculeKernel

        X, options = np.array(items.smiles, dtype=object)[rows], {"kernel": MoleculeKernel()}
    elif items.kind == "gram":
        assert items.numbers is not None
        X = items.numbers[rows][:, rows]
        options, gram = {"kernel": "precomputed"}, torch.as_tensor(X)
    elif items.numbers is None and items.kind != "table":
        X, options = _safe_indexing(items.X, rows), {"kernel": model.kernel_}
    else:
        X = (
            items.numbers[rows]
            if items.kind == "curves" and items.numbers is not None
            else _safe_indexing(items.X, rows)
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        machine = OperatorKernelRegressorCV(**options).fit(X, Y)
    residuals = machine.model_.in_units(machine.model_.calibrated(gram).residuals)
    return machine, X, Y - residuals.reshape(Y.shape)


def _of_numbers(name: str, true: np.ndarray, left_out: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    n, predicted = len(true), left_out[:, 0]
    missed = np.abs(true - predicted)
    squares, alone = (true - predicted) ** 2, ((true - true.mean()) * n / max(n - 1, 1)) ** 2
    root, of_mean = float(squares.mean()) ** 0.5, float(alone.mean()) ** 0.5
    if of_mean == 0.0:
        return predicted, missed, f"All values of {name} are equal: there is nothing to predict."
    explained = 1.0 - (root / of_mean) ** 2
    error = float(np.std(squares - (1.0 - explained) * alone)) / (n**0.5 * of_mean**2)
    numbers = f"RMSE {with_error(root, float(squares.std()) / (2.0 * root * n**0.5) if root else 0.0)}, R² "
    numbers += f"{with_error(explained, error)}, against an RMSE of {readable(of_mean)} for the mean"
    return predicted, missed, f"{_can(name, explained > 2.0 * error, explained < _LITTLE)}: {numbers}."


def _of_classes(name: str, true: np.ndarray, left_out: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    predicted = left_out.argmax(1).astype(float)
    lead = left_out.max(1) - left_out[np.arange(len(true)), true.astype(int)]
    right = float((true == predicted).mean())
    common = max(Counter(true.tolist()).values()) / len(true)
    error = (right * (1.0 - right) / len(true)) ** 0.5
    numbers = (
        f"{with_error(100.0 * right, 100.0 * error)} % right, against {100.0 * common:.1f} % for the most common class"
    )
    better = right - common
    return predicted, lead, f"{_can(name, better > 2.0 * error, better < _LITTLE * (1.0 - common))}: {numbers}."


def _can(name: str, better: bool, little: bool) -> str:
    return (
        f"{name} can be predicted{' a little' if little else ''}"
        if better
        else f"{name} could not be predicted from this"
    )


def _moved_by_columns(machine: Any, items: Items, X: Any) -> list[tuple[str, float]]:
    named = items.columns is not None and items.kind in ("vectors", "table") and items.image_shape is None
    if items.columns is None or not named or not 1 < len(items.columns) <= _COLUMNS:
        return []
    some = np.array(X, dtype=object if items.kind == "table" else float)[:_SHUFFLED]
    before, order, moved = machine.predict(some), np.random.default_rng(0).permutation(len(some)), []
    for j, name in enumerate(items.columns):
        mixed = some.copy()
        mixed[:, j] = some[order, j]
        change = (machine.predict(mixed) - before).reshape(len(some), -1)
        moved.append((name, float(np.sqrt((change**2).sum(1).mean()))))
    return sorted(moved, key=lambda pair: -pair[1])


def _moved_by_atoms(machine: Any, items: Items, rows: np.ndarray, values: np.ndarray) -> list[tuple[int, np.ndarray]]:
    if items.smiles is None:
        return []
    ends, found = np.argsort(values, kind="stable")[[*range(min(2, len(rows))), *range(-min(2, len(rows)), 0)]], []
    for i in rows[ends].tolist():
        try:
            parts = atom_contributions(
                lambda all: machine.predict(np.array(all, dtype=object)).reshape(len(all), -1)[:, -1], items.smiles[i]
            )
        except RkhsError:
            continue
        found.append((i, parts))
    return found
