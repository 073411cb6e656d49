"""The one canonical finite problem of operator-valued machines, for every loss and output space.

With outputs in coordinates ``Y`` (n rows, q columns), ``h(x) = sum_t k_t(x, X) W A_t`` and ``tau = n reg``,

    P(W) = 1/n sum_i f(h(x_i) - y_i) + reg/2 sum_t <K_t, W A_t W^T>,
    D(W) = 1/2 sum_t <K_t, W A_t W^T> - <W, Y> + 1/tau sum_i f*(-tau W_i),       min P = -reg min D.

``W = alpha / tau`` are the representer coefficients. Sample weights ``w`` go into rows: with ``s = sqrt(w)`` the
problem in ``W / s`` has Gram matrices ``s K s``, targets ``s Y``, thresholds ``s epsilon`` and caps ``s cap / tau``,
and the same quadratic part, so that equal weights and repeated rows give the same machine.

A batch holds B settings (loss, reg); all tensors are (n, q, B), so that a product with a Gram matrix is one wide matrix
product and row norms run over contiguous memory.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.linalg import solve_safely
from rkhs.losses import EpsilonHuberLoss, Loss
from rkhs.protocols import Resolvent
from rkhs.spaces.feature_gram import FeatureGram

_FEW = 500  # rows: with fewer, eigenvectors cost little, and show what rounding does


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


@dataclass(frozen=True, eq=False)
class _EigenResolvent:
    """Resolvent in an eigenbasis ``Q`` of shape (n, n), with its eigenvalues ``inverse``, shape (n, q or 1, B)."""

    Q: Tensor
    inverse: Tensor

    def _rotated(self, T: Tensor) -> Tensor:
        return (self.Q.mT @ T.view(len(T), -1)).view_as(T).mul_(self.inverse).view(len(T), -1)

    def __call__(self, T: Tensor) -> Tensor:
        return (self.Q @ self._rotated(T)).view_as(T)

    def add_to(self, out: Tensor, T: Tensor, alpha: float) -> None:
        out.view(len(T), -1).addmm_(self.Q, self._rotated(T), alpha=alpha)


class _Basis:
    """Eigenpairs of the Gram matrices (for sums: of their mixture), computed once and shared by every selection."""

    def __init__(self, grams: Sequence[Tensor], factors: Sequence[float]) -> None:
        self._grams, self._factors = grams, factors
        self._pairs: tuple[Tensor, Tensor] | None = None

    @property
    def known(self) -> bool:
        return self._pairs is not None

    def pairs(self) -> tuple[Tensor, Tensor]:
        if self._pairs is None:
            terms = [K if factor == 1.0 else factor * K for K, factor in zip(self._grams, self._factors, strict=True)]
            K = terms[0] if len(terms) == 1 else torch.stack(terms).sum(0)
            if not bool(torch.isfinite(K.sum())):
                raise InputError("the kernel gives values that are not finite on these items; rescale the data")
            values, vectors = torch.linalg.eigh(K)
            self._pairs = values.clamp_min(0.0), vectors
        return self._pairs

    def spectrum(self) -> Tensor:
        """Eigenvalues, shape (n,)."""
        return self.pairs()[0]

    def resolvent(self, a: Tensor, shift: Tensor, floor: float) -> Resolvent:
        """See :meth:`DualProblem.resolvent`."""
        values, vectors = self.pairs()
        D = torch.outer(values, a)[..., None] + shift
        return _EigenResolvent(vectors, 1.0 / (D.clamp_min(floor) if floor > 0.0 else D))


@dataclass(frozen=True)
class DualProblem:
    """A batch of dual problems, frozen; build it by :func:`dual_problem`."""

    grams: tuple[Tensor | FeatureGram, ...]  # (n, n): rows and columns times the roots of the sample weights
    operators: tuple[Tensor, ...]  # (q,): output operators in the rotated coordinates; a vector is a diagonal
    targets: Tensor  # (n, q): targets in the rotated coordinates, rows times the roots of the sample weights
    root_weights: Tensor  # (n,): roots of the sample weights
    regs: Tensor  # (B,): regularisers
    rows: RowLoss  # the losses
    basis: _Basis | FeatureGram = field(repr=False)  # eigenpairs of the Gram matrix, shared by selections
    rotation: Tensor | None = None  # (q, q): orthogonal; ``original = rotated @ rotation^T``

    solvers = ("ADMM", "FISTA", "ProximalGradient")

    @property
    def shape(self) -> tuple[int, int, int]:
        """``(n, q, B)``."""
        n, q = self.targets.shape
        return n, q, len(self.regs)

    @property
    def total(self) -> Tensor:
        """Sum of the sample weights."""
        return (self.root_weights**2).sum()

    @property
    def tau(self) -> Tensor:
        """``reg * (sum of weights)``, shape (B,)."""
        return self.total * self.regs

    def apply(self, W: Tensor) -> Tensor:
        """``sum_t K_t W A_t`` for ``W`` of shape (n, q, B)."""
        total: Tensor | None = None
        for K, A in zip(self.grams, self.operators, strict=True):
            V = (K @ _times(W, A).reshape(len(W), -1)).view_as(W)
            total = V if total is None else total.add_(V)
        assert total is not None
        return total

    def prox(self, U: Tensor, step: Tensor) -> Tensor:
        """Prox of the non-smooth part of ``D`` with one step per problem, shape (B,)."""
        return self.rows.prox(U, step)

    @property
    def quadratic(self) -> bool:
        """Whether every loss is the squared loss."""
        return self.rows.quadratic

    def certificates(self, W: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Losses and gaps row by row, shapes (n, B), and ``||h||^2``, shape (B,)."""
        # The gap of a row is l_i(h(x_i)) + l_i*(-alpha_i) + <alpha_i, h(x_i)> >= 0; their mean is the duality gap.
        H = self.apply(W)
        norms = torch.linalg.vecdot(W, H, dim=1).sum(0)
        losses, gaps = self.rows.certificate(self.targets[..., None] - H, W)
        return losses, gaps, norms

    def check(self, W: Tensor) -> tuple[Tensor, Tensor]:
        """Primal objectives and duality gaps at ``W``, each of shape (B,)."""
        losses, gaps, norms = self.certificates(W)
        return losses.sum(0) / self.total + 0.5 * self.regs * norms, gaps.sum(0).clamp_min(0.0) / self.total

    def null_value(self) -> Tensor:
        """``P(0)``, the scale of every tolerance, shape (B,)."""
        zero = self.targets.new_zeros(1, 1, 1).expand(self.shape)
        losses, _ = self.rows.certificate(self.targets[..., None].expand(self.shape), zero)
        return losses.sum(0) / self.total

    @property
    def separable(self) -> bool:
        """Whether the kernel is one term ``k A`` with a diagonal operator, so that an eigenbasis exists."""
        return len(self.grams) == 1 and self.operators[0].ndim == 1

    def _operator_eigenvalues(self) -> Tensor:
        """Eigenvalues of the output operator, a single one if all are equal."""
        if not self.separable:
            what = "an operator with a loss that is not isotropic"
            if len(self.grams) > 1:
                what = f"a sum of {len(self.grams)} operator-valued kernels"
            raise InputError(
                f"{what} has no common eigenbasis; use solver='fista', or solver='direct' with the squared loss"
            )
        a = self.operators[0]
        return a[:1] if bool((a == a[0]).all()) else a

    def eigenbasis(self) -> tuple[Tensor, Tensor]:
        """Basis ``Q`` of shape (n, n) and eigenvalues of ``K (x) A`` of shape (n, q) or (n, 1)."""
        a = self._operator_eigenvalues()
        vectors, values = self.mean_basis()
        return vectors, torch.outer(values, a)

    def mean_basis(self) -> tuple[Tensor, Tensor]:
        """Eigenpairs, (n, n) and (n,), of the kernel with each operator of a sum replaced by its mean eigenvalue."""
        if not isinstance(self.basis, _Basis):
            raise InputError("a Gram matrix of features has no eigenvectors computed; use solver='auto' or 'admm'")
        return self.basis.pairs()[::-1]

    @cached_property
    def ridge(self) -> Tensor | None:
        """Solution (n, q) of one problem of the squared loss by a Cholesky factorisation; None: by eigenvectors."""
        (K,), a = self.grams, self._operator_eigenvalues()
        if not isinstance(self.basis, _Basis) or self.basis.known or len(a) > 1 or self.shape[0] < _FEW:
            return None
        assert isinstance(K, Tensor)
        G = K * a if float(a) != 1.0 else K.clone()
        G.diagonal().add_(self.rows.curvature)
        return solve_safely(G, self.targets)

    def extremes(self) -> tuple[Tensor, Tensor]:
        """Smallest and largest eigenvalue of ``K (x) A``; weights that differ stand for equal rows."""
        spectrum = torch.outer(self.basis.spectrum(), self._operator_eigenvalues())
        repeated = bool((self.root_weights != self.root_weights[0]).any())  # whose Gram matrix is singular
        return torch.zeros_like(spectrum[0, 0]) if repeated else spectrum.min(), spectrum.max()

    def resolvent(self, shift: Tensor, floor: float = 0.0) -> Resolvent:
        """``(K (x) A + shift)^-1`` for one shift per problem, shape (B,)."""
        return self.basis.resolvent(self._operator_eigenvalues(), shift, floor)

    def lipschitz(self) -> Tensor:
        """Largest curvature of the smooth part, shape (B,)."""
        largest = torch.zeros_like(self.total)
        for K, A in zip(self.grams, self.operators, strict=True):
            if not isinstance(K, Tensor):
                raise InputError("a Gram matrix of features has no bound of its curvature; use solver='auto' or 'admm'")
            top = A.amax() if A.ndim == 1 else torch.linalg.eigvalsh(A)[-1]
            largest = largest + _largest_eigenvalue(K) * top
        return largest + self.rows.curvature

    def select(self, columns: Tensor | slice) -> DualProblem:
        """The part of the batch for some settings; the eigenbasis is shared."""
        return replace(self, regs=self.regs[columns], rows=self.rows.part(columns))

    def coefficients(self, points: Tensor) -> Tensor:
        """Representer coefficients of points of shape (B, n, q), in the coordinates that the targets came in."""
        C = points * self.root_weights[:, None]
        return C if self.rotation is None else C @ self.rotation.mT

    def points(self, coefficients: Tensor) -> Tensor:
        """The inverse of :meth:`coefficients` on rows of positive weight, shape (n, q, B)."""
        C = coefficients if self.rotation is None else coefficients @ self.rotation
        s = self.root_weights[:, None]
        return torch.where(s > 0, C / s.clamp_min(torch.finfo(s.dtype).tiny), 0.0).permute(1, 2, 0).contiguous()


def dual_problem(
    terms: Sequence[tuple[Tensor | FeatureGram, Tensor | None]],
    Y: Tensor,
    losses: Loss | Sequence[Loss],
    regs: float | Sequence[float],
    weights: Tensor | None = None,
) -> DualProblem:
    """Build a batch of dual problems: Gram matrices (n, n), targets (n, q), weights (n,)."""
    many_losses, many_regs = _settings(losses, regs)
    s = Y.new_ones(len(Y)) if weights is None else weights.to(Y).sqrt()
    grams = [K for K, _ in terms]
    if weights is not None:
        grams = [s[:, None] * K * s if isinstance(K, Tensor) else K.weighted(s) for K in grams]
    targets = Y if weights is None else s[:, None] * Y
    rotate = all(loss.isotropic for loss in many_losses)
    operators, rotation = _diagonalise([A for _, A in terms], Y.new_ones(Y.shape[1]), rotate=rotate)
    targets = (targets if rotation is None else targets @ rotation).contiguous()
    reg_row = torch.tensor(many_regs, dtype=Y.dtype, device=Y.device)
    rows = build_row_loss(many_losses, s, (s**2).sum() * reg_row, targets)
    basis = _basis_of(grams, operators)
    return DualProblem(tuple(grams), tuple(operators), targets, s, reg_row, rows, basis, rotation)


def _basis_of(grams: Sequence[Tensor | FeatureGram], operators: Sequence[Tensor]) -> _Basis | FeatureGram:
    formed = [K for K in grams if isinstance(K, Tensor)]
    if not formed:  # features, which are the only term
        return next(K for K in grams if not isinstance(K, Tensor))
    return _Basis(formed, [1.0 if len(operators) == 1 else _mean(A) for A in operators])


def _settings(losses: Loss | Sequence[Loss], regs: float | Sequence[float]) -> tuple[list[Loss], list[float]]:
    """A loss and a regulariser for every problem of a batch."""
    many_regs = list(regs) if isinstance(regs, (list, tuple, np.ndarray)) else [regs]
    many_losses = [losses] if isinstance(losses, Loss) else list(losses)
    B = max(len(many_regs), len(many_losses))
    checked = [check_number(reg, "reg", above=0.0) for reg in _stretch(many_regs, B, "regs")]
    return _stretch(many_losses, B, "losses"), checked


def _stretch(values: list[Any], length: int, name: str) -> list[Any]:
    if len(values) not in (1, length):
        raise InputError(f"{name} must have one entry or one per setting ({length}); got {len(values)}")
    return values * length if len(values) == 1 else values


def _diagonalise(operators: list[Tensor | None], ones: Tensor, *, rotate: bool) -> tuple[list[Tensor], Tensor | None]:
    """Rotate the outputs so that a single operator is diagonal, if the losses are isotropic; others stay."""
    matrices = [ones if A is None else A.to(ones) for A in operators]
    if rotate and len(matrices) == 1 and matrices[0].ndim == 2:
        values, vectors = torch.linalg.eigh(matrices[0])
        return [values.clamp_min(0.0)], vectors
    return matrices, None


def _mean(A: Tensor) -> float:
    return float((A if A.ndim == 1 else A.diagonal()).mean())


def _times(W: Tensor, A: Tensor) -> Tensor:
    """``W A`` along the coordinates, axis 1."""
    if A.ndim == 2:
        return torch.einsum("iqb,qr->irb", W, A)
    return W if bool((A == 1.0).all()) else W * A[:, None]


def _largest_eigenvalue(K: Tensor) -> Tensor:
    """Bound of the largest eigenvalue: 5 % above the power iteration, and at most the largest row sum."""
    v, value = torch.cos(torch.arange(len(K), dtype=K.dtype, device=K.device)) + 1.5, K.new_zeros(())
    for _ in range(200):
        v = K @ (v / torch.linalg.vector_norm(v).clamp_min(torch.finfo(K.dtype).tiny))
        value, before = torch.linalg.vector_norm(v), value
        if bool((value - before).abs() <= 1e-4 * value):
            break
    # Power iteration approaches the largest eigenvalue from below; no eigenvalue exceeds the largest row sum.
    return torch.minimum(1.05 * value, K.abs().sum(1).amax()).clamp_min(torch.finfo(K.dtype).tiny)
