"""``rkhs fit --predict`` for a column of classes: codes of all rows, and a classifier on those whose class is known."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rkhs import evaluation
from rkhs._core.errors import InputError
from rkhs.cli.build import build_estimator, codes_of_parts, defaults_of_classes
from rkhs.cli.columns import column_sentences
from rkhs.cli.inputs import quiet, user_errors
from rkhs.cli.outputs import refuse_with_predict, write_model
from rkhs.cli.rows import named_rows, row_labels, short_labels, strongest
from rkhs.cli.summaries import few, little_sentence, print_result
from rkhs.cli.targets import Rows, groups_of, kept_together
from rkhs.data import Dataset
from rkhs.reports.held_out import SHARED

_MOST_CLASSES = 50
FOLDS, REPEATS = 5, 5  # of a cross-validated accuracy
_CONTRADICTED, _MOST_NAMED = 0.5, 10  # difference of two probabilities, and suspicious labels that are named
# From this accuracy on all labels contradicted so are suspicious. Below it classes overlap, and those are that are
# twice as frequent as the probabilities of all classes let expect.
_DISTINCT, _OVERLAP = 0.9, 0.5


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
        together = kept_together(args, estimator, data, y, groups_of(rows))
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
        lone = few([f"{label} in one row" for label, count in counts.items() if count < 2]) or f"{len(counts)} class"
        raise InputError(
            f"--predict {name} needs two classes, and two rows of each; got {lone}; leave their "
            "cells empty, or give more rows"
        )
    if len(counts) > _MOST_CLASSES:
        raise InputError(
            f"--predict {name} has {len(counts)} different values, more than the {_MOST_CLASSES} classes allowed; is "
            "it a column of names?"
        )
    return counts


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
        yield little_sentence("the most common class")
    else:
        yield from suspicious_sentence(data, facts["suspicious labels"])
    if folds < FOLDS:
        yield f"It was measured on {folds} folds, as a class or the groups have no more rows; the model has all rows."
    but = " but for the choice of the kernel" if facts["kernel choice"] else ""
    yield f"Codes were made from all rows, without {name}{but}."


def cross_validated(
    codes: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray,
    seed: int,
    of_part: Callable[[np.ndarray], np.ndarray] | None = None,
) -> dict[str, Any]:
    """Cross-validated accuracy, copies in one fold, its standard error and shares; ``of_part``: codes for some rows."""
    from sklearn.model_selection import StratifiedGroupKFold

    from rkhs.evaluation.comparison import corrected_error, counting_error

    folds = min(FOLDS, len(set(groups.tolist())), *Counter(y.tolist()).values())
    hits, names = [], np.unique(y)
    shares = np.zeros((len(y), len(names)))
    with quiet():  # copies leave a part without a class
        for repeat in range(REPEATS):
            cut = StratifiedGroupKFold(folds, shuffle=True, random_state=seed + repeat)
            for train, test in cut.split(codes, y, groups):
                if len(test) and len(train) > 1:
                    Z = codes if of_part is None else of_part(train)
                    head = evaluation.SmoothClassifier().fit(Z[train], y[train])
                    hits.append(head.predict(Z[test]) == y[test])
                    shares[np.ix_(test, np.searchsorted(names, head.classes_))] += head.predict_proba(Z[test]) / REPEATS
    accuracy = float(np.concatenate(hits).mean())
    return {
        "accuracy": accuracy,
        "standard error": max(
            counting_error(accuracy, len(np.unique(groups))) * (1.0 if of_part is None else SHARED),
            corrected_error(np.array([one.mean() for one in hits])),
        ),
        "folds": folds,
        "shares": shares,
    }


def suspicious_labels(data: Dataset, rows: np.ndarray, y: np.ndarray, shares: np.ndarray) -> list[dict[str, Any]]:
    """Rows to whose label the others give far less probability than to another class, the most contradicted first.

    Where classes overlap, as many such labels as are to be expected of rows without a mistake are none.
    """
    labels, names = row_labels(data), np.unique(y)
    of_label = shares[np.arange(len(y)), np.searchsorted(names, y)]
    limits, every = np.sort(of_label), np.sort(shares, axis=None)
    expected = np.cumsum(every)[np.searchsorted(every, limits, side="right") - 1]
    often = limits[expected <= _OVERLAP * np.arange(1, len(y) + 1)]
    distinct = (names[shares.argmax(axis=1)] == y).mean() >= _DISTINCT
    margins = np.where(distinct | (of_label <= often.max(initial=-1.0)), shares.max(axis=1) - of_label, 0.0)
    found = [i for i in np.argsort(-margins, kind="stable").tolist() if margins[i] > _CONTRADICTED]
    likelier = names[shares.argmax(axis=1)]
    return [{"row": labels[rows[i]], "label": str(y[i]), "likelier": str(likelier[i]), "by": margins[i]} for i in found]


def suspicious_sentence(data: Dataset, found: list[dict[str, Any]]) -> Iterator[str]:
    """Name the labels that look wrong, if there are any."""
    called = dict(zip(row_labels(data), short_labels(data), strict=True))
    named = [f"{called[one['row']]} ({one['label']}, by the others {one['likelier']})" for one in found[:_MOST_NAMED]]
    if named:
        what = f"suspicious labels, which the other rows contradict{strongest(len(found), _MOST_NAMED)}"
        yield f"{what}: {', '.join(named)}{named_rows(data)}; check them in the file"
