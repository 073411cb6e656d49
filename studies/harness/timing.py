"""What every benchmark shares: interleaved runs, medians with quartiles, and verdicts against a goal.

Contestants run once a round and ratios are taken within a round, so that a load on the machine meets all of them alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence


def seconds(call: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def interleaved(
    calls: Mapping[str, Callable[[], object]], repeats: int, *, warm_up: bool = True
) -> dict[str, list[float]]:
    """Times of every call in ``repeats`` rounds, after one round that does not count."""
    if warm_up:
        for call in calls.values():
            call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return times


def describe(values: Sequence[float], unit: str = "s") -> str:
    """Median and quartiles in one phrase."""
    if len(values) < 2:
        return f"{values[0]:.4g} {unit} (one run)"
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"median {middle:.4g} {unit}, quartiles {low:.4g} to {high:.4g}"


def ratio(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """Ratios within each round."""
    return [a / b for a, b in zip(over, under, strict=True)]


def verdict(name: str, value: float, must: float, stretch: float, *, smaller: bool = True) -> str:
    """One line: the number, the goal, and whether it was met."""

    def reached(goal: float) -> bool:
        return value <= goal if smaller else value >= goal

    word = "stretch met" if reached(stretch) else "met" if reached(must) else "MISSED"
    return f"{name}: {value:.3g} (must {must:g}, stretch {stretch:g}): {word}"
