"""Rows of totals above a footer, cells beyond a range, values far from all others, and rows of a robust fit."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cli.commands import printed, table

FAST = ["--estimator", "kernel-pca", "-o", "a.rkhs"]  # only sentences count


def sales(*footer: str, first: str = "id") -> list[str]:
    rows = [f"K{i},{3 + (i * i) % 17},{(5 * i) % 13}.5" for i in range(30)]
    sums = np.array([[float(cell) for cell in row.split(",")[1:]] for row in rows]).sum(0)
    return [f"{first},x,y", *rows, f"Summe,{sums[0]:g},{sums[1]:g}", *footer]


@pytest.mark.parametrize("footer", [(), ("Anzahl,30,",), ("Anzahl,30,", "Stand,2024,")])
def test_totals_above_a_footer_are_left_out_as_printed(run, footer: tuple[str, ...]) -> None:
    table("a.csv", sales(*footer))
    words = ["fit", "a.csv", "--mixed", *FAST]
    status, said, _ = run(*words)
    assert status == 0
    assert "the row 'Summe' holds the sums of those above it" in said
    names = ",".join(["Summe", *(row.partition(",")[0] for row in footer)])
    assert printed(said) == [*words, "--leave-out", names]
    status, said, out = run(*printed(said))
    assert (status, "Summe" in said, "30 rows" in out) == (0, False, True)


def test_cells_beyond_a_range_are_no_gaps_at_random(run) -> None:
    cells = np.array([[f"{(7 * i + 3 * j * i) % 23}.25" for j in range(4)] for i in range(30)], dtype=object)
    for place, word in (((3, 0), "OVRNG"), ((5, 1), "OVRNG"), ((8, 2), "OVRNG")):
        cells[place] = word
    table("a.csv", ["a,b,c,d", *map(",".join, cells)])
    status, said, _ = run("fit", "a.csv", "--mixed", *FAST)
    assert (status, said.count("read as gaps"), said.count("'OVRNG' stands for a value beyond a limit")) == (0, 1, 1)
    cells[3, 0], cells[5, 1], cells[8, 2] = ">10000", "1.5", "broken"
    table("a.csv", ["a,b,c,d", *map(",".join, cells)])
    status, said, _ = run("fit", "a.csv", "--mixed", *FAST)
    assert (status, said.count("read as gaps"), said.count("'>10000' stands for a value beyond a limit")) == (0, 2, 1)


@pytest.mark.parametrize("name", ["id", "x"])
def test_a_value_far_from_all_others_names_its_row(run, name: str) -> None:
    rows = [f"K{i},{(i * i) % 17}.5,{(5 * i) % 13}.5"[0 if name == "id" else 3 + (i > 9) :] for i in range(30)]
    rows[6] = f"{'K6,' * (name == 'id')}8456,1.5"
    table("a.csv", ["id,u,v" if name == "id" else "u,v", *rows])
    _, _, out = run("fit", "a.csv", *FAST)
    assert f"far from all others, 8,456 in {'K6' if name == 'id' else 'row 7'}: is" in out


def test_a_robust_fit_that_leaves_nothing_out_lists_the_rows_too(run) -> None:
    x = np.linspace(-2.0, 2.0, 60)
    y = np.sin(2.0 * x) + 0.3 * np.cos(37.0 * np.arange(60))
    y[17] += 2.2
    table("a.csv", ["x,y", *(f"{a:.4f},{b:.4f}" for a, b in zip(x, y, strict=True))])
    listed = [
        line for line in run("fit", "a.csv", "--predict", "y", "-o", "a.rkhs")[2].splitlines() if "suspicious" in line
    ]
    status, _, out = run("fit", "a.csv", "--predict", "y", "-o", "a.rkhs", "--robust", "--trim", "40")
    assert status == 0
    assert "row 18" in listed[0]
    assert listed[0].partition(", held-out")[2].partition("; if they")[0] in out
