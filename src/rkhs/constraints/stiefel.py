"""Matrices with orthonormal columns: projection, tangent space and the polar retraction."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import polar
from rkhs.constraints.base import Constraint

_MAX_CONDITION = 1e6  # of the small Gram matrix; above it the SVD is used: squaring the condition loses digits


class Stiefel(Constraint):
    """Matrices with orthonormal columns, ``H^T H = I``.

    The tangent space at ``H`` is ``{D : H^T D + D^T H = 0}``, with projection ``G - H sym(H^T G)``.

    Raises
    ------
    InputError
        At use: more columns than rows, values that are not finite.

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

    def project(self, Y: Tensor) -> Tensor:
        """Nearest matrix with orthonormal columns, ``U V^T`` of the SVD; shape (n, p)."""
        values, vectors = torch.linalg.eigh(_checked(Y).mT @ Y)
        if not float(values[-1]) < _MAX_CONDITION * float(values[0]):
            return polar(Y)
        H = Y @ (vectors / values.sqrt()) @ vectors.mT
        # One Newton step removes the rounding that the small Gram matrix amplifies.
        return torch.addmm(H, H, gram_defect(H), alpha=-0.5)

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G - H sym(H^T G)``, shape (n, p)."""
        A = _checked(H).mT @ _checked(G)
        return torch.addmm(G, H, A + A.mT, alpha=-0.5)

    def violation(self, H: Tensor) -> float:
        """``||H^T H - I||_F``."""
        return float((gram_defect(_checked(H)) ** 2).sum()) ** 0.5


def _checked(matrix: Tensor) -> Tensor:
    if not bool(torch.isfinite(matrix).all()):
        raise InputError("a matrix on the Stiefel manifold must be finite; got NaN or infinity")
    n, p = matrix.shape
    if p > n:
        raise InputError(f"orthonormal columns need at least as many rows: got {p} columns and {n} rows")
    return matrix


def gram_defect(H: Tensor) -> Tensor:
    """``H^T H - I``."""
    defect = H.mT @ H
    defect.diagonal().sub_(1.0)
    return defect


def cayley(H: Tensor, U: Tensor, V: Tensor, step: float) -> Tensor:
    """Cayley transform ``(I + step/2 U V^T)^{-1} (I - step/2 U V^T) H`` for a skew ``U V^T`` of low rank."""
    small: Any = V.mT @ U * (0.5 * step)
    small.diagonal().add_(1.0)
    return torch.addmm(H, U, torch.linalg.solve(small, V.mT @ H), alpha=-step)
