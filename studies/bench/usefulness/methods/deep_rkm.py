"""Our deep restricted kernel machine with its defaults, the requested number of components over two layers."""

from __future__ import annotations

from rkhs import DeepRKM
from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM = "DeepRKM", True, False


def fit(task, p: int, seed: int) -> Coder:
    """``p`` codes in all: the upper layer has a third of them, at least one."""
    upper = max(1, p // 3)
    model = DeepRKM((p - upper, upper)).fit(task.train)
    return Coder(model.transform, lambda X: ((X - model.inverse_transform(model.transform(X))) ** 2).sum(1))
