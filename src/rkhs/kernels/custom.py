"""Kernels that users bring: a Gram matrix, or any Python function on any objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.kernels.base import Kernel, VectorKernel, read_matrix

__all__ = ["FromFunction", "Precomputed"]

_DIAG_BLOCK = 32  # items whose diagonal is read off one small square of a vectorised function


class Precomputed(Kernel):
    """A kernel known by its Gram matrix alone.

    In place of items it reads rows of Gram matrices: the training items are the rows of the square matrix
    ``k(X, X)``, new items the rows of ``k(X_new, X)``.

    Parameters
    ----------
    diag : float, optional
        ``k(x, x)`` of new items, not negative. Default: the diagonal of the training Gram matrix if it is constant
        (every normalised kernel); otherwise whatever needs ``k(x, x)`` of new items raises and asks for it.
    train_diag : array of shape (n,), optional
        Diagonal of the training Gram matrix. Left out by users, written down by :meth:`resolve`.

    Raises
    ------
    InputError
        For a training matrix that is not square, rows of another length, or a diagonal that cannot be known.

    References
    ----------
    Laforgue et al. (2019), section 4.2: K2AE reads Gram matrices only.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.kernels import GaussianOf, Precomputed
    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> GaussianOf(Precomputed(), gamma=1.0)(K).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    domain = "gram"

    def __init__(self, diag: float | None = None, train_diag: Any = None) -> None:
        self.diag_new = diag
        self.diag = diag
        self.train_diag = train_diag
