"""Contributions of the atoms of a molecule to a prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rkhs._core.checks import real_array
from rkhs._core.errors import InputError, optional, quote
from rkhs.kernels.objects.molecules import one_molecule

# Rare elements with the bonds of common ones, by atomic number; nitrogen and others become the unknown atom, 0. Rings
# of 800 molecules all stayed aromatic: arsenic for nitrogen, and the unknown atom for carbon and oxygen, broke some.
_REPLACEMENTS = {5: 13, 6: 14, 8: 52, 9: 85, 15: 33, 16: 52, 17: 85, 35: 85, 53: 85}


def atom_contributions(function: Callable[[list[str]], Any], smiles: Any) -> np.ndarray:
    """Compute how much each atom of a molecule contributes to a predicted number.

    ``c_a = f(x) - f(x_a)``, where in ``x_a`` atom ``a`` is an element that the training molecules do not have, with the
    same bonds, hydrogens and charge: every part of the molecule with this atom is then unlike all known ones.

    Parameters
    ----------
    function : callable
        From a list of SMILES to as many numbers: ``predict`` of a regressor, ``score_samples`` of a ``KernelNovelty``.
    smiles : str or RDKit molecule
        One molecule.

    Returns
    -------
    ndarray of shape (atoms,)
        In units of the function, in the order of the atoms in ``smiles``. They do not add up to the prediction: each
        is of one atom while the others stay.

    Raises
    ------
    InputError
        For what RDKit cannot read, and a function that does not give one finite number per molecule.
    MissingExtraError
        If RDKit is not installed (extra ``chem``).

    Notes
    -----
    One call of the function, on the molecule and one changed molecule per atom; some 20 ms for 1,000 training
    molecules.

    References
    ----------
    Riniker and Landrum (2013), "Similarity maps", who leave out bits of the fingerprint instead.

    Examples
    --------
    >>> from rkhs.evaluation import atom_contributions
    >>> atom_contributions(lambda molecules: [text.count("O") for text in molecules], "CCO")
    array([0., 0., 1.])
    """
    molecule, Chem = one_molecule(smiles), optional("rdkit.Chem")
    if not callable(function):
        raise InputError(f"function must take a list of SMILES, as model.predict does; got {quote(function)}")
    changed = [Chem.RWMol(molecule) for _ in range(molecule.GetNumAtoms())]
    for number, one in enumerate(changed):
        atom = one.GetAtomWithIdx(number)
        atom.SetNumExplicitHs(atom.GetTotalNumHs())
        atom.SetNoImplicit(True)
        atom.SetAtomicNum(_REPLACEMENTS.get(atom.GetAtomicNum(), 0))
    values = real_array(function([Chem.MolToSmiles(one) for one in (molecule, *changed)]), "values of the function")
    if values.shape != (len(changed) + 1,) or not np.isfinite(values).all():
        raise InputError(
            f"function must give one finite number for each of {len(changed) + 1} SMILES; got shape {values.shape}. "
            "Of a model with several outputs, take one column"
        )
    return np.asarray(values[0] - values[1:])
