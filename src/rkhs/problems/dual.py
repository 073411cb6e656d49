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
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs.losses import Loss
from rkhs.problems.row_loss import RowLoss, build_row_loss

__all__ = ["DualProblem", "dual_problem"]


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


@dataclass(frozen=True)
class DualProblem:
    """A batch of dual problems, frozen; build it by :func:`dual_problem`.

    Parameters
    ----------
    grams : tuple of T Tensor of shape (F, n, n)
        Gram matrices, rows and columns times the roots of the sample weights.
    operators : tuple of T Tensor of shape (q,) or (q, q)
        Output operators in the rotated coordinates; a vector is a diagonal.
    targets : Tensor of shape (F, n, q)
        Targets in the rotated coordinates, rows times the roots of the sample weights.
    root_weights : Tensor of shape (F, n)
        Roots of the sample weights.
    regs : Tensor of shape (B,)
        Regularisers.
    rows : RowLoss
        The losses.
    basis : object
        Eigenpairs of the Gram matrix, shared by selections.
    rotation : Tensor of shape (q, q), optional
        Orthogonal; ``original = rotated @ rotation^T``.
    first_fold : int, default=0
        Where the folds of a selection begin in the shared eigenpairs.

    References
    ----------
    Laforgue et al. (2020), theorems 4 to 7; ``docs/papers/duality_robust_losses.md``.
    """

    grams: tuple[Tensor, ...]
    operators: tuple[Tensor, ...]
    targets: Tensor
    root_weights: Tensor
    regs: Tensor
    rows: RowLoss
    basis: _Basis = field(repr=False)
    rotation: Tensor | None = None
    first_fold: int = field(default=0, repr=False)

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
            V = torch.matmul(K, self._flat(_times(W, A))).view_as(W)
            total = V if total is None else total.add_(V)
        assert total is not None
        return total

    def prox(self, U: Tensor, step: Tensor) -> Tensor:
        """Prox of the non-smooth part of ``D`` with one step a problem, shape (F, B)."""
        return self.rows.prox(U, step)

    def prox_row(self, U: Tensor, step: Tensor, i: int) -> Tensor:
        """Prox of row ``i`` alone; ``U`` of shape (F, q, B)."""
        return self.rows.row(i).prox(U[:, None], step)[:, 0]

    @property
    def quadratic(self) -> bool:
        """Whether every loss is the squared loss."""
        return self.rows.quadratic

    def certificates(self, W: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Losses and gaps row by row, shapes (F, n, B), and ``||h||^2``, shape (F, B).

        The gap of a row is ``l_i(h(x_i)) + l_i*(-alpha_i) + <alpha_i, h(x_i)> >= 0``; their mean is the duality gap.
        """
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
        """Whether the kernel is one term ``k A``, so that an eigenbasis exists."""
        return len(self.grams) == 1

    def eigenbasis(self) -> tuple[Tensor, Tensor]:
        """Basis ``Q`` of shape (F, n, n) and eigenvalues of ``K (x) A`` of shape (F, n, q) or (F, n, 1).

        Raises
        ------
        InputError
            For sums of kernels, whose terms share no basis.
        """
        if not self.separable:
            raise InputError(
                f"a sum of {len(self.grams)} operator-valued kernels has no common eigenbasis; "
                "use solver='fista', or solver='direct' with the squared loss"
            )
        values, vectors = self.basis.pairs()
        a = self.operators[0]
        a = a[:1] if bool((a == a[0]).all()) else a
        mine = slice(self.first_fold, self.first_fold + self.shape[0])
        return vectors[mine], values[mine][:, :, None] * a

    def mean_basis(self) -> tuple[Tensor, Tensor]:
        """Eigenpairs, (F, n, n) and (F, n), of the kernel with each operator replaced by its mean eigenvalue."""
        if self.separable:
            raise InputError("the mean basis is for sums of kernels; a single term has eigenbasis()")
        values, vectors = self.basis.pairs()
        mine = slice(self.first_fold, self.first_fold + self.shape[0])
        return vectors[mine], values[mine]

    def lipschitz(self) -> Tensor:
        """Largest curvature of the smooth part, shape (F, B)."""
        largest = torch.zeros_like(self.totals)
        for K, A in zip(self.grams, self.operators, strict=True):
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
            self.rows.select(folds, columns),
            self.basis,
            self.rotation,
            self.first_fold + folds.indices(self.shape[0])[0],
        )

    def coefficients(self, points: Tensor) -> Tensor:
        """Representer coefficients of points of shape (F, B, n, q), in the coordinates that the targets came in.

        Returns
        -------
        Tensor of shape (F, B, n, q)
            ``h(x) = sum_t k_t(x, X) C A_t``.
        """
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
    terms: Sequence[tuple[Tensor, Tensor | None]],
    Y: Tensor,
    losses: Loss | Sequence[Loss],
    regs: float | Sequence[float],
    weights: Tensor | None = None,
) -> DualProblem:
    """Build a batch of dual problems.

    Parameters
    ----------
    terms : sequence of T pairs
        Gram matrix of shape (n, n) or (F, n, n), and output operator of shape (q, q), (q,) for a diagonal, or None for
        the identity.
    Y : Tensor of shape (n, q) or (F, n, q)
        Targets in isometric coordinates.
    losses : Loss or sequence of B Loss
        One loss for all settings, or one a setting.
    regs : float or sequence of B float
        Regularisers > 0.
    weights : Tensor of shape (n,) or (F, n), optional
        Sample weights >= 0; the sum of a fold plays the part of n. Rows of weight zero are absent, which is how folds
        of different sizes share a batch. Default: ones.

    Returns
    -------
    DualProblem

    Raises
    ------
    InputError
        If a reg is not positive or lengths differ.

    References
    ----------
    Laforgue et al. (2020): ``docs/papers/duality_robust_losses.md``.
    """
    many_regs = list(regs) if isinstance(regs, (list, tuple, np.ndarray)) else [regs]
    many_losses = [losses] if isinstance(losses, Loss) else list(losses)
    B = max(len(many_regs), len(many_losses))
    many_regs, many_losses = _stretch(many_regs, B, "regs"), _stretch(many_losses, B, "losses")
    checked = [check_number(reg, "reg", above=0.0) for reg in many_regs]
    Y3 = Y if Y.ndim == 3 else Y[None]
    grams = [K if K.ndim == 3 else K[None] for K, _ in terms]
    F = max(
        [Y3.shape[0], *(K.shape[0] for K in grams)]
        + ([weights.shape[0]] if weights is not None and weights.ndim == 2 else [])
    )
    Y3 = Y3.expand(F, -1, -1)
    n, q = Y3.shape[1:]
    s = Y3.new_ones(F, n) if weights is None else weights.to(Y3).sqrt().expand(F, n)
    if weights is not None:
        grams = [s[:, :, None] * K * s[:, None, :] for K in grams]
        Y3 = s[:, :, None] * Y3
    grams = [K.expand(F, n, n) for K in grams]
    operators, rotation = _diagonalise([A for _, A in terms], Y3.new_ones(q))
    targets = (Y3 if rotation is None else Y3 @ rotation).contiguous()
    reg_row = torch.tensor(checked, dtype=Y3.dtype, device=Y3.device)
    rows = build_row_loss(many_losses, s, (s**2).sum(1)[:, None] * reg_row, targets)
    basis = _Basis(grams, [1.0 if len(operators) == 1 else _mean(A) for A in operators])
    return DualProblem(tuple(grams), tuple(operators), targets, s, reg_row, rows, basis, rotation)


def _stretch(values: list[Any], length: int, name: str) -> list[Any]:
    if len(values) not in (1, length):
        raise InputError(f"{name} must have one entry or one a setting ({length}); got {len(values)}")
    return values * length if len(values) == 1 else values


def _diagonalise(operators: list[Tensor | None], ones: Tensor) -> tuple[list[Tensor], Tensor | None]:
    """Rotate the outputs so that a single operator is diagonal; sums keep theirs."""
    given = [ones if A is None else A.to(ones) for A in operators]
    if len(given) == 1 and given[0].ndim == 2:
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
