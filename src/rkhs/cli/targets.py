"""Targets, classes and groups of the rows of a file, from its other columns or from a second file."""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs._core.files import check_readable
from rkhs.cli.inputs import (
    named_columns,
    quiet,
    read_input,
    reading_options,
    refuse_hidden_names,
    refuse_lone_labels,
    titles_of,
    with_words_as_gaps,
)
from rkhs.cli.kinds import as_predictors_read
from rkhs.cli.options import (
    advised as advised,
    as_command as as_command,
    changed,
    mended as mended,
    with_advice,
    without_flag as without_flag,
)
from rkhs.data import Dataset, read_mixed
from rkhs.data.arrays import load_npy
from rkhs.data.dataset import LEFT_OUT, Typed, UnknownColumn, keep_rows, listed, names_like
from rkhs.data.formats import has_columns, is_table
from rkhs.data.known_columns import (
    alike_spellings as alike_spellings,
    check_path,
    column_count,
    labels_of,
    read_by_guess,
    read_cls,
    read_column,
    read_numbers,
)
from rkhs.data.tables import typed
from rkhs.data.text import (
    MIXED,
    Doubtful,
    FewWords,
    Mendable,
    MixedCells,
    Note,
    are_amounts,
    is_id_name,
    number_in as number_in,
)

_QUANTITY = re.compile(r"(?i)(?:^|[\W_])(?:type|test|assay|unit|parameter|property|endpoint|analyte|variable)s?$")
_ROWS_OF_A_KIND, _OTHER_SIZE = 10, 10.0  # of one quantity of several in a column; ratio of what nine in ten are below
MOST_NAMED, MOST_ZEROS = 10, 0.05  # rows in a line; share of amounts without a logarithm that are left out
_KINDS_WITH_CLASSES = ("series", "graphs")


def read_with_numbers(args: argparse.Namespace) -> tuple[Dataset, np.ndarray, list[str], int]:
    """Read the items, and the columns of ``--predict`` (removed from a table) or all columns of ``--targets``."""
    known = _read_columns(args, named_columns(args.predict) or None)
    Y = np.asarray(known.X, dtype=float)
    wanted = named_columns(args.predict) or list(range(Y.shape[1]))
    _refuse_empty_columns(wanted, np.isnan(Y).all(axis=0), known.guessed)
    titles = known.column_names or [*map("column{}".format, wanted)]
    data = read_input(args if args.targets else without_columns(args, *wanted), args.input)
    if args.targets is None and args.columns is not None:
        _refuse_in_both(args, {*titles, *wanted}, data)
    Y = np.delete(Y, [bad.row - 1 for bad in data.skipped], axis=0)
    if len(Y) != data.n_samples:
        _refuse_other_count(data, len(Y))
    _refuse_other_order(args, data, known)
    unknown = np.isnan(Y).all(1)
    if unknown.any():
        data, Y = keep_rows(data, ~unknown, LEFT_OUT), Y[~unknown]
    return as_predictors_read(args, data), Y, [*map(partial(target_name, args), titles)], int(unknown.sum())


def _refuse_other_count(data: Dataset, n: int) -> NoReturn:
    """Refuse targets of another number of rows."""
    raise InputError(f"--targets must have one row for each row of the input, {data.n_samples}; got {n}")


def _check_rows_of_targets(args: argparse.Namespace, data: Dataset, n: int) -> None:
    """Refuse ``--targets`` of other rows than the input."""
    if is_table(args.targets):
        _refuse_other_order(args, data, _table_of_targets(args))
    if n != data.n_samples + len(data.skipped):
        _refuse_other_count(data, n)


def lone_target(args: argparse.Namespace) -> str | int | None:
    """The one column that is predicted: that of ``--predict``, or the only one of ``--targets``."""
    named = named_columns(args.predict)
    if not named and args.targets:
        with quiet(), suppress(InputError):
            known = _table_of_targets(args)
            named = [*(known.column_names or range(known.X.shape[1]))]
    return named[0] if len(named) == 1 else None


def title_of_target(name: str | int) -> str:
    """The name of a column that is predicted; of one that nobody named its place."""
    return str(name) if isinstance(name, (str, Typed)) else f"column{name}"


def _table_of_targets(args: argparse.Namespace) -> Dataset:
    """All of ``--targets``, of numbers or texts."""
    with quiet():  # its columns are read for themselves too
        if not has_columns(args.targets):
            return read_numbers(args.targets)
        return read_by_guess(partial(read_mixed, args.targets, stray="gap"), args.targets, reading_options(args))


def as_classes(values: np.ndarray) -> np.ndarray:
    """Numbers as texts, with None for gaps; texts as they are."""
    if values.dtype == object:
        return values
    return np.array([None if value != value else f"{value:.15g}" for value in values.tolist()], dtype=object)


def _refuse_in_both(args: argparse.Namespace, names: set[str | int], data: Dataset) -> None:
    """Refuse columns that are both inputs and targets."""
    if names & {*(data.column_names or ()), *named_columns(args.columns)}:
        raise InputError(
            f"--columns must not contain the columns of --predict; got {args.predict} in both; remove them from one"
        )


def _refuse_empty_columns(names: Sequence[str | int], empty: np.ndarray, guessed: Sequence[str]) -> None:
    """Refuse columns without any number, and say why a workbook may have none."""
    lacking = [str(name) for name, gaps in zip(names, empty, strict=True) if gaps]
    if lacking:
        why = "".join(f" ({text})" for text in guessed if "formulas" in text)
        named = f"--predict {', '.join(lacking)}"
        raise InputError(f"{named}: expected a number in some cell; all cells are empty{why}; name other columns")


def _read_columns(args: argparse.Namespace, wanted: list[str | int] | None) -> Dataset:
    if wanted and (args.labels is not None or args.input.lower().endswith(".ts")):
        return _numbers_of_labels(args, wanted)
    source = args.targets or args.input
    _refuse_without_columns(args, source)
    options = reading_options(args)
    read = partial(read_numbers, source, columns=wanted, names_first=wanted is None)
    try:
        if args.targets and wanted:
            known = read_by_guess(read, source, options)
        else:
            known = read(**options, index_column=args.index_column)
        return replace(known, X=_logarithms(args, known.X))
    except FewWords as error:
        raise with_words_as_gaps(args, without_columns(args, *named_columns(args.predict)), error) from error
    except InputError as error:
        raise _of_columns(args, error) from error


def _of_columns(args: argparse.Namespace, error: InputError, flag: str = "--predict") -> InputError:
    """The error of reading columns to predict; names that the file has not are corrected in the command it prints."""
    if isinstance(error, MixedCells) and error.texts and "got text" in error.what:
        return _with_gaps(args, error)
    options: dict[str, Any] = getattr(error, "options", {})
    message, wanted = _in_flags(args, error, flag), [*map(str, named_columns(getattr(args, flag[2:], None)))]
    known = wanted
    if options.get("header") == "no":  # the last column of a file of scikit-learn
        known = [str(column_count(args.input, **reading_options(changed(args, **options))) - 1)]
    elif options or isinstance(error, UnknownColumn):
        source = getattr(args, "targets", None) or getattr(args, "labels", None) or args.input
        known = _names_among(titles_of(changed(args, **options), source), wanted)
    return InputError(message) if known == wanted else Mendable(message.rstrip("?"), **options | {flag[2:]: known})


def _with_gaps(args: argparse.Namespace, error: MixedCells) -> Mendable:
    """The error of texts among numbers, with the option that takes them as gaps."""
    texts = [*reading_options(args).get("missing", ()), *error.texts]
    return Mendable(f"{error.what}; correct them, or take them as gaps", "takes them as gaps", missing=texts)


def _names_among(titles: Sequence[str], wanted: list[str]) -> list[str]:
    """Names of columns in place of those that are like one alone, or the only one; else those that were typed."""
    if len(titles) == 1:
        return [*titles] if number_in(titles[0]) is None else ["0"]
    alike = [[name] if name in titles else names_like(name, titles) for name in wanted]
    known = [*chain.from_iterable(alike)]
    return known if {len(one) for one in alike} == {1} else wanted


def _in_flags(args: argparse.Namespace, error: InputError, flag: str) -> str:
    """The error of reading columns to predict, in flags."""
    if not isinstance(error, MixedCells) or "got text" not in error.what:
        return (
            str(error)
            .replace("`columns`", flag)
            .replace("`target`", flag)
            .replace(f", fill the cells, or {MIXED}", " or fill the cells")
        )
    return f"{error.what}; {flag} takes columns of numbers, or one column of classes"


def _refuse_without_columns(args: argparse.Namespace, source: str) -> None:
    """Refuse ``--predict`` if its file has no columns."""
    if not (has_columns(source) or source.lower().endswith((".npy", ".npz"))):
        raise InputError(
            f"{source}: --predict names columns of a table; this file has none; name a table with --labels FILE, which "
            "finds rows by their names, or one of numbers with the same rows with --targets FILE"
        )
    kind = "Gram matrix" if args.gram else args.kind
    table = kind in ("curves", "series") and is_table(source)
    if args.targets is None and kind in ("Gram matrix", "curves", "series") and not table:
        raise InputError(
            f"{source}: items of kind {kind} have no columns next to them; name a table with --labels FILE, which "
            "finds rows by their names, or one of numbers with the same rows with --targets FILE"
        )


def _numbers_of_labels(args: argparse.Namespace, wanted: list[str | int]) -> Dataset:
    """Read columns of numbers from ``--labels`` or a file of series, one value per row of the input."""
    columns = [read_column_of(args, name, "--predict") for name in wanted]
    texts = [name for name, values in zip(wanted, columns, strict=True) if values.dtype == object]
    if texts:
        raise InputError(
            f"--predict takes one column of classes, or several of numbers; {texts[0]} holds texts; name it alone, or "
            "leave it out"
        )
    return Dataset(np.column_stack(columns), "vectors", None, tuple(map(str, wanted)), args.labels or args.input)


def _refuse_other_order(args: argparse.Namespace, data: Dataset, known: Dataset) -> None:
    """Refuse targets whose row names differ from those of the input, or stand in another order."""
    if args.targets is None or data.row_names is None or known.row_names is None or data.skipped:
        return
    kept = [(i, name) for i, name in enumerate(data.row_names, 1) if i not in {bad.row for bad in known.skipped}]
    for (i, name), other in zip(kept, known.row_names, strict=False):  # the caller refuses another number of rows
        if name != other:
            raise InputError(
                f"--targets {args.targets} must have the rows of the input in the same order; got {other!r} in row "
                f"{i}, where the input has {name!r}; name it with --labels, which finds rows by name"
            )


def dropped_positions(args: argparse.Namespace, data: Dataset) -> list[int]:
    """Positions of the unnamed columns of the training table that the model does not read."""
    if data.kind != "vectors" or data.column_names is not None or args.targets is not None or args.columns is not None:
        return []
    if args.labels is not None:
        return []
    index = 0 if args.index_column is None else args.index_column
    dropped = {int(position) for position in [*named_columns(args.drop_columns), *named_columns(args.predict)]}
    return sorted(position - (data.row_names is not None and index < position) for position in dropped)


def read_with_values(args: argparse.Namespace, name: str | int | None, flag: str) -> tuple[Dataset, Any]:
    """Read the items, and one column of classes or numbers that they do not contain; None without a name."""
    if name is None:
        refuse_lone_labels(args, flag)
        return read_input(args, args.input), None
    if name in named_columns(args.columns):
        raise InputError(f"--columns must not contain the column of {flag}; got {name} in both; remove it from one")
    values = read_column_of(args, name, flag)
    of_targets = flag == "--predict" and getattr(args, "targets", None)
    data = read_input(args if of_targets else without_columns(args, name), args.input)
    if of_targets:
        _check_rows_of_targets(args, data, len(values))
    if len(values) != data.n_samples + len(data.skipped):
        raise InputError(f"{args.input}: this kind of file has no columns for {flag}; use a table")
    return data, np.delete(values, [bad.row - 1 for bad in data.skipped])


def target_name(args: argparse.Namespace, name: object) -> str:
    """What is predicted of a column."""
    return f"log10({name})" if getattr(args, "log10", False) else str(name)


def logarithm(args: argparse.Namespace) -> str:
    """The command that predicts the logarithm of positive numbers, and keeps the largest of them."""
    words = without_flag(with_advice(args, {"log10": True}), "--trim")
    return f"predict its logarithm, by:{as_command([word for word in words if word != '--robust'])}"


def _logarithms(args: argparse.Namespace, values: np.ndarray) -> np.ndarray:
    """Numbers to predict, or with ``--log10`` their logarithms to base ten."""
    if not getattr(args, "log10", False):
        return values
    if values.dtype != object and 0.0 < (values == 0.0).mean() <= MOST_ZEROS:
        what = f"{(values == 0.0).sum()} cells of 0 have no logarithm: it is predicted as if they were empty"
        warn(Note(f"{args.input}: {what}"))
        values = np.where(values == 0.0, np.nan, values)
    if values.dtype == object or (values <= 0.0).any():
        got = "texts" if values.dtype == object else f"{np.nanmin(values):g}"
        raise InputError(f"--log10 takes columns of positive numbers; got {got}; leave it out, or correct these cells")
    return np.log10(values)


def read_column_of(args: argparse.Namespace, name: str | int, flag: str) -> np.ndarray:
    """A column of the input or of ``--labels``: numbers, NaN if missing, or texts, None if missing."""
    values = _column_of(args, name, flag)
    if flag == "--predict" and getattr(args, "target_kind", None) == "classes":
        return as_classes(values)
    return _logarithms(args, values) if flag == "--predict" else values


def _column_of(args: argparse.Namespace, name: str | int, flag: str) -> np.ndarray:
    if flag == "--predict" and getattr(args, "targets", None):
        return _of_second(args, args.targets, name, flag)
    if getattr(args, "labels", None) is not None:
        return _read_labels(args, name, flag)
    if (classes := item_classes(args)) is not None:
        only, kind = ("target", float) if classes.dtype.kind == "f" else ("class", object)
        if name != only:
            raise InputError(f"{flag}: {args.input} has one column next to its items, {only}; got {name}; write {only}")
        return classes.astype(kind)
    _refuse_no_table(args, flag)
    try:
        return read_column(args.input, name, argument="target", index_column=args.index_column, **reading_options(args))
    except FewWords as error:
        raise with_words_as_gaps(args, without_columns(args, name), error) from error
    except InputError as error:
        raise _of_columns(args, error, flag) from error


def _refuse_no_table(args: argparse.Namespace, flag: str) -> None:
    """Refuse a column of an input that is no table as it is read."""
    flags = ["--" + name for name in ("gram", "transpose", "window") if getattr(args, name)]
    if flags or not has_columns(args.input):
        what = "a Gram matrix" if args.gram else flags[0] if flags else repr(args.input)
        raise InputError(f"{flag} names a column of a table, such as .csv, .xlsx or .parquet; got {what}; leave it out")


def _read_labels(args: argparse.Namespace, name: str | int, flag: str) -> np.ndarray:
    """A column of ``--labels``, aligned with the rows of the input by their names, or by order where it has none."""
    of_gsea = args.labels.lower().endswith(".cls")
    if of_gsea:
        read_cls(args.labels, name)  # a wrong file is refused before the input is read
    else:
        check_path(args.labels)
    with quiet():  # the input is read for itself too
        data = read_input(changed(args, leave_out=None, only=None), args.input)
    if of_gsea:
        return read_cls(args.labels, name, data.n_samples + len(data.skipped))
    if not data.namings:
        return _labels_in_order(args, name, flag, data.n_samples + len(data.skipped))
    try:
        values = labels_of(args.labels, name, data.namings, **reading_options(args))
    except InputError as error:
        if isinstance(error, MixedCells) and error.texts:
            raise _with_gaps(args, error) from error
        message = _of_labels(args, data, error).replace("`labels`", flag)
        with suppress(InputError):
            labels_of(args.labels, name, [data.column_names or ("",)])
            message = f"{args.labels} names the columns of {args.input}, not its rows: add --transpose"
        raise InputError(message) from error
    places = np.array(data.row_numbers) - 1
    aligned = np.full(data.n_samples + len(data.skipped), None if values.dtype == object else np.nan, values.dtype)
    aligned[places] = values
    return aligned


def _of_second(args: argparse.Namespace, path: str, name: str | int, flag: str) -> np.ndarray:
    """A column of a second file, whose rows are those of the input."""
    if not has_columns(path):
        return read_numbers(path).X[:, int(name)]
    try:
        return read_by_guess(partial(read_column, path, name, argument="target"), path, reading_options(args))
    except InputError as error:
        raise _of_columns(args, error, flag) from error


def _labels_in_order(args: argparse.Namespace, name: str | int, flag: str, n: int) -> np.ndarray:
    """A column of ``--labels`` for rows of the input, which have no names."""
    values = _of_second(args, args.labels, name, flag)
    if len(values) != n:
        raise InputError(
            f"{args.labels}: expected a row for each of the {n} rows of {args.input}, which have no names to find them "
            f"by; got {len(values)}; write as many, or name the rows with --index-column COLUMN"
        )
    if args.gram:
        refuse_hidden_names(args.input, n)
    warn(Note(f"{args.input} has no names of rows: those of {args.labels} belong to its rows in the order of the file"))
    return values


def _of_labels(args: argparse.Namespace, data: Dataset, error: InputError) -> str:
    """The error of reading labels; options that it names are for the items too, and must not change these."""
    options, message = getattr(error, "options", {}), str(error)
    with quiet(), suppress(ValueError):
        other = read_input(changed(args, leave_out=None, only=None, **options), args.input)
        if not options or (other.namings == data.namings and np.array_equal(other.X, data.X)):
            return message
    setattr(error, "options", {})  # noqa: B010
    return f"{message.partition('; pass ')[0]}; options that read it do not read {args.input}: write both files alike"


def item_classes(args: argparse.Namespace) -> np.ndarray | None:
    """Classes or numbers stored in a file of series or graphs, one per row; None for other files."""
    if (
        args.gram
        or getattr(args, "labels", None)
        or args.input.lower().endswith((".npy", ".csv"))
        or (args.kind not in _KINDS_WITH_CLASSES and has_columns(args.input))
    ):
        return None
    return read_input(changed(args, leave_out=None, only=None), args.input).classes


def column_as_texts(args: argparse.Namespace, name: str) -> list[str] | None:
    """Cells of the input column of this name as texts, empty if missing; None without such a column."""
    if args.header == "no" or name not in titles_of(args, args.input):
        return None
    values = as_classes(read_column_of(changed(args, gram=False), name, "--predict")).tolist()
    return ["" if cell is None else str(cell) for cell in values]


def identifiers(args: argparse.Namespace, data: Dataset, *, repeats: bool = False) -> tuple[str, list[str]]:
    """Title and cells of the column of names with most different ones, all unless ``repeats``; empty without one."""
    other = data.row_names is not None or any((args.gram, args.transpose, args.window, args.header == "no"))
    titles = [] if other or not is_table(args.input) else titles_of(changed(args, labels=None), args.input)
    found = [(title, _full_column(args, title, data)) for title in filter(is_id_name, filter(None, titles))]
    best = max(found, key=lambda pair: len({*pair[1]}), default=("", []))
    return best if len({*best[1]}) > (1 if repeats else data.n_samples - 1) else ("", [""] * data.n_samples)


def _full_column(args: argparse.Namespace, title: str, data: Dataset) -> list[str]:
    """Cells of a column; nothing where one is empty."""
    with suppress(InputError), quiet():  # no column of the model
        column = read_column_of(changed(args, labels=None), title, "--groups").tolist()
        cells = [str(column[row - 1] or "").removesuffix(".0") for row in data.row_numbers]
        return cells if "" not in cells else []
    return []


def robustly(args: argparse.Namespace, data: Dataset) -> str:
    """The command that leaves rows out by ``--robust``, where this goes with the other flags."""
    command = as_command(with_advice(args, {"robust": True}))
    alone = args.groups is None and args.loss != "auto" and data.kind not in ("curves", "gram") and not args.robust
    return f"this command leaves out those that change the fit:{command}\n" * alone


def without_named(args: argparse.Namespace, data: Dataset, rows: list[int]) -> str:
    """Print the command that leaves few suspicious rows out, by name or number, or else by ``--robust``."""
    places = [*map(str, data.row_names or data.row_numbers)]
    named = [places[i] for i in rows]
    if args.robust:
        return ""
    if len(rows) <= MOST_NAMED and "," not in "".join(named) and sum(map(places.count, named)) == len(named):
        out = [*filter(None, [args.leave_out]), *named]
        command = as_command(advised(args.words, {"leave_out": out}))
        return f"; if they are wrong, this command leaves them out:{command}\n"
    command = robustly(args, data)
    return f"; if they are wrong, {command}" if command else ""


def values_of_column(args: argparse.Namespace, name: str | int, flag: str, data: Dataset) -> np.ndarray:
    """A column of the input for the rows that were read; missing texts are empty."""
    values = np.delete(read_column_of(args, name, flag), [bad.row - 1 for bad in data.skipped])
    return np.array(["" if cell is None else cell for cell in values.tolist()]) if values.dtype == object else values


def warn_of_several_quantities(args: argparse.Namespace, data: Dataset, values: np.ndarray) -> None:
    """Warn of a column such as the type of a result that tells targets of other sizes apart; name the rows of one."""
    other = args.labels or getattr(args, "targets", None) or any((args.gram, args.transpose, args.window))
    for title in [] if other or not is_table(args.input) else filter(_QUANTITY.search, titles_of(args, args.input)):
        sizes = _sizes_by_kind(args, title, data, values)
        if len(sizes) > 1 and max(sizes.values()) > _OTHER_SIZE * min(sizes.values()) > 0.0:
            first, found = next(iter(sizes)), [f"{quote(kind)} {size:.3g}" for kind, size in sizes.items()]
            what = f"{data.source}: column {quote(title)} has {len(sizes)} values whose {args.predict} differ in size"
            what = f"{what} (nine in ten are below: {listed(found)}); if they are several quantities, predict one"
            warn(Doubtful(what, f"reads the rows of {first}", only=f"{title}={first}"))
            return


def _sizes_by_kind(args: argparse.Namespace, title: str, data: Dataset, values: np.ndarray) -> dict[str, float]:
    """What nine in ten of the targets are below, in size, for each frequent text of a column; the first has most."""
    with suppress(InputError), quiet():
        kinds = values_of_column(args, title, "--groups", data).astype(object)
        counts = Counter(kind for kind in kinds[np.isfinite(values)].tolist() if isinstance(kind, str) and kind)
        often = [kind for kind, count in counts.most_common() if count >= _ROWS_OF_A_KIND]
        return {kind: float(np.nanquantile(np.abs(values[kinds == kind]), 0.9)) for kind in often}
    return {}


def with_groups(args: argparse.Namespace) -> argparse.Namespace:
    """Arguments that read the table without its column of ``--groups``; raises if it is missing."""
    name = args.groups
    if name is None:
        return args
    wanted = args.predict
    if name in (*named_columns(wanted), *named_columns(args.columns)):
        raise InputError(f"--groups must not be a column of --predict or --columns; got {name}; name another")
    read_column_of(args, name, "--groups")
    return without_columns(args, name)


def without_columns(args: argparse.Namespace, *names: str | int) -> argparse.Namespace:
    """Arguments that read the other columns of a table."""
    dropped = getattr(args, "drop_columns", None)
    if getattr(args, "labels", None) is not None:
        return args
    wide = is_table(args.input) or args.input.lower().endswith((".npy", ".npz"))
    whole = wide and args.columns is None and args.smiles is None and args.kind in (None, "curves", "series", "vectors")
    return changed(args, drop_columns=[*named_columns(dropped), *names]) if whole or dropped is not None else args


def read_targets(args: argparse.Namespace, data: Dataset) -> np.ndarray:
    """One class or number per row of ``--targets``: a .npy file, a text file of one column, or a column of a table."""
    path = args.targets
    check_readable(path)
    if args.predict is not None:
        _refuse_other_order(args, data, read_mixed(path, columns=[args.predict]))
        return read_column(path, args.predict, argument="--predict")
    return load_npy(path).reshape(-1) if path.lower().endswith(".npy") else _read_lines(path, data.n_samples)


def _read_lines(path: str, n: int) -> np.ndarray:
    """One value per line; the first of ``n + 1`` lines is a header."""
    with open(path, encoding="utf-8-sig", newline="") as handle:
        rows = [row for row in csv.reader(handle) if row]
    if not rows or any(len(row) != 1 for row in rows):
        raise InputError(
            f"{path}: --targets must be a file with one value per row; for a table name a column with --predict"
        )
    cells = [row[0] for row in rows]
    cells = cells[1:] if len(cells) == n + 1 else cells
    return typed([cell.strip() for cell in cells])


def refuse_amounts(name: str | int, classes: list[str]) -> None:
    """Refuse classes that are amounts in several notations."""
    if are_amounts(classes):
        raise InputError(
            f"--predict {name} has {len(classes)} distinct values such as {quote(classes[0])} and "
            f"{quote(classes[-1])}, which look like amounts: write them as numbers with one unit, or none, "
            "or name a column of classes"
        )
