"""Commands that errors and warnings about a file print: copied literally, they do what the message says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rkhs.cli.main import main


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command in a folder for this test alone; its status, and what it prints on standard error and output."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        status = main([*words])
        out = capsys.readouterr()
        return status, out.err, out.out

    return run


def printed(text: str) -> list[str]:
    """Words of the last command that a message prints."""
    return shlex.split(text.rpartition("\n\n  rkhs ")[2].partition("\n")[0])


def table(name: str, rows: list[str], encoding: str = "utf-8") -> None:
    Path(name).write_bytes("".join(f"{row}\n" for row in rows).encode(encoding))


@pytest.mark.parametrize(("encoding", "other"), [("cp1252", "cp1252"), ("utf-16-le", "utf-16-le")])
def test_another_encoding(run, encoding: str, other: str) -> None:
    table("a.csv", ["Stadt;x", *(f"Köln{i};{i * i % 7}" for i in range(12))], encoding)
    status, said, _ = run("novelty", "a.csv", "-o", "b.csv")
    assert status == 2
    assert printed(said) == ["novelty", "a.csv", "-o", "b.csv", "--encoding", other]
    assert run(*printed(said))[0] == 0
    assert "Köln3" in Path("b.csv").read_text(encoding="utf-8")


def test_bytes_that_windows_does_not_write(run) -> None:
    Path("a.txt").write_bytes(b"".join(b"caf\xe9 \x81 %d\n" % i for i in range(12)))
    status, said, _ = run("novelty", "a.txt", "--encoding", "cp1252")
    assert status == 2
    assert printed(said) == ["novelty", "a.txt", "--encoding", "latin-1"]
    assert run(*printed(said))[0] == 0


def customers(n: int = 24) -> list[str]:
    """A table whose first column names its rows, one of them twice."""
    return ["Nr.;kind;x", *(f"K{max(i, 1)};{'abc'[i % 3]};{i * i % 11}" for i in range(n))]


@pytest.mark.parametrize("mixed", [[], ["--mixed"]])
def test_names_that_repeat_name_the_rows(run, mixed: list[str]) -> None:
    table("a.csv", customers())
    status, said, out = run("novelty", "a.csv", *mixed, "-o", "b.csv")
    assert status == (0 if mixed else 2)
    assert "'K1'" in said
    assert "takes names that repeat" in said
    assert "--drop-columns Nr." not in said + out
    assert {*printed(said)} == {"novelty", "a.csv", "--mixed", "-o", "b.csv", "--index-column", "Nr."}
    assert run(*printed(said))[0] == 0
    assert "K17" in Path("b.csv").read_text(encoding="utf-8")


def test_molecules_whose_names_repeat_are_named(run) -> None:
    table("a.csv", ["Compound ID;SMILES", *(f"VX-{max(i, 1)};{'C' * (i + 1)}O" for i in range(12))])
    status, said, _ = run("nearest", "a.csv", "--smiles", "SMILES", "-o", "b.csv")
    assert status == 0
    assert said.count("'VX-1' stands there more than once") == 1
    assert run(*printed(said))[:2] == (0, "")
    assert "VX-7" in Path("b.csv").read_text(encoding="utf-8")


def answers(words: str = "k.A.") -> list[str]:
    """A table with words for gaps among categories, and among numbers."""
    rows = [f"{i * i % 13};{'abc'[i % 3]};{'de'[i % 2]};{i % 5}" for i in range(40)]
    cells = [row.split(";") for row in rows]
    for i in range(6):
        cells[5 * i][1 + i % 2] = words.split(",")[i % len(words.split(","))]
    return ["x;kind;part;y", *(";".join(row) for row in cells)]


def test_words_for_gaps_among_categories_are_named(run) -> None:
    table("a.csv", answers("k.A.,K.A.,unbekannt"))
    status, said, _ = run("nearest", "a.csv", "--missing", "zz", "-o", "b.csv")
    assert status == 0
    assert "'K.A.' in 2 columns" in said
    assert printed(said)[-2:] == ["--missing", "zz,K.A.,k.A.,unbekannt"]
    assert run(*printed(said))[:2] == (0, "")
    table("a.csv", answers())
    status, said, _ = run("novelty", "a.csv")
    assert (status, said.count("k.A.")) == (0, 3)  # the word, the flag and the command
    assert run(*printed(said))[:2] == (0, "")


def test_a_word_for_gaps_among_numbers_too(run) -> None:
    table(
        "a.csv",
        [
            "x;kind;y",
            *(f"{i if i % 9 else '-n/d-'[1:4]};{'n/d' if i % 7 == 5 else 'abc'[i % 3]};{i % 4}" for i in range(36)),
        ],
    )
    said = run("novelty", "a.csv", "--mixed")[1]
    assert "'n/d' in 2 columns" in said
    assert run(*printed(said))[:2] == (0, "")


def test_a_word_in_one_column_is_a_category(run) -> None:
    table("a.csv", ["x;kind", *(f"{i % 5};{'a' if i % 3 else 'unbekannt'}" for i in range(36))])
    assert run("novelty", "a.csv")[:2] == (0, "")


@pytest.mark.parametrize("units", [("l/100 km", "kWh/100 km"), ("kW (90 PS)", "kW (88 PS)")])
def test_numbers_with_several_units_are_named(run, units: tuple[str, str]) -> None:
    rows = [f"{i % 5};{'abc'[i % 3]};{i % 26},5 {units[i % 26 % 4 == 0]}" for i in range(104)]
    table("a.csv", ["x;kind;use", *rows, "1;a;-"])
    status, said, _ = run("nearest", "a.csv", "--drop-columns", "x")
    assert status == 0
    counts = "'l/100 km' in 76, 'kWh/100 km' in 28" if "l/" in units[0] else "'kW (… PS)' in 104"
    assert f"column 'use': 104 of 105 cells are numbers with units, {counts}, and are read as 27 categories" in said
    assert printed(said) == ["nearest", "a.csv", "--drop-columns", "x,use"]
    again = run(*printed(said))
    assert again[0] == 0
    assert "warning" not in again[1]
