"""Lines of Python that read a table as a command reads it, and write another."""

from __future__ import annotations

import argparse
import os

from rkhs._core.errors import warn
from rkhs.cli.options import named_columns, reading_options
from rkhs.data.dataset import Dataset
from rkhs.data.text import Note


def in_python(data: Dataset, args: argparse.Namespace, change: str) -> str:
    """The command that reads a table as frame t, changes it and writes it."""
    named = data.row_names is not None and args.index_column is None
    options = {"index_column": data.row_title if named else args.index_column, **reading_options(args), "stray": "gap"}
    options |= {name: named_columns(getattr(args, name, None)) or None for name in ("columns", "drop_columns")}
    given = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    frame = "pandas.DataFrame(d.X, d.row_names, d.column_names).infer_objects().rename_axis(d.row_title)"
    imports = "import numpy, pandas; from rkhs.data import read_mixed"
    return f'\n\n  python -c "{imports}; d = read_mixed({data.source!r}{given}); t = {frame}; {change}"\n'


def note_logarithms(data: Dataset, args: argparse.Namespace, log: str, what: str, whose: str = "logarithms") -> None:
    """Note numbers whose logarithms are usually read, with the command that writes these to another file."""
    file = f"{os.path.basename(data.source).partition('.')[0]}_log.csv"
    index = "" if data.row_names else ", index=False"
    numbers = "t.select_dtypes('number').columns.difference(d.dates, sort=False)"
    change = f"n = {numbers}; t[n] = {log}; t.to_csv({file!r}{index})"
    usual = f"{data.source}: its numbers run {what} do, whose {whose} are usually read"
    warn(Note(f"{usual}; this writes them to {file}:{in_python(data, args, change)}"))


def note_counts(data: Dataset, args: argparse.Namespace, shares: str) -> None:
    """Note counts, of which these are the shares of an item."""
    whose = "logarithms, log2 of 1 + counts per million of the item,"
    note_logarithms(data, args, f"numpy.log2(1 + 1e6 * {shares})", "over decades, as counts", whose)
