"""One function that reads a table, a Gram matrix or molecules from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError, shown
from rkhs._core.files import as_path, check_readable
from rkhs.data.arrays import read_npy, read_npz
from rkhs.data.dataset import Dataset, Table, gram_names
from rkhs.data.fast_text import columns_of_large_file
from rkhs.data.fingerprints import N_BITS, RADIUS, OnError
from rkhs.data.molecule_files import molecule_dataset, read_smi
from rkhs.data.parquet import parquet_titles, read_parquet_numbers, read_parquet_text
from rkhs.data.sequences import read_fasta, sequence_dataset
from rkhs.data.text import TextFile, found_delimiter, open_text, read_numbers, read_text_columns

__all__ = ["EXTENSIONS", "read_table"]

_PRINTS = frozenset({"on_error", "fingerprint", "radius", "n_bits"})
_SOME = frozenset({"columns", "drop_columns"})
_TEXT = _SOME | {"index_column", "smiles_column", "gram", "header", "delimiter", "encoding"} | _PRINTS
# What each extension can use; an argument that would be ignored is refused instead.
_USES: dict[str, frozenset[str]] = {
    ".csv": _TEXT,
    ".tsv": _TEXT,
    ".parquet": _SOME | {"index_column", "smiles_column", "gram"} | _PRINTS,
    ".npy": _SOME | {"gram"},
    ".npz": _SOME | {"gram", "key"},
    ".smi": frozenset({"encoding"}) | _PRINTS,
    ".fasta": frozenset(),
    ".fa": frozenset(),
}
EXTENSIONS = tuple(_USES)


@dataclass(frozen=True)
class _Options:
    """The arguments of `read_table`, with their defaults."""

    columns: Sequence[str | int] | None = None
    index_column: str | int | None = None
    smiles_column: str | int | None = None
    gram: bool | Literal["cross"] = False
    key: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    on_error: OnError = "raise"
    fingerprint: str = "morgan"
    radius: int = RADIUS
    n_bits: int = N_BITS
    drop_columns: Sequence[str | int] | None = None

    @property
    def recipe(self) -> dict[str, Any]:
        """What makes fingerprints of SMILES."""
        return {"fingerprint": self.fingerprint, "radius": self.radius, "n_bits": self.n_bits}


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
) -> Dataset:
    """Read vectors, a Gram matrix or molecules from a file; its extension says the format.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.parquet``, ``.npy``, ``.npz``, ``.smi`` or ``.fasta`` (``.fa``) file.
    columns : sequence of str or int, default=None
        Columns to read, by name or by position counted from 0 in the file, in the order wanted; None reads all.
    index_column : str or int, default=None
        Column of row names. None takes a first column without a header (as R and pandas write it), or a first column
        that holds only text, all different. A first column of numbers with a header is data unless named here.
    smiles_column : str or int, default=None
        Column of SMILES; the result is then of kind "molecules". A ``.smi`` file needs none.
    gram : bool or "cross", default=False
        True: a square Gram matrix. "cross": a matrix between new rows and known columns.
    key : str, default=None
        Which array of a ``.npz`` file; None if it holds one.
    header : bool, default=None
        Whether the first row of a text file holds column names. None: yes if it is all text, no if it is all numbers;
        a mixture, or equally spaced numbers (which may name a grid), is refused with the request to say it.
    delimiter : str, default=None
        One character between cells; None is a comma in ``.csv`` and a tabulator in ``.tsv``. Where this splits none of
        the first lines, it is another of ``,``, ``;``, ``|`` and the tabulator, if that splits all of them alike.
    encoding : str, default="utf-8"
        Of a text file.
    on_error : {"raise", "skip"}, default="raise"
        For SMILES that cannot be read: an error that names their rows, or leave them out and report them in `skipped`.
    fingerprint : {"morgan", "path", "maccs", "counts"}, default="morgan"
        What SMILES are turned into: see :func:`molecular_fingerprints`; "counts" is "morgan" with counts.
    radius : int, default=2
        Of "morgan" and "counts", in bonds.
    n_bits : int, default=2048
        Length of a fingerprint; "maccs" has 167.
    drop_columns : sequence of str or int, default=None
        Columns to leave out, in place of `columns`; they may hold texts and gaps.

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
        If a parquet file needs the extra ``tables``, or fingerprints the extra ``chem``.
    """
    texts = (header, delimiter, encoding, on_error)
    dropped = _listed(drop_columns, "drop_columns")
    recipe = (fingerprint, radius, n_bits)
    options = _Options(_listed(columns), index_column, smiles_column, gram, key, *texts, *recipe, dropped)
    file, extension = _check_path(path)
    _check_options(options, extension)
    return _read(file, extension, options)


def _read(file: Path, extension: str, options: _Options) -> Dataset:
    source = str(file)
    if extension in (".fasta", ".fa"):
        return sequence_dataset(read_fasta(file))
    if extension == ".smi":
        smiles, names = read_smi(file, encoding=options.encoding)
        return molecule_dataset(smiles, names, source=source, on_error=options.on_error, recipe=options.recipe)
    if options.smiles_column is not None:
        smiles, names = read_texts(file, extension, options.smiles_column, options, "smiles_column")
        return molecule_dataset(smiles, names, source=source, on_error=options.on_error, recipe=options.recipe)
    table = _read_numbers(file, extension, options)
    if options.gram:
        table = gram_names(table, options.gram, source)
    kind: Any = "gram" if options.gram else "vectors"
    return Dataset(table.values, kind, table.row_names, table.column_names, source, row_title=table.row_title)


def _check_path(path: str | os.PathLike[str]) -> tuple[Path, str]:
    file = as_path(path)
    extension = file.suffix.lower()
    if file.is_dir():
        raise InputError(f"`path` must name a file; got the folder {str(file)!r}; name one file in it")
    if not file.exists():
        raise InputError(
            f"`path` must name a file that exists; got {str(file)!r}, which does not; check folder and spelling"
        )
    check_readable(file)
    if extension not in _USES:
        raise InputError(
            f"`path` must end in {', '.join(EXTENSIONS)}; got {file.name!r}; convert the file, or rename it if its "
            "content is one of these"
        )
    return file, extension


def _check_options(options: _Options, extension: str) -> None:
    check_choice(options.on_error, "on_error", ("raise", "skip"))
    if not isinstance(options.gram, bool) and not (isinstance(options.gram, str) and options.gram == "cross"):
        raise InputError(f'`gram` must be True, False or "cross"; got {options.gram!r}; choose one of them')
    if options.header is not None and not isinstance(options.header, bool):
        raise InputError(f"`header` must be True, False or None; got {options.header!r}; choose one of them")
    unused = [name for name in _given(options) if name not in _USES[extension]]
    if unused:
        taken, given = (", ".join(f"`{name}`" for name in names) for names in (sorted(_USES[extension]), unused))
        raise InputError(f"a {extension} file takes the arguments {taken or 'none'}; got {given}; leave it out")
    chosen = next((name for name in ("columns", "drop_columns") if getattr(options, name) is not None), None)
    if options.smiles_column is not None and (options.gram or chosen is not None):
        other = "gram" if options.gram else chosen
        raise InputError(
            f"`smiles_column` makes fingerprints the only columns; got `{other}` too; leave one out, and read other "
            "columns with a second call"
        )
    if options.columns is not None and options.drop_columns is not None:
        raise InputError("`columns` names what is read and `drop_columns` what is not; got both; leave one out")
    _check_recipe(options, extension)


def _given(options: _Options) -> list[str]:
    """The options that are not left at their defaults."""
    pairs = [(name, getattr(options, name), default) for name, default in vars(_Options()).items()]
    return [name for name, value, default in pairs if type(value) is not type(default) or value != default]


def _check_recipe(options: _Options, extension: str) -> None:
    """Refuse what concerns SMILES where there are none, and parts of a fingerprint that it does not have."""
    given = [name for name in sorted(_PRINTS) if name in _given(options)]
    if given and options.smiles_column is None and extension != ".smi":
        argument = f"{given[0]}={getattr(options, given[0])!r}".replace("'", '"')
        raise InputError(f"{argument} is for SMILES; got it without `smiles_column`; leave it out or name the column")
    check_choice(options.fingerprint, "fingerprint", ("morgan", "path", "maccs", "counts"))
    lacks = {"path": {"radius"}, "maccs": {"radius", "n_bits"}}.get(options.fingerprint, set())
    if useless := sorted(lacks.intersection(given)):
        raise InputError(f"{options.fingerprint} fingerprints have no {useless[0]}; got {getattr(options, useless[0])}")


def _listed(columns: Any, name: str = "columns") -> Any:
    """Columns as a list that can be read more than once; a single text is refused where names are known."""
    if columns is None or isinstance(columns, (str, bytes)):
        return columns
    if not hasattr(columns, "__iter__"):
        raise InputError(f"`{name}` must be a list of column names or positions; got {shown(columns)}; write [...]")
    return list(columns)


def _open(file: Path, options: _Options, *columns: Any) -> TextFile:
    """A text file as a table. Columns asked for by name imply names, so a first row of mixed cells is no riddle."""
    named = any(isinstance(column, str) for column in columns)
    header = True if options.header is None and named else options.header
    return open_text(file, delimiter=_delimiter(options, file), header=header, encoding=options.encoding)


def _open_whole(file: Path, options: _Options) -> TextFile:
    """A text file as a table whose columns can be read at once."""
    opened = _open(file, options, *_named(options))
    fast = partial(
        columns_of_large_file,
        file,
        header=opened.names is not None,
        width=opened.width,
        delimiter=_delimiter(options, file),
        encoding=options.encoding,
    )
    return replace(opened, whole=fast)


def _delimiter(options: _Options, file: Path) -> str:
    """The character between the cells; every reader of a table asks here."""
    mark = options.delimiter
    if mark is None:
        return found_delimiter(file, "\t" if file.suffix.lower() == ".tsv" else ",", options.encoding)
    if not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n':
        raise InputError(f"`delimiter` must be one character; got {shown(mark)}; for example ';'")
    return mark


def read_column(
    path: str | os.PathLike[str], column: str | int, *, argument: str = "column", **options: Any
) -> tuple[list[str], tuple[str, ...] | None]:
    """Read one column of a table as texts."""
    file, extension = _check_path(path)
    texts, names = read_texts(file, extension, column, _Options(**options), argument)
    return [str(text) for text in texts], names


def read_texts(
    file: Path, extension: str, column: str | int, options: _Options, argument: str
) -> tuple[list[str], tuple[str, ...] | None]:
    """Texts of a column of a table, and the names of its rows."""
    if extension == ".parquet":
        return read_parquet_text(file, column=column, index_column=options.index_column, argument=argument)
    opened = _open(file, options, column)
    return read_text_columns(opened, column=column, index_column=options.index_column, argument=argument)


def column_titles(path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str = "utf-8") -> list[str]:
    """Cells of the first row of a text file, or names of the columns of a parquet file; none where there are none."""
    file = as_path(path)
    extension = file.suffix.lower()
    if not file.is_file() or extension not in (".csv", ".tsv", ".parquet"):
        return []
    check_readable(file)
    if extension == ".parquet":
        return parquet_titles(file)
    options = _Options(header=True, delimiter=delimiter, encoding=encoding)
    try:
        return list(_open(file, options).names or ())
    except InputError:  # the reader of the file says what is wrong
        return []


def _read_numbers(file: Path, extension: str, options: _Options) -> Table:
    chosen: Any = {"columns": options.columns, "drop_columns": options.drop_columns}
    if extension == ".npy":
        return read_npy(file, **chosen)
    if extension == ".npz":
        return read_npz(file, key=options.key, **chosen)
    if extension == ".parquet":
        return read_parquet_numbers(file, index_column=options.index_column, **chosen)
    return read_numbers(_open_whole(file, options), index_column=options.index_column, **chosen)


def _named(options: _Options) -> tuple[Any, ...]:
    """Everything that names a column."""
    return (*(options.columns or ()), *(options.drop_columns or ()), options.index_column, options.smiles_column)
