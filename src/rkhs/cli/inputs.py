"""What commands read: a file as its flags say, and files read the way a model wants them."""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rkhs import estimators
from rkhs._core.errors import InputError, RkhsError, quote, warn
from rkhs.cli.kinds import (
    OBJECTS,
    as_kernel_reads,
    fingerprint_options,
    kind_notes,
    known_fingerprint,
)
from rkhs.cli.options import changed as changed, named_columns as named_columns, read_options
from rkhs.cli.rows import with_progress
from rkhs.data import Dataset
from rkhs.data.arrays import load_npy
from rkhs.data.cells import column_cells, names_of, refuse_infinite
from rkhs.data.dataset import (
    LEFT_OUT as LEFT_OUT,
    as_gram,
    check_finite,
    column_label,
    existing_path,
    keep_rows as keep_rows,
    listed,
    locate,
    locate_all,
)
from rkhs.data.formats import TABLES, extension_of, has_columns
from rkhs.data.frames import frame_blocks, read_frame, selected, with_index
from rkhs.data.items import is_frame, items_of, kind_of, read_gram_rows, read_objects

_RANGES = 50  # columns of a table whose ranges a model file keeps
_LARGE, _PART = 2**24, 16384  # bytes of a file above which it is read in parts, and their rows
_WIDEST_PART = 2**22  # cells of a part
_TILE = 64  # rows that a model reads at a time


@dataclass
class Source:
    """A file of items: a frame, from which columns are taken, or items with tags or classes beside them."""

    path: str
    frame: Any = None
    items: Dataset | None = None
    start: int = 0  # rows of the file before the first one
    read: dict[str, Any] = field(default_factory=dict)  # options of pandas

    def __post_init__(self) -> None:
        self._labels: list[Any] = [] if self.frame is None else list(self.frame.columns)
        self._names = None if self.frame is None else names_of(self.frame)

    def label(self, name: str | int, flag: str) -> Any:
        """The column that a flag names, also by its position in the whole file."""
        return self._labels[locate(name, self._names, len(self._labels), flag)]

    def take(self, name: str | int, flag: str) -> np.ndarray:
        """A column that is no part of the items: numbers with NaN, or texts with None; its frame loses it."""
        if self.frame is not None:
            label = self.label(name, flag)
            if label not in self.frame.columns:
                raise InputError(f"{flag} names {name}, which another flag names too; name it once")
            cells = cells_of(self.frame[label], f"{self.path}: {flag} {name}")
            self.frame = self.frame.drop(columns=label)
            return cells
        if has_columns(self.path) and (self.items is None or self.items.classes is None):  # tags
            tags = read_frame(Path(self.path), self.read)
            return column_cells(tags.iloc[:, locate(name, names_of(tags), tags.shape[1], flag)], self.path)
        return self._classes(name, flag)

    def chosen(self, columns: Sequence[str | int], dropped: Sequence[str | int]) -> Any:
        """The frame with some of its columns, or without some; those that were taken are left out already."""
        if columns:
            places = locate_all(columns, self._names, len(self._labels)) or []
            return self.frame[[self._labels[place] for place in places]]
        labels = [self.label(name, "--drop-columns") for name in dropped]
        left = self.frame.drop(columns=[label for label in labels if label in self.frame.columns])
        if not left.shape[1]:
            raise InputError(f"{self.path}: expected a column besides those that flags name; got none; name fewer")
        return left

    def _classes(self, name: str | int, flag: str) -> np.ndarray:
        """Classes that a file of series or graphs holds."""
        classes = None if self.items is None else self.items.classes
        if classes is None:
            raise InputError(
                f"{flag} names a column of a table; {self.path} has none beside its items; name a table with --labels "
                "FILE, which finds rows by their names, or with --targets FILE"
            )
        if name != "class":
            raise InputError(f"{flag}: {self.path} has one column beside its items, class; got {name}; write class")
        return classes.astype(object)


def cells_of(column: Any, where: str) -> np.ndarray:
    """Numbers of a column with NaN for gaps, or texts, truth values and categories as texts with None."""
    from pandas.api.types import infer_dtype

    cells = column_cells(column, where, "text" if infer_dtype(column) in ("boolean", "categorical") else None)
    refuse_infinite(cells, where)
    return cells


def open_source(args: argparse.Namespace, path: str, *, columns: bool = False, **known: Any) -> Source:
    """A file as the flags say; of an array too ``columns`` may be taken. ``known``: options that a model remembers."""
    _refuse_flags(args, path)
    file, read = existing_path(path), known.get("read", {}) | read_options(args)
    kind = "molecules" if args.smiles is not None else args.kind
    transposed = getattr(args, "transpose", False)
    if file.is_file() and is_frame(file, kind):
        times = kind == "curves" and not transposed  # they name the columns, though they are numbers
        return Source(path, frame=_indexed(read_frame(file, read, named=times), args, known), read=read)
    if _is_array_of_columns(args, file, kind, columns or transposed):
        return Source(path, frame=_indexed(_frame_of(file, read.get("key")), args, {}), read=read)
    if transposed:
        raise InputError(
            f"--transpose is for tables and arrays of numbers; got {path}, which holds other items; leave it out"
        )
    return Source(path, items=_objects(args, file, kind, read), read=read)


def _is_array_of_columns(args: argparse.Namespace, file: Path, kind: str | None, asked: bool) -> bool:
    """Whether columns are taken of an array of rows."""
    if extension_of(file) not in (".npy", ".npz") or kind not in (None, "vectors") or getattr(args, "gram", False):
        return False
    return asked or args.columns is not None or getattr(args, "drop_columns", None) is not None


def _refuse_flags(args: argparse.Namespace, path: str) -> None:
    """Refuse a model in place of items, a kernel in place of that of a Gram matrix, and columns named twice."""
    if args.columns is not None and getattr(args, "drop_columns", None) is not None and not args.transpose:
        raise InputError("--columns leaves all others out; got --drop-columns too; leave one of them out")
    if path.lower().endswith(".rkhs"):
        raise InputError(
            f"{path}: expected a file of items, as rkhs fit reads them; got a model file, which rkhs info describes"
        )
    if getattr(args, "gram", False) and getattr(args, "kernel", None) is not None:
        raise InputError("--kernel cannot be given with --gram: a Gram matrix holds the values of its kernel")


def _frame_of(file: Path, key: str | None) -> Any:
    import pandas

    from rkhs.data.arrays import read_array

    return pandas.DataFrame(read_array(file, key))


def named_by_flags(args: argparse.Namespace) -> list[str | int]:
    """The columns that flags name, which are no names of rows; positions of ``--columns`` do not count these."""
    found: list[str | int] = [name for name in named_columns(args.columns) if isinstance(name, str)]
    for name in ("smiles", "predict", "color", "groups"):
        value = getattr(args, name, None)
        if value is not None:
            found = [*found, *(named_columns(value) if isinstance(value, str) else [value])]
    return found


def _indexed(frame: Any, args: argparse.Namespace, known: dict[str, Any]) -> Any:
    """A frame whose rows are named, by a column, transposed where its columns are the items."""
    column = args.index_column
    if column is None and known.get("index_column") in frame.columns:
        column = known["index_column"]
    if column is not None or args.kind not in ("sequences", "texts"):
        frame = with_index(frame, column, [*(known.get("names") or ()), *named_by_flags(args)])
    return _transposed(frame, args) if getattr(args, "transpose", False) else frame


def _transposed(frame: Any, args: argparse.Namespace) -> Any:
    """A frame of numbers whose columns become rows."""
    frame = selected(frame, None, named_columns(args.drop_columns) or None)
    texts = [str(name) for name, kind in zip(frame.columns, frame.dtypes, strict=True) if kind.kind not in "biuf"]
    if texts:
        raise InputError(
            f"--transpose is for tables of numbers; got columns of texts, {listed(list(map(quote, texts)))}; name the "
            "rows of the file with --index-column, and leave others out with --drop-columns"
        )
    return frame.T


def _objects(args: argparse.Namespace, file: Path, kind: str | None, read: dict[str, Any]) -> Dataset:
    """Items of a file that is no table."""
    if getattr(args, "gram", False):
        return read_gram_rows(file, read.get("key"))
    return read_objects(
        file,
        kind if kind not in (None, "vectors") else kind_of(file),
        key=read.get("key"),
        encoding=read.get("encoding", "utf-8"),
        fingerprint=fingerprint_options(args),
    )


def read_source(args: argparse.Namespace, source: Source, **known: Any) -> Dataset:
    """The items of a file: of a frame what is left of its columns."""
    if source.items is not None:
        data = source.items
        if args.columns is not None or getattr(args, "drop_columns", None) is not None:
            raise InputError(f"--columns and --drop-columns are for tables; got {source.path}; leave them out")
    else:
        kind = "molecules" if args.smiles is not None else args.kind
        dropped = [] if args.transpose else named_columns(getattr(args, "drop_columns", None))
        data = items_of(
            source.chosen(named_columns(args.columns), dropped),
            Path(f"{source.path} (rows from {source.start + 1})" if source.start else source.path),
            kind,
            smiles_column=args.smiles,
            fingerprint=fingerprint_options(args),
            kinds=known.get("kinds"),
        )
    if source.start:
        skipped = tuple(replace(bad, row=bad.row + source.start) for bad in data.skipped)
        data = replace(data, source=source.path, start=source.start, skipped=skipped)
    gram = getattr(args, "gram", False)
    if gram:
        data = as_gram_matrix(data, gram)
    _warn_of_skipped(data)
    return as_kernel_reads(data, getattr(args, "kernel", None))


def as_gram_matrix(data: Dataset, gram: Literal[True, "cross"]) -> Dataset:
    """Kernel values: a square Gram matrix with its names, or those of new rows with known columns."""
    if data.kind == "table":
        raise InputError(f"{data.source}: a Gram matrix holds numbers alone; got texts or gaps; correct the file")
    if data.X.ndim == 3:
        return data
    found = as_gram(data, gram)
    return _of_distances(found) if gram is True else found


def _of_distances(data: Dataset) -> Dataset:
    """Kernel values of distances: zeros on the diagonal and no negative number elsewhere, as no kernel has."""
    away = data.X[data.X > 0.0]
    if data.X.diagonal().any() or not len(away) or data.X.min() < 0.0:
        return data
    scale = float(np.median(away))
    warn(
        f"{data.source}: zeros on the diagonal and positive numbers elsewhere are distances d, read as exp(-d / "
        f"{scale:.4g}), with their median; new rows are then distances to these items too"
    )
    return replace(data, X=np.exp(data.X / -scale), distance_scale=scale)


def read_input(args: argparse.Namespace, path: str) -> Dataset:
    """Read the items of a file as the options say."""
    return read_source(args, open_source(args, path))


def _warn_of_skipped(data: Dataset) -> None:
    """Say which rows are left out, and why."""
    for reason in dict.fromkeys(bad.reason for bad in data.skipped):
        rows = [bad.row for bad in data.skipped if bad.reason == reason]
        warn(f"{data.source}: left out ({reason}): rows {listed(rows, 10)}")


def input_notes(data: Dataset, args: argparse.Namespace) -> dict[str, Any]:
    """Say what must be remembered of the training file, so that other files are read in the same way."""
    narrow = data.kind == "vectors" and extension_of(data.source) in TABLES and data.X.shape[1] <= _RANGES
    return {
        "input": kind_notes(data, args)
        | {
            "kind": data.kind,
            "source": data.source,
            "row_names": None if data.row_names is None else list(data.row_names),
            "column_names": None if data.column_names is None else list(data.column_names),
            "index_column": data.row_title,
            "skipped_rows": [bad.row for bad in data.skipped],
            "ranges": np.stack([data.X.min(0), data.X.max(0)], 1).tolist() if narrow else None,
            "read": read_options(args),
            "transpose": getattr(args, "transpose", False),
            "columns": None if args.columns is None else [*map(str, named_columns(args.columns))],
        }
    }


def read_for_model(
    args: argparse.Namespace, path: str, model: estimators.KernelEstimator, notes: dict[str, Any]
) -> Dataset:
    """Read a file the way the training file of a model was read."""
    args, known = _as_known(args, path, model, notes.get("input", {}))
    with_targets = bool(notes.get("predict", {}).get("places"))
    return _of_model(args, open_source(args, path, columns=with_targets, **known), model, notes)


def _as_known(
    args: argparse.Namespace, path: str, model: estimators.KernelEstimator, known: dict[str, Any]
) -> tuple[argparse.Namespace, dict[str, Any]]:
    """The arguments with what the notes say of the training file, and the options that read it."""
    kind = known.get("kind")
    if args.kind not in (None, kind):
        raise InputError(f"{path}: the model reads {kind}; got --kind {args.kind}; leave it out")
    args = known_fingerprint(args, path, known)
    given: dict[str, Any] = {"transpose": known.get("transpose", False)}
    if kind in (*OBJECTS, "curves"):
        given["kind"] = kind
    if extension_of(path) in TABLES:  # other files hold nothing else
        given["smiles"] = args.smiles if args.smiles is not None else known.get("smiles_column")
        if kind in ("sequences", "texts") and args.columns is None:
            given["columns"] = known.get("columns")
    if model.kernel_.domain == "gram":
        given["gram"] = "cross"
    options = {"read": known.get("read") or {}, "index_column": known.get("index_column")}
    return changed(args, **given), options | {"names": known.get("column_names")}


def _of_model(
    args: argparse.Namespace, source: Source, model: estimators.KernelEstimator, notes: dict[str, Any]
) -> Dataset:
    """Rows of a file as those of the fit of a model, as its kernel reads them."""
    known = notes.get("input", {})
    if source.frame is not None and known.get("kind") in (None, "vectors", "table", "gram"):
        source.frame = _columns_of_fit(args, source, notes, model)
        args = changed(args, columns=None, drop_columns=None)
    data = read_source(args, source, kinds=known.get("column_kinds"))
    times, at = known.get("times"), data.times
    if times is not None and at is not None and (len(times) != len(at) or not np.allclose(times, at)):
        raise InputError(f"{source.path}: the model reads curves at {len(times)} other times; resample the curves")
    expected: Any = getattr(model, "n_features_in_", data.X.shape[-1])
    if data.kind not in OBJECTS and data.X.shape[-1] != expected:
        raise InputError(
            f"{source.path}: the model needs {expected} columns; got {data.X.shape[-1]}; choose them with --columns"
        )
    return as_kernel_reads(data, model.kernel_)


def _columns_of_fit(
    args: argparse.Namespace, source: Source, notes: dict[str, Any], model: estimators.KernelEstimator
) -> Any:
    """The columns of the training file, by name where both files have names, else by position."""
    frame, found = source.frame, names_of(source.frame)
    names = notes.get("input", {}).get("column_names")
    if args.columns is not None:
        return frame.iloc[:, [locate(c, found, frame.shape[1], "columns") for c in named_columns(args.columns)]]
    if names is not None and found is not None:
        _refuse_lacking(source.path, names, found)
        return frame[[frame.columns[found.index(name)] for name in names]]
    if names is not None and model.kernel_.domain == "gram":
        warn(f"{source.path}: its columns have no names, and are taken in the order of the items of the fit")
    places = notes.get("predict", {}).get("places") or []
    with_targets = frame.shape[1] == getattr(model, "n_features_in_", 0) + len(places)
    return frame.drop(columns=frame.columns[places]) if with_targets else frame


def _refuse_lacking(path: str, names: Sequence[str], found: Sequence[str]) -> None:
    """Refuse a file without a column of the training file."""
    lacking = [quote(name) for name in names if name not in set(found)]
    if lacking:
        raise InputError(
            f"{path} lacks {listed(lacking)}, of the columns of the training file; it has "
            f"{listed(list(map(quote, found)))}; correct the names, or leave such columns out of the fit or the known "
            "rows by --drop-columns"
        )


def parts_for_model(
    args: argparse.Namespace, path: str, model: estimators.KernelEstimator, notes: dict[str, Any]
) -> Iterator[Dataset]:
    """Read a file as :func:`read_for_model` does; a large one some rows at a time, with a line of progress."""
    if not os.path.isfile(path) or os.path.getsize(path) <= _LARGE:
        yield read_for_model(args, path, model, notes)
        return
    width = int(getattr(model, "n_features_in_", 1))
    rows = max(_TILE, min(_PART, _WIDEST_PART // width) // _TILE * _TILE)
    yield from with_progress(chunks_for_model(args, path, model, notes, rows), lambda data: data.row_numbers[-1])


def chunks_for_model(
    args: argparse.Namespace, path: str, model: estimators.KernelEstimator, notes: dict[str, Any], rows: int
) -> Iterator[Dataset]:
    """Read a file as :func:`read_for_model` does, some rows at a time."""
    known, end = notes.get("input", {}), extension_of(path)
    whole = known.get("kind") in (*OBJECTS, "curves") or known.get("transpose")
    if whole or end not in (".csv", ".tsv", ".npy", ".parquet"):
        yield read_for_model(args, path, model, notes)
        return
    args, options = _as_known(args, path, model, known)
    start = 0
    for source in _blocks(args, path, options, rows):
        source.start = start
        part = _of_model(args, source, model, notes)
        start += part.n_samples + len(part.skipped)
        yield part


def _blocks(args: argparse.Namespace, path: str, options: dict[str, Any], rows: int) -> Iterator[Source]:
    """Sources of some rows each."""
    if extension_of(path) == ".npy":
        import pandas

        X = _mapped(path)
        for start in range(0, len(X), rows):
            block = np.array(X[start : start + rows], dtype=np.float64)
            check_finite(block, f"{path} (rows from {start + 1})")
            yield Source(path, frame=pandas.DataFrame(block))
        return
    for frame in frame_blocks(existing_path(path), options["read"] | read_options(args), rows):
        yield Source(path, frame=_indexed(frame, args, options))


def _mapped(path: str) -> np.ndarray:
    """A matrix that stays on the disk."""
    try:
        X: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    except ValueError:
        X = load_npy(path)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"{path}: expected numbers of shape (n, d); got {X.dtype} of shape {X.shape}")
    return X


def warn_of_far_rows(args: argparse.Namespace, data: Dataset, notes: dict[str, Any]) -> None:
    """Warn of rows far from those of the fit."""
    from rkhs._core.cells import warn_of_far  # which imports torch

    ranges = enumerate(notes.get("input", {}).get("ranges") or ())
    columns = ((column_label(data.column_names, j), data.X[:, j], low, high) for j, (low, high) in ranges)
    warn_of_far(f"{args.input}: ", columns)


def new_parts(args: argparse.Namespace, known: Dataset, model: estimators.KernelEstimator) -> Iterator[Dataset]:
    """The second of two files, read as the first, in parts where it is large; the first where it is alone."""
    if args.new is None:
        yield known
        return
    if known.distance_scale is not None:
        model.reader_ = replace(model.reader_, distance_scale=known.distance_scale)
    others = changed(args, drop_columns=None, columns=None, smiles=None, fingerprint=None, gram=False)
    yield from parts_for_model(others, args.new, model, input_notes(known, args))


def quiet() -> AbstractContextManager[Any]:
    """Without warnings: they come where the same is read for itself."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


@contextmanager
def user_errors() -> Iterator[None]:
    """Scikit-learn refuses data by plain ValueErrors: make them the user's, not unexpected ones."""
    try:
        yield
    except RkhsError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from error
