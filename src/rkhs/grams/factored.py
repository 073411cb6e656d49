"""A Gram matrix known through a factor, ``K = F F^T``."""

from __future__ import annotations

import scipy.linalg
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Factor, fix_signs
from rkhs.grams.base import Gram

__all__ = ["Factored"]


class Factored(Gram):
    """The matrix ``F F^T``, never formed: features, or landmarks.

    Parameters
    ----------
    F : Tensor of shape (n, r)
        Features of the items.

    Raises
    ------
    InputError
        If ``F`` is not a matrix.
    """

    def __init__(self, F: Tensor) -> None:
        if F.ndim != 2:
            raise InputError(f"F must be a matrix of shape (n, r); got shape {tuple(F.shape)}")
        self._F = F

    @property
    def shape(self) -> tuple[int, int]:
        """``(n, n)``."""
        return (self._F.shape[0], self._F.shape[0])

    def matmul(self, V: Tensor) -> Tensor:
        """``F (F^T V)``, O(n r p)."""
        return self._F @ (self._F.mT @ V)

    def diag(self) -> Tensor:
        """Squared norms of the features, shape (n,)."""
        return (self._F * self._F).sum(1)

    def block(self, rows: slice) -> Tensor:
        """Rows of the matrix."""
        return self._F[rows] @ self._F.mT

    def dense(self) -> Tensor:
        """``F F^T``, formed on demand."""
        return self._F @ self._F.mT

    def factor(self) -> Factor:
        """A factor with a lower-triangular block of pivot rows, by pivoted QR of ``F^T``. O(n r^2)."""
        # F^T P = Q R gives F[P] = R^T Q^T: rotating the features by Q makes the leading pivot rows triangular.
        R, pivots = scipy.linalg.qr(self._F.mT.to(torch.float64).cpu().numpy(), mode="r", pivoting=True)
        n, r = self._F.shape
        diagonal = abs(R.diagonal())
        rank = int((diagonal > max(n, r) * torch.finfo(torch.float64).eps * max(diagonal.max(), 1e-300)).sum())
        rows = torch.empty(n, rank, dtype=torch.float64)
        rows[torch.from_numpy(pivots.astype("int64"))] = torch.from_numpy(R[:rank].T.copy())
        order = torch.from_numpy(pivots[:rank].astype("int64"))
        return Factor(rows.to(self._F), order.to(self._F.device), 0.0)

    def top_eigenpairs(self, k: int, weights: Tensor | None = None, *, center: bool = True) -> tuple[Tensor, Tensor]:
        """Leading eigenpairs; see :meth:`Gram.top_eigenpairs`. O(n r^2) by a thin singular value decomposition."""
        n = self.shape[0]
        w = self._F.new_full((n,), 1.0 / n) if weights is None else weights
        A = w.sqrt()[:, None] * (self._F - w @ self._F if center else self._F)
        U, s, _ = torch.linalg.svd(A, full_matrices=False)
        if k <= U.shape[1]:
            return s[:k] ** 2, fix_signs(U[:, :k])
        values = torch.cat([s**2, s.new_zeros(k - len(s))])
        return values, fix_signs(_complete(U, k))


def _complete(U: Tensor, k: int) -> Tensor:
    """Add orthonormal columns until there are ``k``."""
    Q, _ = torch.linalg.qr(torch.cat([U, torch.eye(U.shape[0], dtype=U.dtype, device=U.device)], 1))
    return torch.cat([U, Q[:, U.shape[1] : k]], 1)
