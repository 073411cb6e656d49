"""Weights for several kernels by their agreement with each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_gram, real_array
from rkhs._core.errors import InputError
from rkhs._core.linalg import center_gram


def view_weights(grams: Any, weights: Any = "alignment", *, sample_weights: Tensor | None = None) -> np.ndarray:
    """Multipliers that put several Gram matrices on one scale.

    ``m_v = s_v / t_v`` with ``t_v`` the mean diagonal of the centred matrix ``H K_v H`` and shares ``s_v`` that sum to
    one. For ``"alignment"`` they are ``s_v = a_v t_v / sum_u a_u t_u``, where ``a`` is the leading eigenvector of the
    mutual alignments of the centred matrices, each entry divided by the norm of its matrix.

    Parameters
    ----------
    grams : sequence of v arrays or tensors of shape (n, n)
    weights : {"alignment", "equal"} or sequence of v float, default="alignment"
        ``"equal"``: every centred matrix gets the same mean diagonal; numbers: shares of that; ``"alignment"``: by
        mutual agreement, so that a view that agrees with no other gets little.
    sample_weights : Tensor of shape (n,), optional
        Sum to one.

    Returns
    -------
    ndarray of shape (v,)
        The centred sum ``sum_v m_v K_v`` has mean diagonal one. A constant matrix gets zero; if all are, none is
        scaled.

    Raises
    ------
    InputError
        For matrices of different sizes, or other weights.

    References
    ----------
    Lavit et al. (1994), The ACT (STATIS method), for the agreement; Cortes, Mohri and Rostamizadeh (2012), for centred
    alignment.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.kernels import view_weights
    >>> view_weights([np.eye(2), 4.0 * np.eye(2)], "equal")
    array([1.   , 0.25])
    """
    matrices = _read(grams)
    units = np.array([_unit(K) for K in matrices])
    matrices = [K / unit for K, unit in zip(matrices, units, strict=True)]
    centred = _centred(matrices, sample_weights)
    w = None if sample_weights is None else sample_weights.cpu().numpy()
    traces = np.array([np.average(C.diagonal().cpu().numpy(), weights=w) for C in centred])
    floor = np.array([1e-12 * float(K.diagonal().abs().max()) for K in matrices])
    varied = traces > floor
    if not varied.any():  # one item, or copies of one: all views are alike
        varied, traces = np.ones(len(matrices), dtype=bool), np.ones(len(matrices))
    scaled = np.where(varied, 1.0 / np.where(varied, traces, 1.0), 0.0)
    if isinstance(weights, str):
        if weights not in ("alignment", "equal"):
            raise InputError(f"weights must be 'alignment', 'equal' or one number per view; got {weights!r}")
        shares = np.ones(len(matrices)) if weights == "equal" else _agreement(centred, w) * traces
    else:
        shares = real_array(weights, "weights").astype(float)
        if shares.shape != (len(matrices),) or not np.isfinite(shares).all() or (shares < 0.0).any():
            raise InputError(f"weights must be {len(matrices)} numbers >= 0, one per view; got {weights!r}")
    shares = shares * varied
    if not shares.sum() > 0.0:
        raise InputError("weights must be positive for at least one view that is not constant")
    return scaled * shares / shares.sum() / units


def _agreement(centred: list[Tensor], w: np.ndarray | None) -> np.ndarray:
    """Leading eigenvector of the mutual alignments, for matrices divided by their norms."""
    root = None if w is None else torch.as_tensor(np.sqrt(w)).to(centred[0])
    weighted = centred if root is None else [root[:, None] * C * root for C in centred]
    M = _products(weighted)
    size = np.sqrt(np.maximum(np.diag(M), np.finfo(float).tiny))
    vector = np.abs(np.linalg.eigh(M / np.outer(size, size))[1][:, -1])
    return vector / size


def _products(matrices: list[Tensor]) -> np.ndarray:
    v = len(matrices)
    M = np.empty((v, v))
    for i in range(v):
        for j in range(i, v):
            M[i, j] = M[j, i] = float((matrices[i] * matrices[j]).sum())
    return M


def _unit(K: Tensor) -> float:
    """A power of two of the order of the largest entry: products of matrices in such units are finite."""
    largest = float(K.abs().max()) if K.numel() else 0.0
    return 2.0 ** (math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0


def _centred(matrices: list[Tensor], weights: Tensor | None) -> list[Tensor]:
    return [center_gram(K.clone(), weights) for K in matrices]


def _read(grams: Any, name: str = "grams") -> list[Tensor]:
    """Convert the Gram matrices to square float64 matrices of one size."""
    if not isinstance(grams, Sequence) and getattr(grams, "ndim", 0) != 3:
        raise InputError(
            f"{name} must be a sequence of Gram matrices (n, n), or an array (v, n, n); got a {type(grams).__name__}"
        )
    read = []
    for K in grams:
        array = real_array(as_numpy(K, name), name)
        if not np.isfinite(array).all():
            raise InputError(f"{name} must be finite; got NaN or infinity")
        read.append(torch.as_tensor(check_gram(array, name), dtype=torch.float64))
    if not read or len({K.shape for K in read}) > 1:
        raise InputError(
            f"{name} must be at least one Gram matrix, all of one size; got {[tuple(K.shape) for K in read]}"
        )
    return read
