"""What a reader returns, and the checks that every format shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rkhs._core.errors import InputError, nearest, quote
from rkhs._core.files import as_path, check_readable, text_encoding
from rkhs.data.formats import check_form, open_bytes

LEFT_OUT = "left out on demand"  # the reason of a skipped row that could be read
NOTHING_KNOWN = "no known cell"
Kind = Literal["vectors", "gram", "molecules", "sequences", "texts", "graphs", "series", "curves", "spectra", "table"]


RowNames = tuple[tuple[str, ...] | None, str | None]
"""Names of rows, and the title of their column."""


@dataclass(frozen=True)
class SkippedRow:
    r"""A row that was left out, and why.

    Parameters
    ----------
    row : int
        Number of the row among the data rows of the file, counted from 1 (a header is not counted).
    text : str
        What stood there.
    reason : str
        Why it could not be used.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rkhs.data import read_items
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "molecules.smi"
    ...     _ = file.write_text("CCO ethanol\nC(C broken\n")
    ...     data = read_items(file, on_error="skip")
    >>> data.skipped[0].row, data.skipped[0].text
    (2, 'C(C')
    """

    row: int
    text: str
    reason: str


@dataclass(frozen=True, eq=False)
class Curves:
    """Values of curves with their times, under the names that scikit-fda gives them.

    Parameters
    ----------
    data_matrix : ndarray of shape (n, T, 1)
    grid_points : tuple of one ndarray of shape (T,)

    Raises
    ------
    InputError
        From :func:`curves_on_grid`.

    References
    ----------
    Source: the attributes of ``FDataGrid`` of scikit-fda.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.data import Curves
    >>> curves = Curves(np.zeros((3, 5, 1)), (np.linspace(0.0, 1.0, 5),))
    >>> curves.data_matrix.shape, curves.grid_points[0]
    ((3, 5, 1), array([0.  , 0.25, 0.5 , 0.75, 1.  ]))
    """

    data_matrix: np.ndarray
    grid_points: tuple[np.ndarray]


@dataclass(frozen=True, eq=False)
class Dataset:
    r"""A table read from a file, ready to be given to an estimator.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        float64 or float32 for kind "vectors"; ``(n, n)``, or ``(n_new, n)`` for a cross-Gram, for kind
        "gram", with a leading axis for several views; ``(n, 2048)`` uint8 fingerprints for kind "molecules"; ``(n, T)``
        values for kind "curves". Always finite. ``(n,)`` objects for kinds "sequences", "texts", "graphs", "series"
        and "spectra";
        ``(n, d)`` objects for kind "table", None where a cell is missing.
    kind : {"vectors", "gram", "molecules", "sequences", "texts", "graphs", "series", "curves", "spectra", "table"}
        What a row of `X` is.
    row_names : tuple of str or None
        n names, or None if the file has none.
    column_names : tuple of str or None
        d names, or None if the file has none.
    source : str
        The path that was read.
    smiles : tuple of str or None, default=None
        The n SMILES of kind "molecules".
    skipped : tuple of SkippedRow, default=()
        Rows left out at the user's request (``on_error="skip"``).
    times : ndarray of shape (T,) or None, default=None
        Times of kind "curves", if the file has them.
    row_title : str or None, default=None
        Name of the column that holds `row_names`, if it has one.
    classes : ndarray of shape (n,) or None, default=None
        Class of each item of kinds "graphs" and "series", if the file has them.
    dates : tuple of str, default=()
        Columns of kind "table" that hold dates, as days since the first of January 1970.
    as_smiles : bool, default=False
        Whether `items` of kind "molecules" are SMILES, which kernels on objects read, in place of fingerprints.
    start : int, default=0
        Rows of the file before the first one, where it is read in parts.
    distance_scale : float or None, default=None
        Of kind "gram", if ``X`` was made of distances d: ``exp(-d / distance_scale)``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rkhs.data import read_items
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "genes.fasta"
    ...     _ = file.write_text(">first\nACGT\n>second\nACCT\n")
    ...     data = read_items(file)
    >>> data.X, data.row_names
    (array(['ACGT', 'ACCT'], dtype=object), ('first', 'second'))
    """

    X: np.ndarray
    kind: Kind
    row_names: tuple[str, ...] | None
    column_names: tuple[str, ...] | None
    source: str
    smiles: tuple[str, ...] | None = None
    skipped: tuple[SkippedRow, ...] = ()
    times: np.ndarray | None = None
    row_title: str | None = None
    classes: np.ndarray | None = None
    dates: tuple[str, ...] = ()
    as_smiles: bool = False
    start: int = 0
    distance_scale: float | None = None

    @property
    def items(self) -> Any:
        """What estimators take: `X`, or curves with their times, or SMILES."""
        if self.as_smiles:
            return np.array(self.smiles, dtype=object)
        return self.X if self.times is None else Curves(self.X[:, :, None], (self.times,))

    @property
    def n_samples(self) -> int:
        """Number of rows of `X`."""
        shape: tuple[int, ...] = getattr(self.X, "shape", ())
        return int(shape[-2]) if len(shape) > 1 else len(self.X)

    @property
    def row_numbers(self) -> list[int]:
        """Number of each row among the data rows of the file, from 1; those in `skipped` are counted."""
        out = {bad.row for bad in self.skipped}
        first = self.start + 1
        return [row for row in range(first, first + self.n_samples + len(out)) if row not in out]


def short_names(names: Sequence[str], longest: int = 24) -> tuple[str, ...]:
    """Names for a picture, long ones by their beginning."""
    return tuple(name if len(name) <= longest else f"{name[: longest - 3]}..." for name in names)


def titles_of(data: Dataset) -> Sequence[str]:
    """Names of the columns of rows, or their positions."""
    return data.column_names or [f"column {j}" for j in range(data.X.shape[1])]


def keep_rows(data: Dataset, kept: np.ndarray, reason: str) -> Dataset:
    """Some rows of a file, with their numbers; the others are skipped for this reason."""
    numbers, rows, gram = data.row_numbers, kept.nonzero()[0], data.kind == "gram"
    if not len(rows):
        raise InputError(f"{data.source}: expected a value in some cell; all cells are empty; check the file")
    lost = (~kept).nonzero()[0]
    texts = _texts_of(data.row_names, lost) or [""] * len(lost)
    skipped = [*data.skipped, *(SkippedRow(numbers[i], text, reason) for i, text in zip(lost, texts, strict=True))]
    names = _texts_of(data.row_names, rows)
    return replace(
        data,
        X=data.X[..., rows, :][..., rows] if gram else data.X[rows],
        skipped=tuple(sorted(skipped, key=lambda bad: bad.row)),
        row_names=names,
        column_names=names if gram and data.column_names is not None else data.column_names,
        smiles=_texts_of(data.smiles, rows),
        classes=None if data.classes is None else data.classes[kept],
    )


def _texts_of(texts: Sequence[str] | None, rows: np.ndarray) -> tuple[str, ...] | None:
    """Texts of some rows."""
    return None if texts is None else tuple(texts[i] for i in rows)


def existing_path(path: object) -> Path:
    """The name of a file or folder that is there and can be read."""
    file = as_path(path)
    if not file.exists():
        raise InputError(
            f"`path` must name a file or folder that exists; got {str(file)!r}, which does not; check folder and "
            "spelling"
        )
    check_readable(file)
    if file.is_file():
        check_form(file)
    return file


def read_text(file: Path, asked: str | None = None) -> str:
    """A whole text file, in UTF-8 or as asked; what is wrong with it becomes an error that says so."""
    encoding = asked or "utf-8"
    try:
        with open_bytes(file) as handle, TextIOWrapper(handle, encoding=text_encoding(encoding)) as lines:
            text = lines.read()
        reason = "a NUL character" if "\0" in text else ""
    except (OSError, UnicodeError) as error:
        reason = str(error)
    if reason:
        raise InputError(
            f"{file}: expected text in {encoding}; got {reason}; pass the encoding of the file, such as --read "
            "encoding=cp1252, or check that this is a text file"
        )
    return text


def refuse_empty(found: object, source: object, what: str, got: str = "an empty file") -> None:
    """Refuse a file in which nothing was found of what it should hold."""
    if not found:
        raise InputError(f"{source}: expected {what}; got {got}; check that it was written to the end")


def listed(items: Sequence[object], limit: int = 5) -> str:
    """Write the first few items for a message, and how many were left out."""
    text = ", ".join(str(item) for item in items[:limit])
    return text if len(items) <= limit else f"{text} and {len(items) - limit} more"


def column_label(names: Sequence[str] | None, position: int) -> str:
    """Name a column in a message: its name if it has one, else its position counted from 0."""
    return f"column {position}" if names is None or not names[position] else f"column {quote(names[position])}"


def locate(wanted: object, names: Sequence[str] | None, width: int, argument: str) -> int:
    """Position of the column that a name or an integer asks for; a number that was typed may be a name."""
    argument = argument if argument.startswith("-") else f"`{argument}`"
    if names is not None and str(wanted) in names:
        return names.index(str(wanted))
    if isinstance(wanted, str) and names is not None:
        near = nearest(wanted, names)
        known = f"did you mean {quote(near)}?" if near else f"the columns are {listed(list(map(quote, names)), 10)}"
        raise InputError(f"{argument} must name a column of the file; got {wanted!r}, which is not there; {known}")
    if isinstance(wanted, str):
        raise InputError(
            f"{argument} names a column, so the file must have column names; got {wanted!r} and a file without "
            "names; give the position of the column, counted from 0"
        )
    if not isinstance(wanted, (int, np.integer)):
        raise InputError(f"{argument} must hold column names or positions; got {wanted!r}; write a str or an int")
    if not 0 <= wanted < width:
        raise InputError(f"{argument} must be a position from 0 to {width - 1}; got {wanted}; the file has {width}")
    return int(wanted)


def locate_all(
    wanted: Sequence[object] | None, names: Sequence[str] | None, width: int, argument: str = "columns"
) -> list[int] | None:
    """Positions of the columns that ``columns=`` asks for, or None if it asks for all."""
    if wanted is None:
        return None
    if isinstance(wanted, (str, bytes)):
        raise InputError(
            f"`{argument}` must be a list of column names; got the single string {wanted!r}; write [{wanted!r}]"
        )
    positions = [locate(item, names, width, argument) for item in wanted]
    if not positions:
        raise InputError(f"`{argument}` must name at least one column; got an empty list; leave it out to read all")
    if len(set(positions)) < len(positions):
        raise InputError(f"`{argument}` must name each column once; got {list(wanted)!r}; remove the repeated one")
    return positions


def as_numbers(array: np.ndarray, source: str) -> np.ndarray:
    """Turn a stored array into a C-ordered float array in the machine's byte order."""
    kind = array.dtype.kind
    if kind not in "buif":
        raise InputError(
            f"{source}: expected an array of real numbers; got dtype {array.dtype}; save an array of float64, float32, "
            "integers or booleans"
        )
    if kind in "ui" and array.size and max(abs(int(array.max())), abs(int(array.min()))) > 2**53:
        raise InputError(
            f"{source}: expected integers up to 2**53, which float64 holds exactly; got larger ones in dtype "
            f"{array.dtype}; these look like identifiers: leave their column out, or rescale it"
        )
    target = np.float32 if kind == "f" and array.dtype.itemsize == 4 else np.float64
    return np.asarray(array, dtype=target, order="C")


def check_finite(values: np.ndarray, source: str, names: Sequence[str] | None = None) -> None:
    """Refuse missing and infinite values, naming the first row and column that has one."""
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{source}: expected a finite number in every cell; got {values[row, column]} in row {row + 1}, "
            f"{column_label(names, column)} ({int(bad.sum())} such cells in all); drop these rows or fill the cells "
            "before reading"
        )


def check_size(values: np.ndarray, source: str) -> None:
    """Refuse a table that is not two-dimensional or has no row or no column."""
    if values.ndim != 2:
        raise InputError(f"{source}: expected a table of shape (n, d); got shape {values.shape}; reshape it")
    if 0 in values.shape:
        raise InputError(
            f"{source}: expected at least one row and one column; got shape {values.shape}; check the file"
        )


def as_gram(data: Dataset, gram: Any) -> Dataset:
    """The data as they are, or as a Gram matrix: a square one gives its rows the names of its columns, or back."""
    if gram is not True:
        return replace(data, kind="gram") if gram else data
    n_rows, n_columns = data.X.shape
    if n_rows != n_columns:
        raise InputError(
            f"{data.source}: a Gram matrix must be square; got shape {data.X.shape}; name a column of row names with "
            "--index-column, or pass kernel values of new rows to a fitted model"
        )
    rows, columns = data.row_names, data.column_names
    for place, (row, column) in enumerate(zip(rows or (), columns or (), strict=False), 1):
        if column != row:
            raise InputError(
                f"{data.source}: rows and columns of a Gram matrix must have the same names in the same order; got row "
                f"{quote(row)} against column {quote(column)} at position {place}; reorder one of them"
            )
    names = rows or columns
    return replace(data, kind="gram", row_names=names, column_names=names)
