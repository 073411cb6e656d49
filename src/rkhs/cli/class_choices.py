"""What classes choose of the model of their codes, and the accuracy: kernels, columns, numbers of components."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import evaluation
from rkhs.cli.build import build_estimator, choose_for_sequences, chose_kernel
from rkhs.cli.inputs import quiet
from rkhs.cli.rows import named_rows, row_labels, short_labels, strongest
from rkhs.reports.held_out import SHARED

if TYPE_CHECKING:
    from rkhs.data import Dataset

FOLDS, REPEATS = 5, 5  # of a cross-validated accuracy
_COMPONENTS = 10
_MOST_COMPONENTS = 40  # of sequences
_CONTRADICTED, _MOST_NAMED = 0.5, 10  # difference of two probabilities, and suspicious labels that are named
# From this accuracy on all labels contradicted so are suspicious. Below it classes overlap, and those are that are
# twice as frequent as the probabilities of all classes let expect.
_DISTINCT, _OVERLAP = 0.9, 0.5


def defaults_of_classes(
    args: argparse.Namespace, data: Dataset, known: np.ndarray, classes: np.ndarray
) -> tuple[dict[str, Any], str | None]:
    """Settings by the kind of the items, and how the kernel of sequences was chosen."""
    width = data.X.shape[1] if data.X.ndim == 2 else _COMPONENTS
    if data.kind != "sequences" or chose_kernel(args):
        return {"n_components": min(_COMPONENTS, width)}, None
    kernel, sentence = choose_for_sequences(data.items[known], classes)
    count = max(_COMPONENTS, min(_MOST_COMPONENTS, data.n_samples // 4))
    return {"n_components": count, "kernel": kernel}, sentence


def codes_of_parts(
    args: argparse.Namespace,
    data: Dataset,
    known: np.ndarray,
    classes: np.ndarray,
    defaults: dict[str, Any],
    codes: np.ndarray,
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Codes of the labelled sequences by the width that some of them alone choose; None for many."""
    from rkhs.estimators.operator_regressor_cv import FEW_ROWS

    if len(classes) > FEW_ROWS:
        return None
    by_kernel = {repr(defaults["kernel"]): codes[known]}

    def of_part(rows: np.ndarray) -> np.ndarray:
        alike = len(set(classes[rows].tolist())) < 2
        kernel = defaults["kernel"] if alike else choose_for_sequences(data.items[known][rows], classes[rows])[0]
        if repr(kernel) not in by_kernel:
            estimator = build_estimator(args, data, defaults=defaults | {"kernel": kernel})
            by_kernel[repr(kernel)] = estimator.fit(data.items).codes_[known]
        return by_kernel[repr(kernel)]

    return of_part


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
