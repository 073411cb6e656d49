"""Sequences in FASTA files: a header line that starts with ``>``, then lines of letters."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs.data.dataset import Dataset, Kind, read_text, refuse_empty

_RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
_PLAIN, _MANY = 0.9, 0.6  # share of letters that are of nucleotides; of residues that occur in proteins


def read_fasta(file: Path, kind: Kind | None = None) -> Dataset:
    """Sequences in capital letters; named by headers, or first words if these differ, and parts between bars too."""
    names, texts = _records(file)
    texts, aligned = _without_gaps(texts)
    capitals = list(map(str.upper, texts))  # masked letters are the same letters
    words = ["".join(name.split()[:1]) for name in names]
    changed = sum(map(operator.ne, texts, capitals))
    capitals, of_rna = as_dna(capitals)
    notes = [*aligned, *_letters(capitals), *of_rna, *note_of_masked(capitals)]
    if changed:
        notes.insert(0, f"small letters are read as capital ones, in {changed} sequences")
    for note in notes:
        warn(f"{file}: {note}")
    row_names = next((tuple(some) for some in (words, names) if len({*some} - {""}) == len(some)), None)
    parts = [word.split("|") for word in words]  # >sp|P12345|NAME_HUMAN
    aliases = tuple(zip(*parts, strict=True)) if len(set(map(len, parts))) == 1 < len(parts[0]) else ()
    return Dataset(np.array(capitals, object), kind or "sequences", row_names, None, str(file), aliases=aliases)


def _without_gaps(texts: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Sequences without the gaps of an alignment, and what is said of these; only gaps are a sequence as it is."""
    plain = [text.translate({ord("-"): None, ord("."): None}) or text for text in texts]
    count = sum(map(operator.ne, texts, plain))
    if not count:
        return plain, ()
    return plain, (f"gaps of an alignment, - and ., are removed, in {count} sequences",)


def masked_letters(texts: Sequence[str]) -> str:
    """Letters that stand for unknown ones in plain sequences of nucleotides, N and X, or of residues, X."""
    counts = Counter("".join(texts))
    nucleic = _are_nucleic(texts) and counts.keys() >= {*"ACG"}
    residues = counts.keys() <= {*ascii_uppercase, "*"} and len(counts.keys() & {*_RESIDUES}) >= _MANY * len(_RESIDUES)
    return "NX" if nucleic else "X" if residues else ""


def note_of_masked(texts: Sequence[str]) -> tuple[str, ...]:
    """Say how many sequences hold letters that stand for unknown ones, which the default kernel does not count."""
    masked = masked_letters(texts)
    found = [mark for mark in masked if any(mark in text for text in texts)]
    count = sum(any(mark in text for mark in found) for text in texts)
    what = f"masked letters, {' and '.join(found)}, stand in {count} of {len(texts)} sequences"
    advice = "the default kernel counts no substring with one; another does so by alphabet='dna' or 'protein' and"
    return (f"{what}: {advice} unknown='skip'",) if found else ()


def _letters(texts: list[str]) -> tuple[str, ...]:
    """Say which characters stand for no known letter."""
    odd = {mark: sum(mark in text for text in texts) for mark in sorted({*"".join(texts)} - {*ascii_uppercase})}
    counts = [f"{mark!r} in {count}" for mark, count in odd.items()]
    return (f"unknown characters are treated as further letters: {', '.join(counts)} sequences",) if counts else ()


def _are_nucleic(texts: Sequence[str]) -> bool:
    """Whether nearly all letters are those of nucleotides, or stand for unknown ones."""
    counts = Counter("".join(texts))
    return sum(map(counts.__getitem__, "ACGTUNX")) >= _PLAIN * counts.total()


def as_dna(texts: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Nucleotides with T in place of U where both occur, and a note of it; other sequences as they are."""
    return with_letters_of(texts, [*texts, "T"]) if "T" in "".join(texts) else (texts, ())


def with_letters_of(texts: list[str], known: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Nucleotides with the letter of known ones in place of the other of U and T, which are one base, and a note."""
    letters = {*"".join(known)}
    read, other = "TU" if "T" in letters else "UT"
    count = sum(other in text for text in texts)
    if not count or read not in letters or not (_are_nucleic(known) and _are_nucleic(texts)):
        return texts, ()
    note = f"{other} and {read} are one base of RNA and DNA: {other} is read as {read}, in {count} sequences"
    return [text.replace(other, read) for text in texts], (note,)


def _records(file: Path) -> tuple[list[str], list[str]]:
    """Headers and letters."""
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
    texts = list(map("".join, parts))
    refuse_empty(texts, file, "sequences")
    if "" in texts:
        name = quote(names[texts.index("")])
        raise InputError(f"{file}: expected letters after every header; got none for {name}; remove that header")
    return names, texts
