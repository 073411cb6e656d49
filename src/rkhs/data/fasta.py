"""Sequences in FASTA files: a header line that starts with ``>``, then lines of letters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rkhs._core.errors import InputError, quote, warn
from rkhs.data.dataset import Dataset, Kind, read_text, refuse_empty


def read_fasta(file: Path, kind: Kind | None = None, encoding: str = "utf-8") -> Dataset:
    """Sequences in capital letters, without the gaps of an alignment; named by first words or headers that differ."""
    names, texts = _records(file, encoding)
    letters = [text.upper().replace("-", "").replace(".", "") for text in texts]
    changed = sum(one != text for one, text in zip(letters, texts, strict=True))
    if changed:
        warn(f"{file}: small letters are read as capital ones, and gaps, - and ., left out, in {changed} sequences")
    if "" in letters:
        name = quote(names[letters.index("")])
        raise InputError(f"{file}: expected letters after every header; got none for {name}; remove that header")
    words = ["".join(name.split()[:1]) for name in names]
    row_names = None
    for some in (names, words):  # the shorter ones where both differ
        if "" not in some and len(set(some)) == len(some):
            row_names = tuple(some)
    return Dataset(np.array(letters, object), kind or "sequences", row_names, None, str(file))


def _records(file: Path, encoding: str) -> tuple[list[str], list[str]]:
    """Headers and letters."""
    names: list[str] = []
    parts: list[list[str]] = []
    for number, line in enumerate(read_text(file, encoding).splitlines(), 1):
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
    refuse_empty(parts, file, "sequences")
    return names, ["".join(part) for part in parts]
