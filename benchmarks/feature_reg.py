"""Why the default reg of K2AE depends on the number of components: held-out molecules of three sets.

Run: RKHS_DATA=... ./dev bench feature_reg. Tanimoto kernel on Morgan bits, 400 training and 200 held-out molecules of
bbbp, esol and lipophilicity; none of them is a set that the demo scores. Printed: share of the variance of the features
that is rebuilt on held-out molecules, a column a pair (encoder reg, decoder reg).
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder
from rkhs.evaluation.reconstruction import reconstruction
from rkhs.kernels import Tanimoto

REGS = ((1e-5, 1e-3), (1e-4, 1e-3), (1e-3, 1e-3), (1e-3, 1e-2), (1e-5, 1e-2))


def main() -> None:
    if "RKHS_DATA" not in os.environ:
        raise SystemExit("set RKHS_DATA to the folder of the benchmark data")
    print(f"{'set':14s} components  " + "  ".join(f"({a:.0e}, {b:.0e})" for a, b in REGS))
    for name in ("bbbp", "esol", "lipophilicity"):
        bits = np.load(Path(os.environ["RKHS_DATA"]) / name / "fingerprints.npz")["morgan"]
        X = np.unpackbits(bits, axis=1).astype(float)
        order = np.random.default_rng(0).permutation(len(X))
        train, held_out = X[order[:400]], X[order[400:600]]
        for p in (1, 2, 3, 5, 10):
            shares = []
            for reg in REGS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model = KernelAutoencoder(p, kernel=Tanimoto(), output_kernel="same", reg=reg).fit(train)
                shares.append(reconstruction(model, held_out).share)
            print(f"{name:14s} {p:10d}  " + "  ".join(f"{share:14.3f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
