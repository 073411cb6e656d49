"""Coordinates of codes: ``Z = F V`` with the penalty ``||V||^2``, whatever ``F`` is.

A factor of the Gram matrix of all items (:class:`~rkhs._core.linalg.Factor`), the same with a linear part
(:class:`~rkhs.problems.semiparametric.LinearFactor`), and finite features with per-row codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from rkhs._core.linalg import Factor, apply_inverse, cholesky, square_root
from rkhs.spaces.sums import upper_product

STRIP = 2048
"""Rows of a strip; another number changes the rounding of sums."""

_DELTA = 1e-8  # jitter over the mean of the diagonal: makes every code of a constrained model reachable
_RIDGE = 1e-8  # ridge over the mean square of the features, if there are no per-row codes


class Coordinates(Protocol):
    """``V`` of shape (dim, p) gives the codes ``F V`` of shape (n, p) with the penalty ``||V||^2``."""

    @property
    def dim(self) -> int:
        """Number of columns of ``F``."""

    def codes(self, V: Tensor) -> Tensor:
        """``F V``, shape (n, p)."""

    def pull(self, G: Tensor) -> Tensor:
        """``F^T G`` of shape (dim, p) for ``G`` of shape (n, p)."""

    def solve(self, Z: Tensor) -> Tensor:
        """Parameters ``V`` of least norm of given codes."""

    def coefficients(self, V: Tensor) -> Tensor:
        """``C`` with ``F F^T C = F V``, shape (n, p): representer coefficients of the kernel."""


@dataclass(frozen=True)
class JitteredFactor(Factor):
    """A factor of ``K + delta I``."""

    jitter: float  # ``delta``


def jittered_factor(K: Tensor) -> JitteredFactor:
    """``L L^T = K + delta I`` with ``delta = 1e-8 Tr K / n``, or the least larger jitter that is positive definite."""
    delta = max(_DELTA, 10.0 * torch.finfo(K.dtype).eps) * float(K.diagonal().mean())
    L, delta = cholesky(K, name="the Gram matrix of the encoder", jitter=delta)
    return JitteredFactor(L, torch.arange(K.shape[0], device=K.device), 0.0, delta)


@dataclass(frozen=True, eq=False)
class MixedCoordinates:
    """Coordinates of the kernel ``k A``: codes are ``F V A^(1/2)``."""

    factor: Coordinates
    operator: Tensor  # (p, p): ``A``

    @property
    def dim(self) -> int:
        """Equals that of the factor."""
        return self.factor.dim

    @cached_property
    def _root(self) -> Tensor:
        return square_root(self.operator)

    def codes(self, V: Tensor) -> Tensor:
        """``F V A^(1/2)``."""
        return self.factor.codes(V @ self._root)

    def pull(self, G: Tensor) -> Tensor:
        """``F^T G A^(1/2)``."""
        return self.factor.pull(G) @ self._root

    def solve(self, Z: Tensor) -> Tensor:
        """Parameters of least norm, by a pseudo-inverse."""
        return self.factor.solve(apply_inverse(Z, self._root))

    def coefficients(self, V: Tensor) -> Tensor:
        """``Phi A``: codes are ``K Phi A``."""
        return self.factor.coefficients(V @ self._root)


@dataclass(frozen=True, eq=False)
class PerRowCodes:
    """Coordinates of an encoder in finite features with a code of its own for every row."""

    linear: Tensor  # (n, k): ``Q``, principal coordinates in units of their penalty
    features: Tensor  # (n, m): ``F``
    spread: Tensor | None  # (n,): ``s``, positive; None: codes are those of the features alone

    @property
    def width(self) -> int:
        """``k + m``, parameters of the encoder alone."""
        return self.linear.shape[1] + self.features.shape[1]

    @property
    def dim(self) -> int:
        """Number of rows of the parameters ``[A; V; U]``."""
        return self.width + (0 if self.spread is None else len(self.linear))

    def encoded(self, W: Tensor) -> Tensor:
        """``Q A + F V`` of shape (n, p), the output of the encoder, for ``[A; V]`` or all parameters."""
        k = self.linear.shape[1]
        return torch.addmm(self.linear @ W[:k], self.features, W[k : self.width])

    def codes(self, V: Tensor) -> Tensor:
        """``Q A + F V + diag(s) U`` of shape (n, p)."""
        Z = self.encoded(V)
        return Z if self.spread is None else Z.addcmul_(self.spread[:, None], V[self.width :])

    def pull(self, G: Tensor) -> Tensor:
        """The transpose of :meth:`codes`, shape (dim, p) for ``G`` of shape (n, p)."""
        parts = [(G.mT @ self.linear).mT, (G.mT @ self.features).mT]  # twice as fast as the other way round
        return torch.cat(parts if self.spread is None else [*parts, self.spread[:, None] * G])

    def solve(self, Z: Tensor) -> Tensor:
        """Parameters of least norm whose codes are ``Z``; without per-row codes those of least squares."""
        L, inner = self._system
        s = torch.ones_like(Z[:, :1]) if self.spread is None else self.spread[:, None]
        weighted = Z / (s * s)
        W = torch.cholesky_solve(torch.cat([self.linear.mT @ weighted, self.features.mT @ weighted]) * inner, L)
        return W if self.spread is None else torch.cat([W, (Z - self.encoded(W)) / s])

    def coefficients(self, V: Tensor) -> Tensor:
        """Representer coefficients: the kernel ``Q Q^T + F F^T + diag(s^2)`` maps them to these codes."""
        assert self.spread is not None
        return V[self.width :] / self.spread[:, None]

    @cached_property
    def _system(self) -> tuple[Tensor, float]:
        """Cholesky factor of ``I + H^T S^-2 H``, or of ``H^T H / n`` plus a ridge; factor of the right-hand side."""
        H = self.linear.new_zeros(self.width, self.width)
        for start in range(0, len(self.linear), STRIP):
            rows = slice(start, start + STRIP)
            part = torch.cat([self.linear[rows], self.features[rows]], 1)
            H += upper_product(part if self.spread is None else part / self.spread[rows, None])
        H = H + H.triu(1).mT
        inner = 1.0 if self.spread is not None else 1.0 / len(self.linear)
        H = H * inner
        H.diagonal().add_(1.0 if self.spread is not None else _RIDGE * float(H.diagonal().mean()) + 1e-300)
        return torch.linalg.cholesky(H), inner
