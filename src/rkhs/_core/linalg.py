"""Linear algebra of positive semi-definite matrices: factors, solves, centring, signs.

Every routine reports what it had to change (jitter added, rank kept) and none forms an inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from rkhs._core.errors import InputError, JitterWarning, warn

_DIGITS = 1e6  # smallest pivot that is trusted, in rounding errors of the trace
_LARGE, _ROWS = 3000, 640  # least size for solves by few columns, and about how many columns these are chosen from


@dataclass(frozen=True)
class Factor:
    """A factor ``F`` of a positive semi-definite matrix, ``F F^T = K`` up to a reported residual."""

    matrix: Tensor  # (n, r): the factor ``F``
    pivots: Tensor  # (r,)
    residual: float  # trace of ``K - F F^T`` over the trace of ``K``

    @property
    def dim(self) -> int:
        """Number of columns of ``F``."""
        return self.matrix.shape[1]

    def codes(self, V: Tensor) -> Tensor:
        """``F V`` of shape (n, p) for ``V`` of shape (r, p)."""
        return self.matrix @ V.contiguous()  # three times as fast as with columns in a row

    def pull(self, G: Tensor) -> Tensor:
        """``F^T G`` of shape (r, p) for ``G`` of shape (n, p)."""
        return self.matrix.mT @ G

    @property
    def cholesky(self) -> Tensor:
        """Cholesky factor of the block of the pivots, the lower-triangular ``F[pivots]``; shape (r, r)."""
        return self.matrix if self._is_cholesky else self.matrix[self.pivots]

    @property
    def _is_cholesky(self) -> bool:
        full = self.matrix.shape[0] == self.matrix.shape[1]
        return full and bool((self.pivots == torch.arange(len(self.pivots), device=self.pivots.device)).all())

    def coefficients(self, V: Tensor) -> Tensor:
        """Representer coefficients ``C`` with ``K C = F V``, shape (n, p); zero outside the pivots."""
        small = torch.linalg.solve_triangular(self.cholesky.mT, V, upper=True)
        if self._is_cholesky:
            return small
        coefficients = V.new_zeros(self.matrix.shape[0], V.shape[1])
        coefficients[self.pivots] = small
        return coefficients

    def solve(self, Z: Tensor) -> Tensor:
        """Whitened parameters ``V`` with ``F V = Z`` on the pivot rows, shape (r, p)."""
        return torch.linalg.solve_triangular(self.cholesky, Z[self.pivots], upper=False)


@dataclass(frozen=True)
class Outer:
    """The matrix ``left @ right^T`` kept as its two factors."""

    left: Tensor  # (n, q): the factors
    right: Tensor  # (n, q)

    def dense(self) -> Tensor:
        """The matrix itself, shape (n, n)."""
        return self.left @ self.right.mT

    @cached_property
    def doubled(self) -> tuple[Tensor, Tensor]:
        """Two factors of ``S + S^T``, shape (n, 2 q): one product in place of two and their sum."""
        return torch.cat([self.left, self.right], 1), torch.cat([self.right, self.left], 1)


def symmetric_rows(S: Tensor | Outer, start: int, stop: int, first: int = 0) -> Tensor:
    """Rows ``start:stop`` of ``S + S^T`` from column ``first`` on, shape (stop - start, n - first), and no others."""
    if isinstance(S, Outer):
        if S.left is S.right:
            return (2.0 * S.left[start:stop]) @ S.left[first:].mT
        near, far = S.doubled
        return near[start:stop] @ far[first:].mT
    return S[start:stop, first:] + S[first:, start:stop].mT


def constant_value(diagonal: np.ndarray) -> float | None:
    """The value of a diagonal if it is the same everywhere, up to 1e-8 of the largest; else None."""
    constant = float(np.ptp(diagonal)) <= 1e-8 * max(float(np.abs(diagonal).max()), 1e-300)
    return float(diagonal.mean()) if constant else None


def cholesky(A: Tensor, *, name: str, jitter: float = 0.0) -> tuple[Tensor, float]:
    """Lower Cholesky factor of ``A + j I``, and ``j``: ``jitter``, or the first of four more that makes it definite."""
    unit = torch.finfo(A.dtype).eps * A.shape[0] * float(A.diagonal().mean().abs())
    for j in (jitter, *(jitter + unit * 10.0**k for k in range(4))):
        B = A
        if j > 0:
            B = A.clone()
            B.diagonal().add_(j)
        L, info = torch.linalg.cholesky_ex(B)
        if int(info) == 0 and bool(torch.isfinite(L.diagonal()).all()):
            if j > jitter:
                warn(f"{name} is not positive definite; {j:.1e} was added to its diagonal", JitterWarning)
            return L, j
    finite = bool(torch.isfinite(A).all())
    smallest = float(torch.linalg.eigvalsh(A)[0]) if finite else float("nan")
    raise InputError(
        f"{name} must be positive definite; its smallest eigenvalue is {smallest:.2e} and a jitter of {j:.1e} did not "
        "help. Use a positive semi-definite kernel, or a larger reg"
    )


def solve_safely(A: Tensor, B: Tensor) -> Tensor | None:
    """Solve ``A X = B`` for a matrix that is positive definite beyond its rounding errors; else None."""
    L, info = torch.linalg.cholesky_ex(A)
    smallest = float(L.diagonal().amin()) ** 2
    unit = torch.finfo(A.dtype).eps * float(A.diagonal().sum())
    return torch.cholesky_solve(B, L) if int(info) == 0 and smallest > _DIGITS * unit else None


def solve_positive(A: Tensor, B: Tensor, *, name: str) -> Tensor:
    """Solve ``A X = B`` for a positive definite ``A``, whose memory is used up: no second n x n matrix on the CPU."""
    if A.device.type == "cpu" and A.is_contiguous():
        diagonal = A.diagonal().clone()
        view = A.numpy().T  # in Fortran order and symmetric: LAPACK factors it where it lies, in one triangle
        potrf = scipy.linalg.get_lapack_funcs("potrf", (view,))
        root, info = potrf(view, lower=1, clean=0, overwrite_a=1)
        if info == 0 and bool(np.isfinite(root.diagonal()).all()):
            L = torch.from_numpy(root)  # its triangular solves take two thirds of the time of LAPACK's potrs
            half = torch.linalg.solve_triangular(L, B, upper=False)
            return torch.linalg.solve_triangular(L.mT, half, upper=True)
        A = A.tril(-1)  # the other triangle is unchanged
        A = A + A.mT + torch.diag(diagonal)
    L, _ = cholesky(A, name=name)
    return torch.cholesky_solve(B, L)


def solve_smooth(K: Tensor, B: Tensor, ridge: float) -> Tensor | None:
    """Solve ``(K + ridge I) X = B`` if few columns approximate a large ``K``; else None."""
    # With such columns ``L^T L`` and ``P = L^T L + ridge I``, ``X + P^-1 (B - A X)`` has at most the share
    # ``Tr(K - L^T L) / ridge`` of the error of ``X``, and ``||B - A X|| / (ridge ||X||)`` bounds its relative error.
    eps, total, step = torch.finfo(K.dtype).eps, float(K.diagonal().sum()), len(K) // _ROWS
    if len(K) < _LARGE or eps > 1e-15 or K.device.type != "cpu" or not ridge > 1e3 * eps * len(K) * total:
        return None
    part = factorize(K[::step, ::step].contiguous(), tol=1e-2 * ridge / total)
    if part.dim == len(part.matrix):
        return None
    L = torch.linalg.solve_triangular(part.cholesky, K[step * part.pivots], upper=False)
    if not total - float((L * L).sum()) <= 0.1 * ridge:
        return None
    M = torch.addmm(torch.eye(len(L)).to(L), L, L.mT, beta=ridge)
    W = torch.linalg.solve_triangular(torch.linalg.cholesky(M), L, upper=False)  # ``P^-1 = (I - W^T W) / ridge``
    X, R, exact = torch.zeros_like(B), B, max(1e-9 * ridge, 2.0 * eps * total)
    signs = torch.cos(torch.arange(2 * B.shape[1]).to(B) ** 2).sign().view(-1, 2)  # two sums of columns are tested
    for number in range(10):
        X += (R - W.mT @ (W @ R)) / ridge
        some = X @ signs
        if number > 1 and float((B @ signs - K @ some - ridge * some).norm()) <= exact * float(some.norm()):
            return X
        R = torch.addmm(B, K, X, alpha=-1.0).sub_(X, alpha=ridge)
    return None


def rank_tolerance(n: int, dtype: torch.dtype) -> float:
    """Relative tolerance for zeros on the diagonal of a Gram matrix of ``n`` items rounded to ``dtype``."""
    return max(1e-12, n**0.5 * torch.finfo(dtype).eps)


def factorize(K: Tensor, *, tol: float | None = None) -> Factor:
    """Factor a positive semi-definite matrix of any rank, ``K = F F^T``."""
    n = K.shape[0]
    tol = rank_tolerance(n, K.dtype) if tol is None else tol
    K64 = K.to(torch.float64)
    largest = float(K64.diagonal().max()) if n else 0.0
    if not largest > 0.0:
        return Factor(K.new_zeros(n, 0), torch.zeros(0, dtype=torch.long, device=K.device), 0.0)
    L, info = torch.linalg.cholesky_ex(K64)
    if int(info) == 0 and float(L.diagonal().min()) ** 2 > tol * largest:
        return Factor(L.to(K.dtype), torch.arange(n, device=K.device), 0.0)
    del L
    C, order, rank, _ = scipy.linalg.lapack.dpstrf(K64.cpu().numpy(), lower=1, tol=tol * largest)
    order = order.astype(np.int64) - 1
    triangle = np.tril(C)[:, :rank]
    rows = np.empty((n, rank))
    rows[order] = triangle
    F = torch.from_numpy(rows).to(K.device)
    residual = float((K64.diagonal() - (F * F).sum(1)).clamp_min(0).sum() / K64.diagonal().sum())
    return Factor(F.to(K.dtype), torch.from_numpy(order[:rank].copy()).to(K.device), residual)


def fix_signs(U: Tensor) -> Tensor:
    """Flip columns so that the entry of largest modulus in each is positive."""
    return U * flips(U)


def flips(U: Tensor) -> Tensor:
    """Sign of each column that makes its entry of largest modulus positive."""
    if U.numel() == 0:
        return U.new_ones(U.shape[1])
    modulus = U.abs()
    near = modulus >= modulus.max(dim=0).values * (1 - 1e-6)
    first = near.to(torch.uint8).argmax(dim=0)
    signs = torch.sign(U[first, torch.arange(U.shape[1], device=U.device)])
    return torch.where(signs == 0, torch.ones_like(signs), signs)


def column_means(X: Tensor) -> Tensor:
    """The mean of every column, for differences from it."""
    means = X.mean(dim=0)
    if not X.numel() or float(means.abs().max()) < torch.finfo(X.dtype).max ** 0.5:  # false for NaN too
        return means
    low, high = X.aminmax(dim=0)
    return torch.where(low == high, low, (X / X.shape[0]).sum(dim=0))


def weighted_mean(X: Tensor, weights: Tensor | None) -> Tensor:
    """Mean over the first axis, weighted by weights that sum to one if there are any."""
    return X.mean(dim=0) if weights is None else weights @ X


def center_gram(K: Tensor, weights: Tensor | None = None) -> Tensor:
    """Gram matrix of the centred features, ``C K C`` with ``C = I - 1 w^T``."""
    means = K.mean(dim=1) if weights is None else K @ weights
    total = means.mean() if weights is None else means @ weights
    return (K - means[:, None]).sub_(means[None, :]).add_(total)


def divisor(x: Tensor) -> Tensor:
    """Numbers that are not negative as divisors: zeros become the least whose inverse is finite in their dtype."""
    return x.clamp_min(1e-300 if x.dtype == torch.float64 else 1e-37)


def polar(Y: Tensor) -> Tensor:
    """Orthogonal polar factor ``U V^T`` of ``Y = U S V^T``: the nearest matrix with orthonormal columns."""
    U, _, Vh = torch.linalg.svd(Y, full_matrices=False)
    return U @ Vh


def square_root(A: Tensor) -> Tensor:
    """Symmetric square root of a positive semi-definite matrix."""
    values, vectors = torch.linalg.eigh(A)
    return (vectors * values.clamp_min(0.0).sqrt()) @ vectors.mT


def apply_inverse(Z: Tensor, A: Tensor) -> Tensor:
    """Multiply by a pseudo-inverse from the right, ``Z A^+``."""
    return Z @ torch.linalg.pinv(A, hermitian=True, rtol=1e-12)


def principal_axes(Z: Tensor, weights: Tensor | None = None) -> Tensor:
    """Orthogonal matrix that rotates codes to principal axes: variances descending, largest entries positive."""
    w = Z.new_full((Z.shape[0],), 1.0 / Z.shape[0]) if weights is None else weights
    centred = Z - w @ Z
    _, vectors = torch.linalg.eigh(centred.mT @ (w[:, None] * centred))
    Q = vectors.flip(1)
    return Q * flips(Z @ Q)
