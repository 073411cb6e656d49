"""Types of the arguments of estimators, and the objects that names stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rkhs._core.errors import InputError, quote
from rkhs.augment import Augmentation
from rkhs.constraints import CodeSet, as_constraint
from rkhs.engines import Engine, make_engine
from rkhs.kernels import Kernel, OperatorKernel
from rkhs.kernels.registry import as_kernel
from rkhs.losses import Loss, as_loss
from rkhs.solvers import GapSolver, Solver
from rkhs.solvers.registry import named_solver
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
    "spectrum",
    "positions",
    "mismatch",
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
"""Name of a kernel."""

KernelLike = KernelName | Kernel | Callable[..., float]
"""A name, a kernel, or a function of two items."""

OperatorKernelLike = KernelLike | OperatorKernel | Sequence[tuple[KernelLike, ArrayLike | None]]
"""One kernel, or pairs of a kernel and an operator."""

Seed = int | np.random.RandomState | None
"""Seed of random numbers."""

LossLike = Loss | Literal["squared", "squared_epsilon_insensitive", "epsilon_insensitive", "huber"]
"""Loss of a residual."""

StorageLike = Storage | Literal["dense"]
"""How Gram matrices are kept."""

EngineLike = Engine | Literal["serial", "threads", "dask"] | None
"""Engine that computes blocks of rows."""

ConstraintLike = CodeSet | Literal["none", "sphere", "ball", "whiten", "soft"]
"""Constraint on the codes of an autoencoder."""

AutoencoderSolverLike = Solver | Literal["lbfgs", "adam", "gradient_descent", "alternating"]
"""How an autoencoder is fitted."""

StiefelSolverLike = (
    Solver
    | Literal[
        "subspace",
        "riemannian_lbfgs",
        "projected_gradient",
        "cayley_adam",
        "penalty_lbfgs",
        "penalty_adam",
    ]
)
"""How a deep machine is fitted."""

MachineSolverLike = GapSolver | Literal["auto", "direct", "admm", "fista", "proximal_gradient"]
"""How an operator-valued machine is fitted."""

AugmentLike = Augmentation | Callable[..., object] | Literal["gaussian_noise", "jitter", "random_shift"]
"""A random change of items."""

Columns = Literal["raw", "scaled", "integral", "filled", "ranked"]
"""Units of the columns."""

TABLES: dict[str, Literal["standard", "ranks"]] = {"filled": "standard", "ranked": "ranks"}
"""How numbers are read where the columns are those of a table with texts and gaps."""

Device = Literal["cpu", "auto", "cuda", "mps"]
"""Where a fit is computed."""

Dtype = Literal["float64", "float32"]
"""Precision of a computation."""

_STANDS_FOR: dict[str, Callable[[Any], object]] = {
    "constraint": as_constraint,
    "engine": make_engine,
    "kernel": as_kernel,
    "loss": as_loss,
    "solver": named_solver,
}


def check_nested(asked: Iterable[str], parameters: Mapping[str, Any]) -> None:
    """Refuse ``solver__tol`` where ``solver`` is a name: only objects have parameters of their own."""
    for key in asked:
        name, nested, _ = key.partition("__")
        if not nested or name not in parameters or hasattr(parameters[name], "get_params"):
            continue
        given, example = parameters[name], ""
        with suppress(InputError, KeyError):  # an unknown name has no example
            example = f" (for {given!r}: {_STANDS_FOR[name](given)!r})"
        raise InputError(
            f"{key} is a parameter of an object; got {name}={quote(given)}: give {name} an object{example}"
        )
