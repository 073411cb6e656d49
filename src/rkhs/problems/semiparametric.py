"""The semi-parametric autoencoder: linear parts with a small penalty next to kernel parts.

Encoder ``z = q(x) A + f(x)``, decoder ``g(z) = [z, 1] b + h(z)``, with the principal coordinates ``q`` of the inputs at
unit variance, and ``f``, ``h`` in the spaces of their kernels:

    J = sum_i w_i 1/2 ||t_i - g(z_i)||^2 + reg_1 / 2 ||f||^2 + reg_2 / 2 ||h||^2 + slope / 2 ||A||^2 + free / 2 ||b||^2.

Every direction has the penalty ``slope``, however little the inputs vary along it, and ``free`` is tiny: principal
component analysis is in the model almost without penalty, and kernels are penalised for what they add to it. With
``B = [Z, 1]`` and ``W = K + reg_2 diag(1/w)`` the decoder is the solution of

    (B^T W^-1 B + free / reg_2 I') b = B^T W^-1 T,   Phi = W^-1 (T - B b),   J = reg_2 / 2 <T, Phi> + encoder's terms,

``I'`` without a one for the constant; the derivative is ``-reg_2 / 2 Phi Phi^T`` in ``K`` and ``-reg_2 Phi b^T`` in
``B``. The encoder is whitened as any other: ``[q sqrt(reg_1 / slope), F]`` takes the place of ``F``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rkhs._core.eigen import top_eigenpairs
from rkhs._core.errors import InputError
from rkhs._core.linalg import Factor, divisor, fix_signs, solve_positive
from rkhs.problems.decoder import Decoder
from rkhs.problems.initial_codes import kernel_pca_scores

# For targets of total variance one: of the slopes of the encoder on coordinates of unit variance. It sets the scale of
# codes relative to the kernel of the decoder: far lower, codes spread until every item is isolated and the kernels
# interpolate.
SLOPE_PENALTY = 3e-2
_TAIL = 0.05  # share of the residual of principal components: the descent leaves out target directions below it
SAMPLE = 2000  # rows from which leading directions are estimated
_LARGE_RESIDUAL = 1e-2  # share of the variance: smaller residuals are scaled; 0.1 or 1 measured no better
_MIN_RESIDUAL = 1e3  # times the rounding error: smaller residuals are not modelled


def slope_penalty(target: Tensor, weights: Tensor | None = None) -> float:
    """Penalty of the slopes of the decoder: 1e-8 of one over the variance of the targets, in doubles."""
    flat = target.reshape(-1)
    variance = float(torch.dot(flat, flat) / len(target) if weights is None else weights @ (target * target).sum(1))
    return (1e-8 if target.dtype == torch.float64 else 1e-6) / (variance if variance > 0.0 else 1.0)


def kernel_unit(target: Tensor, k: int, weights: Tensor | None = None) -> float:
    """Divisor of targets of total variance one, so that kernel penalties are not too strong for a small residual."""
    w = target.new_full((len(target),), 1.0 / len(target)) if weights is None else weights
    Y = (w.sqrt()[:, None] * target).to(torch.float64)
    total, k = float((Y * Y).sum()), min(k, *Y.shape)
    if total <= 0.0:
        return 1.0
    kept, _ = top_eigenpairs(Y.mT @ Y if Y.shape[1] <= Y.shape[0] else Y @ Y.mT, k)
    left = 1.0 - float(kept.sum()) / total
    rounding = max(torch.finfo(torch.float64).eps, torch.finfo(target.dtype).eps ** 2)  # of the sums, of the squares
    return 1.0 if left <= _MIN_RESIDUAL * rounding else min(1.0, left / _LARGE_RESIDUAL) ** 0.5


def leading_directions(target: Tensor, weights: Tensor | None, p: int) -> Tensor | None:
    """Leading principal directions of targets, down to a share of the variance that ``p`` of them leave; None: all."""
    T, weights = target[:SAMPLE], None if weights is None else weights[:SAMPLE] / weights[:SAMPLE].sum()
    q = T.shape[1]
    Y = T / len(T) ** 0.5 if weights is None else T * weights.sqrt()[:, None]
    wide = q > len(Y)
    values, vectors = torch.linalg.eigh(Y @ Y.mT if wide else Y.mT @ Y)
    values, vectors = values.flip(0).clamp_min(0.0), vectors.flip(1)
    left = values.sum() - values.cumsum(0)
    count = int((left > _TAIL * left[min(p, len(left)) - 1]).sum()) + 1
    if count <= p or count >= 0.9 * q:
        return None
    vectors = vectors[:, :count]
    return torch.linalg.qr(Y.mT @ vectors)[0] if wide else vectors.contiguous()


@dataclass(frozen=True)
class PrincipalCoordinates:
    """Principal coordinates of equal variance, ``q = (rows - center) @ directions - offset``."""

    directions: Tensor  # (d, k): for vectors their axes; for a Gram matrix (d = n) weights on the training items
    offset: Tensor  # (k,): for a Gram matrix the mean of ``rows @ directions``; for vectors what rounding left of it
    center: Tensor | None  # the mean of vectors, subtracted first, so that data far from the origin lose no digits
    scale: Tensor  # (k,): ``q * scale`` are the principal component scores

    def of(self, rows: Tensor) -> Tensor:
        """Coordinates of rows of shape (m, d), shape (m, k)."""
        return principal_coordinates(rows, self.directions, self.offset, self.center)

    def leading(self, k: int) -> PrincipalCoordinates:
        """The first ``k`` of them."""
        return PrincipalCoordinates(self.directions[:, :k], self.offset[:k], self.center, self.scale[:k])

    def with_penalty(self, reg: float) -> PrincipalCoordinates:
        """Scale the coordinates so that a penalty of one on their coefficients becomes ``reg``."""
        unit = linear_unit(reg)
        return PrincipalCoordinates(self.directions * unit, self.offset * unit, self.center, self.scale / unit)

    @classmethod
    def of_vectors(cls, X: Tensor, k: int, weights: Tensor | None = None) -> PrincipalCoordinates:
        """Leading ``k`` at most, those without variance left out. O(n d min(n, d))."""
        w = X.new_full((len(X),), 1.0 / len(X)) if weights is None else weights
        mean = w @ X
        centred = X - mean
        rest = w @ centred
        Y = (w.sqrt()[:, None] * (centred - rest)).to(torch.float64)
        k = min(k, *Y.shape)
        if Y.shape[1] <= Y.shape[0]:
            values, axes = top_eigenpairs(Y.mT @ Y, k)
        else:
            values, left = top_eigenpairs(Y @ Y.mT, k)
            axes = fix_signs(Y.mT @ (left / divisor(values).sqrt()))
        kept = _with_variance(values, max(Y.shape), X.dtype)
        scale = values[kept].sqrt()
        directions = (axes[:, kept] / scale).to(X.dtype)
        return cls(directions, rest @ directions, mean, scale.to(X.dtype))

    @classmethod
    def of_gram(cls, K: Tensor, k: int, weights: Tensor | None = None) -> PrincipalCoordinates:
        """Build it from the leading ``k`` features of a kernel; rows are then kernel values with the training items."""
        n = len(K)
        scores, values = kernel_pca_scores(K, min(k, n), weights)
        kept = _with_variance(values, n, K.dtype)
        w = K.new_full((n, 1), 1.0 / n) if weights is None else weights[:, None]
        directions = w * scores[:, kept] / values[kept] ** 1.5
        means = K.mean(0) if weights is None else weights @ K
        return cls(directions, means @ directions, None, values[kept].sqrt())


def linear_unit(reg: float) -> float:
    """Unit of coordinates of variance one in which the penalty of their slopes is ``reg``."""
    return (reg / SLOPE_PENALTY) ** 0.5 if reg > 0.0 else 1.0


def principal_coordinates(rows: Tensor, directions: Tensor, offset: Tensor, center: Tensor | None) -> Tensor:
    """``(rows - center) @ directions - offset``; see :class:`PrincipalCoordinates`."""
    return (rows if center is None else rows - center) @ directions - offset


def _with_variance(values: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    return values > size * torch.finfo(dtype).eps * values[0].clamp_min(0.0)


@dataclass(frozen=True)
class LinearFactor:
    """A whitened encoder with a linear part: ``Z = Q A + F V`` with the penalty ``||A||^2 + ||V||^2``."""

    kernel: Factor  # ``F``, n rows and r columns
    linear: Tensor  # (n, k)

    @property
    def dim(self) -> int:
        """``k + r``."""
        return self.linear.shape[1] + self.kernel.dim

    @cached_property
    def matrix(self) -> Tensor:
        """``[Q, F]``, shape (n, k + r)."""
        return torch.cat([self.linear, self.kernel.matrix], 1)

    def codes(self, V: Tensor) -> Tensor:
        """``Q A + F V`` of shape (n, p) for ``[A; V]`` of shape (k + r, p)."""
        return self.matrix @ V

    def pull(self, G: Tensor) -> Tensor:
        """``[Q, F]^T G`` of shape (k + r, p) for ``G`` of shape (n, p)."""
        return self.matrix.mT @ G

    @cached_property
    def mixed(self) -> Tensor:
        """``F^-1 Q``, shape (r, k)."""
        return self.kernel.solve(self.linear)

    @cached_property
    def system(self) -> Tensor:
        """``I + (F^-1 Q)^T F^-1 Q``, shape (k, k)."""
        return linear_system(self.mixed)

    def solve(self, Z: Tensor) -> Tensor:
        """Parameters ``[A; V]`` of least norm whose codes are ``Z`` on the pivot rows, shape (k + r, p)."""
        V = self.kernel.solve(Z)
        A = torch.linalg.solve(self.system, self.mixed.mT @ V)
        return torch.cat([A, V - self.mixed @ A])

    def coefficients(self, V: Tensor) -> Tensor:
        """Representer coefficients of the kernel part, shape (n, p)."""
        return self.kernel.coefficients(V[self.linear.shape[1] :])


def linear_system(mixed: Tensor) -> Tensor:
    """``I + M^T M`` for ``M = F^-1 Q``."""
    system = mixed.mT @ mixed
    system.diagonal().add_(1.0)
    return system


def semiparametric_decoder(
    K: Tensor,
    codes: Tensor,
    target: Tensor,
    reg: float,
    operator: Tensor | None = None,
    weights: Tensor | None = None,
) -> Decoder:
    """Minimise ``sum_i w_i 1/2 ||t_i - [z_i, 1] b - (K Phi)_i||^2 + reg / 2 <K, Phi Phi^T> + free / 2 ||b||^2``."""
    # One Cholesky factorisation of ``W = K + reg diag(1 / w)``; see the module docstring.
    assert operator is None
    n, p = codes.shape
    W = K
    W.diagonal().add_(n * reg if weights is None else reg / weights)
    B = torch.cat([codes, codes.new_ones(n, 1)], 1)
    solved = solve_positive(W, torch.cat([B, target], 1), name="the decoder system K + n reg I")
    small = (B.mT @ solved).to(torch.float64)
    system = small[:, : p + 1]
    system = 0.5 * (system + system.mT)
    system.diagonal()[:p].add_(slope_penalty(target, weights) / reg)
    found, info = torch.linalg.solve_ex(system, small[:, p + 1 :])
    if int(info) != 0:
        largest = float(codes.abs().max())
        raise InputError(f"codes reach {largest:.2g}, so the linear part of the decoder is singular; rescale the data")
    b = found.to(target.dtype)
    Phi = torch.addmm(solved[:, p + 1 :], solved[:, : p + 1], b, alpha=-1.0)
    return Decoder(Phi, Phi, 0.5 * reg * float((target * Phi).sum()), Phi, linear=b)
