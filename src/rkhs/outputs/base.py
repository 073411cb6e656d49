"""Output spaces: isometric coordinates of the targets, and the inverse map; the space of vectors."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.config import Configurable
from rkhs._core.linalg import weighted_mean
from rkhs._core.stored import check_shape, check_types


class OutputSpace(Configurable):
    """A space of targets, represented by coordinates ``U`` of shape (n, r) whose Gram matrix ``U U^T`` is theirs.

    Targets are centred (``center=True``) and divided by the square root of their total variance (``scale=True``)::

        <u_i, u_j> = <y_i - m, y_j - m> / s^2,    m = sum_i w_i y_i,    s^2 = sum_i w_i ||y_i - m||^2

    with weights that sum to one. Problems and solvers see the coordinates only. The class method ``fit`` of a subclass
    returns the space and the coordinates of the training targets. The space itself is stored as a few arrays with a
    fitted model.

    References
    ----------
    Schoelkopf, Smola and Mueller (1998), Nonlinear component analysis as a kernel eigenvalue problem, for centred Gram
    matrices and coordinates.

    Examples
    --------
    >>> import torch
    >>> from rkhs.outputs import Euclidean, OutputSpace
    >>> Y = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    >>> space, U = Euclidean.fit(Y, center=False, scale=False)
    >>> isinstance(space, OutputSpace), bool(torch.allclose(U @ U.T, Y @ Y.T))
    (True, True)
    """

    scale: float
    """Standard deviation by which the centred targets were divided; 1.0 without scaling."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Number of coordinates."""

    @abstractmethod
    def encode(self, Y: Tensor) -> Tensor:
        """Coordinates of targets, shape (m, r); rows of kernel values where the targets are features."""


class Euclidean(OutputSpace):
    """Targets in ``R^q``, the rows of a matrix.

    With more columns than rows the coordinates are taken in the span of the training targets, so that ``r <= n``.

    Parameters
    ----------
    mean : array of shape (q,)
        The vector that is subtracted.
    scale : float
        Standard deviation by which the centred targets were divided (square root of the total variance); 1.0 without
        scaling.
    basis : array of shape (r, q), optional
        Orthonormal rows that span the training targets; None: the coordinate axes, and in
        model files that hold the training targets.
    column_weights : array of shape (q,), optional
        Positive: distances are ``sum_t w_t (y_t - y'_t)^2``, those of curves in ``L2`` with quadrature weights ``w``;
        None: ones.

    Raises
    ------
    RuntimeError
        From torch, if targets of another width are encoded; estimators check the width first.

    References
    ----------
    Laforgue et al. (2019), section 2.3.

    Examples
    --------
    >>> import torch
    >>> from rkhs.outputs import Euclidean
    >>> Y = torch.tensor([[0.0, 1.0], [4.0, 1.0]], dtype=torch.float64)
    >>> space, U = Euclidean.fit(Y, center=True, scale=True)
    >>> space.mean, space.scale, bool(torch.allclose(space.decode(U), Y))
    (array([2., 1.]), 2.0, True)
    """

    mean: np.ndarray

    def __init__(self, mean: Any, scale: float = 1.0, basis: Any = None, column_weights: Any = None) -> None:
        self.mean = mean
        self.scale = scale
        self.basis = basis
        self.column_weights = column_weights

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_shape("mean", self.mean, None)
        check_types(Euclidean, {"mean": self.mean, "scale": self.scale})
        check_shape("basis", self.basis, None, len(self.mean))
        check_shape("column weights", self.column_weights, len(self.mean))

    @property
    def dim(self) -> int:
        """Columns, or rows of the basis."""
        return len(self.mean) if self.basis is None else len(self.basis)

    @classmethod
    def fit(
        cls,
        Y: Tensor,
        weights: Tensor | None = None,
        *,
        center: bool,
        scale: bool,
        column_weights: Any = None,
        rotate: bool = True,
    ) -> tuple[Euclidean, Tensor]:
        """Choose mean, scale and basis on training targets.

        Parameters
        ----------
        Y : Tensor of shape (n, q)
        weights : Tensor of shape (n,), optional
            Sample weights that sum to one.
        center, scale : bool
            Subtract the mean; divide by the square root of the total variance ``sum_i w_i ||y_i - mean||^2``.
        column_weights : array of shape (q,), optional
            See the class.
        rotate : bool, default=True
            Whether coordinates may be along a basis of the span of the targets, where columns outnumber rows.

        Returns
        -------
        space : Euclidean
        coordinates : Tensor of shape (n, r)
        """
        n, q = Y.shape
        mean = weighted_mean(Y, weights) if center else Y.new_zeros(q)
        U = Y - mean
        if center:
            U = U - weighted_mean(U, weights)  # the rounding error of the mean of data far from the origin
        if column_weights is not None:
            U = U * tensor_like(np.sqrt(column_weights), Y)
        variance = float(weighted_mean((U * U).sum(1), weights))
        deviation = variance**0.5 if scale and variance > 0.0 else 1.0  # constant targets stay finite
        U = U / deviation
        basis = None
        if q > n and rotate:
            left, s, right = torch.linalg.svd(U, full_matrices=False)
            kept = s > s[0] * q * torch.finfo(s.dtype).eps
            kept[0] = True
            U, basis = left[:, kept] * s[kept], right[kept].cpu().numpy()
        return cls(mean.cpu().numpy(), deviation, basis, column_weights), U

    def recomputed(self, Y: Tensor, weights: Tensor | None = None) -> tuple[Euclidean, Tensor]:
        """Recompute the basis of a space from a model file, and the coordinates (n, r) of the targets ``Y`` (n, q)."""
        options = {"center": bool(np.any(self.mean)), "scale": self.scale != 1.0}
        space, U = Euclidean.fit(Y, weights, **options, column_weights=self.column_weights)
        unit = self.scale / space.scale
        found = Euclidean(self.mean, self.scale, space.basis, self.column_weights)
        return found, U if unit == 1.0 else U / unit

    def without_basis(self) -> Euclidean:
        """The space for a model file that holds the training targets."""
        return Euclidean(self.mean, self.scale, None, self.column_weights)

    def moved(self, shift: Tensor) -> Euclidean:
        """Move the mean by ``shift`` (r,) in coordinates, which is subtracted from all coordinates."""
        return Euclidean(self.decode(shift[None])[0].cpu().numpy(), self.scale, self.basis, self.column_weights)

    def rescaled(self, unit: float) -> Euclidean:
        """The space whose coordinates are divided by ``unit`` as well."""
        return Euclidean(self.mean, self.scale * unit, self.basis, self.column_weights)

    def encode(self, Y: Tensor) -> Tensor:
        """Coordinates of targets, shape (m, r); what lies outside the span of the training targets is dropped."""
        U = (Y - tensor_like(self.mean, Y)) * self.root(Y) / self.scale
        axes = self.basis
        return U if axes is None else U @ tensor_like(axes, Y).mT

    def decode(self, U: Tensor) -> Tensor:
        """Targets of coordinates, shape (m, q)."""
        axes = self.basis
        full = U if axes is None else U @ tensor_like(axes, U)
        return (full * (self.scale / self.root(U))).add_(tensor_like(self.mean, U))

    def root(self, like_tensor: Tensor) -> Any:
        """Roots of the column weights, shape (q,), or 1.0."""
        return 1.0 if self.column_weights is None else tensor_like(np.sqrt(self.column_weights), like_tensor)

    def squared_norms(self, Y: Tensor, diag: Tensor | None = None) -> Tensor:
        """Squared distances of targets to the mean, shape (m,); ``diag`` is for features only, as below."""
        return (((Y - tensor_like(self.mean, Y)) * self.root(Y)) ** 2).sum(1)

    def squared_distances(self, U: Tensor, Y: Tensor, diag: Tensor | None = None, *, paired: bool) -> Tensor:
        """Squared distances between coordinates and targets: row i with row i, or every row with every row."""
        decoded, root = self.decode(U), self.root(Y)
        if paired:
            return (((Y - decoded) * root) ** 2).sum(1)
        return torch.cdist(decoded * root, Y * root, compute_mode="donot_use_mm_for_euclid_dist").square_()

    def operator(self, A: Tensor) -> Tensor:
        """An operator on ``R^q`` in coordinates, shape (r, r); exact if the span of the targets is invariant."""
        axes = self.basis
        if axes is None:
            return A
        basis = tensor_like(axes, A)
        return basis @ A @ basis.mT
