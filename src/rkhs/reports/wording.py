"""Numbers as people write them."""

from __future__ import annotations

import numpy as np


def readable(value: float, digits: int = 4) -> str:
    """A number of four digits or a whole one, with commas from 10,000 on and without an exponent."""
    if not np.isfinite(value):
        return "missing"
    if value == round(value) and abs(value) < 1e6:
        return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.0f}"
    short = float(f"{value:.{digits}g}")
    return f"{short:,.0f}" if abs(short) >= 1e4 else np.format_float_positional(short, trim="-")


def day_text(value: float) -> str:
    """The date of a number of days since 1970, with the time of a part of a day."""
    text = str(np.datetime64("1970-01-01T00:00") + round(1440.0 * value)).replace("T", " ")
    return text if value % 1.0 else text[:10]


def with_error(value: float, error: float) -> str:
    """A number and its standard error, both to the second digit of the error."""
    if not np.isfinite(error) or error <= 0.0:
        return readable(value)
    digits = int(np.clip(1 - np.floor(np.log10(error)), -12, 12))
    commas = "," if abs(value) >= 1e4 else ""
    return " ± ".join(f"{round(part, digits):{commas}.{max(digits, 0)}f}" for part in (value, error))


def count_word(count: int) -> str:
    """A count of at most ten as a word."""
    return ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")[count]


def loss_words(items: str, lost: float) -> str:
    """The share of their variance that new items lose, rebuilt from a map."""
    worse = ": decoding is worse than predicting the mean" if lost > 1.0 else ""
    return f"new {items} lose {percent(lost)} of their variance{worse}"


def percent(share: float) -> str:
    """A percentage without decimals."""
    if 0.0 < share < 0.01:
        return "under 1%"
    return f"{share:.0%}"
