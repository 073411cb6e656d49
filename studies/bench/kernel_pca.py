"""Kernel PCA with an inverse: our fit beside scikit-learn's at its fastest eigensolver (goal 10).

Run: ./dev bench kernel_pca [--sizes 2000 5000] [--rounds 5]. Ten components, the same Gaussian kernel on inputs and
codes, the same ridge penalty. Also timed: our defaults, whose kernel on the codes takes a median of distances, and
9 components, where scikit-learn still chooses Lanczos.
"""

from __future__ import annotations

import statistics

import numpy as np
import torch
from sklearn.decomposition import KernelPCA as TheirKernelPCA

from rkhs import KernelPCA
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments
from studies.harness.timing import describe, interleaved, ratio, verdict


def main() -> None:
    arguments = bench_arguments(__doc__, sizes=[2000, 5000], rounds=3)
    torch.set_num_threads(1)
    for n in arguments.sizes:
        rng = np.random.default_rng(0)
        X = np.sin(rng.normal(size=(n, 10)) @ rng.normal(size=(10, 50)) / 2.0) + 0.05 * rng.normal(size=(n, 50))
        gamma = 1.0 / 50.0
        alpha = 1e-3
        common = {"kernel": "rbf", "gamma": gamma, "fit_inverse_transform": True, "alpha": alpha}
        same = {"kernel": Gaussian(gamma), "decoder_kernel": Gaussian(gamma), "reg": alpha / n}
        models = {
            "rkhs": KernelPCA(10, **same),
            "rkhs, 9 components": KernelPCA(9, **same),
            "rkhs, defaults": KernelPCA(10, kernel=Gaussian(gamma)),
            "scikit-learn arpack": TheirKernelPCA(10, eigen_solver="arpack", **common),
            "scikit-learn randomized": TheirKernelPCA(10, eigen_solver="randomized", random_state=0, **common),
            "scikit-learn auto": TheirKernelPCA(10, eigen_solver="auto", **common),
        }
        rounds = arguments.rounds if n < 4000 else min(arguments.rounds, 2)
        fits = {name: (lambda m=model, X=X: m.fit(X)) for name, model in models.items()}
        times = interleaved(fits, rounds, warm_up=False)
        print(f"\nn = {n}, 10 components with inverse")
        for name, values in times.items():
            print(f"  {name:26s} {describe(values)}")
        gap = np.abs(models["rkhs"].eigenvalues_ / models["scikit-learn arpack"].eigenvalues_ - 1.0).max()
        print(f"  largest relative difference of eigenvalues from scikit-learn's: {gap:.1e}")
        rebuilt = models["rkhs"].inverse_transform(models["rkhs"].transform(X[:200]))
        theirs_rebuilt = models["scikit-learn arpack"].inverse_transform(
            models["scikit-learn arpack"].transform(X[:200])
        )
        apart = np.linalg.norm(rebuilt - theirs_rebuilt) / np.linalg.norm(theirs_rebuilt)
        print(f"  relative difference of what both rebuild: {apart:.1e}")
        theirs = min(
            (name for name in times if name.startswith("scikit")), key=lambda name: statistics.median(times[name])
        )
        gain = statistics.median(ratio(times[theirs], times["rkhs"]))
        print(verdict(f"n = {n}: time of {theirs} / ours", gain, 2.5, 5.0, smaller=False))


if __name__ == "__main__":
    main()
