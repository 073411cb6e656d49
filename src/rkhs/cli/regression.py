"""``rkhs fit --predict``: numbers predicted from items, settings chosen, rows that do not fit named."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators
from rkhs._core.errors import InputError, brief
from rkhs.cli.build import build_estimator, choose_for_sequences, chose_kernel
from rkhs.cli.columns import ON_BOTH_SIDES, column_sentences, repeats_items, warn_of_series
from rkhs.cli.inputs import changed, quiet, user_errors
from rkhs.cli.outputs import refuse_with_predict, write_model
from rkhs.cli.robust import COVERAGE, errors_of_all_rows, has_ends, trim_of, wrong_rows
from rkhs.cli.rows import APART, LEFT_OUT, keep_rows, named_rows, row_labels, strongest
from rkhs.cli.summaries import answers_in_columns, few, gap_sentence, little_sentence, print_result, what_may_help
from rkhs.cli.targets import (
    MOST_NAMED,
    MOST_ZEROS,
    advised,
    as_command,
    dropped_positions,
    identifiers,
    logarithm,
    read_with_numbers,
    robustly,
    values_of_column,
    warn_of_several_quantities,
    without_flag,
    without_named,
)
from rkhs.reports.held_out import (
    OUTLIER_FACTOR,
    decisive_notes,
    held_out_errors,
    logarithm_note,
    outlier_factor,
    row_norms,
    target_notes,
)
from rkhs.reports.wording import readable

if TYPE_CHECKING:
    from rkhs.data import Dataset


_FOLDS = 5
_SPANS, _RISING = 0.7, 0.3  # decades of a target, and rank correlation of its errors with it, of a logarithm
_LITTLE = 0.1  # R^2 of a fit that explains nothing
_OFTEN, _SKEWED = 0.05, 1.1  # share of rows; mean over median
_COMMAND = "\n\n  rkhs "  # before one to copy
_ONE_SIDE, _FEWEST_OUT = 0.9, 3  # share of the rows left out that lie in one quarter of a target, and how many are told


@dataclass(frozen=True)
class _Suspicious:
    """Norms of the held-out residuals (n,), rows whose norm is far from the others', worst first, and those fitted."""

    residuals: np.ndarray
    rows: list[int]
    fitted: np.ndarray
    times: float = OUTLIER_FACTOR  # the median, from which a residual is far
    robust: str | None = None  # what a fit in rounds says of them
    all_rows: dict[str, Any] | None = None  # errors that count the rows that it left out


def fit_regressor(args: argparse.Namespace) -> None:
    """Choose the settings by cross-validation, fit on all rows, write the model and say what was found."""
    flags = ["estimator", "n_components", "drop_rare", *(["leave_out"] if args.leave_out == APART else [])]
    refuse_with_predict(args, flags, ", which fits an OperatorKernelRegressorCV")
    data, Y, names, unknown = read_with_numbers(args)
    warn_of_series(args, data)
    if len(names) == 1:
        warn_of_several_quantities(args, data, Y[:, 0])
    y = Y[:, 0] if len(names) == 1 else Y
    with user_errors():
        args, choice = _with_kernel(args, data, Y)
        if args.robust:
            model, found = _fit_robustly(args, data, y)
        else:
            model = _choose(args, data, y)
            found = _suspicious(model, data, Y)
    facts = _facts(args, model, data, Y, names, found) | {"rows without a value": unknown}
    facts["kernel choice"] = choice
    of_columns = facts["columns"]["notes"]
    known = {"columns": names, "places left out": dropped_positions(args, data)}
    known |= {name: facts[name] for name in ("held-out error", "error of the mean", "measure", "rows left out")}
    write_model(args.output, model.estimator_, data, args, predict=known)
    facts["seconds"] = time.perf_counter() - args.started
    without = without_named(args, data, found.rows) if found.rows else ""
    first, *lines = _summary(facts, named_rows(data), without)
    lines = [first, *([f"kernel: {choice}"] if choice else []), *lines]
    print_result(args, facts, [*lines, *of_columns, f"model: {args.output}"])


def _with_kernel(args: argparse.Namespace, data: Dataset, Y: np.ndarray) -> tuple[argparse.Namespace, str | None]:
    """The arguments with the kernel of sequences that is chosen by the numbers, and how it was."""
    known = np.isfinite(Y).all(axis=1)
    T = Y[known] - Y[known].mean(axis=0) if known.any() else Y
    if data.kind != "sequences" or chose_kernel(args) or known.sum() < _FOLDS or not (T.std(axis=0) > 0.0).all():
        return args, None
    kernel, sentence = choose_for_sequences(data.items[known], T / T.std(axis=0))
    return changed(args, chosen=kernel), sentence


def _choose(args: argparse.Namespace, data: Dataset, y: np.ndarray) -> estimators.OperatorKernelRegressorCV:
    """The best by held-out error; the squared and the Huber loss are compared by the mean norm of the residuals."""
    losses = ("squared", "huber") if args.loss == "auto" else (args.loss or "squared",)
    groups = None if args.groups is None else values_of_column(args, args.groups, "--groups", data)
    fitted = [_regressor(args, data, loss).fit(data.items, y, groups=groups) for loss in losses]
    return max(fitted, key=lambda model: model.best_score_)


def _regressor(args: argparse.Namespace, data: Dataset, loss: str) -> estimators.OperatorKernelRegressorCV:
    alike: dict[str, Any] = {"criterion": "norm", "cv": min(_FOLDS, data.n_samples)} if args.loss == "auto" else {}
    if args.groups is None and repeats_items(data.kind, data.X):
        alike = {"cv": "items"} | alike
    if (kernel := getattr(args, "chosen", None)) is not None:
        alike |= {"kernel": kernel}
    return build_estimator(args, data, estimators.OperatorKernelRegressorCV, {"loss": loss, **alike})


def _suspicious(model: estimators.OperatorKernelRegressorCV, data: Dataset, Y: np.ndarray) -> _Suspicious:
    """Every row predicted without it: in closed form, else by the chosen regressor fitted on the other folds."""
    from sklearn.base import clone

    machine = model.model_
    residuals = np.zeros(len(Y))
    if machine.leaves_out and data.kind != "gram":
        left = machine.calibrated().in_groups(model.groups_)
        return _far(row_norms(machine.in_units(left.residuals)) if len(left.representatives) > 2 else residuals)
    alike = model._copies(data.items)
    if len(np.unique(alike)) < 3:  # the others would be of one kind
        return _far(residuals)
    with quiet():  # said by the fit on all rows
        for train, test in model._folds(None, alike):
            one = clone(model.estimator_).set_params(verbose=0).fit(_rows(data, train, train), Y[train])
            residuals[test] = row_norms(one.predict(_rows(data, test, train)).reshape(len(test), -1) - Y[test])
    return _far(residuals)


def _far(residuals: np.ndarray) -> _Suspicious:
    """Rows whose residual is far from the others'."""
    times = outlier_factor(residuals)
    far = np.flatnonzero(residuals > times * np.median(residuals))
    return _Suspicious(residuals, sorted(far.tolist(), key=lambda i: -residuals[i]), np.arange(len(residuals)), times)


def _fit_robustly(
    args: argparse.Namespace, data: Dataset, y: np.ndarray
) -> tuple[estimators.OperatorKernelRegressorCV, _Suspicious]:
    """A fit in rounds, without the rows that the others do not predict."""
    if args.loss == "auto":
        raise InputError("--loss auto compares losses on all rows; with --robust name one, or leave --loss out")
    regressor = _regressor(args, data, args.loss or "squared")
    if regressor.columns == "integral":
        raise InputError("--predict from curves at unequal times does not go with --robust; leave --robust out")
    found = estimators.fit_robust(regressor, data.items if data.as_smiles else data.X, y, trim=trim_of(args))
    sentence = wrong_rows(found, np.flatnonzero(found.outlier_score > 1.0), row_labels(data), named_rows(data))
    if found.inliers.all():
        suspicious = _suspicious(found.model, data, y.reshape(len(y), -1))
        plain = sentence.partition("; the largest scores")[0]  # suspicious rows are the one list of rows to look at
        return found.model, replace(suspicious, robust=plain if suspicious.rows else sentence)
    residuals, wrong = found.outlier_score * found.threshold, np.flatnonzero(found.outlier_score > 1.0)
    rows = sorted(wrong.tolist(), key=lambda i: -residuals[i])
    out = np.flatnonzero(~found.inliers)
    of_all = errors_of_all_rows(found, _rows(data, out, out), y.reshape(len(y), -1))
    return found.model, _Suspicious(residuals, rows, np.flatnonzero(found.inliers), robust=sentence, all_rows=of_all)


def _rows(data: Dataset, rows: np.ndarray, known: np.ndarray) -> Any:
    """Some items; of a Gram matrix their kernel values with the known ones."""
    if data.as_smiles:
        return data.items[rows]
    return replace(data, X=data.X[rows][:, known] if data.kind == "gram" else data.X[rows]).items


def _facts(
    args: argparse.Namespace,
    model: estimators.OperatorKernelRegressorCV,
    data: Dataset,
    Y: np.ndarray,
    names: list[str],
    found: _Suspicious,
) -> dict[str, Any]:

    fitted, together = Y[found.fitted], model.groups_ if args.groups is None else None
    names_of_rows = row_labels(data)
    rows = _named(args, data, found)
    nested = None if found.robust is not None else model.nested_residuals(data.items, Y)
    errors = held_out_errors(model, fitted, nested)
    ends = _advice(args, model, data, Y, names, found, errors)
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
        "folds": model.cv_errors_.shape[-1],
        "nested": nested is not None,
        "groups": args.groups,
        "rows of earlier items": 0 if together is None else len(together) - len(np.unique(together)),
        "with another value": 0 if together is None else _changed_values(together, fitted),
        "suspicious rows": rows,
        "suspicious above": f"{found.times:.3g} times the median",
        "rows left out": len(Y) - len(fitted),
        "ends": [*ends, *_of_deviations(model)],
        "robust": found.robust,
        "all rows": found.all_rows,
        "rows where the loss is linear": [names_of_rows[found.fitted[i]] for i in model.estimator_.saturated_],
        "columns": {
            "scaled": model.columns != "raw",
            "notes": _notes(model, keep_rows(data, np.isin(np.arange(len(Y)), found.fitted), LEFT_OUT)),
        },
        "model": args.output,
    }


def _changed_values(groups: np.ndarray, Y: np.ndarray) -> int:
    """How many rows (n, q) have another value than the first row of their group; a gap is none."""
    _, first, places = np.unique(groups, return_index=True, return_inverse=True)
    return int((np.abs(Y - Y[first[places]]) > 0.0).any(axis=1).sum())


def _advice(
    args: argparse.Namespace,
    model: estimators.OperatorKernelRegressorCV,
    data: Dataset,
    Y: np.ndarray,
    names: list[str],
    found: _Suspicious,
    errors: dict[str, Any],
) -> list[str]:
    """What is said of the targets and of errors, with one command."""
    y = (10.0**Y if args.log10 else Y)[:, 0]
    ends = answers_in_columns(args, data, y) * (len(names) == 1) or _by_logarithm(args, names, Y)
    plain = found.robust is None and "R^2" in errors
    ends = (ends or decisive_notes(found.residuals, row_labels(data), robustly(args, data)) * plain) + _little(
        errors, data
    )
    ends += _of_one_side(args, names, Y, found, loud=_COMMAND not in "".join(ends))
    if ends and errors.get("R^2", 1.0) <= _LITTLE:
        return [*ends, *target_notes(names, Y, _way_to_classes(args, Y))] if _COMMAND not in "".join(ends) else ends
    more = _ends(args, model, Y[found.fitted], names, found)
    command = _COMMAND in "".join(ends)  # one is enough, and rows that it leaves out do not advise a logarithm
    return ends + [text for text in more if not command or "--log10" not in text]


def _by_logarithm(args: argparse.Namespace, names: list[str], Y: np.ndarray) -> list[str]:
    """The command that predicts the logarithm of skewed amounts over decades, of which few may be zero."""
    if len(names) > 1 or (Y == 0.0).mean() > MOST_ZEROS:
        return []
    return [f"{note}: {logarithm(args)}" for note in logarithm_note(names[0], Y[Y != 0.0])]


def _of_one_side(
    args: argparse.Namespace, names: list[str], Y: np.ndarray, found: _Suspicious, *, loud: bool
) -> Iterator[str]:
    """What is said where nearly all rows that a robust fit left out have the largest, or the smallest, targets."""
    y, out = Y[:, 0], np.setdiff1d(np.arange(len(Y)), found.fitted)
    if len(names) > 1 or len(out) < _FEWEST_OUT:
        return
    low, high = np.quantile(y, (0.25, 0.75))
    for which, count in (("largest", int((y[out] >= high).sum())), ("smallest", int((y[out] <= low).sum()))):
        if count >= _ONE_SIDE * len(out):
            some = f"{count} of the" if count < len(out) else "all"
            what = f"{some} {len(out)} rows left out are in the {which} quarter of {names[0]}: they may be right"
            keep = logarithm(args) if (y > 0.0).all() else "fit without --robust"
            yield f"{what}, as are the tails of skewed amounts" + f"; if they are, {keep}" * loud


def _notes(model: estimators.OperatorKernelRegressorCV, data: Dataset) -> list[str]:
    """What is to know of the columns; copies do no harm to errors where they are left out together."""
    notes = column_sentences(model, data)
    if model.groups_ is not None:
        return [note for note in notes if ON_BOTH_SIDES not in note]
    return [note.replace(ON_BOTH_SIDES, "they are left out together") for note in notes]


def _little(errors: dict[str, Any], data: Dataset) -> list[str]:
    """What is said of a model that explains next to nothing of targets that vary."""
    error, of_mean = errors["held-out error"], errors["error of the mean"]
    return [little_sentence("the mean", what_may_help(data))] * bool(0.0 < of_mean**2 * (1.0 - _LITTLE) < error**2)


def _ends(
    args: argparse.Namespace,
    model: estimators.OperatorKernelRegressorCV,
    Y: np.ndarray,
    names: list[str],
    found: _Suspicious,
) -> Iterator[str]:
    """Notes on the interval ends that ``rkhs predict`` writes: none for some losses, negative for skewed numbers."""
    yield from target_notes(names, Y, _way_to_classes(args, Y))
    ends = has_ends(model)
    if not ends:
        yield "rkhs predict writes no low and high ends with this model: they need the squared loss, and no --gram"
    usual = np.isin(found.fitted, found.rows, invert=True)
    y, residuals = Y[usual, 0], found.residuals[found.fitted[usual]]
    if len(names) == 1 and (Y > 0.0).all():
        below = float((y < np.quantile(residuals, 0.9)).mean())
        skewed = y.mean() > _SKEWED * np.median(y) and not logarithm_note(names[0], Y[:, 0])
        if ends and below > _OFTEN and skewed:
            yield (
                f"{names[0]} is positive and skewed: the low ends of its intervals are negative for about {below:.0%} "
                f"of rows; to avoid that, {logarithm(args)}"
            )
        elif rising := _rising_errors(names[0], y, residuals):
            yield f"{rising}: {logarithm(args)}"


def _way_to_classes(args: argparse.Namespace, Y: np.ndarray) -> str:
    """The command that predicts one column of whole numbers as classes, without what goes with numbers alone."""
    if Y.shape[1] > 1:
        return "predict each alone with --target-kind classes"
    words = [word for word in args.words if word not in ("--robust", "--log10")]
    for flag in ("--loss", "--trim", "--set"):
        words = without_flag(words, flag)
    rare = np.unique(Y[np.isfinite(Y)], return_counts=True)[1].min() < 2
    options = {"target_kind": "classes"} | ({"drop_rare": 2} if rare else {})
    return f"this command predicts them so:{as_command(advised(words, options))}\n"


def _rising_errors(name: str, y: np.ndarray, residuals: np.ndarray) -> str:
    """What is said of positive numbers over most of a decade whose errors grow with them."""
    from scipy.stats import spearmanr

    low, high = np.quantile(y, (0.05, 0.95))
    wide = high > 10.0**_SPANS * low and residuals.max() > residuals.min()
    found = float(spearmanr(y, residuals)[0]) if wide else 0.0
    return f"the errors of {name} grow with it (rank correlation {found:.2f})" if found > _RISING else ""


def _of_deviations(model: estimators.OperatorKernelRegressorCV) -> Iterator[str]:
    """Rank correlation of the standard deviations that ``rkhs predict`` writes with leave-one-out errors."""
    from scipy.stats import spearmanr

    machine = model.model_
    if not has_ends(model):
        return
    left = machine.calibrated().in_groups(model.groups_)
    variances, errors = (
        1.0 / left.precision - left.ridges[left.group_of_row],
        row_norms(machine.in_units(left.residuals)),
    )
    if variances.max() > variances.min() and errors.max() > errors.min():
        found = float(spearmanr(variances.numpy(), errors)[0])
        verb = "hardly predicts" if found < 0.2 else "predicts in part" if found < 0.5 else "predicts"
        yield (
            f"the column _sd that rkhs predict writes {verb} which rows have the larger errors: their rank correlation "
            f"is {found:.2f} (1: the same order, 0: none)"
        )


def _summary(facts: dict[str, Any], counted: str, without: str) -> list[str]:
    linear = facts["rows where the loss is linear"]
    kernel, unknown = brief(facts["kernel"]), facts["rows without a value"]
    gaps = f"; {unknown} row{'' if unknown == 1 else 's'} without a value: left out" if unknown else ""
    each = f"each of {facts['folds']}{' items' * (facts['rows of earlier items'] > 0)} left out in turn"
    folds = f"{facts['folds']} folds" if facts["folds"] <= _FOLDS else each
    if facts["groups"] is not None:
        folds = f"each of {facts['folds']} groups of {facts['groups']} left out in turn"
    folds += ", settings chosen without it" * facts["nested"]
    explained = f", R^2 {facts['R^2']:.3f}" if "R^2" in facts else ""
    centred = "" if facts["center"] else ", center False"
    lines = [
        f"{facts['class']}: {facts['input']['items']} items, predicts {few(facts['predicts'])} "
        f"({facts['seconds']:.1f} s){gaps}",
        f"chosen: reg {facts['reg']:.3g}, loss {facts['loss']!r}, kernel {kernel}{centred}",
        f"held-out error: {readable(facts['held-out error'])} +- {readable(facts['standard error'], 2)} "
        f"({facts['measure']}, {folds}){explained}; the mean in place of a model: "
        f"{readable(facts['error of the mean'])}",
    ]
    if facts["all rows"]:
        lines[-1:] = _of_robust_fit(facts["all rows"], lines[-1])
    lines += [*gap_sentence(facts["duality gap"], facts["objective"]), *facts["ends"]]
    lines += _left_out_together(facts)
    lines += _suspicious_rows(facts, counted, without * (_COMMAND not in "".join(lines)))
    if linear:
        named = f": {', '.join(linear)}{counted}" if len(linear) <= MOST_NAMED else ""
        lines.append(f"{len(linear)} of {facts['input']['items']} rows are in the linear part of the loss{named}")
    return lines


def _of_robust_fit(found: dict[str, Any], of_kept: str) -> Iterator[str]:
    """Errors of all rows before those of the rows that were kept, and for which rows intervals hold."""
    yield (
        f"held-out error: {readable(found['error'])} over all {found['rows']} rows (root mean square), R^2 "
        f"{found['R^2']:.3f}; the mean in place of a model: {readable(found['error of the mean'])}"
    )
    yield (
        f"without the {found['left out']} rows left out, the {of_kept}. R^2 is 1 - (error / error of the mean)^2 over "
        "the same rows; new rows may be like those left out"
    )
    if "coverage" in found:
        yield (
            f"the {COVERAGE:.0%} intervals of rkhs predict are for rows like those kept: they hold {found['inside']} "
            f"of the {found['left out']} left out, and so about {found['coverage']:.0%} of all rows"
        )


def _left_out_together(facts: dict[str, Any]) -> Iterator[str]:
    """What the error and the intervals are for, where rows were left out together."""
    if facts["groups"] is not None:
        yield (
            f"the error, suspicious rows and intervals that rkhs predict writes are for another {facts['groups']}; for "
            "rows of the same they are too large"
        )
    if repeated := facts["rows of earlier items"]:
        yield (
            f"equal items: {repeated} of {facts['input']['items']} rows repeat the item of an earlier row, "
            f"{facts['with another value']} of them with another value; all rows of an item were left out together, "
            "for errors, intervals and suspicious rows of new items"
        )


def _named(args: argparse.Namespace, data: Dataset, found: _Suspicious) -> list[dict[str, Any]]:
    """Names, residuals and identifiers of the file of suspicious rows."""
    names, (title, ids) = row_labels(data), identifiers(args, data, repeats=True) if found.rows else ("", [])
    rows = [
        {"row": names[i], "residual": found.residuals[i], "identifier": f"{title} {ids[i]}".strip()} for i in found.rows
    ]
    return [{key: value for key, value in row.items() if value != ""} for row in rows]


def _suspicious_rows(facts: dict[str, Any], counted: str, without: str) -> Iterator[str]:
    """Rows far from what the others predict, or the sentence of a robust fit."""
    rows, limit = facts["suspicious rows"], facts["suspicious above"]
    if facts["robust"] is not None:
        yield f"robust: {facts['robust']}"
        if facts["rows left out"]:
            return
    if not rows:
        yield f"suspicious rows: none has a held-out residual above {limit}"
        return
    called = [(readable(row["residual"], 3), row.get("identifier"), row["row"]) for row in rows[:MOST_NAMED]]
    listed = ", ".join(f"{row} ({', '.join(filter(None, [size, name]))})" for size, name, row in called)
    stay = "" if facts["robust"] is None else ", which stay in the fit: look at them"
    some = strongest(len(rows), MOST_NAMED)
    yield f"suspicious rows{some}{stay}, held-out residual above {limit}: {listed}{counted}{without}"
