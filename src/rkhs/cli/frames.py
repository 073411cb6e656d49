"""Lines of Python that read a file by pandas as a command reads it, and write another."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Collection
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from rkhs.cli.options import reading_options
from rkhs.data.dataset import Dataset
from rkhs.data.formats import extension_of, is_text_table
from rkhs.data.headers import Row
from rkhs.data.layout import Layout
from rkhs.data.table_reader import Options, column_titles, find_layout

_OF_PANDAS = {"", "NA", "NaN", "nan", "N/A", "n/a", "NULL", "null", "None"}  # gaps in any case


def pandas_call(source: str, args: argparse.Namespace, numbers: Collection[int] = ()) -> str:
    """The call that reads a table as the command does: its names, no rows around it, some columns as numbers."""
    extension = extension_of(source)
    if not is_text_table(source):
        return f"pandas.read_{extension[1:]}({source!r})"
    layout = find_layout(Path(source), Options(**reading_options(args)))
    first = next(layout.rows())[0]
    with layout.lines() as handle:
        above = [*takewhile(lambda row: row[0] < first, replace(layout, printed=frozenset()).split(handle))]
    if sheet := extension == ".xlsx":
        above = [(number, cells) for number, (_, cells) in enumerate(above, 1)]
    at, cells = _row_of_names(layout, above)
    options: dict[str, Any] = {"sheet_name": layout.sheet} if sheet else _of_text(layout)
    options |= {
        "skiprows": _skipped(above, at, _printed(layout, first)),
        "skipfooter": len(layout.foot),
        "thousands": layout.thousands,
        "na_values": sorted(layout.missing | _words(layout, numbers)),
    }
    arguments = "".join(f", {name}={value!r}" for name, value in options.items() if value)
    return f"pandas.read_{'excel' if sheet else 'csv'}({source!r}{arguments}{_index(layout, cells)})"


def _printed(layout: Layout, first: int) -> list[int]:
    """Find rules and repeated names below the first row, as lines from 0."""
    with layout.lines() as handle:
        return [i for i, line in enumerate(handle) if i >= first and line.strip() in layout.printed]


def _words(layout: Layout, numbers: Collection[int]) -> set[str]:
    """Texts in columns of numbers, which are read as gaps; some of them pandas knows."""
    cells = {row[j].strip() for _, row in layout.rows() for j in numbers if j < len(row)} if numbers else ()
    return {cell for cell in cells if not re.search(r"\d", cell)} - _OF_PANDAS


def _skipped(above: list[tuple[int, Row]], at: int, below: list[int]) -> int | list[int]:
    """How many lines stand above the names, or which ones, from 0, where some stand below them."""
    lines = [line for line, _ in above[-1:] for line in range(line) if line != at - 1] + below
    return len(lines) if lines == [*range(len(lines))] else lines


def _of_text(layout: Layout) -> dict[str, str]:
    """How the cells of a text are split and spelled, empty where pandas does so by default."""
    return {
        "sep": r"\s+" if layout.delimiter == " " else layout.delimiter,
        "engine": "python" * bool(layout.foot),
        "encoding": "" if layout.encoding.startswith("utf-8") else layout.encoding,
        "decimal": layout.decimal.strip("."),
    }


def _row_of_names(layout: Layout, above: list[tuple[int, Row]]) -> tuple[int, Row]:
    """The line of a text, or the row of a sheet, that names most columns, and its cells."""
    names = {*(layout.names or ())}
    return max(above, key=lambda row: len({*map(str.strip, row[1])} & names), default=(0, [])) if names else (0, [])


def _index(layout: Layout, cells: Row) -> str:
    """What pandas must know of a table without names, or whose first column has none, or whose last one is empty."""
    if layout.names is None:
        return ", header=None"
    named = layout.names[0] == "" and 0 not in layout.blank
    return ", index_col=0" if named else ", index_col=False" if len(cells) < layout.width else ""


def written(data: Dataset, args: argparse.Namespace, log: str) -> str:
    """The command of Python that writes logarithms of the columns of a file to another."""
    source, name = data.source, os.path.basename(data.source).partition(".")[0]
    titles, items = column_titles(source, **reading_options(args)), ""
    call = pandas_call(source, args, {titles.index(title) for title in data.column_names or () if title in titles})
    first = ", index_col=0" in call
    if data.column_names is not None and {data.column_names[0], data.column_names[-1]} <= {*titles}:
        start, stop = (titles.index(data.column_names[i]) - first for i in (0, -1))
        items = f".iloc[:, {start}:{stop + 1}]"
    index = "" if first else ", index=False"
    line = (
        f"import numpy, pandas; t = {call}; n = t{items}.select_dtypes('number').columns; t[n] = {log}; "
        f"t.to_csv({name + '_log.csv'!r}{index})"
    )
    return f'this writes them to {name}_log.csv:\n\n  python -c "{line}"\n'
