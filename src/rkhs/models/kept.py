"""Training items that models store, and their Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import as_tensor, tensor_like
from rkhs._core.eigen import positive_part
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning, unwarned
from rkhs._core.stored import Stored, check_shape
from rkhs.kernels import Kernel
from rkhs.spaces.features import WholeMap


@dataclass(frozen=True, eq=False)
class GramModel(Stored):
    """A kernel on its training items: kernel values of new items with them."""

    map: WholeMap  # of all training items

    @property
    def kernel(self) -> Kernel:
        """The resolved kernel."""
        return self.map.kernel


@dataclass(frozen=True, eq=False)
class KeptItems(Stored):
    """Training items; zeros and ones are packed as bits."""

    array: np.ndarray  # (n, d)
    columns: int | None  # ``d`` if bits are packed; None: they are not
    dtype: np.dtype  # of the items

    def check_stored(self) -> None:
        """Bytes must hold the columns."""
        columns = self.array.shape[-1] if self.columns is None else (self.columns + 7) // 8
        check_shape("items", self.array, None, columns, kinds="f" if self.columns is None else "u")
        if self.columns is not None and (self.array.dtype != np.uint8 or self.columns < 1):
            raise InputError(f"bits of a model file must be bytes; got {self.array.dtype}")

    @classmethod
    def of(cls, items: np.ndarray) -> KeptItems:
        """Copy items; zeros and ones are packed as bits."""
        if ((items == 0) | (items == 1)).all():
            return cls(np.packbits(items != 0, axis=1), items.shape[1], items.dtype)
        return cls(items.copy(), None, items.dtype)

    @property
    def rows(self) -> np.ndarray:
        """The items."""
        if self.columns is None:
            return self.array
        return np.unpackbits(self.array, axis=1, count=self.columns).astype(self.dtype)


@dataclass(frozen=True, eq=False)
class GramOf(Stored):
    """Gram matrix of training items or targets, computed when it is called."""

    kernel: Kernel  # resolved
    items: Any  # (n, d)
    like: np.ndarray  # an array with the dtype of the fit

    def __call__(self) -> Tensor:
        """Shape (n, n)."""
        like = as_tensor(self.like)
        return clipped_gram(self.kernel, tensor_like(self.items, like) if self._vectors else self.items, like)

    @property
    def _vectors(self) -> bool:
        return self.kernel.domain == "vectors"


def clipped_gram(kernel: Kernel, items: Any, like: Tensor) -> Tensor:
    """Gram matrix of training items as the fit used it: negative eigenvalues are clipped, without a second warning."""
    K = kernel._gram(items).to(like)
    if kernel.known_psd:
        return K
    with unwarned(NotPositiveSemidefiniteWarning):
        return positive_part(K, name="the Gram matrix of the kernel")
