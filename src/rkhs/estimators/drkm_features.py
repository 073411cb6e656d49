"""A deep restricted kernel machine in finite features: what needs no n x n matrix, and its encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate
from rkhs.estimators.drkm_encoders import Encoder, layer_moments, quality_of
from rkhs.estimators.storage import item_features
from rkhs.estimators.training import cut
from rkhs.features import FeatureMap, Storage
from rkhs.features.base import sample_rows
from rkhs.kernels.base import Kernel
from rkhs.models import CodeEncoder, DeepRKMModel, Expansion
from rkhs.problems.code_ridge import ridge_features
from rkhs.problems.drkm import ConstrainedDRKM

if TYPE_CHECKING:
    from rkhs.estimators.deep_rkm import DeepRKM

__all__ = ["check_storage", "feature_encoders", "feature_model"]


def check_storage(model: DeepRKM, storage: Storage, n: int) -> None:
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
    run = model._run
    run.announce(Estimate(what, int(n_bytes), "features, bases and tiles"), "Use fewer landmarks or features")
    model.announced_bytes_ = run.announced_bytes


def feature_encoders(
    storage: Storage, features: FeatureMap, problem: ConstrainedDRKM, F: Tensor, H: Tensor, ridge: float | str
) -> tuple[list[Encoder], list[FeatureMap]]:
    """Ridge encoders of all layers, from the bottom, in the features of the storage, and the maps that they read.

    Each is fitted on what the encoder below gives for the training items; the kernels of codes get features of their
    own, with landmarks among these codes.
    """
    rng, maps = check_seed(storage.random_state), [features]
    encoders: list[Encoder] = []
    for layer, block in enumerate(problem.split(H)):
        if layer:
            codes = problem.scale * encoders[-1].support
            sample = cut(codes, sample_rows(len(codes), storage.sample_size(len(codes)), rng))
            maps.append(storage.build(problem.kernels[layer - 1], sample, rng))
            F = item_features(problem.kernels[layer - 1], maps[-1], codes)
        mean = F.mean(dim=0) if problem.center else F.new_zeros(F.shape[1])
        noise = torch.finfo(F.dtype).eps * float((F * F).sum())
        w, chosen, error = ridge_features(F - mean, block, ridge, problem.center, noise)
        shift = -(mean @ w)
        found = F @ w + shift
        defect = float((found - block).norm() / block.norm())
        encoders.append(Encoder(maps[-1].whiten(w), shift, found, chosen, error, defect))
    return encoders, maps


def feature_model(
    storage: Storage,
    kernel: Kernel,
    features: FeatureMap,
    problem: ConstrainedDRKM,
    F: Tensor,
    H: Tensor,
    items: Any,
    codes: np.ndarray,
    ridge: float | str,
) -> DeepRKMModel:
    """The model of a solved machine on the features ``F`` of its items; ``codes`` are those of ``H`` as users see them.

    Parameters
    ----------
    storage : Storage
    kernel : Kernel
        Of the items.
    features : FeatureMap
    problem : ConstrainedDRKM
    F : Tensor of shape (n, r)
    H : Tensor of shape (n, S)
    items : Tensor (n, d), Gram matrix (n, n), or list of n objects
    codes : ndarray of shape (n, S)
    ridge : float or "loo"

    Returns
    -------
    DeepRKMModel
    """
    blocks, mean = problem.split(H), F.mean(dim=0) if problem.center else F.new_zeros(F.shape[1])
    means: list[np.ndarray | None] = [features.raw_of(mean[None])[0].cpu().numpy() if problem.center else None]
    for layer in range(1, len(blocks)):
        if not problem.center:
            means.append(None)
            continue
        rows = problem.inner(layer, blocks[layer - 1]).times(torch.ones_like(blocks[layer][:, :1]))[:, 0]
        means.append((rows / len(H)).cpu().numpy())
    moments, values = layer_moments(blocks, [problem.layer_product(j, H, block) for j, block in enumerate(blocks)])
    found, maps = feature_encoders(storage, features, problem, F, H, ridge)
    kept: Any = features.kept
    if not storage.keeps_items:
        kept = cut(items, sample_rows(len(items), storage.m, np.random.RandomState(0))).cpu().numpy()
    return DeepRKMModel(
        kernel,
        Expansion(features, found[0].dual.cpu().numpy(), found[0].shift.cpu().numpy()),
        tuple(
            CodeEncoder(one.dual.cpu().numpy(), one.shift.cpu().numpy(), None, each)
            for one, each in zip(found[1:], maps[1:], strict=True)
        ),
        problem.kernels,
        problem.scale,
        codes,
        [np.ascontiguousarray(block.cpu().numpy()) for block in blocks],
        moments,
        values,
        means,
        features.whiten((F - mean).mT @ blocks[0]).cpu().numpy(),
        features.whiten(mean[:, None])[:, 0].cpu().numpy(),
        kept,
        kernel._diag(items).cpu().numpy().copy(),
        quality_of(problem, H, found),
    )
