"""Do the parts of atoms in a prediction agree with what chemists know of atoms?

Run: RKHS_DATA=... ./dev bench atoms [--rows 800] [--new 200] [--shuffles 20]. A machine learns how well molecules
dissolve in water (esol), or in octanol beside water (lipophilicity). The oracle was made without us: the contribution
of each kind of atom to log P by Wildman and Crippen (1999), in RDKit. Printed, over the atoms of new molecules: the
slope of parts against the oracle, which is to be negative for water and positive for octanol; the same of machines that
learned shuffled targets; and the mean part of each kind of atom.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from rdkit import Chem
from rdkit.Chem import rdMolDescriptors

from rkhs import OperatorKernelRegressor
from rkhs.evaluation import atom_contributions
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script


def oracle(smiles: str) -> np.ndarray:
    """Contributions (atoms,) to log P."""
    return np.array(rdMolDescriptors._CalcCrippenContribs(Chem.MolFromSmiles(smiles)))[:, 0]


def slope(parts: list[np.ndarray], known: list[np.ndarray]) -> float:
    """Of the line of least squares from the oracle to parts, over all atoms."""
    return float(np.polyfit(np.concatenate(known), np.concatenate(parts), 1)[0])


def parts_of(fit: list[str], y: np.ndarray, new: list[str]) -> list[np.ndarray]:
    """Parts of the atoms of new molecules, of the default machine."""
    model = OperatorKernelRegressor("molecules").fit(fit, y)
    return [atom_contributions(model.predict, one) for one in new]


def kinds(molecules: list[str], parts: list[np.ndarray]) -> pd.Series:
    """Mean part of kinds of atoms with at least thirty members."""
    rows = []
    for smiles, values in zip(molecules, parts, strict=True):
        for atom, value in zip(Chem.MolFromSmiles(smiles).GetAtoms(), values, strict=True):
            ring, hydrogen = " in an aromatic ring" * atom.GetIsAromatic(), atom.GetTotalNumHs() > 0
            rows.append((f"{atom.GetSymbol()}{'H' * (hydrogen and atom.GetSymbol() in 'NO')}{ring}", value))
    grouped = pd.DataFrame(rows, columns=["kind", "part"]).groupby("kind").part
    return grouped.mean()[grouped.size() >= 30].sort_values()


def main() -> None:
    args = bench_arguments(__doc__, rows=800, new=200, shuffles=20)
    for name in ("esol", "lipophilicity"):
        table = pd.read_csv(data_folder() / name / "data.csv")
        order = np.random.default_rng(0).permutation(len(table))
        smiles, y = table.smiles.to_numpy()[order], table.iloc[:, -1].to_numpy(float)[order]
        fit, new = list(smiles[: args.rows]), list(smiles[-args.new :])
        known = [oracle(one) for one in new]
        found = parts_of(fit, y[: args.rows], new)
        dice = np.random.default_rng(1)
        shuffled = [slope(parts_of(fit, dice.permutation(y[: args.rows]), new), known) for _ in range(args.shuffles)]
        print(
            f"{name}: slope {slope(found, known):.3f}; of shuffled targets {np.mean(shuffled):.3f}, "
            f"standard deviation {np.std(shuffled, ddof=1):.3f}, largest {np.abs(shuffled).max():.3f}"
        )
        print(kinds(new, found).round(2).to_string())


if __name__ == "__main__":
    run_script(main)
