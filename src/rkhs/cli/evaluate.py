"""``rkhs evaluate``: how well models rebuild the rows of a file, or serve when few rows have labels."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from rkhs.cli.few_labels import add_few_label_options, next_step, run_few_labels
from rkhs.cli.inputs import add_input_options, diag_options, read_for_model, real, user_errors
from rkhs.cli.models import add_model_options, read_model_file
from rkhs.cli.outputs import TABLES, Outputs
from rkhs.cli.robust import apart_sentence
from rkhs.cli.rows import beside
from rkhs.cli.summaries import add_json_option, print_json, print_table

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    model = add_model_options(parser)
    rows = parser.add_argument(
        "input", metavar="INPUT", help="rows that the model was not fitted on, so that the errors are honest"
    )
    parser.add_argument(
        "--against",
        metavar="MODEL",
        action="append",
        default=[],
        help="another model for the same rows, such as a KernelPCA of the same dimension; may be given several times",
    )
    parser.add_argument(
        "--space",
        choices=("auto", "input", "feature"),
        default="auto",
        help="measure distances between vectors or between features (default: what the model rebuilds)",
    )
    parser.add_argument("--diag", type=real, metavar="VALUE", help="k(x, x) of the rows, for a Gram model")
    parser.add_argument(
        "--top-k",
        metavar="K,K,...",
        help="also how often decoding the code of a row ranks the row among the best K rows of the file",
    )
    parser.add_argument(
        "--errors", metavar="FILE", help="write the errors, one column for each model (.csv, .parquet or .npy)"
    )
    add_json_option(parser)
    add_few_label_options(parser, (model, rows))
    add_input_options(parser)


def run(args: argparse.Namespace) -> int:
    """Measure and print a table."""
    import numpy as np

    from rkhs._core.errors import InputError

    if args.few_labels is not None:
        found = run_few_labels(args)
        if args.json:
            print_json({"table": args.few_labels, "rows": found, "next": next_step(args, found)})
        else:
            print_table([{key: _decimals(value, 3) for key, value in row.items()} for row in found])
            sys.stderr.write(f"{next_step(args, found)}\n")
        return 0
    if args.labels is not None:
        raise InputError("--labels is for --few-labels; got it without; write --few-labels TABLE, or leave it out")
    if args.mixed or args.drop_columns is not None:
        flag = "--mixed" if args.mixed else "--drop-columns"
        raise InputError(f"{flag} is for --few-labels; a model knows its columns; leave it out")
    against = [("--against", path) for path in args.against]
    outputs = Outputs(("MODEL", args.model), ("INPUT", args.input), *against)
    from rkhs.data import write_codes
    from rkhs.evaluation import reconstruction

    outputs.add("--errors", args.errors, TABLES)
    rows, errors, said = [], [], []
    for path in [args.model, *args.against]:
        file = read_model_file(args, None if path == args.model else path)
        data = read_for_model(args, args.input, file.estimator, file.notes)
        space = args.space
        if space == "auto" and data.kind == "molecules":
            space = "feature"  # reals between bits mean nothing
        with user_errors():
            measured = reconstruction(file.estimator, data.items, space=space, **diag_options(args, file.estimator))
            top = _top(args, file.estimator, data.items)
        errors.append(measured.errors)
        rows.append(_row(path, file.estimator, measured) | top)
        if "robust" in file.notes:
            name = "" if not args.against else f"{path}: "
            said.append(name + apart_sentence(measured.errors, file.notes["robust"], data))
    if args.errors is not None:
        columns = None if args.errors.lower().endswith(".npy") else [f"error{i}" for i in range(len(errors))]
        write_codes(args.errors, np.stack(errors, axis=1), column_names=columns, **beside(data, args.errors))
    if args.json:
        robust = {"stand apart": said} if said else {}
        print_json({"input": args.input, "rows": len(errors[0]), "models": rows, "errors": args.errors} | robust)
    else:
        _print_models(args.input, len(errors[0]), rows)
        print("".join(f"{sentence}\n" for sentence in said), end="")
    return 0


def _print_models(source: str, n: int, rows: list[dict[str, Any]]) -> None:
    print(f"{source}: {n} rows")
    shares = ("variance rebuilt", "top ")
    print_table([{k: f"{v:.1%}" if k.startswith(shares) else _decimals(v) for k, v in row.items()} for row in rows])
    if len({row["space"] for row in rows}) > 1:
        print("note: the models are measured in different spaces; --space feature or input makes them comparable")


def _decimals(value: Any, places: int | None = None) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.5g}" if places is None else f"{value:.{places}f}"


def _top(args: argparse.Namespace, model: KernelEstimator, X: Any) -> dict[str, float]:
    """Shares of rows among the best k, a column each."""
    from rkhs._core.errors import InputError, shown
    from rkhs.evaluation import decoding_quality

    if args.top_k is None:
        return {}
    parts = args.top_k.split(",")
    ks = [int(part) for part in parts if part.strip().isdecimal()]
    if len(ks) < len(parts) or 0 in ks:
        raise InputError(f"--top-k must be whole numbers from 1, with commas between; got {shown(args.top_k)}")
    top = decoding_quality(model, X, ks=ks, **diag_options(args, model)).top
    return {f"top {k}": float(share) for k, share in top.items()}


def _row(path: str, model: KernelEstimator, found: Any) -> dict[str, Any]:
    import numpy as np

    return {
        "model": path,
        "class": type(model).__name__,
        "components": model.codes_.shape[1],
        "space": found.space,
        "mean error": float(found.errors.mean()),
        "median error": float(np.median(found.errors)),
        "variance rebuilt": float(found.share),
    }
