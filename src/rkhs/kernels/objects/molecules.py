"""Molecules: fingerprints of SMILES and RDKit molecules, and kernels of bits and counts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import Declared, check_flag, choice, count
from rkhs._core.errors import InputError, optional, quote
from rkhs.kernels.objects.parts import Counts, ObjectKernel, common_product, in_unary
from rkhs.kernels.vectors.discrete import MinMax, Tanimoto, pack_counts, packed_jaccard

FINGERPRINTS = ("morgan", "path", "maccs")
LARGEST_RADIUS = 100  # bonds; RDKit takes memory for each of them
MOST_BITS = 2**24  # no molecule has so many different features
_FIVE = "five"  # the counts of MoleculeKernel
_MACCS = 167
_MAX_LISTED = 5
_MAX_LENGTH = 10_000  # RDKit takes a second or two for so long a SMILES, grows quadratically, and cannot be stopped


def fingerprint_rows(
    molecules: Iterable[Any], fingerprint: str, counts: bool, radius: int, n_bits: int
) -> tuple[list[Any], list[int], list[tuple[int, Any, str]]]:
    """Compute fingerprints; return the rows, their positions, and the items that RDKit cannot read with the reason."""
    rdBase = optional("rdkit.rdBase")
    make = _fingerprint_function(fingerprint, counts, radius, n_bits)
    rows: list[Any] = []
    kept: list[int] = []
    refused: list[tuple[int, Any, str]] = []
    quiet = rdBase.BlockLogs()  # RDKit also writes each failure to stderr; ours are in the report or in the error
    try:
        for number, item in enumerate(molecules):
            found = _read_molecule(item)
            if isinstance(found, str):
                refused.append((number, item, found))
            else:
                rows.append(make(found))
                kept.append(number)
    finally:
        del quiet
        _restore_ctrl_c()
    return rows, kept, refused


def every_fingerprint(reads: str, molecules: list[Any], *recipe: Any) -> list[Any]:
    """Fingerprints of all molecules; ``reads`` begins the error message if some of them cannot be read."""
    rows, _, refused = fingerprint_rows(molecules, *recipe)
    if refused:
        listed = ", ".join(f"item {number} ({quote(text)}: {reason})" for number, text, reason in refused[:_MAX_LISTED])
        more = f" and {len(refused) - _MAX_LISTED} more" if len(refused) > _MAX_LISTED else ""
        raise InputError(
            f"{reads} SMILES that RDKit reads; got {len(refused)} of {len(molecules)} that it does not: {listed}{more};"
            ' correct them, or leave them out: rkhs.data.molecular_fingerprints(..., on_error="skip").kept says which '
            "can be read"
        )
    return rows


def one_molecule(smiles: Any, name: str = "smiles") -> Any:
    """The molecule of a SMILES; refused if RDKit cannot read it."""
    optional("rdkit.Chem")
    found = _read_molecule(smiles)
    if isinstance(found, str):
        raise InputError(f"{name} must be one molecule, a SMILES that RDKit reads; got {quote(smiles)}")
    return found


def _read_molecule(item: Any) -> Any:
    from rdkit import Chem

    if isinstance(item, str):
        if len(item) > _MAX_LENGTH:
            return f"longer than {_MAX_LENGTH} characters"
        if not item.strip():  # RDKit reads it as a molecule without atoms, which in a file is a missing value
            return "missing"
        molecule = Chem.MolFromSmiles(item)
        return molecule if molecule is not None and molecule.GetNumAtoms() else "not a valid SMILES"
    return item if isinstance(item, Chem.Mol) and item.GetNumAtoms() else "missing"


def _restore_ctrl_c() -> None:
    """Restore Python's handler of Ctrl-C: RDKit's search for MACCS keys replaces it, and fits ignore Ctrl-C."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def _fingerprint_function(fingerprint: str, counts: bool, radius: int, n_bits: int) -> Any:
    """A function of an RDKit molecule that returns its fingerprint."""
    from rdkit.Chem import rdFingerprintGenerator, rdMolDescriptors

    if fingerprint == "maccs":

        def maccs(molecule: Any) -> np.ndarray:
            row = np.zeros(_MACCS, dtype=np.uint8)
            row[list(rdMolDescriptors.GetMACCSKeysFingerprint(molecule).GetOnBits())] = 1
            return row

        return maccs
    if fingerprint == _FIVE:
        return _five_counts()
    radius, n_bits = int(radius), int(n_bits)  # RDKit reads no integers of NumPy
    if fingerprint == "morgan":
        generator = rdFingerprintGenerator.GetMorganGenerator(radius=radius, fpSize=n_bits)
    else:
        generator = rdFingerprintGenerator.GetRDKitFPGenerator(fpSize=n_bits)
    if counts:
        return lambda molecule: generator.GetCountFingerprintAsNumPy(molecule).astype(np.uint16)
    return lambda molecule: generator.GetFingerprintAsNumPy(molecule).astype(np.uint8)


def _five_counts() -> Any:
    """A function of an RDKit molecule that returns codes and counts of its features, of five kinds."""
    from rdkit.Chem import rdFingerprintGenerator as fingerprints

    generators = (
        fingerprints.GetMorganGenerator(radius=2),
        fingerprints.GetMorganGenerator(radius=3),
        fingerprints.GetAtomPairGenerator(),
        fingerprints.GetTopologicalTorsionGenerator(),
        fingerprints.GetRDKitFPGenerator(numBitsPerFeature=1),
    )

    def counted(molecule: Any) -> list[np.ndarray]:
        found = (generator.GetSparseCountFingerprint(molecule).GetNonzeroElements() for generator in generators)
        return [np.array([*one.keys(), *one.values()], dtype=np.uint64).reshape(2, -1) for one in found]

    return counted


class _MoleculeKernel(ObjectKernel):
    """Base class of kernels on molecules, which are stored as SMILES."""

    def _read_item(self, item: Any, row: int) -> str:
        if isinstance(item, str):
            return str(item)
        Chem = optional("rdkit.Chem")
        if not isinstance(item, Chem.Mol):
            raise InputError(
                f"{self._name} reads SMILES and RDKit molecules; item {row} is a {type(item).__name__}. "
                "None is what RDKit gives for a SMILES that it cannot read; a list for each item is per_sample=True"
            )
        return Chem.MolToSmiles(item)

    def _diag(self, X: list[str]) -> Tensor:
        return torch.ones(len(X), dtype=torch.float64)


class MoleculeKernel(_MoleculeKernel):
    """Kernel of molecules for predictions: the mean of five MinMax kernels of counts, ready for any regressor.

    ``k(x, y) = 1/5 sum_f sum_t min(x_ft, y_ft) / sum_t max(x_ft, y_ft)``, where ``x_ft`` is how often feature ``t`` of
    kind ``f`` occurs in ``x``: atom neighbourhoods of at most 2 and of at most 3 bonds (Morgan), pairs of atoms with
    their distance, chains of four atoms (topological torsions), and linear and branched paths of up to 7 bonds. Two
    molecules without any feature of a kind have 1 there. Stereochemistry is not used.

    Raises
    ------
    InputError
        For items that RDKit cannot read, naming them.
    MissingExtraError
        If RDKit is not installed (extra ``chem``).

    Notes
    -----
    It has no parameters: weights that were fitted to the targets predicted no better. Items are SMILES or RDKit
    molecules; models keep canonical SMILES and count again when they are loaded. No feature is folded, so that values
    are exact: a count ``c`` becomes ``c`` ones, and common ones are products of sparse matrices. Some 2 ms per molecule
    and half a microsecond per pair on one core.

    References
    ----------
    Ralaivola et al. (2005), section 3.2; Rogers and Hahn (2010); Carhart, Smith and Venkataraghavan (1985) for pairs
    of atoms; Nilakantan et al. (1987) for torsions. ``./dev bench molecules`` prints its errors.

    Examples
    --------
    >>> from rkhs.kernels import MoleculeKernel
    >>> MoleculeKernel()(["CCO", "CCCO"]).round(2)
    array([[1.  , 0.36],
           [0.36, 1.  ]])
    """

    def _memory(self, X: list[str]) -> float:
        return 1200.0 * sum(map(len, X))  # letters of SMILES

    def _features(self, items: list[str]) -> list[Counts]:
        every = every_fingerprint(f"{self._name} reads", items, _FIVE, True, 0, 0)
        found = []
        for rows in zip(*every, strict=True):
            codes, counts = np.concatenate(rows, axis=1)
            owners = np.repeat(np.arange(len(rows)), [row.shape[1] for row in rows])
            found.append(in_unary(owners, codes, counts.astype(np.int64), len(rows)))
        return found

    def _from_features(self, F: list[Counts], G: list[Counts]) -> Tensor:
        K = torch.zeros(F[0].matrix.shape[0], G[0].matrix.shape[0], dtype=torch.float64)
        for A, B in zip(F, G, strict=True):
            a, b = (torch.from_numpy(np.asarray(side.matrix.sum(1)).ravel()) for side in (A, B))
            K += Tanimoto().from_products(torch.from_numpy(common_product(A, B)), a, b)
        return K.div_(len(F))


@dataclass(eq=False, repr=False)
class MoleculeTanimoto(_MoleculeKernel):
    """Tanimoto kernel of molecules: the share of common features among all features of two fingerprints.

    Bits: ``k(x, y) = |x and y| / |x or y|``. Counts: ``sum_t min(x_t, y_t) / sum_t max(x_t, y_t)`` (the Tanimoto
    similarity of count fingerprints in cheminformatics, called MinMax in machine learning), or with
    ``formula="product"`` ``x.y / (|x|^2 + |y|^2 - x.y)``; on bits these agree.

    Parameters
    ----------
    fingerprint : {"morgan", "path", "maccs"}, default="morgan"
        Atom neighbourhoods (as ECFP), linear and branched paths of up to 7 bonds (RDKit), or the 166 MACCS keys.
    counts : bool, default=False
        How often a feature occurs, not only whether; not for MACCS keys.
    radius : int, default=2
        Of ``"morgan"``, in bonds, >= 0; 2 is ECFP4.
    n_bits : int, default=2048
        Length that features are folded to, >= 1; MACCS keys are not folded.
    formula : {"minmax", "product"}, default="minmax"
        For counts.

    Notes
    -----
    Items, and what is refused of them, are those of :class:`MoleculeKernel`. Fingerprints are computed once for a list
    of training items, at some 0.2 ms a molecule, and held as 64-bit words: 256 bytes a molecule at 2048 bits. A kernel
    value counts the common bits of these words (counts are written in unary): n m n_bits / 64 word operations, no
    memory beyond the result but tiles of 16 rows.

    References
    ----------
    Ralaivola et al. (2005), sections 3.1 and 3.2; Rogers and Hahn (2010) for the neighbourhoods.

    Examples
    --------
    >>> from rkhs.kernels import MoleculeTanimoto
    >>> MoleculeTanimoto()(["CCO", "CCCO"]).round(2)
    array([[1.  , 0.56],
           [0.56, 1.  ]])
    """

    fingerprint: str = "morgan"
    counts: bool = False
    radius: int = 2
    n_bits: int = 2048
    formula: str = "minmax"

    _declared: ClassVar[Declared] = {
        "fingerprint": choice(choices=FINGERPRINTS),
        "counts": check_flag,
        "formula": choice(choices=("minmax", "product")),
        "radius": count(at_least=0, at_most=LARGEST_RADIUS),
        "n_bits": count(at_most=MOST_BITS),
    }

    def _check(self) -> None:
        super()._check()
        if self.counts and self.fingerprint == "maccs":
            raise InputError("MoleculeTanimoto.counts must be False for MACCS keys, which are bits; got True")

    def _features(self, items: list[str]) -> np.ndarray:
        recipe = self.fingerprint, self.counts, self.radius, self.n_bits
        return np.stack(every_fingerprint(f"{self._name} reads", items, *recipe))

    def _from_features(self, F: np.ndarray, G: np.ndarray) -> Tensor:
        same = F is G
        if not self.counts or self.formula == "minmax":
            packed = pack_counts(F, None if same else G)
            if packed is not None:
                return packed_jaccard(packed[0], None if same else packed[1])
        kernel = MinMax() if self.formula == "minmax" else Tanimoto()
        A = torch.from_numpy(F.astype(np.float64))
        return kernel._gram(A, None if same else torch.from_numpy(G.astype(np.float64)))
