"""How rows of a file are named in what is printed and written: by their names, or by numbers from 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rkhs.data import Dataset

__all__ = ["COUNTED", "beside", "named_rows", "row_labels", "row_numbers"]

COUNTED = "rows count from 1"
_TITLE = "row_from_1"


def row_numbers(data: Dataset) -> list[int]:
    """Number of each row among the data rows of its file, from 1; rows that were skipped are counted.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    list of int
    """
    skipped = {bad.row for bad in data.skipped}
    return [row for row in range(1, data.n_samples + len(skipped) + 1) if row not in skipped]


def row_labels(data: Dataset) -> list[str]:
    """What a row is called in sentences.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    list of str
        Names, else SMILES, else ``row 1``, ``row 2``, ...
    """
    names = data.row_names or data.smiles
    return [f"row {number}" for number in row_numbers(data)] if names is None else list(names)


def named_rows(data: Dataset) -> str:
    """What to put behind a list of rows: from which number they count, where they have no names.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    str
    """
    return "" if data.row_names or data.smiles else f" ({COUNTED})"


def beside(data: Dataset, path: str) -> dict[str, Any]:
    """The column of names or numbers of rows in a file of scores or errors; a .npy file has none.

    Parameters
    ----------
    data : Dataset
    path : str

    Returns
    -------
    dict
        Arguments of ``write_codes``.
    """
    if path.lower().endswith(".npy"):
        return {}
    if data.row_names is not None:
        return {"row_names": data.row_names, "row_title": data.row_title}
    return {"row_names": [str(number) for number in row_numbers(data)], "row_title": _TITLE}
