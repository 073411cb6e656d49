"""Principal component analysis."""

from __future__ import annotations

from sklearn.decomposition import PCA

from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM = "PCA", False, False


def fit(task, p: int, seed: int) -> Coder:
    """Nothing to choose."""
    model = PCA(p, svd_solver="full").fit(task.train)
    return Coder(model.transform, lambda X: ((X - model.inverse_transform(model.transform(X))) ** 2).sum(1))
