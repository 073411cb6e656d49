"""Parameters: good values of every class in a small table, and hostile ones for any."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from rkhs.augment import GaussianNoise
from rkhs.constraints import SoftSphere
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from rkhs.losses import EpsilonInsensitive, Huber, Power, SquaredEpsilonInsensitive
from rkhs.solvers import LBFGS, Adam, Alternating
from studies.reliability.fuzz.case import Case

HOSTILE: list[Any] = [
    None,
    "x",
    "",
    b"x",
    -1,
    0,
    -0.0,
    1.5,
    -1e-3,
    float("nan"),
    float("inf"),
    -float("inf"),
    1e300,
    1e-300,
    10**400,
    10**9,
    True,
    False,
    (),
    [],
    {},
    (1.0, 1.0),
    [0.1, "a"],
    (0,),
    np.array([1.0, 2.0]),
    np.array([np.nan]),
    np.float32(0.5),
    np.int64(2),
    1 + 1j,
    object(),
    int,
]
# Values that would only take long, or reach beyond this process: nothing is wrong with them.
LONG = {"n", "n_splits", "max_iter", "n_jobs", "n_init", "copies", "cv", "depth", "n_estimators", "n_bins"}
BEYOND = {"address", "device", "verbose"}

REGS = [1e-3, 1e-1, 1e-6]
ROBUST = ["huber", "epsilon_insensitive", Huber(0.5), EpsilonInsensitive(0.1), SquaredEpsilonInsensitive(0.1)]
VECTOR_KERNELS: list[Any] = [
    "gaussian",
    "linear",
    "matern",
    "laplacian",
    Gaussian("scale"),
    Gaussian(0.5),
    Matern(2.5, "1/d"),
    Laplacian("l2"),
    Linear("mean_norm", "mean"),
    Polynomial(2),
    0.5 * Gaussian() + Linear(),
]
CODE_KERNELS: list[Any] = ["auto", Gaussian(1.0), "linear", Matern(1.5, 1.0)]
FEW: dict[str, Any] = {"max_iter": 8}

# What a fit of each class is drawn from, beside its defaults.
GOOD: dict[str, dict[str, list[Any]]] = {
    "KernelAutoencoder": {
        "columns": ["scaled"],
        "n_components": [1, 2, (3, 2)],
        "decoder_kernel": CODE_KERNELS,
        "output_kernel": ["same", None],
        "linear_part": ["kernel", "auto"],
        "loss": ROBUST,
        "reg": [1e-3, (1e-2, 1e-4), 1e-8],
        "center": [False],
        "scale": [False],
        "solver": [
            "adam",
            "gradient_descent",
            "alternating",
            Adam(0.1),
            LBFGS(max_iter=3),
            Alternating(metric="plain"),
        ],
        "constraint": ["sphere", "ball", "whiten", "soft", SoftSphere(0.3)],
        "noise": [GaussianNoise(), GaussianNoise(0.1, relative=False, copies=2)],
        "init": ["random"],
        "n_init": [2],
        "refine": [False],
        "code_metric": [0.0, 1.0],
        "storage": [Nystroem(5), RandomFeatures(12)],
        "dtype": ["float32"],
    },
    "KernelPCA": {
        "columns": ["scaled"],
        "n_components": [1, 2, None, 0.9],
        "center": [False],
        "loss": ["huber", Huber(0.3), EpsilonInsensitive(0.05)],
        "preimage": ["fixed_point", "nearest"],
        "decoder_kernel": ["gaussian", "linear"],
        "reg": ["auto", 1e-3, 1e-10],
        "storage": ["blocked", Nystroem(5), RandomFeatures(12)],
        "dtype": ["float32"],
    },
    "DeepRKM": {
        "columns": ["scaled"],
        "n_components": [1, 2, (2, 1)],
        "decoder_kernel": ["gaussian", "matern"],
        "eta": [2.0],
        "center": [False],
        "code_scale": ["unit"],
        "out_of_sample": ["block"],
        "solver": ["riemannian_lbfgs", "cayley_adam", "projected_gradient"],
        "init": ["random"],
        "canonical": [False],
        "storage": [Nystroem(6)],
        "dtype": ["float32"],
    },
    "KernelContrastive": {
        "columns": ["scaled"],
        "n_components": [1, 3],
        "loss": ["spectral"],
        "n_neighbors": [1, 3],
        "pairs": ["augment"],
        "augment": ["gaussian_noise"],
        "negatives": ["permutation"],
        "reg": [0.1],
        "strict": [True],
        "storage": [Nystroem(5)],
        "dtype": ["float32"],
    },
    "OperatorKernelRegressor": {
        "columns": ["scaled"],
        "operator": ["covariance"],
        "loss": [*ROBUST, Power()],
        "reg": REGS,
        "center": [False],
        "solver": ["fista", "proximal_gradient"],
        "storage": [Nystroem(5), RandomFeatures(12)],
        "dtype": ["float32"],
    },
    "OperatorKernelRegressorCV": {
        "columns": ["scaled"],
        "loss": ROBUST,
        "regs": [[1e-2, 1e-1]],
        "gammas": [[0.5, 1.0]],
        "cv": [2, 3],
        "criterion": ["norm"],
        "center": [False],
    },
    "InputOutputKernelRegressor": {
        "output_kernel": ["gaussian", "linear"],
        "operator": ["covariance"],
        "loss": [*ROBUST, Power()],
        "reg": REGS,
        "center": [False],
        "decoding": ["candidates"],
        "dtype": ["float32"],
    },
    "FunctionalKernelRegressor": {
        "kernel": ["functional_gaussian", "gaussian"],
        "basis": ["fourier", "cosine_sine", "empirical"],
        "n_basis": [1, 2],
        "loss": ["squared", *ROBUST],
        "reg": REGS,
        "center": [False],
        "dtype": ["float32"],
    },
    "GramTransformer": {"dtype": ["float32"]},
    "Nystroem": {"m": [3, 6], "sampling": ["kmeans++", "leverage"], "random_state": [1]},
    "RandomFeatures": {"m": [4, 9], "orthogonal": [False], "random_state": [1]},
    "SmoothClassifier": {"gammas": [(0.5,)]},
    "SmoothRegressor": {"gammas": [(0.5,)]},
}
# Fewer steps, settings and folds than by default: thousands of fits must end.
BASE: dict[str, dict[str, Any]] = {
    "KernelAutoencoder": FEW,
    "DeepRKM": {"n_components": (2, 1), "max_iter": 15},
    "KernelContrastive": {},
    "OperatorKernelRegressorCV": {"regs": [1e-3, 1e-1], "cv": 2},
    "FunctionalKernelRegressor": {"n_basis": 2, "max_iter": 500},  # of up to 10,000 in single precision
    "OperatorKernelRegressor": {"max_iter": 500},
    "InputOutputKernelRegressor": {"max_iter": 500},
    "Nystroem": {"m": 5},
    "RandomFeatures": {"m": 8},
}


def hostile_value(case: Case, parameter: str) -> Any:
    """A value that no parameter was made for."""
    huge = parameter in LONG
    options = [v for v in HOSTILE if not (huge and isinstance(v, (int, np.integer)) and v not in (0, 1, -1, True))]
    return case.one_of(options)


def own_parameters(kind: type) -> list[str]:
    """Parameters of the constructor."""
    named = inspect.signature(kind.__init__).parameters.values()
    return [p.name for p in named if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def hostile_parameters(kind: type) -> list[str]:
    """Parameters that may be given such a value."""
    return [p for p in own_parameters(kind) if p not in BEYOND]


def good_parameters(case: Case, kind: type) -> dict[str, Any]:
    """Defaults made small, and up to three other good values."""
    table = GOOD.get(kind.__name__, {})
    chosen = {name: case.one_of(table[name]) for name in case.some_of(table, 3)}
    seeded = {"random_state": 0} if "random_state" in own_parameters(kind) else {}
    return {**seeded, **BASE.get(kind.__name__, {}), **chosen}
