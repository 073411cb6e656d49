"""Tables that cannot be read as asked, and the command that reads them."""

from __future__ import annotations

import argparse
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rkhs._core.errors import InputError, quote, warn
from rkhs.cli.options import (
    DROP,
    INPUT,
    MIXED,
    advised,
    as_command,
    changed,
    declare,
    named_columns,
    quoted_cells,
    with_flag,
    with_values,
)
from rkhs.data import Dataset, read_items
from rkhs.data.columns import identifier
from rkhs.data.dataset import listed
from rkhs.data.known_columns import reading_advice
from rkhs.data.mixed import MOST_TEXTS, OF_MIXED, read_mixed
from rkhs.data.molecule_files import flat_smiles
from rkhs.data.text import (
    Doubtful,
    FewWords,
    ListedNumbers,
    Measurements,
    Mendable,
    MixedCells,
    are_smiles,
    is_id_name,
    number_in,
)

_ROUNDS = 4  # messages about a file, one after the other
_FEW_TEXTS = 20  # of a column of categories, or a tenth of its rows


class Corrected(InputError):
    """A file cannot be read as asked; the command of these words reads it."""

    def __init__(self, what: str, words: Sequence[str]) -> None:
        super().__init__(f"{what}; this command reads it:{as_command(words)}")
        self.words = words


def read_whole(args: argparse.Namespace, path: str, options: dict[str, Any]) -> Dataset:
    """Items of any kind, or else a table of texts and gaps whose cells are in order."""
    try:
        return read_items(path, kind=args.kind, **options)
    except MixedCells as error:
        if not _may_be_mixed(args, options):
            raise
        if getattr(args, "transpose", False):  # of which the rows with gaps are left out
            return read_texts(args, path, None, options)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
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
    except ListedNumbers as several:
        raise InputError(f"{several}{without(args, several.columns, 'leaves them out')}") from several
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


def without(args: argparse.Namespace, names: Sequence[str], does: str) -> str:
    """The command that leaves columns out, with those left out already, and what it does; nothing for no names."""
    dropped = [*named_columns(getattr(args, "drop_columns", None)), *names]
    return f"; this command {does}:{with_flag(args.words, '--drop-columns', dropped)}" if names else ""


def corrected(args: argparse.Namespace, path: str, options: dict[str, Any], what: str) -> Corrected:
    """The command that reads a table of texts, gaps and strays: its molecules, or all but columns of unique texts."""
    advice = reading_advice(path, options)
    with quiet():
        data = read_mixed(path, stray="gap", **options | advice)
    dropped = _out_of_order(data, [*args.words, "--mixed"])
    if (smiles := _only_smiles(dropped)) and hasattr(args, "smiles"):
        more = ["--smiles", smiles, *["--skip-bad-smiles"] * ("" in flat_smiles(dropped[smiles]))]
        return Corrected(
            f"{path}: column {quote(smiles)} holds SMILES: pass --smiles {quote(smiles)}", [*args.words, *more]
        )
    named = [name for name, cells in dropped.items() if _names_rows(data, name, cells)][:1]
    for name in named:
        del dropped[name]
        what = f"{what}; --index-column {shlex.quote(name)} names the rows by it, and takes names that repeat"
    more = [word for name in named for word in ("--index-column", name)]
    more += ["--drop-columns", quoted_cells(dropped)] * (len(dropped) > 0 and "--drop-columns" not in args.words)
    mixed = ["--mixed"] * ("--mixed" not in args.words and not getattr(args, "transpose", False))
    return Corrected(what, [*advised(args.words, advice), *mixed, *more])


def with_advice(
    args: argparse.Namespace, path: str, options: dict[str, Any], found: Measurements
) -> argparse.Namespace:
    """The arguments, and their words, that read all numbers with a unit, these found ones too."""
    advice = reading_advice(path, options, found)
    missing = [quoted_cells(advice["missing"])] if "missing" in advice else args.missing  # as it is typed
    return changed(args, words=advised(args.words, advice), **advice | {"missing": missing})


def in_one_command(
    args: argparse.Namespace,
    error: InputError,
    read: Callable[[argparse.Namespace], Dataset],
    titles: Callable[[argparse.Namespace], Sequence[str]],
) -> InputError:
    """The error of a file with the command that mends all that is wrong in it, without columns that a second lacks."""
    words = found = _words_of(error, args)
    what = str(error).partition("; this command ")[0]
    for _ in range(_ROUNDS if found else 0):
        words, args = found, _with_words(args, found)
        try:
            with quiet():
                known = read(args)
        except InputError as more:
            if not (found := _words_of(more, args)):
                break
        else:
            if lacking := _lacking(known, titles(args)):
                words = with_values(words, "--drop-columns", [*named_columns(args.drop_columns), *lacking])
                what = f"{what}; {args.new} lacks {listed([*map(quote, lacking)])}"
            break
    return Corrected(what, words) if words else error


def _lacking(known: Dataset, titles: Sequence[str]) -> list[str]:
    """Columns of a file that another one with titles has not."""
    return [name for name in known.column_names or () if titles and name not in titles]


def _words_of(error: InputError, args: argparse.Namespace) -> list[str]:
    """The words of the command that an error about reading a file prints; none without one."""
    if isinstance(error, Corrected):
        return list(error.words)
    return advised(args.words, error.options) if isinstance(error, Mendable) else []


def _with_words(args: argparse.Namespace, words: Sequence[str]) -> argparse.Namespace:
    """The arguments with the options of reading that the words of a command have."""
    parser = argparse.ArgumentParser(add_help=False)
    declare(parser, MIXED + DROP + INPUT)
    return parser.parse_known_args(words, changed(args, words=words, missing=None))[0]


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
        what = f"{data.source}: {listed(data.dates)} {'holds' if len(data.dates) == 1 else 'hold'} dates, read as days"
        dropped = [*data.dates]
        warn(Doubtful(f"{what}, and counted as any column", "leaves them out of the distances", drop_columns=dropped))


@contextmanager
def quiet() -> Iterator[None]:
    """Reading that is tried gives no warnings: they come when the command is run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _only_smiles(columns: dict[str, Any]) -> str:
    """The name of the only column of SMILES, by its title or its texts."""
    found = [name for name, cells in columns.items() if "smiles" in name.lower() or are_smiles([*filter(None, cells)])]
    return found[0] if len(found) == 1 else ""


def _names_rows(data: Dataset, name: str, cells: Any) -> bool:
    """Whether a column that no word of the command names has names of rows, some of which may repeat."""
    first = data.column_names is not None and name == data.column_names[0]
    return data.row_names is None and (first or is_id_name(name)) and None not in cells.tolist()


def _out_of_order(data: Dataset, words: Sequence[str]) -> dict[str, Any]:
    """Columns out of order, by name, that no word of the command names."""
    columns = zip(data.column_names or (), data.X.T, strict=False)
    return {name: cells for name, cells in columns if not _in_order(cells.tolist()) and name not in words}


def _in_order(cells: list[Any]) -> bool:
    """Whether a column holds no texts, or such as repeat: no names, no molecules and no number that was mistyped.

    Of a few different texts some may look like numbers, as a car's model 500 does.
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    different = set(texts)
    numbers = sum(number_in(cell) is not None for cell in different)
    few = len(different) <= max(_FEW_TEXTS, len(texts) / 10) and 2 * numbers <= len(different)
    return 2 * len(different) <= len(texts) and len(different) <= MOST_TEXTS and (few or not numbers)
