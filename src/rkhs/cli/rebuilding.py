"""``rkhs compare --model``: how well models rebuild the rows of a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rkhs.cli.inputs import diag_options, read_for_model, real, user_errors
from rkhs.cli.models import add_model_limits, read_model_file
from rkhs.cli.outputs import TABLES, Outputs
from rkhs.cli.robust import apart_sentence
from rkhs.cli.rows import write_numbers
from rkhs.cli.summaries import print_json, print_table

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator

__all__ = ["OF_MODELS", "add_rebuilding_options", "compare_models"]

OF_MODELS = ("space", "diag", "top_k", "errors", "sha256", "max_bytes")  # options that need a model


def add_rebuilding_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say how the errors of models are measured."""
    group = parser.add_argument_group("how well models rebuild the rows (--model)")
    group.add_argument(
        "--space",
        choices=("auto", "input", "feature"),
        default="auto",
        help="measure distances between vectors or between features (default: what the model rebuilds)",
    )
    group.add_argument("--diag", type=real, metavar="VALUE", help="k(x, x) of the rows, for a Gram model")
    group.add_argument(
        "--top-k",
        metavar="K,K,...",
        help="also how often decoding the code of a row ranks the row among the best K rows of the file",
    )
    group.add_argument(
        "--errors", metavar="FILE", help="write the errors, one column for each model (.csv, .parquet or .npy)"
    )
    add_model_limits(parser)


def compare_models(args: argparse.Namespace) -> int:
    """Measure and print a table."""
    import numpy as np

    outputs = Outputs(("INPUT", args.input), *(("--model", path) for path in args.models))
    from rkhs.evaluation import reconstruction

    outputs.add("--errors", args.errors, TABLES)
    args.model = args.models[0]  # whose --sha256 is given
    rows, errors, said = [], [], []
    for i, path in enumerate(args.models):
        file = read_model_file(args, path if i else None)
        data = read_for_model(args, args.input, file.estimator, file.notes)
        # Reals between the bits of a fingerprint mean nothing.
        space = "feature" if args.space == "auto" and data.kind == "molecules" else args.space
        with user_errors():
            measured = reconstruction(file.estimator, data.items, space=space, **diag_options(args, file.estimator))
            top = _top(args, file.estimator, data.items)
        errors.append(measured.errors)
        rows.append(_row(path, file.estimator, measured) | top)
        if "robust" in file.notes:
            name = f"{path}: " if len(args.models) > 1 else ""
            said.append(name + apart_sentence(measured.errors, file.notes["robust"], data))
    if args.errors is not None:
        titles = [f"error{i}" for i in range(len(errors))]
        write_numbers(args.errors, np.stack(errors, axis=1), data, titles, numbered=True)
    if args.json:
        facts = {"input": args.input, "rows": len(errors[0]), "models": rows, "errors": args.errors}
        print_json(facts | ({"stand apart": said} if said else {}))
        return 0
    print(f"{args.input}: {len(errors[0])} rows")
    print_table([{name: _text(name, value) for name, value in row.items()} for row in rows])
    if len({row["space"] for row in rows}) > 1:
        print("note: the models are measured in different spaces; --space feature or input makes them comparable")
    print("".join(f"{sentence}\n" for sentence in said), end="")
    return 0


def _text(name: str, value: Any) -> str:
    if name.startswith(("variance rebuilt", "top ")):
        return f"{value:.1%}"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


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
