"""Cells of tables in words: what is a number, what a gap, what a name, and cells that no spreadsheet runs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rkhs._core.errors import InputError, quote, warn

MIXED = "keep texts and gaps with read_mixed and kernel='mixed_table'"
OF_TEXTS = (
    "; index_column= is for row names, smiles_column= for molecules, delimiter= if the cells were not split, "
    "decimal=',' for decimal commas"
)
MISSING = frozenset(
    {"", "na", "n/a", "nan", "null", "none", "?", "<na>", "#n/a", "#na", "\\n", "nat", "-nan", "1.#qnan", "-1.#qnan"}
    | {"1.#ind", "-1.#ind", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "n.a.", "#n/a n/a"}
)
"""Small letters of cells that stand for nothing in every column."""
GAPS = frozenset(spelled for word in MISSING for spelled in (word, word.upper(), word.title(), "NaN", "-NaN", "N/a"))
"""The usual spellings of these."""
WEAK = frozenset({".", "-", "--", "n.d.", "n.d", "nd", "missing", "\u2013", "\u2014"})
"""Cells that stand for nothing among numbers, and may be categories among texts."""
# Digits with separators between them, perhaps a decimal part, a sign, and a unit before or behind.
_CENTS = re.compile(r"(?<=\d)[.,][-\u2013\u2014\u2212]{1,2}(?!\d)")  # none of an amount, as in 5.-, 5.– and 5,--
_GROUPED = re.compile(
    r"[-+]?[$€£¥₹]?\s?[-+]?(?:\d{1,3}(?:,\d\d)*(?:[,.'’\s]\d{3})+|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?"
    r"(?:[.,][-\u2013\u2014\u2212]{1,2})?\s?[%‰$€£¥₹]?"
)
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
SPACES = str.maketrans("\u00a0\u2007\u2009\u202f", "    ")
"""Of numbers and texts as word processors write them."""
_LEADS = "+-\u2212\u2013\u00b1<>=\u2264\u2265~\u2248$\u20ac\u00a3\u00a5(['\".,# \u00a0\u202f"
_MONEY = r"zł|Kč|(?:[Kk]r|R[sp])[.\s]"  # words that begin no name
# A currency or another short word before a number; CPD-0001 and ABC12 are names.
_VALUE = re.compile(
    rf"(?:(?:EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|AUD|CAD|NZD|INR|BRL|{_MONEY})\s*|[A-Z]{{3}}\s+|(?:ca\.?|c\.|approx\.?|about)\s*)"
    r"[-+]?(?!0\d)\d+(?:[.,]\d+)?|[^\d\s]{0,6}\s*[-+]?\d+[.,]\d+\D*"
)
_SIGN = r"[^\s\d_+\-\u2212\u2013\u2014\u00b1<>=\u2264\u2265~\u2248()\[\]{}'’\".,:;/\\|&*#!?@^]"  # of a unit: $, °, ㎡
_CODE = re.compile(  # numbers of persons and firms, as 123.456.789-09, and identifiers with versions, as NM_000014.6
    r"\d{1,3}(?:\.\d{3}){2,}(?:/\d{4})?-[\dKk]\d?|(?!EUR|USD|GBP|CHF|JPY)[A-Z]{1,6}_?\d{5,}\.[1-9]\d{0,2}"
)
# A number and its unit: kg, %, m2, l/100km.
_WITH_UNIT = re.compile(
    rf"([-+]?(?:\d+(?:[.,](?!\s))?\d*|[.,]\d+)(?:[eE][-+]?\d+)?)\s*({_SIGN}\D*(?:[23]|/\s*\d+\s*[^\W\d_]\D*)?)"
)
_DECIMAL_ONE = re.compile(r"\d,(?!\d{3}(?!\d))\d|(?<!\d)0,\d")  # a comma that does not separate thousands
_UNIT_FIRST = re.compile(rf"^([-+]?)([^\W\d_]{{0,5}}(?:{_SIGN}|\.))\s*(?!0\d)([-+]?[\d.,].*)")  # R$ 5, Fr. 5
# What no name has, as Sample 5 is one: the number in front, a sign or capitals of money, a part, or a unit behind.
_AMOUNT = re.compile(
    rf"^[-+]?[\d.,]|[$¢-¥₠-⃀￠-￦]|^[-+]?(?:EUR|USD|GBP|CHF|JPY|[A-Z]{{3}}\s|{_MONEY})|\d[.,'’\s][\d\-–—−]|[^\x00-\x7f\d]\d+\s*[^\W\d_]"
)
_ID_NAME = re.compile(
    r"(?i)(?:^|[\s_.-])(?:id|ids|uid|uuid|guid|key|index|idx|name|names|label|sample|samples|rownames|row|code|cas|item|e-?mail)$"
    r"|[a-z](?-i:ID|Id|Name)$"
)
CLASSES, MOST = 20, 0.8  # classes that numbers with a unit may be; share of numbers among them and words
_BEYOND = re.compile(
    r"(?i)[<>+-]?(?:ov(?:er)?[\s_-]?(?:r|rng|range|fl|flow|ld|load)|o\.?l\.?|sat(?:urated)?|out of range|[lu]?lo[dq])"
)
_ABOUT = re.compile(  # before a number alone, perhaps with a unit
    r"(?i)(?!(?-i:CA\s))(?:(?:ca|circa|approx|about|etwa|c(?=\.\s))(?:\.\s*|\s+)|[~\u2248\u2243]\s*)"
    r"(?=[-+]?[.,]?\d[\d.,]*(?:e[-+]?\d+)?(?:\s?[^\W\d]{1,4}|\s?%)?$)"
)
_SMILES = re.compile(r"(?:Cl|Br|[BCNOPSFIbcnops]|\[[^\]\s]+\]|[0-9%=#+()/\\.:@-])+")


class MixedCells(InputError):
    """A table of numbers holds texts or gaps, which `read_mixed` reads."""

    def __init__(self, what: str, advice: str, texts: Sequence[str] = (), columns: Sequence[str | int] = ()) -> None:
        super().__init__(f"{what}; {advice}")
        self.what, self.texts, self.columns = what, texts, columns  # few texts among numbers, or columns of texts


class FewWords(InputError):
    """Cells of a column are numbers with one unit, but for a few words or marks between thousands; options read it."""

    def __init__(self, source: str, name: str, found: Measurements) -> None:
        super().__init__(f"{source}: {found.described(name)}")
        self.found = found


BOTH_MARKS = "reads thousands, the second one decimals"
_GROUP = re.compile(r"\d([,.'’\s])\d{3}(?!\d)")


class WithOptions(Exception):
    """A message about a file, and options of reading it that do what it advises, or others that read it otherwise."""

    def __init__(
        self, message: str, does: str = "reads it", otherwise: dict[str, str] | None = None, **options: object
    ) -> None:
        super().__init__(message)
        self.does, self.otherwise = does, otherwise
        self.options = {name: value for name, value in options.items() if value not in (None, False, [])}


class Mendable(WithOptions, InputError):
    """A table is not read as it is asked for; other options do."""


class Doubtful(WithOptions, UserWarning):
    """A table is read, and perhaps in another way than it is meant."""

    kind = "warning"


class Note(Doubtful):
    """What is worth knowing of a file that is read as it is meant."""

    kind = "note"


class Measurements(NamedTuple):
    """Numbers with one unit among texts, and the few other texts, which are no numbers."""

    total: int  # of all texts
    what: str  # their unit, or one of them
    others: list[str]
    mark: str | None  # between thousands
    decimal: str | None = None  # where that of the file does not read the numbers
    rest: str = ""  # how many have which other unit

    def described(self, name: str) -> str:
        """What the cells of a column are, and the arguments that read its numbers."""
        few, lost = len(self.others), [text for text in self.others if re.search(r"\d", text) and not is_bound(text)]
        rest = f"; {few} {'is not,' if few == 1 else 'are not, the first'} {quote(self.others[0])}" if few else ""
        marks = [f"{name}={value!r}" for name, value in self.marks.items()]
        gaps = [f"missing={list(dict.fromkeys(self.others))} to take these as gaps"] * (few > 0)
        how = f"which gaps lose: write them as numbers {self.what} in the file"
        gaps += [f"({len(lost)} of these hold digits, such as {quote(text)}, {how})" for text in lost[:1]]
        of = f"{self.total - few} of {self.total} cells of {name} are numbers {self.what}{self.rest}{rest}"
        return f"{of}{':' if few else ';'} pass " + " ".join([*marks, *gaps])

    @property
    def marks(self) -> dict[str, str]:
        """The marks in numbers, by the names of the arguments that read these."""
        marks = {"decimal": self.decimal, "thousands": self.mark}
        return {name: mark for name, mark in marks.items() if mark is not None}


def number_in(text: str, decimal: str = ".") -> float | None:
    """Return the number that a cell spells (NaN for a missing value), or None if it spells none."""
    if text[:1].isalpha() and text[0] not in "nN" and text[:3].lower() != "inf":  # most texts, at once
        return None
    if text.strip().lower() in MISSING:
        return math.nan
    if text[-1:] in "-\u2013\u2014\u2212":
        text = _CENTS.sub("", text)
    if decimal != ".":
        text = "_" if "." in text else text.replace(decimal, ".")
    if "_" in text:  # Python would read 1_000 as a number; in a table it is a name
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _are_numbers(cells: list[str], decimal: str, thousands: str | None) -> bool:
    """Whether most cells are numbers, with a unit or without one, or bounds of numbers."""
    alone = (number_in(cell, decimal) is not None or is_bound(cell) for cell in cells)
    count = sum(one or _measured(cell, decimal, thousands) is not None for cell, one in zip(cells, alone, strict=True))
    return count >= MOST * len(cells)


def is_gap(text: str | None) -> bool:
    """Whether a cell stands for nothing in a column of any kind."""
    return text is None or text.strip().lower() in MISSING


def is_grouped_number(text: str) -> bool:
    """Whether a cell is a number written for people: ``1,101``, ``1 101``, ``1.234.567,8``, ``12 %``, ``$5``."""
    return _GROUPED.fullmatch(text.strip()) is not None and number_in(text) is None


def without_about(texts: Sequence[str | None], where: str, decimal: str) -> Sequence[str | None]:
    """Numbers without the words that say that they are approximate, as ``ca. 1.78`` does, and a note of these."""
    found = [text for text in texts if text and _ABOUT.match(text)]
    plain = [_ABOUT.sub("", text, count=1) if text and found else text for text in texts]
    if not found or not _are_numbers([*filter(None, plain)], decimal, None):
        return texts
    what = f"such as {quote(found[0])}, are read as their numbers: {len(found)}"
    warn(Note(f"{where}: cells of approximate numbers, {what}"))
    return plain


def with_unit(
    cells: Iterable[str | None], decimal: str = ".", thousands: str | None = None
) -> tuple[list[float], str] | None:
    """Numbers and their unit, where all cells that are no gaps are numbers with the same unit, as ``45.6 mg`` is."""
    found, units, amounts = [], set(), False
    for cell in cells:
        gap = is_gap(cell) or str(cell).lower() in WEAK
        parts = (math.nan, "") if gap else _measured(str(cell), decimal, thousands)
        if parts is None:
            return None
        found.append(parts[0])
        units |= {parts[1]} - {""}
        amounts = amounts or (parts[1] != "" and _AMOUNT.search(str(cell)) is not None)
    return (found, units.pop()) if len(units) == 1 and amounts else None


def _measured(cell: str, decimal: str, thousands: str | None) -> tuple[float, str] | None:
    """A number and the unit behind it or before it; zero without one, which has any; None for another cell."""
    if _is_unitless(cell, decimal):
        return 0.0, ""
    text = _CENTS.sub("", _UNIT_FIRST.sub(r"\1\3 \2", cell.strip()))
    parts = _WITH_UNIT.fullmatch(_without_marks(text, thousands))
    number = None if parts is None else number_in(parts[1], decimal)
    return None if parts is None or number is None else (number, parts[2].strip())


def _is_unitless(text: str, decimal: str) -> bool:
    """Whether a cell needs no unit among numbers that have one: a zero, or a mark for a gap."""
    return text.lower() in WEAK or number_in(text, decimal) == 0.0


def measurements(
    texts: Sequence[str], decimal: str, thousands: str | None, *, commas: bool = False
) -> Measurements | None:
    """Many numbers with one unit, or with decimal commas, but for a few words; None for what may be classes."""
    texts = [text for text in texts if not _is_unitless(text, decimal)]
    marks = (None, ",", ".", "'", "’", " ") if thousands is None else (thousands,)
    found = _with_commas(texts, [mark for mark in marks if mark != ","]) if commas and decimal == "." else []
    found += _with_units(texts, decimal, marks)
    best = min(filter(None, found), key=lambda one: len(one.others), default=None)
    return best if best is None or thousands is None else best._replace(mark=None)


def _with_commas(texts: Sequence[str], marks: Sequence[str | None]) -> list[Measurements | None]:
    """Numbers of which some have a comma, but for a few words, with each mark between thousands."""
    clear = any(map(_DECIMAL_ONE.search, texts))
    return [_with_comma(texts, mark, clear) for mark in marks] + (_with_units(texts, ",", marks, ",") if clear else [])


def _with_comma(texts: Sequence[str], mark: str | None, clear: bool) -> Measurements | None:
    """Numbers with a comma and a mark between thousands; none where they stand alone and are ambiguous."""
    read = {text for text in set(texts) if number_in(_without_marks(text, mark), ",") is not None}
    first = next((text for text in texts if text in read and "," in text), None)
    if first is None or not (clear or len(read) < len(set(texts))):
        return None
    what = f"such as {quote(first)}{', whose commas may separate thousands too' * (not clear)}"
    return _but_for_few(texts, read, what, mark, ",")


def _with_units(
    texts: Sequence[str], decimal: str, marks: Sequence[str | None], other: str | None = None
) -> list[Measurements | None]:
    """Numbers with one unit among many texts, with each mark between thousands."""
    many = len(set(texts)) > min(CLASSES, len(texts) / 2)
    return [_measurements(texts, decimal, mark, other) for mark in marks] if many else []


def _measurements(texts: Sequence[str], decimal: str, mark: str | None, other: str | None) -> Measurements | None:
    """Numbers with one unit among texts, with this mark between thousands; None where it has few of them."""
    measured = {text: _measured(text, decimal, mark) for text in dict.fromkeys(texts)}
    units = Counter(parts[1] for text in texts if (parts := measured[text]) is not None).most_common()
    read = {text for text, parts in measured.items() if parts is not None and parts[1] == units[0][0]}
    if with_unit(read, decimal, mark) is None:
        return None
    rest = "".join(f", {count} in {unit}" for unit, count in units[1:4])
    found = _but_for_few(texts, read, f"in {units[0][0]}", mark, other)
    return found and found._replace(rest=rest)


def _but_for_few(
    texts: Sequence[str], read: set[str], what: str, mark: str | None, decimal: str | None = None
) -> Measurements | None:
    """What texts are of which these are read; None where more than a few others remain."""
    others = [text for text in texts if text not in read]
    return Measurements(len(texts), what, others, mark, decimal) if len(others) <= (1.0 - MOST) * len(texts) else None


def holds_numbers(text: str) -> bool:
    """Whether a cell holds several numbers with white space, commas, semicolons or bars between them."""
    parts = re.split(r"[\s,;|]+", text.strip())
    return len(parts) > 1 and all(number_in(part) is not None for part in parts)


def ungrouped(text: str | None, mark: str) -> str | None:
    """A number without the marks between its thousands; any other text as it is."""
    form = rf"{_groups(mark)}([.,](\d+|[-\u2013\u2014\u2212]{{1,2}}))?"
    grouped = text is not None and re.fullmatch(form, text)
    return text.replace(mark, "") if text is not None and grouped else text


def _without_marks(text: str, mark: str | None) -> str:
    """A text without the marks between the thousands of the number that it begins with."""
    groups = None if mark is None else re.match(rf"{_groups(mark)}(?!\d)", text)
    return text if groups is None else groups[0].replace(str(mark), "") + text[groups.end() :]


def _groups(mark: str) -> str:
    """The form of a number with marks between thousands; with commas 1,62,000 is one too, as India writes it."""
    return r"[-+]?\d{1,3}" + r"(?:,\d\d)*" * (mark == ",") + rf"(?:{re.escape(mark)}\d{{3}})+"


def grouped_advice(text: str) -> str:
    """What to do with a number written for people."""
    mark = _GROUP.search(text)
    if not _DECIMAL_COMMA.fullmatch(text.strip()):
        return f"pass thousands={mark[1].translate(SPACES)!r}" if mark else "remove these"
    return "pass thousands=',' if commas separate thousands, or decimal=','" if mark else "pass decimal=','"


def grouped_error(what: str, text: str, rest: str = "") -> InputError:
    """The error of a number written for people, with the options for the mark between its thousands."""
    message, mark = f"{what}; {grouped_advice(text)}{rest}", _GROUP.search(text)
    if mark is None:
        return InputError(message)
    both = _DECIMAL_COMMA.fullmatch(text.strip()) is not None
    does, otherwise = (BOTH_MARKS, {"decimal": ","}) if both else ("reads it", None)
    return Mendable(message, does, otherwise, thousands=mark[1].translate(SPACES))


def is_measurement(text: str) -> bool:
    """Whether a text starts like a number, as ``16.6 mm`` and ``<5`` do, or holds a decimal one behind a short word."""
    number = text.lstrip(_LEADS)[:1].isnumeric() or _VALUE.fullmatch(text) is not None
    return number and _CODE.fullmatch(text) is None


def are_amounts(texts: Sequence[str]) -> bool:
    """Whether most of many different texts begin like numbers or amounts of money: they are no classes."""
    return len(texts) > CLASSES and sum(map(bool, map(_AMOUNT.search, texts))) >= MOST * len(texts)


def is_bound(text: str) -> bool:
    """Whether a text says that a value is above or below a number, as ``>27947`` does."""
    return text[:1] in ("<", ">", "\u2264", "\u2265") and is_measurement(text)


def beyond_range(texts: Iterable[str]) -> str:
    """What is said of the first text that says that a value is beyond the range of its instrument; else nothing."""
    limit = next((text for text in texts if is_bound(text) or _BEYOND.fullmatch(text)), None)
    if limit is None:
        return ""
    return (
        f"; {quote(limit)} stands for a value beyond a limit: it is filled as if it were not, and too near the others"
    )


def names_rows(texts: list[str], titled: bool) -> bool:
    """Whether texts hardly repeat and are no SMILES, and no measurements unless their title is one of names."""
    measured = not titled and any(map(is_measurement, texts))
    return len(texts) < 2 * len(set(texts)) and not measured and not are_smiles(texts)


def is_id_name(name: str) -> bool:
    """Whether a column is named as one of row names is."""
    return not name or _ID_NAME.search(name) is not None


def are_smiles(cells: Sequence[str]) -> bool:
    """Whether texts look like SMILES: atoms and bonds alone, and a branch or a double bond in half of them."""
    spelled = all(_SMILES.fullmatch(cell) and re.search("[A-Za-z]", cell) for cell in cells)
    return spelled and 2 * sum("(" in cell or "=" in cell for cell in cells) >= len(cells)


def escape_formula(text: str) -> str:
    """A text as a csv cell that no spreadsheet runs: a quote before what begins like a formula, numbers excepted."""
    return f"'{text}" if _begins_formula(text) else text


def csv_line(cells: Iterable[object]) -> str:
    """A row of a csv file: numbers to the last bit, texts that no spreadsheet runs, quoted if needed; None is empty."""
    texts = ["" if c is None else escape_formula(c) if isinstance(c, str) else repr(c) for c in cells]
    quoted = ['"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text for text in texts]
    return ",".join(quoted) + "\n"


def unescape_formula(cell: str) -> str:
    """The name that a cell stands for."""
    return cell[1:] if cell.startswith("'") and _begins_formula(cell) else cell


def _begins_formula(text: str) -> bool:
    plain = text.lstrip("'")
    return plain.startswith(("=", "+", "-", "@", "\t", "\r")) and number_in(plain) is None
