"""Second files: tables of labels and new rows, read as the first file was, and errors that say what is wrong there."""

from __future__ import annotations

from pathlib import Path

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


def test_what_is_wrong_with_new_molecules_is_their_encoding(run) -> None:
    write_alcohols("a.csv", comment="#", delimiter=";")
    Path("u.csv").write_text(Path("a.csv").read_text("cp1252"), "utf-8")
    assert run("fit", "u.csv", "--smiles", "Größe SMILES", "--predict", "y", "-o", "a.rkhs")[0] == 0
    status, said, _ = run("predict", "a.rkhs", "a.csv", "-o", "b.csv")
    assert (status, "expected text in utf-8" in said) == (2, True)
    assert run(*printed(said))[0] == 0


def test_labels_in_a_text_file_are_read_with_the_flags_of_the_items(run) -> None:
    rows = [f"Säure{i}\t{i % 5},5\t{(i * i) % 7}" for i in range(24)]
    table("a.txt", ["% made", "id\tx\ty", *rows[:9], "% later", *rows[9:]], "cp1252")
    table("b.txt", ["id\tGeruch", *(f"Säure{i}\t{'Käse' if i % 5 < 2 else 'Tee'}" for i in range(24))], "cp1252")
    words = ["fit", "a.txt", "--labels", "b.txt", "--predict", "Geruch", "--encoding", "cp1252", "-o", "a.rkhs"]
    status, said, out = run(*words)
    assert status == 0, said
    assert "Tee (14), Käse (10)" in out
    status, said, _ = run(*[word if word != "Geruch" else "Duft" for word in words])
    assert (status, "the columns are 'id', 'Geruch'" in said) == (2, True), said


@pytest.mark.parametrize("command", ["nearest", "novelty"])
def test_one_command_mends_all_that_two_files_need(run, command: str) -> None:
    rows = [f"K{i};{1 + i % 9}.{500 + 20 * (i % 7)} km;{3 + i},{i % 9} l/100km;{'ab'[i % 2]}" for i in range(30)]
    rows[4] = "K4;2.500 km;k.A.;b"
    table(
        "a.csv", ["Nr;km;Verbrauch;Art;Preis", *(f"{row};{100 + i * i % 50}" for i, row in enumerate(rows))], "cp1252"
    )
    table("b.csv", ["Nr;km;Verbrauch;Art", *rows[7:12]])
    words = [command, "a.csv", "b.csv", "-o", "c.csv"]
    status, said, _ = run(*words)
    assert status == 2
    assert "b.csv lacks 'Preis'" in said
    assert printed(said)[:5] == words
    assert {"--thousands", "--missing", "--drop-columns"} <= {*printed(said)}
    status, said, _ = run(*printed(said))
    assert status == 0, said


def test_numbers_of_a_french_table_and_new_rows_in_utf_8(run) -> None:
    """No-break spaces between thousands and before units, decimal commas only next to units."""
    areas = [30.3 + (37 * i % 83) * 2.6 for i in range(80)]
    prices = [f"{round(4000 * area):,}".replace(",", "\u00a0") + "\u00a0\u20ac" for area in areas]
    cells = ["n.c." if i % 20 == 7 else f"{area:.1f}\u00a0m\u00b2".replace(".", ",") for i, area in enumerate(areas)]
    lines = [f"REF{i};{cell};{i % 3};{price}" for i, (cell, price) in enumerate(zip(cells, prices, strict=True))]
    table("a.csv", ["R\u00e9f;Surface;\u00c9tage;Prix", *lines], "cp1252")
    table(
        "b.csv",
        ["R\u00e9f;Surface;\u00c9tage", "R1;100,5\u202fm\u00b2;1", "R2;n.c.;2", "R3;200\u00a0m\u00b2;2"],
        "utf-8",
    )
    words = ["fit", "a.csv", "--predict", "Prix", "-o", "m.rkhs"]
    for _ in range(4):
        status, said, _ = run(*words)
        words = words if status == 0 else printed(said)
    assert status == 0, said
    assert {"--thousands", " ", "--decimal", ",", "--missing", "n.c.", "cp1252"} <= set(words)
    assert "--drop-columns" not in words
    status, said, _ = run("predict", "m.rkhs", "b.csv", "-o", "p.csv")
    assert status == 0, said
    found = [float(line.split(",")[1]) for line in Path("p.csv").read_text("utf-8").splitlines()[1:]]
    assert found[0] == pytest.approx(402_000, rel=0.1)
    assert found[2] == pytest.approx(800_000, rel=0.1)


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


def test_a_line_behind_a_hash_names_the_columns_of_labels(run) -> None:
    """As programs for sequences write it; two of its columns may have one name. Gaps of an alignment are no letters."""
    letters = ["ACGGU-ACGAUC.GAUAGCUA", "UUGC--GAUUUUCGAUU.GCA"]
    texts = [f">s{i}\n{letters[i % 2][i % 7 :]}{'ACGU'[i % 4] * 3}--" for i in range(24)]
    table("a.afa", texts)
    rows = [f"s{i}\tRF{i:05d}\t{'ab'[i % 2]}\t-\t{40 + i}.7" for i in range(24)]
    table("b.tsv", ["#target name\taccession\tquery name\taccession\tscore", "#---\t---\t---\t---\t---", *rows])
    status, said, out = run("fit", "a.afa", "--labels", "b.tsv", "--predict", "query name", "-o", "a.rkhs")
    assert status == 0, said
    assert "predicts query name: a (12), b (12)" in out
    assert "gaps of an alignment, - and ., are removed, in 24 sequences" in out
    assert "unknown characters" not in out


def test_a_lacking_column_ends_in_the_fit_without_it(run) -> None:
    """The names of the rows are no column of the model; the fit that is printed runs."""
    titles = ["address", "area", "floor", "zone", "change", "price"]
    rows = [[f"Street {i}", 20 + i % 9, i % 4, "nsw"[i % 3], i % 5 - 2, 3 * (20 + i % 9) + i % 4] for i in range(30)]
    lines = [titles, *rows]
    table("sold.csv", [",".join(map(str, line)) for line in lines])
    table("new.csv", [",".join(map(str, [*line[:4], *line[6:]])) for line in lines])
    flags = ["--mixed", "--index-column", "address", "--drop-columns", "floor"]
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


def test_a_file_of_numbers_that_lacks_a_column_ends_in_the_fit_too(run) -> None:
    rows = [[i % 7, i % 4, i % 5 - 2, 3 * (i % 7) + i % 4] for i in range(30)]
    table("a.csv", ["a,b,c,y", *(",".join(map(str, row)) for row in rows)])
    table("new.csv", ["a,b", *(",".join(map(str, row[:2])) for row in rows)])
    table("other.csv", ["a,q", *(",".join(map(str, row[:2])) for row in rows)])
    assert run("fit", "a.csv", "--predict", "y", "-o", "m.rkhs")[0] == 0
    _, errors, _ = run("predict", "m.rkhs", "new.csv", "-o", "p.csv")
    assert printed(errors) == ["fit", "a.csv", "--predict", "y", "-o", "m.rkhs", "--drop-columns", "c"]
    _, errors, _ = run("predict", "m.rkhs", "other.csv", "-o", "p.csv")  # of which most columns are others
    assert "it has 'q', which the model does not read; correct the names" in errors
    assert "\n\n  rkhs" not in errors


def test_words_among_the_numbers_of_labels_are_gaps(run) -> None:
    names = [f"run/TA{100 + i}-N1.RCC" for i in range(24)]
    table("a.csv", ["file,x,y", *(f"{name},{i % 7},{(i * i) % 11}" for i, name in enumerate(names))])
    levels = [f"TA{100 + i}-N1,{'unknown' if i % 6 == 0 else 2 * (i % 7)}" for i in reversed(range(24))]
    table("b.csv", ["sample,level", *levels])
    status, said, _ = run("fit", "a.csv", "--labels", "b.csv", "--predict", "level", "-o", "m.rkhs")
    assert (status, "(4 cells, first 'unknown'" in said) == (2, True), said
    status, said, out = run(*printed(said))
    assert (status, "are matched as 'TA100'" in said) == (0, True), said
    assert "20 items" in out
