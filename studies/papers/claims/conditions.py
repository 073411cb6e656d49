"""The published conditions that several claims share, as parameters."""

from __future__ import annotations

from typing import Any

from rkhs.kernels import Gaussian
from rkhs.solvers import QuadraticPenalty

__all__ = ["DRKM", "DUAL", "KAE", "penalty_adam"]

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
    return QuadraticPenalty("adam", mu=1.0, growth=8.0, tau=0.1, max_outer=outer, max_iter=500, learning_rate=1e-3)
