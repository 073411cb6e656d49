"""Is the kernel of mass spectra better normalised? ``InputOutputKernelRegressor`` finds molecules of new spectra.

Run: RKHS_DATA=... ./dev bench mass_spectra [--rows 800] [--test 300]. massbank_pos, thirty candidates a spectrum, the
Gaussian of the Tanimoto distance on fingerprints, the regulariser by leave-one-out errors. "lost" is the leave-one-out
error as a share of the variance; "top-k" with the standard error of counting, over spectra.
"""

from __future__ import annotations

import numpy as np

from rkhs import InputOutputKernelRegressor
from rkhs.kernels import GaussianOf, Normalized, ProbabilityProduct, Tanimoto
from rkhs.metrics import truth_ranks
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import run_script
from studies.harness.spectra import load_spectra


def main() -> None:
    arguments = bench_arguments(__doc__, rows=800, test=300)
    data = load_spectra(arguments.rows, arguments.test)
    print(f"{'kernel':34}{'lost':>8}{'top-1':>16}{'top-10':>16}{'reciprocal rank':>18}")
    for kernel in (ProbabilityProduct(), Normalized(ProbabilityProduct())):
        model = InputOutputKernelRegressor(kernel, output_kernel=GaussianOf(Tanimoto(), gamma=0.72))
        model.fit(data.train, data.fingerprints)
        scores = model.scores(data.test, data.pool)
        ranks = truth_ranks(list(np.take_along_axis(scores, data.candidates, axis=1)), data.truth)
        cells = [f"{model.leave_one_out_error_:8.3f}"]
        for hits in (ranks <= 1, ranks <= 10, 1.0 / ranks):
            cells.append(f"{hits.mean():9.3f} +- {hits.std() / len(hits) ** 0.5:.3f}")
        print(f"{kernel!r:34}" + "".join(cells), flush=True)


if __name__ == "__main__":
    run_script(main)
