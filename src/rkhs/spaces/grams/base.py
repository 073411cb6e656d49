"""Interface of stored Gram matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from torch import Tensor

from rkhs.kernels.base import Kernel


class Gram(ABC):
    """A positive semi-definite matrix known by its products, whatever its storage.

    Examples
    --------
    >>> import torch
    >>> from rkhs.spaces.grams import Dense, Gram
    >>> K = Dense(torch.diag(torch.tensor([1.0, 4.0, 9.0], dtype=torch.float64)))
    >>> isinstance(K, Gram), K.diag(), K.top_eigenpairs(1, center=False)[0].round(decimals=3)  # 9 times the weight 1/3
    (True, tensor([1., 4., 9.], dtype=torch.float64), tensor([3.], dtype=torch.float64))
    """

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
        """Resolve a kernel on as many pairs of these items as the storage allows."""

    @abstractmethod
    def solve(self, B: Tensor, ridge: Tensor | float) -> Tensor:
        """``X`` with ``(K + ridge) X = B``, shape (n, q); the ridge is positive, one number or one per item."""
