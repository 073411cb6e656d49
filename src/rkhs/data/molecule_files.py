"""Molecules in files: smi files, and turning SMILES into a data set of fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rkhs._core.errors import InputError, optional
from rkhs._core.files import text_encoding
from rkhs.data.columns import listed, many
from rkhs.data.dataset import LEFT_OUT, Dataset, SkippedRow
from rkhs.data.fingerprints import OnError, read_fingerprints, refusal


def read_smi(path: Path, *, encoding: str) -> tuple[list[str], tuple[str, ...] | None]:
    """Read a smi file: on each line a SMILES and, after white space, an optional name."""
    rows = list(smi_rows(path, encoding))
    if not rows:
        raise InputError(f"{path}: expected one SMILES a line; got an empty file; check that it was written to the end")
    smiles = [text for text, _ in rows]
    return smiles, tuple(name for _, name in rows) if all(name for _, name in rows) else None


def smi_rows(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    """SMILES and name, perhaps empty, of each line of a smi file that has one, as they are read."""
    try:
        with path.open(encoding=text_encoding(encoding)) as handle:
            for line in handle:
                if line.strip() and not line.startswith("#"):
                    smiles, *name = line.split(maxsplit=1)
                    yield smiles, name[0].strip() if name else ""
    except UnicodeError as error:
        raise InputError(
            f"{path}: expected text in {encoding}; got bytes that are not ({error}); pass encoding=, for example "
            "'latin-1'"
        ) from error


def read_sdf(path: Path) -> tuple[list[str], tuple[str, ...] | None]:
    """SMILES and names of the molecules of an SDF file; a record that cannot be read keeps its place."""
    Chem = optional("rdkit.Chem")
    found = list(Chem.SDMolSupplier(str(path)))
    if not found:
        raise InputError(f"{path}: expected molecules; got an empty file; check that it was written to the end")
    smiles = ["a damaged record" if mol is None else Chem.MolToSmiles(mol) for mol in found]
    names = tuple("" if mol is None else mol.GetProp("_Name").strip() for mol in found)
    return smiles, names if all(names) else None


def molecule_dataset(
    smiles: Sequence[str],
    row_names: tuple[tuple[str, ...] | None, str | None],
    *,
    source: str,
    on_error: OnError,
    recipe: dict[str, Any],
    may_be_empty: bool = False,
) -> Dataset:
    """Turn SMILES, with the names of their rows and the title of these, into a data set of fingerprints."""
    try:
        counts = recipe["fingerprint"] == "counts"
        options = recipe | ({"fingerprint": "morgan"} if counts else {})
        prints = read_fingerprints(smiles, counts=counts, on_error=on_error, **options)
        if prints.skipped and not len(prints.bits) and not may_be_empty:
            raise InputError(refusal(prints.skipped, len(prints.skipped)))
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    kept = prints.kept.tolist()
    return Dataset(
        X=prints.bits,
        kind="molecules",
        row_names=None if row_names[0] is None else tuple(row_names[0][i] for i in kept),
        row_title=row_names[1],
        column_names=None,
        source=source,
        smiles=tuple(smiles[i] for i in kept),
        skipped=prints.skipped,
    )


def molecule_remarks(smiles: Sequence[str], skipped: Sequence[SkippedRow]) -> list[str]:
    """Say how many SMILES have several parts, and how many were left out."""
    said, parts = [], [text for text in smiles if "." in text]
    if parts:
        said.append(
            f"{many(len(parts), 'SMILES has', 'SMILES have')} more than one part, as salts and mixtures have, such "
            f"as {listed(parts[:1])}. The fingerprint holds all parts."
        )
    unread = [bad for bad in skipped if bad.reason != LEFT_OUT]
    if unread:
        first = unread[0]
        said.append(
            f"{len(unread)} SMILES could not be read and {'was' if len(unread) == 1 else 'were'} left out; the first "
            f"is {listed([first.text])} in row {first.row}."
        )
    return said
