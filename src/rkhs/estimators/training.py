"""What a fit is given, read once: items, targets and weights in the form that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs.augment import GaussianNoise, augmented

__all__ = ["Training"]


@dataclass(frozen=True, eq=False)
class Training:
    """Items of positive weight with their targets.

    Parameters
    ----------
    items : Tensor (n, d), Gram matrix (n, n), or list of n objects
    goal : same kinds
        The targets; the items themselves if they are their own.
    own : bool
        Whether they are.
    weights : Tensor of shape (n,) or None
        Sum to one; None: equal.
    total : float
        Sum of the weights as they were given; without weights the number of items.
    kept : ndarray of shape (n,) or None
        Numbers of these items among those that were given; None: all.
    n_given : int
        How many were given.
    """

    items: Any
    goal: Any
    own: bool
    weights: Tensor | None
    total: float
    kept: np.ndarray | None
    n_given: int

    def __len__(self) -> int:
        return len(self.items)

    def noisy(self, std: float, copies: int, seed: int) -> Training:
        """Noisy copies of the items, with the same targets; a copy depends on seed and number alone.

        Esser et al. (2024), remark 2.
        """
        noise, array = GaussianNoise(std, relative=False), self.items.cpu().numpy()
        stacked = np.concatenate([augmented(noise, array, seed, copy) for copy in range(copies)])
        weights = None if self.weights is None else self.weights.repeat(copies) / copies
        items = to_tensor(stacked, self.items.dtype, self.items.device)
        return replace(self, items=items, goal=self.goal.repeat(copies, 1), weights=weights)
