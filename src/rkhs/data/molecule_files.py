"""Molecules in files: smi files, and turning SMILES into a data set of fingerprints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rkhs._core.checks import check_choice, check_count, check_flag
from rkhs._core.errors import InputError, optional, quote
from rkhs._core.memory import Estimate, check_memory
from rkhs.data.columns import listed as shortened, many
from rkhs.data.dataset import LEFT_OUT, Dataset, SkippedRow, listed, read_text, refuse_empty
from rkhs.data.formats import open_bytes

RADIUS = 2
N_BITS = 2048

OnError = Literal["raise", "skip"]


def smi_rows(path: Path, encoding: str = "utf-8") -> Any:
    """A frame of the SMILES of a smi file: on each line a SMILES and, after white space, an optional name."""
    import pandas

    lines = [line for line in read_text(path, encoding).splitlines() if line.strip() and not line.startswith("#")]
    refuse_empty(lines, path, "one SMILES per line")
    parts = [line.split(maxsplit=1) for line in lines]
    named = all(len(part) == 2 for part in parts)
    names = [part[1].strip() for part in parts] if named else None
    return pandas.DataFrame({"smiles": [part[0] for part in parts]}, index=names)


def read_sdf(path: Path) -> Any:
    """A frame of SMILES and tags, its rows named by the molecules where all are; a damaged record keeps its place."""
    import pandas

    Chem, rdBase = optional("rdkit.Chem"), optional("rdkit.rdBase")
    with open_bytes(path) as handle, rdBase.BlockLogs():
        found = list(Chem.ForwardSDMolSupplier(handle))
    refuse_empty(found, path, "molecules", "none")
    records = [_tags_of(mol) for mol in found]
    names = ["" if mol is None else mol.GetProp("_Name").strip() for mol in found]
    frame = numbers_where_all(pandas.DataFrame(records, index=names if all(names) else None))
    frame.insert(0, "smiles", ["a damaged record" if mol is None else Chem.MolToSmiles(mol) for mol in found])
    return frame


def _tags_of(mol: Any) -> dict[str, str]:
    """Tags of a molecule, but for one called smiles; a damaged record has none."""
    if mol is None:
        return {}
    return {tag: text for tag, text in mol.GetPropsAsDict(autoConvertStrings=False).items() if tag != "smiles"}


def numbers_where_all(frame: Any) -> Any:
    """The frame with numbers in place of texts in the columns whose known cells all are numbers."""
    import pandas

    for name in frame.columns:
        numbers = pandas.to_numeric(frame[name], errors="coerce")
        if numbers.notna().sum() == frame[name].notna().sum():
            frame[name] = numbers
    return frame


def molecules(frame: Any, column: Any, source: str, recipe: dict[str, Any]) -> Dataset:
    """Fingerprints of a column of SMILES; what cannot be read is left out with ``on_error="skip"``."""
    from rkhs.data.cells import column_cells, row_names, row_title

    smiles = ["" if cell is None else cell for cell in column_cells(frame[column], source, "text")]
    counts = recipe.get("fingerprint") == "counts"
    options = {"fingerprint": "morgan", "radius": RADIUS, "n_bits": N_BITS, "on_error": "raise"} | recipe
    options |= {"fingerprint": "morgan" if counts else options["fingerprint"], "counts": counts}
    prints = _fingerprints(smiles, source, options)
    names, kept = row_names(frame), prints.kept.tolist()
    return Dataset(
        prints.bits,
        "molecules",
        None if names is None else tuple(names[i] for i in kept),
        None,
        source,
        smiles=tuple(smiles[i] for i in kept),
        skipped=prints.skipped,
        row_title=row_title(frame),
    )


def _fingerprints(smiles: list[str], where: str, recipe: dict[str, Any]) -> Fingerprints:
    try:
        return molecular_fingerprints(smiles, **recipe)
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
    if skipped and (on_error == "raise" or not rows):
        raise InputError(refusal(skipped, len(given)))
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
