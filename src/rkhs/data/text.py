"""Cells as text: numbers that they spell, and cells that no spreadsheet runs."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NEEDS_QUOTES = re.compile('[",\r\n]')
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def number_in(text: str) -> float | None:
    """The number that a cell spells, NaN for an empty one, ``?`` or ``NaN``; None if it spells none."""
    cell = text.strip()
    if cell in ("", "?"):
        return float("nan")
    if "_" in cell:  # Python would read 1_000 as a number
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def escape_formula(text: str) -> str:
    """A text as a csv cell that no spreadsheet runs: a quote before what begins like a formula, numbers excepted."""
    return f"'{text}" if _begins_formula(text) else text


def unescape_formula(cell: str) -> str:
    """The name that a cell stands for."""
    return cell[1:] if cell.startswith("'") and _begins_formula(cell) else cell


def _begins_formula(text: str) -> bool:
    plain = text.lstrip("'")
    return plain.startswith(_FORMULA) and number_in(plain) is None


def csv_line(cells: Iterable[object]) -> str:
    """A row of a csv file: numbers to the last bit, texts that no spreadsheet runs, quoted if needed; None is empty."""
    texts = []
    for cell in cells:
        text = "" if cell is None else escape_formula(cell) if isinstance(cell, str) else repr(cell)
        if _NEEDS_QUOTES.search(text):
            text = '"' + text.replace('"', '""') + '"'
        texts.append(text)
    return ",".join(texts) + "\n"
