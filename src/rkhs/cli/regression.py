"""``rkhs fit --predict``: numbers predicted from items, settings chosen, rows that do not fit named."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rkhs import estimators
from rkhs._core.errors import InputError, brief
from rkhs.cli.build import build_estimator, choose_for_sequences, chose_kernel
from rkhs.cli.classification import fit_classifier
from rkhs.cli.columns import ON_BOTH_SIDES, column_sentences, repeats_items
from rkhs.cli.inputs import user_errors
from rkhs.cli.options import changed
from rkhs.cli.outputs import check_predictor, refuse_with_predict, write_model
from rkhs.cli.robust import check_robust, errors_of_all_rows, wrong_rows
from rkhs.cli.rows import LEFT_OUT, keep_rows, named_rows, row_labels, strongest
from rkhs.cli.summaries import few, gap_sentence, little_sentence, print_result
from rkhs.cli.targets import MOST_NAMED, Rows, known_rows, read_with_targets
from rkhs.data import Dataset
from rkhs.reports.held_out import OUTLIER_FACTOR, held_out_errors, outlier_factor, row_norms, target_notes
from rkhs.reports.wording import readable

_FOLDS = 5
_LITTLE = 0.1  # R^2 of a fit that explains nothing


@dataclass(frozen=True)
class _Suspicious:
    """Norms of the held-out residuals (n,), rows whose norm is far from the others', worst first, and those fitted."""

    residuals: np.ndarray
    rows: list[int]
    fitted: np.ndarray
    times: float | None = OUTLIER_FACTOR  # the median, from which a residual is far; None: rows were not left out
    robust: str | None = None  # what a fit in rounds found
    all_rows: dict[str, Any] | None = None  # errors that count the rows that it left out


def fit_predictor(args: argparse.Namespace) -> None:
    """Fit classes to one column of texts, truth values, or with ``--classes`` of numbers; else numbers."""
    check_predictor(args)  # what no file can change is refused before one is read
    check_robust(args)
    rows, values = read_with_targets(args)
    if values.ndim == 1:
        fit_classifier(args, rows, values)
    else:
        fit_regressor(args, rows, values)


def fit_regressor(args: argparse.Namespace, rows: Rows, Y: np.ndarray) -> None:
    """Choose the settings by cross-validation, fit on all rows, write the model and print what was found."""
    refuse_with_predict(args, ["estimator", "n_components"], ", which fits an OperatorKernelRegressorCV")
    data, Y, groups, unknown = known_rows(args, rows, Y)
    y = Y[:, 0] if Y.shape[1] == 1 else Y
    with user_errors():
        args, choice = _with_kernel(args, data, Y)
        if args.robust:
            model, found = _fit_robustly(args, data, y)
        else:
            model = _regressor(args, data).fit(data.items, y, groups=groups)
            found = _suspicious(model, data)
    facts = _facts(args, model, data, Y, rows.names, found) | {"rows without a value": unknown, "kernel choice": choice}
    known = {name: facts[name] for name in ("held-out error", "error of the mean", "measure", "rows left out")}
    write_model(
        args.output, model.estimator_, data, args, predict=known | {"columns": rows.names, "places": rows.places}
    )
    facts["seconds"] = time.perf_counter() - args.started
    lines = [*_summary(facts, named_rows(data)), *facts["columns"]["notes"], f"model: {args.output}"]
    print_result(args, facts, lines)


def _with_kernel(args: argparse.Namespace, data: Dataset, Y: np.ndarray) -> tuple[argparse.Namespace, str | None]:
    """The arguments with the kernel of sequences that is chosen by the numbers, and how it was."""
    known = np.isfinite(Y).all(axis=1)
    T = Y[known] - Y[known].mean(axis=0) if known.any() else Y
    if data.kind != "sequences" or chose_kernel(args) or known.sum() < _FOLDS or not (T.std(axis=0) > 0.0).all():
        return args, None
    kernel, sentence = choose_for_sequences(data.items[known], T / T.std(axis=0))
    return changed(args, chosen=kernel), sentence


def _regressor(args: argparse.Namespace, data: Dataset) -> estimators.OperatorKernelRegressorCV:
    alike: dict[str, Any] = {"loss": args.loss or "squared"}
    if args.groups is None and repeats_items(data.kind, data.X):
        alike["cv"] = "items"
    kernel = getattr(args, "chosen", None)
    if kernel is not None:
        alike["kernel"] = kernel
    return build_estimator(args, data, estimators.OperatorKernelRegressorCV, alike)


def _suspicious(model: estimators.OperatorKernelRegressorCV, data: Dataset) -> _Suspicious:
    """Every row predicted without it, where that has a closed form."""
    if model.model_.has_sets and data.n_samples > 2:
        return _far(row_norms(model.left_out_residuals()))
    return _Suspicious(np.zeros(data.n_samples), [], np.arange(data.n_samples), times=None)


def _far(residuals: np.ndarray) -> _Suspicious:
    """Rows whose residual is far from the others'."""
    times = outlier_factor(residuals)
    far = np.flatnonzero(residuals > times * np.median(residuals))
    return _Suspicious(residuals, sorted(far.tolist(), key=lambda i: -residuals[i]), np.arange(len(residuals)), times)


def _fit_robustly(
    args: argparse.Namespace, data: Dataset, y: np.ndarray
) -> tuple[estimators.OperatorKernelRegressorCV, _Suspicious]:
    """A fit in rounds, without the rows that the others do not predict."""
    regressor = _regressor(args, data)
    if regressor.columns == "integral":
        raise InputError("--predict from curves at unequal times does not go with --robust; leave --robust out")
    found = estimators.fit_robust(regressor, data.items if data.as_smiles else data.X, y)
    sentence = wrong_rows(found, np.flatnonzero(found.outlier_score > 1.0), row_labels(data), named_rows(data))
    if found.inliers.all():
        return found.model, replace(_suspicious(found.model, data), robust=sentence)
    residuals, wrong = found.outlier_score * found.threshold, np.flatnonzero(found.outlier_score > 1.0)
    rows = sorted(wrong.tolist(), key=lambda i: -residuals[i])
    of_all = errors_of_all_rows(found, y.reshape(len(y), -1))
    return found.model, _Suspicious(residuals, rows, np.flatnonzero(found.inliers), robust=sentence, all_rows=of_all)


def _facts(
    args: argparse.Namespace,
    model: estimators.OperatorKernelRegressorCV,
    data: Dataset,
    Y: np.ndarray,
    names: list[str],
    found: _Suspicious,
) -> dict[str, Any]:
    """What ``--json`` prints."""
    fitted = Y[found.fitted]
    labels = row_labels(data)
    nested = None if found.robust is not None else model.nested_residuals(data.items, Y)
    errors, folds = held_out_errors(model, fitted, nested), model.fold_machines_
    kept = keep_rows(data, np.isin(np.arange(len(Y)), found.fitted), LEFT_OUT)
    return {
        "class": "OperatorKernelRegressor",
        "input": {"path": args.input, "kind": data.kind, "items": data.n_samples},
        "predicts": names,
        "kernel": model.kernel_,
        "loss": model.loss_,
        "reg": model.reg_,
        "center": bool(model.center),
        "objective": model.estimator_.objective_,
        "duality gap": model.estimator_.gap_,
        **errors,
        "folds": model.cv_errors_.shape[-1] if folds is None else len(folds.kernels),
        "metric": getattr(model, "metric_", None),
        "importances": _importances(model, data),
        "nested": nested is not None,
        "groups": args.groups,
        "suspicious rows": [{"row": labels[i], "residual": found.residuals[i]} for i in found.rows],
        "suspicious above": None if found.times is None else f"{found.times:.3g} times the median",
        "rows left out": len(Y) - len(fitted),
        "remarks": _remarks(model, fitted, names, errors),
        "robust": found.robust,
        "all rows": found.all_rows,
        "columns": {"scaled": model.columns != "raw", "notes": _notes(model, kept)},
        "model": args.output,
    }


def _importances(model: estimators.OperatorKernelRegressorCV, data: Dataset) -> list[str]:
    """Columns with their shares of the mean squared derivatives, largest first; none where they were read as others."""
    shares = getattr(model, "importances_", np.empty(0))
    if data.kind != "vectors" or data.column_names is None or len(shares) != len(data.column_names):
        return []
    return [f"{data.column_names[j]} {shares[j]:.2f}" for j in np.argsort(-shares, kind="stable")]


def _remarks(
    model: estimators.OperatorKernelRegressorCV, Y: np.ndarray, names: list[str], errors: dict[str, Any]
) -> list[str]:
    """What is said of targets and errors."""
    found = list(target_notes(names, Y))
    error, of_mean = errors["held-out error"], errors["error of the mean"]
    if 0.0 < of_mean**2 * (1.0 - _LITTLE) < error**2:
        found.append(little_sentence("the mean"))
    if not model.model_.has_sets:
        found.append("rkhs predict writes no intervals with this model: they need the squared loss, and no --gram")
    return found


def _notes(model: estimators.OperatorKernelRegressorCV, data: Dataset) -> list[str]:
    """What is to know of the columns; copies do no harm to errors where they are left out together."""
    notes = column_sentences(model, data)
    return notes if model.groups_ is None else [note for note in notes if ON_BOTH_SIDES not in note]


def _summary(facts: dict[str, Any], counted: str) -> Iterator[str]:
    """Lines for people."""
    n, unknown = facts["input"]["items"], facts["rows without a value"]
    gaps = f"; {unknown} rows without a value are left out" if unknown else ""
    yield f"{facts['class']}: {n} items, predicts {few(facts['predicts'])} ({facts['seconds']:.1f} s){gaps}"
    if facts["kernel choice"]:
        yield f"kernel: {facts['kernel choice']}"
    yield f"chosen: reg {facts['reg']:.3g}, loss {facts['loss']!r}, kernel {brief(facts['kernel'])}"
    if facts["importances"]:
        yield "columns that matter most: " + ", ".join(facts["importances"][:MOST_NAMED])
    kept = (
        f"held-out error: {readable(facts['held-out error'])} +- {readable(facts['standard error'], 2)} "
        f"({facts['measure']}, {_folds(facts)})"
    )
    if "R^2" in facts:
        kept += f", R^2 {facts['R^2']:.3f}"
    kept += f"; the mean in place of a model: {readable(facts['error of the mean'])}"
    if facts["all rows"]:
        yield from _of_robust_fit(facts["all rows"], kept)
    else:
        yield kept
    yield from gap_sentence(facts["duality gap"], facts["objective"])
    yield from facts["remarks"]
    yield from _suspicious_rows(facts, counted)


def _folds(facts: dict[str, Any]) -> str:
    """Which rows were left out for the held-out error."""
    found = f"each of {facts['folds']} left out in turn"
    if facts["groups"] is not None:
        found = f"each of {facts['folds']} groups of {facts['groups']} left out in turn"
    elif facts["folds"] <= _FOLDS:
        found = f"{facts['folds']} folds"
    return f"{found}, settings chosen without it" if facts["nested"] else found


def _of_robust_fit(found: dict[str, Any], of_kept: str) -> Iterator[str]:
    """Errors of all rows before those of the rows that were kept, and for which rows intervals hold."""
    yield (
        f"held-out error: {readable(found['error'])} over all {found['rows']} rows (root mean square), R^2 "
        f"{found['R^2']:.3f}; the mean in place of a model: {readable(found['error of the mean'])}"
    )
    yield f"without the {found['left out']} rows left out, the {of_kept}; new rows may be like those left out"


def _suspicious_rows(facts: dict[str, Any], counted: str) -> Iterator[str]:
    """Rows far from what the others predict, or the sentence of a robust fit."""
    rows, limit = facts["suspicious rows"], facts["suspicious above"]
    if facts["robust"] is not None:
        yield f"robust: {facts['robust']}"
        if facts["rows left out"]:
            return
    if limit is None:
        yield "suspicious rows are not looked for with this model: --robust finds rows that look wrong"
        return
    if not rows:
        yield f"suspicious rows: none has a held-out residual above {limit}"
        return
    listed = ", ".join(f"{row['row']} ({readable(row['residual'], 3)})" for row in rows[:MOST_NAMED])
    some = strongest(len(rows), MOST_NAMED)
    yield (
        f"suspicious rows{some}, held-out residual above {limit}: {listed}{counted}; --robust fits without rows that "
        "look wrong"
    )
