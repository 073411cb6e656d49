"""What is predicted of the rows of a file, and how it is written or printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs import estimators, evaluation
from rkhs._core.errors import InputError, quote
from rkhs.cli.outputs import SHEETS, of_class
from rkhs.cli.rows import peeked, write_number_parts
from rkhs.cli.summaries import few, print_json, print_result
from rkhs.data import Dataset
from rkhs.data.dataset import column_label
from rkhs.data.text import number_in
from rkhs.data.writers import rounded


@dataclass(frozen=True, eq=False)
class Answer:
    """What is predicted of some rows of a file."""

    data: Dataset
    names: list[str]  # of what is predicted
    titles: list[str]
    table: np.ndarray
    found: dict[str, Any]


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


def warn_of_rows(args: argparse.Namespace, data: Dataset, notes: dict[str, Any]) -> None:
    """Warn of rows far from those of the fit, and of molecules in it, whose predictions are none of new ones."""
    from rkhs._core.cells import warn_of_far  # which imports torch

    ranges = enumerate(notes.get("input", {}).get("ranges") or ())
    columns = ((column_label(data.column_names, j), data.X[:, j], low, high) for j, (low, high) in ranges)
    warn_of_far(f"{args.input}: ", columns)
    what, seen = _of_the_fit(data, notes)
    if seen:
        sys.stderr.write(
            f"rkhs: note: {args.input}: {what} in the fit: {len(seen)}, such as {quote(seen[0])}. Their predictions "
            f"and ends have seen their values, and say nothing of new {what}\n"
        )


def _of_the_fit(data: Dataset, notes: dict[str, Any]) -> tuple[str, list[str]]:
    """Molecules, or rows with names, that have a value in the fit of a model."""
    known, labels = notes.get("input", {}), notes.get("predict", {}).get("labels")
    if data.smiles is not None:
        return "molecules", [*filter({*(known.get("smiles") or ())}.__contains__, data.smiles)]
    names = known.get("row_names") or ()
    values = labels if labels and len(labels) == len(names) else names
    fitted = {name for name, value in zip(names, values, strict=True) if value is not None and number_in(name) is None}
    return "rows", [*filter(fitted.__contains__, data.row_names or ())]  # but for numbers, which count any rows


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
