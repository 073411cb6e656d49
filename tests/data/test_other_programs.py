"""Tables of numbers that pandas, R, Excel and NumPy write come back as they were, or an error leads on."""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from rkhs._core.errors import InputError
from rkhs.cli.inputs import read_input
from rkhs.cli.options import INPUT, MIXED, declare
from rkhs.data import Dataset, read_chunks, read_mixed, read_table

QUICK = settings(deadline=None, max_examples=18, suppress_health_check=[HealthCheck.function_scoped_fixture])
NUMBERS = (
    st.floats(allow_nan=False, allow_infinity=False, width=64)
    | st.integers(-9999, 9999).map(float)
    | st.integers(-99999, 99999).map(lambda i: i / 1000)
    | st.integers(1900, 2030).map(float)
)
NAMES_OF_ROWS = [
    lambda i: f"row {i}",
    lambda i: f"S{i:03}",
    lambda i: f"{i:03}",
    lambda i: f"{i + 1}",
    lambda i: f"Größe, {i}",
    lambda i: f"a;{i}",
    lambda i: f'q"{i}',
    lambda i: f"{i}a",
    lambda i: f"-{i}x",
    lambda i: f"{i + 0.5}",
    lambda i: "ACGT"[i % 4] * (1 + i // 4),
]
NAMES_OF_COLUMNS = [
    lambda j: f"x{j}",
    lambda j: f"Größe {j}",
    lambda j: f"weight, kg{j}",
    lambda j: f"a;{j}",
    lambda j: f'q"{j}',
    lambda j: f"{j}a",
    lambda j: f"m/z {100 + j}.{j}",
    lambda j: f"line\n{j}",
    lambda j: f"{1990 + j}",  # with one column nobody can tell such a name from a number
    lambda j: f"{400 + 2.5 * j}",
]


@dataclass
class Written:
    """A file, what it holds, and what has to be said of it."""

    name: str
    content: bytes
    values: np.ndarray
    rows: list[str] | None = None
    options: dict[str, str] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)  # all that a user can say of the file; empty: not tried


@dataclass
class Numbers:
    """What is written: numbers with gaps, names of rows and of columns."""

    values: np.ndarray
    rows: list[str]
    columns: list[str]

    def spelled(self, form: str) -> np.ndarray:
        """The numbers that stand in a file written with this form."""
        return np.array([[float(form % value) for value in row] for row in self.values])


def clear(table: Numbers, *, with_rows: bool) -> Numbers:
    """Numbers that can be told: a column alone has no comma in its name, below which 1,5 would be two cells."""
    return table if with_rows or len(table.columns) > 1 else replace(table, columns=["x0"])


@st.composite
def numbers(draw: st.DrawFn) -> Numbers:
    n, d = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    size = {"min_size": n * d, "max_size": n * d}
    values = np.array(draw(st.lists(NUMBERS, **size))).reshape(n, d)
    gap = np.array(draw(st.lists(st.integers(0, 4), **size))).reshape(n, d) == 0
    gap &= draw(st.booleans())
    gap[0, 0] = False
    gap[-1] &= ~gap.all(axis=0)
    names = draw(st.sampled_from(NAMES_OF_COLUMNS if d > 2 else NAMES_OF_COLUMNS[:-2]))
    rows = draw(st.sampled_from(NAMES_OF_ROWS))
    return Numbers(np.where(gap, np.nan, values), [rows(i) for i in range(n)], [names(j) for j in range(d)])


def encoded(draw: st.DrawFn, text: str, name: str, encodings: list[str], written: Written) -> Written:
    """The bytes of a text; an encoding that no reader can see is said."""
    encoding = draw(st.sampled_from(encodings))
    content = text.encode(encoding)
    options = {"encoding": encoding} if encoding in ("latin-1", "cp1252") else {}
    return replace(
        written, name=name, content=gzip.compress(content) if name.endswith(".gz") else content, options=options
    )


@st.composite
def of_pandas(draw: st.DrawFn) -> Written:
    table, choose = draw(numbers()), lambda *values: draw(st.sampled_from(values))
    ends, index = choose("\n", "\r\n", "\r"), choose("none", "counted", "names", "label", "who")
    if ends == "\r":  # pandas leaves a line feed without quotation marks there
        table = replace(table, columns=[name.replace("\n", " ") for name in table.columns])
    sep, form = choose(",", ";", "\t", "|", " "), choose(None, "%.3f", "%.6e", "%g", "%.17g")
    mark, na = choose(".", ","), choose("NA", "nan", "NULL", "N/A", "-", ".", "#N/A", *([] if sep == " " else [""]))
    header = table.values.shape[1] == 1 or choose(True, True, True, False)  # 1,5 alone in each line is two numbers too
    table, named = clear(table, with_rows=index != "none"), index in ("names", "label", "who")
    frame = pandas.DataFrame(table.values, index=table.rows if named else None, columns=table.columns)
    text = frame.to_csv(
        sep=sep,
        decimal=mark,
        na_rep=na,
        float_format=form,
        lineterminator=ends,
        quoting=choose(csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC),
        header=header,
        index=index != "none",
        index_label={"label": "id", "who": "who"}.get(index),
    )
    name = choose("a.csv", "a.csv", "a.tsv", "a.txt", "a.csv.gz")
    values = table.values if form is None else table.spelled(form)
    rows = None if index == "none" else [str(label) for label in frame.index]
    encodings = ["utf-8", "utf-8-sig", "utf-16", "latin-1"]
    told = {"delimiter": sep, "decimal": mark, "header": header, "missing": [na] if na else None}
    told |= {} if index == "none" else {"index_column": 0}
    return encoded(draw, text, name, encodings, Written(name, b"", values, rows, told=told))


@st.composite
def of_r(draw: st.DrawFn) -> Written:
    """What `write.table`, `write.csv` and `write.csv2` write: quoted names, NA, fifteen digits."""
    table, choose = draw(numbers()), lambda *values: draw(st.sampled_from(values))
    form = choose("write.table", "col.names=NA", "row.names=FALSE", 'sep="\\t"', "write.csv", "write.csv2")
    sep = {"write.csv": ",", "write.csv2": ";", 'sep="\\t"': "\t"}.get(form, " ")
    doubled = form.startswith("write.csv")
    quoted = choose(True, True, False)

    def name(text: str) -> str:
        inner = text.replace('"', '""' if doubled else '\\"')
        return f'"{inner}"' if quoted else "".join(c for c in text if c.isalnum() or c == ".")  # no file keeps others

    def cell(value: float) -> str:
        return "NA" if np.isnan(value) else f"{value:.15g}".replace(".", "," if form == "write.csv2" else ".")

    with_rows = form != "row.names=FALSE"
    head = [""] * (doubled or form == "col.names=NA") + table.columns
    lines = [[*map(name, head)]]
    lines += [
        [name(row)] * with_rows + [*map(cell, cells)] for row, cells in zip(table.rows, table.values, strict=True)
    ]
    rows = [row if quoted else name(row) for row in table.rows]
    text = "".join(sep.join(line) + "\n" for line in lines)
    written = Written("", b"", table.spelled("%.15g"), rows if with_rows else None)
    return encoded(draw, text, choose("a.csv", "a.txt", "a.tsv"), ["utf-8"], written)


@st.composite
def of_excel(draw: st.DrawFn) -> Written:
    table, choose = draw(numbers()), lambda *values: draw(st.sampled_from(values))
    form = choose("csv ;", "csv ,", "Unicode text", "csv UTF-8", "xlsx")
    title, header = choose(None, "id", "", "who"), table.values.shape[1] == 1 or choose(True, True, True, False)
    with_rows = title is not None
    table = clear(table, with_rows=with_rows)
    head = [[title] * with_rows + table.columns] if header else []
    rows = table.rows if with_rows else None
    if form == "xlsx":
        import openpyxl

        book, out = openpyxl.Workbook(), io.BytesIO()
        for line in head:
            book.active.append(line)
        for row, cells in zip(table.rows, table.values.tolist(), strict=True):
            book.active.append([row] * with_rows + [None if value != value else value for value in cells])
        book.save(out)
        return Written("a.xlsx", out.getvalue(), table.spelled("%.16g"), rows)  # openpyxl writes sixteen digits
    shown = choose("%.15g", "%.10g", "%.2f")
    sep, mark = {"csv ;": (";", ","), "Unicode text": ("\t", choose(".", ","))}.get(form, (",", "."))
    out = io.StringIO()
    writer = csv.writer(out, delimiter=sep, lineterminator="\r\n")
    writer.writerows(head)
    for row, cells in zip(table.rows, table.values, strict=True):
        texts = ["" if value != value else (shown % value).upper().replace(".", mark) for value in cells]
        writer.writerow([row] * with_rows + texts)
    encoding = {"Unicode text": "utf-16", "csv UTF-8": "utf-8-sig"}.get(form, "cp1252")
    name = choose("a.txt", "a.csv") if form == "Unicode text" else "a.csv"
    told = {"delimiter": sep, "decimal": mark, "header": header} | ({"index_column": 0} if with_rows else {})
    return encoded(draw, out.getvalue(), name, [encoding], Written("", b"", table.spelled(shown), rows, told=told))


@st.composite
def of_numpy(draw: st.DrawFn) -> Written:
    table, choose = draw(numbers()), lambda *values: draw(st.sampled_from(values))
    form, out = choose("savetxt", "savetxt", "npy", "npz"), io.BytesIO()
    if form != "savetxt":
        with np.errstate(over="ignore"):
            array = np.nan_to_num(table.values, posinf=0.0).clip(0, 255).astype(choose("f8", ">f8", "f4", "i4", "u1"))
        if array.dtype.kind == "f" and choose(True, False):
            array[np.isnan(table.values)] = np.nan
        array = choose(np.ascontiguousarray, np.asfortranarray)(array)
        (np.save if form == "npy" else np.savez)(out, array)
        return Written(f"a.{form}", out.getvalue(), array.astype(float))
    sep, shown, mark = choose(" ", ",", "\t", ";"), choose("%.18e", "%g", "%.3f"), choose("# ", "#", "", "% ")
    names = sep.join(name.replace("\n", " ") for name in table.columns)
    title = choose("", names, "made by hand")
    footer = choose("", "", "end of file") if mark == "# " else ""
    np.savetxt(out, table.values, shown, sep, header=title, comments=mark, footer=footer)
    return Written(choose("a.csv", "a.txt", "a.tsv"), out.getvalue(), table.spelled(shown))


def by_command(path: Path, **options: str) -> Dataset:
    """As the commands read a file."""
    parser = argparse.ArgumentParser()
    declare(parser, MIXED + INPUT)
    flags = [text for name, value in options.items() for text in (f"--{name}", value)]
    return read_input(parser.parse_args(flags, argparse.Namespace(words=["fit"])), str(path))


def by_chunks(path: Path, **options: str) -> Dataset:
    parts = list(read_chunks(path, rows=2, **options))
    rows = [part.row_names for part in parts]
    names = None if None in rows else tuple(name for some in rows for name in some or ())
    return replace(parts[0], X=np.concatenate([part.X for part in parts]), row_names=names)


_EMPTY = pytest.mark.filterwarnings("ignore:.*left out, because no cell is known")  # rows of names alone
READERS: list[Callable[..., Dataset]] = [by_command, read_table, read_mixed, by_chunks]


def same_or_refused(folder: Path, written: Written) -> None:
    """Each reader gives the numbers, names and gaps of a file, or an error that says what to do."""
    path = folder / written.name
    path.write_bytes(written.content)
    arrays = path.suffix in (".npy", ".npz")
    for reader in READERS:
        if reader is read_mixed and arrays:
            continue
        try:
            found = reader(path, **written.options)
        except InputError as error:
            assert "; " in str(error)
            continue
        X, rows, expected = found.X, found.row_names, written.values
        names = None if written.rows is None else [name.strip() for name in written.rows]
        empty = [bad.row - 1 for bad in found.skipped]  # rows that hold a name alone
        assert np.isnan(expected[empty]).all()
        expected = np.delete(expected, empty, axis=0)
        names = None if names is None else [name for i, name in enumerate(names) if i not in empty]
        if names is None:
            expected = expected[~np.isnan(expected).all(axis=1)]  # rows that hold nothing are left out
        elif rows is None:  # a column of numbers, or of texts in a table that may hold them, is data unless it is named
            rows, X = tuple(str(cell) for cell in X[:, 0]), X[:, 1:]
            plain = found.X.dtype != object or isinstance(found.X[0, 0], float)
            names = [str(float(name)) for name in names] if plain else names
        np.testing.assert_array_equal(np.array(X, dtype=float), expected)
        assert (None if rows is None else [name.strip() for name in rows]) == names
    if written.told and not np.isinf(written.values).any():  # nothing is left to guess, so nothing may be refused
        found = read_mixed(path, **written.options, **written.told)
        known = ~np.isnan(written.values).all(axis=1)
        np.testing.assert_array_equal(np.array(found.X, dtype=float), written.values[known])
        names = None if written.rows is None else [written.rows[i].strip() for i in np.flatnonzero(known)]
        assert (None if found.row_names is None else [name.strip() for name in found.row_names]) == names


@_EMPTY
@QUICK
@given(written=of_pandas())
def test_files_of_pandas(tmp_path: Path, written: Written) -> None:
    same_or_refused(tmp_path, written)


@_EMPTY
@QUICK
@given(written=of_r())
def test_files_of_r(tmp_path: Path, written: Written) -> None:
    same_or_refused(tmp_path, written)


@_EMPTY
@QUICK
@given(written=of_excel())
def test_files_of_excel(tmp_path: Path, written: Written) -> None:
    same_or_refused(tmp_path, written)


@QUICK
@given(written=of_numpy())
def test_files_of_numpy(tmp_path: Path, written: Written) -> None:
    same_or_refused(tmp_path, written)
