"""Lines of Python that read a file by pandas as a command reads it, and write another."""

from __future__ import annotations

import argparse
import os
from itertools import islice
from pathlib import Path
from typing import Any

from rkhs.cli.options import reading_options
from rkhs.data.dataset import Dataset
from rkhs.data.formats import extension_of, is_text_table
from rkhs.data.headers import Row
from rkhs.data.layout import Layout
from rkhs.data.table_reader import Options, column_titles, find_layout


def pandas_call(source: str, args: argparse.Namespace) -> str:
    """The call that reads a table: without rows above and below it, with the names that the command reads."""
    extension = extension_of(source)
    if not is_text_table(source):
        return f"pandas.read_{extension[1:]}({source!r})"
    layout = find_layout(Path(source), Options(**reading_options(args)))
    sheet, above = extension == ".xlsx", _rows_above(layout)
    at, cells = _row_of_names(layout, above)
    last = len(above) if sheet else above[-1][0] if above else 0
    skipped = [line for line in range(last) if line != at]
    options: dict[str, Any] = {
        "sep": None if sheet else r"\s+" if layout.delimiter == " " else layout.delimiter,
        "sheet_name": layout.sheet if sheet else None,
        "skiprows": len(skipped) if skipped == [*range(len(skipped))] else skipped,
        "skipfooter": len(layout.foot),
        "engine": "python" if layout.foot and not sheet else None,
        "encoding": None if sheet or layout.encoding.startswith("utf-8") else layout.encoding,
        "decimal": None if layout.decimal == "." else layout.decimal,
        "thousands": layout.thousands,
        "na_values": sorted(layout.missing),
    }
    shown = "".join(f", {name}={value!r}" for name, value in options.items() if value)
    shown += ", header=None" * (layout.names is None)
    if named_by_first(layout):
        shown += ", index_col=0"
    elif layout.names is not None and len(cells) < layout.width:  # every row ends with a delimiter
        shown += ", index_col=False"
    return f"pandas.read_{'excel' if sheet else 'csv'}({source!r}{shown})"


def _rows_above(layout: Layout) -> list[tuple[int, Row]]:
    """Rows above the first one of the data, that of the names among them, and their last lines."""
    with layout.lines() as handle:
        return [*islice(layout.split(handle), layout.skip)]


def _row_of_names(layout: Layout, above: list[tuple[int, Row]]) -> tuple[int, Row]:
    """Where the names of the columns stand, from 0, a line of a text or a row of a sheet, and its cells."""
    if layout.names is None or not above:
        return -1, []
    names = {*layout.names}
    _, i = max((len({*map(str.strip, cells)} & names), i) for i, (_, cells) in enumerate(above))
    return (i if extension_of(layout.path) == ".xlsx" else above[i][0] - 1), above[i][1]


def named_by_first(layout: Layout) -> bool:
    """Whether a first column without a name holds names of rows."""
    return layout.names is not None and layout.names[0] == "" and 0 not in layout.blank


def written(data: Dataset, args: argparse.Namespace, log: str) -> str:
    """The command of Python that writes logarithms of the columns of a file to another."""
    source, name = data.source, os.path.basename(data.source).partition(".")[0]
    call = pandas_call(source, args)
    first, titles = ", index_col=0" in call, column_titles(source, **reading_options(args))
    items = ""
    if data.column_names is not None and {data.column_names[0], data.column_names[-1]} <= {*titles}:
        start, stop = (titles.index(data.column_names[i]) - first for i in (0, -1))
        items = f".iloc[:, {start}:{stop + 1}]"
    index = "" if first else ", index=False"
    line = (
        f"import numpy, pandas; t = {call}; n = t{items}.select_dtypes('number').columns; t[n] = {log}; "
        f"t.to_csv({name + '_log.csv'!r}{index})"
    )
    return f'this writes them to {name}_log.csv:\n\n  python -c "{line}"\n'
