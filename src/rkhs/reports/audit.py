"""What is to know of a file before it is used: plain sentences, and its columns, a row each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from rkhs.data.columns import COUNTS, TENFOLD, TWINS, Column, column_remarks, many, rounded, row_copies, samples_remark, spreads
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
    sentences = [_size(items)]
    if items.columns is not None and items.numbers is not None and items.kind in ("vectors", "table"):
        sentences += _columns(items, items.columns, np.where(np.isfinite(items.numbers), items.numbers, np.nan), scaled)
    if items.smiles is not None:
        read = [] if items.skipped else ["All SMILES could be read."]
        sentences += [*molecule_remarks(items.smiles, items.skipped), *read]
    sentences += _lengths(items)
    sentences += _duplicates(items)
    sentences += _gaps(items)
    if items.repeated:
        sentences.append(f"{many(items.repeated, 'item has', 'items have')} a name that an earlier item has too.")
    return sentences


def _size(items: Items) -> str:
    n = len(items)
    if items.kind == "gram" and items.numbers is not None:
        return f"{n} items, each known by its kernel values with {items.numbers.shape[1]} training items."
    words = {"molecules": "molecules", "objects": "items", "curves": "curves", "table": "items", "vectors": "items"}
    what = words.get(items.kind, items.kind)
    if items.numbers is None or items.kind == "gram":
        return f"{n} {what}."
    width = items.numbers.shape[1]
    if items.image_shape is not None:
        return f"{n} images of {items.image_shape[0]} x {items.image_shape[1]} pixels."
    if items.kind == "molecules":
        return f"{n} molecules with fingerprints of {width} bits."
    if items.kind == "curves":
        return f"{n} curves of {width} values each."
    return f"{n} {what} with {many(width, 'column', 'columns')} each."


def _columns(items: Items, names: Sequence[str], X: np.ndarray, scaled: bool) -> Iterator[str]:
    if items.image_shape is None:
        cells = np.asarray(items.X, dtype=object) if items.kind == "table" else X
        remarks = (remark.text for remark in column_remarks(cells, names, items.dates, items.names))
        yield from (f"T{text[1:]}." if text == COUNTS else text for text in remarks)
        for name, column in zip(names, cells.T, strict=True):
            yield from alike_spellings(name, [*filter(lambda cell: isinstance(cell, str), column.tolist())])
        if items.kind != "table" and not scaled:  # MixedTable divides each column by its spread
            yield from _scales(X, names)
        yield from _samples(items, X)
    elif constant := sum(len(np.unique(column[~np.isnan(column)])) == 1 for column in X.T):
        yield f"{many(constant, 'pixel is', 'pixels are')} the same in all images."


def _samples(items: Items, X: np.ndarray) -> Iterator[str]:
    note = samples_remark(X, items.names, items.columns) if items.kind == "vectors" and items.named else ""
    if note:
        yield f"{note[0].upper()}{note[1:]}."


def _scales(X: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    found = spreads(X)
    if found is not None and found.ratio > TENFOLD:
        narrow, wide = names[found.narrowest], names[found.widest]
        yield (
            f"The columns have different scales: the standard deviation of {wide} is "
            f"{readable(found.most)}, that of {narrow} is {readable(found.least)}, {rounded(found.ratio)} times less. "
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
    if items.kind == "table":
        rows = np.asarray(items.X, dtype=object)
    elif items.numbers is not None:
        rows = items.numbers + 0.0
    elif items.kind in ("sequences", "texts"):
        rows = np.array(list(items.X), dtype=object)[:, None]
    else:
        return
    molecules = items.kind == "molecules"
    none = "No two fingerprints are equal." if molecules else "No item is a copy of another."
    yield row_copies(rows, TWINS if molecules else _COPIES, least=0.0) or none


def _gaps(items: Items) -> Iterator[str]:
    if items.kind == "table":
        import pandas

        missing = pandas.isna(np.asarray(items.X, dtype=object))
    elif items.kind in ("vectors", "curves") and items.numbers is not None:
        missing = ~np.isfinite(items.numbers)
    else:
        return
    total = int(missing.sum())
    if items.filled:
        yield f"{many(items.filled, 'cell was', 'cells were')} empty: filled by straight lines between known values."
        return
    if not total:
        yield "No cell is empty."
        return
    where = np.flatnonzero(missing.any(0))
    worst = int(missing.sum(0).argmax())
    name = items.columns[worst] if items.columns is not None else f"column {worst}"
    yield (
        f"{many(total, 'cell is', 'cells are')} empty, in {many(len(where), 'column', 'columns')}; most in {name} "
        f"({missing[:, worst].mean():.0%} of its cells)."
    )


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
    if items.columns is None or items.numbers is None or items.image_shape or items.kind not in ("vectors", "table"):
        return rows
    cells = np.asarray(items.X, dtype=object) if items.kind == "table" else items.numbers
    for j, name in enumerate(items.columns[:_MOST]):
        rows.append(_row(name, cells[:, j], _read_as(cells[:, j], columns), dated=name in items.dates))
    if len(items.columns) > _MOST:
        rows.append([f"and {len(items.columns) - _MOST} more", *[""] * (len(HEAD) - 1)])
    return rows


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
    common = ", ".join(f"{_short(text)} ({count})" for text, count in counts.most_common(_COMMON))
    more = f", {len(counts) - _COMMON} more" if len(counts) > _COMMON else ""
    kind = {0: "empty", 1: "constant"}.get(len(counts), f"{len(counts)} classes")
    return kind, common + more, np.array([count for _, count in counts.most_common(_BINS)]), "neither"


def _of_numbers(column: Column) -> tuple[str, str, np.ndarray, str]:
    """Kind and spread, and bars of which the ends hold what is far from the others."""
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


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"
