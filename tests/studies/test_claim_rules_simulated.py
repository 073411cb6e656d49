"""No rule is bound to one answer: each is simulated under the claimed effect, none, and the opposite one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from studies.papers.claims import rules
from studies.papers.claims.rules import FAILS, HOLDS, Judged
from studies.papers.claims.runs import disentangled, drkm_figures, few_labels, molecules, protocols
from studies.papers.few_labels import FewLabelRow

Rng = np.random.Generator
OVERLAPS = (None, 1 / 9, 0.25, 0.5, 0.45 / 0.55, 1.0)
"""Of splits of one set: all that the runs use."""


def _drawn(effect: float, rng: Rng, *shape: int) -> np.ndarray:
    return effect + rng.normal(size=shape or (8,))


def _settings(effect: float, rng: Rng) -> dict[str, np.ndarray]:
    return {name: _drawn(effect, rng) for name in "abc"}


def _errors(effect: float, rng: Rng, *names: str) -> dict[str, np.ndarray]:
    """Errors of ten splits on ten lines; the first strategy is better by the effect."""
    found = {name: 10.0 + rng.normal(size=(10, 10)) for name in names}
    found[names[0]] = found[names[0]] - effect
    return found


def _bars(effect: float, rng: Rng) -> Judged:
    rows = [
        FewLabelRow(name, "Gaussian", tuple(0.5 + 0.01 * _drawn(shift, rng, 40)), (0.0,) * 40)
        for name, shift in (("simple", effect - 2.0), ("kernel PCA", 0.0))  # no effect: as far as the margin
    ]
    return few_labels._parity(rows, 20, {"simple": "kernel PCA"}, chosen_on="other draws")


def _dimensions(effect: float, rng: Rng) -> Judged:
    found = {name: 10.0 + rng.normal(size=(10, 10)) - effect * (name != "KPCA") for name in ("KPCA", *"abcde")}
    return molecules._of_five(molecules._beats(found, [(name, "KPCA") for name in "abcde"]))


def _compounds(effect: float, rng: Rng) -> Judged:
    errors = {name: {p: 10.0 + _drawn(0.0, rng, 40) for p in (5, 10)} for name in ("KAE", "network")}
    errors["KAE"] = {p: values - effect for p, values in errors["KAE"].items()}
    return molecules._below(errors, "KAE", ["network"])


def _images(effect: float, rng: Rng) -> Judged:
    return protocols._below({"kernel": {"tuned": _drawn(-effect, rng, 5), "untuned": _drawn(-effect, rng, 5)}})


def _epsilons(effect: float, rng: Rng) -> str:
    found = [
        {"rows": {e: (float(gain), max(0.0, 0.02 * effect)) for e, gain in zip((0.4, 0.6), row, strict=True)}}
        for row in _drawn(-effect, rng, 8, 2)
    ]
    return molecules._together_at(found, "made up")[0]


def _planes(effect: float, rng: Rng, monkeypatch: pytest.MonkeyPatch) -> Judged:
    def made_up(shape: str, noise: float, seed: int, n: int, grid: Any, kind: str) -> float:
        return float(np.exp(0.1 * rng.normal() + 0.1 * effect * (kind == "shallow")))

    monkeypatch.setattr(drkm_figures, "_plane", made_up)
    return drkm_figures._ratios("deep", "shallow", 8, 0, drkm_figures._CELLS, ())["a"]


def _deviations(effect: float, rng: Rng, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """The bootstrap on the ratio of deviations: below one on every set."""
    shape = (2, 3, 20, 3)
    found = {"paper": rng.normal(size=shape), "VAE": np.exp(0.5 * effect) * rng.normal(size=shape)}
    monkeypatch.setattr(disentangled, "_cells", lambda fast: found)
    return disentangled._by_set("paper", False, 1.0, "ratio:", lambda a, b: float(a.std() / b.std()))


RULES: dict[str, Callable[..., Judged | str]] = {
    **{
        f"R1, overlap {overlap}": lambda e, rng, o=overlap: rules.direction(_drawn(e, rng), sign=1, overlap=o)
        for overlap in OVERLAPS
    },
    "R1, settings": lambda e, rng: rules.direction(_settings(e, rng), sign=1),
    "R2": lambda e, rng: rules.all_of(_drawn(e, rng, 10, 10), sign=1),
    "R3": lambda e, rng: rules.equal([10.0 ** -(8.0 + e)] * 20, tolerance=1e-9),
    "R4": lambda e, rng: rules.on_par(_drawn(e - 1.0, rng), margin=0.02),
    "R5, at least": lambda e, rng: rules.shows({k: v.tolist() for k, v in _settings(e, rng).items()}, at_least=1.5),
    "R5, at most": lambda e, rng: rules.shows(-_drawn(e, rng), at_most=-1.5),
    "R5, share of draws": lambda e, rng: rules.shows(_drawn(e, rng), at_least=1.0, draws=0.8),
    "R6": lambda e, rng: rules.bounded(np.exp(_drawn(-e, rng, 200)), delta=0.05),
    "four strategies": lambda e, rng: molecules._beats(_errors(e, rng, "a", "b"), [("a", "b")]),
    "lowest on all lines": lambda e, rng: molecules._lowest(
        _errors(e, rng, "K2AE 50", "ridge", "KPCA 10", "KPCA 50", "K2AE 10"), "K2AE", "ridge", (10, 50)
    ),
    "four of five dimensions": _dimensions,
    "fingerprints": _compounds,
    "denoised images": _images,
    "gain and sparsity": _epsilons,
    "on par, bar of half of the splits": _bars,
    "everywhere": lambda e, rng: disentangled._everywhere({k: [1.0 - e] for k in "abc"}, 0.5, "range"),
}
PATCHED = {"planes": _planes, "deviations": _deviations}


def _verdicts(judge: Callable[..., Judged | str], effect: float, *more: Any, runs: int = 30) -> Counter[str]:
    found = (judge(effect, np.random.default_rng(seed), *more) for seed in range(runs))
    return Counter(one if isinstance(one, str) else one.verdict for one in found)


@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("name", [*RULES, *PATCHED])
def test_every_rule_can_hold_and_can_fail(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, more = (RULES[name], ()) if name in RULES else (PATCHED[name], (monkeypatch,))
    runs = 30 if name in RULES else 5
    claimed, none, opposite = (_verdicts(judge, effect, *more, runs=runs) for effect in (4.0, 0.0, -4.0))
    assert claimed[HOLDS] >= 0.9 * runs, claimed
    assert none[HOLDS] <= 0.12 * runs, none
    assert opposite[FAILS] >= 0.9 * runs, opposite


def test_two_settings_that_are_opposite_are_refused() -> None:
    """Such a rule has the claimed sign in one of its settings whatever is found."""
    d = _drawn(1.0, np.random.default_rng(0))
    with pytest.raises(ValueError, match="'by its words' are opposite"):
        rules.direction({"by (7)": d, "by its words": -d}, sign=1)


def test_more_splits_lower_the_error_of_a_set_that_is_all_there_is() -> None:
    few, many = (rules.direction(_drawn(0.5, np.random.default_rng(0), k), sign=1).error or 0.0 for k in (20, 100))
    floor = rules.direction(_drawn(0.5, np.random.default_rng(0), 100), sign=1, overlap=0.45 / 0.55).error or 0.0
    assert many < 0.6 * few
    assert floor > 0.8
