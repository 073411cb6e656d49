"""What is to know of a file before it is used: plain sentences, and its columns, a row each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from rkhs.data.columns import (
    COUNTS,
    TENFOLD,
    TWINS,
    Column,
    are_counts,
    column_remarks,
    many,
    rounded,
    row_copies,
    samples_remark,
    spreads,
)
from rkhs.data.known_columns import alike_spellings
from rkhs.data.molecule_files import molecule_remarks
from rkhs.plots.display import colour_ends
from rkhs.reports.items import Items
from rkhs.reports.pictures import histogram
from rkhs.reports.wording import day_text, readable, whole_percent

HEAD = ("column", "kind", "read as", "empty", "spread", "")
_MOST, _BINS, _COMMON = 200, 12, 3
_KINDS = {"identifier": "identifier", "name": "identifier", "date": "date", "days": "date", "free": "free text"}
_COPIES = ("item is a copy of an earlier one", "items are copies of earlier ones")


def audit(items: Items, *, scaled: bool = False) -> list[str]:
    """Say what the items are, and what in them may do harm."""
    read = [] if items.smiles is None or items.skipped else ["All SMILES could be read."]
    return [
        _size(items),
        *_columns(items, scaled),
        *(molecule_remarks(items.smiles, items.skipped) if items.smiles is not None else ()),
        *read,
        *_lengths(items),
        *_duplicates(items),
        *_gaps(items),
        *[f"{many(items.repeated, 'item has', 'items have')} a name that an earlier item has too."][: items.repeated],
    ]


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
    return of_kind.get(items.kind if d else "", f"{n} {named} with {many(d, 'column', 'columns')} each.")


def _columns(items: Items, scaled: bool) -> Iterator[str]:
    found = items.named_columns
    if not found:
        return
    names, cells = [name for name, _ in found], np.column_stack([column for _, column in found])
    yield from (remark.text for remark in column_remarks(cells, names, items.dates, items.names))
    if items.kind == "vectors" and are_counts(cells, names):
        yield COUNTS
    for name, column in found:
        yield from alike_spellings(name, [*filter(lambda cell: isinstance(cell, str), column.tolist())])
    if items.kind == "vectors":  # MixedTable divides each column by its spread
        yield from () if scaled else _scales(cells, names)
        yield from _samples(items, cells, names)


def _samples(items: Items, cells: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    """A sentence on columns that look like samples, if rows have names."""
    if items.named and (note := samples_remark(cells, items.names, names)):
        yield f"{note[0].upper()}{note[1:]}."


def _scales(X: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    found = spreads(X)
    if found is not None and found.ratio > TENFOLD:
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
    if items.filled:
        yield f"{many(items.filled, 'cell was', 'cells were')} empty: filled by straight lines between known values."
    elif columns:
        name = f"column {worst}" if items.columns is None else items.columns[worst]
        yield (
            f"{many(int(missing.sum()), 'cell is', 'cells are')} empty, in {many(columns, 'column', 'columns')}; most "
            f"in {name} ({missing[:, worst].mean():.0%} of its cells)."
        )
    else:
        yield "No cell is empty."


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
    rows = [] if target is None else [_row(*target, "the target: not read by the map", classed=is_class(target[1]))]
    for name, cells in items.named_columns[:_MOST]:
        rows.append(_row(name, cells, _read_as(cells, columns), dated=name in items.dates))
    more = len(items.named_columns) - _MOST
    return [*rows, *[[f"and {more} more", *[""] * (len(HEAD) - 1)]][: max(more, 0)]]


def _read_as(cells: np.ndarray, columns: str) -> str:
    if cells.dtype == object and any(isinstance(cell, str) for cell in cells):
        return "categories"
    return {"scaled": "standardised", "filled": "standardised, gaps filled", "ranked": "ranks"}.get(columns, "as it is")


def _row(name: str, cells: np.ndarray, read: str, *, dated: bool = False, classed: bool = False) -> list[str]:
    known: Any = [cell for cell in cells.tolist() if class_name(cell)]
    column = Column(cells, name, dated=dated)
    gaps = len(cells) - len(known)
    empty = f"{gaps} ({whole_percent(gaps / len(cells))})" if gaps else "none"
    kind, spread, bars, far = _of_classes(known) if column.is_text or classed or not known else _of_numbers(column)
    return [escape(name), _KINDS.get(column.kind, kind), read, empty, escape(spread), histogram(bars, far)]


def _of_classes(known: list[Any]) -> tuple[str, str, np.ndarray, str]:
    counts = Counter(map(class_name, known))
    common = ", ".join(
        f"{text if len(text) < 25 else f'{text[:23]}…'} ({count})" for text, count in counts.most_common(_COMMON)
    )
    more = f", {len(counts) - _COMMON} more" if len(counts) > _COMMON else ""
    kind = {0: "empty", 1: "constant"}.get(len(counts), f"{len(counts)} classes")
    return kind, common + more, np.array([count for _, count in counts.most_common(_BINS)]), "neither"


def _of_numbers(column: Column) -> tuple[str, str, np.ndarray, str]:
    low, middle, high = np.quantile(column.known, (0.0, 0.5, 1.0)).tolist()
    if low == high:
        return _of_classes(column.known.tolist())
    kind = "whole numbers" if bool((column.known == np.round(column.known)).all()) else "numbers"
    start, end, far = colour_ends(column.known)
    bars = np.histogram(column.known.clip(start, end), min(_BINS, column.different))[0]
    if column.kind != "days":
        return kind, f"{readable(low)} to {readable(high)}, median {readable(middle)}", bars, far
    first, half, last = map(day_text, (low, middle, high))
    return kind, f"{first} to {last}, half before {half}", bars, far
