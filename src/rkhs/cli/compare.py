"""``rkhs compare``: compare codes with the raw input for prediction, or the errors of saved models on rows."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators, evaluation, kernels
from rkhs._core.errors import InputError
from rkhs.cli.columns import column_notes
from rkhs.cli.inputs import changed, read_for_model, user_errors
from rkhs.cli.kinds import default_kernel
from rkhs.cli.options import refuse_flags
from rkhs.cli.outputs import TABLES, Outputs, of_class, read_model_file
from rkhs.cli.robust import outlier_sentence
from rkhs.cli.rows import write_number_parts
from rkhs.cli.summaries import print_result, table_lines
from rkhs.cli.targets import as_classes, groups_of, read_rows, target_columns

if TYPE_CHECKING:
    from rkhs.data import Dataset
    from rkhs.persistence import ModelFile


_SPLITS, _MOST_ROWS = 5, 2000
_OF_TARGETS = ("predict", "targets", "classes", "gram", "drop_columns", "kernel", "groups", "labels")


def run(args: argparse.Namespace) -> None:
    """Run the comparison, print its table and the conclusion."""
    if args.model:
        refuse_flags(args, _OF_TARGETS, "is for a target; a saved model has its settings; leave it out")
        _compare_models(args)
        return
    if args.predict is None and args.targets is None:
        raise InputError(
            "rkhs compare predicts a column from the others: name it with --predict COLUMN, or a file of values with "
            "--targets FILE; to measure how well models rebuild the rows, name them with --model MODEL"
        )
    refuse_flags(args, ["errors"], "is for --model, not for a target; leave it out")
    Outputs(("INPUT", args.input), ("--targets", args.targets), ("--labels", args.labels))
    rows = read_rows(args, predict=_target(args), groups=args.groups)
    data, groups = rows.data, groups_of(rows)
    y = rows.columns["--predict"][0]
    if args.classes:
        y = as_classes(y)
    from rkhs.cli.expressions import parse_kernel  # a wrong file is refused before this

    kernel = "auto" if args.kernel is None else parse_kernel(args.kernel)
    X, kind = _as_matrix(data, kernel)
    notes = column_notes(data)
    remarks = []
    if len(X) > _MOST_ROWS:
        remarks.append(f"{args.input}: {len(X)} rows, of which {_MOST_ROWS} are used")
    components = args.n_components if kind == "gram" else min(args.n_components, X.shape[1])
    if components < args.n_components:
        remarks.append(f"{components} components in place of {args.n_components}: the input has no more columns")
    with user_errors():
        found = evaluation.compare_codes(
            X,
            y,
            n_components=components,
            kind=kind,
            kernel="auto" if kind == "gram" else kernel,
            n_splits=_SPLITS,
            groups=groups,
            at_most=_MOST_ROWS,
            seed=0,
            progress=sys.stderr.isatty(),
        )
    facts = _facts(args, found, len(X), components) | {"notes": notes}
    print_result(args, facts, [*remarks, *notes, _sizes(args, found.sizes), *_scores(found)])


def _facts(args: argparse.Namespace, found: evaluation.CodeComparison, n: int, components: int) -> dict[str, Any]:
    names = ("method", "head", "mean", "error", "seconds", "scores")
    return {
        "input": args.input,
        "rows": n,
        "rows used": min(n, _MOST_ROWS),
        "components": components,
        "sizes": asdict(found.sizes),
        "measure": found.measure,
        "scores": [{name: getattr(row, name) for name in names} for row in found.rows],
        "verdict": found.verdict,
    }


def _sizes(args: argparse.Namespace, sizes: evaluation.Sizes) -> str:
    known = f"all {sizes.used}" if sizes.known == sizes.used else f"{sizes.known} of the {sizes.used}"
    what = "the target" if args.predict is None else args.predict
    return (
        f"{what} is known of {known} rows. In each of {_SPLITS} splits {sizes.test} rows are set aside and "
        f"predicted ({sizes.tested} different ones in all), codes are learned from {sizes.codes} other rows without "
        f"{what}, learners from {sizes.learners} rows with it"
    )


def _scores(found: evaluation.CodeComparison) -> list[str]:
    heads = list(dict.fromkeys(row.head for row in found.rows))
    lines = [
        f"{found.measure}, mean of {_SPLITS} splits and its standard error; seconds to make the codes",
        "".join([f"{'':16}", *(f"{head:>18}" for head in heads), f"{'seconds':>10}"]),
    ]
    for name in dict.fromkeys(row.method for row in found.rows):
        rows = [row for row in found.rows if row.method == name]
        cells = "".join(f"{f'{row.mean:.3f} +- {row.error:.3f}':>18}" for row in rows)
        lines.append(f"{name:<16}{cells}{rows[0].seconds:>10.2f}")
    return [*lines, found.verdict]


def _target(args: argparse.Namespace) -> list[str | int]:
    """The one column to predict."""
    names = target_columns(args)
    if len(names) != 1:
        raise InputError(f"rkhs compare predicts one column; got {len(names)}; name one with --predict")
    return names


def _as_matrix(data: Dataset, kernel: Any) -> tuple[np.ndarray, str]:
    """Rows of numbers and their kind; items without columns become the Gram matrix of their kernel."""
    if data.kind == "table":
        return data.X, "mixed"
    kinds = {"vectors": "table", "molecules": "fingerprints", "curves": "series", "gram": "gram"}
    if data.kind in kinds:
        return np.asarray(data.X, dtype=float), kinds[data.kind]
    chosen = kernels.as_kernel(default_kernel(data) if kernel == "auto" else kernel)
    return np.asarray(chosen(chosen.read(list(data.X)))), "gram"


def _compare_models(args: argparse.Namespace) -> None:
    """Measure and print a table."""
    Outputs(("INPUT", args.input), *(("--model", path) for path in args.model)).add("--errors", args.errors, TABLES)
    files = [_with_codes(args, path) for path in args.model]
    measured = (_measured(args, path, file) for path, file in zip(args.model, files, strict=True))
    read, errors, rows, outlier_note = zip(*measured, strict=True)
    data, notes = read[-1], list(filter(None, outlier_note))
    if args.errors is not None:
        titles = [f"error{i}" for i in range(len(errors))]
        write_number_parts(args.errors, [(np.stack(errors, axis=1), data)], titles, numbered=True)
    facts = {"input": args.input, "rows": len(data.row_numbers), "models": rows, "errors": args.errors}
    lines = [f"{args.input}: {len(data.row_numbers)} rows", *table_lines(list(map(_texts, rows)))]
    if len({row["space"] for row in rows}) > 1:
        lines.append("note: the models are measured in several spaces, so that their errors are not comparable")
    print_result(args, facts | ({"stand apart": notes} if notes else {}), [*lines, *notes])


def _with_codes(args: argparse.Namespace, path: str) -> ModelFile:
    """Read a model file; a model that rebuilds no rows is refused before any row is read."""
    file = read_model_file(changed(args, model=path, sha256=None, max_bytes=None))
    classes = file.notes.get("predict", {}).get("columns") if hasattr(file.estimator, "transform") else None
    if classes is not None or not hasattr(file.estimator, "transform"):
        raise InputError(
            f"{path}: rkhs compare --model measures how well a model rebuilds rows; got {of_class(file.estimator)} "
            "that predicts; use rkhs predict"
        )
    return file


def _measured(args: argparse.Namespace, path: str, file: ModelFile) -> tuple[Dataset, np.ndarray, dict[str, Any], str]:
    """The file as a model reads it, the errors of its rows, a row of the table, and which rows stand apart."""
    data = read_for_model(args, args.input, file.estimator, file.notes)
    # Reals between the bits of a fingerprint mean nothing.
    space = "feature" if data.kind == "molecules" else "auto"
    _refuse_unknown_diagonal(args.input, file.estimator)
    with user_errors():
        found = evaluation.reconstruction(file.estimator, data.items, space=space)
    outlier_note = outlier_sentence(found.errors, file.notes["robust"], data) if "robust" in file.notes else ""
    named = f"{path}: " if outlier_note and len(args.model) > 1 else ""
    return data, found.errors, _row(path, file.estimator, found), named + outlier_note


def _texts(row: dict[str, Any]) -> dict[str, str]:
    forms = {name: "{:.1%}" if name == "variance rebuilt" else "{:.5g}" for name in row}
    return {name: forms[name].format(value) if isinstance(value, float) else str(value) for name, value in row.items()}


def _refuse_unknown_diagonal(path: str, model: estimators.KernelEstimator) -> None:
    """Refuse kernel values of rows whose own ``k(x, x)`` can be anything."""
    from rkhs._core.linalg import constant_value  # which imports torch

    known = getattr(model, "train_diag_", None) if model.kernel_.domain == "gram" else None
    if known is not None and constant_value(known) is None:
        raise InputError(
            f"{path}: errors need k(x, x) of these rows, which differ in the fit; normalise both matrices, "
            "k(x, y) / sqrt(k(x, x) k(y, y)), and fit again"
        )


def _row(path: str, model: estimators.KernelEstimator, found: Any) -> dict[str, Any]:
    return {
        "model": path,
        "class": type(model).__name__,
        "components": model.codes_.shape[1],
        "space": found.space,
        "mean error": float(found.errors.mean()),
        "median error": float(np.median(found.errors)),
        "variance rebuilt": float(found.share),
    }
