"""Kernel PCA of scikit-learn: bandwidth and ridge of its way back chosen on a quarter of the rows, then refitted."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.decomposition import KernelPCA

from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM = "KernelPCA (scikit-learn), tuned", False, True

GAMMAS, ALPHAS = (0.1, 0.3, 1.0, 3.0), (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def fit(task, p: int, seed: int) -> Coder:
    """Twenty settings; with a Gram matrix there is nothing to choose and the way back is the projection."""
    if task.gram:
        return of_gram(task, p)
    X = task.train
    order = np.random.default_rng(seed).permutation(len(X))
    cut = max(2, len(X) // 4)
    held, kept = X[order[:cut]], X[order[cut:]]
    sample = kept[:500]
    unit = float(np.median(pdist(sample, "sqeuclidean"))) or 1.0
    best = (np.inf, 1.0, 1.0)
    for gamma in GAMMAS:
        for alpha in ALPHAS:
            model = _model(p, gamma / unit, alpha).fit(kept)
            error = float(((held - model.inverse_transform(model.transform(held))) ** 2).sum())
            best = min(best, (error, gamma, alpha))
    model = _model(p, best[1] / unit, best[2]).fit(X)
    return Coder(model.transform, lambda Y: ((Y - model.inverse_transform(model.transform(Y))) ** 2).sum(1))


def of_gram(task, p: int) -> Coder:
    """Squared norm of the centred feature less that of its projection."""
    model = KernelPCA(p, kernel="precomputed", eigen_solver="dense").fit(task.train)
    return Coder(model.transform, lambda K: task.spread(K) - (model.transform(K) ** 2).sum(1))


def _model(p: int, gamma: float, alpha: float) -> KernelPCA:
    return KernelPCA(p, kernel="rbf", gamma=gamma, alpha=alpha, fit_inverse_transform=True, eigen_solver="dense")
