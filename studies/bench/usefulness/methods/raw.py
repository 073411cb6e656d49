"""No representation: the inputs themselves, or the rows of the Gram matrix as distances."""

from __future__ import annotations

from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM = "raw inputs", False, True


def fit(task, p: int, seed: int) -> Coder:
    """For a Gram matrix: coordinates of the training items, which keep all distances, and projections of new ones."""
    if not task.gram:
        return Coder(lambda X: X)
    from sklearn.decomposition import KernelPCA

    model = KernelPCA(None, kernel="precomputed", eigen_solver="dense").fit(task.train)
    return Coder(model.transform)
