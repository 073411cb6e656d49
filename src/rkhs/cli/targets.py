"""Targets, classes and groups of the rows of a file, from its other columns or from a second file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs import estimators
from rkhs._core.errors import InputError, quote, warn
from rkhs.cli.inputs import LEFT_OUT, Source, cells_of, keep_rows, named_by_flags, open_source, read_source
from rkhs.cli.kinds import as_predictors_read
from rkhs.cli.options import named_columns, read_options
from rkhs.data import Dataset
from rkhs.data.cells import names_of, row_names
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
    places: list[int]  # of columns without names that are no inputs

    def column(self, flag: str) -> np.ndarray | None:
        """The only column of a flag; None without one."""
        found = self.columns.get(flag)
        return found[0] if found else None


def read_rows(args: argparse.Namespace, **wanted: Any) -> Rows:
    """Read the items of INPUT, and the columns that flags name: from ``--targets``, ``--labels`` or INPUT."""
    named = {f"--{word}": _as_list(value) for word, value in wanted.items() if value is not None}
    source = open_source(args, args.input, columns=bool(named) and getattr(args, "labels", None) is None)
    found: dict[str, list[np.ndarray]] = {}
    seconds, places = {}, _places(source, named_columns(args.drop_columns))
    for flag, names in named.items():
        if second_file(args, flag) is None:
            places += _places(source, names)
            found[flag] = [_taken(args, source, name, flag) for name in names]
        else:
            seconds[flag] = (frame_of_second(args, str(second_file(args, flag))), names)
            _refuse_answers(args, source, *seconds[flag], flag)
    data = read_source(args, source)
    for flag, (frame, names) in seconds.items():
        found[flag] = _of_second(args, data, frame, names, flag)
    columns = {flag: _of_rows(data, values, second_file(args, flag)) for flag, values in found.items()}
    return Rows(data, columns, [*map(str, named.get("--predict", []))], places)


def _as_list(value: Any) -> list[str | int]:
    return value if isinstance(value, list) else [value]


def _refuse_answers(
    args: argparse.Namespace, source: Source, frame: Any, names: Sequence[str | int], flag: str
) -> None:
    """Refuse inputs with the name of a column of a second file that is predicted: they would be the answer."""
    if source.frame is None or args.transpose:
        return
    inputs = names_of(source.chosen(named_columns(args.columns), named_columns(args.drop_columns))) or ()
    for name in names:
        title = frame.columns[locate(name, names_of(frame), frame.shape[1], flag)]
        if title in inputs:
            raise InputError(
                f"{source.path} has the column {title} too, which would be the answer; leave it out with "
                f"--drop-columns {title}"
            )


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
    """Positions of columns of a table without names that are no inputs, which new files may have too."""
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
    places = [locate(name, names_of(frame), frame.shape[1], flag) for name in names]
    if getattr(args, "targets", None) == path:
        _refuse_other_order(data, frame, path)
    else:
        frame = _by_names(data, frame, path)
    return [cells_of(frame.iloc[:, place], f"{path}: {flag} {frame.columns[place]}") for place in places]


def frame_of_second(args: argparse.Namespace, path: str) -> Any:
    """The frame of a table or an array of targets, or of labels, whose first column names their rows."""
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
    if index is None and path == getattr(args, "labels", None) and row_names(frame) is None and frame.shape[1] > 1:
        index = str(frame.columns[0])
    return with_index(frame, index, named_by_flags(args))


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


def _by_names(data: Dataset, frame: Any, path: str) -> Any:
    """The rows of a frame that have the names of all rows of INPUT, in their order; gaps where there is none."""
    wanted, known = data.row_names or data.smiles, row_names(frame)
    if wanted is None or known is None:
        raise InputError(
            f"--labels finds rows by their names; {path if wanted else data.source} has none; name their column with "
            "--index-column, or pass a file with the same rows in the same order with --targets"
        )
    lacking = [name for name in wanted if name not in set(known)]
    if len(lacking) == len(wanted) or len(set(known)) < len(known):
        raise InputError(
            f"{path}: expected the names of the rows of {data.source}, such as {quote(wanted[0])}, each once in the "
            f"first column or that of --index-column; got {listed(list(map(quote, known)), 3)}"
        )
    if lacking:
        warn(f"{path}: {len(lacking)} items have no row there: {listed(lacking)}")
    of_rows = dict(zip(data.row_numbers, wanted, strict=True))
    total = data.n_samples + len(data.skipped)
    return frame.set_axis(list(known), axis=0).reindex(map(of_rows.get, range(1, total + 1)))


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


def kept_together(
    args: argparse.Namespace,
    estimator: estimators.KernelEstimator,
    data: Dataset,
    y: np.ndarray,
    groups: np.ndarray | None,
) -> np.ndarray:
    """Find the groups of rows that stay together in cross-validation: those that are named, else copies."""
    together = _copies(estimator, data, y) if groups is None else groups
    if len(set(together[[value is not None for value in y.tolist()]].tolist())) < 2:
        what = "rows that differ" if groups is None else f"two groups in --groups {args.groups}"
        raise InputError(f"--predict expects {what} among the rows with a class, to measure its accuracy; got one")
    return together


def _copies(estimator: estimators.KernelEstimator, data: Dataset, y: np.ndarray) -> np.ndarray:
    """A number for each row: copies, which the kernel cannot distinguish, have the number of the first."""
    import torch

    from rkhs._core.copies import copies, warn_of_repeats

    K = estimator.kernel_._gram(estimator._read_new(data.items))
    numbers = copies([K])
    classes = np.unique(y.astype(str), return_inverse=True)[1]
    warn_of_repeats(K, torch.eye(classes.max() + 1)[torch.from_numpy(classes)], numbers)
    return numbers
