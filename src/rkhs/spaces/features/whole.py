"""Kernel values with all training items: the features of a model that is not approximated."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.stored import check_whole
from rkhs.kernels.base import Kernel
from rkhs.spaces.features.base import FeatureMap, check_items_stored


class WholeMap(FeatureMap):
    """Raw features ``k(x, X)`` of all training items ``X``, with ``W = I``.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    items : array of shape (n, d), list of n objects, or None
        None: a Gram matrix; new items arrive as kernel values with the training items.
    count : int
        ``n``.

    Raises
    ------
    InputError
        For items that the kernel cannot read.

    References
    ----------
    The representer theorem: Scholkopf and Smola (2002), theorem 4.2.
    """

    whole: ClassVar[bool] = True

    def __init__(self, kernel: Kernel, items: Any, count: int) -> None:
        self.kernel = kernel
        self.items = items
        self.count = count

    def check_stored(self) -> None:
        """Every item must be one that the kernel reads."""
        check_whole("number of items", self.count, 1)
        check_items_stored(self.kernel, self.items, self.count)

    @property
    def reads(self) -> int | None:
        """Columns of the training items."""
        return len(self.items[0]) if self.kernel.domain == "vectors" else None

    @property
    def width(self) -> int:
        """Number of training items."""
        return self.count

    @property
    def kept(self) -> Any:
        """The training items; None for a Gram matrix."""
        return self.items

    def support(self, like: Tensor) -> Any:
        """The training items in the form that the kernel reads."""
        return tensor_like(self.items, like) if self.kernel.domain == "vectors" else self.items

    def raw(self, items: Any) -> Tensor:
        """``k(x, X)``."""
        return self.kernel._gram(items, self.support(items) if isinstance(items, Tensor) else self.items)
