"""Sequences in FASTA files, and what is made of sequences and texts."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass

import numpy as np

from rkhs._core.errors import InputError, shown
from rkhs.data.dataset import Dataset, Kind, existing, read_text


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences or texts of a file.

    Parameters
    ----------
    texts : list of str
        n sequences, letters as they stand in the file; in FASTA lines are joined.
    names : tuple of str or None
        n header lines without the ``>`` (FASTA), n names (a column of a table), or None.
    source : str
        The path that was read.
    """

    texts: list[str]
    names: tuple[str, ...] | None
    source: str


def read_fasta(path: str | os.PathLike[str]) -> Sequences:
    """Read the sequences of a FASTA file: a header line that starts with ``>``, then lines of letters.

    Parameters
    ----------
    path : str or path
        Blank lines and lines that start with ``;`` are left out.

    Returns
    -------
    Sequences

    Raises
    ------
    InputError
        If the file is missing or no text, does not begin with a header, or a sequence is empty.
    """
    file = existing(path)
    names: list[str] = []
    parts: list[list[str]] = []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        text = line.strip()
        if text.startswith(">"):
            names.append(text[1:].strip())
            parts.append([])
        elif not text or text.startswith(";"):
            continue
        elif not parts:
            raise InputError(
                f"{file}: expected a header line that starts with '>' first; got {text[:20]!r} in line {number}; "
                "FASTA files have one before each sequence"
            )
        else:
            parts[-1].append("".join(text.split()))
    if not parts:
        raise InputError(f"{file}: expected sequences; got an empty file; check that it was written to the end")
    for name, part in zip(names, parts, strict=True):
        if not part:
            raise InputError(
                f"{file}: expected letters after every header; got none for {shown(name)}; remove that header"
            )
    return Sequences(["".join(part) for part in parts], tuple(names), str(file))


def sequence_dataset(found: Sequences, kind: Kind | None = None) -> Dataset:
    """Texts as a data set; headers of FASTA name rows by their first words if these differ, in capital letters."""
    guessed: tuple[str, ...] = ()
    texts, names = found.texts, found.names
    if found.source.lower().endswith((".fasta", ".fa")):
        kind = kind or "sequences"
        words = ["".join(name.split()[:1]) for name in names or ()]
        names = tuple(words) if len({*words} - {""}) == len(words) else None
        texts = list(map(str.upper, texts))  # masked letters are the same letters
        changed = sum(map(operator.ne, found.texts, texts))
        guessed = (f"small letters are read as capital ones, in {changed} sequences",) if changed else ()
    items, spaced = np.array(texts, dtype=object), any(len(text.split()) > 1 for text in texts)
    return Dataset(items, kind or ("texts" if spaced else "sequences"), names, None, found.source, guessed=guessed)
