"""Points of numbers that may separate thousands are refused with the command that reads them."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.cli.main import main
from rkhs.data import read_table
from rkhs.data.known_columns import read_column


def prices(price: str, other: str = "{:.0f}") -> str:
    rows = (f"{other.format(i)};" + price.format(f"{7 + i % 3}.{100 + i}") for i in range(30))
    return "x;price\n" + "\n".join(rows) + "\n"


@pytest.mark.filterwarnings("ignore::UserWarning")  # of the unit
@pytest.mark.parametrize("price", ["{}", "{} €"])
def test_points_that_may_separate_thousands_are_refused(price: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(prices(price), encoding="utf-8")
    assert main(["fit", "a.csv", "--predict", "price", "-o", "a.rkhs"]) == 2
    said = capsys.readouterr().err
    assert "column 'price': numbers such as '7.100" in said
    assert "pass --thousands . if points separate thousands, or --decimal . if" in said
    assert main(shlex.split(said.rstrip().rpartition("\n  rkhs ")[2])) == 0
    assert read_column("a.csv", "price", argument="target", thousands=".")[0] == 7100.0
    assert read_column("a.csv", "price", argument="target", decimal=".")[0] == 7.1
    assert main(["nearest", "a.csv", "--drop-columns", "price", "-o", "b.csv"]) == 0


def test_decimal_commas_next_to_points_say_that_these_separate_thousands(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(prices("{}").replace("\n3;", "\n0,25;"))
    for options in ({}, {"decimal": ","}):
        with pytest.raises(InputError, match=r"price': numbers such as '7.100' are ambiguous; pass thousands='.'"):
            read_table(tmp_path / "a.csv", **options)
    np.testing.assert_array_equal(read_table(tmp_path / "a.csv", thousands=".").X[3], [0.25, 7103.0])


@pytest.mark.parametrize("other", ["{:.1f}", "0.12{:.0f}"])
def test_a_decimal_point_elsewhere_says_that_all_are(other: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(prices("{}", other))
    assert read_table(tmp_path / "a.csv").X[0, 1] == 7.1


def test_a_word_for_gaps_with_a_point_is_no_decimal_point(tmp_path: Path, monkeypatch, capsys) -> None:
    """n.a. hid the decimal commas, and measurements with bounds were taken for rare classes."""
    monkeypatch.chdir(tmp_path)
    cells = ["n.a.", *(">100" if i % 6 == 5 else f"{i},{10 + i}" for i in range(29))]
    Path("a.csv").write_text("x;ic\n" + "\n".join(f"{i};{cell}" for i, cell in enumerate(cells)))
    assert main(["fit", "a.csv", "--predict", "ic", "-o", "a.rkhs"]) == 2
    said = capsys.readouterr().err
    assert "got text in column 'ic' (4 cells, first '>100' in row 7" in said
    assert said.endswith("--missing '>100'\n")


def test_words_for_gaps_with_a_comma_are_named_in_quotation_marks(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    bounds = {5: ">100", 9: "<0,05"}
    Path("a.csv").write_text("x;ic\n" + "\n".join(f"{i};{bounds.get(i, f'{i},{10 + i}')}" for i in range(30)))
    fit = ["fit", "a.csv", "--predict", "ic", "-o", "a.rkhs"]
    assert main(fit) == 2
    said = capsys.readouterr().err
    assert """--missing '>100,"<0,05"'""" in said
    words = shlex.split(said.rstrip().rpartition("\n  rkhs ")[2])
    assert words == [*fit, "--missing", '>100,"<0,05"']
    assert main(words) == 0
    assert main([*fit, "--missing", ">100", "--missing", '"<0,05"']) == 0
    assert "2 rows" in capsys.readouterr().out
