"""Dates as numbers: days since the first of January 1970, the same origin for every file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from rkhs._core.errors import InputError, quote

_FORMS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d-%m-%Y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d %b %Y", "%d-%b-%Y", "%d %b %y", "%d-%b-%y", "%b %d %Y", "%m/%Y", "%b %Y"),
    *("%m.%Y", "%Y-%m", "%Y/%m", "%d.%m.%y"),
    "",  # times of the day alone, which are parts of the first of January 1970
)
_WORD = re.compile(r"([^\W\d_]{3,})\.?|,")  # September, Sept. and Sep are one
# Of English, Finnish, Swedish, Danish, German, French, Spanish, Italian, Portuguese, Polish, Dutch and Turkish months.
_MONTHS = {
    start: english
    for english, starts in {
        "Jan": "jan tam ene gen sty oca",
        "Feb": "feb hel fev fév lut şub",
        "Mar": "mar maa mär maer mrt maart",
        "Apr": "apr huh avr abr kwi nis",
        "May": "may mai tou maj mag mei",
        "Jun": "jun kes juin giu cze haz",
        "Jul": "jul hei juil lug lip tem",
        "Aug": "aug elo aoû aou ago sie ağu",
        "Sep": "sep syy set wrz eyl",
        "Oct": "oct lok okt out ott paź paz eki",
        "Nov": "nov marr lis kas",
        "Dec": "dec jou dez déc dic des gru ara",
    }.items()
    for start in starts.split()
}
_WEEKDAY = re.compile(  # before a date of three parts or with a month in letters; mar 3 2019 is in March
    r"(?i)(?:mo|tu|we|th|fr|sa|su|ma|ti|ke|to|pe|la|må|on|lö|sö|lø|sø|di|mi|do|so|lu|me|je|ve|ju|vi|sá|gi|se|te|qu|dom"
    r"|po|wt|śr|cz|pt|ni|wo|vr|za|zo)[^\W\d_]*(?:-feira)?\.?,? (?=\S*[./-]\S*[./-]|.*[^\W\d_]{3})"
)
_ORDINAL = re.compile(r"(?i)(?<=\d)(?:\.|er|º|°)(?= )| de(?= )")  # 3. Februar, 1er mars, 3 de febrero de
_TIME = re.compile(r"(?s)(.*?)(?:[T ](\d{1,2}:\d\d\S*?)(?: ?([AaPp])\.?[Mm]\.?)?)?")
_DAY_END = re.compile(r"24(?=:00(?::00)?$)")  # as hours that are named by their ends have it
_MONTH_NUMBER = re.compile(r"(0?[1-9]|1[0-2])\.(?:19|20)\d\d")  # 03.2019, and 1.2019, which is a decimal one alone
_EAST_ASIAN = str.maketrans({"年": "-", "月": "-", "日": None})
_UTC = re.compile(r"(?<!\S)([01]\d|2[0-3])([0-5]\d) ?(?:UTC|GMT|Z)")  # a time alone, as in 0100 UTC
_INTERVAL = re.compile(r"(.*\d:\d\d\S*?)(?: [-\u2013] |/)(?=.*\d:\d\d).*")
_SHORT = "%d.%m.%y"
_TWO_DIGITS = re.compile(r"(\d\d)\.\d\d\.(\d\d)(?!\d)")
_YEARS = range(1800, 2200)
_START = datetime.datetime(1970, 1, 1)
_BEHIND_A_WORD = re.compile(r"([^\W\d_]{2,}[.:]?) +(\S*\d.*)")  # as in Sold 7 January 2025
_PARTS = re.compile(r"[^\W_]+")


class Day(float):
    """A number of days that stands for a date, as files are read."""


def day_number(moment: datetime.date) -> float:
    """Days from the first of January 1970 to a day or a time of a day, in UTC if it has a time zone."""
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - _START) / datetime.timedelta(days=1)


@lru_cache(2**16)  # a file is read several times
def _day(text: str, form: str) -> float | None:
    match = _TIME.fullmatch(" " + _UTC.sub(r"\1:\2", interval_start(text.strip())))
    assert match is not None
    day, time = _in_english(match[1].strip()), match[2] or "00:00"[: 5 * len(form)]
    day = day.translate(_EAST_ASIAN).rstrip("-") if day[-1:] in "月日" else day
    time, ends = _DAY_END.subn("00", time)
    if form == _SHORT and _TWO_DIGITS.fullmatch(day) is None:  # 3.9.13 is a version
        return None
    with suppress(ValueError):
        found = datetime.datetime.strptime(day, form) if day or form else _START
        if found.year in _YEARS:
            return day_number(datetime.datetime.combine(found, _clock(time, match[3]))) + ends
    return None


@lru_cache(2**16)
def _in_english(day: str) -> str:
    """A day without its weekday, and with an English month of three letters."""
    return _WORD.sub(_month, _ORDINAL.sub("", _WEEKDAY.sub("", day, count=1))).strip()


def _month(word: re.Match[str]) -> str:
    """Three English letters of a month in another language; of another word its first ones, of a comma none."""
    text = (word[1] or "").lower()
    found = (_MONTHS.get(text[:size]) for size in (5, 4, 3))
    return next(filter(None, found), text[:3])


def interval_start(text: str) -> str:
    """The first of two times of an interval; any other text as it is."""
    return _INTERVAL.sub(r"\1", text)


def _clock(text: str, half: str | None) -> datetime.time:
    """A time of the day, of 24 hours or of the half that A or P names."""
    time = datetime.time.fromisoformat("0" * (text[1:2] == ":") + text)
    if half is None:
        return time
    if not 1 <= time.hour <= 12:
        raise ValueError(text)
    return time.replace(hour=time.hour % 12 + 12 * (half in "Pp"))


def _days(text: str, forms: Sequence[str]) -> dict[str, float]:
    """The days that a text may be, by form."""
    return {form: day for form in forms if (day := _day(text, form)) is not None}


def _readings(texts: Sequence[str]) -> list[set[float]]:
    """The days that each text may be, by the forms that fit all texts if there are such; none if one is no date."""
    common: Sequence[str] = _FORMS
    texts = _without_word(texts)
    for text in texts:
        if not (found := _days(text, common) or _days(text, _FORMS[:-1])):
            return []
        common = [form for form in common if form in found]
    found_days = [set(_days(text, common or _FORMS[:-1]).values()) for text in texts]
    return found_days if all(found_days) and not _year_first(texts) else []


def _without_word(texts: Sequence[str]) -> Sequence[str]:
    """Texts without the word that all begin with, where three parts of a date at least stand behind it."""
    match = _BEHIND_A_WORD.fullmatch(texts[0].strip()) if texts else None
    if match is None or len(_PARTS.findall(match[2])) < 3 or _days(texts[0], _FORMS):
        return texts
    same = all(text.strip().startswith(f"{match[1]} ") for text in texts)
    return [text.strip().removeprefix(match[1]) for text in texts] if same else texts


def _year_first(texts: Sequence[str]) -> bool:
    """Whether days of three times two digits, as 24.07.08, differ in the first less than in the last: it is a year."""
    found = [match.groups() for text in texts if (match := _TWO_DIGITS.match(text.strip()))]
    first, last = map(set, zip(*found, strict=True)) if found else ((), ())
    return len(first) < len(last)


def is_month_number(text: str) -> bool:
    """Whether a text may be a month, such as 03.2019."""
    return _MONTH_NUMBER.fullmatch(text) is not None


def are_months(texts: Sequence[str]) -> bool:
    """Whether numbers with a point are months: zeros lead some, or some have one digit before it and some two."""
    if not all(map(is_month_number, texts)):
        return False
    months = {text.partition(".")[0] for text in texts}
    return any(month[0] == "0" for month in months) or len(set(map(len, months))) > 1


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are days, with or without a time, months or times: 2024-01-31, 1/31/2024, 01.2024, 23:45."""
    return bool(_readings(texts))


def day_numbers(texts: Sequence[str]) -> list[float] | None:
    """Days since the first of January 1970 of texts that all are dates; None if one is not."""
    different = list(dict.fromkeys(texts))
    found = _readings(different)
    for text, days in zip(different, found, strict=False):
        if len(days) > 1:
            raise InputError(
                f"dates must be unambiguous; got {quote(text)}, in which the day or the month may come first; write "
                "dates as 2024-01-31"
            )
    number = {text: min(days) for text, days in zip(different, found, strict=False)}
    return [number[text] for text in texts] if found else None
