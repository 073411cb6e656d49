"""How often decoding finds the right molecule among many, by features and by codes, a new one or a training one.

Run: RKHS_DATA=... ./dev bench decoding [--rows 600] [--candidates 1500]. Codes of Morgan fingerprints are predicted
from other fingerprints of the molecules (FP2) by ridge regression, those of training molecules without their own row.
The candidates are the training molecules and others. Printed in percent: the truth is first, and among the first ten.
"esol", "lipophilicity" and "bbbp" were looked at while the default was chosen, "qm7" and "nci" were not.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.estimators import Ranking
from rkhs.kernels import Tanimoto
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

SETS = ("esol", "lipophilicity", "bbbp", "qm7", "nci")
TRUTHS = 150


def fingerprints(folder: Path, name: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Morgan and FP2 bits of different molecules, in random order."""
    stored = np.load(folder / ("nci_cancer" if name == "nci" else name) / "fingerprints.npz")
    morgan = np.unpackbits(stored["morgan"], axis=1)
    chosen = np.random.default_rng(0).permutation(np.unique(morgan, axis=0, return_index=True)[1])[:rows]
    return morgan[chosen].astype(float), np.unpackbits(stored["fp2"], axis=1)[chosen].astype(float)


def predicted(K: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes by ridge regression: of training rows from the others, and of all other rows."""
    n, mean = len(codes), codes.mean(0)
    inverse = np.linalg.inv(K[:n] + 1e-2 * np.eye(n))
    coefficients = inverse @ (codes - mean)
    return codes - coefficients / np.diag(inverse)[:, None], K[n:] @ coefficients + mean


def found(ranking: Ranking, truth: np.ndarray) -> str:
    places = np.argmax(ranking.indices == truth[:, None], axis=1)
    return f"{100 * (places < 1).mean():3.0f} {100 * (places < 10).mean():3.0f}"


def main() -> None:
    arguments = bench_arguments(__doc__, rows=600, candidates=1500)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    n = arguments.rows
    makers: list[tuple[type, dict[str, Any]]] = [(KernelAutoencoder, {"output_kernel": "same"}), (KernelPCA, {})]
    print(f"{'':34}{'truth new':^22}{'truth trained':^22}{'trained, training items only':^28}")
    print(f"{'set':15}{'model':19}" + 3 * f"{'features':>11}{'codes':>11}")
    for name in SETS:
        bits, other = fingerprints(data_folder(), name, arguments.candidates)
        K = Tanimoto()(other, other[:n])
        for cls, options in makers:
            for p in (10, 50):
                model = cls(p, kernel="tanimoto", **options).fit(bits[:n])
                trained, new = predicted(K, model.codes_)
                m = min(TRUTHS, len(new))
                cells = []
                for codes, start, candidates in ((new, n, bits), (trained, 0, bits), (trained, 0, None)):
                    for by in ("features", "codes"):
                        ranking = model.decode(codes[:m], candidates, by=by)
                        cells.append(found(ranking, np.arange(start, start + m)))
                print(f"{name:15}{cls.__name__ + f' {p}':19}" + "".join(f"{cell:>11}" for cell in cells), flush=True)


if __name__ == "__main__":
    run_script(main)
