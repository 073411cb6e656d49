"""The types of what users pass to estimators."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rkhs.augment import Augmentation
from rkhs.constraints.sphere import CodeSet
from rkhs.engines import Checkpoint, Engine
from rkhs.kernels import Kernel, OperatorKernel
from rkhs.losses import Loss
from rkhs.solvers import GapSolver, Solver
from rkhs.spaces.features import Storage

KernelName = Literal[
    "gaussian",
    "rbf",
    "laplacian",
    "mass_spectrum",
    "matern",
    "linear",
    "cosine",
    "polynomial",
    "poly",
    "arccosine",
    "ntk",
    "tanimoto",
    "minmax",
    "mean_embedding",
    "mixed_table",
    "functional_gaussian",
    "functional_laplacian",
    "weisfeiler_lehman",
    "wl",
    "shortest_path",
    "sp",
    "random_walk",
    "rw",
    "spectrum",
    "mismatch",
    "gappy",
    "shift_invariant",
    "sink",
    "global_alignment",
    "gak",
    "dynamic_time_warping",
    "dtw",
    "molecules",
    "molecule_tanimoto",
    "precomputed",
]
"""Of a kernel."""

KernelLike = KernelName | Kernel | Callable[..., float]
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

StiefelSolverLike = (
    Solver
    | Literal[
        "subspace",
        "riemannian_lbfgs",
        "riemannian_cg",
        "projected_gradient",
        "cayley_adam",
        "penalty_lbfgs",
        "penalty_adam",
    ]
)
"""How a deep machine is fitted."""

MachineSolverLike = GapSolver | Literal["auto", "direct", "admm", "fista", "block_coordinate", "proximal_gradient"]
"""How an operator-valued machine is fitted."""

AugmentLike = (
    Augmentation
    | Callable[..., object]
    | Literal["gaussian_noise", "jitter", "random_crop", "random_shift", "random_flip", "time_warp", "bit_dropout"]
)
"""A random change of items."""

Columns = Literal["raw", "scaled", "integral", "filled"]
"""Units of the columns."""

Psd = Literal["clip", "raise"]
"""What becomes of negative eigenvalues."""

Device = Literal["cpu", "auto", "cuda", "mps"]
"""Where a fit is computed."""

Dtype = Literal["float64", "float32"]
"""Precision of a computation."""
