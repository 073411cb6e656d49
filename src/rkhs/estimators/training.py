"""What a fit is given, read once: items, targets and weights in the form that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import check_items, to_tensor
from rkhs._core.checks import check_gram
from rkhs._core.errors import InputError
from rkhs._core.ownership import own
from rkhs.augment import GaussianNoise, augmented
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.kernels.base import Kernel

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = ["Training", "read_targets"]


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


def read_targets(model: KernelAutoencoder, targets: Any, items: Any, kernel: Kernel, settings: Settings) -> Any:
    """The targets in the form that the output reads; the items themselves if none are given."""
    n, output_kernel = len(items), settings.output_kernel
    domain = kernel.domain if output_kernel is None else output_kernel.domain
    if targets is None:
        if settings.features and output_kernel is not None and output_kernel.domain != kernel.domain:
            raise InputError(
                f"output_kernel reads {domain}, kernel reads {kernel.domain}; pass fit(X, targets=...) that it can read"
            )
        return items
    if model.column_scales_ is not None:
        raise InputError(
            "columns='scaled' scales the rows that are rebuilt; with targets= scale both before fit, and use "
            "columns='raw'"
        )
    if settings.features and domain == "objects":
        assert output_kernel is not None
        read: Any = own(output_kernel.read(check_items(targets, "targets")))
    else:
        read = model._read_matrix(targets, "targets", shape="(n, {q})")
        if settings.features and domain == "gram":
            read = to_tensor(check_gram(read.cpu().numpy(), "targets (kernel='precomputed')"), **model._options)
    if len(read) != n:
        raise InputError(f"targets must have one row a row of X, {n}; got {len(read)}")
    return read
