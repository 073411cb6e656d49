"""The simple contrastive loss, solved in closed form and without an inverse.

With anchors ``phi_i`` and differences ``delta_i`` (mean negative minus mean positive) the loss is

    L(W) = sum_i <W* phi_i, W* delta_i>   subject to   W* W = I_h.

``W = [Phi, Delta] A``, and ``K_1`` is the Gram matrix of ``[Phi, Delta]``. With any factor ``K_1 = R R^T`` and
``J = [0 I; I 0]`` the matrix of Theorem 3 becomes ``M = -1/2 R^T J R``: its leading eigenpairs ``(mu, u)`` give
``A = -J R u / (2 mu)`` and the loss ``-sum mu``. Nothing is inverted, so singular ``K_1`` (linear kernels, repeated
points, fewer points than columns) are the normal case (``docs/papers/representation_learning.md``).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.eigen import top_eigenpairs
from rkhs._core.linalg import factorize
from rkhs.problems.pairs import Pairs

_ZERO = 1e-11  # eigenvalues below this share of the trace of K_1 are rounding


@dataclass(frozen=True)
class SimpleOptimum:
    """Optimum of the simple contrastive loss."""

    A: Tensor  # coefficients on ``[Phi, Delta]``; columns without a positive eigenvalue are zero (unless strict)
    coefficients: Tensor  # (N, h)
    eigenvalues: Tensor  # (h,): ``mu``, descending; the loss is minus the sum of those that are used
    n_positive: int  # how many of them are positive
    value: float  # the loss
    route: str


@dataclass(frozen=True)
class SimpleContrastive:
    """Simple contrastive loss of codes ``W* phi(x)`` with orthonormal ``W``."""

    gram: Tensor  # (N, N): Gram matrix of the points; features (N, m) if ``factored``
    pairs: Pairs
    n_components: int  # number of columns ``h``
    strict: bool = False  # take the leading ``h`` eigenvectors whatever their sign, as Theorem 3 is printed
    factored: bool = False

    def blocks(self) -> Tensor:
        """``K_1``, the Gram matrix of anchors and differences, from block means of the Gram matrix; shape (2n, 2n)."""
        a = self.pairs.anchors
        n = len(a)
        cross = self.pairs.differences(self.gram)  # rows delta_i, columns points
        K_delta = self.pairs.differences(cross.mT.contiguous())
        K1 = cross.new_empty(2 * n, 2 * n)
        K1[:n, :n] = self.gram.index_select(0, a).index_select(1, a)
        K1[n:, :n] = cross.index_select(1, a)
        K1[:n, n:] = K1[n:, :n].mT
        K1[n:, n:] = K_delta.add_(K_delta.mT.clone()).mul_(0.5)
        return K1

    def solve(self) -> SimpleOptimum:
        """Closed form. O(m^3 / 3 + n m^2) with ``m = min(N, 2n)``, from a factor O(n r^2), and Lanczos iterations."""
        n, h = len(self.pairs.anchors), self.n_components
        route, top, bottom = self._factor()
        M = _symmetric_product(top, bottom).mul_(-0.5)
        scale = float(top.norm()) ** 2 + float(bottom.norm()) ** 2
        k = min(h, M.shape[0])
        mu, U = top_eigenpairs(M, k) if k else (M.new_zeros(0), M.new_zeros(0, 0))
        positive = mu > _ZERO * scale
        A = M.new_zeros(2 * n, h)
        W = M.new_zeros(M.shape[0], h)  # in the basis of the factor: R^T A
        if bool(positive.any()):
            V, m = U[:, positive], mu[positive]
            W[:, :k][:, positive] = V
            A[:, :k][:, positive] = torch.cat([bottom @ V, top @ V], 0) / (-2.0 * m)
        if self.strict and not bool(positive.all()):
            A[:, :k][:, ~positive] = factorize(self.blocks()).coefficients(U[:, ~positive])
        used = mu if self.strict else mu[positive]
        values = torch.cat([mu, mu.new_zeros(h - k)])
        coefficients = W if self.factored else self.pairs.to_points(A[:n], A[n:])
        return SimpleOptimum(A, coefficients, values, int(positive.sum()), -float(used.sum()), route)

    def _factor(self) -> tuple[str, Tensor, Tensor]:
        """Both halves of a factor of ``K_1``: from features, or from the smaller of the two Gram matrices."""
        a = self.pairs.anchors
        if self.factored:
            return "features", self.gram[a], self.pairs.differences(self.gram)
        if not self.strict and self.pairs.n_points <= 2 * len(a):
            F = factorize(self.gram).matrix
            return "points", F[a], self.pairs.differences(F)
        R = factorize(self.blocks()).matrix
        return "blocks", R[: len(a)], R[len(a) :]


def _symmetric_product(top: Tensor, bottom: Tensor) -> Tensor:
    """``top^T bottom + bottom^T top``; columns where ``top`` is zero (a Cholesky factor in order) are skipped."""
    used = torch.nonzero(top[-1]) if top.shape[0] <= top.shape[1] else top.new_zeros(0)
    last = int(used[-1]) + 1 if len(used) else top.shape[1]
    if last < top.shape[1] and bool(top[:, last:].any()):
        last = top.shape[1]
    product = top[:, :last].mT @ bottom
    M = product.new_zeros(top.shape[1], top.shape[1])
    M[:last] = product
    M[:, :last] += product.mT
    return M
