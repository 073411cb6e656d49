"""One reader for items of every kind: what the file is called, or the user, says which."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError, quote
from rkhs.data.arrays import array_names
from rkhs.data.curves import curve_files, read_curve_file
from rkhs.data.dataset import NOTHING_KNOWN, Dataset, RowNames, existing_path, keep_rows, read_text, refuse_empty
from rkhs.data.fasta import as_dna, note_of_masked, read_fasta
from rkhs.data.formats import FASTA, KINDS, SPECTRA, TABLES, advice, extension_of, is_table, refuse_sparse_lines
from rkhs.data.graph_files import GRAPH_EXTENSIONS, read_graphs
from rkhs.data.series_files import SERIES_OPTIONS, read_series
from rkhs.data.spectra_files import read_spectra
from rkhs.data.table_reader import (
    EXTENSIONS,
    LAYOUT,
    Options,
    column_list,
    column_titles,
    open_columns,
    read_table,
    text_column,
)
from rkhs.data.text import number_in

_GRAPH_ARRAYS = {"edges", "edge_ptr", "node_ptr"}
_OF_STRINGS = ("columns", "index_column", "header", "delimiter", "encoding")
_READERS: dict[str, Any] = {"graphs": read_graphs, "series": read_series, "spectra": read_spectra}
_TAKEN = {
    "graphs": (),
    "spectra": ("missing", "encoding"),
    "series": SERIES_OPTIONS,
    "sequences": _OF_STRINGS,
    "texts": _OF_STRINGS,
}


def read_items(path: str | os.PathLike[str], *, kind: str | None = None, **options: Any) -> Dataset:
    r"""Read molecules, graphs, sequences, texts, series, curves, spectra or vectors from a file or folder.

    * Graphs: a folder in the TU format, or its file ``DS_A.txt``, with ``DS_graph_indicator.txt`` and perhaps
      ``DS_node_labels.txt`` and ``DS_graph_labels.txt``, numbers from 1; a ``.npz`` file with ``edges`` of shape
      (m, 2), node numbers within each graph, ``edge_ptr`` and ``node_ptr`` of shape (n + 1,), perhaps ``node_label``
      and ``y``; ``.graphml``, ``.gml``, ``.edgelist`` and ``.edges`` files, or a folder of them. A line of an edge list
      has the names of two nodes, with white space or a comma between, perhaps a weight or attributes that are not used,
      and comments after ``#``. Nodes of GraphML without the attribute ``label`` take one called atom, element, symbol,
      type or kind, or the only one whose texts or whole numbers repeat, for it. An item is a pair ``(edges, labels)``
      of arrays, zeros without labels; two edges are a list of pairs, so that no edge_index is meant. Of lists of edges
      it has the number of nodes in place of labels. GraphML gives networkx graphs.
    * Sequences and texts: ``.fasta``, ``.fa``, ``.faa``, ``.fna``, ``.afa``, also ``.gz``, without gaps of
      alignments, blank lines and lines after ``;``, and with T for U where nucleotides have both; a text per line of a
      ``.txt`` file; a column of a table, without its empty cells, whose rows `skipped` names.
    * Series: ``.tsv``, the UCR format, a whole number, the class, and the values in a row; ``.ts``, the UEA format,
      channels between colons; ``.csv``, a series per row; a ``.csv`` or ``.tsv`` table with names of columns, in which
      columns of texts hold no values, and `classes` if there is one; ``.npz``, arrays of shape (length,) or (length,
      channels); ``.npz`` and ``.npy``, one array of shape (n, length) or (n, length, channels). Missing values
      at the end are padding and cut off.
    * Curves: a table whose columns are named by their times, increasing numbers, or not named; a ``.npz`` file with the
      array ``times`` or ``t`` next to them; a folder of ``.csv``, ``.tsv``, ``.txt``, ``.asc``, ``.dpt`` or ``.xy``
      files, which name the curves, of an axis and values in two columns.
    * Spectra: ``.mgf``, ``.msp``, ``.ms``. An item is a pair ``(mz, intensity)`` of arrays; what else a record says,
      such as ``smiles``, is a column. Rows are named by a title, a name or a number that differs in all records;
      records of MS level 1 next to others are left out.

    Parameters
    ----------
    path : str or path
    kind : {"graphs", "sequences", "texts", "series", "curves", "spectra", "vectors"}, default=None
        What the items are. None: graphs for the files and folders above; sequences for ``.fasta`` and its like; series
        for ``.ts``; spectra for ``.mgf``, ``.msp`` and ``.ms``; for ``.txt`` vectors if most cells are numbers, else
        sequences, or texts where a line has several words; else what :func:`read_table` reads.
    **options
        Those of :func:`read_table` that the kind takes: none for graphs; `encoding` and `missing` for spectra;
        `columns` (one), `index_column` and those of the layout for sequences and texts of a table; for series `key`,
        and of ``.csv`` and ``.tsv`` `columns`, `drop_columns`, `index_column` and those of the layout.

    Returns
    -------
    Dataset
        ``Dataset.items`` is what estimators take.

    Raises
    ------
    InputError
        If the file cannot be read that way: it is missing or damaged, an edge joins two graphs, a series has gaps
        inside, or times do not increase.
    MissingExtraError
        If the file needs an extra that is not installed.

    References
    ----------
    For the formats: Morris et al. (2020), "TUDataset"; Dau et al. (2019), "The UCR time series archive"; Bagnall et al.
    (2018), "The UEA multivariate time series classification archive".

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rkhs.data import read_items
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "reads.txt")
    ...     _ = file.write_text("ACGT\nACCT\n")
    ...     data = read_items(file)
    >>> data.kind, data.items.tolist()
    ('sequences', ['ACGT', 'ACCT'])
    """
    if kind is not None:
        check_choice(kind, "kind", KINDS)
    file = existing_path(path)
    found = kind if kind is not None else _kind_of(file)
    if found in (None, "vectors"):
        return _table(file, found, options)
    if found == "curves":
        return read_curve_file(file, options)
    _refuse_unused(file, found, options)
    return _READERS[found](file, **options) if found in _READERS else _read_strings(file, kind, **options)


def _refuse_unused(file: Path, kind: str, options: dict[str, Any]) -> None:
    """Refuse options that the reader of a kind does not take; texts of a table take those of its layout."""
    taken = dict.fromkeys((*_TAKEN[kind], *LAYOUT * (_TAKEN[kind] is _OF_STRINGS and is_table(file))))
    if unused := sorted(options.keys() - taken):
        known, given = (", ".join(f"`{name}`" for name in names) for names in (taken, unused))
        what = f"with the arguments {known}" if known else "without arguments"
        raise InputError(f"{kind} are read {what}; got {given}; leave it out")


def _kind_of(file: Path) -> str | None:
    """The kind that a name stands for; None for tables and molecules."""
    extension = extension_of(file)
    if file.is_dir():
        return ("graphs", "curves")[bool(curve_files(file))]
    if extension in GRAPH_EXTENSIONS or file.name.endswith("_A.txt"):
        return "graphs"
    if extension == ".npz":
        return "graphs" if array_names(file) >= _GRAPH_ARRAYS else None
    if extension == ".txt" and is_table(file):
        return None
    known = {".txt": "sequences", ".ts": "series"}
    known |= dict.fromkeys(FASTA, "sequences") | dict.fromkeys(SPECTRA, "spectra")
    if extension not in EXTENSIONS and extension not in known:
        named = ", ".join(dict.fromkeys((*EXTENSIONS, *known, *GRAPH_EXTENSIONS)))
        raise InputError(f"`path` must be a folder of graphs or end in {named}; got {file.name!r}; {advice(file)}")
    return known.get(extension)


def _table(file: Path, kind: str | None, options: dict[str, Any]) -> Dataset:
    data = read_table(file, **options)
    if kind is not None and data.kind != kind:
        raise InputError(f"{file}: expected {kind}; got a file of {data.kind}; give a file of {kind}")
    return data


def _read_strings(file: Path, kind: Any, *, columns: Sequence[Any] | None = None, **options: Any) -> Dataset:
    """Sequences or texts: the lines of a text file, a column of a table, or a FASTA file; see `read_items`."""
    column = _column_of_texts(file, kind, columns)
    if extension_of(file) in FASTA:
        return read_fasta(file, kind)
    texts, (names, _) = (
        (_lines(file, **options), (None, None)) if column is None else _cells(file, column, Options(**options))
    )
    kind = kind or ("texts" if any(len(text.split()) > 1 for text in texts) else "sequences")
    texts, notes = as_dna(texts) if kind == "sequences" else (texts, ())
    notes += note_of_masked(texts) if kind == "sequences" else ()
    data = Dataset(np.array(texts, object), kind, names, None, str(file), guessed=notes)
    known = np.array([*map(bool, texts)])
    return data if known.all() else keep_rows(data, known, NOTHING_KNOWN)


def _column_of_texts(file: Path, kind: Any, columns: Sequence[Any] | None) -> Any:
    """The column of a table that holds the texts; None for another file."""
    columns = column_list(columns)
    if columns is not None and len(columns) != 1:
        raise InputError(f"{file}: {kind or 'sequences'} stand in one column; got {len(columns)} in columns=; name one")
    column = None if columns is None else columns[0]
    tabular = extension_of(file) in TABLES or (column is not None and is_table(file))
    if tabular != (column is not None):
        titles = ", ".join(map(quote, column_titles(file)))
        way = (
            f"got none for {file.name!r}; name the column, one of {titles}"
            if tabular
            else f"got {column!r} for {file.name!r}; leave it out"
        )
        raise InputError(f"`column` names the texts of a table, and of a table only; {way}")
    return column


def _cells(file: Path, column: Any, options: Options) -> tuple[list[str], RowNames]:
    found = next(open_columns(file, options, (column, "column")))
    texts, names = text_column(found, column, options.index_column, "column")
    return ["" if text in (options.missing or ()) else text for text in texts], names


def _lines(file: Path, encoding: str = "utf-8", **_: Any) -> list[str]:
    if file.suffix.lower() != ".txt":
        raise InputError(
            f"`path` must be a .txt, {', '.join((*FASTA, *TABLES))} file for strings; got {file.name!r}; rename it"
        )
    texts = [line.strip() for line in read_text(file, encoding).splitlines() if line.strip()]
    refuse_empty(texts, file, "a text per line")
    refuse_sparse_lines(file, texts)
    if all(number_in(cell) is not None for text in texts for cell in text.replace(",", " ").replace(";", " ").split()):
        raise InputError(
            f"{file}: expected a text per line; got numbers only, such as {texts[0][:30]!r}; save a table as .csv"
        )
    return texts
