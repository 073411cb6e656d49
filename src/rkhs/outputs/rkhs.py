"""Features ``phi(y)`` of a kernel as targets, known through their Gram matrix only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import row_index, tensor_like
from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs._core.linalg import factorize, weighted_mean
from rkhs._core.stored import check_places, check_shape, check_types
from rkhs.outputs.base import OutputSpace


@dataclass(eq=False, repr=False)
class RKHS(OutputSpace):
    """Targets ``phi(y_i)`` in the feature space of a kernel.

    Coordinates are the rows of a pivoted Cholesky factor of the centred, scaled Gram matrix. Everything about other
    items is computed from their kernel values with the training items.

    Parameters
    ----------
    mean : array of shape (n,) or None
        Weights of the training features in the mean that is subtracted; None: no centring.
    gram_mean : array of shape (n,)
        ``<phi(y_i), mean>`` on the training items; zeros without centring.
    mean_squared_norm : float
        Squared norm of the mean, ``||mean||^2``.
    scale : float
        Standard deviation by which the centred features were divided (square root of the total variance); 1.0 without
        scaling.
    cholesky : array of shape (r, r) or None
        Cholesky factor of the centred, scaled Gram matrix of the pivots (lower triangular). None in model files that
        hold the training targets.
    pivots : array of shape (r,)
        Indices of training items whose centred features span those of all training items.
    divisors : tuple of two float, optional
        Divisors of the features before and of the coordinates after the factorisation; their product is ``scale``.
        None: ``scale`` and 1.

    Raises
    ------
    InputError
        From ``fit``, if the Gram matrix cannot be factored.

    References
    ----------
    Laforgue et al. (2019), section 2.5 (K2AE), and appendix B.7.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.outputs import RKHS
    >>> K = torch.tensor(Gaussian(1.0)([[0.0], [1.0], [3.0]]))
    >>> space, U = RKHS.fit(K, center=False, scale=False)
    >>> bool(torch.allclose(U @ U.T, K)), space.dim
    (True, 3)
    """

    mean: Any
    gram_mean: np.ndarray
    mean_squared_norm: float
    scale: float
    cholesky: Any
    pivots: np.ndarray
    divisors: tuple[float, float] | None = None

    def check_stored(self) -> None:
        """Sizes must agree."""
        names = ("gram_mean", "mean_squared_norm", "scale", "pivots", "divisors")
        check_types(RKHS, {name: getattr(self, name) for name in names})
        n, r = len(self.gram_mean), len(self.pivots)
        check_shape("gram mean", self.gram_mean, n)
        check_shape("mean", self.mean, n)
        check_places("pivots", self.pivots, n)
        check_shape("cholesky", self.cholesky, r, r)
        for divisor in (self.scale, *(self.divisors or ())):
            check_number(divisor * divisor, "the square of a scale of a model file", above=0.0)

    @property
    def dim(self) -> int:
        """Number of pivots."""
        return len(self.pivots)

    @classmethod
    def fit(cls, K: Tensor, weights: Tensor | None = None, *, center: bool, scale: bool) -> tuple[RKHS, Tensor]:
        """Centre, scale and factor the Gram matrix of the training targets.

        Parameters
        ----------
        K : Tensor of shape (n, n)
            Positive semi-definite; it is not changed.
        weights : Tensor of shape (n,), optional
            Sample weights that sum to one.
        center, scale : bool
            Centre the features; divide by the square root of their total variance.

        Returns
        -------
        space : RKHS
        coordinates : Tensor of shape (n, r)
        """
        n = K.shape[0]
        mean = (K.new_full((n,), 1.0 / n) if weights is None else weights) if center else None
        gram_mean = K.new_zeros(n) if mean is None else K @ mean
        mean_squared_norm = 0.0 if mean is None else float(gram_mean @ mean)
        C = _centred(K, gram_mean, mean_squared_norm)
        variance = float(weighted_mean(C.diagonal().clamp_min(0.0), weights))
        if variance <= 1e-14 * float(K.diagonal().abs().max()):  # all features coincide up to rounding
            C, variance = torch.zeros_like(C), 0.0
        deviation = variance**0.5 if scale and variance > 0.0 else 1.0
        factor = factorize(C.div_(deviation**2))
        space = cls(
            None if mean is None else mean.cpu().numpy(),
            gram_mean.cpu().numpy(),
            mean_squared_norm,
            deviation,
            factor.cholesky.cpu().numpy(),
            factor.pivots.cpu().numpy(),
        )
        return space, factor.matrix

    def rescaled(self, unit: float) -> RKHS:
        """The space whose coordinates are divided by ``unit`` as well."""
        rows, divisors = self.cholesky / unit, (self.scale, unit)
        return replace(self, scale=self.scale * unit, cholesky=rows, divisors=divisors)

    def without_cholesky(self) -> RKHS:
        """The space for a model file that holds the training targets."""
        return replace(self, cholesky=None)

    def recomputed(self, K: Tensor) -> tuple[RKHS, Tensor]:
        """Recompute the Cholesky factor of a space from a model file, and the coordinates of the training targets.

        Another machine may break ties between pivots differently; the stored pivots are used then.

        Parameters
        ----------
        K : Tensor of shape (n, n)
            Gram matrix of the training targets.

        Returns
        -------
        space : RKHS
        coordinates : Tensor of shape (n, r)

        Raises
        ------
        InputError
            If the features of the pivots are linearly dependent.
        """
        scale, unit = self.divisors or (self.scale, 1.0)
        C = _centred(K, tensor_like(self.gram_mean, K), self.mean_squared_norm).div_(scale**2)
        factor = factorize(C)
        if np.array_equal(factor.pivots.cpu().numpy(), self.pivots):
            L, U = factor.cholesky, factor.matrix
        else:
            pivots = row_index(self.pivots, C)
            L, info = torch.linalg.cholesky_ex(C[pivots][:, pivots])
            if int(info):
                raise InputError(
                    "the Gram matrix of the stored pivots is singular: the training targets of the model file do not "
                    "match its pivots"
                )
            U = torch.linalg.solve_triangular(L, C[pivots], upper=False).mT
        return replace(self, cholesky=L.cpu().numpy() / unit), U if unit == 1.0 else U / unit

    def _center(self, K: Tensor) -> tuple[Tensor, Tensor]:
        """``<phi(z) - mean, phi(y_j) - mean>`` on the pivots, and ``<phi(z), mean>``, from rows ``k(z, y_j)``."""
        with_mean = K.new_zeros(K.shape[0]) if self.mean is None else K @ tensor_like(self.mean, K)
        pivots = row_index(self.pivots, K)
        centred = K[:, pivots] - tensor_like(self.gram_mean, K)[pivots] - with_mean[:, None] + self.mean_squared_norm
        return centred, with_mean

    def encode(self, K: Tensor) -> Tensor:
        """Coordinates of the projections of ``phi(z)`` on the training features from rows ``k(z, y_j)``, (m, r)."""
        centred, _ = self._center(K)
        return torch.linalg.solve_triangular(
            tensor_like(self.cholesky, K).mT, centred / self.scale**2, upper=True, left=False
        )

    def squared_norms(self, K: Tensor, diag: Tensor | None) -> Tensor:
        """``||phi(z) - mean||^2`` from rows ``k(z, y_j)`` and the diagonal ``k(z, z)``; shape (m,)."""
        assert diag is not None
        _, with_mean = self._center(K)
        return (diag - 2.0 * with_mean + self.mean_squared_norm).clamp_min(0.0)

    def weights(self, U: Tensor) -> Tensor:
        """Coefficients ``b`` (m, n) of elements ``sum_j b_j phi(y_j)`` with coordinates ``U`` (m, r)."""
        n = len(self.gram_mean)
        small = torch.linalg.solve_triangular(tensor_like(self.cholesky, U), U, upper=False, left=False)
        full = U.new_zeros(U.shape[0], n)
        full[:, row_index(self.pivots, U)] = small
        if self.mean is None:
            return full
        return full + (1.0 - full.sum(1, keepdim=True)) * tensor_like(self.mean, U)

    def squared_distances(self, U: Tensor, K: Tensor, diag: Tensor | None, *, paired: bool) -> Tensor:
        """Squared distances between coordinates and features.

        Parameters
        ----------
        U : Tensor of shape (m, r)
            Coordinates, such as a decoder's predictions.
        K : Tensor of shape (c, n)
            Rows ``k(z, y_j)``.
        diag : Tensor of shape (c,)
            ``k(z, z)``.
        paired : bool
            Row i with row i (then ``c = m``), or every row with every row.

        Returns
        -------
        Tensor of shape (m,) or (m, c)
        """
        E = self.encode(K)
        outside = self.squared_norms(K, diag) - self.scale**2 * (E * E).sum(1)
        if paired:
            return (self.scale**2 * ((U - E) ** 2).sum(1) + outside).clamp_min(0.0)
        cross = (U * U).sum(1)[:, None] - 2.0 * U @ E.mT + (E * E).sum(1)[None, :]
        return (self.scale**2 * cross + outside[None, :]).clamp_min(0.0)


def _centred(K: Tensor, gram_mean: Tensor, mean_squared_norm: float) -> Tensor:
    """``<phi(y_i) - mean, phi(y_j) - mean>``, shape (n, n)."""
    return (K - gram_mean[:, None]).sub_(gram_mean[None, :]).add_(mean_squared_norm)
