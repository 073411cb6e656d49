"""``rkhs map``: a file in, a picture of its rows out."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs import estimators, plots, reports
from rkhs._core.errors import InputError, warn
from rkhs.cli.build import build_estimator
from rkhs.cli.columns import column_sentences
from rkhs.cli.inputs import user_errors
from rkhs.cli.options import changed, refuse_flags
from rkhs.cli.outputs import PICTURES, Outputs
from rkhs.cli.rows import short_labels
from rkhs.cli.targets import as_classes, read_rows
from rkhs.reports.wording import count_word, loss_words

if TYPE_CHECKING:
    from rkhs.data import Dataset


_MOST_CLASSES = 20
_FONTS = {
    *("Arial Unicode MS", "Hiragino Sans", "Malgun Gothic", "Microsoft YaHei", "Nirmala UI", "Noto Sans CJK JP"),
    *("PingFang SC", "Yu Gothic"),
}  # of other scripts


def run(args: argparse.Namespace) -> None:
    """Fit two components and draw them."""
    Outputs(("INPUT", args.input), ("--labels", args.labels)).add("-o", args.output, (*PICTURES, ".html"))
    rows = read_rows(args, color=args.color)
    data, values = rows.data, rows.column("--color")
    if values is None:
        refuse_flags(args, ["classes"], "needs --color COLUMN; name a column, or leave it out")
    elif args.classes:
        values = as_classes(values)
    colours = _colours(values, args)
    with user_errors():
        model = build_estimator(changed(args, n_components="2", estimator=args.estimator or "KernelMap"), data)
        model.fit(data.items)
    if args.output.lower().endswith(".html"):
        title = f"Map of {Path(data.source).name}"
        with user_errors():
            page = reports.make_report(
                model, data, target=values, target_name=str(args.color), title=title, parts="map"
            )
            page.save(args.output)
    else:
        _draw(args, model, data, colours)
    lines = [*column_sentences(model, data), f"{type(model).__name__}: map of {data.n_samples} rows: {args.output}"]
    print("\n".join([*lines, *_outside(model, data), *_loss_sentence(model)]))


def _draw(args: argparse.Namespace, model: estimators.KernelEstimator, data: Dataset, colours: dict[str, Any]) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager

    figure, names = Figure(figsize=(6.4, 5.2), layout="constrained"), data.row_names and tuple(short_labels(data))
    fonts: Any = {"font.family": ["DejaVu Sans", *sorted(_FONTS & {font.name for font in fontManager.ttflist})]}
    with warnings.catch_warnings(record=True, action="always", category=UserWarning) as lacking, rc_context(fonts):
        ax = figure.add_subplot()
        plots.CodeMapDisplay(model.codes_, title=_title(model, data), names=names, **colours).plot(ax)
        if isinstance(model, estimators.KernelMap):  # the places themselves mean nothing
            ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        plots.save_figure(figure, args.output)
    if lacking:
        warn(
            "boxes stand for letters that no installed font has: install fonts such as Noto Sans CJK, or write a page, "
            f"-o {Path(args.output).with_suffix('.html')}"
        )


def _outside(model: estimators.KernelEstimator, data: Dataset) -> list[str]:
    from rkhs.plots.codes import within_view

    labels = short_labels(data) if data.row_names else [f"row {number}" for number in data.row_numbers]
    far = [labels[i] for i in within_view(model.codes_)[1]]
    return [f"far outside the others, drawn at the edge: {', '.join(far)}"] if far else []


def _loss_sentence(model: estimators.KernelEstimator) -> list[str]:
    recall, lost = getattr(model, "recall_", None), getattr(model, "held_out_error_", None)
    count = min(10, len(model.codes_) - 1)
    few = f"{count_word(count)} neighbour{'s' if count > 1 else ''}"
    kept = [] if recall is None else [f"of {few} of a new row the map keeps {count * recall:.1f}"]
    rebuilt = [] if lost is None else [f"rebuilt from the map, {loss_words('rows', lost)}"]
    return ["; ".join([*kept, *rebuilt])][: len(kept + rebuilt)]


def _title(model: estimators.KernelEstimator, data: Dataset) -> str:
    return "\n".join(
        [
            f"{Path(data.source).name}: {data.n_samples} rows",
            *(fill(text[:1].upper() + text[1:], 60) for text in _loss_sentence(model)),
        ]
    )


def _colours(values: np.ndarray | None, args: argparse.Namespace) -> dict[str, Any]:
    from rkhs.evaluation.targets import class_name, is_class

    if values is None:
        return {}
    if not is_class(values):
        return {"values": values, "value_name": args.color if isinstance(args.color, str) else None}
    values = np.array([class_name(value) for value in values.tolist()], dtype=object)
    n_classes = len(set(values.tolist()) - {""})
    if n_classes > _MOST_CLASSES:
        raise InputError(
            f"--color must name a column of numbers or of at most {_MOST_CLASSES} classes; got {n_classes} in "
            f"{args.color}; name another"
        )
    return {"labels": values}
