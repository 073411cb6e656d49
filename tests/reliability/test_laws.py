"""Levels and coverages under laws: what is measured, and that the rule says no."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rkhs import KernelNovelty
from rkhs.models.conformal import Calibration
from studies.reliability import laws

BY_NAME = {law.name: law for law in laws.LAWS}


def test_there_are_twelve_laws_with_a_seed_each() -> None:
    assert len(BY_NAME) == len({law.seed for law in laws.LAWS}) == 12


@pytest.mark.parametrize("name", ["low rank, tiny reg", "one-hot columns", "weights"])
def test_levels_and_coverages_are_as_guaranteed(name: str) -> None:
    found = laws.measured(BY_NAME[name], 4)
    expected = {"predict", "p, novelty", "held out"} if name == "weights" else {*laws.LEVELS, *laws.SETS}
    assert set(found) == expected
    assert all(one.is_good for one in found.values())
    text = laws.table({BY_NAME[name]: found})
    assert len({line.count("|") for line in text.splitlines()}) == 1
    assert f"| {name} | {BY_NAME[name].seed} |" in text


def _ungrouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calibration, "in_groups", lambda self, labels: self)


def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Calibration, "min_rows", lambda self, coverage: 12)


def _all_novel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelNovelty, "_novel", lambda self, p: np.arange(len(p)) % 3 == 0)


@pytest.mark.parametrize(
    ("broken", "name", "wrong"),
    [
        (_ungrouped, "groups", {"p, regressor"}),
        (_narrow, "far from the origin", {"interval", "box", "ball", "ellipsoid", "candidates"}),
        (_all_novel, "saturated kernel", {"predict"}),
    ],
)
def test_a_fault_is_seen(
    broken: Callable[[pytest.MonkeyPatch], None], name: str, wrong: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    found = laws.measured(BY_NAME[name], 8)
    assert wrong <= {name for name, one in found.items() if not one.is_good}


def test_the_rule_allows_chance_and_no_more() -> None:
    assert laws.keeps("predict", 0.12, 0.01, "at least")
    assert not laws.keeps("predict", 0.12, 0.006, "at least")
    assert laws.keeps("interval", 0.88, 0.01, "at least")
    assert not laws.keeps("interval", 0.88, 0.006, "at least")
    assert laws.keeps("box", 0.86, 0.0, "about")
    assert not laws.keeps("box", 0.84, 0.0, "about")
    assert not laws.keeps("interval", 1.0, 0.0, "at least", informative=0.0)


def test_the_table_takes_the_place_of_the_last_one() -> None:
    page = f"before\n{laws.START}\n\nold\n\n{laws.END}\nafter\n"
    assert laws.written(page, "| new |") == f"before\n{laws.START}\n\n| new |\n\n{laws.END}\nafter\n"
    text = laws.PAGE.read_text()
    assert 0 < text.index(laws.START) < text.index(laws.END)
