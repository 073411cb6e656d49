"""Second files: tables of labels and new rows, read as the first file was, and errors that say what is wrong there."""

from __future__ import annotations

import pytest

from tests.cli.commands import printed, table

SMILES = ["C" * (1 + i % 9) + "O" * (i % 2) for i in range(20)]


def write_alcohols(name: str, *, comment: str, delimiter: str) -> None:
    rows = [delimiter.join([f"Säure{i}", SMILES[i], str(len(SMILES[i]))]) for i in range(20)]
    title = delimiter.join(["Nr.", "Größe SMILES", "y"])
    table(name, [f"{comment} {comment}", title, *rows[:9], f"{comment} später", *rows[9:]], "cp1252")


@pytest.mark.parametrize(("comment", "delimiter"), [("!", ";"), ("#", "\t")])
def test_new_molecules_are_read_as_those_of_the_fit(run, comment: str, delimiter: str) -> None:
    write_alcohols("a.csv", comment=comment, delimiter=delimiter)
    flags = ["--encoding", "cp1252", "--comment", comment, "--delimiter", delimiter.replace("\t", r"\t")]
    status, said, _ = run("fit", "a.csv", "--smiles", "Größe SMILES", *flags, "--predict", "y", "-o", "a.rkhs")
    assert status == 0, said
    status, said, _ = run("predict", "a.rkhs", "a.csv", "-o", "b.csv")
    assert status == 0, said
    write_alcohols("new.csv", comment="%", delimiter=delimiter)
    status, said, _ = run("predict", "a.rkhs", "new.csv", "--comment", "%", "-o", "b.csv")
    assert status == 0, said


def test_labels_are_read_by_their_format(run) -> None:
    """Titles above INPUT and its encoding are no options of another file, which Excel wrote without them."""
    table("a.csv", ["made by", "Prüfstand", "", "id;x;y", *(f"S{i};{i % 5},5;{(i * i) % 7},25" for i in range(24))])
    rows = [f"S{i},{i % 7},{'Käse' if i % 5 < 2 else 'Tee'}" for i in range(24)]
    table("b.csv", ["id,Größe,Geruch", *rows], "cp1252")
    words = ["fit", "a.csv", "--skip-rows", "3", "--delimiter", ";", "--decimal", ",", "-o", "a.rkhs"]
    status, said, out = run(*words, "--labels", "b.csv", "--predict", "Geruch")
    assert status == 0, said
    assert "b.csv: read as text in cp1252, of Excel, since it is none in utf-8" in said
    assert "Tee (14), Käse (10)" in out
    status, said, _ = run(*words, "--targets", "b.csv", "--predict", "Größe")
    assert status == 0, said


def test_a_lacking_column_ends_in_the_fit_without_it(run) -> None:
    """The names of the rows are no column of the model; the fit that is printed runs."""
    titles = ["address", "area", "floor", "zone", "change", "price"]
    rows = [[f"Street {i}", 20 + i % 9, i % 4, "nsw"[i % 3], i % 5 - 2, 3 * (20 + i % 9) + i % 4] for i in range(30)]
    lines = [titles, *rows]
    table("sold.csv", [",".join(map(str, line)) for line in lines])
    table("new.csv", [",".join(map(str, [*line[:4], *line[6:]])) for line in lines])
    flags = ["--index-column", "address", "--drop-columns", "floor"]
    status, errors, _ = run("fit", "sold.csv", *flags, "--predict", "price", "-o", "m.rkhs")
    assert status == 0, errors
    status, errors, _ = run("predict", "m.rkhs", "new.csv", "-o", "p.csv")
    assert status == 2
    assert "new.csv lacks 'change', of the columns of the training file; its column 'address' names the rows" in errors
    assert "; it has 'floor', which the model does not read" in errors
    words = printed(errors)
    assert words == ["fit", "sold.csv", *flags[:3], "--predict", "price", "-o", "m.rkhs", flags[3], "floor,change"]
    assert run(*words)[0] == 0
    assert run("predict", "m.rkhs", "new.csv", "-o", "p.csv")[0] == 0
