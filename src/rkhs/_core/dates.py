"""Dates as numbers: days since the first of January 1970, the same origin for every file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

_START = datetime.datetime(1970, 1, 1)
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?")  # fromisoformat reads 20240131 too, which is a number


class Day(float):
    """A number of days that stands for a date, as files are read."""


def day_number(moment: datetime.date) -> float:
    """Days from the first of January 1970 to a day or a time of a day, in UTC if it has a time zone."""
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - _START) / datetime.timedelta(days=1)


def day_numbers(texts: Sequence[str]) -> list[float] | None:
    """Days of texts that all are dates in ISO form, as 2024-01-31 or 2024-01-31T23:45; None if one is not."""
    found = []
    for text in texts:
        if _ISO.fullmatch(text.strip()) is None:
            return None
        try:
            found.append(day_number(datetime.datetime.fromisoformat(text.strip())))
        except ValueError:
            return None
    return found


def are_dates(texts: Sequence[str]) -> bool:
    """Whether there are texts, and all are dates in ISO form."""
    return len(texts) > 0 and day_numbers(texts) is not None
