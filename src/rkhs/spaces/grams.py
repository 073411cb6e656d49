"""How a Gram matrix is stored: in memory, or as tiles that are recomputed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.eigen import block_krylov, component_eigenpairs
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor, factorize, rank_tolerance, solve_positive, solve_smooth
from rkhs.engines import ArrayRows, Block, Engine, Rows, Serial, Threads, row_blocks
from rkhs.kernels.base import Kernel
from rkhs.spaces.features.base import pick, resolve_subsampled

__all__ = ["Blocked", "Dense", "Gram"]


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


class Blocked(Gram):
    """Tiles of ``k(X, X)``, recomputed for every product: O(n) memory, exact results.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.spaces.grams import Blocked, Dense
    >>> X, V = torch.linspace(0.0, 1.0, 50, dtype=torch.float64)[:, None], torch.ones(50, 1, dtype=torch.float64)
    >>> K = Gaussian(1.0)
    >>> bool(torch.allclose(Blocked(K, X).matmul(V), Dense(K(X)).matmul(V)))
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        items: Any,
        max_bytes: int = 2**26,
        *,
        engine: Engine | None = None,
    ) -> None:
        self._kernel, self._items = kernel, items
        self._engine = engine
        n = len(items)
        self._step = max(1, min(n, max_bytes // (8 * n)))
        self._rows: Any = items
        if engine is not None and isinstance(items, Tensor):
            rows = ArrayRows(items.cpu().numpy())
            # Threads share one copy, aligned as other processes read theirs: the same bits.
            here = isinstance(engine, (Serial, Threads))
            self._rows = _tensor(rows, items.dtype) if here else engine.place(rows)
        self._like = kernel._diag(items[:1]).new_empty(0)

    def matmul(self, V: Tensor) -> Tensor:
        """``K V``, one tile of rows at a time."""
        out = torch.empty(len(self._items), *V.shape[1:], dtype=V.dtype, device=V.device)
        if self._engine is None:
            for start in range(0, len(out), self._step):
                rows = slice(start, min(start + self._step, len(out)))
                out[rows] = self._kernel._gram(self._items[rows], self._items).to(V) @ V
            return out
        columns = V.contiguous().cpu()
        blocks = row_blocks(len(out), self._step)
        shared = Product(self._kernel, self._rows, columns, self._like.dtype)
        for block, part in zip(blocks, self._engine.map(block_product, blocks, None, shared), strict=True):
            out[block.start : block.stop] = torch.from_numpy(part).to(V)
        return out

    def diag(self) -> Tensor:
        """Diagonal, shape (n,)."""
        return self._kernel._diag(self._items)

    def dense(self) -> Tensor:
        """The matrix itself, formed on demand."""
        return self._kernel._gram(self._items)

    def top_eigenpairs(self, k: int, weights: Tensor | None = None, *, center: bool = True) -> tuple[Tensor, Tensor]:
        """Leading eigenpairs; see :meth:`Gram.top_eigenpairs`. Some ten passes over the tiles."""
        n = len(self._items)
        mean = self._like.new_full((n,), 1.0 / n) if weights is None else weights
        root = mean.sqrt()[:, None]

        def product(V: Tensor) -> Tensor:
            U = root * V
            if center:
                U = U - mean[:, None] * U.sum(0)
            U = self.matmul(U)
            if center:
                U = U - mean @ U
            return root * U

        return block_krylov(product, n, k, self._like)

    def like(self, kernel: Kernel, items: Any) -> Blocked:
        """See :meth:`Gram.like`."""
        return Blocked(kernel, items, engine=self._engine)

    def resolve(self, kernel: Kernel, items: Any, weights: Tensor | None) -> Kernel:
        """Resolve from the pairs of 3000 items at most."""
        return resolve_subsampled(kernel, items, weights)

    def solve(self, B: Tensor, ridge: Tensor | float) -> Tensor:
        """Solve by :meth:`conjugate_gradients`."""
        return self.conjugate_gradients(B, ridge)[0]

    def conjugate_gradients(
        self, B: Tensor, ridge: Tensor | float, *, rank: int = 500, tol: float = 1e-10
    ) -> tuple[Tensor, int]:
        """Solve ``(K + ridge) X = B`` by conjugate gradients in float64, preconditioned by landmarks."""
        B = B.to(torch.float64)
        tol = max(tol, 50.0 * torch.finfo(self._like.dtype).eps)
        apply = _preconditioner(self._kernel, self._items, ridge, rank)
        added = ridge[:, None] if isinstance(ridge, Tensor) else ridge
        X, R = torch.zeros_like(B), B.clone()
        Z = apply(R)
        P, rho = Z.clone(), (R * Z).sum(0)
        limit = tol * divisor(torch.linalg.vector_norm(B, dim=0))
        for iteration in range(1, 1001):
            Q = self.matmul(P).add_(added * P)
            alpha = rho / divisor((P * Q).sum(0))
            X += alpha * P
            R -= alpha * Q
            if bool((torch.linalg.vector_norm(R, dim=0) <= limit).all()):
                return X, iteration
            Z = apply(R)
            rho, before = (R * Z).sum(0), rho
            P = Z + (rho / divisor(before)) * P
        raise InputError(
            "conjugate gradients did not converge in 1000 steps with storage='blocked'; use a larger reg, or "
            "storage=Nystroem(m)"
        )


@dataclass(frozen=True, eq=False)
class Product:
    """Objects that all tiles of a product share."""

    kernel: Kernel
    items: Any
    columns: Tensor  # (n, p)
    dtype: torch.dtype  # of the tiles


def _tensor(rows: Rows, dtype: torch.dtype) -> Tensor:
    return torch.from_numpy(rows.read()).to(dtype)


def block_product(items: Any, block: Block, shared: Product) -> np.ndarray:
    """Rows of ``K V``: the kernel values of a block of items with all of them, times ``V``."""
    V, all_items = shared.columns, shared.items
    if isinstance(all_items, Rows):
        all_items = _tensor(all_items, shared.dtype)
    return (shared.kernel._gram(all_items[block.start : block.stop], all_items).to(V) @ V).cpu().numpy()


def _preconditioner(kernel: Kernel, items: Any, ridge: Tensor | float, rank: int) -> Callable[[Tensor], Tensor]:
    """Inverse of the matrix in the span of landmarks, and of the ridge outside it."""
    n = len(items)
    rows = torch.arange(min(rank, n)) * n // min(rank, n)
    K = kernel._gram(pick(items, rows))
    factor = factorize(K.to(torch.float64), tol=max(1e-10, rank_tolerance(len(K), K.dtype)))
    chosen = pick(items, rows[factor.pivots.cpu()])
    F = torch.linalg.solve_triangular(factor.cholesky, kernel._gram(items, chosen).to(torch.float64).mT, upper=False).mT
    d = ridge.to(torch.float64)[:, None] if isinstance(ridge, Tensor) else ridge
    S = F.mT @ (F / d)
    S.diagonal().add_(1.0)
    C = torch.linalg.cholesky(S)

    def apply(R: Tensor) -> Tensor:
        scaled = R / d
        return scaled - (F @ torch.cholesky_solve(F.mT @ scaled, C)) / d

    return apply
