"""A deep restricted kernel machine in finite features: what needs no n x n matrix, and its encoders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor
from rkhs._core.memory import Estimate
from rkhs.estimators.base import take
from rkhs.estimators.drkm_parts import RIDGES, Encoder
from rkhs.estimators.storage import announce, item_features
from rkhs.features import FeatureMap, Storage
from rkhs.features.base import sample_rows
from rkhs.problems.drkm import ConstrainedDRKM

__all__ = ["check_storage", "fit_feature_encoders", "ridge_features", "store_features"]


def check_storage(model: Any, storage: Storage, n: int) -> None:
    """Refuse what needs a Gram matrix, and announce the memory of a fit."""

    def refuse(name: str, instead: str) -> None:
        raise InputError(f"{name}={getattr(model, name)!r} needs storage='dense'; use {instead} with {storage!r}")

    if model.out_of_sample != "ridge":
        refuse("out_of_sample", "out_of_sample='ridge'")
    if model.bandwidths != "fixed":
        refuse("bandwidths", "bandwidths='fixed'")
    if model.preimage != "ridge" and not storage.keeps_items:
        raise InputError(
            f"preimage={model.preimage!r} needs training items to return to, which random features do not keep; use "
            "preimage='ridge', or storage=Nystroem(m)"
        )
    size, widths = 8 if model.dtype == "float64" else 4, np.sum(model.n_components)
    n_bytes = size * n * (5 * storage.m + 60 * (int(widths) + 8)) + 40 * storage.m**2 + 2**29
    what = f"DeepRKM on n={n} rows with storage={storage!r}"
    announce(model, Estimate(what, int(n_bytes), "features, bases and tiles"), "Use fewer landmarks or features")


def ridge_features(
    F: Tensor, T: Tensor, ridge: float | str, center: bool, noise: float = 0.0
) -> tuple[Tensor, float, float]:
    """Ridge regression on features: what :func:`~rkhs.estimators.drkm_parts.ridge_coefs` gives for ``K = F F^T``.

    Parameters
    ----------
    F : Tensor of shape (n, r)
        Centred if ``center``.
    T : Tensor of shape (n, q)
        Targets, orthogonal to the constant if ``center``.
    ridge : float or "loo"
        Relative to the mean of the squared norms of the features.
    center : bool
        The regression has an intercept.
    noise : float, default=0.0
        As in :func:`~rkhs.estimators.drkm_parts.ridge_coefs`.

    Returns
    -------
    w : Tensor of shape (r, q)
        ``(F^T F + ridge I)^-1 F^T T``.
    chosen : float
        The relative ridge.
    error : float
        Leave-one-out error as a share of ``||T||``: residuals over one minus the leverages.
    """
    n, mean = len(F), float((F * F).sum()) / len(F)
    floor = 100.0 * max(n * torch.finfo(F.dtype).eps * mean, noise)
    if not n * mean > floor:
        return T.new_zeros(F.shape[1], T.shape[1]), math.inf, 1.0
    s, Q = torch.linalg.eigh(F.mT @ F)
    s = s.clamp_min(0.0)
    P = F @ Q
    projected, squares = P.mT @ T, P * P
    best: tuple[Tensor, float, float] | None = None
    for chosen in RIDGES if ridge == "loo" else (float(ridge),):
        shrunk = 1.0 / (s + max(chosen * mean, floor))
        w = shrunk[:, None] * projected
        outside = (1.0 - (1.0 / n if center else 0.0)) - squares @ shrunk
        residual = (T - P @ w) / divisor(outside)[:, None]
        error = float(residual.norm() / divisor(T.norm()))
        if best is None or error < best[2]:
            best = Q @ w, chosen, error
    assert best is not None
    return best


def fit_feature_encoders(
    model: Any, storage: Storage, problem: ConstrainedDRKM, F: Tensor, H: Tensor
) -> tuple[list[Encoder], list[FeatureMap]]:
    """Ridge encoders of all layers, from the bottom, in the features of the storage.

    Each is fitted on what the encoder below gives for the training items; the kernels of codes get features of their
    own, with landmarks among these codes.
    """
    rng, maps = check_seed(storage.random_state), [model.map_]
    encoders: list[Encoder] = []
    for layer, block in enumerate(problem.split(H)):
        if layer:
            codes = problem.scale * encoders[-1].support
            sample = take(codes, sample_rows(len(codes), storage.sample_size(len(codes)), rng))
            maps.append(storage.build(problem.kernels[layer - 1], sample, rng))
            F = item_features(model.kernel_, maps[-1], codes)
        mean = F.mean(dim=0) if problem.center else F.new_zeros(F.shape[1])
        noise = torch.finfo(F.dtype).eps * float((F * F).sum())
        w, chosen, error = ridge_features(F - mean, block, model.ridge, problem.center, noise)
        shift = -(mean @ w)
        found = F @ w + shift
        defect = float((found - block).norm() / block.norm())
        encoders.append(Encoder(maps[-1].whiten(w), shift, found, chosen, error, defect))
    return encoders, maps[1:]


def store_features(model: Any, storage: Storage, problem: ConstrainedDRKM, F: Tensor, H: Tensor, items: Any) -> None:
    """Store what decoding needs: directions of layer 1 on the features, moments and means of every layer."""
    features: FeatureMap = model.map_
    mean = F.mean(dim=0) if problem.center else F.new_zeros(F.shape[1])
    model.layer_values_, model.gram_means_, model.moments_ = [], [], []
    for layer, block in enumerate(problem.split(H)):
        moment = block.mT @ problem.layer_product(layer, H, block)
        model.layer_values_.append(moment.diagonal().cpu().numpy().copy())
        model.moments_.append(moment.cpu().numpy())
        if layer == 0:
            centre = features.raw_of(mean[None])[0]
        elif problem.center:
            below = problem.inner(layer, problem.split(H)[layer - 1])
            centre = below.times(torch.ones_like(block[:, :1]))[:, 0] / len(block)
        else:
            centre = torch.zeros_like(block[:, 0])
        model.gram_means_.append(centre.cpu().numpy())
    first = problem.split(H)[0]
    model.feature_codes_ = features.whiten((F - mean).mT @ first).cpu().numpy()
    model.mean_weights_ = features.whiten(mean[:, None])[:, 0].cpu().numpy()
    model.train_diag_ = model.kernel_._diag(items).cpu().numpy().copy()
    if storage.keeps_items:
        model.support_items_ = features.kept
    else:
        rows = sample_rows(len(items), storage.m, np.random.RandomState(0))
        model.support_items_ = take(items, rows).cpu().numpy()
