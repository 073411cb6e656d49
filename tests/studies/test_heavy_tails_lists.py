"""The page on heavy tails names the sets on which the rule was chosen, and those on which it is scored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from studies.bench.heavy_tails import DEVELOPMENT, SCORED

PAGE = Path(__file__).parents[2] / "docs/user/selection.md"


@pytest.mark.parametrize(("part", "sets"), [("Development", DEVELOPMENT), ("Scored", SCORED)])
def test_the_page_names_the_made_sets_of_the_bench(part: str, sets: dict[str, object]) -> None:
    found = re.search(rf"- {part}, made with heavy tails: (.*?)\.", PAGE.read_text(), re.DOTALL)
    assert found is not None
    assert found[1].split(", ") == list(sets)


def test_no_set_is_both_chosen_on_and_scored() -> None:
    assert not DEVELOPMENT.keys() & SCORED.keys()
