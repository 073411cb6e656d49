"""``rkhs fit --predict`` for a column of classes: codes of all rows, and a classifier on those whose class is known."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators, evaluation, features
from rkhs._core.errors import InputError
from rkhs.cli.build import build_estimator, choose_for_sequences, chose_kernel
from rkhs.cli.columns import column_sentences
from rkhs.cli.inputs import named_columns, quiet, user_errors
from rkhs.cli.outputs import refuse_with_predict, write_model
from rkhs.cli.summaries import little_sentence, print_result
from rkhs.cli.targets import (
    alike_spellings,
    item_classes,
    rare_texts_hint,
    read_column_of,
    read_with_values,
    refuse_amounts,
    values_of_column,
)
from rkhs.data.columns import listed
from rkhs.data.formats import has_columns
from rkhs.reports.held_out import SHARED

if TYPE_CHECKING:
    from rkhs.data import Dataset


_COMPONENTS, _FOLDS, _REPEATS = 10, 5, 5
_MOST_COMPONENTS = 40  # of sequences
_MORE_COMPONENTS = (20, 40)  # of a table, compared by its classes
_READ = {"filled": "standardised", "ranked": "as ranks"}
_MOST_CLASSES = 50
_FEW_LABELS = 50  # below which their number is a part of the message


def names_classes(args: argparse.Namespace) -> bool:
    """Whether ``--predict`` names one column of texts, or the classes of series or graphs."""
    named = named_columns(args.predict)
    if len(named) != 1 or args.targets is not None or (args.gram and not args.labels):
        return False
    classes = item_classes(args)
    if classes is not None or not (args.labels or has_columns(args.input)):
        return classes is not None and classes.dtype.kind != "f"
    with quiet():  # said where the column is read for the fit
        return _holds_classes(read_column_of(args, named[0], "--predict"), named[0], args.drop_rare or 1)


def _holds_classes(values: np.ndarray, name: str | int, least: int) -> bool:
    """Whether a column holds texts; too few classes are refused before the items are read."""
    if values.dtype == object:
        _counted([value for value in _without_rare(values, least).tolist() if value is not None], name)
    return values.dtype == object


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
    from rkhs.estimators.operator_regressor_cv import FEW_ROWS

    refuse_with_predict(args, ("loss", "robust", "trim"), " of a class")
    name = named_columns(args.predict)[0]
    data, given = read_with_values(args, name, "--predict")
    y = _without_rare(given, args.drop_rare or 1)
    known = np.array([value is not None for value in y.tolist()])
    counts = _counted(y[known].tolist(), name)
    classes = np.array(y[known].tolist())
    with user_errors():
        defaults, chosen = _defaults(args, data, known, classes)
        estimator = build_estimator(args, data, defaults=defaults)
        of_columns = _choose_columns(args, estimator, data, known, classes)
        codes = estimator.fit(data.items).codes_
        together = _kept_together(args, estimator, data, y)
        few = chosen is not None and len(classes) <= FEW_ROWS
        of_part = _of_widths(args, data, known, classes, defaults, codes) if few else None
        score = _cross_validated(codes[known], classes, together[known], args.seed or 0, of_part)
        head = evaluation.SmoothClassifier().fit(codes[known], classes)
    facts = {
        "class": type(estimator).__name__,
        "input": {"path": args.input, "kind": data.kind, "items": data.n_samples},
        "predicts": str(name),
        "components": codes.shape[1],
        "kernel choice": chosen,
        "columns choice": of_columns,
        "kernel chosen in each part": few,
        "classes": dict(counts),
        "classes dropped": dict(Counter(value for value in given.tolist() if value not in {*counts, None})),
        "rows without a class": int((~known).sum()),
        **score,
        "accuracy of the most common class": counts.most_common(1)[0][1] / int(known.sum()),
        "columns": {"notes": column_sentences(estimator, data)},
        "model": args.output,
        "seconds": time.perf_counter() - args.started,
    }
    kept = score | {"columns": [str(name)], "labels": y.tolist(), "gamma": head.gamma_, "reg": head.reg_}
    write_model(args.output, estimator, data, args, predict=kept)
    hint = rare_texts_hint(args, data, known)
    print_result(args, facts, [*_summary(facts, hint), *facts["columns"]["notes"], f"model: {args.output}"])


def _defaults(
    args: argparse.Namespace, data: Dataset, known: np.ndarray, classes: np.ndarray
) -> tuple[dict[str, Any], str | None]:
    """Settings by the kind of the items, and how the kernel of sequences was chosen."""
    width = data.X.shape[1] if data.X.ndim == 2 else _COMPONENTS
    if data.kind != "sequences" or chose_kernel(args):
        return {"n_components": min(_COMPONENTS, width)}, None
    kernel, sentence = choose_for_sequences(data.items[known], classes)
    count = max(_COMPONENTS, min(_MOST_COMPONENTS, data.n_samples // 4))
    return {"n_components": count, "kernel": kernel}, sentence


def _choose_columns(
    args: argparse.Namespace,
    estimator: estimators.KernelEstimator,
    data: Dataset,
    known: np.ndarray,
    classes: np.ndarray,
) -> str | None:
    """Set how numbers of a table are read, and the number of components, where no flag does; say how."""
    asked = {text.partition("=")[0] for text in args.set or ()}
    if getattr(estimator, "columns", None) != "filled" or "columns" in asked:
        return None
    free = args.n_components is None and "n_components" not in asked
    errors = _errors_by_columns(data, known, classes, data.n_samples // 4 if free else 0)
    columns, count = min(errors, key=lambda one: errors[one])
    estimator.set_params(columns=columns, **({"n_components": count} if count > _COMPONENTS else {}))
    return (
        f"numbers {_READ[columns]}, chosen by the classes, as is the number of components; leave-one-out errors of "
        "principal components (1: the shares alone): "
        + ", ".join(f"{count} {_READ[columns]} {error:.3f}" for (columns, count), error in errors.items())
    )


def _errors_by_columns(
    data: Dataset, known: np.ndarray, classes: np.ndarray, most: int
) -> dict[tuple[str, int], float]:
    """Leave-one-out errors of classes by principal components, by how numbers are read and how many there are."""
    errors: dict[tuple[str, int], float] = {}
    for columns, table in (("filled", features.FilledTable()), ("ranked", features.FilledTable(numbers="ranks"))):
        with quiet():  # the fit reads the rows again
            X = table.fit(data.X).transform(data.X)
        X = (X @ np.linalg.eigh(np.cov(X.T).reshape(X.shape[1], -1))[1][:, ::-1])[known]
        counts = [count for count in _MORE_COMPONENTS if count <= min(X.shape[1], most)]
        for count in (_COMPONENTS, *counts):
            head = evaluation.SmoothClassifier().fit(X[:, :count], classes)
            errors[columns, count] = head.leave_one_out_error_
    return errors


def _of_widths(
    args: argparse.Namespace,
    data: Dataset,
    known: np.ndarray,
    classes: np.ndarray,
    defaults: dict[str, Any],
    codes: np.ndarray,
) -> Callable[[np.ndarray], np.ndarray]:
    """Codes of the labelled sequences by the width that some of them choose, so that no other row has a say in it."""
    by_kernel = {repr(defaults["kernel"]): codes[known]}

    def of_part(rows: np.ndarray) -> np.ndarray:
        alike = len(set(classes[rows].tolist())) < 2
        kernel = defaults["kernel"] if alike else choose_for_sequences(data.items[known][rows], classes[rows])[0]
        if repr(kernel) not in by_kernel:
            estimator = build_estimator(args, data, defaults=defaults | {"kernel": kernel})
            by_kernel[repr(kernel)] = estimator.fit(data.items).codes_[known]
        return by_kernel[repr(kernel)]

    return of_part


def _without_rare(y: np.ndarray, least: int) -> np.ndarray:
    """Classes with None in place of those of fewer rows."""
    counts = Counter(y.tolist())
    return np.array([value if counts[value] >= least else None for value in y.tolist()], dtype=object)


def _counted(classes: list[str], name: str | int) -> Counter[str]:
    """Rows of each class, the most common first."""
    counts = Counter(dict(Counter(classes).most_common()))
    refuse_amounts(name, [*counts])
    if len(counts) < 2 or min(counts.values()) < 2:
        few = listed([f"{label} (1)" for label, count in counts.items() if count < 2]) or f"{len(counts)} class"
        start = f"--predict {name} needs two classes, and two rows of each; got {few}"
        raise InputError(
            f"{next(alike_spellings(start, classes), start)}; --drop-rare 2 treats rare "
            f"classes as unlabelled, and keeps {sum(count > 1 for count in counts.values())} classes"
        )
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


def _cross_validated(
    codes: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray,
    seed: int,
    of_part: Callable[[np.ndarray], np.ndarray] | None = None,
) -> dict[str, float]:
    """Cross-validated accuracy, copies kept in one fold, with its standard error; ``of_part``: codes for some rows."""
    from sklearn.model_selection import StratifiedGroupKFold

    from rkhs.evaluation.comparison import corrected_error, counting_error

    folds = min(_FOLDS, len(set(groups.tolist())), *Counter(y.tolist()).values())
    hits = []
    with quiet():  # copies leave a part without a class
        for repeat in range(_REPEATS):
            cut = StratifiedGroupKFold(folds, shuffle=True, random_state=seed + repeat)
            for train, test in cut.split(codes, y, groups):
                if len(test) and len(train) > 1:
                    Z = codes if of_part is None else of_part(train)
                    hits.append(evaluation.SmoothClassifier().fit(Z[train], y[train]).predict(Z[test]) == y[test])
    accuracy = float(np.concatenate(hits).mean())
    return {
        "accuracy": accuracy,
        "standard error": max(
            counting_error(accuracy, len(np.unique(groups))) * (1.0 if of_part is None else SHARED),
            corrected_error(np.array([one.mean() for one in hits])),
        ),
        "folds": folds,
    }


def _choices(facts: dict[str, Any]) -> tuple[list[str], str]:
    """Say what the classes chose, and that codes depend on them by that alone."""
    chosen = {name: facts[f"{name} choice"] for name in ("kernel", "columns") if facts[f"{name} choice"]}
    but = "".join(f" but for the choice of the {name}" for name in chosen)
    but += ", which every part repeats without its rows" * facts["kernel chosen in each part"]
    return [f"{name}: {how}" for name, how in chosen.items()], but


def _summary(facts: dict[str, Any], hint: str) -> list[str]:
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
        f"{folds} parts, {_REPEATS} times; the most common class alone: "
        f"{facts['accuracy of the most common class']:.3f})",
        *([little_sentence("the most common class") + hint] if hardly else []),
        *([f"left out with --drop-rare: {listed(dropped)}"] if dropped else []),
        *([f"{measured}the model has them all."] if folds < _FOLDS else []),
        f"Codes were made from all rows, without {name}{but}. The accuracy is for rows like those whose {name} is "
        "known.",
    ]
