"""The tables of the page: the first rows, the columns, and pairs of columns that go together."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pytest
from rkhs.reports.pairs import strongest_pairs

from rkhs import KernelPCA, make_report
from rkhs.data import Dataset
from rkhs.data.columns import spreads
from rkhs.reports.audit import audit, column_rows
from rkhs.reports.items import Items, read_items

X = np.random.default_rng(0).normal(size=(40, 4))


def texts_of(row: list[str]) -> list[str]:
    """Cells of a row of the table of columns, without tags and pictures."""
    return [unescape(re.sub(r"<svg.*?</svg>|<[^>]*>", "", cell)) for cell in row]


def items_of(X: Any, columns: tuple[str, ...] | None = None, kind: str = "vectors", **more: Any) -> Items:
    data = Dataset(X, kind, None, columns, "f.csv", **more)  # type: ignore[arg-type]
    return read_items(data, "vectors", names=None, columns=None, smiles=None, image_shape=None)


def test_a_row_a_column_says_how_it_was_read() -> None:
    table = np.empty((30, 4), dtype=object)
    table[:, 0], table[:, 1] = np.linspace(0.0, 15040.3, 30), ["red", "blue", "red"] * 10
    table[:, 2], table[:, 3] = np.arange(1.0, 31.0), np.arange(30.0)
    table[4, 0] = None
    items = items_of(table, ("price", "colour", "id", "day"), "table", dates=("day",))
    rows = column_rows(items, "filled", ("y", np.array([1.5, np.nan, *range(28)])))
    assert [row[0] for row in rows] == ["y", "price", "colour", "id", "day"]
    assert texts_of(rows[0])[1:4] == ["numbers", "the target: not read by the map", "1 (3%)"]
    assert texts_of(rows[1])[1:7] == ["numbers", "standardised, gaps filled", "1 (3%)", "0", "7779", "15,040"]
    assert [re.findall('data-key="([^"]*)"', cell) for cell in rows[1][3:7]] == [
        ["0.0333333333"], ["0"], ["7779.46552"], ["15040.3"],
    ]  # fmt: skip
    assert 'd="M0 0h3.2v' in rows[1][3]  # a thirtieth of 96
    assert texts_of(rows[2])[1:5] == ["2 classes", "categories", "none", "red (20), blue (10)"]
    assert "svg" not in rows[2][3]
    assert rows[3][1] == "identifier"
    assert texts_of(rows[4])[4:7] == ["1970-01-01", "1970-01-15", "1970-01-30"]
    assert rows[4][1] == "date"
    assert all(row[-1].startswith("<svg") for row in rows)
    table[:, 1] = None
    assert column_rows(items, "filled", None)[1][1] == "empty"


def test_numbers_of_few_values_are_numbers_and_far_ones_do_not_flatten_the_bars() -> None:
    year, price = np.tile([2027.0, 2025.0, 2026.0], 40), np.r_[np.random.default_rng(6).normal(100.0, 10.0, 119), 9e4]
    rows = column_rows(items_of(np.c_[year, price], ("year", "price")), "scaled", None)
    assert texts_of(rows[0])[1:7] == ["whole numbers", "standardised", "none", "2025", "2026", "2027"]
    heights = [[float(h) for h in re.findall(r"32v-([\d.]+)", row[-1])] for row in rows]
    assert heights[0] == [30.0, 30.0, 30.0]  # a bar a value, in its order
    assert sum(height > 3.0 for height in heights[1]) > 5
    assert re.findall(r'<path class="far" d="M([\d.]+)', rows[1][-1]) == ["88.0"]  # the last bar holds the far value
    assert column_rows(read_items(np.eye(9), "gram", names=None, columns=[*"abcdefghi"], smiles=None,
                                  image_shape=None), "raw", None) == []  # fmt: skip


def test_the_first_rows_stand_as_they_were_read_and_long_cells_are_cut() -> None:
    cells = np.array([[1234.5678, "a <b> " + "long " * 10, 19_000.5], [None, "short", 19_001.0]] * 4, dtype=object)
    names = tuple(f"n{i}" for i in range(8))
    data = Dataset(cells, "table", names, ("size", "note", "day"), "f.csv", dates=("day",))
    page = make_report(KernelPCA(2, columns="filled").fit(cells), data, target=np.arange(8.0), target_name="y").html
    found = page.split("<details>")[1].split("</details>")[0]
    heads, *rows = re.findall("<tr>.*?</tr>", found)
    assert re.findall(">([^<]*)</th>", heads) == ["", "y", "size", "note", "day"]
    assert [re.sub("<[^>]*>", "|", row)[2:-2] for row in rows[:2]] == [
        "n0||0||1234.568|||a &lt;b&gt; long long long long long long lon…|||2022-01-08 12:00",
        "n1||1||||short||2022-01-09",
    ]
    assert f'title="a &lt;b&gt; {"long " * 10}"' in rows[0]
    assert len(rows) == 5
    K = X @ X.T
    assert "<details>" not in make_report(KernelPCA(2, kernel="precomputed").fit(K), K).html
    wide = np.random.default_rng(0).normal(size=(12, 70))
    heads = make_report(KernelPCA(2).fit(wide), wide).html.split("<details>")[1].split("</tr>")[0]
    assert (heads.count("<th "), heads.endswith("…</th>")) == (62, True)


def pairs_of(columns: dict[str, Any], target: Any = None) -> list[tuple[frozenset[str], float, str]]:
    cells = np.column_stack([np.array(column, dtype=object) for column in columns.values()])
    found = strongest_pairs(items_of(cells, tuple(columns), "table"), target)[1]
    rows = [(*texts_of(row), *re.findall('data-key="(.*?)"', row[2])) for row in found]
    return [(frozenset(row[:2]), float(row[4]) * (-1.0 if row[2][0] == "-" else 1.0), row[3]) for row in rows]


def test_pairs_have_the_strength_of_scipy_and_pandas_and_copies_are_named() -> None:
    from scipy.stats import kruskal, spearmanr
    from scipy.stats.contingency import association

    rng = np.random.default_rng(0)
    x, kind = rng.normal(size=300), rng.integers(0, 4, 300)
    y = -x + 0.5 * rng.normal(size=300)
    near = np.where(rng.random(300) < 0.8, kind, rng.integers(0, 4, 300))
    level = 2.0 * kind + rng.normal(size=300)
    gaps = np.where(np.arange(300) % 5 == 0, None, y)
    columns = {"x": x, "y": gaps, "kind": [f"k{k}" for k in kind], "near": [f"n{k}" for k in near], "level": level}
    noise = {"noise": rng.normal(size=300), "row id": np.argsort(np.argsort(x)), "flat": np.ones(300)}
    found = pairs_of({**columns, **noise, "same": 3.0 * x + 1.0}, ("price", 2.0 * level))
    strengths = {names: (strength, measure) for names, strength, measure in found}
    copy = "a copy, or the same in other units or names"
    assert strengths[frozenset(("x", "same"))] == (pytest.approx(1.0), copy)
    assert strengths[frozenset(("level", "price (the target)"))] == (pytest.approx(1.0), copy)
    known = np.arange(300) % 5 != 0
    assert strengths[frozenset("xy")] == (pytest.approx(spearmanr(x[known], y[known])[0]), "Spearman")
    # Bergsma's correction of Cramer's V, and the adjusted share of the ranks' variance between classes.
    counts = np.zeros((4, 4), dtype=int)
    np.add.at(counts, (kind, near), 1)
    phi = 3.0 * association(counts) ** 2 - 9.0 / 299.0
    expected = (phi / (3.0 - 9.0 / 299.0)) ** 0.5
    assert strengths[frozenset(("kind", "near"))] == (pytest.approx(expected), "Cramér's V")
    between = kruskal(*(level[kind == k] for k in range(4)))[0] / 299.0
    expected = (1.0 - (1.0 - between) * 299.0 / 296.0) ** 0.5
    assert strengths[frozenset(("kind", "level"))] == (pytest.approx(expected), "correlation ratio")
    assert not {"noise", "row id", "flat"} & {name for names, _, _ in found for name in names}
    assert [abs(strength) for _, strength, _ in found] == sorted((abs(one[1]) for one in found), reverse=True)


def test_only_the_same_numbers_in_most_rows_are_copies() -> None:
    x = np.random.default_rng(5).normal(size=300)
    few = np.where(np.arange(300) < 100, x, None)
    measures = {names: measure for names, _, measure in pairs_of({"x": x, "few": few, "curved": np.exp(3.0 * x)})}
    assert measures[frozenset(("x", "curved"))] == measures[frozenset(("x", "few"))] == "Spearman"


def test_few_rows_have_no_pairs_by_chance_and_curves_none() -> None:
    few = np.random.default_rng(1).normal(size=(12, 20))
    assert np.abs(np.corrcoef(few.T) - np.eye(20)).max() > 0.7
    assert pairs_of({f"c{j}": few[:, j] for j in range(20)}) == []
    assert "No pair is above 0.5" in make_report(KernelPCA(2).fit(X), X).html
    waves = np.random.default_rng(4).normal(size=(90, 3)) @ np.sin(np.outer([1.0, 2.0, 3.0], np.linspace(0, 3, 120)))
    assert strongest_pairs(items_of(waves), None) == ("", [])
    assert "Columns that go together" not in make_report(KernelPCA(1).fit(X[:, :1]), X[:, :1]).html


def test_columns_that_are_one_curve_have_no_sentence_on_scales() -> None:
    t = np.linspace(0.0, 1.0, 40)
    rows = np.random.default_rng(0).normal(size=(60, 3)) @ np.sin(np.pi * np.outer([1.0, 2.0, 3.0], t)) * (0.02 + t)
    assert spreads(rows).ratio > 10.0  # type: ignore[union-attr]
    assert "different scales" not in " ".join(audit(items_of(rows)))
