"""Rows left out by groups in place of one by one: the choice of ``reg``, and what its error says of new groups.

Run: RKHS_DATA=... ./dev bench groups [--molecules 800] [--splits 10]. Molecules of sets of MoleculeACE, Tanimoto kernel
of Morgan bits. A group is a scaffold (Murcko); a third of the scaffolds is held out. Printed: the share of the variance
that is lost on the molecules of the new scaffolds, for `reg` by molecules left out in turn and by scaffolds, the mean
over splits of their ratio, and the `leave_one_out_error_` of both. Nothing was chosen on these sets.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from rkhs import OperatorKernelRegressor
from rkhs.data import molecular_fingerprints
from rkhs.kernels import Tanimoto
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

SETS = ("CHEMBL204_Ki", "CHEMBL214_Ki", "CHEMBL233_Ki", "CHEMBL2835_Ki", "CHEMBL1871_Ki", "CHEMBL228_Ki")


def molecules(name: str, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bits, measured numbers and the scaffold of each molecule."""
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    table = pd.read_csv(data_folder() / "moleculeace" / f"{name}.csv")
    table = table.sample(min(most, len(table)), random_state=0)
    smiles = table["smiles"].tolist()
    bits = np.asarray(molecular_fingerprints(smiles).bits, dtype=float)
    return bits, table["y"].to_numpy(), np.unique([MurckoScaffoldSmiles(one) for one in smiles], return_inverse=True)[1]


def errors(X: np.ndarray, y: np.ndarray, scaffolds: np.ndarray, seed: int) -> tuple[float, ...]:
    """On new scaffolds and left out, by molecules and by scaffolds."""
    order = np.random.default_rng(seed).permutation(scaffolds.max() + 1)
    new = np.isin(scaffolds, order[: len(order) // 3])
    rows, groups = (
        OperatorKernelRegressor(Tanimoto()).fit(X[~new], y[~new], groups=known) for known in (None, scaffolds[~new])
    )
    lost = [((model.predict(X[new]) - y[new]) ** 2).mean() / y[new].var() for model in (rows, groups)]
    assert rows.leave_one_out_error_ is not None
    assert groups.leave_one_out_error_ is not None
    return *lost, lost[1] / lost[0], rows.leave_one_out_error_, groups.leave_one_out_error_


def main() -> None:
    arguments = bench_arguments(__doc__, molecules=800, splits=10)
    torch.set_num_threads(1)
    print(f"{'set':16}{'scaffolds':>10}{'by rows':>9}{'by groups':>10}{'ratio':>7}   left out: rows, groups")
    for name in SETS:
        X, y, scaffolds = molecules(name, arguments.molecules)
        mean = np.mean([errors(X, y, scaffolds, seed) for seed in range(arguments.splits)], axis=0)
        print(f"{name:16}{scaffolds.max() + 1:10}" + "".join(f"{value:9.3f}" for value in mean), flush=True)


if __name__ == "__main__":
    run_script(main)
