"""``rkhs predict``: numbers or classes that a model predicts for the rows of a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators, evaluation
from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit
from rkhs.cli.inputs import parts_for_model, user_errors, warn_of_far_rows
from rkhs.cli.outputs import SHEETS, TABLES, Outputs, of_class, read_model_file
from rkhs.cli.rows import peeked, write_number_parts
from rkhs.cli.summaries import few, print_json, print_result
from rkhs.data import Dataset
from rkhs.data.writers import rounded

if TYPE_CHECKING:
    from rkhs.estimators.regression.base import VectorRegressor
    from rkhs.persistence import ModelFile


_BESIDE, _NOVELTY = ("low", "high", "sd"), "novelty_p"


@dataclass(frozen=True, eq=False)
class Answer:
    """What is predicted of some rows of a file."""

    data: Dataset
    names: list[str]  # of what is predicted
    titles: list[str]
    table: np.ndarray
    found: dict[str, Any]


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
    sets = model.model_.has_sets
    if not sets and args.coverage is not None:
        raise InputError(
            f"{args.model}: --coverage needs a model of the squared loss and of rows, not of a Gram matrix; leave "
            "it out, or fit again without --loss, --gram"
        )
    if left := file.notes.get("predict", {}).get("rows left out"):
        what = f"--robust left {left} rows out of the fit: predictions and their ends are for rows like the others"
        sys.stderr.write(f"rkhs: note: {args.model}: {what}\n")
    for data in parts:
        warn_of_far_rows(args, data, file.notes)
        values: np.ndarray = model.predict(data.items).reshape(data.n_samples, -1)
        names = file.notes.get("predict", {}).get("columns") or [f"y{i}" for i in range(values.shape[1])]
        if sets:
            yield _with_sets(model, data, values, names, 0.9 if args.coverage is None else args.coverage)
        else:
            yield Answer(data, names, names, values, {"predictions": values})


@within_limit
def _with_sets(model: VectorRegressor, data: Dataset, values: np.ndarray, names: list[str], coverage: float) -> Answer:
    """Predictions between the ends of their sets, with deviations and the novelty of each row."""
    sets = model.predict_set(data.items, coverage=coverage)
    deviations = model.predict(data.items, return_std=True)[1]
    parts = [np.asarray(part).reshape(values.shape) for part in (values, sets.lower, sets.upper, deviations)]
    found = dict(zip(("predictions", *_BESIDE), parts, strict=True))
    titles = [f"{name}{end}" for name in names for end in ("", *(f"_{word}" for word in _BESIDE))]
    table = np.stack(parts, 2).reshape(len(values), -1)
    if not model.model_.leaves_out:  # leaves compare no row with all others
        return Answer(data, names, titles, table, found)
    novelty = model.p_values(data.items)
    return Answer(data, names, [*titles, _NOVELTY], np.column_stack([table, novelty]), found | {_NOVELTY: novelty})


def _classes(
    args: argparse.Namespace, file: ModelFile, parts: Iterator[Dataset], head: evaluation.SmoothClassifier
) -> Iterator[Answer]:
    """Classes and their probabilities."""
    name, labels = file.notes["predict"]["columns"][0], head.classes_.tolist()
    for data in parts:
        warn_of_far_rows(args, data, file.notes)
        codes = file.estimator.transform(data.items)
        found, shares = head.predict(codes), head.predict_proba(codes)
        table = np.column_stack([np.array(part, dtype=object) for part in (found, *shares.T)])
        probabilities = dict(zip(labels, shares.T, strict=True))
        titles = [name, *(f"p({label})" for label in labels)]
        yield Answer(data, [name], titles, table, {"predictions": found, "probabilities": probabilities})


def check_asked(
    args: argparse.Namespace, model: estimators.KernelEstimator, head: evaluation.SmoothClassifier | None
) -> None:
    """Refuse models that predict nothing, and flags that do not go with what they predict."""
    if head is None and not isinstance(
        model, (estimators.OperatorKernelRegressor, estimators.FunctionalKernelRegressor)
    ):
        raise InputError(
            f"{args.model}: {of_class(model)} predicts nothing; fit one that does: rkhs fit FILE --predict COLUMN"
        )
    if head is not None and args.coverage is not None:
        raise InputError(f"{args.model}: --coverage is for numbers; this model predicts classes; leave it out")
    if head is not None and args.output is not None and not args.output.lower().endswith(SHEETS):
        raise InputError(f"classes are written as .csv or .xlsx; got -o {args.output}; change the file name")


def write_answers(args: argparse.Namespace, answers: Iterator[Answer], notes: dict[str, Any]) -> None:
    """Write or print what was predicted, part by part, rounded for people; ``--json`` holds it all."""
    first, answers = peeked(answers)
    facts = {"model": args.model, "input": args.input, "rows": 0, "predicts": first.names}
    if args.output is None and args.json:
        print_json(facts | _facts_of(list(answers)))
        return
    alone, exact = _form(args.output)
    error = notes.get("predict", {}).get("held-out error") or 0.0
    tables = (
        (one.found["predictions"] if alone else one.table if exact else _rounded(one.table, error), one.data)
        for one in answers
    )
    count, _ = write_number_parts(args.output, tables, None if alone else first.titles, numbered=True)
    if args.output is not None:
        lines = [f"{count} predictions of {few(first.names)}: {args.output}"]
        print_result(args, facts | {"rows": count, "output": args.output}, lines)


def _form(path: str | None) -> tuple[bool, bool]:
    """Whether a file holds the predictions alone, and whether it holds all digits."""
    name = (path or ".csv").lower()
    return name.endswith(".npy"), not name.endswith(SHEETS)


def _rounded(table: np.ndarray, error: float) -> np.ndarray:
    """A table with numbers of six digits, and of four of the held-out error."""
    cells = [[rounded(cell, error) for cell in row] for row in table.tolist()]
    return np.array(cells, dtype=table.dtype).reshape(table.shape)


def _facts_of(answers: list[Answer]) -> dict[str, Any]:
    """What the one JSON object says of all parts."""
    names = [one.data.row_names for one in answers]
    return {
        "rows": sum(one.data.n_samples for one in answers),
        "row names": None if names[0] is None else [name for some in names for name in some or ()],
        **{key: _joined([one.found[key] for one in answers]) for key in answers[0].found},
    }


def _joined(parts: list[Any]) -> Any:
    """What was found of all parts: of each row, or of each class and row."""
    if isinstance(parts[0], dict):
        return {key: _joined([part[key] for part in parts]) for key in parts[0]}
    return parts[0] if len(parts) == 1 else None if parts[0] is None else np.concatenate(parts)
