"""Our kernel PCA with its defaults."""

from __future__ import annotations

from rkhs import KernelPCA
from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM = "KernelPCA", True, True


def fit(task, p: int, seed: int) -> Coder:
    """Defaults only."""
    model = KernelPCA(p, kernel="precomputed" if task.gram else "gaussian").fit(task.train)
    return Coder(model.transform, model.reconstruction_error)
