"""Morgan fingerprints of SMILES (needs RDKit, extra `chem`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError, missing_extra
from rkhs.data.dataset import SkippedRow, listed

__all__ = ["Fingerprints", "morgan_fingerprints"]

RADIUS = 2
N_BITS = 2048

OnError = Literal["raise", "skip"]


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """Fingerprints of the SMILES that could be read.

    Parameters
    ----------
    bits : ndarray of shape (n_kept, n_bits), uint8
        0 or 1.
    kept : ndarray of shape (n_kept,), int64
        Position of each row of `bits` among the SMILES given, counted from 0.
    skipped : tuple of SkippedRow
        The SMILES that could not be read.
    """

    bits: np.ndarray
    kept: np.ndarray
    skipped: tuple[SkippedRow, ...]


def morgan_fingerprints(
    smiles: Iterable[str], *, radius: int = RADIUS, n_bits: int = N_BITS, on_error: OnError = "raise"
) -> Fingerprints:
    """Compute Morgan (circular) fingerprints of SMILES.

    Bit b is 1 if an atom neighbourhood of at most `radius` bonds hashes to b; stereochemistry is not used.

    Parameters
    ----------
    smiles : iterable of str
        n SMILES.
    radius : int, default=2
        Largest neighbourhood, in bonds; >= 0.
    n_bits : int, default=2048
        Length of a fingerprint; >= 1.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a SMILES that cannot be read.

    Returns
    -------
    Fingerprints
        `bits` of shape (n_kept, n_bits), which rows were kept, and which were not.

    Raises
    ------
    InputError
        If a parameter is out of range, a SMILES cannot be read and `on_error` is "raise", or none can be read.
    MissingExtraError
        If RDKit is not installed.

    Notes
    -----
    Source: D. Rogers, M. Hahn, Extended-connectivity fingerprints, J. Chem. Inf. Model. 50 (2010) 742-754.
    """
    if isinstance(smiles, str):
        raise InputError(f"`smiles` must be a list of SMILES; got the single string {smiles!r}; write [{smiles!r}]")
    check_choice(on_error, "on_error", ("raise", "skip"))
    radius, n_bits = check_count(radius, "radius", at_least=0), check_count(n_bits, "n_bits")
    texts = list(smiles)
    rows, kept, skipped = _compute(texts, radius, n_bits)
    if skipped and (on_error == "raise" or not rows):
        shown = listed([f"row {bad.row} ({bad.text!r}: {bad.reason})" for bad in skipped])
        advice = (
            'correct them, or pass on_error="skip" to leave them out'
            if rows
            else "check that this is the SMILES column"
        )
        raise InputError(
            f"expected SMILES that RDKit reads; got {len(skipped)} of {len(texts)} that it does not: {shown}; {advice}"
        )
    bits = np.stack(rows) if rows else np.zeros((0, n_bits), dtype=np.uint8)
    return Fingerprints(bits, np.asarray(kept, dtype=np.int64), tuple(skipped))


def _compute(texts: list[Any], radius: int, n_bits: int) -> tuple[list[np.ndarray], list[int], list[SkippedRow]]:
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem import rdFingerprintGenerator
    except ImportError as error:
        raise missing_extra("rdkit", "chem") from error
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=n_bits)
    rows: list[np.ndarray] = []
    kept: list[int] = []
    skipped: list[SkippedRow] = []
    quiet = rdBase.BlockLogs()  # RDKit also writes each failure to stderr; ours are in the report or in the error
    try:
        for position, text in enumerate(texts):
            # RDKit reads the empty text as a molecule without atoms, which in a file is a missing value.
            molecule = Chem.MolFromSmiles(text) if isinstance(text, str) and text.strip() else None
            if molecule is None or molecule.GetNumAtoms() == 0:
                present = isinstance(text, str) and bool(text.strip())
                reason = "not a valid SMILES" if present else "missing"
                skipped.append(SkippedRow(position + 1, text if isinstance(text, str) else repr(text), reason))
                continue
            rows.append(generator.GetFingerprintAsNumPy(molecule).astype(np.uint8))
            kept.append(position)
    finally:
        del quiet
    return rows, kept, skipped
