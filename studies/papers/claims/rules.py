"""The rules R1 to R6 by which claims are judged. They know numbers only; the table of claims says which one applies.

A repetition is a draw of *data* (a split, a sample, a draw of images). Values that differ in the start alone are
averaged inside their draw: :func:`per_draw`. Settings that a paper leaves open are tried beside the first assumption;
a rule takes them as a mapping whose first entry is that first assumption.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import stats

__all__ = [
    "CANNOT", "FAILS", "HOLDS", "PART", "UNDECIDED", "VERDICTS", "Judged",
    "all_of", "bounded", "cannot", "direction", "equal", "on_par", "per_draw", "shows", "together",
]  # fmt: skip

HOLDS, PART, FAILS = "holds", "holds in part", "does not hold"
UNDECIDED, CANNOT = "undecided", "cannot be tested"
PLACES = ("training rows", "validation points", "other splits of the same rows", "other draws", "test rows")
VERDICTS = (HOLDS, PART, FAILS, UNDECIDED, CANNOT)
_MOST = 2.0 / 3.0  # of the settings that a paper leaves open

Values = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Judged:
    """What a rule says.

    Parameters
    ----------
    rule, verdict, found : str
        Number of the rule, one of ``VERDICTS``, and the numbers in words.
    values : dict of str to tuple of float
        The statistic, one number per repetition, by setting; the first setting decides.
    line : float
        What the values are compared with.
    mean, error : float or None
        Of the first setting; the standard error counts draws of data only.
    chosen_on : str
        Where parameters were chosen. On ``"test rows"`` a row decides nothing, as with the limit "by construction".
    inputs : dict
        What else the rule was given.
    """

    rule: str
    verdict: str
    found: str
    values: dict[str, tuple[float, ...]] = field(default_factory=dict)
    line: float = 0.0
    mean: float | None = None
    error: float | None = None
    chosen_on: str = "nothing is chosen"
    inputs: dict[str, Any] = field(default_factory=dict)

    @property
    def repetitions(self) -> int:
        """How many draws of data the first setting has."""
        return len(next(iter(self.values.values()), ()))

    @property
    def decides(self) -> bool:
        """Whether this may be a verdict on a claim."""
        return self.chosen_on != "test rows" and self.inputs.get("limit") != "by construction"

    def chosen(self, where: str) -> Judged:
        """The same, saying where parameters were chosen."""
        if where not in PLACES:
            raise ValueError(f"parameters are chosen on one of {', '.join(map(repr, PLACES))}; got {where!r}")
        return replace(self, chosen_on=where)

    def saying(self, found: str) -> Judged:
        """The same, its numbers told in the words of the claim."""
        return replace(self, found=found)

    def limited(self, words: str) -> Judged:
        """The same with a limit of the verdict, such as ``"on a stand-in"``."""
        return replace(self, inputs={**self.inputs, "limit": words})


def per_draw(draws: Sequence[Hashable], values: Values) -> np.ndarray:
    """One value for each draw of data: those of several starts on the same draw are averaged."""
    if len(draws) != len(values):
        raise ValueError(f"expected one draw for each value; got {len(draws)} draws and {len(values)} values")
    rows: dict[Hashable, list[float]] = {}
    for draw, value in zip(draws, values, strict=True):
        rows.setdefault(draw, []).append(float(value))
    return np.array([np.mean(row) for row in rows.values()])


def _error(values: np.ndarray, overlap: float | None) -> float:
    """Standard error of a mean over fresh draws, or over splits of one set with ``overlap = n_test / n_train``."""
    k = len(values)
    if k < 2:
        return float("nan")
    spread = float(np.std(values, ddof=1))
    return float(spread * np.sqrt(1.0 / k + (overlap or 0.0)))


def _read(settings: Mapping[str, Values] | Values) -> dict[str, np.ndarray]:
    given = settings if isinstance(settings, Mapping) else {"as printed": settings}
    read = {name: np.asarray(values, dtype=float).ravel() for name, values in given.items()}
    if not read or any(not len(values) for values in read.values()):
        raise ValueError("expected at least one value in each setting")
    return read


def _kept(read: Mapping[str, np.ndarray]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(float(value) for value in values) for name, values in read.items()}


def direction(
    settings: Mapping[str, Values] | Values,
    *,
    sign: int,
    overlap: float | None = None,
    name: str = "difference",
    resolution: float = 1e-12,
) -> Judged:
    """R1: the mean of paired differences has the claimed sign, by more than two standard errors.

    It holds if that is so under the first assumption and the sign is right in at least two thirds of the settings; in
    part if it is clearly so in some settings only; it does not hold if the sign is clearly the other one and clearly
    right in none. A sign within the noise is undecided, as one draw of data is.

    Parameters
    ----------
    settings : mapping of str to values, or values
        Differences, one per draw of data; ``overlap`` is ``n_test / n_train`` for splits of one set.
    sign : {-1, 1}
        That is claimed.
    resolution : float
        Means below it are zero: what solvers leave undone is no effect.

    Raises
    ------
    ValueError
        If one setting is the negative of another: the rule could not fail.
    """
    read = _read(settings)
    for (one, a), (other, b) in itertools.combinations(read.items(), 2):
        if a.shape == b.shape and a.any() and np.array_equal(a, -b):
            raise ValueError(f"{one!r} and {other!r} are opposite: one of them always has the claimed sign")
    means = {key: sign * float(values.mean()) for key, values in read.items()}
    means = {key: mean if abs(mean) > resolution else 0.0 for key, mean in means.items()}
    errors = {key: _error(values, overlap) for key, values in read.items()}
    clear = [key for key in read if means[key] > 2.0 * errors[key]]
    first = next(iter(read))
    right = sum(mean > 0.0 for mean in means.values()) / len(means)
    if len(read[first]) < 2:
        verdict = UNDECIDED
    elif first in clear and right >= _MOST:
        verdict = HOLDS
    elif clear:
        verdict = PART
    elif -means[first] > 2.0 * errors[first]:
        verdict = FAILS
    else:
        verdict = UNDECIDED
    mean, error = sign * means[first], errors[first]
    found = f"{name} {mean:+.4g} ± {error:.2g} ({len(read[first])} draws"
    found += (
        f"; right sign in {sum(m > 0.0 for m in means.values())} of {len(means)} settings)" if len(read) > 1 else ")"
    )
    return Judged("R1", verdict, found, _kept(read), 0.0, mean, error, inputs={"sign": sign, "overlap": overlap})


def all_of(differences: np.ndarray, *, sign: int, overlap: float | None = None, of: str = "problems") -> Judged:
    """R2: the means of all ``q`` problems have the claimed sign; ``differences`` has shape (draws, q).

    In part: those of more than half, and the mean over problems by more than two standard errors. It does not hold if
    that mean is clearly of the other sign, or clearly of the right one with at most half of the problems.
    """
    d = sign * np.asarray(differences, dtype=float)
    wins, q = int((d.mean(0) > 0.0).sum()), d.shape[1]
    over = d.mean(1)
    mean, error = float(over.mean()), _error(over, overlap)
    if wins == q:
        verdict = HOLDS
    elif abs(mean) > 2.0 * error:
        verdict = PART if 2 * wins > q and mean > 0.0 else FAILS
    else:
        verdict = UNDECIDED
    found = f"{wins} of {q} {of}, mean difference {sign * mean:+.4g} ± {error:.2g}"
    values = {"mean over problems": tuple((sign * over).tolist())}
    return Judged("R2", verdict, found, values, 0.0, sign * mean, error, inputs={"sign": sign, "overlap": overlap})


def equal(errors: Values, *, tolerance: float, name: str = "largest relative error") -> Judged:
    """R3: two formulas agree on every problem: the relative errors are at most the tolerance (1e-8, iterative 1e-5)."""
    values = np.atleast_1d(np.asarray(errors, dtype=float))
    largest = float(values.max())
    verdict = HOLDS if largest <= tolerance else FAILS  # nan fails
    found = f"{name} {largest:.1e} on {len(values)} problems (at most {tolerance:g})"
    return Judged("R3", verdict, found, {"problems": tuple(values.tolist())}, tolerance, largest)


def on_par(differences: Values, *, margin: float, overlap: float | None = None, name: str = "difference") -> Judged:
    """R4: on par or better: the lower end of the 95 % interval of the mean advantage is above ``-margin``."""
    values = np.asarray(differences, dtype=float).ravel()
    mean, error, k = float(values.mean()), _error(values, overlap), len(values)
    low = mean - float(stats.t.ppf(0.975, max(1, k - 1))) * error
    if k < 2:
        verdict = UNDECIDED
    elif low > -margin:
        verdict = HOLDS
    else:
        high = 2.0 * mean - low
        verdict = FAILS if high < -margin else UNDECIDED
    found = f"{name} {mean:+.3g}, 95 % interval from {low:+.3g} (at least {-margin:g}; {k} draws)"
    return Judged("R4", verdict, found, {"as printed": tuple(values.tolist())}, -margin, mean, error)


def shows(
    settings: Mapping[str, Values] | Values,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    draws: float | None = None,
    name: str = "statistic",
) -> Judged:
    """R5: a statistic that says what a sentence on a figure says, beyond a threshold that was fixed before the run.

    A setting shows it if its mean over the draws is beyond the threshold, or with ``draws`` that share of its draws.
    The claim holds if the first assumption and two thirds of the settings show it, in part if some do.
    """
    if (at_least is None) == (at_most is None):
        raise ValueError("expected one of at_least and at_most")
    read, above = _read(settings), at_least is not None
    line = float(at_least if at_least is not None else at_most or 0.0)
    passed = {}
    for key, values in read.items():
        good = values >= line if above else values <= line
        mean = float(values.mean())
        passed[key] = (mean >= line if above else mean <= line) if draws is None else float(good.mean()) >= draws
    first, share = next(iter(read)), sum(passed.values()) / len(passed)
    verdict = HOLDS if passed[first] and share >= _MOST else PART if share > 0.0 else FAILS
    mean = float(read[first].mean())
    word = "at least" if above else "at most"
    found = f"{name} {mean:.3g} ({word} {line:g}"
    if draws is not None:
        good = read[first] >= line if above else read[first] <= line
        found += f"; so in {int(good.sum())} of {len(good)} draws"
    found += f"; shown in {sum(passed.values())} of {len(passed)} settings)" if len(passed) > 1 else ")"
    return Judged("R5", verdict, found, _kept(read), line, mean, _error(read[first], None), inputs={"draws": draws})


def bounded(ratios: Values, *, delta: float, name: str = "bound") -> Judged:
    """R6: a bound that holds with probability ``1 - delta``: quantity over bound exceeds 1 in few enough draws.

    Few enough is ``delta + 2 sqrt(delta (1 - delta) / k)`` of ``k`` draws. A bound with a constant that nobody knows
    cannot be tested: :func:`cannot`.
    """
    values = np.asarray(ratios, dtype=float).ravel()
    broken, k = float((values > 1.0).mean()), len(values)
    allowed = delta + 2.0 * np.sqrt(delta * (1.0 - delta) / k)
    found = f"{name} broken in {int((values > 1.0).sum())} of {k} draws (at most {allowed:.1%})"
    found += f"; largest share {values.max():.3g}"
    verdict = HOLDS if broken <= allowed else FAILS
    return Judged(
        "R6", verdict, found, {"draws": tuple(values.tolist())}, 1.0, float(values.max()), inputs={"delta": delta}
    )


def cannot(why: str) -> Judged:
    """What cannot be tested here, and why."""
    return Judged("-", CANNOT, why)


def together(judged: Sequence[Judged]) -> str:
    """One verdict of several: their common one; else in part where any holds, else undecided where any is open.

    What cannot be tested, or decides nothing (parameters chosen on test rows, true by construction), does not count
    beside what can.
    """
    found = [one.verdict for one in judged if one.decides and one.verdict != CANNOT]
    if not found:
        return CANNOT if judged and any(one.decides for one in judged) else UNDECIDED
    if len(set(found)) == 1:
        return found[0]
    return PART if HOLDS in found or PART in found else UNDECIDED
