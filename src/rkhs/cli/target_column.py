"""A column of a table that is shown and not fitted: a class or a number of each row."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rkhs.cli.inputs import named_columns

if TYPE_CHECKING:
    import numpy as np

    from rkhs.data import SkippedRow

__all__ = ["read_target", "target_values"]


def read_target(args: argparse.Namespace, path: str, flag: str = "--target") -> tuple[list[str], argparse.Namespace]:
    """The cells of a column that is not fitted, and the arguments that read the others."""
    from rkhs._core.errors import InputError
    from rkhs.data.readers import read_column

    name = getattr(args, flag.removeprefix("--"))
    extension = Path(path).suffix.lower()
    if args.gram or extension not in (".csv", ".tsv", ".parquet"):
        what = "a Gram matrix" if args.gram else repr(path)
        raise InputError(f"{flag} names a column of a .csv, .tsv or .parquet table; got {what}; leave it out")
    header = (True if getattr(args, "mixed", False) else None) if args.header is None else args.header == "yes"
    options = {"index_column": args.index_column, "header": header, "delimiter": args.delimiter}
    try:
        texts, _ = read_column(path, name, argument="target", encoding=args.encoding or "utf-8", **options)
    except InputError as error:
        raise InputError(str(error).replace("`target`", flag)) from error
    if args.columns is not None or args.smiles is not None or args.kind not in (None, "vectors"):
        return texts, args
    dropped = [*named_columns(getattr(args, "drop_columns", None)), name]
    return texts, argparse.Namespace(**{**vars(args), "drop_columns": dropped})


def target_values(texts: Sequence[str], skipped: Sequence[SkippedRow]) -> np.ndarray:
    """Numbers with NaN for gaps if all that is known is a number, else texts; without the rows that were left out."""
    import numpy as np

    from rkhs.data.text import MISSING, number_in

    out = {bad.row for bad in skipped}
    cells = [text.strip() for row, text in enumerate(texts, 1) if row not in out]
    known = [cell.lower() not in MISSING for cell in cells]
    numbers = [number_in(cell) if ok else float("nan") for cell, ok in zip(cells, known, strict=True)]
    if any(known) and all(number is not None for number in numbers):
        return np.array(numbers, dtype=np.float64)
    return np.array([cell if ok else "" for cell, ok in zip(cells, known, strict=True)], dtype=object)
