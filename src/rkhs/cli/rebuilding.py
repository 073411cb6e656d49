"""``rkhs compare --model``: how well models rebuild the rows of a file."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from rkhs import estimators, evaluation
from rkhs._core.errors import InputError, quote
from rkhs.cli.inputs import diag_options, read_for_model, user_errors
from rkhs.cli.options import changed
from rkhs.cli.outputs import TABLES, Outputs, read_model_file
from rkhs.cli.robust import outlier_sentence
from rkhs.cli.rows import write_number_parts
from rkhs.cli.summaries import print_result, table_lines
from rkhs.data import Dataset

OF_MODELS = """
how well models rebuild the rows (--model):
--space {auto,input,feature} [auto]  measure distances between vectors or between features (default: what the
    model rebuilds)
--diag VALUE  k(x, x) of the rows, for a Gram model
--top-k K,K,...  also how often decoding the code of a row ranks the row among the best K rows of the file
--errors FILE  write the errors, one column for each model (.csv, .xlsx, .parquet or .npy)"""


def compare_models(args: argparse.Namespace) -> None:
    """Measure and print a table."""
    Outputs(("INPUT", args.input), *(("--model", path) for path in args.model)).add("--errors", args.errors, TABLES)
    read, errors, rows, outlier_note = zip(*(_measured(args, path) for path in args.model), strict=True)
    data, notes = read[-1], list(filter(None, outlier_note))
    if args.errors is not None:
        titles = [f"error{i}" for i in range(len(errors))]
        write_number_parts(args.errors, [(np.stack(errors, axis=1), data)], titles, numbered=True)
    facts = {"input": args.input, "rows": len(data.row_numbers), "models": rows, "errors": args.errors}
    lines = [f"{args.input}: {len(data.row_numbers)} rows", *table_lines(list(map(_texts, rows)))]
    if len({row["space"] for row in rows}) > 1:
        lines.append("note: the models are measured in several spaces; --space feature or input makes them comparable")
    print_result(args, facts | ({"stand apart": notes} if notes else {}), [*lines, *notes])


def _measured(args: argparse.Namespace, path: str) -> tuple[Dataset, np.ndarray, dict[str, Any], str]:
    """The file as a model reads it, the errors of its rows, a row of the table, and which rows stand apart."""
    first = path == args.model[0]  # whose --sha256 is given
    file = read_model_file(changed(args, model=path, sha256=args.sha256 if first else None))
    data = read_for_model(args, args.input, file.estimator, file.notes)
    # Reals between the bits of a fingerprint mean nothing.
    space = "feature" if args.space == "auto" and data.kind == "molecules" else args.space
    _check_diagonal(args, file.estimator)
    with user_errors():
        found = evaluation.reconstruction(file.estimator, data.items, space=space, **diag_options(args, file.estimator))
        row = _row(path, file.estimator, found) | _top(args, file.estimator, data.items)
    outlier_note = outlier_sentence(found.errors, file.notes["robust"], data) if "robust" in file.notes else ""
    named = f"{path}: " if outlier_note and len(args.model) > 1 else ""
    return data, found.errors, row, named + outlier_note


def _check_diagonal(args: argparse.Namespace, model: estimators.KernelEstimator) -> None:
    """Refuse kernel values of rows whose own ``k(x, x)`` can be anything."""
    from rkhs._core.linalg import constant_value

    known = getattr(model, "train_diag_", None) if model.kernel_.domain == "gram" and args.diag is None else None
    if known is not None and constant_value(known) is None:
        raise InputError(
            f"{args.input}: errors need k(x, x) of these rows, which differ in the fit; normalise both matrices, "
            "k(x, y) / sqrt(k(x, x) k(y, y)), and fit again; or give one value for all with --diag"
        )


def _texts(row: dict[str, Any]) -> dict[str, str]:
    shares = ("variance rebuilt", "top ")
    forms = {name: "{:.1%}" if name.startswith(shares) else "{:.5g}" for name in row}
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
