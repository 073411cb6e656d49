"""Refined codes: the best code of one more item, with decoder and training codes fixed.

Changing the encoder at ``x`` while the training codes stay increases its squared norm by at least ``||z - f(x)||^2 /
s^2(x)``, with the power function ``s^2(x) = k(x, x) - k(x, X) K^(-1) k(X, x)``. So the objective of the autoencoder
with ``x`` added is

    (1/(2 n)) ||t(x) - g(z)||^2 + reg_1 / (2 s^2(x)) ||z - f(x)||^2,   z = f(x) + (s(x) / sqrt(reg_1)) u,

one problem per item. At a training item ``s = 0`` and the code stays as it is. With ``k(x, x)`` in place of ``s^2`` the
training codes may change: it is the least squared norm of any change of the encoder that moves the code of ``x``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from rkhs._core.linalg import divisor
from rkhs.constraints import CodeSet, SoftSphere
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.distances import squared_distances
from rkhs.kernels.vectors.radial import Radial
from rkhs.problems.semiparametric import linear_system

_ENTRIES = 4_000_000  # of the Jacobians of a block of rows


@dataclass(frozen=True)
class CodeRefinement:
    """Problems that refine the codes of m new items, in the scaled steps ``u``."""

    kernel: Kernel  # of the decoder, differentiable and resolved
    supports: Tensor  # (n, p): training codes
    coefficients: Tensor  # (n, r): the decoder is ``k(z, supports) coefficients``
    targets: Tensor  # (m, r): coordinates of the items
    start: Tensor  # (m, p): codes ``f(x)`` of the encoder
    radius: Tensor  # (m,): ``s(x) / sqrt(reg_1)``, with the power function or ``k(x, x)`` as ``s^2``
    n: float  # number of training items, or the sum of their weights
    linear: Tensor | None = None  # (p + 1, r)
    projection: Tensor | None = (
        None  # (p, p): orthogonal projection onto the directions in which codes may change; None: all
    )
    row_constraint: CodeSet | None = (
        None  # codes are projected onto it, or penalised for leaving it; None: unconstrained
    )
    later_layers: tuple[Any, ...] = ()  # further layers of the decoder: ``of``, ``pull`` and ``jacobian``

    @classmethod
    def of(cls, layers: Sequence[Any], targets: Tensor, start: Tensor, radius: Tensor, n: float, **how: Any) -> Self:
        """Build the problem from layers of the decoder; the codes are the input of the first."""
        layer, *later_layers = layers
        A, C, linear = layer.tensors(start)
        return cls(layer.kernel, A, C, targets, start, radius, n, linear, later_layers=tuple(later_layers), **how)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", self.kernel.radial or self.kernel)  # which computes distances once

    def codes(self, U: Tensor) -> Tensor:
        """Codes at the steps ``U``, shape (m, p)."""
        Z = self.start + self.radius[:, None] * U
        return Z if self.row_constraint is None else self.row_constraint.project(Z)

    def _unconstrained_codes(self, U: Tensor) -> Tensor:
        return self.start + self.radius[:, None] * U

    def rows(self, index: Tensor) -> CodeRefinement:
        """The problems of some rows."""
        return replace(self, targets=self.targets[index], start=self.start[index], radius=self.radius[index])

    def errors(self, codes: Tensor, K: Tensor) -> Tensor:
        """Squared distance of items to what ``K = k(codes, supports)`` decodes to, and to a soft sphere, shape (m,)."""
        squared_errors = ((self.targets - self._decoded(codes, K)) ** 2).sum(1)
        return (
            squared_errors + self.row_constraint.misfit(codes)[:, 0] ** 2
            if isinstance(self.row_constraint, SoftSphere)
            else squared_errors
        )

    def nearest(self, decoded: Tensor | None = None) -> Tensor:
        """Steps to start from (m, p): to the best support, where it is better than the encoder's code."""
        if decoded is None:
            decoded = CodeRefinement._decoded(self, self.supports, self.kernel._gram(self.supports))
        distances = self._support_distances(decoded)
        if isinstance(self.row_constraint, SoftSphere):
            distances += self.row_constraint.misfit(self.supports)[:, 0] ** 2
        cost = distances.div_(2.0 * self.n)
        cost += squared_distances(self.start, self.supports).div_(2.0 * divisor(self.radius**2)[:, None])
        least, chosen = cost.min(1)
        U = (self.supports[chosen] - self.start) / self.radius[:, None]
        U = U if self.projection is None else U @ self.projection
        codes = self.codes(torch.zeros_like(U))
        cost_at_start = self.errors(codes, self.kernel._gram(codes, self.supports)) / (2.0 * self.n)
        return torch.where((least < cost_at_start)[:, None] & torch.isfinite(U).all(1, keepdim=True), U, 0.0)

    def _support_distances(self, decoded: Tensor) -> Tensor:
        """Squared distance of each item to what each support decodes to, shape (m, n)."""
        return squared_distances(self.targets, decoded)

    def values_and_grads(self, U: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Objective and gradient of each row, and slopes of a radial kernel for the curvature: O(m n (p + r))."""
        codes = self.codes(U)
        if isinstance(self.kernel, Radial):
            K, slopes = self.kernel.gram_and_slopes(codes, self.supports)
        else:
            K, slopes = self.kernel._gram(codes, self.supports), None
        R = self.targets - self._decoded(codes, K)
        pulled = self._pullback(codes, R, slopes).mul_(-1.0 / self.n)
        pulled = pulled if self.projection is None else pulled @ self.projection
        pulled = (
            pulled
            if self.row_constraint is None
            else self.row_constraint.pullback(self._unconstrained_codes(U), pulled)
        )
        squared_errors = (R * R).sum(1)
        if isinstance(self.row_constraint, SoftSphere):
            misfit = self.row_constraint.misfit(codes)
            squared_errors += misfit[:, 0] ** 2
            pulled = pulled.addcmul_(self.row_constraint.misfit_slopes(codes), misfit, value=1.0 / self.n)
        values = squared_errors / (2.0 * self.n) + 0.5 * (U * U).sum(1)
        return values, self.radius[:, None] * pulled + U, slopes

    def with_curvature(self, U: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Objective, gradient and inverse of the Gauss-Newton matrix of each row: O(m n p r + m p^2 r)."""
        found: list[tuple[Tensor, Tensor, Tensor]] = []
        rows = max(1, _ENTRIES // max(1, self.targets.shape[1] * U.shape[1]))
        for part in torch.arange(len(U), device=U.device).split(rows):
            problem = self.rows(part)
            values, grads, slopes = problem.values_and_grads(U[part])
            codes = problem.codes(U[part])
            J = problem._jacobian(codes, slopes)
            if isinstance(self.row_constraint, SoftSphere):
                J = torch.cat([J, self.row_constraint.misfit_slopes(codes)[:, :, None]], 2)
            J = problem._through_constraint(J, problem._unconstrained_codes(U[part]))
            J.mul_(problem.radius[:, None, None] / self.n**0.5)
            H = J @ J.mT
            H.diagonal(dim1=1, dim2=2).add_(1.0)
            L, failed = torch.linalg.cholesky_ex(H)
            if bool(failed.any()):  # a steep decoder: the ones are rounded away, add the rounding error
                least = (J.shape[1] + J.shape[2]) * torch.finfo(H.dtype).eps * H.diagonal(dim1=1, dim2=2).sum(1)
                H.diagonal(dim1=1, dim2=2).add_(torch.where(failed > 0, least, torch.zeros_like(least))[:, None])
                L = torch.linalg.cholesky_ex(H)[0]
            found.append((values, grads, torch.cholesky_inverse(L)))
        values, grads, inverse = (torch.cat(parts) for parts in zip(*found, strict=True))
        return values, grads, inverse

    def optimality(self, Y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluate at codes ``Y``: the gradient ``Q`` of the error (m, p), ``dQ/dY`` and ``-n dQ/dt``."""
        # ``Y = start - radius^2 Q(Y, t)`` at the least objective. The second derivatives are central differences.
        zero, free = torch.zeros_like(Y), replace(self, radius=torch.ones_like(self.radius))
        step = torch.finfo(Y.dtype).eps ** (1 / 3) * divisor(self.supports.std())
        unit = torch.eye(Y.shape[1]).to(Y)
        offsets = (torch.zeros_like(unit[0]), *(step * unit), *(-step * unit))
        Q, *shifted = (replace(free, start=Y + offset).values_and_grads(zero)[1] for offset in offsets)
        above, below = torch.stack(shifted, 2).chunk(2, 2)
        codes = replace(free, start=Y).codes(zero)
        return Q, (above - below) / (2.0 * step), self._through_constraint(self._jacobian(codes, None), Y)

    def _through_constraint(self, J: Tensor, Y: Tensor) -> Tensor:
        J = J if self.projection is None else self.projection @ J
        return J if self.row_constraint is None else _pull_through_constraint(self.row_constraint, Y, J)

    def _decoded(self, codes: Tensor, K: Tensor) -> Tensor:
        predicted = self._first(codes, K)
        for layer in self.later_layers:
            predicted = layer.of(predicted)
        return predicted

    def _first(self, codes: Tensor, K: Tensor) -> Tensor:
        """Output of the first layer of the decoder."""
        predicted = K @ self.coefficients
        return predicted if self.linear is None else predicted.add_(self.linear[-1]).addmm_(codes, self.linear[:-1])

    def _later_layers(self, codes: Tensor) -> list[tuple[Any, Tensor]]:
        """Later layers of the decoder, each with its input."""
        Z, found = self._first(codes, self.kernel._gram(codes, self.supports)) if self.later_layers else codes, []
        for layer in self.later_layers:
            found.append((layer, Z))
            Z = layer.of(Z)
        return found

    def _pull(self, codes: Tensor, S: Tensor, slopes: Tensor | None) -> Tensor:
        """``sum_j S_ij grad_1 k(z_i, z_j)``, shape (m, p); ``S`` may be overwritten."""
        if slopes is None or not isinstance(self.kernel, Radial):
            return self.kernel.cross_pullback(codes, self.supports, S)
        return self.kernel.pulled(codes, self.supports, S.mul_(slopes))

    def _pullback(self, codes: Tensor, R: Tensor, slopes: Tensor | None) -> Tensor:
        """Gradient of ``sum_i <r_i, g(z_i)>`` in the codes, shape (m, p)."""
        for layer, Z in self._later_layers(codes)[::-1]:
            R = layer.pull(Z, R)
        pulled = self._pull(codes, R @ self.coefficients.mT, slopes)
        return pulled if self.linear is None else torch.addmm(pulled, R, self.linear[:-1].mT)

    def _jacobian(self, codes: Tensor, slopes: Tensor | None) -> Tensor:
        """Derivatives of the decoder at each code, shape (m, p, r)."""
        if slopes is None or not isinstance(self.kernel, Radial):
            J = self.kernel._jacobian(codes, self.supports, self.coefficients)
        else:
            J = self.kernel.jacobian_of(codes, self.supports, slopes, self.coefficients)
        J = J if self.linear is None else J.add_(self.linear[:-1])
        for layer, Z in self._later_layers(codes):
            J = J @ layer.jacobian(Z)
        return J


def _pull_through_constraint(row_constraint: CodeSet, Y: Tensor, J: Tensor) -> Tensor:
    """Chain rule: derivatives (m, p, r) in codes ``Y``, from those in their projections onto the set."""
    unit = torch.eye(Y.shape[1]).to(Y)
    D = torch.stack([row_constraint.pullback(Y, unit[j].expand_as(Y)) for j in range(len(unit))], 2)
    return D @ J


@dataclass(frozen=True)
class LeaveOneOutRefinement(CodeRefinement):
    """Codes of the training items, each refined with the decoder that was fitted without it."""

    # With ``Phi = P T`` the decoder without item i is ``g(z) - share_i(z) phi_i / P_ii``, where
    # ``share_i(z) = k(z, supports) p_i + [z, 1] m_i`` is its value if the targets were one at item i and zero
    # elsewhere.

    influence: Tensor = field(kw_only=True)  # (n, n): the rows ``p_i`` of ``P``
    steps: Tensor = field(kw_only=True)  # (n, r): ``phi_i / P_ii``
    linear_influence: Tensor | None = field(
        kw_only=True, default=None
    )  # (n, p + 1): the rows ``m_i``, with a linear part

    def rows(self, index: Tensor) -> LeaveOneOutRefinement:
        """The problems of some rows."""
        linear_rows = None if self.linear_influence is None else self.linear_influence[index]
        return replace(
            self,
            targets=self.targets[index],
            start=self.start[index],
            radius=self.radius[index],
            influence=self.influence[index],
            steps=self.steps[index],
            linear_influence=linear_rows,
        )

    def _support_distances(self, decoded: Tensor) -> Tensor:
        """Squared distances with the share of each item in the decoder removed; the diagonal is infinite."""
        share = self.influence @ self.kernel._gram(self.supports)
        if self.linear_influence is not None:
            share.addmm_(self.linear_influence[:, :-1], self.supports.mT).add_(self.linear_influence[:, -1:])
        along = (self.targets * self.steps).sum(1, keepdim=True) - self.steps @ decoded.mT
        distances = super()._support_distances(decoded).add_(2.0 * share * along)
        distances.addcmul_(share * share, (self.steps * self.steps).sum(1, keepdim=True)).clamp_min_(0.0)
        return distances.fill_diagonal_(torch.inf)

    def _decoded(self, codes: Tensor, K: Tensor) -> Tensor:
        share = (K * self.influence).sum(1)
        if self.linear_influence is not None:
            share = share + (codes * self.linear_influence[:, :-1]).sum(1) + self.linear_influence[:, -1]
        return super()._decoded(codes, K) - share[:, None] * self.steps

    def _share_gradients(self, codes: Tensor, slopes: Tensor | None) -> Tensor:
        """Derivatives of ``share_i`` at each code, shape (m, p)."""
        pulled = self._pull(codes, self.influence.clone(), slopes)
        return pulled if self.linear_influence is None else pulled + self.linear_influence[:, :-1]

    def _pullback(self, codes: Tensor, R: Tensor, slopes: Tensor | None) -> Tensor:
        along = (R * self.steps).sum(1, keepdim=True) * self._share_gradients(codes, slopes)
        return super()._pullback(codes, R, slopes) - along

    def _jacobian(self, codes: Tensor, slopes: Tensor | None) -> Tensor:
        return (
            super()._jacobian(codes, slopes) - self._share_gradients(codes, slopes)[:, :, None] * self.steps[:, None, :]
        )


def power_function(
    cholesky: Tensor, cross: Tensor, diag: Tensor, linear: Tensor | None = None, mixed: Tensor | None = None
) -> Tensor:
    """``s^2(x)``, the squared distance of ``phi(x)`` from the span of the training features."""
    # With a linear part: the squared distance of (q(x), phi(x)) from the span of the (q(x_i), phi(x_i)): with M = F^-1
    # Q and e = q(x) - M^T F^-1 phi(x), the one of the kernel plus e^T (I + M^T M)^-1 e.
    F = torch.linalg.solve_triangular(cholesky, cross.mT, upper=False)
    power = (diag - (F * F).sum(0)).clamp_min(0.0)
    if linear is None or mixed is None:
        return power
    E = linear.mT - mixed.mT @ F
    return power + (E * torch.linalg.solve(linear_system(mixed), E)).sum(0)
