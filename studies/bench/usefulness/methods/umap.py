"""UMAP with its defaults; nothing is rebuilt. Left out where it is not installed."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec

import numpy as np

from studies.bench.usefulness.methods import Coder

NAME, OURS, GRAM, SLOW = "UMAP", False, False, True
INSTALLED = find_spec("umap") is not None


@cache
def warm_up() -> None:
    """Importing and compiling take half a minute that belongs to no data set."""
    warnings.simplefilter("ignore")
    from umap import UMAP

    UMAP(n_epochs=2, random_state=0, n_jobs=1).fit(np.random.default_rng(0).normal(size=(40, 3)))


def fit(task, p: int, seed: int) -> Coder:
    """Fifteen neighbours, as its authors set it."""
    warnings.simplefilter("ignore")
    from umap import UMAP

    model = UMAP(n_components=p, random_state=seed, n_jobs=1).fit(task.train)
    return Coder(model.transform, train_codes=model.embedding_)
