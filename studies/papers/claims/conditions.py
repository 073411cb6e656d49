"""The published conditions that several claims share, as parameters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from rkhs.kernels import Gaussian, Kernel
from rkhs.solvers import QuadraticPenalty

__all__ = ["DRKM", "DUAL", "KAE", "layer_wise_start", "normal_start", "penalty_adam"]

KAE: dict[str, Any] = {
    "center": False, "scale": False, "linear_part": "kernel", "refine": False, "code_metric": 0.0,
}  # fmt: skip
"""The autoencoder of 2019: no centring, no scaling, no free linear parts, codes in one pass."""

DRKM: dict[str, Any] = {
    "kernel": Gaussian(0.01), "decoder_kernel": Gaussian(0.01), "center": False, "code_scale": "unit",
    "out_of_sample": "paper", "canonical": False,
}  # fmt: skip
"""The deep machine of 2021 on images: sigma^2 = 50 in all layers."""

DUAL: dict[str, Any] = {"center": False, "tol": 1e-8}
"""The machines of 2020."""

_OUTER = {50: 2, 100: 2, 200: 4, 400: 7, 800: 7}


def penalty_adam(n: int) -> QuadraticPenalty:
    """The penalty method of 2021, appendix A.2, with as many outer iterations as printed for so many points."""
    outer = next((count for size, count in _OUTER.items() if n <= size), 7)
    return QuadraticPenalty(
        "adam", mu=1.0, growth=8.0, tau=0.1, max_outer=outer, max_iter=500, learning_rate=1e-3, feasible=False
    )


def normal_start(n: int, widths: tuple[int, ...], seed: int) -> np.ndarray:
    """Values from the standard normal distribution, section 4.1 of 2021."""
    return np.random.default_rng(seed).standard_normal((n, sum(widths)))


def layer_wise_start(X: np.ndarray, kernel: Kernel | Sequence[Kernel], widths: tuple[int, ...]) -> np.ndarray:
    """Kernel PCA of each layer, on the codes of the one below, section 4.1 of 2021; nothing is centred."""
    blocks, rows = [], X
    for width, of_layer in zip(
        widths, itertools.repeat(kernel) if isinstance(kernel, Kernel) else kernel, strict=False
    ):
        K = np.asarray(of_layer(rows))
        rows = scipy.linalg.eigh(K, subset_by_index=(len(K) - width, len(K) - 1))[1][:, ::-1]
        blocks.append(rows)
    return np.hstack(blocks)
