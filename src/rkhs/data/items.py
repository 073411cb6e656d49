"""One reader for items of every kind that pandas does not read: what the file is called, or the user, says which."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError, quote, warn
from rkhs.data.arrays import array_names, array_types, load_npy, read_array
from rkhs.data.cells import column_cells, names_of, row_names
from rkhs.data.curves import curve_files, curves_of, read_curve_arrays, read_curve_folder
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
from rkhs.data.fasta import as_dna, note_of_masked, read_fasta
from rkhs.data.formats import FASTA, KINDS, SDF, SPECTRA, TABLES, advice, extension_of
from rkhs.data.frames import Frame, read_frame, selected, to_dataset, with_index
from rkhs.data.graph_files import GRAPH_EXTENSIONS, read_graphs
from rkhs.data.molecule_files import molecules, read_sdf, smi_rows
from rkhs.data.series_files import read_series, series_of
from rkhs.data.spectra_files import read_spectra

_GRAPH_ARRAYS = {"edges", "edge_ptr", "node_ptr"}
_OTHERS = (".npy", ".npz", ".txt", ".ts", ".smi", *SDF, *FASTA, *SPECTRA, *GRAPH_EXTENSIONS)


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
    * Series: ``.ts``, the UEA format, channels between colons; ``.tsv``, the UCR format, a whole number, the class, and
      the values in a row; ``.csv``, a series per row; ``.npz`` and ``.npy``, arrays of shape (length,) or (length,
      channels), or one of shape (n, length) or (n, length, channels). Missing values at the end are padding.
    * Curves: a table whose first row holds the times (``read={"header": None}`` if it is a curve); ``.npz`` with
      ``times`` or ``t`` beside the values; a folder of tables of an axis and values. Gaps are filled by straight lines
      between known values.
    * Spectra: ``.mgf``, ``.msp``, ``.ms``. An item is a pair ``(mz, intensity)`` of arrays; records of MS level 1 next
      to others are left out.

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
    found = "molecules" if smiles_column is not None else kind or kind_of(file)
    if extension_of(file) in TABLES and not (found == "series" and frame_of_series(file, columns, read)):
        if found is None:
            raise InputError(f"{file}: a table is read by pandas; pass its frame to fit, or name the kind of its items")
        named = [*(columns or ()), *([] if smiles_column is None else [smiles_column])]
        frame = read_frame(file, read or {}, named=found == "curves")
        frame = with_index(frame, index_column, named)
        return items_of(frame, file, found, columns=columns, smiles_column=smiles_column, fingerprint=fingerprint)
    return read_objects(file, found, key=key, encoding=encoding, fingerprint=fingerprint)


def kind_of(file: Path) -> Kind | None:
    """The kind that the name of a file stands for; None for tables and arrays."""
    extension = extension_of(file)
    if file.is_dir():
        return "curves" if curve_files(file) else "graphs"
    if extension in GRAPH_EXTENSIONS or file.name.endswith("_A.txt"):
        return "graphs"
    if extension == ".npz":
        return "graphs" if array_names(file) >= _GRAPH_ARRAYS else None
    if extension not in (*TABLES, *_OTHERS):
        raise InputError(
            f"`path` must be a folder of graphs or end in {', '.join((*TABLES, *_OTHERS))}; got {file.name!r}; "
            f"{advice(file)}"
        )
    known: dict[str, Kind] = {".txt": "sequences", ".ts": "series", ".smi": "molecules"}
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
    if kind == "graphs":
        return read_graphs(file)
    if kind == "series":
        return read_series(file, key, encoding)
    if kind == "spectra":
        return read_spectra(file, encoding)
    if kind == "curves":
        return read_curve_folder(file) if file.is_dir() else read_curve_arrays(file, key)
    if kind in ("sequences", "texts"):
        strings: Any = kind
        return read_fasta(file, strings) if extension in FASTA else _lines(file, kind, encoding)
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


def frame_of_series(file: Path, columns: Any, read: Any) -> bool:
    """Whether a .csv or .tsv file holds series as the archives write them: rows of numbers without names."""
    from rkhs.data.series_files import rows_of_numbers

    return columns is None and not read and extension_of(file) in (".csv", ".tsv") and rows_of_numbers(file)


def _texts_of(frame: Frame, file: Path, kind: Any) -> Dataset:
    """Sequences or texts of the only column of a frame; rows without a text are left out."""
    if frame.shape[1] != 1:
        raise InputError(
            f"{file}: {kind} stand in one column; got {listed(list(map(quote, map(str, frame.columns))))}; name it "
            "with columns="
        )
    cells = column_cells(frame.iloc[:, 0], str(file), "text")
    texts = ["" if cell is None else cell for cell in cells]
    data = _of_texts(texts, kind, str(file), row_names(frame))
    known = np.array([*map(bool, texts)])
    return data if known.all() else keep_rows(data, known, NOTHING_KNOWN)


def _of_texts(texts: list[str], kind: Any, source: str, names: tuple[str, ...] | None) -> Dataset:
    """Sequences, nucleotides with T for U where both occur, or texts as they are."""
    if kind == "sequences":
        texts, notes = as_dna(texts)
        for note in (*notes, *note_of_masked(texts)):
            warn(f"{source}: {note}")
    return Dataset(np.array(texts, object), kind, names, None, source)


def _lines(file: Path, kind: Any, encoding: str) -> Dataset:
    """A text per line; sequences, or texts where a line has several words."""
    if extension_of(file) != ".txt":
        raise InputError(f"{file}: expected a .txt file, {', '.join(FASTA)} or a table; got another; rename it")
    texts = [line.strip() for line in read_text(file, encoding).splitlines() if line.strip()]
    refuse_empty(texts, file, "a text per line")
    if kind == "sequences" and any(len(text.split()) > 1 for text in texts):
        kind = "texts"
    return _of_texts(texts, kind, str(file), None)


def read_gram_rows(file: Path, key: str | None, read: Mapping[str, Any], index: Any) -> Dataset:
    """Kernel values of a table or an array, with the names of rows and columns of a table."""
    if extension_of(file) in TABLES:
        return to_dataset(with_index(read_frame(file, read), index), str(file))
    X = load_npy(file) if extension_of(file) == ".npy" else None
    if X is not None and X.ndim == 3:
        return Dataset(X, "gram", None, None, str(file))
    shapes = {name: shape for name, (shape, _) in array_types(file).items() if len(shape) == 2}
    if key is None and len(shapes) > 1 and len(set(shapes.values())) == 1:  # several views of the same items
        return Dataset(np.stack([read_array(file, name) for name in sorted(shapes)]), "gram", None, None, str(file))
    return Dataset(read_array(file, key, square=True), "vectors", None, None, str(file))
