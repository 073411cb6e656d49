"""A column of identifiers, a few of which are entered twice, is named with the command that names the rows by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs.data.columns import column_remarks
from tests.cli.commands import printed, table

NUMBERS = [100_000 + (i * 7919) % 9973 for i in range(38)]
NUMBERS += NUMBERS[:2]


def customers(title: str) -> list[str]:
    return [f"{title},x,kind", *(f"{number},{(i * i) % 23}.5,{'ab'[i % 2]}" for i, number in enumerate(NUMBERS))]


@pytest.mark.parametrize(
    "title",
    [
        "Kundennr",
        "order no",
        "customer_id",
        *(pytest.param(one, marks=pytest.mark.slow) for one in ("Bestell-Nr.", "Record ID", "Report-Nr.")),
        "Artikelnummer",
    ],
)
def test_nearest_and_map_and_fit_say_what_names_the_rows(run, title: str) -> None:
    table("a.csv", customers(title))
    commands = [("nearest", "a.csv", "-o", "b.csv")]
    if title == "Kundennr":
        commands += [("map", "a.csv", "-o", "b.png"), ("fit", "a.csv", "-o", "b.rkhs"), ("novelty", "a.csv")]
    if title == "Report-Nr.":
        commands += [("report", "a.csv", "-o", "b.html")]
    for words in commands:
        status, said, _ = run(*words)
        assert status == 0, said
        assert f"column '{title}' looks like identifiers" in said
        assert printed(said) == [*words, "--index-column", title]
        status, said, _ = run(*printed(said))
        assert (status, "identifiers" in said) == (0, False)
    assert Path("b.csv").read_text().startswith(f"{title},rank")


@pytest.mark.parametrize(("scale", "named"), [(7, True), (10, False)])
def test_long_codes_that_all_differ_are_identifiers(scale: int, named: bool) -> None:
    X = np.array([[float((i * i) % 23), 2e10 + scale * float(i * 7919 % 99991)] for i in range(40)])
    said = " ".join(remark.text for remark in column_remarks(X, ["a", "Record"]))
    assert ("Record looks like identifiers" in said) == named


@pytest.mark.parametrize("title", ["price", "mono", "snow"])
def test_other_numbers_that_hardly_repeat_are_data(run, title: str) -> None:
    table("a.csv", customers(title))
    assert "identifiers" not in run("nearest", "a.csv", "-o", "b.csv")[1]
