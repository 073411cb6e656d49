"""``rkhs predict``: numbers that a regressor predicts for the rows of a file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rkhs.cli.inputs import add_input_options, read_for_model, user_errors
from rkhs.cli.models import add_model_options, read_model_file
from rkhs.cli.outputs import TABLES, Outputs
from rkhs.cli.summaries import add_json_option, print_json

if TYPE_CHECKING:
    import numpy as np

    from rkhs.data import Dataset

__all__ = ["add_arguments", "run"]

_EPILOG = """\
examples:
  rkhs fit table.csv --predict price -o model.rkhs
  rkhs predict model.rkhs new.csv -o prices.csv
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of this command.
    """
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
    """Read, predict, write or print.

    Parameters
    ----------
    args : argparse.Namespace
        The parsed arguments.

    Returns
    -------
    int
        0.

    Raises
    ------
    InputError
        If model or input cannot be used.
    """
    from rkhs.data import write_codes

    outputs = Outputs(("MODEL", args.model), ("INPUT", args.input))
    outputs.add("-o", args.output, TABLES)
    file = read_model_file(args)
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
        print(f"{len(values)} predictions of {', '.join(names)}: {args.output}")
    return 0


def _check_regressor(model: Any, path: str) -> None:
    from rkhs._core.errors import InputError
    from rkhs.estimators import FunctionalKernelRegressor, OperatorKernelRegressor

    if not isinstance(model, (OperatorKernelRegressor, FunctionalKernelRegressor)):
        raise InputError(
            f"{path}: a {type(model).__name__} predicts no numbers; fit one that does: rkhs fit FILE --predict COLUMN"
        )


def _print_csv(values: np.ndarray, names: list[str], data: Dataset) -> None:
    from rkhs.data.text import csv_line

    rows = data.row_names
    print(csv_line(names if rows is None else [data.row_title or "", *names]), end="")
    for i, numbers in enumerate(values.tolist()):
        print(csv_line(numbers if rows is None else [rows[i], *numbers]), end="")
