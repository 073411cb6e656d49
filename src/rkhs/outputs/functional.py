"""Curves as targets: coordinates in the leading eigenfunctions of a compact output operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError
from rkhs._core.linalg import weighted_mean
from rkhs._core.stored import check_shape, check_types
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.functional import quadrature_weights
from rkhs.outputs.base import OutputSpace

_BASES = ("fourier", "cosine_sine", "empirical")


def basis_functions(
    basis: Any, n_basis: int, times: np.ndarray, weights: np.ndarray, curves: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenfunctions and eigenvalues of an output operator ``A = sum_j lambda_j psi_j (x) psi_j``.

    Parameters
    ----------
    basis : {"fourier", "cosine_sine", "empirical"} or Kernel
        * ``"fourier"``: ``1, sqrt2 cos 2 pi t, sqrt2 sin 2 pi t, ...``, the first ``n_basis`` functions on [0, 1], with
          ``lambda = 1 / (1 + i)^2`` at frequency ``i``;
        * ``"cosine_sine"``: ``n_basis`` pairs ``sqrt2 cos 2 pi i t, sqrt2 sin 2 pi i t``, ``i = 0, 1, ...``, with
          ``1 / (1 + i)^2`` for both: the published figure's, whose constant has norm sqrt2 and whose second function is
          zero;
        * ``"empirical"``: principal components of the centred curves, ``lambda`` their variances over the largest;
        * a kernel on times: eigenpairs of its integral operator.
    n_basis : int
        Number of functions (``"cosine_sine"``: of pairs).
    times : ndarray of shape (T,)
        Times, mapped to [0, 1] for the first two.
    weights : ndarray of shape (T,)
        Quadrature weights.
    curves : ndarray of shape (n, T), optional
        Centred training curves, for ``"empirical"``.

    Returns
    -------
    functions : ndarray of shape (m, T)
    eigenvalues : ndarray of shape (m,)

    Raises
    ------
    InputError
        For another name, or more functions than the grid can distinguish.

    References
    ----------
    Laforgue et al. (2020), sections 2.2 and 4.3; ``docs/papers/duality_robust_losses.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.outputs import basis_functions
    >>> t = np.linspace(0.0, 1.0, 5)
    >>> functions, eigenvalues = basis_functions("fourier", 3, t, np.full(5, 0.2))
    >>> eigenvalues
    array([1.  , 0.25, 0.25])
    """
    count = check_count(n_basis, "n_basis")
    T = len(times)
    if not isinstance(basis, Kernel):
        check_choice(basis, "basis", _BASES)
    if count > T and basis != "cosine_sine":
        raise InputError(f"n_basis must be at most the number of times {T}; got {count}")
    if isinstance(basis, Kernel):
        K = torch.as_tensor(times, dtype=torch.float64)[:, None]
        return _eigenfunctions(basis.resolve(K)._gram(K).numpy(), weights, count)
    if basis == "empirical":
        if curves is None:
            raise InputError("basis='empirical' needs the training curves")
        functions, values = _eigenfunctions(curves.T @ curves / len(curves), weights, count)
        return functions, values / values[0] if values[0] > 0.0 else values
    span = times[-1] - times[0]
    u = (times - times[0]) / span if span > 0.0 else np.zeros(T)
    root = np.sqrt(2.0)
    if basis == "cosine_sine":
        i = np.repeat(np.arange(count), 2)
        phases = 2.0 * np.pi * i[:, None] * u
        even = np.arange(2 * count)[:, None] % 2 == 0
        return root * np.where(even, np.cos(phases), np.sin(phases)), 1.0 / (1.0 + i) ** 2
    i = (np.arange(count) + 1) // 2
    phases = 2.0 * np.pi * i[:, None] * u
    odd = np.arange(count)[:, None] % 2 == 1
    functions = root * np.where(odd, np.cos(phases), np.sin(phases))
    functions[0] = 1.0
    return functions / np.sqrt(max(weights.sum(), np.finfo(float).tiny)), 1.0 / (1.0 + i) ** 2


def _eigenfunctions(C: np.ndarray, weights: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of the integral operator with kernel ``C`` on the grid: ``D^(1/2) C D^(1/2) = u lambda u^T``."""
    root = np.sqrt(weights)
    values, vectors = np.linalg.eigh(root[:, None] * C * root[None, :])
    values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    flip = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)])
    return (vectors * np.where(flip == 0, 1.0, flip) / root[:, None]).T, values.clip(min=0.0)


class Functional(OutputSpace):
    """Curves in ``L2``, represented by their inner products with ``m`` functions.

    Parameters
    ----------
    mean : array of shape (T,)
        The curve that is subtracted.
    functions : array of shape (m, T)
        ``psi_j`` on the grid.
    eigenvalues : array of shape (m,)
        The output operator ``A = diag(eigenvalues)`` in these coordinates.
    weights : array of shape (T,)
        Quadrature weights.

    References
    ----------
    Laforgue et al. (2020), section 2.2 and theorems 5 and 7.

    Examples
    --------
    >>> import torch
    >>> from rkhs.outputs import Functional
    >>> t = torch.linspace(0.0, 1.0, 50, dtype=torch.float64)
    >>> Y = torch.stack([torch.sin(2 * torch.pi * t), torch.cos(2 * torch.pi * t)])
    >>> space, U = Functional.fit(Y, basis="fourier", n_basis=3, center=False)
    >>> U.shape, bool((space.decode(U) - Y).abs().max() < 0.05)
    (torch.Size([2, 3]), True)
    """

    scale: float = 1.0  # parameters of losses are in units of the curves
    mean: np.ndarray
    functions: np.ndarray
    eigenvalues: np.ndarray

    def __init__(self, mean: Any, functions: Any, eigenvalues: Any, weights: Any) -> None:
        self.mean = mean
        self.functions = functions
        self.eigenvalues = eigenvalues
        self.weights = weights

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_types(Functional, {name: getattr(self, name) for name in ("mean", "functions", "eigenvalues")})
        T = len(self.mean)
        check_shape("mean", self.mean, T)
        check_shape("functions", self.functions, None, T)
        check_shape("eigenvalues", self.eigenvalues, len(self.functions))
        check_shape("weights", self.weights, T)

    @property
    def dim(self) -> int:
        """Number of functions."""
        return len(self.eigenvalues)

    @classmethod
    def fit(
        cls,
        Y: Tensor,
        sample_weights: Tensor | None = None,
        *,
        basis: Any,
        n_basis: int,
        times: Any = None,
        rule: str = "trapezoid",
        center: bool,
    ) -> tuple[Functional, Tensor]:
        """Choose mean and functions on training curves.

        Parameters
        ----------
        Y : Tensor of shape (n, T)
        sample_weights : Tensor of shape (n,), optional
            Sum to one.
        basis, n_basis
            See :func:`basis_functions`.
        times : array of shape (T,), optional
            Default: equally spaced on [0, 1].
        rule : {"trapezoid", "mean"}
            Quadrature.
        center : bool
            Subtract the mean curve.

        Returns
        -------
        space : Functional
        coordinates : Tensor of shape (n, m)
            ``<y_i - mean, psi_j>``.

        Raises
        ------
        InputError
            For a grid or basis that does not fit.
        """
        T = Y.shape[1]
        weights = quadrature_weights(times, T, rule)
        grid = np.linspace(0.0, 1.0, T) if times is None else np.asarray(times, dtype=np.float64)
        mean = weighted_mean(Y, sample_weights) if center else Y.new_zeros(T)
        centred = (Y - mean).cpu().numpy().astype(np.float64)
        if sample_weights is not None:
            root_weights = np.sqrt(sample_weights.cpu().numpy() * len(centred))
            centred = centred * root_weights[:, None]
        functions, eigenvalues = basis_functions(basis, n_basis, grid, weights, centred)
        space = cls(mean.cpu().numpy(), functions, eigenvalues, weights)
        return space, space.encode(Y)

    def encode(self, Y: Tensor) -> Tensor:
        """Coordinates ``<y - mean, psi_j>``, shape (k, m)."""
        return (Y - tensor_like(self.mean, Y)) @ tensor_like(self.functions * self.weights, Y).mT

    def decode(self, U: Tensor) -> Tensor:
        """Curves ``mean + sum_j u_j psi_j``, shape (k, T)."""
        return (U @ tensor_like(self.functions, U)).add_(tensor_like(self.mean, U))

    def squared_distances(self, Y: Tensor, other: Tensor) -> Tensor:
        """``||y - y'||^2`` in ``L2`` row by row, shape (k,)."""
        return (Y - other) ** 2 @ tensor_like(self.weights, Y)
