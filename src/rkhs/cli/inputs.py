"""What commands read: options of input files, and files read the way a model wants them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from rkhs import estimators
from rkhs._core.errors import InputError, RkhsError, quote, warn
from rkhs.cli.corrections import (
    in_one_command,
    quiet as quiet,
    read_by_guess,
    read_texts,
    reading_advice,
    warn_of_dates as warn_of_dates,
    warn_of_identifiers,
)
from rkhs.cli.kernel_values import read_gram, refuse_hidden_names as refuse_hidden_names
from rkhs.cli.kinds import OBJECTS, as_kernel_reads, fingerprint_options, in_known_letters, kind_notes, kind_options
from rkhs.cli.options import (
    changed as changed,
    column,
    mended,
    named_columns as named_columns,
    parts_of,
    reading_options as reading_options,
    united,
)
from rkhs.cli.shapes import (
    reshaped,
    selected_rows,
    warn_of_totals,
    whole,
    with_progress,
    with_spreads as with_spreads,
)
from rkhs.data import Dataset, SkippedRow, read_mixed
from rkhs.data.dataset import NOTHING_KNOWN, listed, locate, name_in_r, titles_of as titles_of_data
from rkhs.data.formats import (
    SDF,
    TABLES,
    begins_in_utf8 as begins_in_utf8,
    extension_of,
    has_columns,
    is_table,
    is_text_table as is_text_table,
    open_bytes,
)
from rkhs.data.table_reader import column_count, column_titles, read_chunks
from rkhs.data.text import FewWords, Mendable, Note

T = TypeVar("T")


class LackingColumns(InputError):
    """A file lacks columns of the training file."""

    def __init__(self, message: str, names: Sequence[str], of: int = 0) -> None:
        super().__init__(message)
        self.names = names
        self.few = 2 * len(names) < of  # of the columns of the model, so that a model without them is worth a fit


_OF_TEXTS = ("encoding", "delimiter", "comment", "decimal", "thousands")  # options that read text tables
_SHAPES = ("transpose", "window", "step")  # options that make other rows of those of a file
_OF_FIT = "the columns of the training file"
_OF_ITEMS = "the kernel values or distances with the items of the fit, all of which are needed"
_FIRST_ROWS = 100  # that show whether columns have names
_MOST_TITLES = 20  # rows above names of columns
_LACKING = 0.2  # share of the rows of the file of a fit with gaps that a new one may lack
_RANGES = 50  # columns of a table whose ranges a model file keeps
_LARGE, _PART = 2**24, 16384  # bytes of a file above which it is read in parts, and their rows


def _given_options(args: argparse.Namespace) -> dict[str, Any]:
    options: dict[str, Any] = {"index_column": args.index_column, "smiles_column": args.smiles}
    options |= {name: named_columns(getattr(args, name, None)) or None for name in ("columns", "drop_columns")}
    options["on_error"] = "skip" if args.skip_bad_smiles else None
    given = {name: value for name, value in options.items() if value is not None}
    return given | reading_options(args) | fingerprint_options(args)


def read_input(args: argparse.Namespace, path: str) -> Dataset:
    """Read a file as the options say, with the rows of ``--only`` and without those of ``--leave-out``."""
    if path.lower().endswith(".rkhs"):
        raise InputError(
            f"{path}: expected a file of items, as rkhs fit reads them; got a model file, which rkhs info describes"
        )
    args, gram = _with_texts(args, path), getattr(args, "gram", False)
    if gram is True and getattr(args, "kernel", None) is not None:
        raise InputError("--kernel cannot be given with --gram: a Gram matrix holds the values of its kernel")
    try:
        data = _read_items(args, path, gram)
    except Mendable as error:
        if not args.transpose or error.otherwise:
            raise
        raise in_one_command(args, error, lambda args: _read_items(args, path, gram), lambda _: []) from error.__cause__
    return selected_rows(args, data, path, reading_options(args))


def _with_texts(args: argparse.Namespace, path: str) -> argparse.Namespace:
    """The arguments with the only column of a table that may hold its sequences or texts, if none is named."""
    if args.kind not in ("sequences", "texts") or args.columns or extension_of(path) not in TABLES:
        return args
    others = _other_columns(args)
    places = range(column_count(path, **reading_options(args)))
    found = [one for one in (args.header != "no" and titles_of(args, path)) or places if str(one) not in others]
    return changed(args, columns=found) if len(found) == 1 else args


def _other_columns(args: argparse.Namespace) -> set[str]:
    """Columns that options of a command name for something else."""
    named = ("predict", "groups", "color", "drop_columns", "index_column")
    given = [value for name in named if (value := getattr(args, name, None)) is not None]
    return {str(one) for value in given for one in (value if isinstance(value, list) else parts_of(str(value)))}


def _read_items(args: argparse.Namespace, path: str, gram: bool | Literal["cross"]) -> Dataset:
    """Items of a file: its rows, or its columns, or windows of its rows."""
    turned = args.kind == "curves" and args.transpose  # a table until it is transposed
    data = _read_all(changed(args, kind=None) if turned else args, path, gram)
    warn_of_identifiers(args, data)
    return reshaped(args, as_kernel_reads(data, getattr(args, "kernel", None)))


def refuse_lone_labels(args: argparse.Namespace, flag: str) -> None:
    """Refuse ``--labels`` without a column, with the command for that of the fewest texts, or of numbers."""
    if args.labels is None:
        return
    with quiet():
        data = read_by_guess(partial(read_mixed, args.labels, stray="gap"), args.labels, reading_options(args))
    names, columns = titles_of_data(data), data.X.T.tolist()
    texts = [{cell for cell in cells if isinstance(cell, str)} for cells in columns]
    few = sorted((len(some), j) for j, some in enumerate(texts) if 1 < len(some) <= data.n_samples / 2)
    likely = [names[j] for _, j in few] + [name for name, some in zip(names, texts, strict=True) if not some]
    what = f"--labels needs {flag} COLUMN; {args.labels} has the columns {listed([*map(quote, names)], 12)}"
    raise Mendable(what, f"takes {', '.join(map(quote, likely[:1]))}", None, **{flag[2:]: likely[:1]})


def with_words_as_gaps(args: argparse.Namespace, rest: argparse.Namespace, error: FewWords) -> InputError:
    """The error of a column of the input with the command that reads it; ``rest`` reads the inputs next to it."""
    if getattr(args, "targets", None):
        return error
    advice = reading_advice(args.input, _given_options(rest), error.found)
    with suppress(InputError), quiet():
        try:
            read_input(mended(rest, advice), args.input)
        except Mendable as more:
            others = more.otherwise and united(advice, more.otherwise)
            return Mendable(str(error), more.does, others, **united(advice, more.options))
    return Mendable(str(error), **advice)


def read_known(args: argparse.Namespace) -> Dataset:
    """The first of two files; an error prints the command that reads all of it, without what the second lacks."""

    def read(args: argparse.Namespace) -> Dataset:
        return read_input(_of_two(args, args.input), args.input)

    try:
        return read(args)
    except InputError as error:
        mended = in_one_command(args, error, read, lambda args: titles_of(args, args.new) if args.new else [])
        raise mended from error.__cause__ if mended is error else None


def new_parts(args: argparse.Namespace, known: Dataset, model: estimators.KernelEstimator) -> Iterator[Dataset]:
    """The second of two files, read as the first, in parts where it is large; the first where it is alone."""
    if args.new is None:
        yield known
        return
    options = changed(_of_two(args, args.new), drop_columns=None)
    if known.distance_scale is not None:
        model.reader_ = replace(model.reader_, distance_scale=known.distance_scale)
    try:
        yield from parts_for_model(options, args.new, model, input_notes(known, args))
    except LackingColumns as error:
        left = [name for name in known.column_names or () if name not in error.names]
        if not left or known.kind == "gram":
            raise
        what = f"{args.new} lacks {listed([*map(quote, error.names)])} of {args.input}"
        raise Mendable(what, "compares the other columns", drop_columns=[*error.names]) from error


def _of_two(args: argparse.Namespace, path: str) -> argparse.Namespace:
    """The options as one of two files takes them: --smiles is the column of the table next to a file of molecules."""
    molecules = [one.lower().endswith((".smi", *SDF)) for one in (args.input, args.new or args.input, path)]
    return args if molecules[0] == molecules[1] or not molecules[2] else changed(args, smiles=None)


def _read_all(args: argparse.Namespace, path: str, gram: bool | Literal["cross"]) -> Dataset:
    options = _given_options(args)
    if args.kind is not None and (gram or getattr(args, "mixed", False)):
        raise InputError(f"--kind {args.kind} does not go with {'--gram' if gram else '--mixed'}; leave one out")
    if getattr(args, "mixed", False):
        return _read_mixed(args, path, None, None)
    if not gram:
        return _report_skipped(args, whole(args, path, options))
    return _report_skipped(args, read_gram(args, path, gram, options))


def _read_mixed(
    args: argparse.Namespace,
    path: str,
    names: list[str] | None,
    kinds: list[str] | None,
    places: Sequence[int] | None = None,
    width: int | None = None,
) -> Dataset:
    """A table of numbers and texts; new files have the columns of the training file by name, or by place if as wide."""
    options = _given_options(args)
    if getattr(args, "gram", False):
        raise InputError("a mixed table takes no --gram; leave it out")
    if names is not None and args.columns is None:
        options["columns"] = names
        titles = _below_titles(args, path, names)
        _refuse_lacking(path, names, titles or names, of_rows=args.index_column)  # reading says why there are none
    elif places and args.columns is None and column_count(path, **reading_options(args)) == width:
        options["columns"] = places
    return _report_skipped(args, read_texts(args, path, kinds, options))


def _report_skipped(args: argparse.Namespace, data: Dataset) -> Dataset:
    if data.filled:
        warn(
            f"{data.source}: {data.filled} empty cells of curves are filled by straight lines between their neighbours"
        )
    warn_of_totals(args, data)
    for reason in dict.fromkeys(bad.reason for bad in data.skipped):
        bad = [one for one in data.skipped if one.reason == reason]
        warn(f"{data.source}: {_unknown(data, bad) if reason == NOTHING_KNOWN else _left_out(bad)}")
    return data


def _unknown(data: Dataset, bad: list[SkippedRow]) -> str:
    """How many rows without a known cell are left out."""
    what = f"{len(bad)} with an empty cell in place of a text" if data.kind in OBJECTS else "because no cell is known"
    return f"left out, {what}: row{'' if len(bad) == 1 else 's'} {listed([one.row for one in bad], 10)}"


def _left_out(bad: list[SkippedRow]) -> str:
    """One row that is left out, with its text; or how many are, with the first numbers and texts."""
    first, reason = bad[0], bad[0].reason
    if len(bad) == 1:
        return f"row {first.row} left out ({reason}): {quote(first.text)}"
    return f"{len(bad)} rows left out ({reason}): rows {listed([f'{one.row} {quote(one.text)}' for one in bad])}"


def input_notes(data: Dataset, args: argparse.Namespace) -> dict[str, Any]:
    """Say what must be remembered of the training file, so that other files are read in the same way."""
    notes: dict[str, Any] = {
        "kind": data.kind,
        "source": data.source,
        "row_names": None if data.row_names is None else list(data.row_names),
        "column_names": None if data.column_names is None else list(data.column_names),
        "index_column": data.column_title or data.row_title,
        "skipped_rows": [bad.row for bad in data.skipped],
        "missing": args.missing,
        "drop_columns": [*map(str, named_columns(getattr(args, "drop_columns", None)))]
        if args.transpose or args.window
        else None,
        **{name: getattr(args, name) for name in _SHAPES},
        **{name: getattr(args, name) for name in (*_OF_TEXTS, "skip_rows", "header")},
        "above": _lines_above(data.source, args.skip_rows),
        "width": _width(args, data),
        "ranges": np.stack([data.X.min(0), data.X.max(0)], 1).tolist() if _has_ranges(data) else None,
    }
    return {"input": notes | kind_notes(data, _with_texts(args, data.source))}


def _width(args: argparse.Namespace, data: Dataset) -> int | None:
    """Number of columns of a file, where those that are read are known by their places."""
    return column_count(data.source, **reading_options(args)) if data.places else None


def _has_ranges(data: Dataset) -> bool:
    """Whether the ranges of columns are worth a note: those of a table of a few numbers."""
    return data.kind == "vectors" and is_table(data.source) and data.X.shape[1] <= _RANGES


def read_for_model(
    args: argparse.Namespace, path: str, model: estimators.KernelEstimator, notes: dict[str, Any]
) -> Dataset:
    """Read a file the way the training file of a model was read."""
    known = notes.get("input", {})
    args = _as_known(args, path, known)
    if model.kernel_.domain == "gram":
        data = _in_training_order(path, read_input(changed(args, gram="cross"), path), known.get("column_names"))
    elif known.get("kind") == "table" and not args.transpose:
        data = _read_mixed(args, path, *map(known.get, ("column_names", "column_kinds", "places", "width")))
    else:
        data = _read_columns(changed(args, filled=known.get("kind") == "table"), path, known.get("column_names"))
    return _prepared(args, path, data, model, notes)


def _prepared(
    args: argparse.Namespace, path: str, data: Dataset, model: estimators.KernelEstimator, notes: dict[str, Any]
) -> Dataset:
    """Rows of a file as those of the fit of a model, as its kernel reads them."""
    data = in_known_letters(data, notes.get("input", {}).get("texts"))
    for text in data.guessed:
        warn(Note(f"{path}: {text}"))
    _check_times(path, data, notes.get("input", {}).get("times"))
    expected = getattr(model, "n_features_in_", data.X.shape[-1])
    data = _like_the_fit(args, data, expected, notes.get("predict", {}).get("places left out") or [])
    if data.kind in OBJECTS and hasattr(model, "n_features_in_"):
        raise InputError(f"{path}: the model reads rows of {expected} columns; got {data.kind}; give it a table")
    if data.X.shape[-1] != expected:
        meaning = "kernel values with the training rows" if model.kernel_.domain == "gram" else "columns"
        raise InputError(
            f"{path}: the model needs {expected} {meaning}; got {data.X.shape[-1]}; choose them with --columns"
        )
    return as_kernel_reads(data, model.kernel_)


def _read_columns(args: argparse.Namespace, path: str, names: list[str] | None) -> Dataset:
    if args.transpose or args.window is not None:
        return _read_turned(args, path, names)
    if names is None or args.columns is not None or not is_table(path):
        return read_input(args, path)
    return _by_names(args, path, lambda columns: read_input(changed(args, **columns), path), names)


def _read_turned(args: argparse.Namespace, path: str, names: list[str] | None) -> Dataset:
    """Columns or windows of a table, with the rows that a model reads."""
    data = _titled(changed(args, of_model=names or ()), path, names)
    if args.transpose and (names is None or data.column_names is None):
        which = "the file of the fit" if names is None else path
        warn(f"{path}: its rows are read in the order of those of the fit, since no column names those of {which}")
    data = _with_empty(data, names or ()) if getattr(args, "filled", None) and data.column_names else data
    return _in_training_order(path, data, names, _OF_FIT)


def _with_empty(data: Dataset, names: Sequence[str]) -> Dataset:
    """A table with gaps, with empty columns for those few that a model reads and it lacks."""
    found = data.column_names or ()
    lacking = [name for name in names if name not in set(found)]
    if not 0 < len(lacking) <= _LACKING * len(names):
        return data
    warn(f"{data.source} lacks {listed(lacking, 3)}, of {len(names)} rows of the file of the fit: they are filled")
    empty = np.full((data.n_samples, len(lacking)), None)
    return replace(data, X=np.hstack([data.X, empty]), column_names=(*found, *lacking))


def _titled(args: argparse.Namespace, path: str, names: list[str] | None) -> Dataset:
    """Rows of a file; a first row that may be names or numbers holds names if that of the training file did."""
    try:
        return read_input(args, path)
    except InputError:
        if names is None or args.header is not None:
            raise
        return read_input(changed(args, header="yes"), path)


def _in_training_order(path: str, data: Dataset, names: list[str] | None, what: str = _OF_ITEMS) -> Dataset:
    """Columns in the order of those of the fit, where both files name these."""
    found: Sequence[str] | None = data.column_names
    if names is None or found is None:
        if names is not None and what != _OF_FIT:
            warn(Note(f"{path}: its columns have no names, and are taken in the order of the items of the fit"))
        return data
    if len(set(names)) < len(names):
        raise InputError(
            f"{path}: names of training items repeat, so that columns cannot be identified by them; leave the names of "
            "columns out, with kernel values in the order of the training file"
        )
    if not set(names) & set(found):
        plain = {name_in_r(name): name for name in names}
        found = [plain.get(name, name) for name in found]
    _refuse_lacking(path, names, found, what)
    return replace(data, X=data.X[..., list(map(found.index, names))], column_names=tuple(names))


def _check_times(path: str, data: Dataset, times: list[float] | None) -> None:
    """Refuse curves at other times than those of the fit, where both files say them."""
    if times is None or data.times is None or len(times) != len(data.times):
        return  # another number of times is refused as another number of columns
    if not np.allclose(times, data.times, rtol=1e-9, atol=1e-12 * np.ptp(data.times)):
        raise InputError(
            f"{path}: the model reads curves at {len(times)} times from {times[0]:g} to {times[-1]:g}; got others, "
            f"from {data.times[0]:g} to {data.times[-1]:g}. Resample the curves"
        )


def _like_the_fit(args: argparse.Namespace, data: Dataset, expected: Any, places: list[int]) -> Dataset:
    """A file as wide as the table of a fit of ``--predict`` without the columns that the model does not read."""
    as_wide = data.kind == "vectors" and data.X.shape[-1] == expected + len(places)
    if not places or not as_wide or data.column_names is not None or args.columns is not None:
        return data
    return replace(data, X=np.delete(data.X, places, axis=1), places=())


def parts_for_model(
    args: argparse.Namespace, path: str, model: estimators.KernelEstimator, notes: dict[str, Any]
) -> Iterator[Dataset]:
    """Read a file as :func:`read_for_model` does; a large one some rows at a time, with a line of progress."""
    if os.path.getsize(path) <= _LARGE:
        yield read_for_model(args, path, model, notes)
        return
    rows = max(64, min(_PART, 2**22 // int(getattr(model, "n_features_in_", 1))) // 64 * 64)  # whole lots of tiles
    yield from with_progress(chunks_for_model(args, path, model, notes, rows), lambda data: data.row_numbers[-1])


def chunks_for_model(
    args: argparse.Namespace, path: str, model: estimators.KernelEstimator, notes: dict[str, Any], rows: int
) -> Iterator[Dataset]:
    """Read a file as :func:`read_for_model` does, some rows at a time."""
    known, others = notes.get("input", {}), ("leave_out", *_SHAPES)
    left_out = any(known.get(name) or getattr(args, name, None) for name in others)
    whole = known.get("kind") in (*OBJECTS, "curves", "table") or args.kind not in (None, "vectors") or left_out
    if whole or not (is_text_table(path) or path.lower().endswith((".smi", ".npy", ".parquet"))):
        yield read_for_model(args, path, model, notes)
        return
    args, gram, names = _as_known(args, path, known), model.kernel_.domain == "gram", known.get("column_names")
    options = _given_options(args)
    if gram:
        options["gram"] = "cross"
    elif known.get("kind") != "molecules":
        options |= _columns_of(args, path, names, options)
    for part in read_chunks(path, rows=rows, **options):
        data = _in_training_order(path, part, names) if gram else part
        yield _prepared(args, path, _report_skipped(args, data), model, notes)


def _columns_of(
    args: argparse.Namespace, path: str, names: list[str] | None, options: dict[str, Any]
) -> dict[str, Any]:
    """The columns of the fit by their names, if a file that is read in chunks has names."""
    if names is None or args.columns is not None or not is_table(path):
        return {}
    first = _by_names(args, path, lambda some: next(read_chunks(path, rows=_FIRST_ROWS, **(options | some))), names)
    return {} if first.column_names is None else {"columns": names}


def _by_names(
    args: argparse.Namespace, path: str, read: Callable[[dict[str, Any]], Dataset], names: list[str]
) -> Dataset:
    """The columns of these names; a file without names is taken by position."""
    try:
        return read({"columns": names})
    except InputError:
        titles: Sequence[str] = _below_titles(args, path, names)
        with suppress(InputError):
            data = read({})
            if data.column_names is None:
                return data
            titles = data.column_names
        _refuse_lacking(path, names, titles or names, of_rows=args.index_column)
        raise


def _refuse_lacking(
    path: str, names: Sequence[str], found: Sequence[str], what: str = _OF_FIT, *, of_rows: str | int | None = None
) -> None:
    """Say which columns of the training file a file does not have; one of names of rows is none that it reads."""
    lacking, others = ([n for n in some if n not in set(rest)] for some, rest in ((names, found), (found, names)))
    if lacking:
        instead = f"; its column {quote(of_rows)} names the rows, as in that file" if of_rows in others else ""
        others = [name for name in others if name != of_rows]
        instead += f"; it has {listed([*map(quote, others)])}, which the model does not read" if others else ""
        text = f"{path} lacks {listed([*map(quote, lacking)])}, of {what}{instead}; correct the names, or the file"
        raise LackingColumns(text, lacking, len(names)) from None


def _as_known(args: argparse.Namespace, path: str, known: dict[str, Any]) -> argparse.Namespace:
    """The arguments with what the notes say of the training file; those given that contradict it are refused."""
    kind, given = known.get("kind"), kind_options(args, path, known)
    args = remembered(args, path, known)
    _refuse_other_table(args, path, kind, given)
    given["index_column"] = _index_column(changed(args, **given), path, known.get("index_column"))
    if kind == "gram" and args.header is None and _names_first(args, path, known.get("column_names")):
        given["header"] = "yes"
    if kind in (*OBJECTS, "curves", "vectors"):
        if args.kind not in (None, kind):
            raise InputError(f"{path}: the model reads {kind}; got --kind {args.kind}; leave it out")
        given["kind"] = kind
    if args.window or (args.transpose and kind in ("vectors", "table")):  # of a table that may hold dates or gaps
        given |= {"kind": None, "mixed": False}
    return changed(args, **given)


def _refuse_other_table(args: argparse.Namespace, path: str, kind: Any, given: dict[str, Any]) -> None:
    """Refuse a table without the column that the items of the fit stood in, unless the user names another."""
    for name, flag in (("smiles", "--smiles"), ("columns", "--columns")):
        if name not in given or getattr(args, name) is not None or args.header == "no" or not is_table(path):
            continue
        if given[name] is None:
            raise InputError(f"{path} is a table: name the column of {kind}, which the model reads, with {flag} COLUMN")
        titles = _below_titles(args, path, [*map(str, named_columns(given[name]))])
        for wanted in named_columns(given[name]) if titles else ():  # reading says why there are none
            try:
                locate(wanted, titles, len(titles), name)
            except InputError as error:
                raise LackingColumns(
                    f"{path} lacks {quote(wanted)}, the column of {kind} of the training file; it has "
                    f"{listed([*map(quote, titles)])}; name that of this file with {flag} COLUMN",
                    [str(wanted)],
                ) from error


def remembered(args: argparse.Namespace, path: str, known: dict[str, Any]) -> argparse.Namespace:
    """Options as they are given, else as they were for the training file, that this file takes."""
    texts = is_text_table(path) * len(_OF_TEXTS)
    marks = _OF_TEXTS[3:texts] if path.lower().endswith(".xlsx") else _OF_TEXTS[:texts]
    names = [*_SHAPES, *["missing"] * has_columns(path), *marks]
    known = known | {"encoding": None} if texts and begins_in_utf8(path) else known
    given = {name: getattr(args, name) or known.get(name) for name in names}
    given |= _rows_above(changed(args, **given), path, known)
    if known.get("drop_columns") and is_table(path):  # those that this file has
        places = [*filter(str.isdecimal, known["drop_columns"])]
        options = reading_options(changed(args, **given)) | {"drop_columns": [*map(column, places)]}
        found = {*column_titles(path, **options), *places}
        given["drop_columns"] = [column(name) for name in known["drop_columns"] if name in found]
    return changed(args, **given)


def _rows_above(args: argparse.Namespace, path: str, known: dict[str, Any]) -> dict[str, Any]:
    """The rows above the table of the training file, where this file has the same, or its names below as many rows."""
    if alike := _same_rows_above(args, path, known):
        return alike
    skipped = {"skip_rows": args.skip_rows or known.get("skip_rows")}
    names = known.get("column_names") or [known.get("smiles_column")]
    names = [known.get("index_column") or ""] if args.transpose else names  # the others are those of its items
    below = skipped["skip_rows"] and is_table(path) and {*titles_of(changed(args, **skipped), path)}
    return skipped if below and set(names) <= below else {}


def _same_rows_above(args: argparse.Namespace, path: str, known: dict[str, Any]) -> dict[str, Any]:
    """Options that read the training file, where this file has the rows above its table."""
    if args.skip_rows is None and known.get("above") and known["above"] == _lines_above(path, known["skip_rows"]):
        return {"skip_rows": known["skip_rows"], "header": args.header or known.get("header")}
    return {}


def _lines_above(path: str, count: int | None) -> list[str]:
    """Lines above the table of a text file, as many as the user left out."""
    if not count or not is_text_table(path):
        return []
    with open_bytes(Path(path)) as handle:
        return [line.decode("latin-1").strip() for line in islice(handle, count)]


def _names_first(args: argparse.Namespace, path: str, names: list[str] | None) -> bool:
    """Whether most names of training items stand in the first row of a file; they may be numbers."""
    if names is None or not is_text_table(path):
        return False
    titles = titles_of(args, path)
    return len(set(titles)) == len(titles) and 2 * len(set(titles) & set(names)) > len(names)


def titles_of(args: argparse.Namespace, path: str) -> list[str]:
    """Cells of the first row of a file; none where it has no columns."""
    return column_titles(path, **reading_options(args))


def _below_titles(args: argparse.Namespace, path: str, names: Sequence[str]) -> list[str]:
    """Cells of the first row of a new file; refuses one in whose later row the names of the training file stand."""
    titles = titles_of(args, path)
    known = args.skip_rows is not None or hasattr(args, "new") or set(names) <= set(titles)  # both files of two have it
    for count in () if known or not is_text_table(path) else range(1, _MOST_TITLES):
        if set(names) <= set(titles_of(changed(args, skip_rows=count), path)):
            what = f"{path}: rows stand above the names of columns, {listed([*map(quote, names)])}"
            raise Mendable(f"{what}; pass skip_rows={count}", skip_rows=count)
    return titles


def _index_column(args: argparse.Namespace, path: str, title: str | None) -> str | int | None:
    """The column of row names that was given, or that of the training file where this file has it too."""
    if args.index_column is not None or title is None or title in named_columns(args.columns):
        return args.index_column
    return title if args.header != "no" and title in titles_of(args, path) else None


@contextmanager
def user_errors() -> Iterator[None]:
    """Scikit-learn refuses data by plain ValueErrors: make them the user's, not unexpected ones."""
    try:
        yield
    except RkhsError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(str(error)) from error
