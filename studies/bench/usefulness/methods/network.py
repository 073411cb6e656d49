"""A fully connected autoencoder: activation, learning rate and epoch chosen on a part of the rows."""

from __future__ import annotations

from functools import cache

import numpy as np

from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM, SLOW = "network", False, False, True


@cache
def warm_up() -> None:
    """The first step imports much that belongs to no data set."""
    from studies.networks import NetworkAutoencoder

    NetworkAutoencoder(2, max_epochs=1).fit(np.random.default_rng(0).normal(size=(20, 3)))


def fit(task, p: int, seed: int) -> Coder:
    """Two hidden layers of 64 on each side, the best epoch of six runs of 2,000: tanh or ReLU, three rates."""
    from studies.networks import NetworkAutoencoder

    model = NetworkAutoencoder(p, random_state=seed).fit(task.train)
    return Coder(model.transform, model.reconstruction_error)
