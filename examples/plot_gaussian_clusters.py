"""Clusters on a line of codes
===========================

Gaussian clusters in the plane and their one-dimensional codes (Figure 6 of the kernel autoencoder paper).

The encoder separates the clusters along the line and keeps one direction of variation inside each.
"""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, scatter

from rkhs import KernelAutoencoder
from rkhs.kernels import Gaussian
from studies.papers.shapes import clusters

CENTRES = {"two": [[0.0, 0.0], [2.0, 2.0]], "three": [[0.0, 0.0], [2.5, 0.0], [1.2, 2.2]]}


def separation(codes: np.ndarray, label: np.ndarray) -> float:
    """Smallest gap between neighbouring clusters on the line, over the largest standard deviation inside one."""
    groups = sorted((codes[label == k] for k in np.unique(label)), key=np.mean)
    gaps = [b.min() - a.max() for a, b in itertools.pairwise(groups)]
    return float(min(gaps) / max(g.std() for g in groups))


def main(n: int = 120) -> dict[str, float]:
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    result = {}
    for row, (name, centres) in zip(axes, CENTRES.items(), strict=True):
        X, label = clusters(n, centres, seed=0, spread=0.25)
        model = KernelAutoencoder(
            1, kernel=Gaussian(0.5), decoder_kernel=Gaussian(1.0), reg=(1e-3, 1e-4), n_init=5, random_state=0
        )
        codes = model.fit(X).codes_[:, 0]
        scatter(row[0], X, codes, f"{name} clusters, coloured by code")
        row[1].scatter(codes, label, c=codes, cmap="viridis", s=16)
        row[1].set(xlabel="code", ylabel="cluster", yticks=np.unique(label))
        row[1].set_title("codes of each cluster", fontsize=10)
        result[name] = separation(codes, label)
        print(f"{name} clusters: smallest gap between codes of clusters, in standard deviations: {result[name]:.2f}")
    save(figure, "gaussian_clusters")
    return result


if __name__ == "__main__":
    main()
