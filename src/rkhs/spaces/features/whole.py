"""Kernel values with all training items: the features of a model that is not approximated."""

from __future__ import annotations

from typing import Any, ClassVar

from rkhs._core.stored import check_whole
from rkhs.kernels.base import Kernel
from rkhs.spaces.features.base import KernelValues, check_items_stored


class WholeMap(KernelValues):
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

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.features import WholeMap
    >>> from rkhs.kernels import Linear
    >>> WholeMap(Linear(), np.array([[1.0, 0.0], [1.0, 1.0]]), 2).raw(torch.tensor([[2.0, 3.0]]).double())
    tensor([[2., 5.]], dtype=torch.float64)
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
    def width(self) -> int:
        """Number of training items."""
        return self.count

    @property
    def kept(self) -> Any:
        """The training items; None for a Gram matrix."""
        return self.items
