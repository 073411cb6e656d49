"""Targets, classes and groups of the rows of a file, from its other columns or from a second file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs.cli.inputs import LEFT_OUT, Source, keep_rows, named_by_flags, open_source, read_source, refuse_infinite
from rkhs.cli.kinds import as_predictors_read
from rkhs.cli.options import named_columns, read_options
from rkhs.data import Dataset
from rkhs.data.cells import column_cells, names_of, row_names
from rkhs.data.dataset import existing_path, listed, locate
from rkhs.data.formats import TABLES, extension_of
from rkhs.data.frames import read_frame, with_index

MOST_NAMED = 10  # rows in a line


@dataclass(frozen=True, eq=False)
class Rows:
    """The items of a file, and columns beside them, of the same rows."""

    data: Dataset
    columns: dict[str, list[np.ndarray]]  # by flag
    names: list[str]  # of the columns to predict
    places: list[int]  # of columns without names that were taken from the file

    def column(self, flag: str) -> np.ndarray | None:
        """The only column of a flag; None without one."""
        found = self.columns.get(flag)
        return found[0] if found else None


def read_rows(args: argparse.Namespace, **wanted: Any) -> Rows:
    """Read the items of INPUT, and the columns that flags name: from ``--targets``, ``--labels`` or INPUT."""
    named = {f"--{word}": _as_list(value) for word, value in wanted.items() if value is not None}
    source = open_source(args, args.input, columns=bool(named) and getattr(args, "labels", None) is None)
    inside = {flag: names for flag, names in named.items() if second_file(args, flag) is None}
    outside = {flag: names for flag, names in named.items() if flag not in inside}
    places = _places(source, list(chain.from_iterable(inside.values())))
    taken = {flag: [_taken(args, source, name, flag) for name in names] for flag, names in inside.items()}
    seconds = {flag: frame_of_second(args, str(second_file(args, flag))) for flag in outside}
    notes = [_drop_answers(args, source, frame, outside[flag], flag) for flag, frame in seconds.items()]
    data = read_source(args, source)
    of_seconds = {flag: _of_second(args, data, frame, outside[flag], flag) for flag, frame in seconds.items()}
    for note in chain.from_iterable(notes):
        warn(note)
    found = {flag: _of_rows(data, values, second_file(args, flag)) for flag, values in (taken | of_seconds).items()}
    return Rows(data, found, [*map(str, named.get("--predict", []))], places)


def _as_list(value: Any) -> list[str | int]:
    return value if isinstance(value, list) else [value]


def _drop_answers(
    args: argparse.Namespace, source: Source, frame: Any, names: Sequence[str | int], flag: str
) -> list[str]:
    """Take columns of INPUT out that have the names of those of a second file: they would be the answer."""
    titles, notes = names_of(frame), []
    for name in names:
        title = name if titles is None else titles[locate(name, titles, len(titles), flag)]
        if isinstance(title, str) and source.has(title):
            _taken(args, source, title, flag)
            path = second_file(args, flag)
            notes.append(f"{source.path}: its column {title} is no input: {path} has the column {title} of {flag}")
    return notes


def _taken(args: argparse.Namespace, source: Source, name: str | int, flag: str) -> np.ndarray:
    """A column of the file itself, which is none of the items."""
    if name in named_columns(args.columns):
        raise InputError(f"--columns must not contain the column of {flag}; got {name} in both")
    return source.take(name, flag)


def second_file(args: argparse.Namespace, flag: str) -> str | None:
    """The second file that holds the column of a flag; None: it stands in INPUT."""
    if flag == "--groups":
        return None
    targets, labels = getattr(args, "targets", None), getattr(args, "labels", None)
    return targets if flag == "--predict" and targets is not None else labels


def _places(source: Source, taken: Sequence[str | int]) -> list[int]:
    """Positions of columns that are taken from a table without names, which new files may have too."""
    if source.frame is None or names_of(source.frame) is not None:
        return []
    return sorted(int(name) for name in taken)


def _of_rows(data: Dataset, columns: list[np.ndarray], second: str | None) -> list[np.ndarray]:
    """Columns of the rows that were read, of those of all rows."""
    n, skipped = data.n_samples + len(data.skipped), [bad.row - 1 for bad in data.skipped]
    for values in columns:
        if len(values) != n:
            raise InputError(
                f"{second or data.source}: expected one row for each row of {data.source}, {n}; got {len(values)}; "
                "correct the file"
            )
    return [np.delete(values, skipped, axis=0) for values in columns]


def _of_second(
    args: argparse.Namespace, data: Dataset, frame: Any, names: Sequence[str | int], flag: str
) -> list[np.ndarray]:
    """Columns of ``--targets``, whose rows are those of INPUT, or of ``--labels``, found by the names of rows."""
    path = str(second_file(args, flag))
    if getattr(args, "targets", None) == path:
        _refuse_other_order(data, frame, path)
        return [_cells(frame, name, flag, path) for name in names]
    if not data.namings:
        warn(f"{data.source} has no names of rows: those of {path} belong to its rows in the order of the file")
        return [_cells(frame, name, flag, path) for name in names]
    return [_aligned(data, _by_names(frame, name, data.namings, flag, path)) for name in names]


def _aligned(data: Dataset, values: np.ndarray) -> np.ndarray:
    """Values of the rows that were read at their places among all rows, gaps elsewhere."""
    n = data.n_samples + len(data.skipped)
    found = np.full(n, None if values.dtype == object else np.nan, values.dtype)
    found[np.array(data.row_numbers) - 1] = values
    return found


def frame_of_second(args: argparse.Namespace, path: str) -> Any:
    """The frame of a table or an array of targets or labels."""
    import pandas

    from rkhs.data.arrays import load_npy

    file = existing_path(path)
    if extension_of(file) == ".npy":
        values = load_npy(file)
        return pandas.DataFrame(values.reshape(len(values), -1))
    if extension_of(file) not in TABLES:
        raise InputError(f"{path}: expected a table, as .csv, or a .npy file; got another")
    frame = read_frame(file, read_options(args))
    index = args.index_column if args.index_column in frame.columns else None
    return with_index(frame, index, named_by_flags(args))


def _cells(frame: Any, name: str | int, flag: str, path: str) -> np.ndarray:
    position = locate(name, names_of(frame), frame.shape[1], flag)
    cells = column_cells(frame.iloc[:, position], f"{path}: {flag} {name}")
    refuse_infinite(cells, f"{path}: {flag} {name}")
    return cells


def _refuse_other_order(data: Dataset, frame: Any, path: str) -> None:
    """Refuse targets whose row names differ from those of the input, or stand in another order."""
    others = row_names(frame)
    if data.row_names is None or others is None or data.skipped:
        return
    for i, (name, other) in enumerate(zip(data.row_names, others, strict=False), 1):
        if name != other:
            raise InputError(
                f"--targets {path} must have the rows of the input in the same order; got {other!r} in row {i}, where "
                f"the input has {name!r}; name it with --labels, which finds rows by name"
            )


def _by_names(frame: Any, name: str | int, namings: Sequence[Sequence[str]], flag: str, path: str) -> np.ndarray:
    """A column for items, found by the names that the index or another column of the table has."""
    values = _cells(frame, name, flag, path)
    keys: list[Sequence[str]] = [tuple(frame.iloc[:, j].astype(str)) for j in range(frame.shape[1])]
    keys.insert(0, row_names(frame) or ())
    pairs = [(names, key) for names in namings for key in keys if len(set(key)) == len(key)]
    names, key = max(pairs, key=lambda pair: len(set(pair[0]) & set(pair[1])), default=((), ()))
    count = len(set(names) & set(key))
    if not count:
        raise InputError(
            f"{path}: expected a column with the names of the rows of the input, such as {quote(namings[0][0])}, each "
            "once; got none; correct the names"
        )
    known = dict(zip(key, values.tolist(), strict=True))
    lacking = [one for one in names if one not in known]
    if lacking:
        warn(f"{path}: {len(lacking)} items have no row there: {listed(lacking)}")
    found = np.array([known.get(one) for one in names], dtype=object)
    return found if values.dtype == object else found.astype(np.float64)


def target_columns(args: argparse.Namespace) -> list[str | int]:
    """The columns to predict: those of ``--predict``, else all of ``--targets``."""
    named = named_columns(args.predict)
    if named or args.targets is None:
        return named
    frame = frame_of_second(args, args.targets)
    return list(names_of(frame) or range(frame.shape[1]))


def as_classes(values: np.ndarray) -> np.ndarray:
    """Numbers as texts, with None for gaps; texts as they are."""
    if values.dtype == object:
        return values
    return np.array([None if value != value else f"{value:.15g}" for value in values.tolist()], dtype=object)


def read_with_targets(args: argparse.Namespace) -> tuple[Rows, np.ndarray]:
    """Read items and the columns to predict: numbers (n, q) with NaN, or classes (n,) of one column."""
    names = target_columns(args)
    rows = read_rows(args, predict=names, groups=args.groups)
    values = rows.columns["--predict"]
    if len(values) == 1 and (args.classes or values[0].dtype == object):
        return rows, as_classes(values[0])
    texts = [str(name) for name, one in zip(names, values, strict=True) if one.dtype == object]
    if texts or args.classes:
        got = f"{texts[0]} holds texts" if texts else f"got {len(names)}"
        raise InputError(f"--predict takes one column of classes, or several of numbers; {got}; name it alone")
    return rows, np.column_stack(values)


def known_rows(
    args: argparse.Namespace, rows: Rows, Y: np.ndarray
) -> tuple[Dataset, np.ndarray, np.ndarray | None, int]:
    """Items and numbers of the rows that have any, their groups, and how many have none."""
    empty = [name for name, gaps in zip(rows.names, np.isnan(Y).all(axis=0), strict=False) if gaps]
    if empty:
        raise InputError(f"--predict {', '.join(empty)}: expected a number in some cell; all are empty; name others")
    unknown = np.isnan(Y).all(axis=1)
    data, groups = rows.data, groups_of(rows)
    if unknown.any():
        data, Y = keep_rows(data, ~unknown, LEFT_OUT), Y[~unknown]
        groups = None if groups is None else groups[~unknown]
    return as_predictors_read(args, data), Y, groups, int(unknown.sum())


def groups_of(rows: Rows) -> np.ndarray | None:
    """Labels of groups, gaps as empty texts; None without ``--groups``."""
    values = rows.column("--groups")
    if values is None or values.dtype != object:
        return values
    return np.array(["" if cell is None else str(cell) for cell in values.tolist()])
