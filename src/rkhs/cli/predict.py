"""``rkhs predict``: numbers or classes that a model predicts for the rows of a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit
from rkhs.cli.answers import Answer, check_asked, warn_of_rows, write_answers
from rkhs.cli.inputs import LackingColumns, named_columns, parts_for_model, remembered, user_errors
from rkhs.cli.options import FILE, INPUT, JSON, MODEL, ROWS, as_command, refuse_flags, with_values
from rkhs.cli.outputs import TABLES, Outputs, read_model_file
from rkhs.cli.structures import check_candidates, rank_structures
from rkhs.cli.targets import column_as_texts

if TYPE_CHECKING:
    from rkhs.data import Dataset
    from rkhs.estimators.regression.base import VectorRegressor
    from rkhs.evaluation import SmoothClassifier
    from rkhs.persistence import ModelFile


# Flags that --drop-columns does not join.
_OTHER_COLUMNS = {"--columns", "--transpose", "--window", "--targets", "--gram"}
_BESIDE, _NOVELTY = ("low", "high", "sd"), "novelty_p"

EXAMPLES = """\
examples:
  rkhs fit table.csv --predict price -o model.rkhs
  rkhs predict model.rkhs new.csv -o prices.csv
  rkhs fit spectra.mgf --predict smiles -o model.rkhs
  rkhs predict model.rkhs new.mgf --candidates lists.csv --known known.mgf -o ranked.csv

For each number the output holds the prediction, the ends of a set that holds the true value with about the probability
--coverage (with several numbers: all of them at once), and its standard deviation. novelty_p says how like the rows of
the fit a row is: below .05 it is unlike nearly all of them, and its prediction is not to be trusted. A .npy file holds
the predictions alone, and so does the output of models of other losses or of a Gram matrix.
For a class the output holds the class of each row and the probabilities of all classes; in_file is the class that the
file itself gives, where it has that column: it is known there, and no prediction.
"""
OPTIONS = f"""{FILE}{ROWS}
-o, --output FILE  a .csv, .xlsx, .parquet or .npy file to write; without it csv is printed
--coverage A  probability that the ends, or the set, hold the true value (default 0.9){JSON}
structures (rkhs fit spectra.mgf --predict smiles):
--candidates FILE  table with the name of an item and a SMILES in each row, or one list of SMILES for all items
--known FILE  items of known structure that the fit did not see, with lists in the same file: they bring probabilities,
    smaller sets, and how often the true structure comes first{MODEL}{INPUT}"""


def run(args: argparse.Namespace) -> None:
    """Read, predict, write or print."""
    inputs = {"MODEL": args.model, "INPUT": args.input, "--candidates": args.candidates, "--known": args.known}
    Outputs(*inputs.items()).add("-o", args.output, TABLES)
    check_candidates(args)  # before the model is read
    file = read_model_file(args)
    if args.coverage is not None:
        check_number(args.coverage, "--coverage", above=0.0, at_most=1.0)
    if "structures" in file.notes.get("predict", {}):
        rank_structures(args, file)
        return
    refuse_flags(args, ("candidates", "known"), "is for models of rkhs fit --predict smiles; leave it out")
    from rkhs.evaluation.smooth_head import classifier_of  # a wrong file is refused before this

    head = classifier_of(file.estimator, file.notes)
    check_asked(args, file.estimator, head)
    parts = parts_for_model(args, args.input, file.estimator, file.notes)
    answers = _numbers(args, file, parts) if head is None else _classes(args, file, parts, head)
    with user_errors(), _fits_without(file.notes):
        write_answers(args, answers, file.notes)


@contextmanager
def _fits_without(notes: dict[str, Any]) -> Iterator[None]:
    """Print the command of the fit without the few columns that a file lacks, if the model file holds it."""
    try:
        yield
    except LackingColumns as error:
        words = notes.get("command") or []
        if not words or not error.few or _OTHER_COLUMNS & {*words}:
            raise
        dropped = next((named_columns(one) for flag, one in pairwise(words) if flag == "--drop-columns"), [])
        command = as_command(with_values(words, "--drop-columns", [*dropped, *error.names]))
        raise InputError(f"{error}; this command fits a model that does not need them:{command}") from None


def _numbers(args: argparse.Namespace, file: ModelFile, parts: Iterator[Dataset]) -> Iterator[Answer]:
    """Predictions, and what stands next to them where each row of the fit can be left out."""
    model = file.estimator
    sets = model.model_.leaves_out and model.model_.map.kept is not None
    if not sets and args.coverage is not None:
        raise InputError(
            f"{args.model}: --coverage needs a model of the squared loss and of rows, not of a Gram matrix; leave "
            "it out, or fit again without --loss, --gram"
        )
    if left := file.notes.get("predict", {}).get("rows left out"):
        what = f"--robust left {left} rows out of the fit: predictions and their ends are for rows like the others"
        sys.stderr.write(f"rkhs: note: {args.model}: {what}\n")
    for data in parts:
        warn_of_rows(args, data, file.notes)
        values: np.ndarray = model.predict(data.items).reshape(data.n_samples, -1)
        names = file.notes.get("predict", {}).get("columns") or [f"y{i}" for i in range(values.shape[1])]
        if sets:
            yield _with_sets(model, data, values, names, 0.9 if args.coverage is None else args.coverage)
        else:
            yield Answer(data, names, names, values, {"predictions": values})


@within_limit
def _with_sets(model: VectorRegressor, data: Dataset, values: np.ndarray, names: list[str], coverage: float) -> Answer:
    """Predictions between the ends of their sets, with deviations and the novelty of each row."""
    from rkhs.estimators.regression.sets import LeftOutMachine, left_out_answers

    machine = LeftOutMachine(model, model.model_, data.items)
    more = machine.deviations, machine.calibration.p_values
    sets, deviations, novelty = left_out_answers(machine, coverage, "auto", *more)
    if (joint := model._joint_p_values(machine)) is not None:
        novelty = joint
    parts = [np.asarray(part).reshape(values.shape) for part in (values, sets.lower, sets.upper, deviations)]
    found = dict(zip(("predictions", *_BESIDE), parts, strict=True)) | {_NOVELTY: novelty}
    titles = [f"{name}{end}" for name in names for end in ("", *(f"_{word}" for word in _BESIDE))]
    table = np.column_stack([np.stack(parts, 2).reshape(len(values), -1), novelty])
    return Answer(data, names, [*titles, _NOVELTY], table, found)


def _classes(
    args: argparse.Namespace, file: ModelFile, parts: Iterator[Dataset], head: SmoothClassifier
) -> Iterator[Answer]:
    """Classes and their probabilities, and what the file says where it has a column of that name."""
    name, labels = file.notes["predict"]["columns"][0], head.classes_.tolist()
    column = column_as_texts(remembered(args, args.input, file.notes.get("input", {})), name)
    for data in parts:
        warn_of_rows(args, data, file.notes)
        codes = file.estimator.transform(data.items)
        found, shares = head.predict(codes), head.predict_proba(codes)
        known = None if column is None else [column[row - 1] for row in data.row_numbers]
        if data.classes is not None and name == "class":
            known = data.classes.tolist()
        in_file = [] if known is None else [known]
        table = np.column_stack([np.array(part, dtype=object) for part in (found, *in_file, *shares.T)])
        probabilities = dict(zip(labels, shares.T, strict=True))
        titles = [name, *(["in_file"] if in_file else []), *(f"p({label})" for label in labels)]
        yield Answer(
            data, [name], titles, table, {"predictions": found, "in file": known, "probabilities": probabilities}
        )
