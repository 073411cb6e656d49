"""No rule is bound to one answer: each is simulated under the claimed effect, none, and the opposite one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from studies.papers.claims import rules
from studies.papers.claims.rules import FAILS, HOLDS, Judged
from studies.papers.claims.runs import disentangled, drkm_denoising, few_labels, molecules, protocols
from studies.papers.claims.verdicts import VERDICTS
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


def _sizes(effect: float, rng: Rng, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Figure 8 of 2020: Huber gains on ridge at every number of functions."""

    def made_up(*_: Any, sizes: Any, **__: Any) -> dict[str, Any]:
        gains = [_drawn(-0.5 * effect, rng, 36, 3) for _ in sizes]
        return {"errors": [[1.0] for _ in sizes], "ridge": [1.0 for _ in sizes], "gains": gains}

    monkeypatch.setattr(protocols.lip_curves, "figure", made_up)
    return protocols.lip_figure(False)["gain"].paper


def _regularisers(effect: float, rng: Rng, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """A loss beats ridge at more than half of the regularisers."""

    def made_up(name: str, regs: Any, folds: int, *, center: bool = False) -> tuple[np.ndarray, np.ndarray]:
        gains = _drawn(-effect * (name != "ridge"), rng, folds, len(regs), 1 if name == "ridge" else 3)
        return gains, gains

    monkeypatch.setattr(protocols, "_paths", made_up)
    return protocols.yeast_ranges(False)["svr"].paper


def _by_widths(part: str) -> Callable[..., Judged]:
    """Figure 4 of 2021 from made-up scores of eight choices of widths."""

    def judge(effect: float, rng: Rng, monkeypatch: pytest.MonkeyPatch) -> Judged:
        behind = effect - disentangled._by_chance(len(disentangled.WIDTHS), 3)  # no effect: as far as chance has it

        def made_up(name: str, n: int, draw: int, n_eval: int, widths: Any, ours: bool) -> list[float]:
            which = disentangled.WIDTHS.index(widths)
            shift = {
                "a": max(0.0, 2.0 * effect) * (which % 2),  # choices differ
                "b": 5.0 * min(0.0, effect) * (which == 1),  # one is always the poorest
                "c": behind * (which == 0),
                "d": -5.0 * min(0.0, effect) * (which == 1),  # one is always the best
                "e": 0.0,
            }[part]
            wide = np.exp(-effect) if part == "e" and which == 0 else 1.0
            return list(shift + wide * rng.normal(size=3))

        monkeypatch.setattr(disentangled, "_machine", made_up)
        return disentangled._widths(False, False)[part]

    return judge


def _planes(effect: float, rng: Rng, monkeypatch: pytest.MonkeyPatch) -> Judged:
    cells = [(shape, noise) for shape in ("square", "square and spiral") for noise in (0.05, 0.1, 0.2)]
    return drkm_denoising.ratios(0.1 * (rng.normal(size=(8, len(cells))) + effect), cells)["a"]


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
PATCHED: dict[str, Callable[..., Judged]] = {
    "planes": _planes,
    "deviations": _deviations,
    "sizes": _sizes,
    "regularisers": _regularisers,
    **{f"widths, {part}": _by_widths(part) for part in "abcde"},
}
NONE_IS_CLAIMED = {"widths, b", "widths, d", "widths, e"}
"""What they claim is that choices do not differ."""
SETS_OF_2024 = ("circles", "cubes", "iris", "ionosphere")
MADE_OF_PARTS = {
    "drkm-fig4": {part: f"widths, {part}" for part in "abcde"},
    "drkm-fig6": {"c": "deviations"},
    "drkm-fig7-8": {"d": "deviations"},
    "drkm-table2": {"a": "planes"},
    "dual-fig7": {"b": "gain and sparsity"},
    "dual-fig8": {"gain": "sizes"},
    "dual-svr-huber": {"svr": "regularisers", "huber": "regularisers"},
    "kae-fig8": {"a": "four of five dimensions"},
    "kae-table1": {"i": "four strategies", "iii": "lowest on all lines"},
    "kae-table2": {"a": "fingerprints"},
    "kae-table3": {"iii": "lowest on all lines"},
    **{f"krl-fig1-{name}": dict.fromkeys("BD", "on par, bar of half of the splits") for name in SETS_OF_2024},
    **{f"krl-fig2-{name}": {"a": "on par, bar of half of the splits"} for name in ("mnist", "cifar")},
    **{f"krl-fig3-{name}": {"a": "denoised images"} for name in ("mnist", "cifar")},
}
"""Parts whose verdict is put together from several, by the simulation above that does it."""


RUNS = 15


def _verdicts(judge: Callable[..., Judged | str], effect: float, *more: Any, runs: int = RUNS) -> Counter[str]:
    found = (judge(effect, np.random.default_rng(seed), *more) for seed in range(runs))
    return Counter(one if isinstance(one, str) else one.verdict for one in found)


@pytest.mark.sample(5)
@pytest.mark.filterwarnings("ignore:.*")
@pytest.mark.parametrize("name", [*RULES, *PATCHED])
def test_every_rule_can_hold_and_can_fail(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, more = (RULES[name], ()) if name in RULES else (PATCHED[name], (monkeypatch,))
    runs = RUNS if name in RULES else 2
    claimed, none, opposite = (_verdicts(judge, effect, *more, runs=runs) for effect in (4.0, 0.0, -4.0))
    assert claimed[HOLDS] >= 0.9 * runs, claimed
    assert name in NONE_IS_CLAIMED or none[HOLDS] <= 0.12 * runs, none
    assert opposite[FAILS] >= 0.9 * runs, opposite


def _again(row: dict[str, Any], effect: float, rng: Rng) -> Judged:
    """The rule of a part, with its line, settings and number of draws, on made-up numbers."""
    line, count, rule = float(row["line"]), max(1, row["repetitions"]), row["rule"]
    scale = abs(line) or 1.0
    if rule == "R1":
        found = {name: row["sign"] * _drawn(effect, rng, count) for name in row["settings"]}
        return rules.direction(found, sign=row["sign"], overlap=row["overlap"])
    if rule == "R2":
        return rules.all_of(row["sign"] * _drawn(effect, rng, count, 10), sign=row["sign"], overlap=row["overlap"])
    if rule == "R3":
        return rules.equal([0.0 if effect > 0.0 else 10.0 * scale] * count, tolerance=line)
    if rule == "R4":
        return rules.on_par(line + scale * _drawn(effect, rng, count), margin=-line)
    if rule == "R6":
        return rules.bounded(np.exp(-_drawn(effect, rng, count)), delta=row["delta"])
    sign = -1.0 if "at most" in row["found"] else 1.0  # no effect: one and a half deviations beyond the line
    values = {name: line + sign * scale * _drawn(effect - 1.5, rng, count) for name in row["settings"]}
    ends: dict[str, Any] = {"at_least" if sign > 0.0 else "at_most": line}
    return rules.shows(values, draws=row["draws"], **ends)


def _parts() -> list[tuple[str, dict[str, Any]]]:
    """All parts that a rule judges, as they stand in the verdicts."""
    files = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(VERDICTS.glob("*.json")))
    named = [(f"{found['id']} ({name})", part["paper"]) for found in files for name, part in found["parts"].items()]
    return [(name, row) for name, row in named if row["rule"] != "-" and row.get("limit") != "by construction"]


@pytest.mark.sample(25)
@pytest.mark.parametrize(("name", "row"), _parts(), ids=lambda one: one if isinstance(one, str) else "")
def test_every_part_of_a_claim_can_hold_and_can_fail(name: str, row: dict[str, Any]) -> None:
    claim, part = name.rstrip(")").split(" (")
    if part in MADE_OF_PARTS.get(claim, {}):
        assert MADE_OF_PARTS[claim][part] in {*RULES, *PATCHED}
        return
    claimed, none, opposite = (_verdicts(lambda e, rng: _again(row, e, rng), effect) for effect in (6.0, 0.0, -6.0))
    assert claimed[HOLDS] >= 0.9 * RUNS, claimed
    assert none[HOLDS] <= 0.2 * RUNS, none
    assert opposite[FAILS] >= 0.9 * RUNS, opposite


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
