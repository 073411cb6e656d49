"""Columns that say what is known of rows: numbers, classes or texts, with gaps."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, filterfalse, product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rkhs._core.dates import interval_start
from rkhs._core.errors import InputError, quote, warn
from rkhs._core.files import as_path
from rkhs.data.columns import as_numbers, clock, many
from rkhs.data.dataset import Dataset, column_label, existing_path, listed, locate, read_text
from rkhs.data.formats import has_columns, is_table
from rkhs.data.molecule_files import smi_chunks
from rkhs.data.table_reader import (
    Options,
    check_layout,
    check_path as check_path,
    checked_options,
    column_count as column_count,
    column_titles,
    open_columns,
    read_table,
)
from rkhs.data.tables import Columns
from rkhs.data.text import (
    MISSING,
    WEAK,
    Measurements,
    Mendable,
    Note,
    are_smiles,
    grouped_error,
    holds_numbers,
    is_grouped_number,
    is_measurement,
    number_in,
)

T = TypeVar("T")
_OFFSET = re.compile(r"(:\d\d(?:\.\d+)?)\s?(?:Z|[+-]\d\d(?::?\d\d)?)$")  # from UTC, behind a time
_OF_VALUES = re.compile(r"(?i)(?:^|[\s_.-])(?:relation|qualifier|operator|units?)$|[a-z](?-i:Units?)$")
_BOUNDS = (">", "<", ">=", "<=", ">>", "<<")
_RELATIONS = frozenset({*_BOUNDS, "=", "~", "\u2264", "\u2265", "\u2248"})
_MOST_UNITS = 10  # of values
_LABEL = 22  # letters of a name in a picture
_CATEGORIES = 20  # texts of a column in which words for gaps may be a category


def read_column(path: str | os.PathLike[str], column: str | int, *, argument: str, **options: Any) -> np.ndarray:
    """Read one column of a table: numbers with NaN for gaps, or texts with None; a mixture of both is refused."""
    file, _ = check_path(path)
    settings = Options(**options)
    check_layout(settings)
    settings = Options(**vars(settings) | {"columns": [column]})
    found = next(open_columns(file, settings))
    position = locate(column, found.names, found.width, argument)
    found.chosen([position], None, settings.index_column)
    found.drop_units([position])
    _warn_of_neighbours(found, [position])
    found.warn_of_left_out([position], settings.missing)
    values = _values(found, position, file, settings)
    texts = _texts(values)
    found.refuse_few_words(position)
    if texts and 2 * len(set(texts)) > len(texts) and all(map(is_measurement, texts)):
        found.refuse_texts([position])  # numbers with units are no classes
    return values if texts else values.astype(np.float64)


def _warn_of_neighbours(found: Columns, positions: Sequence[int]) -> None:
    """Warn of columns that say ``>`` of known numbers, as databases of measurements write them, or several units."""
    numbers = [np.isfinite(found.cells[j]) for j in positions if found.cells[j].dtype != object]
    known = np.any(numbers, axis=0) & np.ones(len(found.cells[0]), bool)
    for name, cells in zip(found.names or (), found.cells, strict=False):
        if cells.dtype != object:
            continue
        texts = Counter(str(cell).strip("'") for cell in cells[known].tolist() if cell)  # ChEMBL quotes them
        if _OF_VALUES.search(name) or _RELATIONS.issuperset(texts):
            _warn_of_texts(f"{found.source}: {column_label([name], 0)} says", name, texts, int(known.sum()))


def _warn_of_texts(start: str, name: str, texts: Counter[str], rows: int) -> None:
    """Warn of bounds, or of several units, among the texts next to numbers."""
    if bounds := sum(map(texts.__getitem__, _BOUNDS)):
        warn(f"{start} > or < in {bounds} of {rows} rows: bounds, read as values")
    elif 1 < len(texts) <= _MOST_UNITS and name.lower().endswith(("unit", "units")):
        units = [f"{quote(unit)} in {many(count, 'row', 'rows')}" for unit, count in texts.most_common()]
        what = "values in different units are read as if in one: keep the rows of one unit, or convert the others"
        warn(f"{start} {listed(units)}: {what}")


def _values(found: Columns, position: int, file: Path, options: Options) -> np.ndarray:
    """Numbers, or classes, of which 'none' is one as in :func:`read_gap_words`; warns of other words."""
    values = column_values(found, position)
    if not _texts(values):
        return values
    spelled = _spelled(file, options, position)
    for word, count in _frequent_gaps(values, spelled, options).items():
        start = f"{found.source}: {column_label(found.names, position)}: {count} cells {quote(word)} are read"
        kept = word.lower() == "none"
        values[(spelled == word) & kept] = word
        how = f"a class; missing=[{word!r}] takes them as gaps" if kept else "gaps; write another word for a class"
        warn(f"{start} as {how}")
    return values


def _spelled(file: Path, options: Options, position: int) -> np.ndarray:
    """Cells of a column as they stand in the file."""
    return np.char.strip(next(open_columns(file, options, (position, "columns"))).texts(position))


def _frequent_gaps(values: np.ndarray, spelled: np.ndarray, options: Options) -> dict[str, int]:
    """Words for gaps that are half as frequent in a column as the rarest class, and how many cells each has."""
    rarest = min(Counter(_texts(values)).values())
    words = Counter(spelled[values == None].tolist())  # noqa: E711
    return {
        word: words[word] for word in sorted({*words} - {"", *(options.missing or ())}) if 2 * words[word] >= rarest
    }


def read_gap_words(found: Columns, X: np.ndarray, positions: Sequence[int], file: Path, options: Options) -> None:
    """Read ``none`` as a category where it is one, as `read_mixed` says; warn of other words that may be one."""
    gapped = {i: _texts(values) for i, values in enumerate(X.T) if None in values.tolist()}
    if not any(map(_are_few, gapped.values())):
        return
    raw = next(open_columns(file, options, *((positions[i], "columns") for i in gapped)))
    spelled = {i: np.char.strip(raw.texts(positions[i])) for i in gapped}
    of_numbers = {*chain.from_iterable(spelled[i].tolist() for i in filterfalse(gapped.get, gapped))}
    named: dict[str | None, list[str]] = defaultdict(list)
    for i in filter(lambda i: _are_few(gapped[i]), gapped):
        label = column_label(found.names, positions[i])
        for word, count in _frequent_gaps(X[:, i], spelled[i], options).items():
            kept = _as_category(word, of_numbers)
            X[spelled[i] == word, i] = kept
            named[kept].append(f"{count} cells {quote(word)} of {label}")
    _report_gap_words(found.source, named, options.missing or ())


def _report_gap_words(source: str, named: dict[str | None, list[str]], missing: Sequence[str]) -> None:
    """Warn of columns in which words for gaps are gaps, by None, and note those in which they are categories."""
    if gaps := named.pop(None, None):
        what = "write another word, such as 'without', where they are a category; a model takes None for a gap"
        warn(f"{source}: read as gaps: {listed(gaps)}; {what}")
    if named:
        what = f"{listed([*chain(*named.values())])}; missing={[*named]} takes them as gaps"
        warn(Note(f"{source}: read as a category: {what}"))


def _as_category(word: str, of_numbers: Collection[str]) -> str | None:
    """A word for gaps that is a category, if numbers do not have it for a gap; None of another."""
    return word if word.lower() == "none" and word not in of_numbers else None


def _are_few(texts: list[str]) -> bool:
    """Whether texts are a few that repeat, as those of categories are."""
    return 0 < 2 * len({*texts}) <= len(texts) and len({*texts}) <= _CATEGORIES


def _texts(cells: np.ndarray) -> list[str]:
    """The cells of a column that are texts."""
    return [cell for cell in cells.tolist() if isinstance(cell, str)]


def labels_of(
    path: str | os.PathLike[str],
    column: str | int,
    namings: Sequence[Sequence[str]],
    missing: Sequence[str] | None = None,
    **options: Any,
) -> np.ndarray:
    """A column of a table for items, found by their names, else gaps; options of the items help where they must."""
    file, _ = check_path(path)

    def read(**given: Any) -> tuple[Columns, int, Options]:
        settings = Options(missing=missing, **given)
        return *_labels(file, column, settings), settings

    found, position, settings = read_by_guess(read, file, options)
    found.drop_units([position])
    names, values = _by_name(found, position, namings, _values(found, position, file, settings))
    labels = np.array([values.get(name) for name in names], dtype=object)
    return labels if any(isinstance(value, str) for value in values.values()) else labels.astype(np.float64)


def read_cls(path: str, name: Any, n: int | None = None) -> np.ndarray:
    """Classes of a .cls file in the order of its samples, which are ``n``."""
    lines = [line.split() for line in read_text(existing_path(path)).splitlines() if line.strip()]
    sizes, titles, labels = lines if len(lines) == 3 else ([], [], [])
    titles = " ".join(titles).removeprefix("#").split()
    different = dict.fromkeys(labels)
    if [*sizes[:2], len(titles)] != [str(len(labels)), str(len(different)), len(different)]:
        what = (
            "three lines: numbers of samples and classes and 1, # with the names of the classes, a class of each sample"
        )
        raise InputError(f"{path}: expected {what}; got {quote(' '.join(sizes))} and {len(lines)} lines")
    if (name, n or len(labels)) != ("class", len(labels)):
        raise InputError(f"{path} has one column, class, of {len(labels)} samples; got {name}, and {n} items")
    called = {} if different.keys() <= {*titles} else dict(zip(different, titles, strict=True))
    return np.array([called.get(label, label) for label in labels], dtype=object)


def read_by_guess(read: Callable[..., T], file: str | os.PathLike[str], options: dict[str, Any]) -> T:
    """What a function reads of a second file: as the file looks, and with the options that it lacks, which are given.

    Text that is not in UTF-8 is taken for that of Excel, with a warning.
    """
    given: dict[str, Any] = {}
    while True:
        try:
            return read(**given)
        except Mendable as error:
            more = {name: options[name] for name in error.options.keys() & options.keys() - given.keys()}
            if error.options == {"encoding": "cp1252"} and not {"encoding"} & options.keys():
                warn(f"{file}: read as text in cp1252, of Excel, since it is none in utf-8")
                more = error.options
            if not more:
                raise
            given |= more


def _labels(file: Path, column: str | int, settings: Options) -> tuple[Columns, int]:
    """A table of labels, all other columns as texts, and the position of the column."""
    titles = column_titles(file, encoding=settings.encoding) or next(open_columns(file, settings)).names or ()
    position = locate(column, titles, len(titles), "labels")
    found = next(open_columns(file, settings, *((j, "labels") for j in range(len(titles)) if j != position)))
    found.chosen([position], None, None)
    return found, position


def _by_name(
    found: Columns, position: int, namings: Sequence[Sequence[str]], cells: np.ndarray
) -> tuple[Sequence[str], dict[str, object]]:
    """The names of the items, and cells of a column by the names of their rows; items without a row are reported."""
    keys = [*(found.texts(j) for j in range(found.width) if j != position), found.stored or ()]
    names, best = _most_alike(namings, keys, found.source)
    values = dict(zip(best, cells.tolist(), strict=False))
    if not {*names} & {*values} or len(values) < len(best):
        _refuse_names(found.source, namings, names, best)
    if lacking := [name for name in dict.fromkeys(names) if name not in values]:
        strange = [*map(quote, values.keys() - {*names})]
        rows = many(len(strange), "row there is", "rows there are")
        more = f"; {rows} of no item, such as {min(strange)}" if strange else ""
        warn(f"{found.source}: {many(len(lacking), 'item has', 'items have')} no row there: {listed(lacking)}{more}")
    return names, values


def _refuse_names(source: str, namings: Sequence[Sequence[str]], names: Sequence[str], keys: Sequence[str]) -> None:
    """Refuse a column of names that repeat, or that are none of the items."""
    examples = " or ".join(dict.fromkeys(quote(some[0]) for some in namings))
    repeated = f"{quote(Counter(keys).most_common(1)[0][0])} more than once"
    got = repeated if {*names} & {*keys} else f"none, but {listed(list(map(quote, keys)), 1)}"
    what = f"{source}: expected names such as {examples}, each once, in a column"
    raise InputError(f"{what}; got {got}; write there the names of the rows of the input")


def _without_ends(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Names of files without their folders, and without an end from a mark on that all have, if they still differ."""
    bases = [name.replace("\\", "/").rpartition("/")[2] for name in names]
    ends = ["", *(bases[0][k:] for k, mark in enumerate(bases[0]) if mark in "._-")]
    ends += re.findall(r"(?<=\d)[^\W\d_]+$", bases[0])  # fb of treated1fb
    common = [end for end in ends if all(base.endswith(end) for base in bases)]
    shorter = [tuple(base.removesuffix(end) for base in bases) for end in common] + _without_starts(bases)
    return [one for one in shorter if len(set(one)) == len(set(names)) and one != tuple(names)]


def _without_starts(names: list[str]) -> list[tuple[str, ...]]:
    """Names without a start up to a mark that two in three have, as "LFQ intensity S1" has."""
    starts = [names[-1][: k + 1] for k, mark in enumerate(names[-1]) if mark in "._- "]
    common = [start for start in starts if 3 * sum(name.startswith(start) for name in names) >= 2 * len(names)]
    return [tuple(name.removeprefix(start) for name in names) for start in common]


def short_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names for a picture: where some are too long, without their folders and as much as all have in common."""
    if max(map(len, names)) <= _LABEL or are_smiles(names) or names[0].startswith("InChI"):
        return tuple(names)
    shorter = sorted(_without_ends(names), key=lambda some: -sum(map(len, some)))
    fits = (some for some in shorter if max(map(len, some)) <= _LABEL)
    return next(fits, shorter[-1] if shorter else tuple(names))


def _shorter_names(namings: Iterable[Sequence[str]]) -> dict[tuple[str, ...], Sequence[str]]:
    """Names without their common ends, with those that they come from."""
    return {short: names for names in namings for short in _without_ends(names)}


def _most_alike(
    namings: Sequence[Sequence[str]], keys: Sequence[Sequence[str]], source: str
) -> tuple[Sequence[str], Sequence[str]]:
    """The names of the items, perhaps shortened, and the column of keys that have most in common."""
    shorter = _shorter_names(some for some in (*namings, *keys) if some and number_in(some[0]) is None)
    items, known = ([*some, *(short for short, names in shorter.items() if names in some)] for some in (namings, keys))
    names, best = max(product(items, known), key=lambda pair: len({*pair[0]} & {*pair[1]} - {""}))
    for one in (one for one, given in ((names, namings), (best, keys)) if one not in given):
        long, short = next(pair for pair in zip(shorter[tuple(one)], one, strict=True) if pair[0] != pair[1])
        warn(f"{source}: names of rows such as {quote(long)} are matched as {quote(short)}")
    return names, best


def reading_advice(path: str | os.PathLike[str], options: dict[str, Any], *more: Measurements) -> dict[str, Any]:
    """Options that also read columns of numbers with a unit that hold words, or marks between thousands."""
    file, _, settings = checked_options(path, options)
    several = list(more)
    if is_table(file) and settings.smiles_column is None:
        found = next(open_columns(file, settings))
        positions, _ = found.chosen(settings.columns, settings.drop_columns, settings.index_column)
        several += filter(None, map(found.measured, positions))
    words = [*(settings.missing or ()), *(text for one in several for text in one.others)]
    marks = {name: mark for one in reversed(several) for name, mark in one.marks.items()}
    return ({"missing": list(dict.fromkeys(words))} if words else {}) | marks


def times_of_rows(
    path: str | os.PathLike[str], options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, list[str]] | None:
    """The clock of a table without offsets from UTC: texts, days since 1970, and the columns of dates that hold it."""
    file, _, settings = checked_options(path, options)
    found = next(open_columns(file, settings))
    days = {}
    for j, cells in enumerate(found.cells):
        if cells.dtype == object:
            found.cells[j] = np.array(
                [cell and _OFFSET.sub(r"\1", interval_start(cell)) for cell in cells.tolist()], object
            )
            if (dated := found.days(j)) is not None:
                days[j] = as_numbers(dated[:, None])[:, 0]
    if not (positions := clock(days)):
        return None
    texts = np.array(
        [" ".join(filter(None, cells)) for cells in zip(*map(found.cells.__getitem__, positions), strict=True)], object
    )
    return texts, np.sum([days[j] for j in positions], axis=0), [column_label(found.names, j) for j in positions]


def candidate_column(path: str | os.PathLike[str], column: str | None = None, **options: Any) -> int:
    """The column of that name, else the one column with SMILES in its name (without a name: the first such)."""
    titles = column_titles(check_path(path)[0], **options)
    alike = [j for j, title in enumerate(titles) if "smiles" in title.lower()]
    if column in titles or len(titles) < 2:
        return titles.index(column) if column in titles else 0
    if not alike or (column is not None and len(alike) > 1):
        raise InputError(
            f"{path}: expected candidates in a column {quote(column or 'smiles')}, or in one with smiles in its name; "
            f"got the columns {listed([*map(quote, titles)])}; rename the column of candidates"
        )
    return alike[0]


def candidates_of(
    path: str | os.PathLike[str], column: str, namings: Sequence[Sequence[str]], **options: Any
) -> list[list[str]]:
    """Texts of a column for each item, found by those names of which some column holds most; all of a table without."""
    file, extension = check_path(path)
    if extension == ".smi":
        return [next(smi_chunks(file, options.get("encoding", "utf-8"), None))[0]] * len(namings[0])
    titles = column_titles(file, **options)
    position = candidate_column(path, column, **options)
    order = sorted(range(len(titles)), key=lambda j: j != position)
    found = next(open_columns(file, Options(**options), *zip(order, titles, strict=False)))
    texts, *keys = map(found.texts, order)
    if not keys:
        return [texts] * len(namings[0])
    names, best = _most_alike(namings, keys, str(file))
    lists = defaultdict(list)
    for name, text in zip(best, texts, strict=True):
        lists[name].append(text)
    if lacking := [name for name in names if name not in lists]:
        warn(f"{file}: {many(len(lacking), 'item has', 'items have')} no candidates there: {listed(lacking)}")
    return [lists[name] for name in names]


def read_numbers(path: str | os.PathLike[str], *, names_first: bool = False, **options: Any) -> Dataset:
    """A table of numbers, NaN where a cell is missing; whether a first column of texts is one of names at any rate."""
    if not has_columns(as_path(path)):
        return read_table(path, **options)
    file, _, settings = checked_options(path, options)
    found = next(open_columns(file, settings))
    read = range(found.width) if settings.columns is None else found.chosen(settings.columns, None, None)[0]
    found.drop_units(read)
    for wanted in settings.columns or ():
        found.refuse_few_words(locate(wanted, found.names, found.width, "columns"))
    _warn_of_neighbours(found, read)
    found.warn_of_left_out(read, settings.missing)
    texts = found.cells[0].dtype == object and not found.mostly_numbers(0)
    if names_first and texts and found.may_name_rows(settings.columns, settings.drop_columns, settings.index_column):
        settings.index_column = 0
    return found.numbers(settings.columns, settings.drop_columns, settings.index_column, gaps=True)


def column_values(
    found: Columns, position: int, kind: str | None = None, *, stray: str = "raise", missing: Sequence[str] = ()
) -> np.ndarray:
    """Cells of one column as objects: numbers or texts, None where one is missing; a mixture is refused, or gaps."""
    cells = found.cells[position]
    if cells.dtype != object:
        found.refuse_gaps([position], gaps=False)
        known = cells.astype(object)
        known[np.isnan(cells)] = None
        return known
    if kind in ("text", "text or none", "date"):
        gaps = MISSING - {"none"} if kind == "text or none" else MISSING
        words = [None if (cell or "").strip().lower() in gaps or cell in missing else cell for cell in cells.tolist()]
        cells = np.array(words, dtype=object)
        return _known_days(found, position, cells) if kind == "date" else cells
    if (days := found.days(position)) is not None:
        return days
    if stray == "gap" and found.mostly_numbers(position):
        return found.without_strays(position)
    if kind == "number":
        raise _of_another_kind(found, position, kind, found.odd_cells(position))
    _check_texts(found, position)
    return cells


def _check_texts(found: Columns, position: int) -> None:
    """Refuse texts that are numbers in another notation, and warn of those that differ in case or spaces alone."""
    if found.mostly_numbers(position):
        found.refuse_texts([position])
    where = f"{found.source}: {column_label(found.names, position)}"
    texts = found.cells[position][found.odd_cells(position)].tolist()
    _refuse_hidden_numbers(where, texts, found)
    for text in alike_spellings(where, texts):
        warn(text)


def alike_spellings(where: str, texts: list[str]) -> Iterator[str]:
    """A sentence on categories that differ in case or spaces alone, if there are any."""
    different, spellings = dict.fromkeys(texts), defaultdict(list)
    for text in different if 2 * len(different) <= len(texts) else ():
        spellings[" ".join(text.lower().split())].append(quote(text))
    if alike := [" and ".join(several) for several in spellings.values() if len(several) > 1]:
        what = "differ in case or spaces alone, and are different categories; write them alike if they are one"
        yield f"{where}: {listed(alike)} {what}"


def _known_days(found: Columns, position: int, cells: np.ndarray) -> np.ndarray:
    """A column of texts and gaps that held dates in the training file, as days; refuses what are none."""
    known = [i for i, cell in enumerate(cells) if cell is not None]
    changed = replace(found, cells=[*found.cells[:position], cells, *found.cells[position + 1 :]])
    days = changed.days(position) if known else cells
    if days is None:
        raise _of_another_kind(changed, position, "date", known)
    return days


def _of_another_kind(found: Columns, position: int, kind: str, rows: list[int]) -> InputError:
    """The error of cells of a column that are not of the kind of the training file."""
    text = found.cells[position][rows[0]]
    return InputError(
        f"{found.source}: {column_label(found.names, position)} held {kind}s in the training file; got texts in rows "
        f"{listed([i + 1 for i in rows])}; correct them, or take cells such as {quote(text)} as gaps with "
        f"missing=[{text!r}]"
    )


def _refuse_hidden_numbers(where: str, texts: list[str], found: Columns) -> None:
    """Refuse texts that are all numbers in another notation, which would become names."""
    values = [text for text in texts if text.lower() not in WEAK]
    grouped = bool(values) and all(map(is_grouped_number, values))
    start = f"{where} must hold numbers or texts; got"
    names = "or begin them with a letter if they are names"
    if grouped:
        raise grouped_error(f"{start} {quote(values[0])}, a number with separators or a unit", values[0], f", {names}")
    if values and all(map(holds_numbers, values)):
        lists = _lists(found)
        them = "it" if len(lists) == 1 else "them"
        raise Mendable(
            f"{start} {quote(values[0])}, several numbers; name the character between them with delimiter=, leave "
            f"{them} out with drop_columns={lists or '[...]'}, {names}",
            f"leaves {them} out",
            drop_columns=lists,
        )


def _lists(found: Columns) -> list[str]:
    """Names of the columns of which each text holds several numbers."""
    return [name for name, cells in zip(found.names or (), found.cells, strict=False) if _are_lists(cells)]


def _are_lists(cells: np.ndarray) -> bool:
    """Whether most texts of a column hold several numbers, and the others one."""
    texts = [cell for cell in cells.tolist() if isinstance(cell, str) and cell.lower() not in WEAK]
    several = [text for text in texts if number_in(text) is None]
    return 0 < len(texts) <= 2 * len(several) and all(map(holds_numbers, several))
