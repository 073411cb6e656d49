"""The table of columns."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np

from rkhs.data import Dataset
from rkhs.reports.audit import column_rows
from rkhs.reports.items import Items, read_items

X = np.random.default_rng(0).normal(size=(40, 4))


def texts_of(row: list[str]) -> list[str]:
    """Cells of a row of the table of columns, without tags and pictures."""
    return [unescape(re.sub(r"<svg.*?</svg>|<[^>]*>", "", cell)) for cell in row]


def items_of(X: Any, columns: tuple[str, ...] | None = None, kind: str = "vectors", **more: Any) -> Items:
    data = Dataset(X, kind, None, columns, "f.csv", **more)  # type: ignore[arg-type]
    return read_items(data, "vectors")


def test_a_row_a_column() -> None:
    table = np.empty((30, 4), dtype=object)
    table[:, 0], table[:, 1] = np.linspace(0.0, 15040.3, 30), ["red", "blue", "red"] * 10
    table[:, 2], table[:, 3] = np.arange(1.0, 31.0), np.arange(30.0)
    table[4, 0] = None
    items = items_of(table, ("price", "colour", "id", "day"), "table", dates=("day",))
    rows = column_rows(items, ("y", np.array([1.5, np.nan, *range(28)])))
    assert [row[0] for row in rows] == ["y (target)", "price", "colour", "id", "day"]
    assert texts_of(rows[0])[1:3] == ["numbers", "1"]
    assert texts_of(rows[1])[1:6] == ["numbers", "1", "0", "7779", "15,040"]
    assert [re.findall('data-key="([^"]*)"', cell) for cell in rows[1][2:6]] == [
        ["1"], ["0"], ["7779.46552"], ["15040.3"],
    ]  # fmt: skip
    assert texts_of(rows[2])[1:4] == ["2 classes", "none", "red (20), blue (10)"]
    assert rows[3][1] == "whole numbers"
    assert texts_of(rows[4])[3:6] == ["1970-01-01", "1970-01-15 12:00", "1970-01-30"]
    assert rows[4][1] == "dates"
    assert all(row[-1].startswith("<svg") for row in rows)
    table[:, 1] = None
    assert column_rows(items, None)[1][1] == "empty"


def test_numbers_of_few_values_are_numbers_and_far_ones_do_not_flatten_the_bars() -> None:
    year, price = np.tile([2027.0, 2025.0, 2026.0], 40), np.r_[np.random.default_rng(6).normal(100.0, 10.0, 119), 9e4]
    rows = column_rows(items_of(np.c_[year, price], ("year", "price")), None)
    assert texts_of(rows[0])[1:6] == ["whole numbers", "none", "2025", "2026", "2027"]
    heights = [[float(h) for h in re.findall(r"32v-([\d.]+)", row[-1])] for row in rows]
    assert heights[0] == [30.0, 30.0, 30.0]  # a bar a value, in its order
    assert sum(height > 3.0 for height in heights[1]) > 5
    assert column_rows(read_items(np.eye(9), "gram"), None) == []
