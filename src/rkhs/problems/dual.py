"""The one canonical finite problem of operator-valued machines, for every loss and output space.

With outputs in coordinates ``Y`` (n rows, q columns), ``h(x) = sum_t k_t(x, X) W A_t`` and ``tau = n reg``,

    P(W) = 1/n sum_i f(h(x_i) - y_i) + reg/2 sum_t <K_t, W A_t W^T>,
    D(W) = 1/2 sum_t <K_t, W A_t W^T> - <W, Y> + 1/tau sum_i f*(-tau W_i),       min P = -reg min D.

``W = alpha / tau`` are the representer coefficients. Sample weights ``w`` go into rows: with ``s = sqrt(w)`` the
problem in ``W / s`` has Gram matrices ``s K s``, targets ``s Y``, thresholds ``s epsilon`` and caps ``s cap / tau``,
and the same quadratic part, so that equal weights and repeated rows give the same machine.

A batch holds F folds (Gram matrices of one size) times B settings (loss, reg); all tensors are (F, n, q, B), so that a
product with a Gram matrix is one wide matrix product and row norms run over contiguous memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs.losses import Loss
from rkhs.problems.row_loss import RowLoss, build_row_loss
from rkhs.protocols import Resolvent


class ImplicitGram(Protocol):
    """A Gram matrix that is never formed, such as ``F F^T`` of features."""

    def __matmul__(self, W: Tensor) -> Tensor:
        """``K W`` of shape (1, n, p)."""

    def __getitem__(self, folds: slice) -> ImplicitGram:
        """The same: there is one fold."""

    def weighted(self, s: Tensor) -> ImplicitGram:
        """``diag(s) K diag(s)`` for ``s`` of shape (1, n)."""

    def spectrum(self) -> Tensor:
        """Eigenvalues that are not zero by construction, shape (1, m), with a zero if there are others."""

    def resolvent(self, folds: slice, a: Tensor, shift: Tensor, floor: float) -> Resolvent:
        """See :meth:`DualProblem.resolvent`."""


@dataclass(frozen=True, eq=False)
class _EigenResolvent:
    """In an eigenbasis ``Q`` of shape (F, n, n), with what divides there, shape (F, n, q or 1, B)."""

    Q: Tensor
    inverse: Tensor

    def _turned(self, T: Tensor) -> Tensor:
        F, n = T.shape[:2]
        return torch.bmm(self.Q.mT, T.view(F, n, -1)).view_as(T).mul_(self.inverse).view(F, n, -1)

    def __call__(self, T: Tensor) -> Tensor:
        return torch.bmm(self.Q, self._turned(T)).view_as(T)

    def add_to(self, out: Tensor, T: Tensor, alpha: float) -> None:
        flat = out.view(T.shape[0], T.shape[1], -1)
        torch.baddbmm(flat, self.Q, self._turned(T), alpha=alpha, out=flat)


class _Basis:
    """Eigenpairs of the Gram matrices (for sums: of their mixture), computed once and shared by every selection."""

    def __init__(self, grams: Sequence[Tensor], factors: Sequence[float]) -> None:
        self._grams, self._factors = grams, factors
        self._pairs: tuple[Tensor, Tensor] | None = None

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
        """Eigenvalues, shape (F, n)."""
        return self.pairs()[0]

    def resolvent(self, folds: slice, a: Tensor, shift: Tensor, floor: float) -> Resolvent:
        """See :meth:`DualProblem.resolvent`."""
        values, vectors = self.pairs()
        D = (values[folds][:, :, None] * a)[..., None] + shift[:, None, None, :]
        return _EigenResolvent(vectors[folds], 1.0 / (D.clamp_min(floor) if floor > 0.0 else D))


@dataclass(frozen=True)
class DualProblem:
    """A batch of dual problems, frozen; build it by :func:`dual_problem`."""

    grams: tuple[Tensor | ImplicitGram, ...]  # (F, n, n): rows and columns times the roots of the sample weights
    operators: tuple[Tensor, ...]  # (q,): output operators in the rotated coordinates; a vector is a diagonal
    targets: Tensor  # (F, n, q): targets in the rotated coordinates, rows times the roots of the sample weights
    root_weights: Tensor  # (F, n): roots of the sample weights
    regs: Tensor  # (B,): regularisers
    rows: RowLoss  # the losses
    basis: _Basis | ImplicitGram = field(repr=False)  # eigenpairs of the Gram matrix, shared by selections
    rotation: Tensor | None = None  # (q, q): orthogonal; ``original = rotated @ rotation^T``
    first_fold: int = field(default=0, repr=False)  # where the folds of a selection begin in the shared eigenpairs

    solvers = ("ADMM", "FISTA", "BlockCoordinate", "ProximalGradient")

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """``(F, n, q, B)``."""
        F, n, q = self.targets.shape
        return F, n, q, len(self.regs)

    @property
    def totals(self) -> Tensor:
        """Sums of the sample weights, shape (F,)."""
        return (self.root_weights**2).sum(1)

    @property
    def tau(self) -> Tensor:
        """``reg * (sum of weights)``, shape (F, B)."""
        return self.totals[:, None] * self.regs

    def apply(self, W: Tensor) -> Tensor:
        """``sum_t K_t W A_t`` for ``W`` of shape (F, n, q, B)."""
        total: Tensor | None = None
        for K, A in zip(self.grams, self.operators, strict=True):
            V = (K @ self._flat(_times(W, A))).view_as(W)
            total = V if total is None else total.add_(V)
        assert total is not None
        return total

    def prox(self, U: Tensor, step: Tensor) -> Tensor:
        """Prox of the non-smooth part of ``D`` with one step a problem, shape (F, B)."""
        return self.rows.prox(U, step)

    def prox_row(self, U: Tensor, step: Tensor, i: int) -> Tensor:
        """Prox of row ``i`` alone; ``U`` of shape (F, q, B)."""
        return self.rows.part(rows=slice(i, i + 1)).prox(U[:, None], step)[:, 0]

    @property
    def quadratic(self) -> bool:
        """Whether every loss is the squared loss."""
        return self.rows.quadratic

    def certificates(self, W: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Losses and gaps row by row, shapes (F, n, B), and ``||h||^2``, shape (F, B)."""
        # The gap of a row is l_i(h(x_i)) + l_i*(-alpha_i) + <alpha_i, h(x_i)> >= 0; their mean is the duality gap.
        H = self.apply(W)
        norms = torch.linalg.vecdot(W, H, dim=2).sum(1)
        losses, gaps = self.rows.certificate(self.targets[:, :, :, None] - H, W)
        return losses, gaps, norms

    def check(self, W: Tensor) -> tuple[Tensor, Tensor]:
        """Primal objectives and duality gaps at ``W``, each of shape (F, B)."""
        losses, gaps, norms = self.certificates(W)
        totals = self.totals[:, None]
        return losses.sum(1) / totals + 0.5 * self.regs * norms, gaps.sum(1).clamp_min(0.0) / totals

    def null_value(self) -> Tensor:
        """``P(0)``, the scale of every tolerance, shape (F, B)."""
        F, n, q, B = self.shape
        zero = self.targets.new_zeros(1, 1, 1, 1).expand(F, n, q, B)
        losses, _ = self.rows.certificate(self.targets[:, :, :, None].expand(F, n, q, B), zero)
        return losses.sum(1) / self.totals[:, None]

    @property
    def separable(self) -> bool:
        """Whether the kernel is one term ``k A`` with a diagonal operator, so that an eigenbasis exists."""
        return len(self.grams) == 1 and self.operators[0].ndim == 1

    def _one_term(self) -> tuple[slice, Tensor]:
        """Folds among the shared eigenpairs, and eigenvalues of the operator, one where all are equal."""
        if not self.separable:
            what = "an operator beside a loss that is not isotropic"
            if len(self.grams) > 1:
                what = f"a sum of {len(self.grams)} operator-valued kernels"
            raise InputError(
                f"{what} has no common eigenbasis; use solver='fista', or solver='direct' with the squared loss"
            )
        a = self.operators[0]
        return slice(self.first_fold, self.first_fold + self.shape[0]), a[:1] if bool((a == a[0]).all()) else a

    def eigenbasis(self) -> tuple[Tensor, Tensor]:
        """Basis ``Q`` of shape (F, n, n) and eigenvalues of ``K (x) A`` of shape (F, n, q) or (F, n, 1)."""
        mine, a = self._one_term()
        values, vectors = self._eigenpairs()
        return vectors[mine], values[mine][:, :, None] * a

    def _eigenpairs(self) -> tuple[Tensor, Tensor]:
        if not isinstance(self.basis, _Basis):
            raise InputError("a Gram matrix of features has no eigenvectors at hand; use solver='auto' or 'admm'")
        return self.basis.pairs()

    def extremes(self) -> tuple[Tensor, Tensor]:
        """Smallest and largest eigenvalue of ``K (x) A``, each of shape (F,)."""
        mine, a = self._one_term()
        spectrum = self.basis.spectrum()[mine][:, :, None] * a
        return spectrum.amin((1, 2)), spectrum.amax((1, 2))

    def resolvent(self, shift: Tensor, floor: float = 0.0) -> Resolvent:
        """``(K (x) A + shift)^-1`` for one shift a problem, shape (F, B)."""
        mine, a = self._one_term()
        return self.basis.resolvent(mine, a, shift, floor)

    def mean_basis(self) -> tuple[Tensor, Tensor]:
        """Eigenpairs, (F, n, n) and (F, n), of the kernel with each operator replaced by its mean eigenvalue."""
        if self.separable:
            raise InputError("the mean basis is for sums of kernels; a single term has eigenbasis()")
        values, vectors = self._eigenpairs()
        mine = slice(self.first_fold, self.first_fold + self.shape[0])
        return vectors[mine], values[mine]

    def lipschitz(self) -> Tensor:
        """Largest curvature of the smooth part, shape (F, B)."""
        largest = torch.zeros_like(self.totals)
        for K, A in zip(self.grams, self.operators, strict=True):
            if not isinstance(K, Tensor):
                raise InputError("a Gram matrix of features has no bound of its curvature; use solver='auto' or 'admm'")
            top = A.amax() if A.ndim == 1 else torch.linalg.eigvalsh(A)[-1]
            largest = largest + _largest_eigenvalue(K) * top
        return largest[:, None] + self.rows.curvature

    def select(self, folds: slice, columns: Tensor | slice) -> DualProblem:
        """The part of the batch for some folds and settings; the eigenbasis is shared."""
        return DualProblem(
            tuple(K[folds] for K in self.grams),
            self.operators,
            self.targets[folds],
            self.root_weights[folds],
            self.regs[columns],
            self.rows.part(folds, columns=columns),
            self.basis,
            self.rotation,
            self.first_fold + folds.indices(self.shape[0])[0],
        )

    def coefficients(self, points: Tensor) -> Tensor:
        """Representer coefficients of points of shape (F, B, n, q), in the coordinates that the targets came in."""
        C = points * self.root_weights[:, None, :, None]
        return C if self.rotation is None else C @ self.rotation.mT

    def points(self, coefficients: Tensor) -> Tensor:
        """The inverse of :meth:`coefficients` on rows of positive weight, shape (F, n, q, B)."""
        C = coefficients if self.rotation is None else coefficients @ self.rotation
        s = self.root_weights[:, None, :, None]
        return torch.where(s > 0, C / s.clamp_min(torch.finfo(s.dtype).tiny), 0.0).permute(0, 2, 3, 1).contiguous()

    def _flat(self, W: Tensor) -> Tensor:
        F, n, q, B = W.shape
        return W.reshape(F, n, q * B)


def dual_problem(
    terms: Sequence[tuple[Tensor | ImplicitGram, Tensor | None]],
    Y: Tensor,
    losses: Loss | Sequence[Loss],
    regs: float | Sequence[float],
    weights: Tensor | None = None,
) -> DualProblem:
    """Build a batch of dual problems of one fold: Gram matrices (n, n), targets (n, q), weights (n,)."""
    many_losses, many_regs = _settings(losses, regs)
    s = Y.new_ones(1, len(Y)) if weights is None else weights.to(Y).sqrt()[None]
    grams = [_weighted(K, None if weights is None else s) for K, _ in terms]
    targets = Y[None] if weights is None else s[:, :, None] * Y[None]
    rotate = all(loss.isotropic for loss in many_losses)
    operators, rotation = _diagonalise([A for _, A in terms], Y.new_ones(Y.shape[1]), rotate=rotate)
    targets = (targets if rotation is None else targets @ rotation).contiguous()
    reg_row = torch.tensor(many_regs, dtype=Y.dtype, device=Y.device)
    rows = build_row_loss(many_losses, s, (s**2).sum(1)[:, None] * reg_row, targets)
    basis = _basis_of(grams, operators)
    return DualProblem(tuple(grams), tuple(operators), targets, s, reg_row, rows, basis, rotation)


def _basis_of(grams: Sequence[Tensor | ImplicitGram], operators: Sequence[Tensor]) -> _Basis | ImplicitGram:
    formed = [K for K in grams if isinstance(K, Tensor)]
    if not formed:  # features, which are the only term
        return next(K for K in grams if not isinstance(K, Tensor))
    return _Basis(formed, [1.0 if len(operators) == 1 else _mean(A) for A in operators])


def _weighted(K: Tensor | ImplicitGram, s: Tensor | None) -> Tensor | ImplicitGram:
    """Rows and columns of a Gram matrix times roots of weights, as that of one fold."""
    if not isinstance(K, Tensor):
        return K if s is None else K.weighted(s)
    return K[None] if s is None else s[:, :, None] * K[None] * s[:, None, :]


def _settings(losses: Loss | Sequence[Loss], regs: float | Sequence[float]) -> tuple[list[Loss], list[float]]:
    """A loss and a regulariser for every problem of a batch."""
    many_regs = list(regs) if isinstance(regs, (list, tuple, np.ndarray)) else [regs]
    many_losses = [losses] if isinstance(losses, Loss) else list(losses)
    B = max(len(many_regs), len(many_losses))
    checked = [check_number(reg, "reg", above=0.0) for reg in _stretch(many_regs, B, "regs")]
    return _stretch(many_losses, B, "losses"), checked


def _stretch(values: list[Any], length: int, name: str) -> list[Any]:
    if len(values) not in (1, length):
        raise InputError(f"{name} must have one entry or one a setting ({length}); got {len(values)}")
    return values * length if len(values) == 1 else values


def _diagonalise(operators: list[Tensor | None], ones: Tensor, *, rotate: bool) -> tuple[list[Tensor], Tensor | None]:
    """Rotate the outputs so that a single operator is diagonal, if the losses may be; sums keep theirs."""
    given = [ones if A is None else A.to(ones) for A in operators]
    if rotate and len(given) == 1 and given[0].ndim == 2:
        values, vectors = torch.linalg.eigh(given[0])
        return [values.clamp_min(0.0)], vectors
    return given, None


def _mean(A: Tensor) -> float:
    return float((A if A.ndim == 1 else A.diagonal()).mean())


def _times(W: Tensor, A: Tensor) -> Tensor:
    """``W A`` along the coordinates, axis 2."""
    if A.ndim == 2:
        return torch.einsum("fiqb,qr->firb", W, A)
    return W if bool((A == 1.0).all()) else W * A[:, None]


def _largest_eigenvalue(K: Tensor) -> Tensor:
    """Upper bound, tight to 1e-6, of the largest eigenvalue of each matrix, shape (F,), by power iteration."""
    n = K.shape[1]
    v = torch.cos(torch.arange(n, dtype=K.dtype, device=K.device))[None, :, None].expand(K.shape[0], n, 1) + 1.5
    value = K.new_zeros(K.shape[0])
    for _ in range(200):
        v = v / torch.linalg.vector_norm(v, dim=1, keepdim=True).clamp_min(torch.finfo(K.dtype).tiny)
        u = K @ v
        new = torch.linalg.vector_norm(u, dim=1)[:, 0]
        if bool(((new - value).abs() <= 1e-4 * new).all()):
            break
        value, v = new, u
    # The residual bounds the distance to an eigenvalue; the row sums bound the largest one from above.
    return torch.minimum(1.05 * new, K.abs().sum(2).amax(1)).clamp_min(torch.finfo(K.dtype).tiny)
