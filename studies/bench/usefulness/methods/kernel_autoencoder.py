"""Our autoencoder with its defaults."""

from __future__ import annotations

from rkhs import KernelAutoencoder
from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM = "KernelAutoencoder", True, True


def fit(task, p: int, seed: int) -> Coder:
    """Defaults only. ``plain`` measures the same model without refined codes."""
    model = KernelAutoencoder(p, kernel="precomputed" if task.gram else "auto").fit(task.train)

    def plain(X):
        return model.set_params(refine=False).reconstruction_error(X)

    return Coder(model.transform, model.reconstruction_error, plain)
