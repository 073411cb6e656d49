"""A fitted contrastive map: codes of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from torch import Tensor

from rkhs.features import FeatureMap
from rkhs.kernels.base import Kernel
from rkhs.models.functions import Expansion

__all__ = ["ContrastiveModel"]


@dataclass(frozen=True, eq=False)
class ContrastiveModel:
    """Codes ``z(x) = W* phi(x)`` that pairs were fitted to.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    encoder : Expansion
        From items to codes, without a shift.
    codes : ndarray of shape (n, p)
        Of the training items.
    norm : float
        Hilbert-Schmidt norm of ``W``.

    References
    ----------
    Esser, Fleissner and Ghoshdastidar (2024), definitions 1 and 2.
    """

    kernel: Kernel
    encoder: Expansion
    codes: np.ndarray
    norm: float

    @property
    def map(self) -> FeatureMap:
        """What items are read through."""
        return self.encoder.map

    def encode(self, items: Any) -> Tensor:
        """Codes of items, shape (m, p)."""
        return self.encoder.of(self.map.raw(items))

    def state(self) -> dict[str, Any]:
        """What model files of format 1 hold, by their names."""
        return {"kernel_": self.kernel, **self.encoder.state(), "codes_": self.codes, "map_norm_": self.norm}

    @classmethod
    def take_state(cls, state: dict[str, Any]) -> Self:
        """The model of a file; takes what it needs out of ``state``."""
        kernel = state.pop("kernel_")
        return cls(kernel, Expansion.take_state(kernel, state), state.pop("codes_"), float(state.pop("map_norm_")))
