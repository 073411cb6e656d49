"""Make the molecules bundled with the library from the MassBank compounds of the benchmark data.

Usage: RKHS_DATA=<folder with massbank_pos/> python -m tools.make_molecules

Rule: all compounds whose every record is CC0, then compounds whose every record is CC BY, drawn without replacement by
``numpy.random.default_rng(0)``, up to 500; the order of the source file (first InChIKey block) is kept. RDKit must
read the SMILES.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from pathlib import Path

import numpy as np

from rkhs.data.molecule_files import N_BITS, RADIUS, molecular_fingerprints
from studies.harness.scripts import data_folder, run_script

N_MOLECULES = 500
SEED = 0
FIELDS = ("accession", "formula", "smiles", "licence", "contributor")
RECORDS = "https://github.com/MassBank/MassBank-data, commit 13484d415d98f3e8517c34c1e3faa35917cc4d07"


def choose(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Apply the rule of the module docstring."""
    readable = set(molecular_fingerprints([row["smiles"] for row in rows], on_error="skip").kept.tolist())
    free = [i for i, row in enumerate(rows) if row["licence"] == "CC0" and i in readable]
    credited = [i for i, row in enumerate(rows) if row["licence"] == "CC BY" and i in readable]
    n_more = max(0, N_MOLECULES - len(free))
    drawn = np.random.default_rng(SEED).choice(credited, size=n_more, replace=False)
    return [rows[i] for i in sorted([*free[:N_MOLECULES], *drawn.tolist()])]


def write_csv(rows: list[dict[str, str]], path: Path) -> None:
    """Write the chosen rows with the columns of `FIELDS`."""
    with open(path, "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_bits(bits: np.ndarray, path: Path) -> None:
    """Write the distances between set bits, low bytes before high ones: a wheel deflates these best."""
    gaps = np.diff(np.flatnonzero(bits.T), prepend=0, append=bits.size)
    np.save(path, np.stack([gaps % 256, gaps // 256]).astype(np.uint8), allow_pickle=False)


def write_provenance(rows: list[dict[str, str]], source_sha256: str, folder: Path) -> None:
    """Write licence, source, credits, recipe and checksums."""
    licences = Counter(row["licence"] for row in rows)
    credits = Counter((row["contributor"], row["licence"]) for row in rows)
    lines = [
        "# Bundled molecules",
        "",
        f"{len(rows)} small molecules (drugs, natural products, pollutants) from MassBank, with Morgan fingerprints.",
        "",
        f"- Source: MassBank, {RECORDS}.",
        f"- Licence: {licences['CC0']} molecules from records under CC0, {licences['CC BY']} from records under CC "
        "BY (the source table "
        "states no version; the column `licence` says which). The rest of the library has its own licence.",
        "- Credit: MassBank and the contributors below; `accession` names the record and `contributor` who gave it.",
        "- Changes made: accession, molecular formula and SMILES were kept; no spectrum.",
        f"- Made by `tools/make_molecules.py` from `massbank_pos/compounds.csv` (sha256 `{source_sha256}`), one row "
        "a compound (first",
        "  InChIKey block, single-fragment SMILES, at least 5 heavy atoms, mass up to 1000).",
        f"- Rule: every compound whose records are all CC0; then compounds whose records are all CC BY, drawn by "
        f"`numpy.random.default_rng({SEED})`",
        f"  up to {N_MOLECULES} in all. Records under other or mixed licences were left out.",
        f"- Fingerprints: RDKit Morgan, radius {RADIUS}, {N_BITS} bits, without chirality: low and high bytes of the "
        "distances between set bits of the transposed matrix.",
        "",
        "| contributor | licence | molecules |",
        "| --- | --- | --- |",
        *(f"| {name} | {licence} | {count} |" for (name, licence), count in sorted(credits.items())),
        "",
        "| file | bytes | sha256 |",
        "| --- | --- | --- |",
    ]
    for name in ("molecules.csv", "fingerprints.npy"):
        content = (folder / name).read_bytes()
        lines.append(f"| {name} | {len(content)} | `{hashlib.sha256(content).hexdigest()}` |")
    (folder / "PROVENANCE.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Make the three files."""
    source = data_folder("massbank_pos") / "massbank_pos" / "compounds.csv"
    content = source.read_bytes()
    rows = choose(list(csv.DictReader(io.StringIO(content.decode("utf-8")))))
    folder = Path(__file__).resolve().parents[1] / "src" / "rkhs" / "data" / "molecules"
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / "molecules.csv")
    bits = molecular_fingerprints([row["smiles"] for row in rows]).bits
    write_bits(bits, folder / "fingerprints.npy")
    write_provenance(rows, hashlib.sha256(content).hexdigest(), folder)
    print(f"{len(rows)} molecules in {folder}")


if __name__ == "__main__":
    run_script(main)
