"""The types of what users pass to estimators."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rkhs._core.arrays import Items
from rkhs.constraints.sphere import CodeSet
from rkhs.engines import Checkpoint, Engine
from rkhs.features import Storage
from rkhs.kernels import Kernel, OperatorKernel
from rkhs.losses import Loss
from rkhs.solvers import Solver

__all__ = [
    "AutoencoderSolverLike",
    "CheckpointLike",
    "ConstraintLike",
    "Device",
    "Dtype",
    "EngineLike",
    "Items",
    "KernelLike",
    "LossLike",
    "OperatorKernelLike",
    "Seed",
    "StorageLike",
]

KernelLike = str | Kernel | Callable[..., float]
"""A name, a kernel, or a function of two items."""

OperatorKernelLike = KernelLike | OperatorKernel | Sequence[tuple[KernelLike, ArrayLike | None]]
"""One kernel, or pairs of a kernel and an operator."""

CheckpointLike = str | os.PathLike[str] | Checkpoint | None
"""A file that a fit can go on from."""

Seed = int | np.random.RandomState | None
"""Of random numbers."""

LossLike = Loss | Literal["squared", "squared_epsilon_insensitive", "epsilon_insensitive", "huber"]
"""Of a residual."""

StorageLike = Storage | Literal["dense"]
"""How Gram matrices are kept."""

EngineLike = Engine | Literal["serial", "threads", "dask"] | None
"""Who computes blocks of rows."""

ConstraintLike = CodeSet | Literal["none", "sphere", "ball", "whiten", "soft"]
"""Where codes of an autoencoder are kept."""

AutoencoderSolverLike = (
    Solver | Literal["lbfgs", "adam", "gradient_descent", "alternating", "minibatch", "doubly_stochastic"]
)
"""How an autoencoder is fitted."""

Device = Literal["cpu", "auto", "cuda", "mps"]
"""Where a fit is computed."""

Dtype = Literal["float64", "float32"]
"""Precision of a computation."""
