"""What is to know of a file before it is used: plain sentences, and its columns, a row each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np

from rkhs.data.columns import (
    TWINS,
    Column,
    column_remarks,
    many,
    rounded,
    row_copies,
    spreads,
    wants_scaling,
)
from rkhs.data.molecule_files import molecule_remarks
from rkhs.plots.display import colour_ends
from rkhs.reports.items import Items
from rkhs.reports.pictures import histogram, share_bar
from rkhs.reports.wording import day_text, readable, whole_percent

HEAD = ("column", "kind", "read as", "gaps", "smallest", "median", "largest", "")
_MOST, _BINS, _COMMON = 200, 12, 3
_FIRST, _FIRST_COLUMNS, _LONG = 5, 60, 40  # of the rows that are listed; letters
_COPIES = ("item is a copy of an earlier one", "items are copies of earlier ones")


def audit(items: Items, *, scaled: bool = False) -> list[str]:
    """Say what the items are, and what in them may do harm."""
    found = [_size(items), *_columns(items, scaled)]
    if items.smiles is not None:
        found += molecule_remarks(items.smiles, items.skipped)
        if not items.skipped:
            found.append("All SMILES could be read.")
    found += [*_lengths(items), *_duplicates(items), *_gaps(items)]
    if items.repeated:
        found.append(f"{many(items.repeated, 'item has', 'items have')} a name that an earlier item has too.")
    return found


def _size(items: Items) -> str:
    n, d = len(items), 0 if items.numbers is None else items.numbers.shape[1]
    if items.image_shape is not None:
        return f"{n} images of {items.image_shape[0]} x {items.image_shape[1]} pixels."
    named = "items" if items.kind in ("objects", "table", "vectors", "gram") else items.kind
    of_kind = {
        "gram": f"{n} items, each known by its kernel values with {d} training items.",
        "molecules": f"{n} molecules with fingerprints of {d} bits.",
        "curves": f"{n} curves of {d} values each.",
        "": f"{n} {named}.",
    }
    listed = f", of which the page lists {_MOST}" if len(items.named_columns) > _MOST else ""
    return of_kind.get(items.kind if d else "", f"{n} {named} with {many(d, 'column', 'columns')} each{listed}.")


def _columns(items: Items, scaled: bool) -> Iterator[str]:
    """Remarks on columns, and on their scales where these count."""
    found = items.named_columns
    if not found:
        return
    names, cells = [name for name, _ in found], np.column_stack([column for _, column in found])
    yield from (remark.text for remark in column_remarks(cells, names, items.dates))
    if items.kind == "vectors" and not scaled:  # MixedTable divides each column by its spread
        yield from _scales(cells, names)


def _scales(X: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    found = spreads(X)
    if found is not None and wants_scaling(X):
        yield (
            f"The columns have different scales: the standard deviation of {names[found.widest]} is "
            f"{readable(found.most)}, that of {names[found.narrowest]} is {readable(found.least)}, "
            f"{rounded(found.ratio)} times less. "
            "Distances see mostly the wide columns unless all are standardised."
        )


def _lengths(items: Items) -> Iterator[str]:
    if items.kind not in ("sequences", "texts", "series"):
        return
    lengths = [len(item) for item in items.X]
    unit = "values" if items.kind == "series" else "letters"
    least, most = min(lengths), max(lengths)
    yield f"All have {least} {unit}." if least == most else f"They have {least} to {most} {unit}."


def _duplicates(items: Items) -> Iterator[str]:
    rows = items.cells if items.cells is None or items.cells.dtype == object else items.cells + 0.0  # of -0
    if items.kind in ("sequences", "texts"):
        rows = np.array(list(items.X), dtype=object)[:, None]
    if rows is not None:
        molecules = items.kind == "molecules"
        none = "No two fingerprints are equal." if molecules else "No item is a copy of another."
        yield row_copies(rows, TWINS if molecules else _COPIES, least=0.0) or none


def _gaps(items: Items) -> Iterator[str]:
    if items.cells is None or items.kind not in ("table", "vectors", "curves"):
        return
    import pandas

    missing = pandas.isna(items.cells)
    columns, worst = int(missing.any(0).sum()), int(missing.sum(0).argmax())
    if columns:
        name = f"column {worst}" if items.columns is None else items.columns[worst]
        yield (
            f"{many(int(missing.sum()), 'cell is', 'cells are')} empty, in {many(columns, 'column', 'columns')}; most "
            f"in {name} ({missing[:, worst].mean():.0%} of its cells)."
        )
    else:
        yield "No cell that the model reads is empty."


def is_class(values: Sequence[Any] | np.ndarray) -> bool:
    """Whether values are classes: texts, or at most ten different whole numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "iuf":
        return True
    known = array[np.isfinite(array.astype(float))]
    return len(np.unique(known)) <= 10 and bool((known == np.round(known)).all())


def class_name(value: Any) -> str:
    """A class as a text; a gap is empty."""
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def column_rows(items: Items, columns: str, target: tuple[str, np.ndarray] | None) -> list[list[str]]:
    """Cells of HTML: the target first, then the columns, as many as a page can hold."""
    read = {"scaled": "standardised", "filled": "standardised, gaps filled", "ranked": "ranks"}.get(columns, "as it is")
    first = [] if target is None else [_row(*target, "the target: not read by the map", classed=is_class(target[1]))]
    return [*first, *(_row(*one, read, dated=one[0] in items.dates) for one in items.named_columns[:_MOST])]


def first_rows(items: Items, target: tuple[str, np.ndarray] | None) -> tuple[list[str], list[list[str]]]:
    """Heads, and cells of HTML of the first rows as they were read; nothing of items that are no rows of cells."""
    whole = _whole_columns(items)
    columns = [*([] if target is None else [target]), *whole[:_FIRST_COLUMNS]]
    rows = [
        [cut(name), *(cut(_as_read(cells[i], title in items.dates)) for title, cells in columns)]
        for i, name in enumerate(items.names[:_FIRST] if whole else ())
    ]
    return ["", *(title for title, _ in columns), *(["…"] if len(whole) > _FIRST_COLUMNS else [])], rows


def _whole_columns(items: Items) -> list[tuple[str, Any]]:
    """Names and cells of what a row of the file holds."""
    if items.kind == "curves" and items.numbers is not None:
        return [*zip(items.columns or map(str, range(items.numbers.shape[1])), items.numbers.T, strict=True)]
    objects = items.smiles or (items.X if items.kind in ("sequences", "texts") else None)
    return items.named_columns if objects is None else [("SMILES" if items.smiles else items.kind[:-1], objects)]


def _as_read(cell: Any, dated: bool) -> str:
    number = day_text if dated else partial(readable, digits=7)
    return class_name(cell) if isinstance(cell, str) or not class_name(cell) else number(cell)


def cut(text: str) -> str:
    """HTML of a text, of a long one its beginning and the whole as a title."""
    short = escape(text[: _LONG - 1])
    return escape(text) if len(text) <= _LONG else f'<span title="{escape(text)}">{short}…</span>'


def _row(name: str, cells: np.ndarray, read: str, *, dated: bool = False, classed: bool = False) -> list[str]:
    known: Any = [cell for cell in cells.tolist() if class_name(cell)]
    column = Column(cells, name)
    gaps = len(cells) - len(known)
    share = gaps / len(cells)
    empty = sorted_by(share, f"{gaps} ({whole_percent(share)}){share_bar(share)}" if gaps else "none")
    kind, values, bars, far = (
        _of_classes(known) if column.is_text or classed or not known else _of_numbers(column, dated)
    )
    read = "categories" if column.is_text and not classed else read
    return [
        escape(name),
        "date" if dated else "name" if column.is_name else kind,
        read,
        empty,
        *values,
        histogram(bars, far),
    ]


def sorted_by(key: float, text: str) -> str:
    """A cell that is sorted by a number."""
    return f'<td data-key="{key:.9g}">{text}</td>'


def _of_classes(known: list[Any]) -> tuple[str, list[str], np.ndarray, str]:
    counts = Counter(map(class_name, known))
    common = ", ".join(
        f"{text if len(text) < 25 else f'{text[:23]}…'} ({count})" for text, count in counts.most_common(_COMMON)
    )
    more = f", {len(counts) - _COMMON} more" if len(counts) > _COMMON else ""
    kind = {0: "empty", 1: "constant"}.get(len(counts), f"{len(counts)} classes")
    bars = np.array([count for _, count in counts.most_common(_BINS)])
    return kind, [f'<td colspan="3">{escape(common + more)}</td>'], bars, "neither"


def _of_numbers(column: Column, dated: bool) -> tuple[str, list[str], np.ndarray, str]:
    """Least, median and largest number, and how many lie where; the median of dates is one of them."""
    values = np.quantile(column.known, (0.0, 0.5, 1.0), method="lower" if dated else "linear").tolist()
    if values[0] == values[2]:
        return _of_classes(column.known.tolist())
    kind = "whole numbers" if bool((column.known == np.round(column.known)).all()) else "numbers"
    start, end, far = colour_ends(column.known)
    bars = np.histogram(column.known.clip(start, end), min(_BINS, column.different))[0]
    text = day_text if dated else readable
    return kind, [sorted_by(value, text(value)) for value in values], bars, far
