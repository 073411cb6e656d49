"""Training items that new ones are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from rkhs.kernels import Kernel
from rkhs.spaces.features import WholeMap

__all__ = ["GramModel"]


@dataclass(frozen=True, eq=False)
class GramModel:
    """Kernel values with the training items."""

    map: WholeMap  # of all training items

    @property
    def kernel(self) -> Kernel:
        """Resolved."""
        return self.map.kernel

    def state(self) -> dict[str, Any]:
        """What model files of format 1 hold, by their names."""
        return {"kernel_": self.map.kernel, "support_items_": self.map.kept, "n_items_": self.map.width}

    @classmethod
    def take_state(cls, state: dict[str, Any]) -> Self:
        """The model of a file; takes what it needs out of ``state``."""
        count = state.pop("n_items_", state.get("_n_training"))  # earlier versions had it beside the model
        return cls(WholeMap(state.pop("kernel_"), state.pop("support_items_"), count))
