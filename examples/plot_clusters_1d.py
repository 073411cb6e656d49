"""Encoder and decoder while they learn
====================================

Two clusters on a line: encoder and decoder along the iterations (Figure 5 of the kernel autoencoder paper).

Points are drawn from Gaussians of standard deviation 0.1 around 0 and 2. The encoder learns to separate the clusters
and keeps some of the variation inside each. The decoder maps codes back to positions. Of a two-dimensional code of
one-dimensional points the second component hardly varies: one number is enough.
"""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from sklearn.exceptions import ConvergenceWarning

from rkhs import KernelAutoencoder
from rkhs.kernels import Gaussian
from studies.papers.shapes import clusters

STEPS = (1, 2, 4, 8, 16, 200)


def model(p: int, steps: int, seed: int) -> KernelAutoencoder:
    return KernelAutoencoder(
        p,
        kernel=Gaussian(1.0),
        decoder_kernel=Gaussian(1.0),
        reg=(1e-4, 1e-4),
        init="random",
        random_state=seed,
        max_iter=steps,
        refine=False,  # the encoder itself, which is a smooth function
    )


def main(n: int = 60) -> dict[str, float]:
    X, label = clusters(n, [[0.0], [2.0]], seed=0, spread=0.1)
    grid = np.linspace(-0.6, 2.6, 200)[:, None]
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    axes = axes.ravel()
    colours = plt.get_cmap("viridis_r")(np.linspace(0.0, 1.0, len(STEPS)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopped early on purpose
        fits = [model(1, steps, seed=1).fit(X) for steps in STEPS]
        other, flat = model(1, 200, seed=3).fit(X), model(2, 200, seed=0).fit(X)
    for fit, steps, colour in zip(fits, STEPS, colours, strict=True):
        axes[0].plot(grid, fit.transform(grid), color=colour, label=f"{steps}")
        line = np.linspace(fit.codes_.min() - 0.3, fit.codes_.max() + 0.3, 200)[:, None]
        axes[1].plot(line, fit.inverse_transform(line), color=colour, label=f"{steps}")
    axes[0].scatter(X[:, 0], np.zeros(n), c=label, cmap="coolwarm", marker="x", s=16)
    axes[0].set(xlabel="x", ylabel="code", title="encoder along the iterations")
    axes[1].set(xlabel="code", ylabel="x", title="decoder along the iterations")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", title="iterations")
    axes[2].scatter(X[:, 0], other.codes_[:, 0], c=label, cmap="coolwarm", s=16)
    axes[2].set(xlabel="x", ylabel="code", title="1-D codes from another start")
    axes[3].scatter(*flat.codes_.T, c=label, cmap="coolwarm", s=16)
    axes[3].axis("equal")  # one scale: the second code hardly varies, if it does
    axes[3].set(xlabel="code 1", ylabel="code 2", title="2-D codes of 1-D points")
    save(figure, "clusters_1d")
    spread = X.var()
    result = {
        f"{steps} iterations": float(f.reconstruction_error(X).mean() / spread)
        for f, steps in zip(fits, STEPS, strict=True)
    }
    for name, error in result.items():
        print(f"{name}: share of variance not rebuilt {error:.4f}")
    return result


if __name__ == "__main__":
    main()
