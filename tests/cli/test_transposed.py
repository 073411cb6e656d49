"""Tables whose columns are the items: names of their rows, gaps, and files that are read as that of the fit."""

from __future__ import annotations

import shlex
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


def test_rows_are_found_by_names_that_repeat(run) -> None:
    """The command that is printed leaves the column with names in; rows that share a name count by their mean."""
    names = [f"g{i}" for i in range(58)] + ["g3", "g7"]
    write("a.csv", names, NUMBERS, more="text")
    order = np.random.default_rng(1).permutation(60)
    write("b.csv", [names[i] for i in order], NUMBERS[order], more="text")
    said = run("fit", "a.csv", *FIT, "-o", "m.rkhs", status=2)
    command = shlex.split(said.rstrip().splitlines()[-1])[1:]
    assert command[-2:] == ["--drop-columns", "text"]
    said = run(*command)
    assert "2 rows of the file repeat the name of another, as 'g3', of 2 rows: the means" in said
    assert "column 'gene' names the rows of the file" in said
    assert "in the order of those of the fit" not in run("predict", "m.rkhs", "b.csv", "-o", "b_out.csv")
    run("predict", "m.rkhs", "a.csv", "-o", "a_out.csv")
    assert predicted("a_out.csv") == predicted("b_out.csv")
    run(*command, "--index-column", "text", "--drop-columns", "gene")
    run("predict", "m.rkhs", "b.csv", "-o", "b_out.csv")
    run("predict", "m.rkhs", "a.csv", "-o", "a_out.csv")
    assert predicted("a_out.csv") == predicted("b_out.csv")


def test_rows_without_names_are_read_in_order_with_a_warning(run) -> None:
    write("a.csv", [f"g{i}" for i in range(60)], NUMBERS)
    run("fit", "a.csv", *FIT, "--drop-columns", "gene", "-o", "m.rkhs")
    said = run("predict", "m.rkhs", "a.csv")
    assert "a.csv: its rows are read in the order of those of the fit, since no column names" in said


def test_a_column_of_an_axis_names_the_rows(run) -> None:
    """A model reads other files by the same column, even where it is not evident there."""
    grid = [f"{1100 + 2 * i + (i > 30)}" for i in range(60)]
    write("a.csv", grid, NUMBERS, title="nm")
    said = run("fit", "a.csv", *FIT, "-o", "m.rkhs")
    assert "16 items" in said
    assert "column 'nm' names the rows of the file, as its numbers are those of an axis" in said
    rows = Path("a.csv").read_text().splitlines()
    Path("b.csv").write_text("\n".join([rows[0], *rows[:0:-1]]).replace("nm,S00", "nm,nm2"))
    run("predict", "m.rkhs", "b.csv", "-o", "b_out.csv")
    run("predict", "m.rkhs", "a.csv", "-o", "a_out.csv")
    assert [*predicted("b_out.csv").values()] == [*predicted("a_out.csv").values()]
    write("c.csv", [f"{100 * i}" for i in range(60)], NUMBERS, title="S99")
    Path("c.csv").write_text(Path("c.csv").read_text().replace("\n200,", "\n250,").replace("\n300,", "\n240,"))
    assert "17 rows" in run("fit", "c.csv", "--transpose", "-o", "c.rkhs")


def test_gaps_of_many_rows_are_filled(run) -> None:
    """Rows that a new file lacks are gaps of it too; numbers over decades get a word about logarithms."""
    rows = np.exp2(2.0 * NUMBERS + 12.0)
    rows[np.arange(0, 60, 3), np.arange(0, 60, 3) % 16] = np.nan
    names = [f"g{i}" for i in range(60)]
    write("a.csv", names, rows)
    said = run("fit", "a.csv", *FIT, "-o", "m.rkhs")
    assert "20 of 60 rows of the file have cells without a number and are filled from the nearest items" in said
    assert "whose logarithms are usually read; this writes them to a_log.csv" in said
    rows[5] = np.nan
    write("b.csv", names[1:], rows[1:])
    said = run("predict", "m.rkhs", "b.csv")
    assert "b.csv lacks g0, g5, of 60 rows of the file of the fit: they are filled" in said
    write("c.csv", names[30:], rows[30:])
    assert "c.csv lacks 'g0', 'g1'" in run("predict", "m.rkhs", "c.csv", status=2)


def test_columns_that_describe_features_are_left_out_by_the_command_that_is_printed(run) -> None:
    """Titles of samples above the names, averages with repeated names behind them, and m/z are no items."""
    names = [f"{kind}_{i:02d}_pos" for i, kind in enumerate(["Ctrl", "QC"] * 8)]
    levels = np.random.default_rng(2).normal(size=(60, 1))
    sizes = np.exp(8.0 + 2.0 * levels + NUMBERS / 5.0)
    described = np.column_stack([np.linspace(90.0, 900.0, 60)[::-1], sizes.max(axis=1)])
    head = ["\t\t\tClass\t" + "\t".join(["Ctrl", "QC"] * 8) + "\tNA" * 4]
    head += ["\t".join(["Alignment ID", "Average Mz", "Highest Mean", "Metabolite", *names, *["Ctrl", "QC"] * 2])]
    rows = np.column_stack([sizes, sizes[:, :4]]).round(2).tolist()
    lines = [
        "\t".join([str(i), *map(str, described[i].round(3)), "Unknown", *map(str, row)]) for i, row in enumerate(rows)
    ]
    Path("area.txt").write_text("\n".join([*head, *lines]) + "\n")
    said = run("novelty", "area.txt", "--transpose", status=2)
    command = shlex.split(said.rstrip().splitlines()[-1])[1:]
    assert command[-2:] == ["--drop-columns", "Metabolite,Ctrl,QC,Ctrl.1,QC.1,Average Mz,Highest Mean"]
    said = run(*command)
    assert "16 rows of area.txt" in said
    assert "drop_columns=['Metabolite', 'Ctrl'" in said
    said = run(*command[:-1], "20,21,22,23,Metabolite")
    assert "may describe the rows of the file, and are read as items: 'Average Mz', 'Highest Mean'" in said
    group = "".join(f"{name}.abf,{name[:2]}\n" for name in names[::-1])
    Path("people.csv").write_text("name,group\n" + group)
    run("fit", *command[1:], "--labels", "people.csv", "--predict", "group", "-o", "m.rkhs")
    run("predict", "m.rkhs", "area.txt", "-o", "out.csv")
    assert [*predicted("out.csv")] == names
