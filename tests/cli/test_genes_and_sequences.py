"""Sequences of RNA and DNA."""

from pathlib import Path

import numpy as np
import pandas

from tests.cli.commands import Run


def sequences(path: str, texts: list[str]) -> None:
    Path(path).write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(texts)))


def dna(n: int, length: int, seed: int = 0) -> list[str]:
    return ["".join(row) for row in np.random.default_rng(seed).choice([*"ACGT"], (n, length))]


def test_letters_are_what_they_are(run: Run) -> None:
    """U is not T, and N is a letter: a kernel with an alphabet says otherwise."""
    known = dna(30, 60)
    sequences("rna.fasta", [text.replace("T", "U") for text in known])
    sequences("dna.fasta", [f"{text[:-1]}N" for text in known])
    status, err, out = run("fit", "dna.fasta", "-o", "m.rkhs", "--n-components", "2")
    assert (status, "letters" in err) == (0, False)
    assert "kernel: Spectrum() (default for sequences" in out
    assert run("nearest", "dna.fasta", "rna.fasta", "-o", "found.csv")[0] == 0
    first = pandas.read_csv("found.csv").iloc[0]
    assert (first["nearest"], first["distance"] > 0.5) == ("s0", True)
    skipping = "spectrum(3, alphabet='dna', unknown=skip)"
    assert run("fit", "dna.fasta", "-o", "m.rkhs", "--n-components", "2", "--kernel", skipping)[0] == 0
