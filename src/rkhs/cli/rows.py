"""How rows of a file are named in what is printed and written: by their names, or by numbers from 1."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeVar

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs.data import writers
from rkhs.data.columns import as_numbers
from rkhs.data.dataset import (
    LEFT_OUT as LEFT_OUT,
    Dataset,
    keep_rows as keep_rows,
)
from rkhs.data.known_columns import read_column, short_names
from rkhs.data.text import Doubtful

T = TypeVar("T")

_TOTAL = re.compile(r"(?i)\W*(?:grand[\s-]|sub-?)?(?:totals?|sums?|summe|gesamt|suma|totale)\W*")
_BELOW = 3  # rows at the end of a table, one of which may hold totals
_SUMS = 0.5  # share of the columns of numbers of a row of totals that are sums
APART = "apart"  # in place of rows: those that fit_robust says stand apart


def row_labels(data: Dataset) -> list[str]:
    """What a row is called in sentences."""
    names = data.row_names or data.smiles
    return [f"row {number}" for number in data.row_numbers] if names is None else list(names)


def short_labels(data: Dataset) -> tuple[str, ...]:
    """What a row is called in a picture."""
    return short_names(row_labels(data))


def named_rows(data: Dataset) -> str:
    """What to put behind a list of rows: from which number they count, where they have no names."""
    return "" if data.row_names or data.smiles else " (rows count from 1)"


def strongest(many: int, limit: int) -> str:
    """How many of a list are named, the strongest first."""
    return f", {many}" if many <= limit else f", the {limit} strongest of {many} (all with --json)"


def label_columns(data: Dataset) -> tuple[tuple[str, ...], str | None]:
    """What stands next to the rows of a file, and its title: names, else SMILES, else numbers from 1."""
    if data.row_names is not None:
        return data.row_names, data.row_title
    return (tuple(map(str, data.row_numbers)), "row_from_1") if data.smiles is None else (data.smiles, "smiles")


def structures_of(data: Dataset) -> tuple[str, ...]:
    """SMILES of molecules, or of spectra whose records hold them; empty for other items."""
    if data.kind == "spectra":
        with suppress(InputError):
            found = read_column(data.source, "smiles", argument="KNOWN")
            return tuple(str(found[row - 1] or "") for row in data.row_numbers)
    return data.smiles or ()


def write_number_parts(
    path: str | None,
    parts: Iterable[tuple[np.ndarray, Dataset]],
    titles: Sequence[str] | None = None,
    *,
    numbered: bool = False,
) -> tuple[int, int]:
    """Write numbers by the names of their rows, or what numbers these, or print them; how many rows, and columns."""
    first, parts = peeked(parts)
    if path is not None and path.lower().endswith(".npy"):
        return writers.write_parts(path, ((X, None) for X, _ in parts))

    def names(data: Dataset) -> tuple[tuple[str, ...] | None, str | None]:
        return label_columns(data) if numbered or data.smiles is not None else (data.row_names, data.row_title)

    return writers.write_parts(path, ((X, names(data)[0]) for X, data in parts), titles, names(first[1])[1])


def peeked(parts: Iterable[T]) -> tuple[T, Iterator[T]]:
    """The first of several, and all of them."""
    rest = iter(parts)
    first = next(rest)
    return first, chain([first], rest)


def warn_of_totals(args: argparse.Namespace, data: Dataset) -> None:
    """Warn of a row of totals at the end of a table, and those below it, that no flag leaves out."""
    word, rows = _total_rows(data)
    out = [*filter(None, (getattr(args, "leave_out", None) or "").split(","))]
    if set(rows) - set(out):
        what = f"{data.source}: the row {quote(word)} holds the sums of those above it: delete it in the file, with"
        warn(Doubtful(f"{what} all below, if it is no item", "leaves it out", leave_out=[*out, *rows]))


def _total_rows(data: Dataset) -> tuple[str, list[str]]:
    """The word for a total in a row at the end that holds sums, and that row and those below, as flags name them."""
    some = data.kind in ("table", "vectors") and data.n_samples > _BELOW
    for i in range(data.n_samples - _BELOW, data.n_samples) if some else ():
        if (word := _total(data, i)) and _holds_sums(as_numbers(data.X[: i + 1])):
            return word, [*map(str, (data.row_names or data.row_numbers)[i:])]
    return "", []


def _holds_sums(X: np.ndarray) -> bool:
    """Whether the last row holds the sums of the others in half of the columns."""
    sums = np.nansum(X[:-1], axis=0)
    known = np.isfinite(X[-1]) & (sums != 0.0)
    return bool(known.any() and np.isclose(X[-1], sums, rtol=1e-4)[known].mean() >= _SUMS)


def _total(data: Dataset, row: int) -> str:
    """The word for a total in a row; empty without one."""
    texts = [*(data.row_names or ())[row : row + 1], *(cell for cell in data.X[row].tolist() if isinstance(cell, str))]
    return next(filter(_TOTAL.fullmatch, texts), "")


def with_progress(parts: Iterable[T], done: Callable[[T], int], n: int | None = None) -> Iterator[T]:
    """Parts of a file, with a line for people that says how many rows are done, of ``n`` where that is known."""
    from rkhs.protocols import hide, show

    quote, started = sys.stderr.isatty(), time.perf_counter()
    for part in parts:
        yield part
        count = done(part)
        if quote:
            of = "" if n is None else f" of {n}"
            show(f"{count}{of} rows", time.perf_counter() - started, 0.0 if n is None else count / n)
    if quote:
        hide()
