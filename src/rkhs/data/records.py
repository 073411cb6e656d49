"""Text files of several kinds of records: the first cell of a row names its kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from rkhs._core.errors import InputError, quote
from rkhs.data.columns import many
from rkhs.data.dataset import listed
from rkhs.data.text import Mendable, is_gap, number_in

_KINDS, _ROWS = 20, 3  # of a file at most; of the kind that is proposed at least


def is_record(line: str, kind: str | None) -> bool:
    """Whether the first cell of a line names this kind; any line without one."""
    return kind is None or re.match(rf'\s*"?{re.escape(kind)}"?(?:[\s,;|]|$)', line) is not None


def refuse_records(path: Path, rows: Iterable[tuple[int, list[str]]]) -> None:
    """Refuse rows that have different numbers of cells by their first one, and name the commonest kind of numbers."""
    found: Counter[tuple[str, int, bool]] = Counter()
    with suppress(InputError):
        found.update((cells[0].strip(), len(cells), _has_numbers(cells)) for _, cells in rows if cells)
    kinds: Counter[str] = Counter()
    for one, count in found.items():
        kinds[one[0]] += count
    best = next(_alone(found), None)
    if best is not None and 1 < len(kinds) <= _KINDS:
        counted = [f"{quote(kind)} in {many(count, 'row', 'rows')}" for kind, count in kinds.most_common()]
        raise Mendable(
            f"{path}: the rows are records of several kinds, which differ in their numbers of cells; the first cell is "
            f"{listed(counted, 10)}; pass records={best!r} for rows of one kind",
            "reads these",
            records=best,
        )


def _has_numbers(cells: list[str]) -> bool:
    """Whether a row has a number behind its first cell."""
    return any(number_in(cell) is not None and not is_gap(cell) for cell in cells[1:])


def _alone(found: Counter[tuple[str, int, bool]]) -> Iterator[str]:
    """Kinds of several records with numbers whose number of cells no other kind has, the commonest first."""
    for kind, width, numbers in (one for one, count in found.most_common() if count >= _ROWS):
        if numbers and sum(kind == one[0] or width == one[1] for one in found) == 1:
            yield kind
