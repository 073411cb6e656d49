"""Leave-one-out residuals of ridge regression with a kernel times an operator, for many regularisers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs.selection.loss_scale import merged_copies
from rkhs.selection.path import subsample

_SUBSAMPLES, _SUBSAMPLE = 2, 1000  # subsamples without a common row, and rows of each
_DIGITS = 100.0  # least regulariser, in multiples of the rounding error of a Gram matrix


def regs_above_rounding(regs: np.ndarray, K: Tensor, eigenvalues: Tensor) -> np.ndarray:
    """Regularisers, largest first, above the rounding error of a Gram matrix; the first alone if none is."""
    largest = float(K.diagonal().mean() * eigenvalues.max())
    return regs[min(_DIGITS * torch.finfo(K.dtype).eps * largest, regs[0]) <= regs]


def left_out_path(
    K: Tensor,
    U: Tensor,
    eigenvalues: Tensor,
    regs: Sequence[float] | np.ndarray,
    weights: Tensor | None,
    groups: np.ndarray | None = None,
    together: np.ndarray | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield leave-one-out residuals and dual coefficients for each regulariser, in the eigenbasis of the operator."""
    # In the coordinate of eigenvalue ``a`` the machine solves ``G c = u``, ``G = a K + reg diag(1/w)``. The residual of
    # item i by the machine without it is ``c_i / (G^-1)_ii``. An item is left out with all of its weight and with its
    # copies, which share an id in ``groups`` (n,): only ratios of the weights count, and copies are weights. Items
    # that share an id in ``together`` (n,) are left out at once: with their block of ``G^-1`` in place of one entry.
    given = torch.full_like(U[:, 0], 1.0 / len(U)) if weights is None else weights
    first, place, w = merged_copies(groups, given)
    K, U, share = K[first][:, first], U[first], (given / w[place])[:, None]
    root = w.sqrt()[:, None]
    values, Q = torch.linalg.eigh(root * K * root.mT)
    spectrum, turned, squares = values.clamp_min(0.0)[:, None] * eigenvalues, Q.mT @ (root * U), Q * Q
    for reg in regs:
        inverse = 1.0 / (spectrum + float(reg))
        c = root * (Q @ (inverse * turned))
        if together is not None:
            found, numbers = torch.empty_like(c), torch.as_tensor(together, device=c.device)
            for a in eigenvalues.unique():
                columns = (eigenvalues == a).nonzero()[:, 0]
                spectra = inverse[:, columns[0]].expand_as(Q)
                found[:, columns] = _of_blocks(root * Q, spectra, turned[:, columns], numbers)
            yield found, c
            continue
        diagonal = w[:, None] * (squares @ inverse)
        yield (c / diagonal)[place], share * c[place]


def errors_of_subsamples(
    K: Tensor,
    U: Tensor,
    eigenvalues: Tensor,
    regs: np.ndarray,
    w: Tensor,
    together: np.ndarray | None,
    copies: Callable[[Sequence[Tensor], Tensor], np.ndarray],
) -> np.ndarray:
    """Shares of the variance lost for rows left out of subsamples, whose noise ``n reg`` is that of all rows."""
    found = []
    for number in range(_SUBSAMPLES):
        rows = subsample(len(U), together, _SUBSAMPLE, 0, number)
        at = torch.as_tensor(rows, device=U.device)
        part, targets, mass = K[at][:, at], U[at], float(w[at].sum())
        groups = copies([part], targets) if together is None else None
        ids = None if together is None else np.unique(together[rows], return_inverse=True)[1]
        path = left_out_path(part, targets, eigenvalues, regs / mass, w[at] / mass, groups, ids)
        spread = float(w[at] @ (targets * targets).sum(1)) or 1.0
        found.append([float(w[at] @ (left * left).sum(1)) / spread for left, _ in path])
    return np.mean(found, axis=0)


def _of_blocks(V: Tensor, inverse: Tensor, targets: Tensor, together: Tensor) -> Tensor:
    """``(G^-1)_bb^-1 (G^-1 t)_b`` for each group b of items left out at once; ``targets``: t in the eigenbasis."""
    found = targets.new_empty(len(V), targets.shape[1])
    sizes = torch.bincount(together)[together]
    for size in sizes.unique().tolist():
        some = (sizes == size).nonzero()[:, 0]
        rows = some[together[some].argsort(stable=True)].view(-1, size)  # all groups of a size at once
        scaled = V[rows] * inverse[rows[:, :1]]
        found[rows] = torch.linalg.solve(scaled @ V[rows].mT, scaled @ targets)
    return found


def refit_residuals(
    K: Tensor,
    Y: Tensor,
    operator: Any,
    regs: Sequence[float] | np.ndarray,
    w: Tensor,
    together: Tensor | None,
    *,
    center: bool,
    eigenpairs: tuple[Tensor, Tensor] | None = None,
) -> Iterator[Tensor]:
    """Yield held-out residuals (n, q) of refits without each item: weights renormalised, mean re-estimated.

    ``eigenpairs``: of ``diag(w)^1/2 K diag(w)^1/2``, where they are known.
    """
    # Without item i the system is ``G_i = a K + reg (1 - w_i) diag(1/w)``, up to a factor of item i alone, and with the
    # mean ``m_i`` of the others its residual is ``(G_i^-1 (y - m_i))_i / (G_i^-1)_ii``; items that share an id
    # in ``together`` (n,) have their block of ``G_i^-1`` in place of one entry.
    values, V = (Y.new_ones(1), None) if operator is None else torch.linalg.eigh(operator)
    T = Y if V is None else Y @ V
    root, sums = w.sqrt()[:, None], torch.cat([w[:, None] * T, w[:, None]], 1)
    if together is not None:
        sums = torch.zeros_like(sums).index_add_(0, together, sums)[together]
    rest = 1.0 - sums[:, -1:]
    means = (w @ T - sums[:, :-1]) / rest if center else torch.zeros_like(T)
    s, Q = torch.linalg.eigh(root * K * root.mT) if eigenpairs is None else eigenpairs
    s, turned, ones, squares = s.clamp_min(0.0), Q.mT @ (root * T), Q.mT @ root, Q * Q
    alike = together is None and bool((rest == rest[0]).all())
    for reg in regs:
        parts = []
        for j, a in enumerate(values.clamp_min(0.0)):
            columns = slice(None) if V is None else slice(j, j + 1)
            inverse = (a * s + reg * (rest[:1] if alike else rest)).reciprocal_()  # (n, n), a row per item, or (1, n)
            right_sides = torch.cat([turned[:, columns], ones], 1)
            if alike:
                solved = Q @ (inverse.mT * right_sides)
                diagonal = root * (squares @ inverse.mT)
            elif together is None:
                solved = (Q * inverse) @ right_sides
                diagonal = root * inverse.mul_(squares).sum(1, keepdim=True)
            else:
                solved, diagonal = _of_blocks(root * Q, inverse, right_sides, together), root.new_ones(1)
            parts.append((solved[:, :-1] - solved[:, -1:] * means[:, columns]) / diagonal)
        yield torch.cat(parts, 1)
