"""Constraint sets of codes, written once for all solvers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from rkhs._core.checks import check_number
from rkhs._core.config import Configurable
from rkhs._core.errors import InputError, quote
from rkhs._core.linalg import polar

__all__ = [
    "Ball",
    "CodeSet",
    "Constraint",
    "SoftSphere",
    "Sphere",
    "Stiefel",
    "Unconstrained",
    "Whitened",
    "as_constraint",
]


class Constraint(Configurable):
    """A set of matrices ``H`` of shape (n, p) with projections and retractions.

    Each solver is written once against these four methods.

    References
    ----------
    Absil, Mahony and Sepulchre (2008), chapters 3 and 4.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Constraint, Stiefel
    >>> isinstance(Stiefel(), Constraint)
    True
    >>> H, G = torch.tensor([[1.0], [0.0]]), torch.tensor([[5.0], [2.0]])
    >>> Stiefel().tangent(H, G)
    tensor([[0.],
            [2.]])
    """

    def check(self) -> None:
        """Refuse parameters out of range.

        Raises
        ------
        InputError
            Naming the parameter.
        """

    @abstractmethod
    def project(self, Y: Tensor) -> Tensor:
        """Nearest point of the set, shape (n, p)."""

    @abstractmethod
    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """Orthogonal projection of ``G`` on the tangent space at ``H``, shape (n, p)."""

    def retract(self, H: Tensor, D: Tensor) -> Tensor:
        """``H + D`` projected, which agrees with it to first order for tangent ``D``, shape (n, p)."""
        return self.project(torch.add(H, D))

    @abstractmethod
    def violation(self, H: Tensor) -> float:
        """Distance from feasibility, zero on the set."""


class Unconstrained(Constraint):
    """All matrices: no constraint.

    References
    ----------
    Absil, Mahony and Sepulchre (2008), section 3.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Unconstrained
    >>> Unconstrained().violation(torch.ones(2, 2))
    0.0
    """

    def project(self, Y: Tensor) -> Tensor:
        """``Y`` itself, shape (n, p)."""
        return Y

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G`` itself, shape (n, p)."""
        return G

    def violation(self, H: Tensor) -> float:
        """Zero."""
        return 0.0


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


class CodeSet(Constraint):
    """A constraint set of codes: the image of all matrices under a map.

    ``KernelAutoencoder(constraint=...)`` takes your own, a set of single rows: give ``project`` and ``pullback``. With
    ``rotation_invariant = True`` codes may be rotated to their principal axes.

    References
    ----------
    Esser et al. (2024), after definition 3 ("other choices of regularisation are possible").

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Ball, CodeSet, Sphere
    >>> isinstance(Sphere(), CodeSet)
    True
    >>> Ball().violation(torch.tensor([[0.6, 0.8]])), Ball().violation(torch.tensor([[3.0, 4.0]]))
    (0.0, 4.0)
    """

    rotation_invariant = False

    @abstractmethod
    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        """Gradient in ``Y`` of a function of ``project(Y)`` whose gradient is ``G``, shape (n, p)."""

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """The derivative of the projection at ``H``, shape (n, p)."""
        return self.pullback(H, G)

    def violation(self, H: Tensor) -> float:
        """Largest distance of a row from the set."""
        return float((self.project(H) - H).norm(dim=1).max())


class Sphere(CodeSet):
    """Rows of unit length, ``||h_i|| = 1``.

    References
    ----------
    Esser et al. (2024), definition 3; Absil, Mahony and Sepulchre (2008), example 4.1.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Sphere
    >>> Sphere().project(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """

    rotation_invariant = True

    def project(self, Y: Tensor) -> Tensor:
        """``y_i / ||y_i||``, shape (n, p); a zero row becomes the first axis."""
        norms = Y.norm(dim=1, keepdim=True)
        axis = torch.zeros_like(Y)
        axis[:, 0] = 1.0
        return torch.where(norms > 0.0, Y / norms.clamp_min(torch.finfo(Y.dtype).tiny), axis)

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        """``(g_i - <g_i, h_i> h_i) / ||y_i||`` with ``h_i = y_i / ||y_i||``, shape (n, p)."""
        norms = Y.norm(dim=1, keepdim=True).clamp_min(torch.finfo(Y.dtype).tiny)
        H = Y / norms
        return (G - (G * H).sum(1, keepdim=True) * H) / norms


class Ball(CodeSet):
    """Rows of at most unit length, ``||h_i|| <= 1``.

    References
    ----------
    Esser et al. (2024), after definition 3 ("other choices of regularisation are possible").

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Ball
    >>> Ball().project(torch.tensor([[3.0, 4.0], [0.0, 0.5]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.5000]])
    """

    rotation_invariant = True

    def project(self, Y: Tensor) -> Tensor:
        """``y_i / max(1, ||y_i||)``, shape (n, p)."""
        return Y / Y.norm(dim=1, keepdim=True).clamp_min(1.0)

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G`` for rows inside; its part along the sphere for rows on the boundary. Shape (n, p)."""
        boundary = H.norm(dim=1, keepdim=True) > 1.0 - 1e-12
        return torch.where(boundary, G - (G * H).sum(1, keepdim=True) * H, G)

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        norms = Y.norm(dim=1, keepdim=True)
        outside = (G - (G * Y).sum(1, keepdim=True) * Y / norms.clamp_min(1.0) ** 2) / norms.clamp_min(1.0)
        return torch.where(norms > 1.0, outside, G)


class SoftSphere(CodeSet):
    """All matrices, with a penalty ``softness / 2 sum_i w_i (||h_i||^2 - 1)^2`` that draws rows to unit length.

    Parameters
    ----------
    softness : float, default=1.0
        Weight of the penalty, above 0.

    References
    ----------
    Esser et al. (2024), after definition 3 ("other choices of regularisation are possible").

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import SoftSphere
    >>> value, gradient = SoftSphere(2.0).penalty(torch.tensor([[2.0, 0.0]]), torch.ones(1))
    >>> value, gradient
    (9.0, tensor([[24.,  0.]]))
    """

    rotation_invariant = True

    def __init__(self, softness: float = 1.0) -> None:
        self.softness = softness

    def check(self) -> None:
        check_number(self.softness, "SoftSphere.softness", above=0.0)

    def penalty(self, H: Tensor, weights: Tensor) -> tuple[float, Tensor]:
        """The penalty with weights of shape (n,), and its gradient of shape (n, p)."""
        excess = (H * H).sum(1) - 1.0
        value = 0.5 * float(self.softness) * float((weights * excess * excess).sum())
        return value, (2.0 * float(self.softness) * weights * excess)[:, None] * H

    def misfit(self, H: Tensor) -> Tensor:
        """``softness^(1/2) (||h_i||^2 - 1)``, whose squares the penalty sums, shape (n, 1)."""
        return float(self.softness) ** 0.5 * ((H * H).sum(1, keepdim=True) - 1.0)

    def misfit_slopes(self, H: Tensor) -> Tensor:
        """Derivatives of :meth:`misfit`, shape (n, p)."""
        return 2.0 * float(self.softness) ** 0.5 * H

    def project(self, Y: Tensor) -> Tensor:
        """``Y`` itself, shape (n, p)."""
        return Y

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        """``G`` itself, shape (n, p)."""
        return G


class Whitened(CodeSet):
    """White codes, ``H^T H = n I``: uncorrelated columns of unit second moment.

    References
    ----------
    ``docs/papers/representation_learning.md``; Absil, Mahony and Sepulchre (2008), examples 3.5.2 and 4.1.3.

    Examples
    --------
    >>> import torch
    >>> from rkhs.constraints import Whitened
    >>> H = Whitened().project(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    >>> bool(torch.allclose(H.T @ H, 2 * torch.eye(2)))
    True
    """

    rotation_invariant = True

    def project(self, Y: Tensor) -> Tensor:
        """``sqrt(n)`` times the orthogonal polar factor, shape (n, p)."""
        return Y.shape[0] ** 0.5 * polar(Y)

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G - H sym(H^T G) / n``, shape (n, p)."""
        S = H.mT @ G
        return G - H @ (S + S.mT) / (2.0 * H.shape[0])

    def violation(self, H: Tensor) -> float:
        """Largest entry of ``|H^T H / n - I|``."""
        S = H.mT @ H / H.shape[0]
        S.diagonal().sub_(1.0)
        return float(S.abs().max())

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        """Gradient in ``Y`` of a function of ``project(Y)`` whose gradient is ``G``, shape (n, p).

        With ``Y = U diag(s) V^T`` and ``Q = U V^T``, a step ``dY`` rotates ``Q`` by the skew solution of a Sylvester
        equation within its span and moves it by ``dY (V diag(s) V^T)^-1`` out of it; this is the adjoint.
        """
        U, s, Vh = torch.linalg.svd(Y, full_matrices=False)
        s = s.clamp_min(torch.finfo(Y.dtype).tiny)
        G = Y.shape[0] ** 0.5 * (G @ Vh.mT)
        inner = U.mT @ G
        turn = (inner - inner.mT) / (s[:, None] + s[None, :])
        return (U @ turn + (G - U @ inner) / s) @ Vh


_NAMES: dict[str, type[CodeSet]] = {"sphere": Sphere, "ball": Ball, "whiten": Whitened, "soft": SoftSphere}


def as_constraint(constraint: Any) -> CodeSet:
    """Return a constraint of codes given by name or as an object, checked.

    Parameters
    ----------
    constraint : {"sphere", "ball", "whiten", "soft"} or CodeSet
        A name is :class:`Sphere`, :class:`Ball`, :class:`Whitened` or :class:`SoftSphere` with its defaults.

    Returns
    -------
    CodeSet

    Raises
    ------
    InputError
        For another name or object, and parameters out of range.

    References
    ----------
    Esser et al. (2024), definition 3.

    Examples
    --------
    >>> from rkhs.constraints import as_constraint
    >>> as_constraint("soft")
    SoftSphere()
    """
    if isinstance(constraint, str) and constraint in _NAMES:
        return _NAMES[constraint]()
    if isinstance(constraint, CodeSet):
        constraint.check()
        return constraint
    raise InputError(
        f"constraint must be one of 'none', {', '.join(map(repr, _NAMES))}, or an object of rkhs.constraints: "
        f"Sphere(), Ball(), Whitened(), SoftSphere(1.0) or a CodeSet of your own; got {quote(constraint)}"
    )
