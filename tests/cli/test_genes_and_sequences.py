"""Tables of genes as programs write them, and sequences of RNA and DNA: read as they are meant, with what is said."""

from pathlib import Path

import numpy as np
import pandas

from tests.cli.commands import Run


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


def counts_of_genes() -> pandas.DataFrame:
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.lognormal(4.0, 1.8, 60) * rng.lognormal(0.0, 0.3, (24, 1))).T
    return pandas.DataFrame(
        counts, [f"ENSG{100 + i:011d}.{1 + i % 19}" for i in range(60)], [f"s{i}.bam" for i in range(24)]
    )
