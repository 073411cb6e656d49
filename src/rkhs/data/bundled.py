"""The small real set that travels with the library."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from rkhs._core.errors import RkhsError

_N_BITS = 2048
_FIELDS = ("accession", "smiles", "licence", "contributor")


@dataclass(frozen=True, eq=False)
class Molecules:
    """500 real molecules with their fingerprints.

    Parameters
    ----------
    smiles : tuple of str
        n SMILES.
    fingerprints : ndarray of shape (n, 2048), uint8
        Morgan fingerprints of radius 2: 0 or 1.
    names : tuple of str
        n MassBank accession numbers, such as "MSBNK-UFZ-WANA005211C9CFPH".
    licences : tuple of str
        Licence of each of the n records: "CC0" or "CC BY".
    contributors : tuple of str
        Who gave each of the n records to MassBank, to be credited under CC BY.
    source : str
        Where they come from.

    Examples
    --------
    >>> from rkhs.data import load_molecules
    >>> molecules = load_molecules()
    >>> molecules.smiles[0][:20], molecules.fingerprints.shape
    ('C/C=C(/C)C(=O)O[C@H]', (500, 2048))
    """

    smiles: tuple[str, ...]
    fingerprints: np.ndarray
    names: tuple[str, ...]
    licences: tuple[str, ...]
    contributors: tuple[str, ...]
    source: str

    @property
    def n_samples(self) -> int:
        """Number of molecules."""
        return len(self.smiles)


def load_molecules() -> Molecules:
    """Load 500 small molecules (drugs, natural products, pollutants) and their fingerprints; RDKit is not needed.

    Returns
    -------
    Molecules
        n = 500 molecules: `smiles`, `fingerprints` of shape (500, 2048), `names` and the licence of each.

    Raises
    ------
    RkhsError
        If the files of the installed library are damaged.

    Notes
    -----
    Source: MassBank, https://github.com/MassBank/MassBank-data, records under CC0 and CC BY. How they were chosen, and
    whom to credit, stands in ``PROVENANCE.md`` next to the files.

    Examples
    --------
    >>> from rkhs.data import load_molecules
    >>> molecules = load_molecules()
    >>> molecules.fingerprints.shape
    (500, 2048)
    """
    folder = files("rkhs.data") / "molecules"
    rows = list(csv.DictReader(io.StringIO((folder / "molecules.csv").read_text(encoding="utf-8"))))
    low, high = np.load(io.BytesIO((folder / "fingerprints.npy").read_bytes()), allow_pickle=False).astype(np.intp)
    *places, size = np.cumsum(low + 256 * high)  # of the set bits, bit by bit
    if not rows or tuple(rows[0]) != _FIELDS or size != _N_BITS * len(rows):
        raise RkhsError(
            f"expected the bundled molecules with the columns {_FIELDS} and one fingerprint each; got {len(rows)} "
            f"rows and {size // _N_BITS} fingerprints; install the library again"
        )
    bits = np.zeros((_N_BITS, len(rows)), np.uint8)
    bits.flat[places] = 1
    columns = {name: tuple(row[name] for row in rows) for name in _FIELDS}
    return Molecules(
        smiles=columns["smiles"],
        fingerprints=np.ascontiguousarray(bits.T),
        names=columns["accession"],
        licences=columns["licence"],
        contributors=columns["contributor"],
        source="MassBank, https://github.com/MassBank/MassBank-data",
    )
