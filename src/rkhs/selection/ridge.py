"""Kernel ridge regression for many regularisers by one eigendecomposition, with leave-one-out errors.

With ``W = K + reg diag(1/w)`` and ``Phi = W^-1 T`` the residual of a row under the fit without it is
``phi_i / (W^-1)_ii``. In the eigenbasis of ``diag(w)^1/2 K diag(w)^1/2`` every regulariser costs ``O(n^2)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_choice, check_numbers
from rkhs._core.threads import within_limit


@dataclass(frozen=True)
class RidgePath:
    """Errors along a path of regularisers.

    Parameters
    ----------
    regs : ndarray of shape (k,)
    leave_one_out : ndarray of shape (k,)
        ``sum_i w_i ||phi_i / (W^-1)_ii||^2``, exact.
    gcv : ndarray of shape (k,)
        Generalised cross-validation: mean squared residual over ``(1 - dof / n)^2``.
    degrees_of_freedom : ndarray of shape (k,)
        Trace of ``K W^-1``.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.selection import ridge_path
    >>> x = torch.linspace(0.0, 1.0, 20, dtype=torch.float64)[:, None]
    >>> path = ridge_path(Gaussian(10.0)(x), torch.sin(6.0 * x), [1e-6, 1e-3, 1.0])
    >>> path.best(), path.degrees_of_freedom.round(1)
    (1e-06, array([10.1,  6.4,  0.8]))
    """

    regs: np.ndarray
    leave_one_out: np.ndarray
    gcv: np.ndarray
    degrees_of_freedom: np.ndarray

    def best(self, criterion: str = "leave_one_out") -> float:
        """The regulariser of least error, by ``"leave_one_out"`` or ``"gcv"``."""
        check_choice(criterion, "criterion", ("leave_one_out", "gcv"))
        return float(self.regs[int(np.argmin(getattr(self, criterion)))])


@within_limit
def ridge_path(K: Tensor, T: Tensor, regs: Sequence[float], weights: Tensor | None = None) -> RidgePath:
    """Leave-one-out and generalised cross-validation errors of kernel ridge regression for many regularisers.

    Minimises ``sum_i w_i 1/2 ||t_i - (K Phi)_i||^2 + reg / 2 <K, Phi Phi^T>`` for each; one eigendecomposition serves
    all: ``O(n^3 + k n^2 r)`` in place of ``O(k n^4)``.

    Parameters
    ----------
    K : Tensor of shape (n, n)
        Gram matrix.
    T : Tensor of shape (n, r)
        Targets. If they were centred, their mean counts as known: it is not re-estimated without each row.
    regs : sequence of float
        Positive.
    weights : Tensor of shape (n,), optional
        Sample weights that sum to one; default ``1/n``.

    Returns
    -------
    RidgePath

    Raises
    ------
    InputError
        For no or non-positive regularisers.

    References
    ----------
    Golub, Heath and Wahba (1979), equation 1.4; Wahba (1990), equation 4.2.2; Rifkin and Lippert (2007), Notes on
    regularized least squares, section 3.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.selection import ridge_path
    >>> x = torch.linspace(0.0, 3.0, 30, dtype=torch.float64)[:, None]
    >>> path = ridge_path(Gaussian(1.0)._gram(x), torch.sin(x), [1e-8, 1e-4, 1.0])
    >>> path.best()
    1e-08
    """
    values = np.array(check_numbers(regs, "regs", above=0.0))
    n = len(K)
    w = K.new_full((n,), 1.0 / n) if weights is None else weights
    root = w.sqrt()
    s, U = torch.linalg.eigh(root[:, None] * K * root[None, :])
    s = s.clamp_min(0.0)
    Y = U.mT @ (root[:, None] * T)
    squares = U * U
    loo, gcv, freedom = [], [], []
    for reg in values:
        # W^-1 = diag(w)^1/2 U (s + reg)^-1 U^T diag(w)^1/2
        solved = U @ (Y / (s + reg)[:, None])
        diagonal = squares @ (1.0 / (s + reg))
        # phi_i / (W^-1)_ii = (root_i solved_i) / (w_i diagonal_i); weighted by w_i the squares lose their weights.
        loo.append(float(((solved / diagonal[:, None]) ** 2).sum()))
        dof = float((s / (s + reg)).sum())
        gcv.append(float((solved**2).sum()) * reg**2 / max(1.0 - dof / n, 1e-12) ** 2)
        freedom.append(dof)
    return RidgePath(values, np.array(loo), np.array(gcv), np.array(freedom))
