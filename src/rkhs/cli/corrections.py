"""Tables that cannot be read as asked, and the command that reads them."""

from __future__ import annotations

import argparse
import shlex
import string
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from rkhs._core.errors import InputError, quote, warn
from rkhs.cli.options import mended, united
from rkhs.data import Dataset, read_items
from rkhs.data.columns import identifier
from rkhs.data.curves import as_curves as as_curves
from rkhs.data.dataset import listed
from rkhs.data.fasta import are_sequences
from rkhs.data.known_columns import read_by_guess as read_by_guess, reading_advice as reading_advice
from rkhs.data.mixed import MOST_TEXTS, OF_MIXED, read_mixed
from rkhs.data.molecule_files import flat_smiles
from rkhs.data.text import (
    Doubtful,
    FewWords,
    Mendable,
    MixedCells,
    are_smiles,
    is_id_name,
    number_in,
)

_ROUNDS = 4  # messages about a file, one after the other
_LETTERS = {*string.ascii_letters, *"*_.-"}  # of sequences
_FEW_TEXTS = 20  # of a column of categories, or a tenth of its rows


def read_whole(args: argparse.Namespace, path: str, options: dict[str, Any]) -> Dataset:
    """Items of any kind, or else a table of texts and gaps whose cells are in order."""
    try:
        return read_items(path, kind=args.kind, **options)
    except MixedCells as error:
        if not _may_be_mixed(args, options):
            raise
        if getattr(args, "transpose", False):  # of which the rows with gaps are left out
            return read_texts(args, path, None, options)
        with warnings.catch_warnings(record=True, action="always") as caught:
            data, what = _mixed_table(args, path, options, known=bool(error.texts))
        if data is None or not all(_in_order(column.tolist()) for column in data.X.T):
            raise corrected(args, path, options, what or error.what) from error
    for one in caught:
        warnings.warn(one.message, stacklevel=2)
    return data


def _may_be_mixed(args: argparse.Namespace, options: dict[str, Any]) -> bool:
    """Whether a command and its options of reading take tables of texts and gaps."""
    kind = None if getattr(args, "transpose", False) and args.kind == "vectors" else args.kind
    return hasattr(args, "mixed") and kind is None and not set(options) - OF_MIXED


def _mixed_table(
    args: argparse.Namespace, path: str, options: dict[str, Any], *, known: bool
) -> tuple[Dataset | None, str]:
    """A table of texts and gaps; None, and the reason, unless it is known of all columns, where cells are in doubt."""
    try:
        return read_mixed(path, **options), ""
    except FewWords as few:
        return None, str(few)
    except MixedCells as strays:
        return None, "" if known else strays.what
    except InputError:
        return None, ""


def read_texts(args: argparse.Namespace, path: str, kinds: list[str] | None, options: dict[str, Any]) -> Dataset:
    """A table of numbers, texts and gaps; strays among numbers are gaps, with a warning."""
    try:
        return read_mixed(path, kinds=kinds, stray="gap", **options)
    except FewWords as error:
        raise corrected(args, path, options, str(error)) from error


def corrected(args: argparse.Namespace, path: str, options: dict[str, Any], what: str) -> Mendable:
    """The options that read a table of texts, gaps and strays: its molecules, or all but columns of unique texts."""
    advice = reading_advice(path, options)
    with quiet():
        data = read_mixed(path, stray="gap", **options | advice)
    dropped = _out_of_order(data, args.words)
    if (smiles := _only_smiles(dropped)) and hasattr(args, "smiles"):
        bad = "" in flat_smiles(dropped[smiles])
        what = f"{path}: column {quote(smiles)} holds SMILES: pass --smiles {quote(smiles)}"
        return Mendable(what, smiles=smiles, skip_bad_smiles=bad)
    if found := _of_sequences(what, dropped, advice, options):
        return found
    if len(options.get("columns", ())) == 1 and not _in_order(texts := data.X[:, 0].tolist()):
        kind = "sequences" if _LETTERS.issuperset("".join(filter(None, texts))) else "texts"
        return Mendable(f"{what}; pass --kind {kind} to read them", kind=kind)
    return _without_texts(args, data, what, advice, dropped)


def _without_texts(
    args: argparse.Namespace, data: Dataset, what: str, advice: dict[str, Any], dropped: dict[str, Any]
) -> Mendable:
    """The options that leave out columns of texts that hardly repeat, of which the first may name the rows."""
    named = next((name for name, cells in dropped.items() if _names_rows(data, name, cells)), None)
    if named is not None:
        del dropped[named]
        what = f"{what}; --index-column {shlex.quote(named)} names the rows by it, and takes names that repeat"
    what += (
        f"; --drop-columns leaves out {listed([*map(quote, dropped)])}, whose texts hardly repeat, are very many, or "
        "look like numbers"
    ) * bool(dropped)
    mixed = "--mixed" not in args.words and not getattr(args, "transpose", False)
    return Mendable(what, **advice, mixed=mixed, index_column=named, drop_columns=[*dropped])


def in_one_command(
    args: argparse.Namespace,
    error: InputError,
    read: Callable[[argparse.Namespace], Dataset],
    titles: Callable[[argparse.Namespace], Sequence[str]],
) -> InputError:
    """The error of a file with the command that mends all that is wrong in it, without columns that a second lacks."""
    first, what, options = error, str(error), dict[str, Any]()
    for _ in range(_ROUNDS):
        if not isinstance(error, Mendable):
            break
        options = united(options, error.options)
        try:
            with quiet():
                known = read(mended(args, options))
        except InputError as more:
            error = more
        else:
            if lacking := _lacking(known, titles(mended(args, options))):
                options = united(options, {"drop_columns": lacking})
                what = f"{what}; {args.new} lacks {listed([*map(quote, lacking)])}"
            break
    does = getattr(first, "does", "") if options == getattr(first, "options", None) else "reads it"
    return Mendable(what, does, **options) if options else first


def _lacking(known: Dataset, titles: Sequence[str]) -> list[str]:
    """Columns of a file that another one with titles has not."""
    return [name for name in known.column_names or () if titles and name not in titles]


def warn_of_identifiers(args: argparse.Namespace, data: Dataset) -> None:
    """Warn of a column of a whole table that looks like identifiers, which no flag names."""
    free = args.columns is None and data.row_names is None and args.window is None and not args.transpose
    names = data.column_names if data.kind in ("table", "vectors") else None
    if free and names is not None and (name := identifier(data.X, names)):
        what = f"{data.source}: column {quote(name)} looks like identifiers, and is read as any number"
        warn(Doubtful(what, "names the rows by it", index_column=name))


def warn_of_dates(data: Dataset) -> None:
    """Warn of dates that count in distances as any column."""
    if data.dates:
        verb = "holds" if len(data.dates) == 1 else "hold"
        what = f"{data.source}: {listed(data.dates)} {verb} dates, read as days, and counted as any column"
        warn(Doubtful(what, "leaves them out of the distances", drop_columns=[*data.dates]))


def quiet() -> AbstractContextManager[Any]:
    """Reading that is tried gives no warnings: they come when the command is run."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def _only_smiles(columns: dict[str, Any]) -> str:
    """The name of the only column of SMILES, by its title or its texts."""
    found = [name for name, cells in columns.items() if "smiles" in name.lower() or are_smiles([*filter(None, cells)])]
    return found[0] if len(found) == 1 else ""


def _of_sequences(
    what: str, columns: dict[str, Any], advice: dict[str, Any], options: dict[str, Any]
) -> Mendable | None:
    """The options that read the first column of sequences, by its letters, or the others; None where no one is."""
    found = [name for name, cells in columns.items() if are_sequences([*filter(None, cells)])]
    if not found or {"columns", "smiles_column"} & options.keys():
        return None
    others, does = {"drop_columns": [*columns], "mixed": True}, f"reads the sequences of {quote(found[0])} alone"
    does = f"{does}, the second one the other columns"
    return Mendable(what, does, advice | others, **advice, kind="sequences", columns=found[:1])


def _names_rows(data: Dataset, name: str, cells: Any) -> bool:
    """Whether a column that no word of the command names has names of rows, some of which may repeat."""
    first = data.column_names is not None and name == data.column_names[0]
    return data.row_names is None and (first or is_id_name(name)) and None not in cells.tolist()


def _out_of_order(data: Dataset, words: Sequence[str]) -> dict[str, Any]:
    """Columns out of order, by name, that no word of the command names."""
    columns = zip(data.column_names or (), data.X.T, strict=False)
    return {name: cells for name, cells in columns if not _in_order(cells.tolist()) and name not in words}


def _in_order(cells: list[Any]) -> bool:
    """Whether a column holds no texts, or such as repeat; of a few different ones some may look like numbers."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    different = set(texts)
    numbers = sum(number_in(cell) is not None for cell in different)
    few = len(different) <= max(_FEW_TEXTS, len(texts) / 10) and 2 * numbers <= len(different)
    return 2 * len(different) <= len(texts) and len(different) <= MOST_TEXTS and (few or not numbers)
