"""What a stored Gram matrix can do for problems and solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from rkhs.kernels.base import Kernel


class Gram(ABC):
    """A positive semi-definite matrix that one can multiply by, whatever its storage."""

    @abstractmethod
    def matmul(self, V: Tensor) -> Tensor:
        """``K V`` for ``V`` of shape (n, p)."""

    @abstractmethod
    def diag(self) -> Tensor:
        """Diagonal, shape (n,)."""

    @abstractmethod
    def dense(self) -> Tensor:
        """The matrix itself, shape (n, n); the caller must not change it."""

    @abstractmethod
    def top_eigenpairs(self, k: int, weights: Tensor | None = None, *, center: bool = True) -> tuple[Tensor, Tensor]:
        """Leading eigenpairs of the weighted, centred matrix ``W^(1/2) C K C^T W^(1/2)``."""

    @abstractmethod
    def like(self, kernel: Kernel, items: Any) -> Gram:
        """The Gram matrix of another kernel and other items, such as codes, in the same storage."""

    @abstractmethod
    def resolve(self, kernel: Kernel, items: Any, weights: Tensor | None) -> Kernel:
        """A kernel with numbers for its bandwidths, from as many pairs of these items as the storage allows."""

    @abstractmethod
    def solve(self, B: Tensor, ridge: Tensor | float) -> Tensor:
        """``X`` with ``(K + ridge) X = B``, shape (n, q); the ridge is positive, one number or one an item."""
