"""Contrastive codes of circles and moons
======================================

What each contrastive loss learns on circles and moons (after Figure 1 of the representation-learning paper). The titles
say how many of the hidden labels three nearest neighbours find from ten known labels.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, scatter
from sklearn.datasets import make_circles, make_moons
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelContrastive, KernelPCA
from rkhs.kernels import Gaussian


def main(n: int = 300) -> dict[str, float]:
    toys = {
        "circles": make_circles(n, factor=0.5, noise=0.05, random_state=0),
        "moons": make_moons(n, noise=0.05, random_state=0),
    }
    kernel = Gaussian(10.0)
    models = {
        "kernel PCA": KernelPCA(2, kernel=kernel),
        "simple": KernelContrastive(2, kernel=kernel),
        "spectral": KernelContrastive(2, kernel=kernel, loss="spectral"),
        "pairs from 10 labels": KernelContrastive(1, kernel=kernel, pairs="class"),
    }
    figure, axes = plt.subplots(2, 5, figsize=(11, 5.2), layout="constrained")
    result = {}
    for row, (toy, (X, y)) in enumerate(toys.items()):
        scatter(axes[row, 0], X, y, toy, "coolwarm")
        axes[row, 0].set(xticks=[], yticks=[])
        few = np.concatenate([np.flatnonzero(y == c)[:5] for c in (0, 1)])
        hidden = np.full(len(y), -1)
        hidden[few] = y[few]
        for column, (name, model) in enumerate(models.items(), start=1):
            Z = model.fit(X, hidden).transform(X)
            others = np.setdiff1d(np.arange(len(y)), few)
            score = KNeighborsClassifier(3).fit(Z[few], y[few]).score(Z[others], y[others])
            result[f"{toy}, {name}"] = float(score)
            shown = Z if Z.shape[1] == 2 else np.c_[Z, y + 0.1 * np.random.default_rng(0).normal(size=len(y))]
            axes[row, column].scatter(shown[:, 0], shown[:, 1], c=y, cmap="coolwarm", s=10)
            axes[row, column].set_title(f"{name}\nlabels found: {score:.0%}", fontsize=10)
            axes[row, column].set(xticks=[], yticks=[])
            if Z.shape[1] == 1:
                axes[row, column].set(xlabel="the one code", ylabel="class")
            print(f"{toy}, {name}: 3 nearest neighbours with 10 labels get {score:.3f} right")
    save(figure, "contrastive_toys")
    return result


if __name__ == "__main__":
    main()
