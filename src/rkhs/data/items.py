"""One reader for items of every kind: what the file is called, or the user, says which."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError
from rkhs.data.arrays import array_names
from rkhs.data.curves import read_curve_file
from rkhs.data.dataset import Dataset, existing
from rkhs.data.formats import KINDS, advice, extension_of, is_table
from rkhs.data.graph_files import read_graphs
from rkhs.data.graph_lists import GRAPH_EXTENSIONS
from rkhs.data.readers import EXTENSIONS, read_table
from rkhs.data.sequences import sequence_dataset
from rkhs.data.series_files import read_series
from rkhs.data.strings import read_strings

_GRAPH_ARRAYS = {"edges", "edge_ptr", "node_ptr"}


def read_items(path: str | os.PathLike[str], *, kind: str | None = None, **options: Any) -> Dataset:
    r"""Read molecules, graphs, sequences, texts, series, curves or vectors from a file or folder.

    Parameters
    ----------
    path : str or path
    kind : {"graphs", "sequences", "texts", "series", "curves", "vectors"}, default=None
        What the items are. None: graphs for a folder, ``NAME_A.txt``, ``.graphml``, ``.edgelist``, ``.edges`` and
        ``.npz`` files with the arrays of :func:`read_graphs`; sequences for ``.fasta`` and ``.fa``; series for
        ``.ts``; for ``.txt`` vectors if most cells are numbers, else sequences, or texts where a line has several
        words; else what :func:`read_table` reads.
    **options
        Those of the reader of the kind: :func:`read_graphs` (none), :func:`read_strings` (its `column` as
        ``columns=[column]``), :func:`read_series`, and :func:`read_table` for the others.

    Returns
    -------
    Dataset
        ``Dataset.items`` is what estimators take.

    Raises
    ------
    InputError
        If the file cannot be read that way. Curves must have their times, increasing numbers, as names of their columns
        or as the array ``times`` or ``t`` beside them in a ``.npz`` file, or no names at all.
    MissingExtraError
        If the file needs an extra that is not installed.

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
    file = existing(path)
    found = kind if kind is not None else _kind_of(file)
    if found is None or found == "vectors":
        return _table(file, found, options)
    if found == "curves":
        return read_curve_file(file, options)
    if found == "graphs":
        _refuse(options, (), found)
        graphs = read_graphs(file)
        facts: dict[str, Any] = {"classes": graphs.targets, "guessed": graphs.guessed}
        return Dataset(np.fromiter(graphs.graphs, object), "graphs", graphs.names, None, graphs.source, **facts)
    if found == "series":
        _refuse(options, ("key", "delimiter", "encoding"), found)
        series = read_series(file, **options)
        return Dataset(
            np.fromiter(series.series, object), "series", series.names, None, series.source, classes=series.targets
        )
    return _strings(file, found, kind, options)


def _strings(file: Path, found: str, kind: Any, options: dict[str, Any]) -> Dataset:
    columns = options.pop("columns", None)
    _refuse(options, ("index_column", "header", "delimiter", "encoding"), found)
    if columns is not None and len(columns) != 1:
        raise InputError(f"{file}: {found} stand in one column; got {len(columns)} in columns=; name one")
    return sequence_dataset(read_strings(file, column=(columns or [None])[0], **options), kind)


def _kind_of(file: Path) -> str | None:
    """The kind that a name stands for; None for tables and molecules."""
    extension = extension_of(file)
    if file.is_dir() or extension in GRAPH_EXTENSIONS or file.name.endswith("_A.txt"):
        return "graphs"
    if extension == ".npz":
        return "graphs" if array_names(file) >= _GRAPH_ARRAYS else None
    if extension == ".txt" and is_table(file):
        return None
    known = {".txt": "sequences", ".fasta": "sequences", ".fa": "sequences", ".ts": "series"}
    if extension not in EXTENSIONS and extension not in known:
        named = ", ".join(dict.fromkeys((*EXTENSIONS, *known, *GRAPH_EXTENSIONS)))
        raise InputError(f"`path` must be a folder of graphs or end in {named}; got {file.name!r}; {advice(file)}")
    return known.get(extension)


def _refuse(options: dict[str, Any], taken: tuple[str, ...], kind: str) -> None:
    unused = sorted(set(options) - set(taken))
    if unused:
        known, given = (", ".join(f"`{name}`" for name in names) for names in (taken, unused))
        raise InputError(f"{kind} are read with the arguments {known or 'none'}; got {given}; leave it out")


def _table(file: Path, kind: str | None, options: dict[str, Any]) -> Dataset:
    data = read_table(file, **options)
    if kind is not None and data.kind != kind:
        raise InputError(f"{file}: expected {kind}; got a file of {data.kind}; give a file of {kind}")
    return data
