"""Tables of genes as programs write them, and sequences of RNA and DNA: read as they are meant, with what is said."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas
import pytest

from rkhs.data import read_items
from rkhs.data.fasta import are_sequences
from rkhs.data.known_columns import short_names
from tests.cli.commands import Run, printed, table


def sequences(path: str, texts: list[str]) -> None:
    Path(path).write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(texts)))


def dna(n: int, length: int, seed: int = 0) -> list[str]:
    return ["".join(row) for row in np.random.default_rng(seed).choice([*"ACGT"], (n, length))]


def test_rna_and_dna_are_compared_by_the_same_letters(run: Run) -> None:
    known, new = dna(30, 60), dna(5, 60, 1)
    sequences("rna.fasta", [text.replace("T", "U") for text in known])
    sequences("dna.fasta", known)
    sequences("new.fasta", [*new, known[7]])
    assert run("nearest", "dna.fasta", "new.fasta", "-o", "expected.csv")[0] == 0
    status, err, _ = run("nearest", "rna.fasta", "new.fasta", "-o", "found.csv")
    assert (status, Path("found.csv").read_text()) == (0, Path("expected.csv").read_text())
    assert "T and U are one base of RNA and DNA: T is read as U, in 6 sequences" in err
    assert run("fit", "rna.fasta", "-o", "m.rkhs", "--n-components", "2")[0] == 0
    assert run("transform", "m.rkhs", "new.fasta", "-o", "codes.csv")[0] == 0
    assert run("transform", "m.rkhs", "rna.fasta", "-o", "known.csv")[0] == 0
    codes, those_of_fit = (
        np.loadtxt(name, delimiter=",", skiprows=1, usecols=(1, 2)) for name in ("codes.csv", "known.csv")
    )
    np.testing.assert_allclose(codes[5], those_of_fit[7])


def test_one_file_of_both_letters_is_read_as_dna(tmp_path: Path) -> None:
    file = tmp_path / "both.fasta"
    sequences(str(file), ["ACGUACGG", "ACGTACGA", "NNGAACGA"])
    data = read_items(file)
    assert data.items.tolist() == ["ACGTACGG", "ACGTACGA", "NNGAACGA"]
    assert data.guessed[0].endswith("U is read as T, in 1 sequences")
    sequences(str(file), ["MKUTWYV", "MKTTWYVACDEFG"])  # selenocysteine
    assert read_items(file).items.tolist()[0] == "MKUTWYV"


@pytest.mark.parametrize("name", ["CA236762.33.1601", "ca. 5", "CA 90001"])
def test_names_that_begin_like_a_word_for_about_are_no_numbers(run: Run, name: str) -> None:
    rows = [f"{i}.5,AB{i:06d}.1,{i % 7}" for i in range(30)] + [f"2.5,{name},3"]
    Path("a.csv").write_text("\n".join(["x,accession,y", *rows]) + "\n")
    assert "approximate" not in run("novelty", "a.csv", "--mixed")[1]


def counts_of_genes() -> pandas.DataFrame:
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.lognormal(4.0, 1.8, 60) * rng.lognormal(0.0, 0.3, (24, 1))).T
    return pandas.DataFrame(
        counts, [f"ENSG{100 + i:011d}.{1 + i % 19}" for i in range(60)], [f"s{i}.bam" for i in range(24)]
    )


def test_a_table_of_featurecounts_takes_one_command_and_its_line_of_python_runs(run: Run) -> None:
    """Versions of genes, starts and ends of several exons, a comment above the names: as the program writes them."""
    counts = counts_of_genes()
    parts = [";".join(["12", "34", "56"][: 1 + i % 3]) for i in range(60)]
    about = {"Chr": "chr1;chr1", "Start": parts, "End": parts, "Strand": "+;+", "Length": range(500, 560)}
    table = pandas.DataFrame(about, counts.index).join(counts)
    Path("genes.txt").write_text("# Program:featureCounts\n" + table.to_csv(sep="\t", index_label="Geneid"))
    status, err, _ = run("novelty", "genes.txt", "--transpose", "-o", "n.csv")
    command = printed(err)
    assert (status, command[-1]) == (2, "Start,End,Chr,Strand,Length")
    assert "'Chr', 'Strand', 'Length' out" in err
    status, err, _ = run(*command)
    assert status == 0
    line = re.search(r'python -c "(.*)"', err)
    assert line is not None
    exec(line[1], {})
    logs = pandas.read_csv("genes_log.csv", index_col=0)
    np.testing.assert_allclose(logs[counts.columns], np.log2(1.0 + 1e6 * counts / counts.sum()))
    status, err, _ = run(command[0], "genes_log.csv", *command[2:-2])
    assert (status, "python" in err) == (0, False)


@pytest.mark.parametrize("kind", ["sheet", "notes", "R"])
def test_the_line_of_python_reads_titles_units_and_notes_as_the_command_does(run: Run, kind: str) -> None:
    counts = counts_of_genes().set_axis([f"gene{i}" for i in range(60)])
    name = "a.xlsx" if kind == "sheet" else "a.csv"
    if kind == "sheet":
        with pandas.ExcelWriter(name) as book:
            counts.to_excel(book, sheet_name="Reads", index_label="gene", startrow=3)
            book.sheets["Reads"]["A1"] = "Export of a run"
    else:
        lines = counts.to_csv(sep=";", index_label="gene").splitlines()
        units = ";".join(["", *["reads"] * 24])
        rest = [lines[0], units, *lines[1:]] if kind == "notes" else [lines[0].removeprefix("gene;"), *lines[1:]]
        Path(name).write_text("\n".join([*["Export of a run"] * (kind == "notes"), *rest]) + "\n")
    status, err, _ = run("novelty", name, "--transpose", "-o", "n.csv")
    assert status == 0, err
    line = re.search(r'python -c "(.*)"', err)
    assert line is not None
    exec(line[1], {})
    logs = pandas.read_csv("a_log.csv", index_col=0)
    np.testing.assert_allclose(logs, np.log2(1.0 + 1e6 * counts / counts.sum()))
    assert logs.index.tolist() == counts.index.tolist()


def test_commands_of_a_page_keep_a_flag_of_the_first_column(run: Run) -> None:
    counts = counts_of_genes()
    counts.T.assign(kind=["ab"[i % 2] for i in range(24)]).to_csv("a.csv", index_label="sample")
    flags = ["--index-column", "0", "--set", "max_iter=5", "--predict", "kind"]
    assert run("report", "a.csv", *flags)[0] == 0
    assert "rkhs fit a.csv --index-column 0 --predict kind -o model.rkhs" in Path("report.html").read_text()


def test_a_table_of_guides_is_read_by_the_command_for_its_sequences(run: Run) -> None:
    """Words among percentages and a column of sequences: one error, whose two commands both fit."""
    effects = np.random.default_rng(1).normal(size=(24, 4))
    guides = dna(60, 24)
    values = [50.0 + sum(effects[j, "ACGT".index(mark)] for j, mark in enumerate(text)) for text in guides]
    cells = [f"{value:.1f}%" for value in values[:-2]] + ["failed", "failed"]
    rows = [f"g{i},{'ab'[i % 2]},{text},{cell}" for i, (text, cell) in enumerate(zip(guides, cells, strict=True))]
    table("a.csv", ["guide,gene,context (5'->3'),indel", *rows])
    status, err, _ = run("fit", "a.csv", "--predict", "indel", "-o", "m.rkhs")
    of_sequences, of_others = (shlex.split(line)[1:] for line in err.splitlines() if line[:6] == "  rkhs")
    assert (status, of_others[-3:]) == (2, ["--drop-columns", "context (5'->3')", "--mixed"])
    assert of_sequences[-4:] == ["--kind", "sequences", "--columns", "context (5'->3')"]
    status, _, out = run(*of_sequences)
    assert (status, "58 items" in out, "Positions" in out) == (0, True, True)
    assert run("fit", "a.csv", *of_sequences[-4:], "--predict", "indel", "-o", "m.rkhs")[1].endswith(
        "--missing failed\n"
    )
    table("b.csv", [f"{row},failed" if i == 1 else f"{row},{dna(1, 24)[0]}" for i, row in enumerate(["id", "a", "b"])])
    assert read_items("b.csv", kind="sequences", columns=[1], header=False, missing=["failed"]).n_samples == 2


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (dna(30, 9), True),
        (dna(30, 5), False),
        (["".join(row) for row in np.random.default_rng(0).choice([*"ACDEFGHIKLMNPQRSTVWY"], (30, 12))], True),
        ([f"{name}{i}" for i, name in enumerate(dna(30, 9))], False),
        (dna(3, 9) * 10, False),
    ],
)
def test_columns_of_sequences_are_known_by_their_letters(texts: list[str], found: bool) -> None:
    assert are_sequences(texts) == found


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (
            ["/runs/42dd/P001_T1_sorted.out.bam", "/runs/2979/P002_T2_sorted.out.bam"],
            ["P001_T1_sorted.out.bam", "P002_T2_sorted.out.bam"],
        ),
        (["P1.bam", "P2.bam"], ["P1.bam", "P2.bam"]),
        ([f"C/C=C/CCCC(=O)CCCCCCC{end}" for end in ("O", "N")], ["C/C=C/CCCC(=O)CCCCCCCO", "C/C=C/CCCC(=O)CCCCCCCN"]),
        (["/a/" + "x" * 30 + "/1", "/a/" + "x" * 30 + "/2"], ["1", "2"]),
    ],
)
def test_labels_of_pictures_are_names_without_what_they_share(names: list[str], called: list[str]) -> None:
    assert short_names(names) == tuple(called)


def test_pages_pictures_and_warnings_call_rows_by_short_names(run: Run) -> None:
    """And the flag that leaves rows out has the whole names."""
    counts = counts_of_genes().to_numpy().T.copy()
    counts[5] = 0
    names = [f"/scratch/run/{i % 3}d/P{i:03d}_T1_Aligned.sortedByCoord.out.bam" for i in range(24)]
    pandas.DataFrame(counts, names, [f"g{i}" for i in range(60)]).to_csv("a.csv", index_label="sample")
    status, err, _ = run("map", "a.csv", "-o", "a.html")
    assert status == 0
    assert "nearly no counts in P005_T1_Aligned, where the others have" in err
    assert f"--leave-out {names[5]} leaves" in err
    assert "sortedByCoord" not in Path("a.html").read_text()
