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
