"""Encoders fitted to codes: kernel ridge regression of least leave-one-out error, and modes without a ridge."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rkhs._core.arrays import tile_rows, tiles
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor
from rkhs.kernels.vectors.dot_product import Linear
from rkhs.kernels.vectors.radial import Matern
from rkhs.outputs import Euclidean

_RIDGES = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def encoder_coefs(K: Tensor, H: Tensor, mode: str, scale: float, noise: float) -> Tensor:
    """Coefficients ``B`` with codes ``k_c(x) B`` for one layer, shape (n, s), in the modes without a ridge."""
    return H / scale if mode == "paper" else solve_psd(H.mT @ (K @ H), H.mT, noise).mT


def ridge_coefs(
    K: Tensor, T: Tensor, center: bool, noise: float = 0.0, ridges: Sequence[float] = _RIDGES
) -> tuple[Tensor, float, float]:
    """Fit kernel ridge regression with the ridge of least leave-one-out error, in closed form."""
    n, mean = K.shape[0], float(K.diagonal().mean())
    floor = 100.0 * max(n * torch.finfo(K.dtype).eps * mean, noise)
    if not n * mean > floor:
        return torch.zeros_like(T), math.inf, 1.0
    if center:
        K = K + mean / n  # constants, to which centred targets are orthogonal, must not make it singular

    def solved(added: float) -> tuple[Tensor, Tensor] | None:
        A = K.clone()
        A.diagonal().add_(added)
        L, info = torch.linalg.cholesky_ex(A)
        if int(info) != 0:  # rounding in the Gram matrix is larger than this ridge
            return None
        B = torch.cholesky_solve(T, L)
        inverse_diagonal = torch.cholesky_inverse(L).diagonal() - (1.0 / (n * (mean + added)) if center else 0.0)
        return B, B / divisor(inverse_diagonal)[:, None]

    return _least_left_out(solved, T, ridges, mean, floor)


def _least_left_out(
    solved: Callable[[float], tuple[Tensor, Tensor] | None],
    T: Tensor,
    ridges: Sequence[float],
    mean: float,
    floor: float,
) -> tuple[Tensor, float, float]:
    """Coefficients, ridge and leave-one-out error of the ridge of least error among those that can be solved."""
    best: tuple[Tensor, float, float] | None = None
    for chosen in ridges:
        found = solved(max(chosen * mean, floor))
        if found is None:
            continue
        error = float(found[1].norm() / divisor(T.norm()))
        if best is None or error < best[2]:
            best = found[0], chosen, error
    if best is None:
        raise InputError(
            "the Gram matrix of a layer has negative eigenvalues beyond rounding; use a positive semi-definite kernel"
        )
    return best


def solve_psd(M: Tensor, B: Tensor, noise: float = 0.0) -> Tensor:
    """Least-squares solution of ``M X = B`` for a small positive semi-definite matrix of any rank."""
    values, vectors = torch.linalg.eigh((M + M.mT) / 2)
    good = values > max(1e-12 * float(values[-1]), noise, 1e-300)
    inverse = torch.where(good, 1.0 / torch.where(good, values, torch.ones_like(values)), torch.zeros_like(values))
    return vectors @ (inverse[:, None] * (vectors.mT @ B))


def ridge_features(
    F: Tensor, T: Tensor, center: bool, noise: float = 0.0, ridges: Sequence[float] = _RIDGES
) -> tuple[Tensor, float, float]:
    """Ridge regression on features: what :func:`~rkhs.problems.code_ridge.ridge_coefs` gives for ``K = F F^T``."""
    n, mean = len(F), float((F * F).sum()) / len(F)
    floor = 100.0 * max(n * torch.finfo(F.dtype).eps * mean, noise)
    if not n * mean > floor:
        return T.new_zeros(F.shape[1], T.shape[1]), math.inf, 1.0
    s, Q = torch.linalg.eigh(F.mT @ F)
    s = s.clamp_min(0.0)
    P = F @ Q
    projected, squares = P.mT @ T, P * P

    def solved(added: float) -> tuple[Tensor, Tensor]:
        shrunk = 1.0 / (s + added)
        w = shrunk[:, None] * projected
        complement = (1.0 - (1.0 / n if center else 0.0)) - squares @ shrunk
        return Q @ w, (T - P @ w) / divisor(complement)[:, None]

    return _least_left_out(solved, T, ridges, mean, floor)


def decoded_by_ridge(train: Tensor, X: Tensor, Z: Tensor) -> Tensor:
    """Decode codes by kernel ridge regression of the vectors on the training codes, ridge by leave-one-out; O(n^3)."""
    factor = float(len(train)) ** 0.5  # codes of order one
    output, U = Euclidean.fit(X, None, center=True, scale=True)
    kernel = (Matern(1.5, "median") + 0.1 * Linear("mean_norm")).resolve(factor * train)
    coefs, _, _ = ridge_coefs(kernel._gram(factor * train), U, False)
    parts = (factor * Z[tile] for tile in tiles(len(Z), tile_rows(len(train))))
    return output.decode(torch.cat([kernel._gram(part, factor * train) @ coefs for part in parts]))
