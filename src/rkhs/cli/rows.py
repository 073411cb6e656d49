"""How rows of a file are named in what is printed and written: by their names, or by numbers from 1."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from rkhs.data import Dataset

__all__ = [
    "APART",
    "add_leave_out_option",
    "beside",
    "keep_rows",
    "named_rows",
    "row_labels",
    "without_rows",
]

APART = "apart"  # in place of rows: those that fit_robust says stand apart

_COUNTED = "rows count from 1"
_TITLE = "row_from_1"


def row_labels(data: Dataset) -> list[str]:
    """What a row is called in sentences."""
    names = data.row_names or data.smiles
    return [f"row {number}" for number in data.row_numbers] if names is None else list(names)


def named_rows(data: Dataset) -> str:
    """What to put behind a list of rows: from which number they count, where they have no names."""
    return "" if data.row_names or data.smiles else f" ({_COUNTED})"


def beside(data: Dataset, path: str, *, numbered: bool = True) -> dict[str, Any]:
    """The column of names or numbers of rows in a file of scores or errors; a .npy file has none."""
    if path.lower().endswith(".npy"):
        return {}
    if data.row_names is not None:
        return {"row_names": data.row_names, "row_title": data.row_title}
    if not numbered:
        return {}
    return {"row_names": [str(number) for number in data.row_numbers], "row_title": _TITLE}


def add_leave_out_option(parser: argparse.ArgumentParser) -> None:
    """Declare the option that leaves rows out of a fit."""
    parser.add_argument(
        "--leave-out",
        metavar="ROW,...",
        help="rows to leave out of the fit and of the codes, by name or by number from 1; with --robust: apart, for "
        "the rows that stand apart",
    )


def without_rows(data: Dataset, text: str) -> Dataset:
    """A file without some of its rows, which are skipped as rows that cannot be read are."""
    import numpy as np

    from rkhs._core.errors import InputError, shown

    numbers = data.row_numbers
    places = {name: i for i, name in reversed(list(enumerate(data.row_names or map(str, numbers))))}
    wanted = [part.strip() for part in text.split(",")]
    unknown = [part for part in wanted if part not in places]
    if unknown:
        known = "names of rows" if data.row_names else f"numbers of rows, from 1 to {numbers[-1]}"
        more = f", or {APART} with --robust" if unknown == [APART] else ""
        raise InputError(f"--leave-out must be {known}, with commas between them{more}; got {shown(unknown[0])}")
    out = {places[part] for part in wanted}
    kept = np.array([i not in out for i in range(data.n_samples)])
    if kept.sum() < 2:
        raise InputError(
            f"--leave-out must leave two rows at least; got {len(out)} of {data.n_samples} rows; name fewer"
        )
    return keep_rows(data, kept)


def keep_rows(data: Dataset, kept: np.ndarray) -> Dataset:
    """Some rows of a file, with their numbers."""
    from rkhs.data import SkippedRow
    from rkhs.data.dataset import LEFT_OUT

    numbers, rows = data.row_numbers, kept.nonzero()[0]
    gram = data.kind == "gram"
    X = data.X[..., rows, :][..., rows] if gram else data.X[rows]
    skipped = [*data.skipped, *(SkippedRow(numbers[i], "", LEFT_OUT) for i in (~kept).nonzero()[0])]
    names, smiles = (
        None if known is None else tuple(known[i] for i in rows) for known in (data.row_names, data.smiles)
    )
    skipped.sort(key=lambda bad: bad.row)
    classes = None if data.classes is None else data.classes[kept]
    columns = names if gram and data.column_names is not None else data.column_names
    parts: dict[str, Any] = {"row_names": names, "column_names": columns, "smiles": smiles, "classes": classes}
    return replace(data, X=X, skipped=tuple(skipped), **parts)
