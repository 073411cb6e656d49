"""One reader for items of every kind that pandas does not read: what the file is called, or the user, says which."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError, quote
from rkhs.data.arrays import array_shapes, load_npy, read_array
from rkhs.data.cells import column_cells, names_of, row_names, row_title
from rkhs.data.curves import curves_of, read_curve_arrays
from rkhs.data.dataset import (
    NOTHING_KNOWN,
    Dataset,
    Kind,
    existing_path,
    keep_rows,
    listed,
    locate,
    read_text,
    refuse_empty,
)
from rkhs.data.fasta import read_fasta
from rkhs.data.formats import FASTA, KINDS, SDF, SPECTRA, TABLES, advice, extension_of
from rkhs.data.frames import Frame, read_frame, selected, to_dataset, with_index
from rkhs.data.graph_files import GRAPH_EXTENSIONS, read_graphs
from rkhs.data.molecule_files import molecules, read_sdf, smi_rows
from rkhs.data.series_files import read_series, series_of
from rkhs.data.spectra_files import read_spectra

_GRAPH_ARRAYS = {"edges", "edge_ptr", "node_ptr"}
_OTHERS = (".npy", ".npz", ".txt", ".smi", *SDF, *FASTA, *SPECTRA, *GRAPH_EXTENSIONS)


def read_items(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    columns: Sequence[str | int] | None = None,
    smiles_column: str | int | None = None,
    index_column: str | int | None = None,
    key: str | None = None,
    encoding: str = "utf-8",
    read: Mapping[str, Any] | None = None,
    **fingerprint: Any,
) -> Dataset:
    r"""Read molecules, graphs, sequences, texts, series, curves or spectra from a file or folder.

    Tables of numbers and texts are read by pandas: estimators take its frames.

    * Molecules: ``.smi``, a SMILES and perhaps a name a line; ``.sdf``; a column of SMILES of a table.
    * Graphs: a folder in the TU format, or its file ``DS_A.txt``, with ``DS_graph_indicator.txt`` and perhaps
      ``DS_node_labels.txt`` and ``DS_graph_labels.txt``, numbers from 1; a ``.npz`` file with ``edges`` of shape
      (m, 2), node numbers within each graph, ``edge_ptr`` and ``node_ptr`` of shape (n + 1,), perhaps ``node_label``
      and ``y``; ``.graphml``, ``.gml``, ``.edgelist`` and ``.edges`` files, or a folder of them. An item is a pair
      ``(edges, labels)`` of arrays, zeros without labels.
    * Sequences and texts: FASTA files; a text per line of a ``.txt`` file; a column of a table.
    * Series: ``.tsv``, the UCR format, a whole number, the class, and the values in a row; another table, a series per
      row; ``.npz`` and ``.npy``, arrays of shape (length,) or (length, channels), or one of shape (n, length) or (n,
      length, channels). Missing values at the end are padding.
    * Curves: a table whose first row holds the times (``read={"header": None}`` if it is a curve); ``.npz`` with
      ``times`` or ``t`` beside the values. Gaps are filled by straight lines between known values.
    * Spectra: ``.mgf``, ``.msp``. An item is a pair ``(mz, intensity)`` of arrays.

    Parameters
    ----------
    path : str or path
    kind : {"molecules", "graphs", "sequences", "texts", "series", "curves", "spectra"}, default=None
        What the items are. None: what the name of the file says.
    columns : sequence of str or int, default=None
        Of a table: the one of sequences or texts, or those of the values of series and curves. Positions count from 0,
        without the column that names the rows.
    smiles_column : str or int, default=None
        Column of SMILES of a table.
    index_column : str or int, default=None
        Column of a table that names the rows; None takes a first column without a title.
    key : str, default=None
        Array of a ``.npz`` file.
    encoding : str, default="utf-8"
        Of a text file that is no table.
    read : dict, default=None
        Options of ``pandas.read_csv``, ``read_excel``, ``read_parquet`` or ``read_feather`` for a table.
    **fingerprint
        `fingerprint`, `radius`, `n_bits` and `on_error` of :func:`molecular_fingerprints`, for molecules; with "counts"
        in place of a fingerprint.

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
    For the formats: Morris et al. (2020), "TUDataset"; Dau et al. (2019), "The UCR time series archive".

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
    found = "molecules" if smiles_column is not None else kind or kind_of(file)
    if is_frame(file, found):
        if found is None:
            raise InputError(f"{file}: a table is read by pandas; pass its frame to fit, or name the kind of its items")
        named = [*(columns or ()), *([] if smiles_column is None else [smiles_column])]
        frame = read_frame(file, read or {}, named=found == "curves")
        frame = with_index(frame, index_column, named)
        return items_of(frame, file, found, columns=columns, smiles_column=smiles_column, fingerprint=fingerprint)
    return read_objects(file, found, key=key, encoding=encoding, fingerprint=fingerprint)


def is_frame(file: Path, kind: str | None) -> bool:
    """Whether pandas reads a file; series of a .tsv file stand behind their class, as in the UCR archive."""
    extension = extension_of(file)
    return extension in TABLES and not (kind == "series" and extension == ".tsv")


def kind_of(file: Path) -> Kind | None:
    """The kind that the name of a file stands for; None for tables and arrays."""
    extension = extension_of(file)
    if file.is_dir() or extension in GRAPH_EXTENSIONS or file.name.endswith("_A.txt"):
        return "graphs"
    if extension == ".npz":
        return "graphs" if array_shapes(file).keys() >= _GRAPH_ARRAYS else None
    if extension not in (*TABLES, *_OTHERS):
        raise InputError(
            f"`path` must be a folder of graphs or end in {', '.join((*TABLES, *_OTHERS))}; got {file.name!r}; "
            f"{advice(file)}"
        )
    known: dict[str, Kind] = {".txt": "sequences", ".smi": "molecules"}
    known |= dict.fromkeys(FASTA, "sequences")
    known |= dict.fromkeys(SPECTRA, "spectra")
    known |= dict.fromkeys(SDF, "molecules")
    return known.get(extension)


def read_objects(
    file: Path, kind: str | None, *, key: str | None = None, encoding: str = "utf-8", fingerprint: dict[str, Any]
) -> Dataset:
    """Items of a file that is no table; rows of numbers of an array for None."""
    extension = extension_of(file)
    if kind == "molecules":
        if extension in SDF:
            return molecules(read_sdf(file), "smiles", str(file), fingerprint)
        return molecules(smi_rows(file, encoding), "smiles", str(file), fingerprint)
    if fingerprint:
        raise InputError(
            f"{next(iter(fingerprint))!r} is for molecules; got a file of {kind or 'numbers'}; leave it out"
        )
    readers: dict[str | None, Callable[[], Dataset]] = {
        "graphs": lambda: read_graphs(file, encoding),
        "series": lambda: read_series(file, key),
        "spectra": lambda: read_spectra(file, encoding),
        "curves": lambda: read_curve_arrays(file, key),
        "sequences": lambda: _strings(file, "sequences", encoding),
        "texts": lambda: _strings(file, "texts", encoding),
    }
    if kind in readers:
        return readers[kind]()
    if extension not in (".npy", ".npz"):
        raise InputError(f"{file}: expected a table, as .csv, or an array, as .npy; got a {extension} file")
    return Dataset(read_array(file, key), "vectors", None, None, str(file))


def items_of(
    frame: Frame,
    file: Path,
    kind: str | None,
    *,
    columns: Sequence[str | int] | None = None,
    smiles_column: str | int | None = None,
    fingerprint: dict[str, Any] | None = None,
    kinds: Sequence[str] | None = None,
) -> Dataset:
    """Items of a frame: molecules or texts of one of its columns, series or curves of its rows, or its rows."""
    source = str(file)
    if kind == "molecules":
        if smiles_column is None:
            raise InputError(f"{file}: name the column of SMILES with smiles_column=")
        column = frame.columns[locate(smiles_column, names_of(frame), frame.shape[1], "smiles_column")]
        return molecules(frame, column, source, fingerprint or {})
    if fingerprint:
        raise InputError(f"{next(iter(fingerprint))!r} is for molecules, and needs smiles_column=")
    frame = selected(frame, columns, None)
    if kind in ("sequences", "texts"):
        return _texts_of(frame, file, kind)
    if kind == "series":
        return series_of(frame, source)
    if kind == "curves":
        return curves_of(frame, source)
    if kind not in (None, "vectors"):
        raise InputError(f"{file}: expected {kind}; got a table; leave out what asks for {kind}")
    return to_dataset(frame, source, kinds=kinds)


def _texts_of(frame: Frame, file: Path, kind: Any) -> Dataset:
    """Sequences or texts of the only column of a frame; rows without a text are left out."""
    if frame.shape[1] != 1:
        raise InputError(
            f"{file}: {kind} stand in one column; got {listed(list(map(quote, map(str, frame.columns))))}; name it "
            "with columns="
        )
    texts = ["" if cell is None else cell for cell in column_cells(frame.iloc[:, 0], str(file), "text")]
    data = Dataset(np.array(texts, object), kind, row_names(frame), None, str(file), row_title=row_title(frame))
    known = np.array([*map(bool, texts)])
    return data if known.all() else keep_rows(data, known, NOTHING_KNOWN)


def _strings(file: Path, kind: Kind, encoding: str) -> Dataset:
    """Sequences of a FASTA file, or a text per line; sequences are texts where a line has several words."""
    if extension_of(file) in FASTA:
        return read_fasta(file, kind, encoding)
    if extension_of(file) != ".txt":
        raise InputError(f"{file}: expected a .txt file, {', '.join(FASTA)} or a table; got another; rename it")
    texts = [line.strip() for line in read_text(file, encoding).splitlines() if line.strip()]
    refuse_empty(texts, file, "a text per line")
    if kind == "sequences" and any(len(text.split()) > 1 for text in texts):
        kind = "texts"
    return Dataset(np.array(texts, object), kind, None, None, str(file))


def read_gram_rows(file: Path, key: str | None) -> Dataset:
    """Kernel values of an array, or of several of one shape, which are views of the same items."""
    if extension_of(file) == ".npy":
        X = load_npy(file)
        if X.ndim == 3:
            return Dataset(X, "gram", None, None, str(file))
    shapes = array_shapes(file)
    if key is None and len(shapes) > 1 and len(set(shapes.values())) == 1:
        return Dataset(np.stack([read_array(file, name) for name in sorted(shapes)]), "gram", None, None, str(file))
    return Dataset(read_array(file, key), "vectors", None, None, str(file))
