"""A fitted contrastive map: codes of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from torch import Tensor

from rkhs._core.arrays import Items
from rkhs._core.stored import Stored, check_shape
from rkhs.kernels.base import Kernel
from rkhs.models.functions import Expansion
from rkhs.spaces import InMemoryItems
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.features.base import check_kernel_stored


@dataclass(frozen=True, eq=False)
class ContrastFacts(Stored):
    """Diagnostics of codes that minimise a contrastive loss."""

    n_components: int  # components that are not zero
    representer_holds: bool  # whether every optimum lies in the span of the data
    eigenvalues: np.ndarray | None = None  # (h,): of the closed form
    bounds: tuple[float, float] | None = None  # ``reg`` of a bounded loss, and of zero codes
    reg: float | None = None  # the regulariser that was used


@dataclass(frozen=True, eq=False)
class ContrastiveModel(Stored):
    """Codes ``z(x) = W* phi(x)`` that were learned from pairs."""

    kernel: Kernel  # resolved
    encoder: Expansion  # from items to codes, without a shift
    codes: np.ndarray  # (n, p): of the training items
    norm: float  # Hilbert-Schmidt norm of ``W``
    facts: ContrastFacts

    @property
    def map(self) -> FeatureMap:
        """Feature map of the items."""
        return self.encoder.map

    def encode(self, items: Items) -> Tensor:
        """Codes of items, shape (m, p)."""
        return self.encoder.of(self.map.raw(items))

    @classmethod
    def of(
        cls, in_memory: InMemoryItems, coefficients: Tensor, fitted: Tensor, codes: np.ndarray, facts: ContrastFacts
    ) -> Self:
        """Build the model from coefficients on the points or their features; ``fitted``: codes of all points."""
        inner = coefficients if in_memory.factored else fitted
        norm = float((coefficients * inner).sum().clamp_min(0.0).sqrt())
        return cls(
            in_memory.kernel,
            Expansion(in_memory.map, in_memory.map.whiten(coefficients).cpu().numpy()),
            codes,
            norm,
            facts,
        )

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_kernel_stored(self.kernel, self.map)
        check_shape("codes", self.codes, None, self.encoder.coefficients.shape[1])
