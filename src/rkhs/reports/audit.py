"""What is in the items: a few sentences, and a row of the table for each column."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from rkhs.data.molecule_files import molecule_remarks
from rkhs.evaluation.targets import class_name
from rkhs.plots.display import colour_ends
from rkhs.reports.items import Items
from rkhs.reports.pictures import histogram
from rkhs.reports.wording import day_text, readable

_MAX_COLUMNS = 200  # rows of the table
_MAX_BARS = 12  # of a histogram
_COMMON = 3  # classes that are listed


def audit(items: Items) -> list[str]:
    """Say what the items are, what of them could not be read, and how many cells are empty."""
    found = [_size(items)]
    if items.smiles is not None:
        found += molecule_remarks(items.smiles, items.skipped)
    if items.cells is not None and items.kind in ("table", "vectors", "curves"):
        import pandas

        empty = int(pandas.isna(items.cells).sum())
        found.append(f"{empty} of {items.cells.size} cells are empty.")
    return found


def _size(items: Items) -> str:
    n = len(items)
    if items.numbers is None:
        return f"{n} {items.kind}."
    d = items.numbers.shape[1]
    of_kind = {
        "gram": f"{n} items, each known by its kernel values with {d} training items.",
        "molecules": f"{n} molecules with fingerprints of {d} bits.",
        "curves": f"{n} curves of {d} values each.",
    }
    return of_kind.get(items.kind, f"{n} items with {d} columns each.")


def column_rows(items: Items, target: tuple[str, np.ndarray] | None) -> list[list[str]]:
    """Cells of HTML: the target first, then the columns, as many as a page can hold."""
    rows = [_row(name, cells, name in items.dates) for name, cells in items.named_columns[:_MAX_COLUMNS]]
    if target is not None:
        rows.insert(0, _row(f"{target[0]} (target)", target[1], False))
    return rows


def _row(name: str, cells: np.ndarray, dated: bool) -> list[str]:
    import pandas

    known = pandas.Series(cells).dropna().infer_objects()
    gaps = len(cells) - len(known)
    if known.dtype.kind in "iuf" and known.min() < known.max():
        kind, described, counts = _of_numbers(known.to_numpy(np.float64), dated)
    else:
        kind, described, counts = _of_classes(known)
    return [escape(name), kind, sorted_by(gaps, str(gaps or "none")), *described, histogram(counts)]


def sorted_by(key: float, text: str) -> str:
    """A cell that is sorted by a number."""
    return f'<td data-key="{key:.9g}">{text}</td>'


def _of_classes(known: Any) -> tuple[str, list[str], np.ndarray]:
    """The most common classes, and how often each is."""
    counts = known.map(class_name).value_counts()
    texts = [f"{text:.24} ({count})" for text, count in counts[:_COMMON].items()]
    if len(counts) > _COMMON:
        texts.append(f"{len(counts) - _COMMON} more")
    kind = {0: "empty", 1: "constant"}.get(len(counts), f"{len(counts)} classes")
    return kind, [f'<td colspan="3">{escape(", ".join(texts))}</td>'], counts[:_MAX_BARS].to_numpy()


def _of_numbers(known: np.ndarray, dated: bool) -> tuple[str, list[str], np.ndarray]:
    """Least, median and largest number, and how many lie where."""
    start, end, _ = colour_ends(known)
    counts = np.histogram(known.clip(start, end), min(_MAX_BARS, len(np.unique(known))))[0]
    values = (float(known.min()), float(np.median(known)), float(known.max()))
    if dated:
        return "dates", [sorted_by(value, day_text(value)) for value in values], counts
    kind = "whole numbers" if (known == np.round(known)).all() else "numbers"
    return kind, [sorted_by(value, readable(value)) for value in values], counts
