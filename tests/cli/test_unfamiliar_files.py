"""Files of other people's instruments and offices: what a command says of them, and the command that reads them."""

import numpy as np
import pytest

from tests.cli.commands import Run, table

RNG = np.random.default_rng(0)
SMILES = [f"{'C' * (i % 7 + 1)}{'NO'[i % 2]}{'C' * (i % 3)}" for i in range(24)]


def test_rows_above_a_new_file_are_skipped_by_the_command(run: Run) -> None:
    """Of molecules without a number, of numbers, and of texts."""
    pytest.importorskip("rdkit", reason="needs the extra chem")
    titles = ["Some Services, Inc., San Diego, CA", "of 2024"]
    table("fit.csv", ["Structure,y", *(f"{smiles},{len(smiles)}.5" for smiles in SMILES)])
    table("new.csv", [*titles, "No,Structure", "a,CCO", "b,CCN"])
    assert run("fit", "fit.csv", "--smiles", "Structure", "--predict", "y", "-o", "m.rkhs")[0] == 0
    status, said, _ = run("predict", "m.rkhs", "new.csv")
    assert status == 2
    assert said.endswith("; this command reads it:\n\n  rkhs predict m.rkhs new.csv --skip-rows 2\n")
    assert run("predict", "m.rkhs", "new.csv", "--skip-rows", "2")[0] == 0
    for kind in ("x", "3"):
        table("fit.csv", ["a,b,y", *(f"{i % 5}.5,{kind if i % 2 else 7},{i}.25" for i in range(24))])
        table("new.csv", [*titles, "b,a", "7,1.5"])
        assert run("fit", "fit.csv", "--predict", "y", "-o", "n.rkhs")[0] == 0
        status, said, _ = run("predict", "n.rkhs", "new.csv")
        assert status == 2
        assert said.endswith("\n\n  rkhs predict n.rkhs new.csv --skip-rows 2\n")


def test_smiles_that_cannot_be_read_are_left_out_by_the_command(run: Run) -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    table("fit.csv", ["Structure,y", "see file 3,1", *(f"{smiles},{len(smiles)}.5" for smiles in SMILES)])
    words = ("fit", "fit.csv", "--smiles", "Structure", "--predict", "y", "-o", "m.rkhs")
    status, said, _ = run(*words)
    assert status == 2
    assert said.endswith(f"; this command reads it:\n\n  rkhs {' '.join(words)} --skip-bad-smiles\n")
    assert run(*words, "--skip-bad-smiles")[0] == 0
    table("bad.csv", ["Structure,y", "no,1", "none,2"])
    assert "check that this is the SMILES column\n" in run("fit", "bad.csv", *words[2:])[1]


def test_a_dat_file_is_read_as_a_text(run: Run) -> None:
    rows = ["\t".join(f"{value:.4e}" for value in row) for row in RNG.normal(size=(30, 4))]
    table("x.dat", ["# made by an instrument", "a\tb\tc\td", *rows])
    status, _, said = run("fit", "x.dat", "-o", "m.rkhs")
    assert status == 0
    assert "30 rows of 4 columns" in said
    assert "file: lines above the table that begin with # left out: 1\n" in said


def test_words_next_to_bounds_are_named(run: Run) -> None:
    cells = [">50", "inactive", *(f"{i}.5" for i in range(20))]
    table("x.csv", ["a,y", *(f"{i * i % 7}.25,{cell}" for i, cell in enumerate(cells))])
    status, said, _ = run("fit", "x.csv", "--predict", "y", "--missing", ">50,inactive", "-o", "m.rkhs")
    assert status == 0
    assert "say nothing of such items; the words 'inactive' are gaps too: one that says so, as inactive does" in said
    table("x.csv", ["a,y", *(f"{i * i % 7}.25,{cell}" for i, cell in enumerate(cells) if cell != "inactive")])
    assert "the words" not in run("fit", "x.csv", "--predict", "y", "--missing", ">50", "-o", "m.rkhs")[1]


def test_scores_of_a_prediction_are_in_its_json(run: Run) -> None:
    table("x.csv", ["a,y", *(f"{i},{i * i % 7}.5" for i in range(20))])
    status, said, _ = run("fit", "x.csv", "--predict", "y", "--robust", "--scores", "s.csv", "-o", "m.rkhs")
    assert status == 2
    assert "--scores does not go with --predict; --json lists the suspicious rows and their residuals" in said


def test_words_among_numbers_are_said_to_be_filled(run: Run) -> None:
    rows = [f"{'RDC' if i % 9 == 4 else i % 6},{'ab'[i % 2]},{i}.5" for i in range(40)]
    table("x.csv", ["floor,kind,size", *rows])
    status, said, _ = run("fit", "x.csv", "--mixed", "-o", "m.rkhs")
    assert status == 0
    assert "'floor': 4 cells that are no numbers are read as gaps: 'RDC' in row 5" in said
    assert "a model fills them from the nearest rows: where a word stands for a number, write it in the file" in said
    assert "; --missing " in said


def test_dates_that_count_in_distances_are_named(run: Run) -> None:
    table("x.csv", ["day,kind,size", *(f"2024-03-{i + 1:02d},{'ab'[i % 2]},{i % 5}.5" for i in range(28))])
    status, said, _ = run("nearest", "x.csv", "--mixed")
    assert status == 0
    assert "x.csv: day holds dates, read as days, and counted as any column\n" in said
    assert "for the warning above, this command leaves them out of the distances:" in said
    assert "\n\n  rkhs nearest x.csv --mixed --drop-columns day\n" in said
    assert "dates" not in run("nearest", "x.csv", "--mixed", "--drop-columns", "day")[1]


def test_a_report_names_rows_and_the_command_that_lists_more(run: Run) -> None:
    X = RNG.normal(size=(40, 3))
    X[7, 1] = 400.0
    table("x.csv", ["a,b,c", *(",".join(f"{value:.3f}" for value in row) for row in X)])
    status, _, said = run("report", "x.csv", "--index-column", "a")
    assert status == 0
    assert f"b holds one value far from all others, 400 in {X[7, 0]:.3f}: is it a mistake of typing?" in said
    assert "rows unlike all others are listed by: rkhs novelty x.csv --index-column a\n" in said
    assert run("novelty", "x.csv", "--index-column", "a")[0] == 0
