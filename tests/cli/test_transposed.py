"""Tables whose columns are the items: names of their rows, gaps, and files that are read as that of the fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import main

ITEMS = [f"S{i:02d}" for i in range(16)]
NUMBERS = np.random.default_rng(5).normal(size=(60, 16)) + np.where(np.arange(16) % 2, 2.0, 0.0)
FIT = ["--transpose", "--labels", "people.csv", "--predict", "group"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command in a folder with labels of the items: what it prints, and its errors, where it ends as expected."""
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("name,group\n" + "".join(f"{name},{'ab'[i % 2]}\n" for i, name in enumerate(ITEMS)))

    def of_words(*words: str, status: int = 0) -> str:
        assert main([*words]) == status, capsys.readouterr().err
        said = capsys.readouterr()
        return said.out + said.err

    return of_words


def write(path: str, names: list[str], rows: np.ndarray, title: str = "gene", more: str = "") -> None:
    """A table with a column of names, and one of texts where it has a title."""
    cells = [",".join("" if np.isnan(x) else f"{x:.4f}" for x in row) for row in rows]
    lines = [f"{name},{more and 'text ' + name + ','}{row}" for name, row in zip(names, cells, strict=True)]
    Path(path).write_text("\n".join([",".join([title, *filter(None, [more]), *ITEMS]), *lines]) + "\n")


def predicted(path: str) -> dict[str, str]:
    """Classes of items by their names."""
    rows = [line.split(",") for line in Path(path).read_text().splitlines()[1:]]
    return {row[0]: row[1] for row in rows}


def test_rows_are_found_by_their_names_in_any_order(run: Callable[..., str]) -> None:
    names = [f"g{i}" for i in range(60)]
    order = np.random.default_rng(1).permutation(60)
    write("a.csv", names, NUMBERS)
    write("b.csv", [names[i] for i in order], NUMBERS[order])
    assert "16 items" in run("fit", "a.csv", *FIT, "-o", "m.rkhs")
    for name in "ab":
        run("predict", "m.rkhs", f"{name}.csv", "-o", f"{name}_out.csv")
    assert predicted("a_out.csv") == predicted("b_out.csv")
    assert [*predicted("a_out.csv")] == ITEMS
    write("c.csv", names[1:], NUMBERS[1:])
    assert "c.csv lacks 'g0', of the columns of the training file" in run("predict", "m.rkhs", "c.csv", status=2)


def test_a_column_of_texts_beside_the_names_is_refused_until_it_is_left_out(run: Callable[..., str]) -> None:
    write("a.csv", [f"g{i}" for i in range(60)], NUMBERS, more="text")
    said = run("fit", "a.csv", *FIT, "-o", "m.rkhs", status=2)
    assert "got columns of texts, 'text'; name the rows of the file with --index-column" in said
    run("fit", "a.csv", *FIT, "--drop-columns", "text", "-o", "m.rkhs")
