"""The types of what users pass to estimators."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from rkhs._core.arrays import Items
from rkhs.engines import Checkpoint
from rkhs.kernels import Kernel, OperatorKernel

__all__ = ["CheckpointLike", "Items", "KernelLike", "OperatorKernelLike", "Seed"]

KernelLike = str | Kernel | Callable[..., float]
"""A name, a kernel, or a function of two items."""

OperatorKernelLike = KernelLike | OperatorKernel | Sequence[tuple[KernelLike, ArrayLike | None]]
"""One kernel, or pairs of a kernel and an operator."""

CheckpointLike = str | os.PathLike[str] | Checkpoint | None
"""A file that a fit can go on from."""

Seed = int | np.random.RandomState | None
"""Of random numbers."""
