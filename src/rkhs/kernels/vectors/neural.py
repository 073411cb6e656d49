"""Kernels of infinitely wide rectifier networks: arc-cosine kernels and neural tangent kernels of any depth.

All of them are ``|x|^a |y|^a g(u)`` with ``u`` the cosine of the angle, so they share a base class: a kernel only gives
``g`` and ``g'``. The slope of a tangent kernel grows like ``1 / sqrt(1 - u^2)`` where points coincide; it always
multiplies the part of ``y`` orthogonal to ``x``, which vanishes as fast, and is capped where rounding begins.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import Declared, check_flag, count
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, symmetric_rows
from rkhs.kernels.base import VectorKernel
from rkhs.kernels.vectors.distances import TILE, blocks, height

_MAX_DEPTH = 10_000  # the time is linear in it, and kernels of deeper networks hardly depend on the directions


def _kappa_0(u: Tensor) -> Tensor:
    """``(pi - arccos u) / pi``: twice the probability that both units are active."""
    return torch.acos(u).mul_(-1.0 / math.pi).add_(1.0)


def _clamp_cosines(u: Tensor) -> Tensor:
    """Set cosines within rounding of 1 or -1 to these, in place: arccos turns a rounding error there into its root."""
    edge = 1.0 - 8.0 * torch.finfo(u.dtype).eps
    u[u >= edge] = 1.0
    u[u <= -edge] = -1.0
    return u


def _plain_arcs(u: Tensor) -> tuple[Tensor, Tensor]:
    """``kappa_0`` and ``kappa_1`` out of place; at 1 and -1, where arccos has no derivative, to first order."""
    edge = 1.0 - 8.0 * torch.finfo(u.dtype).eps
    inside, same = u.abs() < edge, u > 0.0
    v = torch.where(inside, u, 0.0)
    gate = 1.0 - torch.acos(v) / math.pi
    arc = gate * v + ((1.0 - v) * (1.0 + v)).sqrt() / math.pi
    return torch.where(inside, gate, same.to(u)), torch.where(inside, arc, torch.where(same, u, 0.0))


def _sine(u: Tensor) -> Tensor:
    return (1.0 - u).mul_(1.0 + u).clamp_min_(0.0).sqrt_()


class _Angular(VectorKernel):
    """``k(x, y) = |x|^a |y|^a g(u)``, zero if either vector is; ``g`` and ``g'`` are all that differs."""

    depth: int
    bias: bool
    _homogeneous = True
    """Whether ``a`` is 1 (a rectifier) or 0 (a step)."""

    @property
    def rotation_invariant(self) -> bool:
        """Norms and angles are invariant; the bias coordinate is fixed."""
        return True

    @abstractmethod
    def _profile(self, u: Tensor) -> Tensor:
        """``g(u)``, a new tensor."""

    @abstractmethod
    def _profile_and_slope(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """``g(u)`` and ``g'(u)``, the latter bounded where points coincide."""

    @property
    @abstractmethod
    def _top(self) -> float:
        """``g(1)``."""

    _declared: ClassVar[Declared] = {"depth": count(at_most=_MAX_DEPTH), "bias": check_flag}

    def _directions(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Unit vectors (zero stays zero) and norms, with the bias coordinate if there is one."""
        A = torch.cat([X, X.new_ones(X.shape[0], 1)], 1) if self.bias else X
        norms = torch.linalg.vector_norm(A, dim=1)
        return A / torch.where(norms > 0.0, norms, torch.ones_like(norms))[:, None], norms

    @staticmethod
    def _cosines(A: Tensor, B: Tensor) -> Tensor:
        return _clamp_cosines(A @ B.mT)

    @abstractmethod
    def _plain_profile(self, u: Tensor) -> Tensor:
        """``g(u)`` by :func:`_plain_arcs`."""

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        (A, a), (B, b) = (self._plain_directions(Z) for Z in (X, Y))
        return self._plain_profile(A.mm(B.T)) * self._size(a)[:, None] * self._size(b)

    def _plain_directions(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Unit vectors and norms, without the root of zero."""
        A = torch.cat([X, X.new_ones(X.shape[0], 1)], 1) if self.bias else X
        squares = (A * A).sum(1)
        norms = torch.where(squares > 0.0, squares, 1.0).sqrt()
        return A / norms[:, None], torch.where(squares > 0.0, norms, 0.0)

    def _size(self, norms: Tensor) -> Tensor:
        return norms if self._homogeneous else (norms > 0.0).to(norms.dtype)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        A, a = self._directions(X)
        if Y is None:
            return self._symmetric(A, self._size(a))
        B, b = self._directions(Y)
        K = A.new_empty(A.shape[0], B.shape[0])
        sizes = self._size(b)
        for rows in blocks(A.shape[0], height(A, TILE)):
            K[rows] = self._profile(self._cosines(A[rows], B)).mul_(sizes)
        return K.mul_(self._size(a)[:, None])

    def from_products(self, P: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Values from inner products ``P`` of shape (n, m), which are overwritten, and squared norms ``a``, ``b``."""
        extra = 1.0 if self.bias else 0.0
        left, right = (a + extra).sqrt(), (b + extra).sqrt()
        sizes = torch.outer(left, right)
        u = _clamp_cosines(torch.where(sizes > 0.0, P.add_(extra).div_(sizes), 0.0))
        return self._profile(u).mul_(self._size(right)).mul_(self._size(left)[:, None])

    def _symmetric(self, A: Tensor, sizes: Tensor) -> Tensor:
        """Upper blocks only, mirrored: half the transcendental work, and exactly symmetric."""
        n = A.shape[0]
        K = A.new_empty(n, n)
        for rows in blocks(n, height(A, TILE)):
            start, stop = rows.start, rows.stop
            part = self._profile(self._cosines(A[rows], A[start:])).mul_(sizes[start:]).mul_(sizes[rows, None])
            width = stop - start
            part[:, :width] = (part[:, :width] + part[:, :width].mT) / 2
            K[rows, start:] = part
            K[stop:, rows] = part[:, width:].mT
        K.diagonal().copy_(sizes * sizes * self._top)
        return K

    def _diag(self, X: Tensor) -> Tensor:
        norms = self._size(self._directions(X)[1])
        return norms * norms * self._top

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        A, a = self._directions(X)
        G = torch.empty_like(X)
        for rows in blocks(X.shape[0], height(X, TILE)):
            u = self._cosines(A[rows], A)
            u[torch.arange(u.shape[0]), torch.arange(rows.start, rows.stop)] = 1.0
            G[rows] = self._chain(A[rows], A, a, u, symmetric_rows(S, rows.start, rows.stop))[:, : X.shape[1]]
        return G.mul_((a > 0.0)[:, None])

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        A, a = self._directions(X)
        B, b = self._directions(Y)
        G = torch.empty_like(X)
        for rows in blocks(X.shape[0], height(X, TILE)):
            u = self._cosines(A[rows], B)
            G[rows] = self._chain(A[rows], B, b, u, S[rows])[:, : X.shape[1]]
        return G.mul_((a > 0.0)[:, None])

    def _chain(self, A: Tensor, B: Tensor, b: Tensor, u: Tensor, S: Tensor) -> Tensor:
        """Rows ``sum_j S_ij |y_j| ((g - u g') x_i / |x_i| + g' y_j / |y_j|)``: the gradient of ``|x| |y| g(u)``."""
        g, slope = self._profile_and_slope(u)
        M = S * b
        along = (M * g.addcmul_(u, slope, value=-1.0)).sum(1, keepdim=True)
        return torch.addmm(along * A, slope.mul_(M), B)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return X * (2.0 * self._top * s)[:, None]


class ArcCosine(_Angular):
    """Arc-cosine kernel: a random layer of steps (order 0) or rectifiers (order 1), repeated ``depth`` times.

    With ``u`` the cosine of the angle of ``x`` and ``y``, ``kappa_0(u) = (pi - arccos u) / pi`` and
    ``kappa_1(u) = (u (pi - arccos u) + sqrt(1 - u^2)) / pi``, each applied ``depth`` times: order 0 is ``kappa_0(u)``,
    order 1 is ``|x| |y| kappa_1(u)``, which is ``2 E relu(w.x) relu(w.y)`` for a standard normal ``w``. A zero vector
    gives zero.

    Parameters
    ----------
    order : {0, 1}, default=1
        Order 0 jumps in slope where points coincide and cannot act on codes.
    depth : int, default=1
        Number of hidden layers, at most 10,000.
    bias : bool, default=False
        Append a constant coordinate 1 to every vector.

    Notes
    -----
    One matrix product and one arc cosine per pair and layer: O(n m (d + depth)), in row blocks.

    References
    ----------
    Cho and Saul (2009), sections 2.1 and 2.3; normalised so that ``kappa_0(1) = kappa_1(1) = 1`` as in Bietti and
    Mairal (2019). The "ReLU" kernel of Esser et al. (2024), section 5.

    Examples
    --------
    >>> from rkhs.kernels import ArcCosine
    >>> ArcCosine(order=1)([[3.0, 4.0]], [[3.0, 4.0]])
    array([[25.]])
    >>> ArcCosine(order=0)([[1.0, 0.0]], [[0.0, 1.0]])
    array([[0.5]])
    """

    _top = 1.0

    def __init__(self, order: int = 1, depth: int = 1, bias: bool = False) -> None:
        self.order = order
        self.depth = depth
        self.bias = bias

    @property
    def differentiable(self) -> bool:
        """True for order 1."""
        return self.order == 1

    @property
    def _homogeneous(self) -> bool:  # type: ignore[override]
        return self.order == 1

    def _check(self) -> None:
        if np.ndim(self.order) or isinstance(self.order, bool) or self.order not in (0, 1):
            raise InputError(f"ArcCosine.order must be 0 or 1; got {self.order!r}")
        super()._check()

    def _profile(self, u: Tensor) -> Tensor:
        for _ in range(self.depth):
            u = _kappa_0(u) if self.order == 0 else _kappa_0(u).mul_(u).add_(_sine(u), alpha=1.0 / math.pi)
        return u

    def _profile_and_slope(self, u: Tensor) -> tuple[Tensor, Tensor]:
        self._refuse()
        slope = torch.ones_like(u)
        for _ in range(self.depth):
            gate = _kappa_0(u)  # the derivative of kappa_1 is kappa_0
            slope.mul_(gate)
            u = gate.mul_(u).add_(_sine(u), alpha=1.0 / math.pi)
        return u, slope

    def _plain_profile(self, u: Tensor) -> Tensor:
        for _ in range(self.depth):
            u = _plain_arcs(u)[self.order]
        return u

    def _refuse(self) -> None:
        if self.order != 1:
            raise InputError(
                "ArcCosine of order 0 has no gradient where points coincide and cannot act on codes; use order=1"
            )

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        self._refuse()
        return super()._diag_pullback(X, s)


class NTK(_Angular):
    """Neural tangent kernel of a rectifier network with ``depth`` hidden layers.

    With ``u_0`` the cosine of the angle, ``u_l = kappa_1(u_{l-1})``, ``t_0 = u_0`` and
    ``t_l = u_l + t_{l-1} kappa_0(u_{l-1})`` (see :class:`ArcCosine`): ``k(x, y) = |x| |y| t_depth``, so that
    ``k(x, x) = (depth + 1) |x|^2``. A zero vector gives zero.

    Parameters
    ----------
    depth, bias : int and bool, default=1 and False
        As in :class:`ArcCosine`.

    Notes
    -----
    At coincident points the gradient is taken as ``(depth + 1) x``, which is right for ``k(x, x)``.

    References
    ----------
    Jacot et al. (2018), theorem 1; normalised as in Bietti and Mairal (2019). Esser et al. (2024), section 5.

    Examples
    --------
    >>> from rkhs.kernels import NTK
    >>> NTK(depth=1)([[3.0, 4.0]], [[3.0, 4.0]])
    array([[50.]])
    """

    def __init__(self, depth: int = 1, bias: bool = False) -> None:
        self.depth = depth
        self.bias = bias

    @property
    def _top(self) -> float:
        return self.depth + 1.0

    def _profile(self, u: Tensor) -> Tensor:
        tangent = u
        for _ in range(self.depth):
            gate = _kappa_0(u)
            u = (gate * u).add_(_sine(u), alpha=1.0 / math.pi)
            tangent = gate.mul_(tangent).add_(u)
        return tangent

    def _plain_profile(self, u: Tensor) -> Tensor:
        tangent = u
        for _ in range(self.depth):
            gate, u = _plain_arcs(u)
            tangent = gate * tangent + u
        return tangent

    def _profile_and_slope(self, u: Tensor) -> tuple[Tensor, Tensor]:
        floor = 8.0 * math.sqrt(torch.finfo(u.dtype).eps)
        tangent, d_u, d_tangent = u, torch.ones_like(u), torch.ones_like(u)
        for _ in range(self.depth):
            sine, gate = _sine(u), _kappa_0(u)
            # d kappa_0 / du = 1 / (pi sine): zero by convention where points coincide, capped where u is rounded.
            bend = torch.where(sine > 0.0, 1.0 / (math.pi * sine.clamp_min(floor)), 0.0)
            bend.mul_(tangent).mul_(d_u)
            d_u = d_u * gate
            d_tangent = bend.add_(d_u).addcmul_(d_tangent, gate)
            u = (gate * u).add_(sine, alpha=1.0 / math.pi)
            tangent = gate.mul_(tangent).add_(u)
        return tangent, d_tangent
