"""Parts of atoms in a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs.errors import InputError
from rkhs.evaluation import atom_contributions

pytest.importorskip("rdkit", reason="needs the extra 'chem'")
from rdkit import Chem

MOLECULES = [
    "CCO",
    "c1ccccc1O",
    "C[N+](C)(C)CC(=O)[O-]",
    "[nH]1cccc1Cl",
    "FC(Br)(I)S",
    "B(O)O",
    "[Na+].[Cl-]",
    "CC(=O)N",
]


@pytest.mark.parametrize("smiles", MOLECULES)
def test_one_atom_at_a_time_becomes_one_that_no_item_has_with_the_bonds_that_it_had(smiles: str) -> None:
    seen: list[str] = []

    def count(texts: list[str]) -> list[float]:
        seen.extend(texts)
        return [float(len(texts))] * len(texts)

    np.testing.assert_array_equal(atom_contributions(count, smiles), 0.0)
    whole, *changed = (Chem.MolFromSmiles(text) for text in seen)
    assert Chem.MolToSmiles(whole) == Chem.CanonSmiles(smiles)
    assert len(changed) == whole.GetNumAtoms()
    for one in changed:

        def shape(molecule: Any) -> list[Any]:
            return sorted(
                (a.GetDegree(), a.GetTotalNumHs(), a.GetFormalCharge(), a.GetIsAromatic()) for a in molecule.GetAtoms()
            )

        assert shape(one) == shape(whole)
        before, after = (sorted(a.GetAtomicNum() for a in molecule.GetAtoms()) for molecule in (whole, one))
        assert len(set(after) - set(before)) == 1
        assert sum(a != b for a, b in zip(before, after, strict=True)) >= 1


def test_the_atom_that_a_target_counts_has_the_largest_part() -> None:
    molecules = [text for text in rkhs.data.load_molecules().smiles if "." not in text][:100]
    oxygens = np.array([sum(a.GetSymbol() == "O" for a in Chem.MolFromSmiles(text).GetAtoms()) for text in molecules])
    model = rkhs.OperatorKernelRegressor("molecules").fit(molecules, oxygens.astype(float))
    for smiles in ("CCCCCO", "Nc1ccccc1C(=O)O"):
        parts = atom_contributions(model.predict, smiles)
        is_oxygen = [a.GetSymbol() == "O" for a in Chem.MolFromSmiles(smiles).GetAtoms()]
        assert parts.shape == (len(is_oxygen),)
        assert is_oxygen[int(parts.argmax())]


@pytest.mark.parametrize(
    ("function", "smiles", "said"),
    [
        (len, "not a molecule", "smiles must be one molecule"),
        (len, ["CCO"], "smiles must be one molecule"),
        (len, "C" * 20_000, "smiles must be one molecule"),
        (rkhs.KernelPCA(), "CCO", "as model.predict does"),
        (len, "", "smiles must be one molecule"),
        (len, "CCO", "one finite number for each of 4 SMILES"),
        (lambda texts: np.ones((len(texts), 2)), "CCO", "take one column"),
        (lambda texts: [np.nan] * len(texts), "CCO", "one finite number"),
    ],
)
def test_what_has_no_atoms_or_no_numbers_is_refused(function: Any, smiles: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        atom_contributions(function, smiles)
