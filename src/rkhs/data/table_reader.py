"""Read a table, a Gram matrix or molecules, whole or some rows at a time; options and formats are checked together."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from rkhs._core.checks import check_choice, check_count, check_list
from rkhs._core.errors import InputError, optional, quote
from rkhs._core.files import UNREADABLE, as_path, check_readable, old_headers
from rkhs.data.arrays import named_by_arrays, read_array
from rkhs.data.dataset import Dataset, RowNames, as_gram, as_numbers, check_unique_names, existing_path, locate
from rkhs.data.fasta import read_fasta
from rkhs.data.formats import (
    FASTA,
    FINGERPRINTS,
    SDF,
    SPECTRA,
    TABLES,
    TEXT_TABLES,
    advice,
    extension_of,
    has_columns,
    is_text_table,
)
from rkhs.data.layout import LAYOUT as LAYOUT, find_layout as find_layout
from rkhs.data.molecule_files import N_BITS, RADIUS, OnError, SmilesRows, molecules, read_sdf, smi_chunks
from rkhs.data.spectra_files import read_tags
from rkhs.data.tables import Column, Columns, located, text_chunks, typed

_FINGERPRINT_OPTIONS = frozenset({"on_error", "fingerprint", "radius", "n_bits"})
_COLUMN_SELECTION = frozenset({"columns", "drop_columns"})
_LISTS = ("columns", "drop_columns", "missing")
_LAYOUT = frozenset(LAYOUT) - {"key"}
_TEXT = _COLUMN_SELECTION | _LAYOUT | {"index_column", "smiles_column", "gram"} | _FINGERPRINT_OPTIONS
# Options that each format accepts; others are an error instead of being ignored.
_ALLOWED: dict[str, frozenset[str]] = {
    **dict.fromkeys((*TEXT_TABLES, ".txt"), _TEXT),
    ".xlsx": _TEXT - {"delimiter", "encoding", "comment"} | {"key"},
    **dict.fromkeys((".parquet", ".feather"), _TEXT - _LAYOUT | {"missing"}),
    ".npy": _COLUMN_SELECTION | {"gram"},
    ".npz": _COLUMN_SELECTION | {"gram", "key"},
    ".smi": frozenset({"encoding"}) | _FINGERPRINT_OPTIONS,
    **dict.fromkeys(SDF, _FINGERPRINT_OPTIONS | {"columns", "index_column", "missing"}),
    **dict.fromkeys(SPECTRA, frozenset({"columns", "missing", "encoding"})),
    **dict.fromkeys(FASTA, frozenset()),
}
EXTENSIONS = tuple(_ALLOWED)
_MOLECULES = (".smi", *SDF)


class Options(SimpleNamespace):
    """The arguments of `read_table`, with their defaults."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**(read_table.__kwdefaults__ or {}), **given})

    @property
    def fingerprint_options(self) -> dict[str, Any]:
        """Arguments of the function that computes fingerprints."""
        counts = self.fingerprint == "counts"
        parts = {name: getattr(self, name) for name in ("radius", "n_bits", "on_error")}
        return parts | {"fingerprint": "morgan" if counts else self.fingerprint, "counts": counts}


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str | int] | None = None,
    index_column: str | int | None = None,
    smiles_column: str | int | None = None,
    gram: bool | Literal["cross"] = False,
    key: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    on_error: OnError = "raise",
    fingerprint: str = "morgan",
    radius: int = RADIUS,
    n_bits: int = N_BITS,
    drop_columns: Sequence[str | int] | None = None,
    missing: Sequence[str] | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    skip_rows: int | None = None,
) -> Dataset:
    r"""Read vectors, a Gram matrix or molecules from a file; its extension says the format.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv`` or ``.txt`` file, also packed (``.csv.gz``, ``.tsv.gz``, ``.txt.gz``); ``.xlsx``,
        ``.parquet``, ``.feather``, ``.npy``, ``.npz``, ``.smi``, ``.sdf``, ``.sdf.gz``, ``.mol`` or ``.fasta``
        (``.fa``, ``.faa``, ``.fna``, ``.afa``, each also ``.gz``).
    columns : sequence of str or int, default=None
        Columns to read, by name or by position counted from 0 in the file, in the order wanted; None reads all. Of an
        ``.sdf`` file these are tags, and None makes fingerprints.
    index_column : str or int, default=None
        Column of row names, a tag of an ``.sdf`` file. None takes a first column without a header (as R and pandas
        write it), or a first column that holds only text, all different. A first column of numbers with a header is
        data unless named here.
    smiles_column : str or int, default=None
        Column of SMILES; the result is then of kind "molecules". A ``.smi`` file needs none.
    gram : bool or "cross", default=False
        True: a square Gram matrix. "cross": a matrix between new rows and known columns.
    key : str, default=None
        Which array of a ``.npz`` file, None if it holds one; which sheet of a ``.xlsx`` file, None for the first.
    header : bool, default=None
        Whether the first row of a text file holds column names. None: yes if it is all text, no if it is all numbers,
        else it is refused.
    delimiter : str, default=None
        Field separator, one character. None: the usual one of the extension if it splits the first lines into equally
        many cells, two or more; else the one that does, into most numbers.
    encoding : str, default="utf-8"
        Of a text file.
    on_error : {"raise", "skip"}, default="raise"
        For SMILES that cannot be read: an error that names their rows, or leave them out and report them in `skipped`.
    fingerprint : {"morgan", "path", "maccs", "counts"}, default="morgan"
        What SMILES are turned into: see :func:`molecular_fingerprints`; "counts" is "morgan" with counts.
    radius : int, default=2
        Radius of the "morgan" and "counts" fingerprints, in bonds.
    n_bits : int, default=2048
        Length of a fingerprint; "maccs" has 167.
    drop_columns : sequence of str or int, default=None
        Columns to leave out, in place of `columns`; they may hold texts and gaps.
    missing : sequence of str, default=None
        Further cell values to treat as missing, in addition to the usual ones such as NA.
    decimal : str, default=None
        Decimal mark; None is a comma where semicolons, tabulators or white space split cells such as 1,5, else a point.
    thousands : str, default=None
        Character between the thousands of numbers such as 1,234; None refuses these.
    comment : str, default=None
        One character or ``//``: lines that begin with it are left out. None leaves out those above the table that
        begin with ``#``, ``%`` or ``//``, and such lines between its rows where no row of the table is like them.
    skip_rows : int, default=None
        Number of rows to skip above the table. None: skips titles, that is rows with a single text.

    Returns
    -------
    Dataset
        `X` of shape (n, d), finite, with `kind`, `row_names`, `column_names` and `source`. Vectors are float64, or
        float32 if the file stores float32; fingerprints are uint8, counts uint16.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another format, or holds anything but finite real numbers where these are
        expected.
    MissingExtraError
        If a ``.xlsx``, ``.parquet`` or ``.feather`` file needs the extra ``tables``, or molecules the extra ``chem``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rkhs.data import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rows.csv"
    ...     _ = file.write_text("x,y\n1,2\n3,4\n")
    ...     data = read_table(file)
    >>> data.kind, data.column_names, data.X
    ('vectors', ('x', 'y'), array([[1., 2.],
           [3., 4.]]))
    """
    return next(read_parts(*checked_options(path, {name: value for name, value in locals().items() if name != "path"})))


def checked_options(path: str | os.PathLike[str], given: dict[str, Any]) -> tuple[Path, str, Options]:
    """The path, its extension, and options that fit the format and each other."""
    file, extension = check_path(path)
    options = Options(**given | {name: column_list(given.get(name), name) for name in _LISTS})
    _check_options(options, extension)
    return file, extension, options


def read_parts(file: Path, extension: str, options: Options, rows: int | None = None) -> Iterator[Dataset]:
    """Read a text file in chunks of ``rows`` rows, any other file at once."""
    source = str(file)
    if extension in FASTA:
        yield read_fasta(file)
    elif options.smiles_column is not None or (extension in _MOLECULES and options.columns is None):
        yield from molecules(_smiles(file, extension, options, rows), source, options.fingerprint_options)
    elif extension in (".npy", ".npz"):
        X = read_array(file, options.key, options.columns, options.drop_columns, square=options.gram is True)
        data = Dataset(X, "vectors", None, None, source)
        chosen = options.columns or options.drop_columns or extension == ".npy"
        yield as_gram(named_by_arrays(data, file, options.gram) if options.gram and not chosen else data, options.gram)
    else:
        yield from _numbers(file, options, rows)


def _numbers(file: Path, options: Options, rows: int | None) -> Iterator[Dataset]:
    """Numbers of a table, some rows at a time."""
    known: bool | None = None
    for part in open_columns(file, options, rows=rows):
        data = part.numbers(options.columns, options.drop_columns, options.index_column, known)
        known = data.row_names is not None
        yield as_gram(data, options.gram)


def _smiles(file: Path, extension: str, options: Options, rows: int | None) -> Iterator[SmilesRows]:
    if extension in SDF:
        yield text_column(read_sdf(file, (), options.index_column), 0, options.index_column, "smiles")
    elif extension == ".smi":
        yield from smi_chunks(file, options.encoding, rows)
    else:
        known: bool | None = None
        for part in open_columns(file, options, (options.smiles_column, "smiles_column"), rows=rows):
            smiles, names = text_column(part, options.smiles_column, options.index_column, "smiles_column", known)
            known = names[0] is not None
            yield smiles, names


def check_path(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """An existing path and its extension, which must be supported."""
    file = existing_path(path)
    extension = extension_of(file)
    if file.is_dir():
        raise InputError(f"`path` must name a file; got the folder {str(file)!r}; name one file in it")
    if extension not in _ALLOWED:
        raise InputError(f"`path` must end in {', '.join(EXTENSIONS)}; got {file.name!r}; {advice(file)}")
    return file, extension


def _check_options(options: Options, extension: str) -> None:
    check_choice(options.on_error, "on_error", ("raise", "skip"))
    _check_flag(options.gram, "gram", "cross")
    _check_flag(options.header, "header", None)
    given = _given(options)
    unused = [name for name in given if name not in _ALLOWED[extension]]
    if unused:
        taken, named = (", ".join(f"`{name}`" for name in names) for names in (sorted(_ALLOWED[extension]), unused))
        raise InputError(f"a {extension} file takes the arguments {taken or 'none'}; got {named}; leave it out")
    _check_together(given)
    check_layout(options)
    _check_fingerprint_options(options, extension, [name for name in given if name in _FINGERPRINT_OPTIONS])


def _check_together(given: list[str]) -> None:
    others = [name for name in ("gram", "columns", "drop_columns") if name in given]
    if "smiles_column" in given and others:
        raise InputError(
            f"`smiles_column` makes fingerprints the only columns; got `{others[0]}` too; leave one out, and read "
            "other columns with a second call"
        )
    if {"columns", "drop_columns"} <= set(given):
        raise InputError("`columns` and `drop_columns` exclude each other; got both; pass one of them")


def _check_flag(value: Any, name: str, other: str | None) -> None:
    if not isinstance(value, bool) and (type(value) is not type(other) or value != other):
        raise InputError(f"`{name}` must be True, False or {other!r}; got {value!r}; choose one of them")


def check_layout(options: Options) -> None:
    """Check the layout options of a text table."""
    for name, example in (("delimiter", ";"), ("decimal", ","), ("thousands", ","), ("comment", "#")):
        mark = getattr(options, name)
        if mark not in (None, "//") and (not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n'):
            raise InputError(f"`{name}` must be one character; got {quote(mark)}; for example {example!r}")
    if options.skip_rows is not None:
        check_count(options.skip_rows, "skip_rows", at_least=0)
    if options.missing is not None:
        check_list(options.missing, "missing", "cells")


def _given(options: Options) -> list[str]:
    """The options that are not left at their defaults."""
    pairs = [(name, getattr(options, name), default) for name, default in vars(Options()).items()]
    return [name for name, value, default in pairs if type(value) is not type(default) or value != default]


def _check_fingerprint_options(options: Options, extension: str, given: list[str]) -> None:
    """Check that fingerprint options are given only with SMILES, and only those that the fingerprint has."""
    if given and options.smiles_column is None and (options.columns or extension not in _MOLECULES):
        argument = f"{given[0]}={getattr(options, given[0])!r}".replace("'", '"')
        raise InputError(f"{argument} is for SMILES and needs `smiles_column`; name the column, or leave it out")
    check_choice(options.fingerprint, "fingerprint", FINGERPRINTS)
    lacks = {"path": {"radius"}, "maccs": {"radius", "n_bits"}}.get(options.fingerprint, set())
    if useless := sorted(lacks.intersection(given)):
        raise InputError(f"{options.fingerprint} fingerprints have no {useless[0]}; got {getattr(options, useless[0])}")


def column_list(columns: Any, name: str = "columns") -> Any:
    """Columns as a list that can be read more than once; a single text is refused where names are known."""
    if columns is None or isinstance(columns, (str, bytes)):
        return columns
    if not hasattr(columns, "__iter__"):
        raise InputError(f"`{name}` must be a list of column names or positions; got {quote(columns)}; write [...]")
    return list(columns)


def open_columns(file: Path, options: Options, *raw: tuple[Any, str], rows: int | None = None) -> Iterator[Columns]:
    """All columns of a table, in chunks of ``rows`` rows for a text file; the columns ``raw`` are kept as strings."""
    extension, missing = extension_of(file), options.missing or ()
    if extension in SDF:
        return iter([read_sdf(file, missing, options.index_column)])
    if extension in SPECTRA:
        return iter([read_tags(file, missing, options.encoding)])
    if extension in TABLES and extension not in TEXT_TABLES:
        return _open_parquet(file, missing, rows, raw)
    raw = ((options.index_column, "index_column"), *raw)
    return text_chunks(file, _with_header(options, [name for name, _ in raw]), raw, rows)


def _with_header(options: Options, columns: Sequence[Any]) -> Options:
    """The options with a row of names where columns are asked for by name."""
    asked = [*(options.columns or ()), *(options.drop_columns or ()), *columns]
    by_name = options.header is None and any(isinstance(column, str) for column in asked)
    return Options(**vars(options) | {"header": True}) if by_name else options


def _open_parquet(
    path: Path, missing: Collection[str], rows: int | None, raw: Sequence[tuple[Any, str]]
) -> Iterator[Columns]:
    """A parquet or feather file as columns, with the names of rows that it stores; parquet some rows at a time."""
    import pandas

    start = 0
    for frame in _stored_frames(path, rows):
        if frame.shape[1] == 0 or not (start or len(frame)):
            raise InputError(
                f"{path}: expected at least one row and one column; got shape {frame.shape}; check the file"
            )
        names = tuple(str(name) for name in frame.columns)
        check_unique_names(names, str(path))
        stored = None if isinstance(frame.index, pandas.RangeIndex) else tuple(str(name) for name in frame.index)
        title = None if stored is None or frame.index.name is None else str(frame.index.name)
        texts = located(raw, names, len(names))
        cells = [
            _parquet_column(frame.iloc[:, j], f"{path}, column {names[j]!r}", frozenset(missing), raw=j in texts)
            for j in range(len(names))
        ]
        yield Columns(str(path), names, cells, stored=stored, stored_title=title, start=start)
        start += len(frame)


def _stored_frames(path: Path, rows: int | None) -> Iterator[Any]:
    import pandas

    parquet = optional("pyarrow.parquet")
    form = path.suffix.lower()[1:]
    try:
        if form == "feather":
            yield pandas.read_feather(path)
        elif rows is None:
            yield pandas.read_parquet(path, engine="pyarrow")
        else:
            with parquet.ParquetFile(path) as file:
                batches = file.iter_batches(rows) if file.metadata.num_rows else [file.schema_arrow.empty_table()]
                yield from (batch.to_pandas() for batch in batches)
    except InputError:
        raise
    except Exception as error:  # pandas takes the file's own notes on its types as they are, so anything can be raised
        raise InputError(
            f"{path}: expected a complete {form} file; got one that cannot be read ({error}); write it again"
        ) from error


def _parquet_column(series: Any, where: str, missing: frozenset[str], *, raw: bool) -> Column:
    from pandas.api.types import is_numeric_dtype

    gone = series.isna().to_numpy()
    if is_numeric_dtype(series.dtype):
        array = series.to_numpy(dtype=np.float64, na_value=np.nan) if gone.any() else series.to_numpy()
        return as_numbers(np.asarray(array), where)
    cells = [None if empty else str(cell) for cell, empty in zip(series.tolist(), gone, strict=True)]
    return np.array(cells, dtype=object) if raw else typed(cells, ".", missing, where)


def text_column(
    found: Columns, column: Any, index_column: str | int | None, argument: str, known: bool | None = None
) -> tuple[list[str], RowNames]:
    """The strings of a column, and the row names with the title of their column."""
    position = locate(column, found.names, found.width, argument)
    free = found.may_name_rows([position], None, index_column)
    named = free and (found.names_first() if known is None else known)
    _, index = found.chosen([position], None, index_column, named=named)
    return found.texts(position), found.row_names(index)


def column_count(path: str | os.PathLike[str], **options: Any) -> int:
    """Number of columns of a table, with those that are empty."""
    return next(open_columns(as_path(path), Options(**options), rows=1)).width


def column_titles(path: str | os.PathLike[str], **options: Any) -> list[str]:
    """Cells of the first row of a text file, or names of the columns of a parquet file; none where there are none."""
    file = as_path(path)
    if not file.is_file() or not has_columns(file):
        return []
    check_readable(file)
    try:
        if not is_text_table(file):
            settings = Options(**{name: options[name] for name in ("encoding",) if name in options})
            return list(next(open_columns(file, settings, rows=1)).names or ())
        return list(find_layout(file, Options(**options | {"header": True, "missing": None})).names or ())
    except InputError:  # read_table reports the error
        return []


def read_chunks(path: str | os.PathLike[str], *, rows: int = 10_000, **options: Any) -> Iterator[Dataset]:
    """Read a file in chunks of rows, each a data set as :func:`read_table` returns it.

    The first chunk shows whether the first column holds row names. Later chunks follow it: a text among the numbers of
    that column, or a number among the names, is then an error.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv``, ``.smi``, ``.parquet`` and ``.npy`` files are read as they are needed; others are read whole
        and handed out in chunks.
    rows : int, default=10000
        Rows of a chunk; the last may have fewer. Rows that are left out (``on_error="skip"``) are missing from it, and
        where all of them are, the chunk is left out and another lists them in `skipped`.
    **options
        Those of :func:`read_table`; ``gram`` must be False or ``"cross"``.

    Yields
    ------
    Dataset

    Raises
    ------
    InputError
        As :func:`read_table`; a bad row is found when its chunk is read.
    MissingExtraError
        If molecules need the extra ``chem``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from rkhs.data import read_chunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.ones((5, 3)))
    ...     [chunk.X.shape for chunk in read_chunks(f"{folder}/rows.npy", rows=2)]
    [(2, 3), (2, 3), (1, 3)]
    """
    count = check_count(rows, "rows")
    unknown = set(options) - set(vars(Options()))
    if unknown:
        raise InputError(f"read_chunks has no option {sorted(unknown)[0]!r}; it has those of read_table")
    file, extension, settings = checked_options(path, options)
    if settings.gram is True:
        raise InputError("read_chunks reads rows: a square Gram matrix is read by read_table; got gram=True")
    if extension in (".smi", ".parquet") or is_text_table(file):
        start = 0
        for part in read_parts(file, extension, settings, count):
            yield replace(part, start=start)
            start += part.n_samples + len(part.skipped)
    else:
        whole = _mapped(file, settings) if extension == ".npy" else read_table(path, **options)
        for start in range(0, len(whole.X), count):
            yield _part(whole, start, start + count)


def _part(whole: Dataset, start: int, stop: int) -> Dataset:
    names, smiles = (None if c is None else c[start:stop] for c in (whole.row_names, whole.smiles))
    X = whole.X[start:stop]
    if isinstance(X, np.memmap):
        X = as_numbers(np.array(X), whole.source)
        if not np.isfinite(X).all():
            row = start + int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            raise InputError(f"{whole.source}: expected finite numbers; got NaN or infinity in row {row + 1}")
    return replace(whole, X=X, row_names=names, smiles=smiles, start=start, skipped=() if start else whole.skipped)


def _mapped(file: Path, settings: Options) -> Dataset:
    """A matrix of real numbers that stays on the disk; anything else is read, or refused, by read_table."""
    try:
        with old_headers():
            X: np.ndarray = np.lib.format.open_memmap(file, mode="r")
    except UNREADABLE:
        X = np.empty(0)
    chosen: Any = {"columns": settings.columns, "drop_columns": settings.drop_columns}
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.size or any(v is not None for v in chosen.values()):
        return read_table(file, gram=settings.gram, **chosen)
    return Dataset(X, "gram" if settings.gram else "vectors", None, None, str(file))
