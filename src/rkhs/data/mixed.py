"""Tables of numbers, texts and missing cells, read as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rkhs._core.checks import check_choice, check_list
from rkhs._core.errors import InputError, quote, warn
from rkhs._core.files import as_path
from rkhs.data.dataset import NOTHING_KNOWN, Dataset, column_label, keep_rows, listed
from rkhs.data.formats import TABLES, is_table
from rkhs.data.known_columns import column_values, read_gap_words
from rkhs.data.layout import LAYOUT
from rkhs.data.table_reader import Options, checked_options, open_columns
from rkhs.data.tables import Columns
from rkhs.data.text import CLASSES, Doubtful

OF_MIXED = frozenset({"columns", "drop_columns", "index_column", *LAYOUT})
"""Options of `read_table` that it takes too."""
MOST_TEXTS = 500  # of a column, each of which may become a column of zeros and ones


def read_mixed(
    path: str | os.PathLike[str],
    *,
    kinds: Sequence[str] | None = None,
    stray: Literal["raise", "gap"] = "raise",
    **options: Any,
) -> Dataset:
    r"""Read a table whose columns hold numbers or texts, with missing cells, for the kernel ``MixedTable``.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``, ``.txt.gz``, ``.xlsx``, ``.parquet`` or ``.feather`` file.
    kinds : sequence of {"number", "text", "text or none", "date"}, default=None
        What each column holds; None: numbers if every known cell is one, else dates if every one is. Of a column of
        "text or none" ``none`` is a category, and of one of "text" a gap.
    stray : {"raise", "gap"}, default="raise"
        What becomes of other texts in a column of mostly numbers: an error, or gaps and a warning that names them.
    **options
        Those of :func:`read_table` that are for tables of any cells: `columns`, `drop_columns`, `index_column` and
        those of its layout.

    Returns
    -------
    Dataset
        Of kind "table": `X` is an object array (n, d) of floats, texts, and None for empty cells and words such as NA.
        Without `kinds` ``none`` is a category of a column of at most 20 texts that repeat if it is at least half as
        frequent as the rarest of them, no column of numbers holds it for a gap, and `missing` does not name it.
        Dates are days since the first of January 1970, in the columns that `dates` names. Rows without any known cell
        are left out, and stand in `skipped`; columns without one are left out, unless `columns` names them.

    Raises
    ------
    InputError
        If the file is missing or damaged, a cell of a number column is none, or numbers with a unit stand among words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rkhs.data import read_mixed
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "pets.csv"
    ...     _ = file.write_text("age,kind\n3,cat\n,dog\n")
    ...     data = read_mixed(file)
    >>> data.kind, data.X
    ('table', array([[3.0, 'cat'],
           [None, 'dog']], dtype=object))
    """
    import pandas

    check_choice(stray, "stray", ("raise", "gap"))
    _check_mixed(path, options)
    file, _, given = checked_options(path, options)
    found = next(open_columns(file, given))
    free = kinds is None and found.may_name_rows(given.columns, given.drop_columns, given.index_column)
    named = free and found.names_first()
    positions, index = found.chosen(given.columns, given.drop_columns, given.index_column, named=named)
    positions = _without_empty(found, positions, asked=kinds or given.columns)
    known = _known_kinds(kinds, len(positions), file)
    raw = [(j, "columns") for j, kind in zip(positions, known, strict=True) if kind not in (None, "number")]
    if raw:  # a column of texts or months may hold numbers alone in a new file
        found = next(open_columns(file, given, *raw))
    _drop_units(found, positions, known)
    how: dict[str, Any] = {"stray": stray, "missing": given.missing or ()}
    X = np.column_stack([column_values(found, j, kind, **how) for j, kind in zip(positions, known, strict=True)])
    _warn_of_cells(found, X, positions, kinds is None, file, given)
    titles, (names, title) = found.titles(positions), found.row_names(index)
    data = Dataset(
        X,
        "table",
        names,
        titles,
        str(file),
        row_title=title,
        guessed=found.guessed,
        blank=found.blank,
        dates=_dated(found, positions, X, titles),
        places=found.places(positions),
    )
    return keep_rows(data, pandas.notna(X).any(axis=1), NOTHING_KNOWN)


def _warn_of_cells(
    found: Columns, X: np.ndarray, positions: list[int], first: bool, file: Path, options: Options
) -> None:
    """Warn of cells that are read as gaps, and in the table of a fit of those that are categories and may be gaps."""
    texts = {j: [c for c in cells if isinstance(c, str)] for j, cells in zip(positions, X.T.tolist(), strict=True)}
    numeric = [j for j in positions if not texts[j] and found.cells[j].dtype == object]
    found.warn_of_strays([*filter(found.mostly_numbers, numeric)])
    if first:
        read_gap_words(found, X, positions, file, options)
        for j in positions:
            _warn_of_many(found, j, len(set(texts[j])))


def _warn_of_many(found: Columns, position: int, count: int) -> None:
    """Warn of a column of very many categories."""
    if count > MOST_TEXTS:
        name = column_label(found.names, position)
        what = f"{found.source}: {name} holds {count} different texts, each a category, which takes long"
        warn(Doubtful(what, "leaves it out", drop_columns=[found.names[position] if found.names else position]))


def _check_mixed(path: str | os.PathLike[str], options: dict[str, Any]) -> None:
    """Refuse files that are no tables, and options of other files."""
    source = as_path(path)
    if not is_table(source):
        raise InputError(
            f"`path` of a mixed table must end in {', '.join(TABLES)}; got {source.name!r}; read others with pandas"
        )
    if refused := sorted(set(options) - OF_MIXED):
        raise InputError(f"a mixed table takes no {', '.join(map('`{}`'.format, refused))}; leave it out")


def _without_empty(found: Columns, positions: list[int], *, asked: Any) -> list[int]:
    """Columns with a known cell, and a warning of the others; all where none has one, or columns are asked for."""
    import pandas

    empty = [j for j in positions if pandas.isna(found.cells[j]).all()]
    if asked is not None or not 0 < len(empty) < len(positions):
        return positions
    named = listed([column_label(found.names, j) for j in empty])
    warn(f"{found.source}: left out, because no cell is known: {named}")
    return [j for j in positions if j not in empty]


def _drop_units(found: Columns, positions: list[int], kinds: list[str | None]) -> None:
    """Read numbers with a unit as numbers, where marks, signs or other units say that they are no few of 5a and 6a."""
    for j, kind in zip(positions, kinds, strict=True):
        cells = found.cells[j]
        texts = set(filter(None, cells.tolist() if cells.dtype == object and kind in (None, "number") else ()))
        signs = r"[\s.,%$€£¥]" + r"|\d[^\W\d_]{2}|[^\x00-\x7f]" * (len(texts) > 2)
        if kind == "number" or len(texts) > CLASSES or any(re.search(signs, text) for text in texts):
            found.drop_units([j])
            if kind is None:
                found.refuse_few_words(j)


def _dated(found: Columns, positions: list[int], X: np.ndarray, titles: Sequence[str] | None) -> tuple[str, ...]:
    texts = [any(isinstance(cell, str) for cell in column.tolist()) for column in X.T]
    dated = [
        i
        for i, j in enumerate(positions)
        if found.cells[j].dtype == object and not (texts[i] or found.mostly_numbers(j))
    ]
    return tuple(f"column {positions[i]}" if titles is None else titles[i] for i in dated)


def _known_kinds(kinds: Any, width: int, file: Path) -> list[str | None]:
    """What each column holds, None where the file is to say it."""
    if kinds is None:
        return [None] * width
    if not set(check_list(kinds, "kinds", "words")) <= {"number", "text", "text or none", "date"}:
        raise InputError(
            f"kinds must hold 'number', 'text', 'text or none' or 'date' for each column; got {quote(kinds)}"
        )
    if len(kinds) != width:
        raise InputError(f"{file}: expected {len(kinds)} columns, as in the training file; got {width}")
    return list(kinds)
