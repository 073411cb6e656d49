"""The part of a dual problem that acts on each row alone: the conjugate of the loss, for a whole batch at once.

Letters: ``n`` rows, ``q`` coordinates, ``B`` settings. Rows carry the root ``s`` of their weights, so that
weights never reach the quadratic part; ``tau = reg * (sum of weights)``; the variable is ``W = alpha / tau``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.losses import EpsilonHuberLoss, Loss


class RowLoss(ABC):
    """Conjugate of the loss in the variable ``W``, divided by ``tau``."""

    def __init__(self, root_weights: Tensor, tau: Tensor) -> None:
        self.s = root_weights
        self.tau = tau

    @staticmethod
    def norms(U: Tensor) -> Tensor:
        """Norms of rows, shape (n, B); ten times faster than torch's own reduction over a strided axis."""
        return torch.linalg.vecdot(U, U, dim=1).sqrt_()

    @property
    @abstractmethod
    def curvature(self) -> Tensor:
        """Coefficient of ``1/2 ||W||^2`` that belongs to the smooth part, shape (B,)."""

    @abstractmethod
    def prox(self, U: Tensor, step: Tensor) -> Tensor:
        """Prox of the rest with one step per problem; ``U`` of shape (n, q, B), ``step`` of shape (B,)."""

    @abstractmethod
    def certificate(self, R: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and gap of each row, shapes (n, B), from scaled residuals ``R = s (y - h)`` and ``W``."""

    @abstractmethod
    def part(self, columns: Tensor | slice) -> RowLoss:
        """The part for some settings."""

    @abstractmethod
    def with_tau(self, tau: Tensor) -> RowLoss:
        """Return the losses with other regularisers."""

    @property
    def quadratic(self) -> bool:
        """Whether every loss is the squared loss."""
        return False

    def caps(self) -> Tensor:
        """Largest norms of rows of ``W``, shape (n, B) or broadcastable; infinite where there is no limit."""
        return torch.full_like(self.tau, math.inf)


class CanonicalRows(RowLoss):
    """Losses with the conjugate ``c/2 ||a||^2 + epsilon ||a||`` on ``||a|| <= cap``, one of them per setting."""

    def __init__(self, root_weights: Tensor, tau: Tensor, c: Tensor, epsilon: Tensor, cap: Tensor) -> None:
        super().__init__(root_weights, tau)
        self.c, self.epsilon, self.cap = c, epsilon, cap
        s = root_weights[:, None]
        self._s = s[:1] if bool((s == 1.0).all()) else s
        self._epsilon_rows = self._s * epsilon
        self._cap_rows = torch.where(self._s > 0, self._s * (cap / tau), 0.0)
        self._insensitive = bool((epsilon > 0).any())
        self._capped = bool(torch.isfinite(cap).any())

    @property
    def curvature(self) -> Tensor:
        """``c tau``, shape (B,)."""
        return self.c * self.tau

    def scale(self, norms: Tensor, step: Tensor) -> Tensor:
        """Factors by which the prox multiplies rows of these norms, shape (n, B)."""
        if self._insensitive:
            shrunk = (norms - self._epsilon_rows * step).clamp_min_(0.0)
        else:
            shrunk = norms.clone()
        if self._capped:
            shrunk = torch.minimum(shrunk, self._cap_rows)
        return shrunk.div_(norms.clamp_min(torch.finfo(norms.dtype).tiny))

    def prox(self, U: Tensor, step: Tensor) -> Tensor:
        """Shrink and cut the rows, shape (n, q, B)."""
        return U * self.scale(self.norms(U), step)[:, None]

    def certificate(self, R: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and gap of each row, shapes (n, B)."""
        rho = self.norms(R)
        a = self.norms(W) * self.tau
        s, c = self._s, self.c
        t = (rho - self._epsilon_rows).clamp_min_(0.0)
        if self._capped:
            square = torch.where(c > 0, t * t / (2.0 * c), math.inf)
            # An infinite cap makes the linear branch infinite, which the minimum below never takes.
            cap = torch.where(s > 0, s * self.cap, 0.0)
            line = torch.where(t > 0, cap * t, 0.0) - torch.where(c > 0, 0.5 * c * cap * cap, 0.0)
            loss = torch.where((t <= c * cap) & (c > 0), square, line)
        else:
            loss = t * t / (2.0 * c)
        conjugate = 0.5 * c * a * a + self._epsilon_rows * a
        inner = torch.linalg.vecdot(R, W, dim=1) * self.tau
        return loss, loss + conjugate - inner

    def part(self, columns: Tensor | slice) -> CanonicalRows:
        """The part for some settings."""
        numbers = (part[columns] for part in (self.tau, self.c, self.epsilon, self.cap))
        return CanonicalRows(self.s, *numbers)

    def with_tau(self, tau: Tensor) -> CanonicalRows:
        """Return the losses with other regularisers."""
        return CanonicalRows(self.s, tau, self.c, self.epsilon, self.cap)

    def caps(self) -> Tensor:
        """``s cap / tau``."""
        return self._cap_rows

    @property
    def quadratic(self) -> bool:
        """Whether every loss is the squared loss."""
        return not self._insensitive and not self._capped and bool((self.c == 1.0).all())


def _conjugate_inside(loss: Loss, A: Tensor) -> Tensor:
    """``f*`` of each row; a row that rounding put outside the domain is first shrunk by 16 machine epsilons."""
    found = loss.conjugate(A)
    outside = torch.isinf(found)
    if not bool(outside.any()):
        return found
    return torch.where(outside, loss.conjugate((1.0 - 16.0 * torch.finfo(A.dtype).eps) * A), found)


class GeneralRows(RowLoss):
    """Any one loss for all settings, through its own closed forms."""

    def __init__(self, root_weights: Tensor, tau: Tensor, loss: Loss, targets: Tensor) -> None:
        super().__init__(root_weights, tau)
        self.loss, self.targets = loss, targets
        self._inverse = torch.where(root_weights > 0, 1.0 / root_weights, torch.zeros_like(root_weights))[:, None]
        self._bound = loss.bind(targets * self._inverse)

    @property
    def curvature(self) -> Tensor:
        """Zero: the whole conjugate goes through the prox."""
        return torch.zeros_like(self.tau)

    def prox(self, U: Tensor, step: Tensor) -> Tensor:
        """``-(s / tau) prox_{step tau f*}(-tau u / s)`` row by row, shape (n, q, B)."""
        out = torch.empty_like(U)
        for b, (tau, length) in enumerate(zip(self.tau.tolist(), step.tolist(), strict=True)):
            inner = self._bound.prox_conjugate(-tau * self._inverse * U[..., b], length * tau)
            out[..., b] = -(self.s[:, None] / tau) * inner
        return out

    def certificate(self, R: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and gap of each row, shapes (n, B)."""
        losses, gaps, weight = torch.empty_like(R[:, 0]), torch.empty_like(R[:, 0]), self.s**2
        for b, tau in enumerate(self.tau):
            r, a = R[..., b], tau * W[..., b]
            value = torch.where(weight > 0, weight * self._bound.value(-self._inverse * r), 0.0)
            conjugate = torch.where(weight > 0, weight * _conjugate_inside(self._bound, -self._inverse * a), 0.0)
            losses[:, b], gaps[:, b] = value, value + conjugate - (r * a).sum(-1)
        return losses, gaps

    def part(self, columns: Tensor | slice) -> GeneralRows:
        """The part for some settings."""
        return GeneralRows(self.s, self.tau[columns], self.loss, self.targets)

    def with_tau(self, tau: Tensor) -> GeneralRows:
        """Return the losses with other regularisers."""
        return GeneralRows(self.s, tau, self.loss, self.targets)


def build_row_loss(losses: Sequence[Loss], root_weights: Tensor, tau: Tensor, targets: Tensor) -> RowLoss:
    """The row part of a batch with one loss per setting."""
    same_form = [loss for loss in losses if isinstance(loss, EpsilonHuberLoss)]
    if len(same_form) == len(losses):
        table = [loss.dual_parameters for loss in same_form]
        if any(c == 0.0 and math.isinf(cap) for c, _, cap in table):
            raise InputError(
                "loss must be finite everywhere; a hard ball constraint is not supported. Use EpsilonInsensitive"
            )
        return CanonicalRows(root_weights, tau, *torch.tensor(table, dtype=tau.dtype, device=tau.device).unbind(1))
    if any(loss != losses[0] for loss in losses):
        raise InputError(
            f"losses of a batch must be equal or all of the form of EpsilonHuberLoss; got {list(losses)!r}"
        )
    return GeneralRows(root_weights, tau, losses[0], targets)
