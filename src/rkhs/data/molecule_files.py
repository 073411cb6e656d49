"""Molecules in files: smi files, and turning SMILES into a data set of fingerprints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional
from rkhs._core.files import text_encoding
from rkhs.data.columns import listed, many
from rkhs.data.dataset import LEFT_OUT, Dataset, RowNames, SkippedRow
from rkhs.data.fingerprints import Fingerprints, read_fingerprints, refusal
from rkhs.data.formats import open_bytes
from rkhs.data.tables import Columns, typed

SmilesRows = tuple[list[str], RowNames]


def smi_chunks(path: Path, encoding: str, count: int | None) -> Iterator[SmilesRows]:
    """SMILES and names of a smi file: on each line a SMILES and, after white space, an optional name."""
    lines, named = _smi_rows(path, encoding), None
    while rows := list(islice(lines, count)):
        named = all(name for _, name in rows) if named is None else named
        yield [smiles for smiles, _ in rows], (tuple(name for _, name in rows) if named else None, None)
    if named is None:
        raise InputError(
            f"{path}: expected one SMILES per line; got an empty file; check that it was written to the end"
        )


def _smi_rows(path: Path, encoding: str) -> Iterator[tuple[str, str]]:
    """SMILES and name, perhaps empty, of each line of a smi file that has one, as they are read."""
    try:
        with path.open(encoding=text_encoding(encoding)) as handle:
            for line in handle:
                if "\0" in line:
                    raise InputError(f"{path}: expected text in {encoding}; got a NUL character; check the encoding")
                if line.strip() and not line.startswith("#"):
                    smiles, *name = line.split(maxsplit=1)
                    yield smiles, name[0].strip() if name else ""
    except UnicodeError as error:
        raise InputError(
            f"{path}: expected text in {encoding}; got bytes that are not ({error}); pass encoding=, for example "
            "'latin-1'"
        ) from error


def read_sdf(path: Path) -> Columns:
    """SMILES and tags of molecules as columns, and their names; a record that cannot be read keeps its place."""
    Chem = optional("rdkit.Chem")
    with open_bytes(path) as handle:
        found = list(Chem.ForwardSDMolSupplier(handle))
    if not found:
        raise InputError(f"{path}: expected molecules; got an empty file; check that it was written to the end")
    smiles = ["a damaged record" if mol is None else Chem.MolToSmiles(mol) for mol in found]
    names = tuple("" if mol is None else mol.GetProp("_Name").strip() for mol in found)
    cells = {"smiles": np.array(smiles, object)} | _tags(found)
    return Columns(str(path), tuple(cells), list(cells.values()), stored=names if all(names) else None)


def _tags(molecules: list[Any]) -> dict[str, np.ndarray]:
    """Tags of molecules as columns, but for one called smiles; a damaged record has none."""
    records = [{} if mol is None else mol.GetPropsAsDict(autoConvertStrings=False) for mol in molecules]
    tags = dict.fromkeys(chain.from_iterable(records))
    return {tag: typed([one.get(tag) for one in records]) for tag in tags if tag != "smiles"}


def flat_smiles(texts: Iterable[Any]) -> np.ndarray:
    """Canonical SMILES without stereochemistry, which fingerprints do not see; empty for what RDKit cannot read."""
    Chem, rdBase = optional("rdkit.Chem"), optional("rdkit.rdBase")
    with rdBase.BlockLogs():
        found = [Chem.MolFromSmiles(text) if isinstance(text, str) else None for text in texts]
    flat = ["" if mol is None else Chem.MolToSmiles(mol, isomericSmiles=False) for mol in found]
    return np.array(flat, dtype=object)


def molecules(parts: Iterator[SmilesRows], source: str, recipe: dict[str, Any]) -> Iterator[Dataset]:
    """Fingerprints of each part; rows that are named in messages are counted from the start of the file."""
    done, ready = 0, None
    waiting: tuple[SkippedRow, ...] = ()
    for smiles, (names, title) in parts:
        prints = _fingerprints(smiles, f"{source} (rows from {done + 1})" if done else source, recipe)
        waiting += tuple(replace(bad, row=bad.row + done) for bad in prints.skipped)
        done, kept = done + len(smiles), prints.kept.tolist()
        if kept:
            if ready is not None:
                yield ready
            chosen, read = (None if c is None else tuple(c[i] for i in kept) for c in (names, smiles))
            facts: dict[str, Any] = {"row_title": title, "smiles": read, "skipped": waiting}
            ready, waiting = Dataset(prints.bits, "molecules", chosen, None, source, **facts), ()
    if ready is None:
        raise InputError(f"{source}: {refusal(waiting, done)}")
    yield replace(ready, skipped=ready.skipped + waiting)


def _fingerprints(smiles: list[str], where: str, recipe: dict[str, Any]) -> Fingerprints:
    try:
        return read_fingerprints(smiles, **recipe)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def molecule_remarks(smiles: Sequence[str], skipped: Sequence[SkippedRow]) -> list[str]:
    """Say how many SMILES have several parts, and how many were left out."""
    notes, parts = [], [text for text in smiles if "." in text]
    if parts:
        notes.append(
            f"{many(len(parts), 'SMILES has', 'SMILES have')} more than one part, as salts and mixtures have, such "
            f"as {listed(parts[:1])}. The model reads all parts."
        )
    unread = [bad for bad in skipped if bad.reason != LEFT_OUT]
    if unread:
        first = unread[0]
        notes.append(
            f"{len(unread)} SMILES could not be read and {'was' if len(unread) == 1 else 'were'} left out; the first "
            f"is {listed([first.text])} in row {first.row}."
        )
    return notes
