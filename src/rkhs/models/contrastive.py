"""A fitted contrastive map: codes of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from torch import Tensor

from rkhs._core.arrays import Items
from rkhs.kernels.base import Kernel
from rkhs.models.functions import Expansion
from rkhs.spaces import HeldItems
from rkhs.spaces.features import FeatureMap

__all__ = ["ContrastFacts", "ContrastiveModel"]


@dataclass(frozen=True, eq=False)
class ContrastFacts:
    """What is known of codes that minimise a contrastive loss."""

    n_components: int  # components that are not zero
    representer_holds: bool  # whether every optimum lies in the span of the data
    eigenvalues: np.ndarray | None = None  # (h,): of the closed form
    bounds: tuple[float, float] | None = None
    reg: float | None = None  # the regulariser that was used


@dataclass(frozen=True, eq=False)
class ContrastiveModel:
    """Codes ``z(x) = W* phi(x)`` that pairs were fitted to."""

    kernel: Kernel  # resolved
    encoder: Expansion  # from items to codes, without a shift
    codes: np.ndarray  # (n, p): of the training items
    norm: float  # hilbert-Schmidt norm of ``W``
    facts: ContrastFacts

    @property
    def map(self) -> FeatureMap:
        """What items are read through."""
        return self.encoder.map

    def encode(self, items: Items) -> Tensor:
        """Codes of items, shape (m, p)."""
        return self.encoder.of(self.map.raw(items))

    @classmethod
    def of(cls, held: HeldItems, coefficients: Tensor, fitted: Tensor, codes: np.ndarray, facts: ContrastFacts) -> Self:
        """The model of coefficients on points or on their features, of which ``fitted`` are all values."""
        inner = coefficients if held.factored else fitted
        norm = float((coefficients * inner).sum().clamp_min(0.0).sqrt())
        return cls(held.kernel, Expansion(held.map, held.map.whiten(coefficients).cpu().numpy()), codes, norm, facts)

    def state(self) -> dict[str, Any]:
        """What model files of format 1 hold, by their names."""
        facts = self.facts
        return {
            "kernel_": self.kernel,
            **self.encoder.state(),
            "codes_": self.codes,
            "map_norm_": self.norm,
            "n_components_": facts.n_components,
            "representer_holds_": facts.representer_holds,
            "eigenvalues_": facts.eigenvalues,
            "lambda_bounds_": facts.bounds,
            "reg_": facts.reg,
        }

    @classmethod
    def take_state(cls, state: dict[str, Any]) -> Self:
        """The model of a file; takes what it needs out of ``state``."""
        kernel = state.pop("kernel_")
        encoder, codes, norm = Expansion.take_state(kernel, state), state.pop("codes_"), state.pop("map_norm_")
        names = ("n_components_", "representer_holds_", "eigenvalues_", "lambda_bounds_", "reg_")
        return cls(kernel, encoder, codes, float(norm), ContrastFacts(*(state.pop(name) for name in names)))
