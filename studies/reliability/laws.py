"""Level of novelty and coverage of prediction sets under twelve laws, against what they guarantee.

Run: python -m studies.reliability.laws [--draws 60] [--only "heavy tails"] [--write]. Each law has its seed.
``--write`` puts the table into ``docs/reliability.md``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rkhs import InputOutputKernelRegressor, KernelNovelty, OperatorKernelRegressor
from rkhs.kernels import Gaussian, Kernel, Linear

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
START, END = "<!-- laws: the table below is written by ./dev reliability --only R21 --write -->", "<!-- end of laws -->"
COVERAGE, ALPHA, NEW = 0.9, 0.1, 25
_ERRORS, _ABOUT = 3.0, 0.05  # standard errors that are chance; what "about" may miss
_LEAST_INFORMATIVE = 0.5  # share of sets that exclude some output
LEVELS = ("predict", "p, novelty", "p, regressor")
SETS = ("interval", "box", "ball", "ellipsoid", "candidates", "held out")

Rows = tuple[np.ndarray, np.ndarray]
"""Rows (n, d) and outputs (n, q)."""


@dataclass(frozen=True, eq=False)
class Law:
    """A law of rows, and the settings under which answers are asked."""

    name: str
    draw: Callable[[np.random.Generator, int], Rows]
    seed: int
    n: int = 40
    kernel: Kernel = field(default_factory=lambda: Gaussian(0.3))
    settings: dict[str, Any] = field(default_factory=lambda: {"reg": 0.01})
    novelty: dict[str, Any] | None = field(default_factory=dict)
    """Of KernelNovelty; None: it has no such option."""
    fit: Callable[[int], dict[str, Any]] = lambda n: {}
    """What ``fit`` is given beside the rows."""
    written: int = 1
    """How often each row is written."""
    closed: bool = True
    """Whether rows can be left out in closed form."""
    gaps: float = 0.0
    """Share of the held-out rows whose first output is not known."""


@dataclass(frozen=True)
class Measured:
    """A share over draws with its standard error."""

    mean: float
    error: float
    guarantee: str
    is_good: bool

    def __str__(self) -> str:
        about = "≈ " if self.guarantee == "about" else ""
        text = f"{about}{self.mean:.3f} ± {self.error:.3f}"
        return text if self.is_good else f"**{text}**"


def _outputs(rng: np.random.Generator, X: np.ndarray, q: int = 2, noise: float | np.ndarray = 0.3) -> np.ndarray:
    clean = np.stack([np.sin(X[:, 0] + j) + 0.5 * X[:, 1] for j in range(q)], 1)
    return np.asarray(clean + noise * rng.normal(size=clean.shape))


def _normal(rng: np.random.Generator, n: int) -> Rows:
    X = rng.normal(size=(n, 3))
    return X, _outputs(rng, X)


def _ties(rng: np.random.Generator, n: int) -> Rows:
    X = rng.integers(0, 3, (n, 3)).astype(float)
    return X, _outputs(rng, X).round()


def _heavy(rng: np.random.Generator, n: int) -> Rows:
    X = rng.standard_cauchy((n, 3))
    return X, _outputs(rng, np.tanh(X)) + 0.3 * rng.standard_t(1.5, (n, 2))


def _thousands(rng: np.random.Generator, n: int) -> Rows:
    X = rng.normal(size=(n, 4))
    return 1e4 * X, X[:, :2] + 0.1 * rng.normal(size=(n, 2))


def _one_hot(rng: np.random.Generator, n: int) -> Rows:
    level = rng.integers(0, 4, n)
    other = np.where(rng.random(n) < 0.7, level, rng.integers(0, 4, n))
    X = np.hstack([np.eye(4)[level], np.eye(4)[other], np.eye(2)[rng.integers(0, 2, n)]])
    return X, np.stack([level == other, level > rng.integers(0, 4, n)], 1).astype(float)


def _groups(rng: np.random.Generator, n: int) -> Rows:
    places = rng.normal(size=(-(-n // 3), 3)).repeat(3, 0)[:n]
    X = places + 0.1 * rng.normal(size=places.shape)
    shared = 0.3 * rng.normal(size=(-(-n // 3), 2)).repeat(3, 0)[:n]
    return X, _outputs(rng, X, noise=0.05) + shared


def _far(rng: np.random.Generator, n: int) -> Rows:
    X, Y = _normal(rng, n)
    return X + 1e5, Y


def _changing(rng: np.random.Generator, n: int) -> Rows:
    X = rng.normal(size=(n, 3))
    return X, _outputs(rng, X, noise=0.1 + np.abs(X[:, :1]))


def _several(rng: np.random.Generator, n: int) -> Rows:
    X = rng.normal(size=(n, 3))
    return X, _outputs(rng, X, q=4) + 0.3 * rng.normal(size=(n, 1))


def _repeated(n: int) -> dict[str, Any]:
    return {"groups": np.arange(n) // 3}


def _weights(n: int) -> dict[str, Any]:
    return {"sample_weight": np.linspace(0.5, 2.0, n)}


_TINY = {"kernel": Linear(), "reg": 1e-9}  # of KernelNovelty, in units of k(x, x)
_CHOSEN = {"columns": "scaled"}
LAWS = (
    Law("ties", _ties, 1),
    Law("heavy tails", _heavy, 2, n=150),
    Law("saturated kernel", _normal, 3, n=150, kernel=Gaussian(1e3), novelty={"kernel": Gaussian(1e3)}),
    Law("low rank, tiny reg", _thousands, 4, kernel=Linear(), settings={"reg": 1e-2}, novelty=_TINY),
    Law("weights", _normal, 5, fit=_weights, closed=False),
    Law("duplicates", _normal, 6, written=2),
    Law("groups", _groups, 7, n=60, settings=_CHOSEN, novelty=None, fit=_repeated),
    Law("few rows", _normal, 8, n=12, settings=_CHOSEN),
    Law("one-hot columns", _one_hot, 9, n=80),
    Law("far from the origin", _far, 10),
    Law("changing noise", _changing, 11),
    Law("several outputs", _several, 12, n=60, gaps=0.2),
)


Answers = Iterator[tuple[str, float, str, float]]
"""Name, share of the new items inside (or novel), guarantee, and share of the sets that exclude something."""


def _of_novelty(law: Law, X: np.ndarray, new: np.ndarray) -> Answers:
    """Shares of new items of the same law that are called novel."""
    if law.novelty is None:
        return
    model = KernelNovelty(**law.novelty, alpha=ALPHA).fit(X)
    yield "predict", float((model.predict(new) == -1).mean()), "at least", 1.0
    yield "p, novelty", float((model.p_values(new) <= ALPHA + 1e-12).mean()), "at least", 1.0


def _of_regressors(law: Law, X: np.ndarray, Y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> Answers:
    """Shares of small p-values, and of outputs inside their sets of each kind."""
    given = law.fit(len(X))
    one, all_of_them = (OperatorKernelRegressor(law.kernel, **law.settings).fit(X, y, **given) for y in (Y[:, 0], Y))
    yield "p, regressor", float((one.p_values(new) <= ALPHA + 1e-12).mean()), "at least", 1.0
    plain = {name: value for name, value in law.settings.items() if name != "columns"}
    candidates = InputOutputKernelRegressor(law.kernel, output_kernel=Gaussian(0.5), **plain).fit(X, Y, **given)
    found = {
        "interval": (one.predict_set(new, coverage=COVERAGE), truth[:, 0]),
        "candidates": (candidates.predict_set(new, truth, coverage=COVERAGE), np.arange(len(truth))),
    }
    for shape in ("box", "ball", "ellipsoid"):
        found[shape] = all_of_them.predict_set(new, coverage=COVERAGE, shape=shape), truth
    for name, (sets, right) in found.items():
        yield name, float(sets.contains(right).mean()), sets.guarantee, float(sets.informative.mean())


def _of_held_out(law: Law, rng: np.random.Generator, X: np.ndarray, Y: np.ndarray, *new: np.ndarray) -> Answers:
    """Share of outputs inside boxes by rows that the fit did not see."""
    model = OperatorKernelRegressor(law.kernel, **law.settings).fit(X, Y, **law.fit(len(X)))
    other, known = law.draw(rng, 3 * 30)
    if "groups" in law.fit(1):
        other, known = other[::3], known[::3]
    known[rng.random(len(known)) < law.gaps, 0] = np.nan
    sets = model.predict_set(new[0], coverage=COVERAGE, shape="box", held_out=(other, known))
    yield "held out", float(sets.contains(new[1]).mean()), sets.guarantee, float(sets.informative.mean())


def one_draw(law: Law, rng: np.random.Generator) -> dict[str, tuple[float, str, float]]:
    """All answers for one draw of the training rows and the new ones."""
    X, Y = (np.tile(part, (law.written, 1)) for part in law.draw(rng, law.n))
    new, truth = law.draw(rng, 3 * NEW)
    new, truth = new[::3], truth[::3]  # one row of each group
    found = [*_of_novelty(law, X, new), *_of_held_out(law, rng, X, Y, new, truth)]
    if law.closed:
        found += _of_regressors(law, X, Y, new, truth)
    return {name: rest for name, *rest in found}  # type: ignore[misc]


def measured(law: Law, draws: int) -> dict[str, Measured]:
    """Levels and coverages over draws."""
    rng = np.random.default_rng(law.seed)
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        found = [one_draw(law, rng) for _ in range(draws)]
    answers = {}
    for name, (_, guarantee, _) in found[0].items():
        shares = np.array([one[name][0] for one in found])
        informative = float(np.mean([one[name][2] for one in found]))
        mean, error = float(shares.mean()), float(shares.std(ddof=1) / draws**0.5)
        answers[name] = Measured(mean, error, guarantee, keeps(name, mean, error, guarantee, informative))
    return answers


def keeps(name: str, mean: float, error: float, guarantee: str, informative: float = 1.0) -> bool:
    """Whether a level or a coverage is what was guaranteed, up to chance, and sets say something."""
    allowed = _ERRORS * error + (_ABOUT if guarantee == "about" else 0.0)
    if name in LEVELS:
        return mean <= ALPHA + allowed
    return mean >= COVERAGE - allowed and informative >= _LEAST_INFORMATIVE


def table(found: dict[Law, dict[str, Measured]]) -> str:
    """A table in Markdown: a law a line."""
    columns = (*LEVELS, *SETS)
    lines = [["law", "seed", "rows", *columns], ["---"] * (len(columns) + 3)]
    for law, answers in found.items():
        cells = [str(answers[name]) if name in answers else "" for name in columns]
        lines.append([law.name, str(law.seed), str(law.n * law.written), *cells])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def written(text: str, content: str) -> str:
    """The page with another table between its markers."""
    before, _, rest = text.partition(START)
    return f"{before}{START}\n\n{content}\n\n{END}{rest.partition(END)[2]}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m studies.reliability.laws", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--draws", type=int, default=60, help="draws of each law (default %(default)s)")
    parser.add_argument("--only", metavar="LAW", help="one law alone")
    parser.add_argument("--write", action="store_true", help="write the table into docs/reliability.md")
    args = parser.parse_args(argv)
    laws = [law for law in LAWS if args.only in (None, law.name)]
    found = {law: measured(law, args.draws) for law in laws}
    text = table(found)
    print(text)
    answers = [one for each in found.values() for one in each.values()]
    wrong = sum(not one.is_good for one in answers)
    print(f"laws: {len(answers)} levels and coverages under {len(found)} laws, {wrong} not as guaranteed")
    if args.write:
        PAGE.write_text(written(PAGE.read_text(), f"{text}\n\n{args.draws} draws of each law, {NEW} new rows a draw."))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
