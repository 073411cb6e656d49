"""Warnings of categories of a table that may be gaps, or numbers with units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

from rkhs._core.errors import quote, warn
from rkhs.data.dataset import column_label
from rkhs.data.tables import Columns
from rkhs.data.text import CLASSES, MOST, Doubtful

_NUMBER_FIRST = re.compile(r"[-+]?\d+(?:[.,]\d+)*\s*((?=.*[^\W\d_])\D.*)")
_UNITS = 4  # of the numbers of a column
_UNKNOWN = frozenset(
    {"k.a.", "k. a.", "ka", "n.v.", "keine angabe", "ohne angabe", "unbekannt", "nicht bekannt", "unknown", "not known"}
    | {"not available", "not specified", "n/d", "s/d", "inconnu", "non renseign\u00e9", "desconocido", "sconosciuto"}
    | {"onbekend", "missing", ".", "-", "--", "\u2013", "\u2014", "n.d.", "n.d", "nd"}
)
"""Small letters of words for gaps that may be categories; where several columns hold one, they hardly are."""


def warn_of_words(found: Columns, texts: dict[int, list[str]], missing: Sequence[str]) -> None:
    """Warn of words for gaps that are categories in several columns, or in one and also stand among numbers."""
    words = {j: _words(found.cells[j]) for j in texts}
    if several := _repeated(words, texts):
        spelled = [one for one in sorted({*chain.from_iterable(words.values())}) if one.lower() in several]
        last = {one.lower(): one for one in spelled}
        columns = ", ".join(f"{last[word]!r} in {count} columns" for word, count in several.items())
        what = f"{found.source}: words for gaps are read as categories: {columns}; missing={spelled} takes them as gaps"
        warn(Doubtful(what, "does so", missing=[*missing, *spelled]))


def _words(cells: np.ndarray) -> set[str]:
    """Words for gaps among the texts of a column."""
    texts = {*cells.tolist()} - {None} if cells.dtype == object else set()
    return {cell for cell in texts if cell.lower() in _UNKNOWN}


def _repeated(words: dict[int, set[str]], texts: dict[int, list[str]]) -> dict[str, int]:
    """How many columns hold each word, of those that are a category of some column and stand in several."""
    counts = Counter(chain.from_iterable({*map(str.lower, some)} for some in words.values()))
    categories = {*map(str.lower, chain.from_iterable(some for j, some in words.items() if texts[j]))}
    return {word: counts[word] for word in sorted(categories) if counts[word] > 1}


def warn_of_units(found: Columns, position: int, texts: Sequence[str]) -> None:
    """Warn of a column of categories nearly all of which are numbers, with several units or further numbers in it."""
    if len(set(texts)) <= min(CLASSES, len(texts) / 2) or not (units := _units([*texts])):
        return
    name = column_label(found.names, position)
    counts = ", ".join(f"{quote(unit)} in {count}" for unit, count in units.most_common())
    warn(
        Doubtful(
            f"{found.source}: {name}: {units.total()} of {len(texts)} cells are numbers with units, {counts}, and are "
            f"read as {len(set(texts))} categories; write the numbers of each unit alone in a column, or leave this "
            "one out",
            "leaves it out",
            drop_columns=[found.names[position] if found.names else position],
        )
    )


def _units(texts: list[str]) -> Counter[str]:
    """How often numbers have each unit; none where many texts are no numbers, or all have one plain unit."""
    known = [text for text in texts if text.lower() not in _UNKNOWN]
    rests = [found[1].strip() for found in map(_NUMBER_FIRST.fullmatch, known) if found is not None]
    units = Counter(re.sub(r"(?<![/\w.,])\d+(?:[.,]\d+)*", "\u2026", rest) for rest in rests)
    several = 1 < len(units) + ("\u2026" in "".join(units)) <= _UNITS
    named = re.search(r"[\s.,]", "".join(known)) is not None
    return units if several and named and len(rests) >= MOST * len(known) else Counter()
