"""Leave-one-out prediction of a target from the items, with permutation importances and atom contributions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.base import clone

from rkhs._core.errors import RkhsError, unwarned
from rkhs.data.columns import as_numbers, repeats_items
from rkhs.estimators import KernelEstimator, OperatorKernelRegressorCV
from rkhs.evaluation import atom_contributions
from rkhs.reports.audit import class_name, is_class
from rkhs.reports.held_out import SHARED, held_out_errors, outlier_factor, target_notes
from rkhs.reports.items import Items
from rkhs.reports.wording import readable, with_error

_MAX_ROWS, _MAX_PERMUTED_ROWS, _MAX_COLUMNS, _MAX_CLASSES = 2000, 300, 60, 20
_LEAST_R2, _WEAK_R2, _LARGE_MARGIN = 0.03, 0.3, 0.5


@dataclass(frozen=True, eq=False)
class Prediction:
    """A target, predicted for each row by a model that was fitted without the row."""

    name: str
    sentences: list[str]
    rows: np.ndarray  # (m,): indices of the rows with a value
    true: np.ndarray  # (m,): numbers, or class indices
    predicted: np.ndarray  # (m,)
    classes: list[str]  # empty for numbers
    wrong: list[int]  # positions in ``rows``, the worst first
    columns: list[tuple[str, float]]  # permutation importances: root mean square change of the predictions
    chance: float  # the same of a shuffled copy of the first column, in a fit that reads it too
    atoms: list[tuple[int, np.ndarray]]  # positions in ``rows``, and the contributions of their atoms

    @property
    def doubt(self) -> str:
        """What is said of a model that explains little of numbers; nothing of classes."""
        spread = float(((self.true - self.true.mean()) ** 2).sum())
        explained = (
            1.0 - float(((self.true - self.predicted) ** 2).sum()) / spread if spread and not self.classes else 1.0
        )
        words = f"The model explains {max(explained, 0.0):.0%} of the variance (R²), so its atoms are no finding."
        return f" {words}" if explained < _WEAK_R2 else ""

    def cell(self, value: float) -> str:
        """A value of the target as a person writes it."""
        return self.classes[int(value)] if self.classes else readable(value)

    def moved(self, value: float) -> str:
        """A change of predictions: of classes as a share of that from one to another."""
        return f"{value / 2.0**0.5:.1%}" if self.classes else readable(value)


def _outputs(texts: np.ndarray, values: np.ndarray, classes: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some rows whose value is known, their values or numbers of their classes, and what a machine fits."""
    known = np.flatnonzero(np.isin(texts, classes) if classes else texts != "")
    rows = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), _MAX_ROWS)).astype(int))]
    true = np.array([*map(classes.index, texts[rows])] if classes else values[rows], dtype=float)
    return rows, true, np.eye(len(classes))[true.astype(int)] if classes else true[:, None]


def predict_target(model: KernelEstimator, items: Items, target: tuple[str, np.ndarray]) -> Prediction | str:
    """Predict each row from the others; return the reason as a sentence if that is impossible."""
    name, values = target
    texts = np.array([class_name(value) for value in values.tolist()], dtype=object)
    counts = Counter(texts[texts != ""].tolist())
    classed = is_class(values)
    classes = sorted(text for text, count in counts.items() if count > 1 and classed)
    if classed and not 2 <= len(classes) <= _MAX_CLASSES:
        return (
            f"{name} was not predicted: expected 2 to {_MAX_CLASSES} classes of two rows or more; got {len(classes)}."
        )
    rows, true, Y = _outputs(texts, values, classes)
    try:
        machine, X, left_out, nested = _left_out(model, items, rows, Y)
    except (RkhsError, AttributeError) as error:
        return f"{name} was not predicted: {error}."
    found = held_out_errors(machine, Y, Y - left_out if nested else None)
    numbers = partial(_score_numbers, found=found)
    groups = partial(_score_classes, shared=SHARED if nested else 1.0)
    predicted, residuals, sentences = (groups if classed else numbers)(name, true, left_out)
    columns, chance = _permutation_importances(machine, items, X, Y, left_out)
    chosen = ", with settings that were chosen without it" if nested else ""
    how = f"Each of {len(rows)} rows was predicted from the others{chosen}; {_together(machine, items)}."
    return Prediction(
        name=name,
        sentences=[*sentences, how],
        rows=rows,
        true=true,
        predicted=predicted,
        classes=classes,
        wrong=sorted(np.flatnonzero(residuals > 1.0).tolist(), key=lambda i: -residuals[i]),
        columns=columns,
        chance=chance,
        atoms=_atom_contributions(machine, items, rows, left_out[:, -1]),
    )


def _together(machine: Any, items: Items) -> str:
    """Which rows were left out together."""
    if machine.groups_ is not None:
        n = len(np.unique(machine.groups_))
        more = len(machine.groups_) - n
        return f"all rows of one item were left out together: {n} different items, {more} rows repeat one"
    others = "" if repeats_items(items.kind, items.numbers) else ", and rows of equal cells with another value were not"
    return f"copies of a row were left out with it{others}"


def _left_out(
    model: KernelEstimator, items: Items, rows: np.ndarray, Y: np.ndarray
) -> tuple[Any, Any, np.ndarray, bool]:
    """The machine, its items, left-out predictions (n, q), and whether settings were chosen without the row."""
    options: dict[str, Any] = {"columns": getattr(model, "columns", "raw")}
    X, gram = items.rows(rows).X, None
    if items.smiles is not None:
        from rkhs.kernels import MoleculeKernel

        X, options = np.array(items.smiles, dtype=object)[rows], {"kernel": MoleculeKernel()}
    elif items.kind == "gram":
        assert items.numbers is not None
        X = items.numbers[rows][:, rows]
        options, gram = {"kernel": "precomputed"}, torch.as_tensor(X)
    elif items.numbers is None and items.kind != "table":
        options = {"kernel": model.kernel_}
    with unwarned(UserWarning):
        by: Any = "items" if repeats_items(items.kind, items.numbers) else "auto"
        machine = OperatorKernelRegressorCV(**options, cv=by).fit(X, Y)
        residuals = machine.nested_residuals(X, Y)
    if residuals is not None:
        return machine, X, Y - residuals, True
    left = machine.model_.calibrated(gram).in_groups(machine.groups_)
    return machine, X, Y - machine.model_.in_units(left.residuals).reshape(Y.shape), False


def _score_numbers(
    name: str, true: np.ndarray, left_out: np.ndarray, found: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    predicted = left_out[:, 0]
    residuals = np.abs(true - predicted)
    if "R^2" not in found:
        return predicted, 0.0 * residuals, [f"All values of {name} are equal: there is nothing to predict."]
    explained, of_mean, centred = found["R^2"], found["error of the mean"], (true - true.mean()) ** 2
    error = float(np.std(residuals**2 - (1.0 - explained) * centred)) / (len(true) ** 0.5 * of_mean**2)
    numbers = f"RMSE {with_error(found['held-out error'], found['standard error'])}, R² "
    numbers += f"{with_error(explained, error)}, against an RMSE of {readable(of_mean)} for the mean"
    verdict = f"{_verdict(name, explained > max(2.0 * error, _LEAST_R2), explained < _WEAK_R2)}: {numbers}."
    limit = max(outlier_factor(residuals) * float(np.median(residuals)), 1e-300)
    notes = [f"{text}." for text in target_notes([name], true[:, None])]
    return predicted, residuals / limit, [verdict, *notes]


def _score_classes(
    name: str, true: np.ndarray, left_out: np.ndarray, shared: float
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    from rkhs.evaluation.comparison import counting_error

    predicted = left_out.argmax(1).astype(float)
    margins = left_out.max(1) - left_out[np.arange(len(true)), true.astype(int)]
    accuracy = float((true == predicted).mean())
    majority = max(Counter(true.tolist()).values()) / len(true)
    error = shared * counting_error(accuracy, len(true))
    numbers = (
        f"{with_error(100.0 * accuracy, 100.0 * error)} % correct ({int((true == predicted).sum())} of {len(true)}), "
        f"against {100.0 * majority:.1f} % for the most common class"
    )
    better = accuracy - majority
    return (
        predicted,
        margins / _LARGE_MARGIN,
        [f"{_verdict(name, better > 2.0 * error, better < _WEAK_R2 * (1.0 - majority))}: {numbers}."],
    )


def _verdict(name: str, better: bool, weak: bool) -> str:
    return (
        f"{name} can be predicted{' a little' if weak else ''}"
        if better
        else f"{name} could not be predicted from this"
    )


def _permutation_importances(
    machine: Any, items: Items, X: Any, Y: np.ndarray, predicted: np.ndarray
) -> tuple[list[tuple[str, float]], float]:
    """What each column moves, the most first, and what a column moves that says nothing."""
    names = [name for name, _ in items.named_columns]
    if len(names) < 2:
        return [], 0.0
    cells = np.array(X, dtype=object if items.kind == "table" else float)
    tried = _related(cells, predicted)
    found = [_moved(machine, cells, j) for j in tried]
    shuffled = cells[np.random.default_rng(1).permutation(len(cells)), tried[int(np.argmax(found))]]
    with_noise = np.column_stack([cells, shuffled])
    with unwarned(UserWarning):
        chance = _moved(clone(machine).fit(with_noise, Y), with_noise, -1)
    return sorted(zip((names[j] for j in tried), found, strict=True), key=lambda pair: -pair[1]), chance


def _related(cells: np.ndarray, predicted: np.ndarray) -> list[int]:
    numbers = as_numbers(cells) if cells.dtype == object else cells
    known = np.isfinite(numbers)
    centred = np.where(known, numbers - np.where(known, numbers, 0.0).sum(0) / known.sum(0).clip(1), 0.0)
    products = np.abs(centred.T @ (predicted - predicted.mean(0))).max(1) / np.maximum(
        np.linalg.norm(centred, axis=0), 1e-300
    )
    return np.argsort(np.where(known.any(0), -products, -np.inf), kind="stable")[:_MAX_COLUMNS].tolist()


def _moved(machine: Any, cells: np.ndarray, j: int) -> float:
    """Root mean square change of predictions when a column is permuted."""
    some = cells[:_MAX_PERMUTED_ROWS]
    permuted = some.copy()
    permuted[:, j] = some[np.random.default_rng(0).permutation(len(some)), j]
    change = (machine.predict(permuted) - machine.predict(some)).reshape(len(some), -1)
    return float(np.sqrt((change**2).sum(1).mean()))


def _atom_contributions(
    machine: Any, items: Items, rows: np.ndarray, values: np.ndarray
) -> list[tuple[int, np.ndarray]]:
    if items.smiles is None:
        return []
    ends, found = np.argsort(values, kind="stable")[[*range(min(2, len(rows))), *range(-min(2, len(rows)), 0)]], []
    for at in ends.tolist():
        try:
            parts = atom_contributions(
                lambda all: machine.predict(np.array(all, dtype=object)).reshape(len(all), -1)[:, -1],
                items.smiles[rows[at]],
            )
        except RkhsError:
            continue
        found.append((at, parts))
    return found
