"""Days written as one number, as 20240131, and hours next to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_DIFFER = 0.9  # share of different pairs of a day and an hour


def written_dates(columns: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Columns of days written as 20240131, and of hours or minutes as 2359 next to one, as texts, by position."""
    found: dict[int, np.ndarray] = {}
    for j, days in enumerate(columns):
        if days.dtype == object or not are_written(days):
            continue
        found[j] = np.array(
            [f"{day // 10000}-{day // 100 % 100:02d}-{day % 100:02d}" for day in days.astype(int)], object
        )
        for k in (j + 1, j - 1):
            hours = columns[k] if 0 <= k < len(columns) else days
            if hours.dtype != object and (times := _hours(hours)) is not None and _differ(days, hours):
                found[k] = times
                break
    return found


def _hours(values: np.ndarray) -> np.ndarray | None:
    """Whole hours from 0 to 24, or hours and minutes as 2359, as texts; None for other numbers."""
    unit = 1 if np.nanmax(values) <= 24.0 else 100
    if not np.isin(values, [h * unit + m for h in range(25) for m in range(60 if unit > 1 else 1)]).all():
        return None
    return np.array([f"{one // unit:02d}:{one % unit:02d}" for one in values.astype(int)], object)


def _differ(days: np.ndarray, hours: np.ndarray) -> bool:
    """Whether days repeat, and hardly with the same hour."""
    n = len(np.unique(np.column_stack([days, hours]), axis=0))
    return 2 * len(np.unique(days)) <= len(days) and n >= _DIFFER * len(days)


def are_written(values: np.ndarray) -> bool:
    """Whether numbers are days written as 20240131."""
    days, months = values % 100, values // 100 % 100
    written = (values >= 19000101) & (values <= 21001231) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    return bool(written.all() and (values == np.round(values)).all() and len(np.unique(values)) > 2)
