"""Leave-one-out prediction of a target from the items, with permutation importances and atom contributions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from rkhs._core.errors import RkhsError, unwarned
from rkhs.data.columns import as_numbers, repeats_items
from rkhs.estimators import KernelEstimator, OperatorKernelRegressorCV
from rkhs.evaluation import atom_contributions
from rkhs.evaluation.targets import is_class
from rkhs.reports.held_out import SHARED, held_out_errors, outlier_factor
from rkhs.reports.items import Items
from rkhs.reports.wording import readable, with_error

_MAX_ROWS = 2000  # that are predicted
_MAX_PERMUTED_ROWS, _MAX_COLUMNS = 300, 60  # of permutation importances
_MAX_CLASSES = 20
_LARGE_MARGIN = 0.5  # of a row that looks wrong, between the class predicted and that of the file
_DRAWN = 2  # molecules of the smallest predictions, and as many of the largest


@dataclass(frozen=True, eq=False)
class Prediction:
    """A target, predicted for each row by a model that was fitted without the row."""

    name: str
    sentences: list[str]  # whether it can be predicted, with the baseline, and how it was predicted
    rows: np.ndarray  # (m,): indices of the rows with a value
    true: np.ndarray  # (m,): numbers, or class indices
    predicted: np.ndarray  # (m,)
    classes: list[str]  # empty for numbers
    wrong: list[int]  # positions in ``rows``, the worst first
    columns: list[tuple[str, float]]  # permutation importances: root mean square change of the predictions
    chance: float  # the same of a shuffled copy of the first column, in a fit that reads it too
    atoms: list[tuple[int, np.ndarray]]  # positions in ``rows``, and the contributions of their atoms

    def cell(self, value: float) -> str:
        """Write a value of the target."""
        return self.classes[int(value)] if self.classes else readable(value)

    def change(self, value: float) -> str:
        """Write a change of predictions: of classes as a share of that from one to another."""
        return f"{value / 2.0**0.5:.1%}" if self.classes else readable(value)


@dataclass(frozen=True, eq=False)
class Score:
    """How close predictions are."""

    predicted: np.ndarray  # (m,)
    residuals: np.ndarray  # (m,): above 1 for rows that look wrong
    better: bool  # than the baseline, by two standard errors
    numbers: str  # the error and the baseline, in words


def predict_target(model: KernelEstimator, items: Items, target: tuple[str, np.ndarray]) -> Prediction | str:
    """Predict each row from the others; return the reason as a sentence if that is impossible."""
    name, values = target
    classes: list[str] = []
    if is_class(values):
        classes, values = _indices(values)
        if not 2 <= len(classes) <= _MAX_CLASSES:
            needed = f"expected 2 to {_MAX_CLASSES} classes of two rows or more; got {len(classes)}"
            return f"{name} was not predicted: {needed}."
    rows = np.flatnonzero(np.isfinite(values))
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MAX_ROWS)).astype(int))]
    true = values[rows]
    if len(np.unique(true)) < 2:
        return f"{name} has fewer than two different values: there is nothing to predict."
    Y = np.eye(len(classes))[true.astype(int)] if classes else true[:, None]
    try:
        machine, X, left_out, nested = _left_out(model, items, rows, Y)
    except (RkhsError, AttributeError) as error:
        return f"{name} was not predicted: {error}."
    score = _score_classes(true, left_out, nested) if classes else _score_numbers(machine, true, left_out, nested)
    verdict = "can be predicted" if score.better else "could not be predicted from this"
    chosen = ", with settings that were chosen without it" if nested else ""
    how = f"Each of {len(rows)} rows was predicted from the others{chosen}; {_together(machine)}."
    columns: list[tuple[str, float]] = []
    atoms: list[tuple[int, np.ndarray]] = []
    chance = 0.0
    if score.better:  # what moves a model that predicts nothing is no finding
        columns, chance = _permutation_importances(machine, items, X, Y, left_out)
        atoms = _atom_contributions(machine, items, rows, left_out[:, -1])
    return Prediction(
        name=name,
        sentences=[f"{name} {verdict}: {score.numbers}.", how],
        rows=rows,
        true=true,
        predicted=score.predicted,
        classes=classes,
        wrong=sorted(np.flatnonzero(score.residuals > 1.0).tolist(), key=lambda i: -score.residuals[i]),
        columns=columns,
        chance=chance,
        atoms=atoms,
    )


def _indices(texts: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Classes of two rows or more, and the index of the class of each row, NaN for gaps and rare classes."""
    counts = Counter(text for text in texts.tolist() if text is not None)
    classes = sorted(text for text, count in counts.items() if count > 1)
    places = {text: float(i) for i, text in enumerate(classes)}
    return classes, np.array([places.get(text, np.nan) for text in texts.tolist()])


def _together(machine: Any) -> str:
    """Say which rows were left out together."""
    if machine.groups_ is None:
        return "copies of a row were left out with it"
    n = len(np.unique(machine.groups_))
    repeats = len(machine.groups_) - n
    return f"all rows of one item were left out together: {n} different items, {repeats} rows repeat one"


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
        X = X[:, rows]
        options, gram = {"kernel": "precomputed"}, X
    elif items.kind in ("vectors", "table") and items.cells is not None:
        X = items.cells[rows]  # a frame as its cells, which are shuffled later
    elif items.numbers is None:
        options = {"kernel": model.kernel_}
    by: Any = "items" if repeats_items(items.kind, items.numbers) else "auto"
    with unwarned(UserWarning):
        machine = OperatorKernelRegressorCV(**options, cv=by).fit(X, Y)
        residuals = machine.nested_residuals(X, Y)
    if residuals is not None:
        return machine, X, Y - residuals, True
    return machine, X, Y - machine.left_out_residuals(gram=gram).reshape(Y.shape), False


def _score_numbers(machine: Any, true: np.ndarray, left_out: np.ndarray, nested: bool) -> Score:
    """Root mean square error and R^2, against the error of the mean."""
    Y, residuals = true[:, None], np.abs(true[:, None] - left_out)
    found = held_out_errors(machine, Y, Y - left_out if nested else None)
    error, spread, of_mean = found["held-out error"], found["standard error"], found["error of the mean"]
    numbers = f"RMSE {with_error(error, spread)}, R² {1.0 - (error / of_mean) ** 2:.2f}, against an RMSE of "
    numbers += f"{readable(of_mean)} for the mean"
    limit = max(outlier_factor(residuals) * float(np.median(residuals)), 1e-300)
    return Score(left_out[:, 0], residuals[:, 0] / limit, error + 2.0 * spread < of_mean, numbers)


def _score_classes(true: np.ndarray, left_out: np.ndarray, nested: bool) -> Score:
    """Accuracy, against the share of the most common class."""
    from rkhs.evaluation.comparison import counting_error

    n, predicted = len(true), left_out.argmax(1).astype(float)
    margins = left_out.max(1) - left_out[np.arange(n), true.astype(int)]
    accuracy, majority = float((true == predicted).mean()), float(np.bincount(true.astype(int)).max()) / n
    error = counting_error(accuracy, n)
    if nested:
        error *= SHARED
    numbers = f"{with_error(100.0 * accuracy, 100.0 * error)} % correct ({int((true == predicted).sum())} of {n}), "
    numbers += f"against {100.0 * majority:.1f} % for the most common class"
    return Score(predicted, margins / _LARGE_MARGIN, accuracy - majority > 2.0 * error, numbers)


def _permutation_importances(
    machine: Any, items: Items, X: Any, Y: np.ndarray, predicted: np.ndarray
) -> tuple[list[tuple[str, float]], float]:
    """What each column moves, the most first, and what a column moves that says nothing."""
    names = [name for name, _ in items.named_columns]
    if len(names) < 2:
        return [], 0.0
    tried = _related(X, predicted)
    strongest = tried[int(np.argmax([_change(machine, X, j) for j in tried]))]
    with_noise = np.column_stack([X, X[np.random.default_rng(1).permutation(len(X)), strongest]])
    with unwarned(UserWarning):
        other = clone(machine).fit(with_noise, Y)  # one machine for all: its metric weighs them alike
    found, chance = [_change(other, with_noise, j) for j in tried], _change(other, with_noise, -1)
    return sorted(zip((names[j] for j in tried), found, strict=True), key=lambda pair: -pair[1]), chance


def _related(cells: np.ndarray, predicted: np.ndarray) -> list[int]:
    """The columns to shuffle: those most like the predictions."""
    numbers = np.ma.masked_invalid(as_numbers(cells) if cells.dtype == object else cells)
    centred = (numbers - numbers.mean(0)).filled(0.0)
    products = np.abs(centred.T @ (predicted - predicted.mean(0))).max(1)
    alike = products / np.maximum(np.linalg.norm(centred, axis=0), 1e-300)
    alike[numbers.count(0) == 0] = np.inf  # texts, which have no product
    return np.argsort(-alike, kind="stable")[:_MAX_COLUMNS].tolist()


def _change(machine: Any, cells: np.ndarray, j: int) -> float:
    """Root mean square change of predictions when a column is permuted."""
    some = cells[:_MAX_PERMUTED_ROWS]
    permuted = some.copy()
    permuted[:, j] = some[np.random.default_rng(0).permutation(len(some)), j]
    change = (machine.predict(permuted) - machine.predict(some)).reshape(len(some), -1)
    return float(np.sqrt((change**2).sum(1).mean()))


def _atom_contributions(
    machine: Any, items: Items, rows: np.ndarray, values: np.ndarray
) -> list[tuple[int, np.ndarray]]:
    """Contributions of the atoms of the molecules of the smallest and the largest predictions."""
    if items.smiles is None:
        return []

    def last_output(molecules: list[str]) -> np.ndarray:
        return np.asarray(machine.predict(np.array(molecules, dtype=object)).reshape(len(molecules), -1)[:, -1])

    order, found = np.argsort(values, kind="stable").tolist(), []
    for at in dict.fromkeys([*order[:_DRAWN], *order[-_DRAWN:]]):
        try:
            found.append((at, atom_contributions(last_output, items.smiles[rows[at]])))
        except RkhsError:
            continue
    return found
