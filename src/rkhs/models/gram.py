"""Training items that new ones are compared with."""

from __future__ import annotations

from dataclasses import dataclass

from rkhs._core.stored import Stored
from rkhs.kernels import Kernel
from rkhs.spaces.features import WholeMap

__all__ = ["GramModel"]


@dataclass(frozen=True, eq=False)
class GramModel(Stored):
    """Kernel values with the training items."""

    map: WholeMap  # of all training items

    @property
    def kernel(self) -> Kernel:
        """Resolved."""
        return self.map.kernel
