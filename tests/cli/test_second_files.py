"""Second files: tables of labels and new rows, read as the first file was, and errors that say what is wrong there."""

from __future__ import annotations

from tests.cli.commands import table

SMILES = ["C" * (1 + i % 9) + "O" * (i % 2) for i in range(20)]


def write_alcohols(name: str, *, comment: str, delimiter: str) -> None:
    rows = [delimiter.join([f"Säure{i}", SMILES[i], str(len(SMILES[i]))]) for i in range(20)]
    title = delimiter.join(["Nr.", "Größe SMILES", "y"])
    table(name, [f"{comment} {comment}", title, *rows[:9], f"{comment} später", *rows[9:]], "cp1252")
