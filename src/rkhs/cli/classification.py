"""``rkhs fit --predict`` for a column of classes: codes of all rows, and a classifier on those whose class is known."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from rkhs import estimators, evaluation
from rkhs._core.errors import InputError
from rkhs.cli.build import build_estimator
from rkhs.cli.class_choices import (
    FOLDS,
    REPEATS,
    codes_of_parts,
    cross_validated,
    defaults_of_classes,
    suspicious_labels,
    suspicious_sentence,
)
from rkhs.cli.columns import column_sentences
from rkhs.cli.inputs import user_errors
from rkhs.cli.outputs import refuse_with_predict, write_model
from rkhs.cli.summaries import little_sentence, print_result, what_may_help
from rkhs.cli.targets import Rows, groups_of
from rkhs.data import Dataset
from rkhs.data.columns import listed

_MOST_CLASSES = 50


def fit_classifier(args: argparse.Namespace, rows: Rows, y: np.ndarray) -> None:
    """Fit codes to all rows, a classifier to those with a class, score it by cross-validation, and write both."""
    refuse_with_predict(args, ("loss", "robust"), " of a class")
    data, name = rows.data, rows.names[0]
    known = np.array([value is not None for value in y.tolist()])
    counts = _counted(y[known].tolist(), name)
    classes = np.array(y[known].tolist())
    with user_errors():
        defaults, chosen = defaults_of_classes(args, data, known, classes)
        estimator = build_estimator(args, data, defaults=defaults)
        codes = estimator.fit(data.items).codes_
        together = _kept_together(args, estimator, data, y, groups_of(rows))
        of_part = codes_of_parts(args, data, known, classes, defaults, codes) if chosen else None
        score = cross_validated(codes[known], classes, together[known], args.seed or 0, of_part)
        suspicious = suspicious_labels(data, np.flatnonzero(known), classes, score.pop("shares"))
        head = evaluation.SmoothClassifier().fit(codes[known], classes)
    facts = {
        "class": type(estimator).__name__,
        "input": {"path": args.input, "kind": data.kind, "items": data.n_samples},
        "predicts": name,
        "components": codes.shape[1],
        "kernel choice": chosen,
        "kernel chosen in each part": of_part is not None,
        "classes": dict(counts),
        "rows without a class": int((~known).sum()),
        **score,
        "suspicious labels": suspicious,
        "accuracy of the most common class": counts.most_common(1)[0][1] / int(known.sum()),
        "columns": {"notes": column_sentences(estimator, data)},
        "model": args.output,
    }
    kept = {"columns": [name], "labels": y.tolist(), "gamma": head.gamma_, "reg": head.reg_, "places": rows.places}
    write_model(args.output, estimator, data, args, predict=score | kept)
    facts["seconds"] = time.perf_counter() - args.started
    lines = [*_summary(facts, data), *facts["columns"]["notes"], f"model: {args.output}"]
    print_result(args, facts, lines)


def _counted(classes: list[str], name: str | int) -> Counter[str]:
    """Rows of each class, the most common first."""
    counts = Counter(dict(Counter(classes).most_common()))
    if len(counts) < 2 or min(counts.values()) < 2:
        few = listed([f"{label} in one row" for label, count in counts.items() if count < 2]) or f"{len(counts)} class"
        raise InputError(
            f"--predict {name} needs two classes, and two rows of each; got {few}; leave their "
            "cells empty, or give more rows"
        )
    if len(counts) > _MOST_CLASSES:
        raise InputError(
            f"--predict {name} has {len(counts)} different values, more than the {_MOST_CLASSES} classes allowed; is "
            "it a column of names?"
        )
    return counts


def _kept_together(
    args: argparse.Namespace,
    estimator: estimators.KernelEstimator,
    data: Dataset,
    y: np.ndarray,
    groups: np.ndarray | None,
) -> np.ndarray:
    """Find the groups of rows that stay together in cross-validation: those that are named, else copies."""
    together = _copies(estimator, data, y) if groups is None else groups
    if len(set(together[[value is not None for value in y.tolist()]].tolist())) < 2:
        what = "rows that differ" if groups is None else f"two groups in --groups {args.groups}"
        raise InputError(f"--predict expects {what} among the rows with a class, to measure its accuracy; got one")
    return together


def _copies(estimator: estimators.KernelEstimator, data: Dataset, y: np.ndarray) -> np.ndarray:
    """A number for each row: copies, which the kernel cannot distinguish, have the number of the first."""
    import torch

    from rkhs._core.copies import copies, warn_of_repeats

    K = estimator.kernel_._gram(estimator._read_new(data.items))
    numbers = copies([K])
    classes = np.unique(y.astype(str), return_inverse=True)[1]
    warn_of_repeats(K, torch.eye(classes.max() + 1)[torch.from_numpy(classes)], numbers)
    return numbers


def _summary(facts: dict[str, Any], data: Dataset) -> Iterator[str]:
    """Lines for people."""
    name, counts, folds = facts["predicts"], facts["classes"], facts["folds"]
    n, gaps = facts["input"]["items"], facts["rows without a class"]
    accuracy, error, common = (
        facts["accuracy"],
        facts["standard error"],
        facts["accuracy of the most common class"],
    )
    yield f"{facts['class']}: {n} items, codes of {facts['components']} components ({facts['seconds']:.1f} s)"
    if facts["kernel choice"]:
        yield f"kernel: {facts['kernel choice']}"
    predicts = f"predicts {name}: {', '.join(f'{label} ({count})' for label, count in counts.items())}"
    yield f"{predicts}; {gaps} of {n} rows have no class, rkhs predict finds theirs" if gaps else predicts
    yield (
        f"cross-validated accuracy: {accuracy:.3f} +- {error:.3f} (standard error; {folds} parts, {REPEATS} times; the "
        f"most common class alone: {common:.3f})"
    )
    if accuracy - error <= common:
        yield little_sentence("the most common class", what_may_help(data))
    else:
        yield from suspicious_sentence(data, facts["suspicious labels"])
    if folds < FOLDS:
        yield f"It was measured on {folds} folds, as a class or the groups have no more rows; the model has all rows."
    but = ""
    if facts["kernel choice"]:
        but = " but for the choice of the kernel"
    if facts["kernel chosen in each part"]:
        but += ", which every part repeats without its rows"
    yield f"Codes were made from all rows, without {name}{but}."
