"""Representations, one file each: a module with ``NAME``, ``OURS``, ``GRAM`` and ``fit``; every module here is found.

``fit(task, p, seed)`` gets ``task.train`` (vectors, or a Gram matrix with ``task.gram``) and returns a
:class:`Coder`. A method that selects does so on parts of these rows. ``GRAM`` says whether Gram matrices can be read.
Optional: ``INSTALLED``; ``SLOW``, measured after the others; ``warm_up()``, what is done once and not timed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np


@dataclass(frozen=True)
class Coder:
    """A fitted representation.

    ``encode(X)`` gives codes of new rows; ``errors(X)`` their squared reconstruction errors, None where nothing is
    rebuilt; ``plain`` those of the codes before refinement; ``train_codes`` those of the training rows if they are
    not ``encode`` of them.
    """

    encode: Callable[[np.ndarray], np.ndarray]
    errors: Callable[[np.ndarray], np.ndarray] | None = None
    plain: Callable[[np.ndarray], np.ndarray] | None = None
    train_codes: np.ndarray | None = None


def all_methods() -> Iterator[ModuleType]:
    """Every method."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        yield importlib.import_module(f"{__name__}.{module.name}")
