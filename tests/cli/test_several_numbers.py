"""Dates behind a word, relations by their signs, and counts: read, noted, or named."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from rkhs.data import read_mixed

Run = Callable[..., tuple[int, str, str]]


def test_dates_behind_one_word_are_dates(run: Run) -> None:
    months = ["januari", "mars", "maj", "augusti", "oktober", "desember"]
    rows = [f"{i % 9},{'ab'[i % 2]},Såld {1 + i % 28} {months[i % 6]} 202{i % 5}" for i in range(60)]
    Path("a.csv").write_text("\n".join(["y,kind,sold", *rows]) + "\n", encoding="utf-8")
    data = read_mixed("a.csv")
    assert data.dates == ("sold",)
    assert float(data.X[1, 2]) == (np.datetime64("2021-03-02") - np.datetime64("1970-01-01")).astype(int)
    Path("b.csv").write_text("\n".join(["y,kind,lot", *(f"{i % 9},a,Lot {1 + i % 9}/2020" for i in range(60))]) + "\n")
    assert read_mixed("b.csv").dates == ()


def test_a_column_of_relations_is_known_by_its_signs(run: Run) -> None:
    """Whatever its name; a column with another word is none."""
    rows = [f"{i * i % 17},{i * 7 % 11},{'>' if i in (3, 5) else '='},{'>' if i == 3 else 'low'}" for i in range(40)]
    Path("a.csv").write_text("\n".join(["y,x,Measurement Inequality,level", *rows]) + "\n")
    status, err, _ = run("fit", "a.csv", "--predict", "y", "--columns", "x", "-o", "m.rkhs")
    assert status == 0
    assert "'Measurement Inequality' says > or < in 2 of 40 rows: bounds, read as values" in err
    assert "'level' says" not in err


@pytest.mark.parametrize("transposed", [True, False])
def test_counts_are_noted_before_the_fit_and_items_without_any_are_named(run: Run, transposed: bool) -> None:
    """With one command, which is run; the sum of a failed item may be as large as that of others, by a control."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.lognormal(4.0, 1.5, 60) * rng.lognormal(0.0, 0.3, (24, 1)))
    counts[5] = rng.poisson(2.0, 60)
    counts[:, 0] = 80_000
    table = pandas.DataFrame(counts, [f"s{i}" for i in range(24)], [f"GENE{'ABCDEF'[i % 6]}{i}x" for i in range(60)])
    (table.T if transposed else table).to_csv("a.csv", index_label="gene")
    flags = ["--transpose"] * transposed
    status, err, out = run("novelty", "a.csv", *flags, "-o", "n.csv")
    assert status == 0
    assert "nearly no counts in s5, where" in err
    assert err.count("counts per million") == 1
    assert "The numbers are counts" not in out
    line = re.search(r'python -c "(.*)"', err)
    assert line is not None
    exec(line[1], {})
    logs = pandas.read_csv("a_log.csv", index_col=0)
    expected = np.log2(1.0 + 1e6 * counts / counts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(logs.T if transposed else logs, expected)
    status, err, _ = run("novelty", "a_log.csv", *flags, "-o", "n.csv")
    assert (status, "counts" in err) == (0, False)
