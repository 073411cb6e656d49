"""A column of a table that is shown and not fitted: a class or a number of each row."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rkhs.cli.inputs import named_columns, reading_options

if TYPE_CHECKING:
    import numpy as np

    from rkhs.data import SkippedRow

__all__ = ["read_target", "target_values"]


def read_target(args: argparse.Namespace, path: str, flag: str = "--target") -> tuple[np.ndarray, argparse.Namespace]:
    """A column that is not fitted, numbers or texts with gaps, and the arguments that read the others."""
    from rkhs._core.errors import InputError
    from rkhs.data.readers import read_column

    name = getattr(args, flag.removeprefix("--"))
    extension = Path(path).suffix.lower()
    if args.gram or extension not in (".csv", ".tsv", ".parquet"):
        what = "a Gram matrix" if args.gram else repr(path)
        raise InputError(f"{flag} names a column of a .csv, .tsv or .parquet table; got {what}; leave it out")
    options = reading_options(args)
    if getattr(args, "mixed", False):
        options.setdefault("header", True)
    try:
        values = read_column(path, name, argument="target", index_column=args.index_column, **options)
    except InputError as error:
        raise InputError(str(error).replace("`target`", flag)) from error
    if args.columns is not None or args.smiles is not None or args.kind not in (None, "vectors"):
        return values, args
    dropped = [*named_columns(getattr(args, "drop_columns", None)), name]
    return values, argparse.Namespace(**{**vars(args), "drop_columns": dropped})


def target_values(values: np.ndarray, skipped: Sequence[SkippedRow]) -> np.ndarray:
    """Numbers with NaN for gaps, else texts, empty for gaps; without the rows that were left out."""
    import numpy as np

    kept = np.delete(values, [bad.row - 1 for bad in skipped])
    return kept if kept.dtype != object else np.array([cell or "" for cell in kept.tolist()], dtype=object)
