"""``rkhs predict``: numbers or classes that a model predicts for the rows of a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rkhs.cli.classification import classifier_of
from rkhs.cli.inputs import add_input_options, read_for_model, user_errors
from rkhs.cli.models import add_model_options, read_model_file
from rkhs.cli.outputs import TABLES, Outputs
from rkhs.cli.summaries import add_json_option, print_json
from rkhs.cli.wording import few

if TYPE_CHECKING:
    import numpy as np

    from rkhs.data import Dataset
    from rkhs.estimators.base import KernelEstimator
    from rkhs.evaluation import SmoothClassifier
    from rkhs.persistence import ModelFile

__all__ = ["add_arguments", "run"]

_EPILOG = """\
examples:
  rkhs fit table.csv --predict price -o model.rkhs
  rkhs predict model.rkhs new.csv -o prices.csv

For a class the output holds the class of each row and the probabilities of all classes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add_model_options(parser)
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="rows like those of the fit; for a Gram model kernel values with the training rows",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="a .csv, .parquet or .npy file to write; without it csv is printed"
    )
    add_json_option(parser)
    add_input_options(parser)


def run(args: argparse.Namespace) -> int:
    """Read, predict, write or print."""
    outputs = Outputs(("MODEL", args.model), ("INPUT", args.input))
    from rkhs.data import write_codes

    outputs.add("-o", args.output, TABLES)
    file = read_model_file(args)
    classes = classifier_of(file.estimator, file.notes)
    if classes is not None:
        return _classes(args, file, classes)
    _check_regressor(file.estimator, args.model)
    data = read_for_model(args, args.input, file.estimator, file.notes)
    outputs.need("-o", 8 * data.n_samples)
    with user_errors():
        values: np.ndarray = file.estimator.predict(data.items).reshape(data.n_samples, -1)
    names = file.notes.get("predict", {}).get("columns") or [f"y{i}" for i in range(values.shape[1])]
    if args.output is not None:
        plain = args.output.lower().endswith(".npy")
        titles: dict[str, Any] = (
            {} if plain else {"row_names": data.row_names, "column_names": names, "row_title": data.row_title}
        )
        write_codes(args.output, values, **titles)
    facts: dict[str, Any] = {"model": args.model, "input": args.input, "rows": len(values), "predicts": names}
    if args.json:
        here = {"row names": data.row_names, "predictions": values}
        print_json(facts | (here if args.output is None else {"output": args.output}))
    elif args.output is None:
        _print_csv(values, names, data)
    else:
        print(f"{len(values)} predictions of {few(names)}: {args.output}")
    return 0


def _classes(args: argparse.Namespace, file: ModelFile, head: SmoothClassifier) -> int:
    """Classes of the rows and their probabilities."""
    from rkhs._core.errors import InputError
    from rkhs._core.files import atomic_path
    from rkhs.data.text import csv_line

    if args.output is not None and not args.output.lower().endswith(".csv"):
        raise InputError(f"classes are written as .csv; got -o {args.output}; change the file name")
    data = read_for_model(args, args.input, file.estimator, file.notes)
    with user_errors():
        codes = file.estimator.transform(data.items)
        found, shares = head.predict(codes), head.predict_proba(codes)
    name = file.notes["predict"]["columns"][0]
    facts: dict[str, Any] = {"model": args.model, "input": args.input, "rows": len(found), "predicts": [name]}
    if args.json and args.output is None:
        probabilities = dict(zip(head.classes_.tolist(), shares.T, strict=True))
        print_json(facts | {"row names": data.row_names, "predictions": found, "probabilities": probabilities})
        return 0
    titles = [name, *(f"p({label})" for label in head.classes_)]
    lines = [csv_line(titles if data.row_names is None else [data.row_title or "", *titles])]
    for i, label in enumerate(found.tolist()):
        cells = [label, *shares[i].tolist()]
        lines.append(csv_line(cells if data.row_names is None else [data.row_names[i], *cells]))
    if args.output is None:
        print("".join(lines), end="")
        return 0
    with atomic_path(args.output) as temporary, open(temporary, "w", encoding="utf-8", newline="") as handle:
        handle.writelines(lines)
    if args.json:
        print_json(facts | {"output": args.output})
    else:
        print(f"{len(found)} predictions of {name}: {args.output}")
    return 0


def _check_regressor(model: KernelEstimator, path: str) -> None:
    from rkhs._core.errors import InputError
    from rkhs.estimators import FunctionalKernelRegressor, OperatorKernelRegressor

    if not isinstance(model, (OperatorKernelRegressor, FunctionalKernelRegressor)):
        raise InputError(
            f"{path}: a {type(model).__name__} predicts nothing; fit one that does: rkhs fit FILE --predict COLUMN"
        )


def _print_csv(values: np.ndarray, names: list[str], data: Dataset) -> None:
    from rkhs.data.text import csv_line

    rows = data.row_names
    print(csv_line(names if rows is None else [data.row_title or "", *names]), end="")
    for i, numbers in enumerate(values.tolist()):
        print(csv_line(numbers if rows is None else [rows[i], *numbers]), end="")
