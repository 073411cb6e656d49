"""``rkhs compare``: compare codes with the raw input for prediction, or the errors of saved models on rows."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators, evaluation, kernels
from rkhs._core.errors import InputError, quote
from rkhs.cli.columns import column_notes
from rkhs.cli.inputs import changed, read_for_model, user_errors
from rkhs.cli.kinds import default_kernel, diag_options
from rkhs.cli.options import GRAM, INPUT, JSON, LABELS, MODEL, TARGETS, flags_in, refuse_flags
from rkhs.cli.outputs import TABLES, Outputs, check_diagonal, of_class, read_model_file
from rkhs.cli.robust import outlier_sentence
from rkhs.cli.rows import write_number_parts
from rkhs.cli.summaries import print_result, table_lines
from rkhs.cli.targets import as_classes, groups_of, read_rows, target_columns

if TYPE_CHECKING:
    from rkhs.data import Dataset
    from rkhs.persistence import ModelFile


EXAMPLES = """\
examples:
  rkhs compare table.csv --predict class
  rkhs compare customers.csv --drop-columns customer_id --predict churn
  rkhs compare molecules.csv --smiles smiles --predict solubility --n-components 5
  rkhs compare GunPoint.tsv --kind series --targets labels.csv
  rkhs compare gram.npy --gram --targets labels.csv
  rkhs compare table.csv --predict class --few-labels 20
  rkhs compare new.csv --model model.rkhs --model other.rkhs --errors errors.csv

Each method makes codes without the target, from the training rows of a split alone. Nearest neighbours, a smooth
kernel regression and a random forest then learn the target from them. Columns of tables are standardised. Rows
whose target is empty help to make the codes.

With --model the errors of saved models on the rows are compared. They are unbiased on rows that no model was
fitted to."""

_OF_MODELS = """
how well models rebuild the rows (--model):
--space {auto,input,feature} [auto]  measure distances between vectors or between features (default: what the
    model rebuilds)
--diag VALUE  k(x, x) of the rows, for a Gram model
--top-k K,K,...  also how often decoding the code of a row ranks the row among the best K rows of the file
--errors FILE  write the errors, one column for each model (.csv, .xlsx, .parquet or .npy)"""
OPTIONS = f"""
INPUT  table, molecules, series, other items, or a Gram matrix (--gram)
--predict COLUMN  column of the file that holds what to predict{TARGETS}
--model MODEL  in place of a target: report the error of a saved model on the rows; may be given several times
--kernel EXPRESSION  kernel of kernel PCA and the autoencoder (default: the default of each){GRAM}{LABELS}
--n-components N [10]  number of components of a code (default %(default)s)
--splits N [5]  number of random splits, each with a quarter of the rows held out (default %(default)s)
--few-labels N  learners see the targets of N rows of a split only; codes are learned from all of them in any case
--at-most N [2000]  largest number of rows used, drawn at random (default %(default)s)
--seed N [0]  seed of the splits and of all random numbers (default %(default)s){JSON}{_OF_MODELS}{MODEL}{INPUT}"""
_OF_TARGETS = ("predict", "targets", "classes", "gram", "drop_columns", "few_labels", "kernel", "groups", "labels")


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
    refuse_flags(args, flags_in(_OF_MODELS + MODEL), "is for --model, not for a target; leave it out")
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
    if len(X) > args.at_most:
        remarks.append(f"{args.input}: {len(X)} rows, of which {args.at_most} are used (--at-most)")
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
            n_splits=args.splits,
            n_labels=args.few_labels,
            groups=groups,
            at_most=args.at_most,
            seed=args.seed,
            progress=sys.stderr.isatty(),
        )
    facts = _facts(args, found, len(X), components) | {"notes": notes}
    print_result(args, facts, [*remarks, *notes, _sizes(args, found.sizes), *_scores(found, args.splits)])


def _facts(args: argparse.Namespace, found: evaluation.CodeComparison, n: int, components: int) -> dict[str, Any]:
    names = ("method", "head", "mean", "error", "seconds", "scores")
    return {
        "input": args.input,
        "rows": n,
        "rows used": min(n, args.at_most),
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
        f"{what} is known of {known} rows. In each of {args.splits} splits {sizes.test} rows are set aside and "
        f"predicted ({sizes.tested} different ones in all), codes are learned from {sizes.codes} other rows without "
        f"{what}, learners from {sizes.learners} rows with it"
    )


def _scores(found: evaluation.CodeComparison, n_splits: int) -> list[str]:
    heads = list(dict.fromkeys(row.head for row in found.rows))
    lines = [
        f"{found.measure}, mean of {n_splits} splits and its standard error; seconds to make the codes",
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
        lines.append("note: the models are measured in several spaces; --space feature or input makes them comparable")
    print_result(args, facts | ({"stand apart": notes} if notes else {}), [*lines, *notes])


def _with_codes(args: argparse.Namespace, path: str) -> ModelFile:
    """Read a model file; a model that rebuilds no rows is refused before any row is read."""
    first = path == args.model[0]  # whose --sha256 is given
    file = read_model_file(changed(args, model=path, sha256=args.sha256 if first else None))
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
    space = "feature" if args.space == "auto" and data.kind == "molecules" else args.space
    check_diagonal(args, file.estimator)
    with user_errors():
        found = evaluation.reconstruction(file.estimator, data.items, space=space, **diag_options(args, file.estimator))
        row = _row(path, file.estimator, found) | _top(args, file.estimator, data.items)
    outlier_note = outlier_sentence(found.errors, file.notes["robust"], data) if "robust" in file.notes else ""
    named = f"{path}: " if outlier_note and len(args.model) > 1 else ""
    return data, found.errors, row, named + outlier_note


def _texts(row: dict[str, Any]) -> dict[str, str]:
    forms = {name: "{:.1%}" if name.startswith(("variance rebuilt", "top ")) else "{:.5g}" for name in row}
    return {name: forms[name].format(value) if isinstance(value, float) else str(value) for name, value in row.items()}


def _top(args: argparse.Namespace, model: estimators.KernelEstimator, X: Any) -> dict[str, float]:
    """Shares of rows among the best k, a column each."""
    if args.top_k is None:
        return {}
    parts = args.top_k.split(",")
    ks = [int(part) for part in parts if part.strip().isdecimal()]
    if len(ks) < len(parts) or 0 in ks:
        raise InputError(f"--top-k must be whole numbers from 1, with commas between; got {quote(args.top_k)}")
    top = evaluation.decoding_quality(model, X, ks=ks, **diag_options(args, model)).top
    return {f"top {k}": float(share) for k, share in top.items()}


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
