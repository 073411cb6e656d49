"""Matrices with orthonormal columns: projection, tangent space and the polar retraction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rkhs._core.checks import check_count, check_list
from rkhs._core.errors import InputError
from rkhs._core.linalg import polar
from rkhs.constraints.base import Constraint

_MAX_CONDITION = 1e6  # of the small Gram matrix; above it the squared condition eats the digits of the result


class Stiefel(Constraint):
    """Matrices with orthonormal columns, ``H^T H = I``, for all columns together or block by block.

    The tangent space at ``H`` is ``{D : H^T D + D^T H = 0}``, with projection ``G - H sym(H^T G)``.

    Parameters
    ----------
    blocks : tuple of int, optional
        Widths of the blocks of columns that are constrained separately, a product of Stiefel manifolds. Default: one
        block.

    Raises
    ------
    InputError
        At use: widths that do not add up, more columns than rows, values that are not finite.

    Notes
    -----
    Every map costs O(n p^2).

    References
    ----------
    Absil, Mahony and Sepulchre (2008), sections 3.3, 4.1 and 8.1; Wen and Yin (2013), lemma 4; Tonin et al. (2021),
    section 4.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Stiefel
    >>> H = Stiefel().project(torch.tensor([[2.0], [0.0]]))
    >>> H.T.tolist(), Stiefel().violation(H)
    ([[1.0, 0.0]], 0.0)
    """

    def __init__(self, blocks: tuple[int, ...] | None = None) -> None:
        self.blocks = blocks

    def project(self, Y: Tensor) -> Tensor:
        """Nearest matrix with orthonormal columns, ``U V^T`` of each block's SVD; shape (n, p)."""
        return self._each(_polar_step, Y)

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G - H sym(H^T G)``, shape (n, p)."""
        return self._each(_tangent, H, G)

    def retract(self, H: Tensor, D: Tensor) -> Tensor:
        """Nearest matrix with orthonormal columns to ``H + D``, shape (n, p)."""
        return self.project(torch.add(H, D))

    def violation(self, H: Tensor) -> float:
        """``||H^T H - I||_F``, over all blocks."""
        total = 0.0
        for start, stop in self._spans(H):
            total += float((_gram_defect(H[:, start:stop]) ** 2).sum())
        return total**0.5

    def _spans(self, H: Tensor) -> list[tuple[int, int]]:
        n, p = H.shape
        widths: tuple[int, ...] = (p,)
        if self.blocks is not None:
            given = check_list(self.blocks, "Stiefel.blocks", "widths")
            widths = tuple(check_count(width, "Stiefel.blocks") for width in given)
        if sum(widths) != p:
            raise InputError(f"Stiefel.blocks must be positive widths that add up to the {p} columns; got {widths}")
        if max(widths) > n:
            raise InputError(
                f"orthonormal columns need at least as many rows: got a block of {max(widths)} columns and {n} rows"
            )
        stops = torch.tensor(widths).cumsum(0).tolist()
        return [(stop - width, stop) for width, stop in zip(widths, stops, strict=True)]

    def _each(self, rule: Callable[..., Tensor], *matrices: Tensor) -> Tensor:
        for matrix in matrices:
            if not bool(torch.isfinite(matrix).all()):
                raise InputError("a matrix on the Stiefel manifold must be finite; got NaN or infinity")
        spans = self._spans(matrices[0])
        if len(spans) == 1:
            return rule(*matrices)
        return torch.cat([rule(*(matrix[:, start:stop] for matrix in matrices)) for start, stop in spans], 1)


def _gram_defect(H: Tensor) -> Tensor:
    defect = H.mT @ H
    defect.diagonal().sub_(1.0)
    return defect


def _tangent(H: Tensor, G: Tensor) -> Tensor:
    A = H.mT @ G
    return torch.addmm(G, H, A + A.mT, alpha=-0.5)


def _polar_step(Y: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(Y.mT @ Y)
    if not float(values[-1]) < _MAX_CONDITION * float(values[0]):
        return polar(Y)
    H = Y @ (vectors / values.sqrt()) @ vectors.mT
    # One Newton step removes the rounding that the small Gram matrix amplifies.
    return torch.addmm(H, H, _gram_defect(H), alpha=-0.5)


def cayley(H: Tensor, U: Tensor, V: Tensor, step: float) -> Tensor:
    """Cayley transform ``(I + step/2 U V^T)^{-1} (I - step/2 U V^T) H`` for a skew ``U V^T`` of low rank."""
    small: Any = V.mT @ U * (0.5 * step)
    small.diagonal().add_(1.0)
    return torch.addmm(H, U, torch.linalg.solve(small, V.mT @ H), alpha=-step)
