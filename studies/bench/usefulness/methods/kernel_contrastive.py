"""Our contrastive codes from neighbours, with their defaults; nothing is rebuilt."""

from __future__ import annotations

from rkhs import KernelContrastive
from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM = "KernelContrastive", True, True


def fit(task, p: int, seed: int) -> Coder:
    """Defaults only."""
    model = KernelContrastive(p, kernel="precomputed" if task.gram else "gaussian", random_state=seed)
    return Coder(model.fit(task.train).transform)
