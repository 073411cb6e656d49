"""Bandwidths, weights and lengths of columns by the gradient of the leave-one-out error of kernel ridge regression.

With ``P = (K + reg diag(1/w))^-1``, ``Phi = P T``, ``e_i = phi_i / P_ii`` the error is ``E = sum_i w_i ||e_i||^2``.
With the rows ``c_i = 2 w_i e_i / P_ii`` and ``h_i = 2 w_i ||e_i||^2 / P_ii`` its derivative in the system is
``S = -P C Phi^T + P diag(h) P``, so that ``dE/dK = S`` and ``dE/dreg = sum_i S_ii / w_i``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_count, check_flag, real_array
from rkhs._core.errors import InputError
from rkhs._core.linalg import cholesky
from rkhs._core.threads import within_limit
from rkhs.kernels import Kernel, OnColumns, Product, Scaled, ScaledInputs, Stationary, Sum, as_kernel
from rkhs.selection.ridge import ridge_path

_REGS = tuple(10.0**k for k in range(-6, 1))
_FAR = np.log(1e3)  # parameters stay within this factor of where they start
_LEAST_REG, _LARGEST_REG = 1e-8, 10.0
_LEARNED = {Stationary: "gamma", Scaled: "scale", ScaledInputs: "scales"}  # the parameter of each kernel
_OPEN = (Sum, Product, Scaled, ScaledInputs, OnColumns)  # kernels whose parts are learned


@dataclass(frozen=True)
class LearnedKernel:
    """A kernel whose parameters were learned, and the regulariser that goes with it.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all parameters.
    reg : float
        In the convention ``1/n sum_i 1/2 ||.||^2 + reg / 2 ||f||^2``.
    leave_one_out, before : float
        Leave-one-out error as a share of the variance of the targets, and that of the kernel that was given with the
        best regulariser among 1e-6, ..., 1.
    n_iter : int
    """

    kernel: Kernel
    reg: float
    leave_one_out: float
    before: float
    n_iter: int


@within_limit
def leave_one_out_gradient(
    K: Tensor, T: Tensor, reg: float, weights: Tensor | None = None
) -> tuple[float, Tensor, float]:
    """Leave-one-out error of kernel ridge regression and its derivatives.

    ``E = sum_i w_i ||e_i||^2`` with ``e_i = (P T)_i / P_ii`` and ``P = (K + reg diag(1/w))^-1``.

    Parameters
    ----------
    K : Tensor of shape (n, n)
        Gram matrix.
    T : Tensor of shape (n, r)
        Targets.
    reg : float
        Positive.
    weights : Tensor of shape (n,), optional
        Sample weights that sum to one; default ``1/n``.

    Returns
    -------
    error : float
        ``E``.
    S : Tensor of shape (n, n)
        ``d error / dK``, all entries free; not symmetric.
    slope : float
        ``d error / dreg``.

    Raises
    ------
    InputError
        If ``K + reg diag(1/w)`` is not positive definite.

    Notes
    -----
    One inverse, ``n^3``, and two products of n x n matrices.

    References
    ----------
    Rifkin and Lippert (2007), Notes on regularized least squares, section 3, for the error.
    """
    w = K.new_full((len(K),), 1.0 / len(K)) if weights is None else weights
    W = K.clone()
    W.diagonal().add_(reg / w)
    P = torch.cholesky_inverse(cholesky(W, name="the system K + n reg I")[0])
    Phi, d = P @ T, P.diagonal()
    E = Phi / d[:, None]
    squares = w * (E * E).sum(1)
    S = (P * (2.0 * squares / d)) @ P
    S.addmm_(P @ (E * (2.0 * w / d)[:, None]), Phi.mT, alpha=-1.0)
    return float(squares.sum()), S, float((S.diagonal() / w).sum())


@within_limit
def learn_kernel(
    kernel: Any, X: Any, targets: Any, *, ard: bool = False, max_rows: int = 1000, max_iter: int = 100
) -> LearnedKernel:
    """Learn the parameters of a kernel for predicting targets, by leave-one-out errors in closed form.

    Minimises ``log E + 1/n sum_j (log theta_j - log theta_j^0)^2`` by L-BFGS over the logarithms of the parameters
    ``theta``, starting at those that were given, and of the regulariser. ``E`` is the leave-one-out error: rows are
    predicted that were not fitted, so that a narrower kernel is not better by itself. The second term is that of a
    standard normal prior beside ``n/2 log E``.

    Parameters
    ----------
    kernel : str or Kernel
        On vectors. Learned are the bandwidths of stationary kernels, the weights of the terms of sums, multiples, and
        the scales of :class:`~rkhs.kernels.ScaledInputs`; the rest stays as it is.
    X : array of shape (n, d)
        Inputs; for the kernel of a decoder the codes.
    targets : array of shape (n,) or (n, q)
        What is predicted; for the kernel of a decoder the inputs. Centred here.
    ard : bool, default=False
        Learn a scale for each column too: automatic relevance determination. It helps where few columns matter and rows
        are many beside columns. ``docs/user/selection.md`` says what was measured.
    max_rows : int, default=1000
        Of more rows, so many are drawn, always the same ones.
    max_iter : int, default=100

    Returns
    -------
    LearnedKernel

    Raises
    ------
    InputError
        For a kernel without parameters to learn, and data that cannot be read.

    Notes
    -----
    Each of the at most ``max_iter`` iterations costs ``n^3`` and ``O(n^2 d)`` a parameter or block of scales.

    References
    ----------
    Rasmussen and Williams (2006), sections 5.1 and 5.4.2, for relevance determination and leave-one-out gradients;
    Cawley and Talbot (2010), Journal of Machine Learning Research 11, section 4, for its overfitting.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.selection import learn_kernel
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> found = learn_kernel("gaussian", X, np.sin(2.0 * X[:, 0]), ard=True)
    >>> scales = np.array(found.kernel.scales)
    >>> bool(scales[0] > 5.0 * scales[1:].max()), found.leave_one_out < 0.1 * found.before
    (True, True)
    """
    start, ard = as_kernel(kernel), check_flag(ard, "ard")
    if start.domain != "vectors":
        raise InputError(f"kernel must be a kernel on vectors; got {start!r}")
    rows, T = _drawn(start.read(as_numpy(X)).to(torch.float64), targets, check_count(max_rows, "max_rows", at_least=2))
    start = _opened(start.resolve(rows), rows.shape[1], ard=ard)
    values = np.array(_values(start))
    if len(values) == 0:
        raise InputError(f"kernel must have a bandwidth, weights or scales to learn; got {start!r}")
    path = ridge_path(start(rows), T, _REGS)  # refused unless every value is finite
    first = np.log([*values, path.best()])

    inertia = np.r_[np.full(len(values), len(rows) ** -0.5), 0.0]

    def criterion(logs: np.ndarray) -> tuple[float, np.ndarray]:
        trial, reg = _rebuilt(start, iter(np.exp(logs))), float(np.exp(logs[-1]))
        error, S, slope = leave_one_out_gradient(trial._gram(rows), T, reg)
        gradient = np.array([*_gradient(trial, rows, S), slope * reg])
        moved = (logs - first) * inertia
        return float(np.log(error) + moved @ moved), gradient / error + 2.0 * moved * inertia

    bounds = [(one - _FAR, one + _FAR) for one in first[:-1]] + [(np.log(_LEAST_REG), np.log(_LARGEST_REG))]
    steps = check_count(max_iter, "max_iter")
    found = minimize(criterion, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
    learned, reg = _rebuilt(start, iter(np.exp(found.x))), float(np.exp(found.x[-1]))
    error = leave_one_out_gradient(learned._gram(rows), T, reg)[0]
    before = float(path.leave_one_out.min())
    return LearnedKernel(learned, reg, error, before, int(found.nit))


def _drawn(rows: Tensor, targets: Any, most: int) -> tuple[Tensor, Tensor]:
    """At most so many rows, and their targets, centred and of variance one."""
    given = real_array(as_numpy(targets, "targets"), "targets")
    if given.ndim not in (1, 2):
        raise InputError(f"targets must have shape (n,) or (n, q); got {given.shape}")
    T = torch.as_tensor(given[:, None] if given.ndim == 1 else given)
    if len(T) != len(rows) or len(rows) < 2:
        raise InputError(f"targets must have one row a row of X, two or more; got {len(T)} for {len(rows)} rows")
    if not bool(torch.isfinite(T).all()):
        raise InputError("targets must be finite; got NaN or infinity. Fill or drop such rows first")
    if len(rows) > most:
        kept = torch.as_tensor(np.sort(np.random.default_rng(0).permutation(len(rows))[:most]))
        rows, T = rows[kept], T[kept]
    T = T - T.mean(0)
    spread = float((T * T).sum(1).mean())
    if not 0.0 < spread < float("inf"):
        what = "vary: all rows are equal, and there is nothing to predict" if spread == 0.0 else "have finite squares"
        raise InputError(f"targets must {what}; got a variance of {spread:g}")
    return rows, T / spread**0.5


def _opened(kernel: Kernel, d: int, *, ard: bool = False) -> Kernel:
    """The kernel with a weight for each term of its sums, and with scales if they are asked for."""
    if isinstance(kernel, Sum):
        terms = [_opened(term, d) for term in kernel.parts]
        kernel = Sum(tuple(term if isinstance(term, Scaled) else Scaled(term, 1.0) for term in terms))
    return ScaledInputs(kernel, (1.0,) * d) if ard else kernel


def _own(kernel: Kernel) -> tuple[str, list[float]]:
    """The positive parameter of a resolved kernel that is learned, and its numbers."""
    name = next((name for kind, name in _LEARNED.items() if isinstance(kernel, kind)), "")
    return name, np.atleast_1d(getattr(kernel, name)).tolist() if name else []


def _values(kernel: Kernel) -> list[float]:
    """Positive parameters of a resolved kernel, in a fixed order."""
    parts = kernel.parts if isinstance(kernel, _OPEN) else ()
    return _own(kernel)[1] + [value for part in parts for value in _values(part)]


def _rebuilt(kernel: Kernel, values: Iterator[float]) -> Kernel:
    """The kernel with other values, in the order of :func:`_values`."""
    name, own = _own(kernel)
    if name:
        new = tuple(float(next(values)) for _ in own)
        kernel = kernel._with(**{name: new if name == "scales" else new[0]})
    if not isinstance(kernel, _OPEN):
        return kernel
    return kernel.with_parts([_rebuilt(part, values) for part in kernel.parts])


def _gradient(kernel: Kernel, X: Tensor, S: Tensor) -> list[float]:
    """Derivatives with respect to the logarithms of the values, for ``S = dE/dk(X, X)``."""
    if isinstance(kernel, Stationary):
        return [float(kernel.gamma) * kernel.bandwidth_gradient(X, S)]
    if isinstance(kernel, Scaled):
        inner = kernel.scale * S
        return [float((kernel.base._gram(X) * inner).sum()), *_gradient(kernel.base, X, inner)]
    if isinstance(kernel, ScaledInputs):
        return [*kernel.scales_gradient(X, S).tolist(), *_gradient(kernel.base, kernel._mapped(X), S)]
    if isinstance(kernel, OnColumns):
        return _gradient(kernel.base, kernel._mapped(X), S)
    if isinstance(kernel, Product):
        grams = [part._gram(X) for part in kernel.parts]
        return [g for i, part in enumerate(kernel.parts) for g in _gradient(part, X, kernel._others(grams, i, S))]
    return [g for part in kernel.parts for g in _gradient(part, X, S)] if isinstance(kernel, Sum) else []
