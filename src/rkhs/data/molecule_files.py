"""Molecules in files: smi files, and turning SMILES into a data set of fingerprints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rkhs._core.checks import check_choice, check_count, check_flag
from rkhs._core.errors import InputError, optional, quote
from rkhs._core.files import text_encoding
from rkhs._core.memory import Estimate, check_memory
from rkhs.data.columns import listed as shortened, many
from rkhs.data.dataset import LEFT_OUT, Dataset, RowNames, SkippedRow, listed, refuse_empty
from rkhs.data.encodings import other_encoding
from rkhs.data.formats import open_bytes
from rkhs.data.tables import Columns, located, typed
from rkhs.data.text import Mendable

RADIUS = 2
N_BITS = 2048

OnError = Literal["raise", "skip"]
SmilesRows = tuple[list[str], RowNames]


def smi_chunks(path: Path, encoding: str, count: int | None) -> Iterator[SmilesRows]:
    """SMILES and names of a smi file: on each line a SMILES and, after white space, an optional name."""
    lines, named = _smi_rows(path, encoding), None
    while rows := list(islice(lines, count)):
        named = all(name for _, name in rows) if named is None else named
        yield [smiles for smiles, _ in rows], (tuple(name for _, name in rows) if named else None, None)
    refuse_empty(named is not None, path, "one SMILES per line")


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
        raise other_encoding(path, encoding, error) from error


def read_sdf(path: Path, missing: Collection[str] = (), index: str | int | None = None) -> Columns:
    """SMILES and tags as columns, one of them texts that name molecules; a damaged record keeps its place."""
    Chem, rdBase = optional("rdkit.Chem"), optional("rdkit.rdBase")
    with open_bytes(path) as handle, rdBase.BlockLogs():  # of damaged records there is an error, stereo is not used
        found = list(Chem.ForwardSDMolSupplier(handle))
    refuse_empty(found, path, "molecules")
    smiles = ["a damaged record" if mol is None else Chem.MolToSmiles(mol) for mol in found]
    names = tuple("" if mol is None else mol.GetProp("_Name").strip() for mol in found)
    tags = {"smiles": smiles} | _tags(found)
    texts = located([(0, "smiles"), (index, "index_column")], (*tags,), len(tags))
    cells = [
        np.array(t, object) if j in texts else typed(t, ".", missing, f"{path}: {tag}")
        for j, (tag, t) in enumerate(tags.items())
    ]
    return Columns(str(path), (*tags,), cells, stored=names if all(names) else None)


def _tags(molecules: list[Any]) -> dict[str, list[str | None]]:
    """Tags of molecules, but for one called smiles; a damaged record has none."""
    records = [{} if mol is None else mol.GetPropsAsDict(autoConvertStrings=False) for mol in molecules]
    tags = dict.fromkeys(chain.from_iterable(records))
    return {tag: [one.get(tag) for one in records] for tag in tags if tag != "smiles"}


def flat_smiles(texts: Iterable[Any]) -> np.ndarray:
    """Canonical SMILES without stereochemistry, which fingerprints do not see; empty for what RDKit cannot read."""
    Chem, rdBase = optional("rdkit.Chem"), optional("rdkit.rdBase")
    with rdBase.BlockLogs():
        found = [Chem.MolFromSmiles(text) if isinstance(text, str) else None for text in texts]
    return np.array(["" if mol is None else Chem.MolToSmiles(mol, isomericSmiles=False) for mol in found], object)


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


def molecule_remarks(smiles: Sequence[str], skipped: Sequence[SkippedRow]) -> Iterator[str]:
    """Say how many SMILES have several parts, and how many were left out."""
    parts = [text for text in smiles if "." in text]
    if parts:
        yield (
            f"{many(len(parts), 'SMILES has', 'SMILES have')} more than one part, as salts and mixtures have, such "
            f"as {shortened(parts[:1])}. The model reads all parts."
        )
    unread = [bad for bad in skipped if bad.reason != LEFT_OUT]
    if unread:
        first = unread[0]
        what = f"{shortened([first.text])} in row {first.row}" if first.text else f"an empty cell in row {first.row}"
        yield (
            f"{len(unread)} SMILES could not be read and {'was' if len(unread) == 1 else 'were'} left out; the first "
            f"is {what}."
        )


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """Fingerprints of the SMILES that could be read.

    Parameters
    ----------
    bits : ndarray of shape (n_kept, n_bits), uint8
        0 or 1; or how often (uint16).
    kept : ndarray of shape (n_kept,), int64
        Position of each row of `bits` among the SMILES given, counted from 0.
    skipped : tuple of SkippedRow
        The SMILES that could not be read.

    Examples
    --------
    >>> from rkhs.data import molecular_fingerprints
    >>> found = molecular_fingerprints(["CCO", "no molecule"], n_bits=64, on_error="skip")
    >>> found.bits.shape, found.kept, found.skipped[0].text
    ((1, 64), array([0]), 'no molecule')
    """

    bits: np.ndarray
    kept: np.ndarray
    skipped: tuple[SkippedRow, ...]


def refusal(skipped: Sequence[SkippedRow], total: int) -> str:
    """Name rows that cannot be read."""
    examples = listed([f"row {bad.row} ({quote(bad.text)}: {bad.reason})" for bad in skipped])
    some = 'correct them, or pass on_error="skip" to leave them out'
    advice = some if len(skipped) < total else "check that this is the SMILES column"
    return f"expected SMILES that RDKit reads; got {len(skipped)} of {total} that it does not: {examples}; {advice}"


def molecular_fingerprints(
    molecules: Iterable[Any],
    *,
    fingerprint: str = "morgan",
    counts: bool = False,
    radius: int = RADIUS,
    n_bits: int = N_BITS,
    on_error: OnError = "raise",
) -> Fingerprints:
    """Compute fingerprints of SMILES or RDKit molecules.

    Parameters
    ----------
    molecules : iterable of str or rdkit.Chem.Mol
        n molecules.
    fingerprint : {"morgan", "path", "maccs"}, default="morgan"
        Atom neighbourhoods, paths of up to 7 bonds, or the MACCS keys (always 167 columns, the first of them empty).
    counts : bool, default=False
        Occurrences in place of bits; not for MACCS keys.
    radius : int, default=2
        Of ``"morgan"``, in bonds, 0 to 100.
    n_bits : int, default=2048
        Length of a fingerprint, 1 to 2**24.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a molecule that cannot be read.

    Returns
    -------
    Fingerprints
        `bits` of shape (n_kept, n_bits), uint8, or uint16 for counts; which rows were kept, and which were not.

    Raises
    ------
    InputError
        If a parameter is out of range, a molecule cannot be read and `on_error` is "raise", or none can be read.
    MissingExtraError
        If RDKit is not installed.

    Notes
    -----
    Source: D. Rogers, M. Hahn, Extended-connectivity fingerprints, J. Chem. Inf. Model. 50 (2010) 742-754 for
    ``"morgan"``, without stereochemistry; the RDKit book for the others.

    Examples
    --------
    >>> from rkhs.data import molecular_fingerprints
    >>> found = molecular_fingerprints(["CCO", "OCC", "c1ccccc1"])
    >>> found.bits.shape, bool((found.bits[0] == found.bits[1]).all())
    ((3, 2048), True)
    """
    found = read_fingerprints(
        molecules, fingerprint=fingerprint, counts=counts, radius=radius, n_bits=n_bits, on_error=on_error
    )
    if found.skipped and not len(found.bits):
        raise InputError(refusal(found.skipped, len(found.skipped)))
    return found


def read_fingerprints(
    molecules: Iterable[Any], *, fingerprint: str, counts: bool, radius: int, n_bits: int, on_error: OnError
) -> Fingerprints:
    """As :func:`molecular_fingerprints`, but none of the molecules needs to be one that can be read."""
    from rkhs.kernels.objects.molecules import FINGERPRINTS, LARGEST_RADIUS, MOST_BITS, fingerprint_rows

    given = _countable(molecules)
    check_choice(on_error, "on_error", ("raise", "skip"))
    check_choice(fingerprint, "fingerprint", FINGERPRINTS)
    radius = check_count(radius, "radius", at_least=0, at_most=LARGEST_RADIUS)
    n_bits = check_count(n_bits, "n_bits", at_most=MOST_BITS)
    if check_flag(counts, "counts") and fingerprint == "maccs":
        raise InputError("counts must be False for MACCS keys, which are bits; got True")
    parts = f"{len(given)} fingerprints of n_bits={n_bits}"
    size = len(given) * n_bits * (4 if counts else 2)  # once as rows, once as a matrix
    check_memory(Estimate("a table of fingerprints", size, parts), "Take fewer bits, or read in chunks.")
    rows, kept, refused = fingerprint_rows(given, fingerprint, counts, radius, n_bits)
    skipped = [SkippedRow(i + 1, text if isinstance(text, str) else repr(text), why) for i, text, why in refused]
    if skipped and on_error == "raise":
        text = refusal(skipped, len(given))
        raise Mendable(text, skip_bad_smiles=True) if len(skipped) < len(given) else InputError(text)
    bits = np.stack(rows) if rows else np.zeros((0, n_bits), dtype=np.uint8)
    return Fingerprints(bits, np.asarray(kept, dtype=np.int64), tuple(skipped))


def _countable(molecules: Any) -> Any:
    """Molecules that can be counted, and read more than once."""
    if isinstance(molecules, str):
        text = quote(molecules)
        raise InputError(f"`smiles` must be a list of SMILES; got the single string {text}; write [{text}]")
    if isinstance(molecules, bytes) or not hasattr(molecules, "__iter__"):
        raise InputError(f"`smiles` must be a list of SMILES; got a {type(molecules).__name__}; write [...]")
    from rkhs._core.arrays import check_items  # which imports torch

    return check_items(molecules, "smiles", at_least=0) if hasattr(molecules, "__len__") else list(molecules)
