"""``rkhs fit --predict`` for a column of classes: codes of all rows, and a classifier on those whose class is known."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators, evaluation
from rkhs._core.errors import InputError
from rkhs.cli.build import build_estimator
from rkhs.cli.class_choices import (
    FOLDS,
    REPEATS,
    choose_columns,
    codes_of_parts,
    cross_validated,
    defaults_of_classes,
    suspicious_labels,
    suspicious_sentence,
)
from rkhs.cli.columns import column_sentences
from rkhs.cli.inputs import quiet, user_errors
from rkhs.cli.outputs import refuse_with_predict, write_model
from rkhs.cli.summaries import answers_in_columns, little_sentence, print_result, what_may_help
from rkhs.cli.targets import (
    alike_spellings,
    as_command,
    identifiers,
    item_classes,
    lone_target,
    mended,
    number_in,
    read_column_of,
    read_with_values,
    refuse_amounts,
    title_of_target,
    values_of_column,
)
from rkhs.data.columns import listed
from rkhs.data.formats import has_columns

if TYPE_CHECKING:
    from rkhs.data import Dataset


_MOST_CLASSES = 50
_FEW_LABELS = 50  # below which their number is a part of the message


def names_classes(args: argparse.Namespace) -> bool:
    """Whether one column is predicted that holds texts, or whole numbers that are classes."""
    name, second = lone_target(args), args.labels or args.targets
    if name is None or args.target_kind == "numbers" or (args.gram and not second):
        return False
    if not (second or has_columns(args.input)) and item_classes(args) is None:
        return False
    with quiet():  # said where the column is read for the fit
        return _holds_classes(args, read_column_of(args, name, "--predict"), name)


def _holds_classes(args: argparse.Namespace, values: np.ndarray, name: str | int) -> bool:
    """Whether a column holds texts, or two whole numbers; too few classes are refused before the items are read."""
    if values.dtype == object:
        kept = [value for value in _without_rare(values, args.drop_rare or 1).tolist() if value is not None]
        _counted(args, kept, name)
        return True
    different, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    two = len(different) == 2 and counts.min() > 1 and (different == different.round()).all()
    return bool(two) and not any((args.loss, args.robust, args.log10))


def _kept_together(
    args: argparse.Namespace, estimator: estimators.KernelEstimator, data: Dataset, y: np.ndarray
) -> np.ndarray:
    """Find the groups of rows that stay together in cross-validation: those that are named, else copies."""
    named = args.groups is not None
    groups = values_of_column(args, args.groups, "--groups", data) if named else _copies(estimator, data, y)
    if len(set(groups[[value is not None for value in y.tolist()]].tolist())) < 2:
        what = f"two groups in --groups {args.groups}" if named else "rows that differ"
        raise InputError(f"--predict expects {what} among the rows with a class, to measure its accuracy; got one")
    return groups


def fit_classifier(args: argparse.Namespace) -> None:
    """Fit codes to all rows, a classifier to those with a class, score it by cross-validation, and write both."""
    refuse_with_predict(args, ("loss", "trim"), " of a class")
    if args.robust:
        command = as_command([word for word in args.words if word != "--robust"])
        what = "--robust fits numbers; with a class all rows are fitted, and labels that look wrong are named"
        raise InputError(f"{what} without it, by this command:{command}")
    name: Any = lone_target(args)
    data, given = read_with_values(args, name, "--predict")
    y = _without_rare(given, args.drop_rare or 1)
    known = np.array([value is not None for value in y.tolist()])
    counts = _counted(args, y[known].tolist(), name)
    classes = np.array(y[known].tolist())
    with user_errors():
        defaults, chosen = defaults_of_classes(args, data, known, classes)
        estimator = build_estimator(args, data, defaults=defaults)
        of_columns = choose_columns(args, estimator, data, known, classes)
        codes = estimator.fit(data.items).codes_
        together = _kept_together(args, estimator, data, y)
        of_part = codes_of_parts(args, data, known, classes, defaults, codes) if chosen else None
        score = cross_validated(codes[known], classes, together[known], args.seed or 0, of_part)
        title, cells = identifiers(args, data, repeats=True)
        ids = [f"{title} {cell}".strip() for cell in cells]
        suspicious = suspicious_labels(data, np.flatnonzero(known), classes, score.pop("shares"), ids)
        head = evaluation.SmoothClassifier().fit(codes[known], classes)
    facts = {
        "class": type(estimator).__name__,
        "input": {"path": args.input, "kind": data.kind, "items": data.n_samples},
        "predicts": title_of_target(name),
        "components": codes.shape[1],
        "kernel choice": chosen,
        "columns choice": of_columns,
        "kernel chosen in each part": of_part is not None,
        "classes": dict(counts),
        "classes dropped": dict(Counter(value for value in given.tolist() if value not in {*counts, None})),
        "rows without a class": int((~known).sum()),
        **score,
        "suspicious labels": suspicious,
        "accuracy of the most common class": counts.most_common(1)[0][1] / int(known.sum()),
        "columns": {"notes": column_sentences(estimator, data)},
        "model": args.output,
    }
    kept = score | {"columns": [title_of_target(name)], "labels": y.tolist(), "gamma": head.gamma_, "reg": head.reg_}
    write_model(args.output, estimator, data, args, predict=kept)
    facts["seconds"] = time.perf_counter() - args.started
    look_at = suspicious_sentence(data, suspicious)
    lines = _summary(facts, look_at, what_may_help(data))
    if "--target-kind" not in args.words and all(number_in(label) is not None for label in counts):
        what = "its whole numbers are read as classes; --target-kind numbers predicts a number"
        lines.insert(1, f"{facts['predicts']}: {what}")
    lines += [*facts["columns"]["notes"], *answers_in_columns(args, data, y)]
    print_result(args, facts, [*lines, f"model: {args.output}"])


def _without_rare(y: np.ndarray, least: int) -> np.ndarray:
    """Classes with None in place of those of fewer rows."""
    counts = Counter(y.tolist())
    return np.array([value if counts[value] >= least else None for value in y.tolist()], dtype=object)


def _counted(args: argparse.Namespace, classes: list[str], name: str | int) -> Counter[str]:
    """Rows of each class, the most common first."""
    counts = Counter(dict(Counter(classes).most_common()))
    refuse_amounts(name, [*counts])
    if len(counts) < 2 or min(counts.values()) < 2:
        few = listed([f"{label} in one row" for label, count in counts.items() if count < 2]) or f"{len(counts)} class"
        start = f"--predict {name} needs two classes, and two rows of each; got {few}"
        kept = sum(count > 1 for count in counts.values())
        way = f"this command takes classes of one row for unknown, and keeps {kept} classes:"
        way = f"{way}{as_command(mended(args, {'drop_rare': 2}).words)}\n" if kept > 1 else "give more rows"
        raise InputError(f"{next(alike_spellings(start, classes), start)}; {way}")
    if len(counts) > _MOST_CLASSES:
        raise InputError(
            f"--predict {name} has {len(counts)} distinct values, more than the {_MOST_CLASSES} classes allowed; is it "
            "a column of identifiers?"
        )
    return counts


def _copies(estimator: estimators.KernelEstimator, data: Dataset, y: np.ndarray) -> np.ndarray:
    """A number for each row: copies, which the kernel cannot distinguish, have the number of the first."""
    import torch

    from rkhs._core.copies import copies, warn_of_repeats

    K = estimator.kernel_._gram(estimator._read_new(data.items))
    numbers = copies([K])
    classes = np.unique(y.astype(str), return_inverse=True)[1]
    warn_of_repeats(K, torch.eye(classes.max() + 1)[torch.from_numpy(classes)], numbers)
    return numbers


def _choices(facts: dict[str, Any]) -> tuple[list[str], str]:
    """Say what the classes chose, and that codes depend on them by that alone."""
    chosen = {name: facts[f"{name} choice"] for name in ("kernel", "columns") if facts[f"{name} choice"]}
    but = "".join(f" but for the choice of the {name}" for name in chosen)
    but += ", which every part repeats without its rows" * facts["kernel chosen in each part"]
    return [f"{name}: {how}" for name, how in chosen.items()], but


def _summary(facts: dict[str, Any], look_at: Iterable[str], more: str) -> list[str]:
    name, counts = facts["predicts"], facts["classes"]
    counts_text = ", ".join(f"{label} ({count})" for label, count in counts.items())
    n = facts["input"]["items"]
    dropped = [f"{label} ({count})" for label, count in facts["classes dropped"].items()]
    gaps, folds = facts["rows without a class"], facts["folds"]
    why = f"the rarest class has {folds} rows" if folds in counts.values() else f"there are {folds} groups"
    choices, but = _choices(facts)
    labelled = sum(counts.values())
    rests = f" on {labelled} labels" if labelled < _FEW_LABELS else ""
    hardly = facts["accuracy"] - facts["standard error"] <= facts["accuracy of the most common class"]
    measured = f"It was measured on {folds} folds, because {why}; "
    return [
        f"{facts['class']}: {n} items, codes of {facts['components']} components ({facts['seconds']:.1f} s)",
        *choices,
        f"predicts {name}: {counts_text}"
        + (f"; {gaps} of {n} rows have no class, rkhs predict finds theirs" if gaps else ""),
        f"cross-validated accuracy{rests}: {facts['accuracy']:.3f} +- {facts['standard error']:.3f} (standard error; "
        f"{folds} parts, {REPEATS} times; the most common class alone: "
        f"{facts['accuracy of the most common class']:.3f})",
        *([little_sentence("the most common class", more)] if hardly else []),
        *([] if hardly else look_at),
        *([f"left out with --drop-rare: {listed(dropped)}"] if dropped else []),
        *([f"{measured}the model has them all."] if folds < FOLDS else []),
        f"Codes were made from all rows, without {name}{but}. The accuracy is for rows like those whose {name} is "
        "known.",
    ]
