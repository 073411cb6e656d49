"""``rkhs predict``: numbers or classes that a model predicts for the rows of a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit
from rkhs.cli.answers import Answer, check_asked, warn_of_rows, write_answers
from rkhs.cli.inputs import parts_for_model, user_errors
from rkhs.cli.outputs import TABLES, Outputs, read_model_file

if TYPE_CHECKING:
    from rkhs.data import Dataset
    from rkhs.estimators.regression.base import VectorRegressor
    from rkhs.evaluation import SmoothClassifier
    from rkhs.persistence import ModelFile


_BESIDE, _NOVELTY = ("low", "high", "sd"), "novelty_p"


def run(args: argparse.Namespace) -> None:
    """Read, predict, write or print."""
    Outputs(("MODEL", args.model), ("INPUT", args.input)).add("-o", args.output, TABLES)
    file = read_model_file(args)
    if args.coverage is not None:
        check_number(args.coverage, "--coverage", above=0.0, at_most=1.0)
    from rkhs.evaluation.smooth_head import classifier_of  # a wrong file is refused before this

    head = classifier_of(file.estimator, file.notes)
    check_asked(args, file.estimator, head)
    parts = parts_for_model(args, args.input, file.estimator, file.notes)
    answers = _numbers(args, file, parts) if head is None else _classes(args, file, parts, head)
    with user_errors():
        write_answers(args, answers, file.notes)


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
    """Classes and their probabilities."""
    name, labels = file.notes["predict"]["columns"][0], head.classes_.tolist()
    for data in parts:
        warn_of_rows(args, data, file.notes)
        codes = file.estimator.transform(data.items)
        found, shares = head.predict(codes), head.predict_proba(codes)
        table = np.column_stack([np.array(part, dtype=object) for part in (found, *shares.T)])
        probabilities = dict(zip(labels, shares.T, strict=True))
        titles = [name, *(f"p({label})" for label in labels)]
        yield Answer(data, [name], titles, table, {"predictions": found, "probabilities": probabilities})
