"""A Gram matrix held in memory."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rkhs._core.eigen import component_eigenpairs
from rkhs._core.linalg import solve_positive, solve_smooth
from rkhs.kernels.base import Kernel
from rkhs.spaces.grams.base import Gram


class Dense(Gram):
    """The matrix itself, ``K_ij = k(x_i, x_j)``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.spaces.grams import Dense
    >>> K = Dense(torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64))
    >>> K.matmul(torch.ones(2, 1).double()).ravel(), K.solve(torch.ones(2, 1).double(), 1.0).ravel()
    (tensor([3., 3.], dtype=torch.float64), tensor([0.2500, 0.2500], dtype=torch.float64))
    """

    def __init__(self, K: Tensor) -> None:
        self._K = K

    def matmul(self, V: Tensor) -> Tensor:
        """``K V``."""
        return self._K @ V

    def diag(self) -> Tensor:
        """Diagonal, shape (n,)."""
        return self._K.diagonal()

    def dense(self) -> Tensor:
        """The matrix itself."""
        return self._K

    def like(self, kernel: Kernel, items: Any) -> Dense:
        """See :meth:`Gram.like`."""
        return Dense(kernel._gram(items))

    def resolve(self, kernel: Kernel, items: Any, weights: Tensor | None) -> Kernel:
        """Resolve from all pairs."""
        return kernel.resolve(items, weights)

    def solve(self, B: Tensor, ridge: Tensor | float) -> Tensor:
        """Solve by few columns if they approximate the matrix, else by Cholesky in place. O(n^3 / 3)."""
        found = None if isinstance(ridge, Tensor) else solve_smooth(self._K, B, ridge)
        if found is not None:
            return found
        self._K.diagonal().add_(ridge)
        return solve_positive(self._K, B, name="the system K + ridge")

    def top_eigenpairs(self, k: int, weights: Tensor | None = None, *, center: bool = True) -> tuple[Tensor, Tensor]:
        """Leading eigenpairs; see :meth:`Gram.top_eigenpairs`. O(n^2 k) by Lanczos, which forms no second matrix."""
        return component_eigenpairs(self._K, k, weights, center=center)
