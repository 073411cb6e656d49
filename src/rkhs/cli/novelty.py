"""``rkhs novelty``: which rows of a file are unlike the others, or unlike those of another file."""

from __future__ import annotations

import argparse
import sys
from operator import itemgetter
from typing import Any

import numpy as np

from rkhs import estimators
from rkhs._core.checks import check_number
from rkhs._core.threads import within_limit
from rkhs.cli.build import build_estimator
from rkhs.cli.columns import column_notes
from rkhs.cli.inputs import new_parts, read_input, user_errors
from rkhs.cli.kinds import as_predictors_read, new_diagonal
from rkhs.cli.options import changed
from rkhs.cli.outputs import TABLES, Outputs
from rkhs.cli.rows import named_rows, peeked, row_labels, write_number_parts
from rkhs.cli.summaries import print_result
from rkhs.data import Dataset

_NAMED, _MOST_COLUMNS, _NAMED_COLUMNS = 10, 500, 3
_UNUSUAL = 5  # rows that are named where no p can be small
_FAR = 0.9  # of the largest score


def run(args: argparse.Namespace) -> None:
    """Read, compare, write and say."""
    args = changed(args, input=args.file)
    Outputs(("FILE", args.input), ("NEW", args.new)).add("-o", args.output, TABLES)
    check_number(args.alpha, "--alpha", above=0.0, at_most=0.5)
    known = read_input(args, args.input)
    known = as_predictors_read(args, known)
    with user_errors():
        defaults = {"alpha": args.alpha} | ({"columns": "raw"} if args.scale_columns == "no" else {})
        model: estimators.KernelNovelty = build_estimator(args, known, estimators.KernelNovelty, defaults).fit(
            known.items
        )
        first, parts = peeked(new_parts(args, known, model))
        few = len(model.train_diag_) + (args.new is not None) < round(1.0 / args.alpha, 9)
        most = _UNUSUAL if few else sys.maxsize if args.json else _NAMED
        found = _Found(args.alpha, model, most, new_diagonal(args, model), among=args.new is None, few=few)
        answers = ((found.add(data), data) for data in parts)
        if args.output is not None:
            m, _ = write_number_parts(args.output, answers, ["p", "score"], numbered=True)
        else:
            m = sum(data.n_samples for _, data in answers)
    rows = [row | {"differs in": _differing(model, first, x)} for row, x in found.novel()]
    facts = {"input": args.input, "rows": known.n_samples, "new": args.new, "new rows": m, "far": found.far}
    facts["most unusual"], rows = (rows, []) if few else ([], rows)
    lines = [*column_notes(known), *_lines(args, facts, rows, found.count, named_rows(first))]
    if args.output is not None:
        lines.append(f"p of {m} rows: {args.output}")
    print_result(
        args, facts | {"kernel": model.kernel_, "alpha": args.alpha, "novel": rows, "output": args.output}, lines
    )


class _Found:
    """What is novel in rows that come part by part; the strangest are kept."""

    def __init__(
        self,
        alpha: float,
        model: estimators.KernelNovelty,
        most: int,
        diagonal: np.ndarray | None = None,
        *,
        among: bool = False,
        few: bool = False,
    ) -> None:
        self.far, self.count, self._model, self._most, self._among = 0, 0, model, most, among
        self._alpha = 1.0 if few else alpha  # the strangest are named, also where no p can be small
        self._diagonal = diagonal  # k(x, x) of rows still to come, or one number
        self._novel: list[tuple[tuple[float, float], dict[str, Any], Any]] = []  # order, what is said of rows, the rows

    @within_limit
    def add(self, data: Dataset) -> np.ndarray:
        """The p-values and scores (m, 2) of more rows."""
        diagonal = self._diagonal
        if diagonal is not None and diagonal.ndim:
            diagonal, self._diagonal = np.split(diagonal, [data.n_samples])
        p, scores = self._model._judged(data.items, diag=diagonal, among=self._among)
        self.far += _far(self._model, scores)
        labels = row_labels(data)
        for i in np.flatnonzero(p <= self._alpha).tolist():
            self._novel.append(
                ((p[i], -scores[i]), {"row": labels[i], "p": p[i], "score": scores[i]}, data.X[i : i + 1].copy())
            )
            self.count += 1
        self._novel.sort(key=itemgetter(0))
        del self._novel[self._most :]
        return np.column_stack([p, scores])

    def novel(self) -> list[tuple[dict[str, Any], Any]]:
        """Novel rows, those of the smallest p first; of equal p the farthest."""
        return [one[1:] for one in self._novel]


def _far(model: estimators.KernelNovelty, scores: np.ndarray) -> int:
    """How many rows are far from all others; none where all known rows are, as in many columns."""
    limit = _FAR * (model.train_diag_.max() + model.model_.ridge)
    return int((scores > limit).sum()) if -model.offset_ < limit else 0


def _differing(model: estimators.KernelNovelty, data: Dataset, row: Any) -> list[str]:
    """The columns of a table that make a row (1, d) strange, most first."""
    few = data.kind == "vectors" and data.X.shape[1] <= _MOST_COLUMNS
    if not few or model.kernel_.domain != "vectors" or data.column_names is None:
        return []
    falls = model.differences(row)[0]
    order = falls.argsort(kind="stable")[::-1][:_NAMED_COLUMNS]
    return [data.column_names[j] for j in order if falls[j] > 0.5 * falls.max() > 0.0]


def _lines(
    args: argparse.Namespace, facts: dict[str, Any], rows: list[dict[str, Any]], count: int, counted: str
) -> Any:
    """What is said to people."""
    m, n = facts["new rows"], facts["rows"]
    where = f"of {args.input} among the others" if args.new is None else f"of {args.new} among {n} of {args.input}"
    expected = f"{args.alpha * m:.1f}".removesuffix(".0")
    usual = f"if all are like the known ones, about {expected} of {m} have"
    if facts["most unusual"]:
        n += args.new is not None
        why = f"with so few rows, as it is at least 1/{n} = {1.0 / n:.2g}"
        yield f"no p can be at most {args.alpha:g} {why}; {m} rows {where} were compared{counted}"
        yield "the most unusual rows, although no p can be small with so few, by their scores:"
        yield from (_line(row, scored=True) for row in facts["most unusual"])
    else:
        yield f"{count} of {m} rows {where} have p of at most {args.alpha:g}; {usual}{counted}"
    if facts["far"]:
        yield f"far from all others, with a score above {_FAR} of the largest: {facts['far']}"
    for row in rows[:_NAMED]:
        yield _line(row, scored=args.new is None)  # of which p is the rank alone
    if rows and count > _NAMED:
        yield f"  and {count - _NAMED} more; -o FILE writes all"


def _line(row: dict[str, Any], *, scored: bool) -> str:
    """A row with its p, its score, and the columns that make it strange."""
    score = f"score {row['score']:.3g}, " if scored else ""
    why = f", in {', '.join(row['differs in'])}" if row["differs in"] else ""
    return f"  {row['row']}: {score}p {row['p']:.3g}{why}"
