"""How rows of a file are named in what is printed and written: by their names, or by numbers from 1."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np

from rkhs.data import writers
from rkhs.data.dataset import LEFT_OUT as LEFT_OUT, Dataset, keep_rows as keep_rows, short_names

T = TypeVar("T")


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


def with_progress(parts: Iterable[T], done: Callable[[T], int], n: int | None = None) -> Iterator[T]:
    """Parts of a file, with a line for people that says how many rows are done, of ``n`` where that is known."""
    from rkhs.protocols import hide, show

    watched, started = sys.stderr.isatty(), time.perf_counter()
    for part in parts:
        yield part
        count = done(part)
        if watched:
            of = "" if n is None else f" of {n}"
            show(f"{count}{of} rows", time.perf_counter() - started, 0.0 if n is None else count / n)
    if watched:
        hide()
