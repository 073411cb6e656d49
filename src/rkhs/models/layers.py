"""Functions of codes, and linear functions of items, that a fitted autoencoder is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs.kernels.base import Kernel
from rkhs.problems.semiparametric import principal_coordinates

__all__ = ["Layer", "LinearPart"]


@dataclass(frozen=True, eq=False)
class Layer:
    """The function ``g(z) = k(z, A) C`` of codes; beside a free linear part ``k(z, A) C + [z, 1] L``.

    Parameters
    ----------
    kernel : Kernel
        On codes, resolved.
    anchors : ndarray of shape (a, p)
        ``A``: the codes of the training items, or of some of them.
    coefficients : ndarray of shape (a, r)
        ``C``.
    linear : ndarray of shape (p + 1, r), optional
        ``L``, the constant last.

    References
    ----------
    Laforgue et al. (2019), equation 5.
    """

    kernel: Kernel
    anchors: np.ndarray
    coefficients: np.ndarray
    linear: np.ndarray | None = None

    def of(self, Z: Tensor) -> Tensor:
        """Values at codes of shape (m, p), shape (m, r)."""
        said = self.kernel._gram(Z, tensor_like(self.anchors, Z)) @ tensor_like(self.coefficients, Z)
        if self.linear is None:
            return said
        linear = tensor_like(self.linear, Z)
        return said.add_(linear[-1]).addmm_(Z, linear[:-1])


@dataclass(frozen=True, eq=False)
class LinearPart:
    """The free linear part ``q(x) A`` of an encoder, with ``q = (rows - center) @ directions - offset``.

    Rows are vectors, or kernel values with the training items.

    Parameters
    ----------
    directions : ndarray of shape (d, k)
        In units in which the slopes ``A`` have the price of the encoder.
    offset : ndarray of shape (k,)
    center : ndarray of shape (d,) or None
    coefficients : ndarray of shape (k, p)
        ``A``.
    mixed : ndarray of shape (r, k) or None
        ``F^-1 Q`` of the training items, for the power function; None where codes have another price.

    References
    ----------
    ``docs/design.md``, free linear parts.
    """

    directions: np.ndarray
    offset: np.ndarray
    center: np.ndarray | None
    coefficients: np.ndarray
    mixed: np.ndarray | None = None

    def coordinates(self, rows: Tensor) -> Tensor:
        """``q`` of rows of shape (m, d), shape (m, k)."""
        center = None if self.center is None else tensor_like(self.center, rows)
        return principal_coordinates(rows, tensor_like(self.directions, rows), tensor_like(self.offset, rows), center)

    def of(self, rows: Tensor) -> Tensor:
        """Values at rows of shape (m, d), shape (m, p)."""
        return self.coordinates(rows) @ tensor_like(self.coefficients, rows)
