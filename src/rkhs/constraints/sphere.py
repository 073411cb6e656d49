"""Codes on unit spheres, in unit balls, and white codes."""

from __future__ import annotations

import torch
from torch import Tensor

from rkhs._core.linalg import polar
from rkhs.constraints.base import Constraint

__all__ = ["Ball", "Sphere", "Whitened"]


class Sphere(Constraint):
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

    def project(self, Y: Tensor) -> Tensor:
        """``y_i / ||y_i||``, shape (n, p); a zero row becomes the first axis."""
        norms = Y.norm(dim=1, keepdim=True)
        axis = torch.zeros_like(Y)
        axis[:, 0] = 1.0
        return torch.where(norms > 0.0, Y / norms.clamp_min(torch.finfo(Y.dtype).tiny), axis)

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``g_i - <g_i, h_i> h_i``, shape (n, p)."""
        return G - (G * H).sum(1, keepdim=True) * H

    def retract(self, H: Tensor, D: Tensor) -> Tensor:
        """``H + D`` with normalised rows, shape (n, p)."""
        return self.project(H + D)

    def violation(self, H: Tensor) -> float:
        """Largest ``| ||h_i|| - 1 |``."""
        return float((H.norm(dim=1) - 1.0).abs().max())

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        """Gradient in ``Y`` of a function of ``project(Y)`` whose gradient is ``G``, shape (n, p)."""
        norms = Y.norm(dim=1, keepdim=True).clamp_min(torch.finfo(Y.dtype).tiny)
        return self.tangent(Y / norms, G) / norms


class Ball(Constraint):
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

    def project(self, Y: Tensor) -> Tensor:
        """``y_i / max(1, ||y_i||)``, shape (n, p)."""
        return Y / Y.norm(dim=1, keepdim=True).clamp_min(1.0)

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G`` for rows inside; its part along the sphere for rows on the boundary. Shape (n, p)."""
        boundary = H.norm(dim=1, keepdim=True) > 1.0 - 1e-12
        return torch.where(boundary, G - (G * H).sum(1, keepdim=True) * H, G)

    def retract(self, H: Tensor, D: Tensor) -> Tensor:
        """``H + D`` projected, shape (n, p)."""
        return self.project(H + D)

    def violation(self, H: Tensor) -> float:
        """Largest ``max(0, ||h_i|| - 1)``."""
        return float((H.norm(dim=1) - 1.0).clamp_min(0.0).max())


class Whitened(Constraint):
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

    def project(self, Y: Tensor) -> Tensor:
        """``sqrt(n)`` times the orthogonal polar factor, shape (n, p)."""
        return Y.shape[0] ** 0.5 * polar(Y)

    def tangent(self, H: Tensor, G: Tensor) -> Tensor:
        """``G - H sym(H^T G) / n``, shape (n, p)."""
        S = H.mT @ G
        return G - H @ (S + S.mT) / (2.0 * H.shape[0])

    def retract(self, H: Tensor, D: Tensor) -> Tensor:
        """``H + D`` projected, shape (n, p)."""
        return self.project(H + D)

    def violation(self, H: Tensor) -> float:
        """Largest entry of ``|H^T H / n - I|``."""
        S = H.mT @ H / H.shape[0]
        S.diagonal().sub_(1.0)
        return float(S.abs().max())

    def pullback(self, Y: Tensor, G: Tensor) -> Tensor:
        """Gradient in ``Y`` of a function of ``project(Y)`` whose gradient is ``G``, shape (n, p).

        With ``Y = U diag(s) V^T`` and ``Q = U V^T``, a step ``dY`` turns ``Q`` by the skew solution of a Sylvester
        equation within its span and moves it by ``dY (V diag(s) V^T)^-1`` out of it; this is the adjoint.
        """
        U, s, Vh = torch.linalg.svd(Y, full_matrices=False)
        s = s.clamp_min(torch.finfo(Y.dtype).tiny)
        G = Y.shape[0] ** 0.5 * (G @ Vh.mT)
        inner = U.mT @ G
        turn = (inner - inner.mT) / (s[:, None] + s[None, :])
        return (U @ turn + (G - U @ inner) / s) @ Vh
