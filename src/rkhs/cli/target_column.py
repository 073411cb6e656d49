"""A column of a table that is shown and not fitted: a class or a number of each row."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from rkhs.data import SkippedRow

__all__ = ["read_target", "target_values"]


def read_target(args: argparse.Namespace, path: str) -> tuple[list[str], argparse.Namespace]:
    """The cells of ``--target``, and the arguments that read the other columns.

    Parameters
    ----------
    args : argparse.Namespace
        With the options of :func:`rkhs.cli.inputs.add_input_options`, ``gram``, ``mixed`` and ``target``.
    path : str

    Returns
    -------
    texts : list of str
        One a row; a gap is a text such as "" or "NA".
    args : argparse.Namespace
        With all other columns as ``columns``, if the user chose none.

    Raises
    ------
    InputError
        For a file without columns, and a column that is not there.
    """
    from rkhs._core.errors import InputError
    from rkhs.data.dataset import locate

    extension = Path(path).suffix.lower()
    if args.gram or extension not in (".csv", ".tsv", ".parquet"):
        what = "a Gram matrix" if args.gram else repr(path)
        raise InputError(f"--target names a column of a .csv, .tsv or .parquet table; got {what}; leave it out")
    texts, titles, width, has_names = (_of_parquet if extension == ".parquet" else _of_text)(args, path)
    left_out = {locate(args.target, titles, width, "target")}
    if args.index_column is not None:
        left_out.add(locate(args.index_column, titles, width, "index_column"))
    elif has_names and not args.mixed:
        left_out.add(0)
    others = [str(j) for j in range(width) if j not in left_out]
    if args.columns is not None or args.smiles is not None:
        return texts, args
    if not others:
        raise InputError(f"{path}: expected a column besides the target; got none; check --target")
    header = args.header or ("yes" if isinstance(args.target, str) and extension != ".parquet" else None)
    return texts, argparse.Namespace(**{**vars(args), "columns": ",".join(others), "header": header})


def _of_text(args: argparse.Namespace, path: str) -> tuple[list[str], Sequence[str] | None, int, bool]:
    """Cells, titles and number of columns, and whether the first column holds names."""
    from rkhs.data.text import open_text, read_text_columns

    named = True if isinstance(args.target, str) else None
    opened = open_text(
        Path(path),
        delimiter=args.delimiter or ("\t" if path.lower().endswith(".tsv") else ","),
        header=named if args.header is None else args.header == "yes",
        encoding=args.encoding or "utf-8",
    )
    texts, names = read_text_columns(opened, column=args.target, index_column=args.index_column, argument="target")
    return texts, opened.names, opened.width, names is not None


def _of_parquet(args: argparse.Namespace, path: str) -> tuple[list[str], Sequence[str] | None, int, bool]:
    from rkhs.data.parquet import import_pandas, read_parquet_text

    cells, names = read_parquet_text(Path(path), column=args.target, index_column=args.index_column, argument="target")
    frame = import_pandas().read_parquet(path)
    stored = not isinstance(frame.index, import_pandas().RangeIndex)
    titles = [str(title) for title in frame.columns]
    return [str(cell) for cell in cells], titles, len(titles), names is not None and not stored


def target_values(texts: Sequence[str], skipped: Sequence[SkippedRow]) -> np.ndarray:
    """Numbers with NaN for gaps if all that is known is a number, else texts; without the rows that were left out.

    Parameters
    ----------
    texts : sequence of str
    skipped : sequence of SkippedRow

    Returns
    -------
    ndarray of shape (n,)
    """
    import numpy as np

    from rkhs.data.text import MISSING, number_in

    out = {bad.row for bad in skipped}
    cells = [text.strip() for row, text in enumerate(texts, 1) if row not in out]
    known = [cell.lower() not in MISSING for cell in cells]
    numbers = [number_in(cell) if ok else float("nan") for cell, ok in zip(cells, known, strict=True)]
    if any(known) and all(number is not None for number in numbers):
        return np.array(numbers, dtype=np.float64)
    return np.array([cell if ok else "" for cell, ok in zip(cells, known, strict=True)], dtype=object)
