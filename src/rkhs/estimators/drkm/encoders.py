"""Encoders of a deep restricted kernel machine, fitted to its codes, and the fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs._core.linalg import center_gram
from rkhs.estimators.drkm.machine import Settings
from rkhs.models import DeepRKMModel, DeepRKMQuality, Expansion
from rkhs.problems.code_ridge import encoder_coefs, ridge_coefs, ridge_features
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.spaces import InMemoryItems
from rkhs.spaces.features import Storage, WholeMap
from rkhs.spaces.features.base import pick, sample_rows
from rkhs.spaces.whole import item_features


class Fitted(NamedTuple):
    """The encoder of one layer, and its codes and errors on the training items."""

    encoder: Expansion
    codes: Tensor  # (n, s): inputs of the next layer
    ridge: float  # NaN without one
    error: float  # leave-one-out error, as a share of the norm of the codes; NaN without a ridge
    defect: float  # relative error on the training codes


def fit_encoders(in_memory: InMemoryItems, problem: ConstrainedDRKM, settings: Settings, H: Tensor) -> list[Fitted]:
    """Encoders of all layers, from the bottom."""
    if isinstance(settings.storage, Storage):
        return _feature_encoders(settings.storage, in_memory, problem, H)
    encoders: list[Fitted] = []
    blocks, mode, features = problem.split(H), settings.out_of_sample, in_memory.map
    fitted = rows = (
        in_memory.values
    )  # the uncentred Gram matrix that a layer is fitted on, and the rows of encoded items
    for layer, block in enumerate(blocks):
        gram = center_gram(fitted) if problem.center else fitted
        noise = len(fitted) * torch.finfo(fitted.dtype).eps * float(fitted.diagonal().mean())
        chosen, error = math.nan, math.nan
        if mode == "ridge":
            dual, chosen, error = ridge_coefs(gram, block, problem.center, noise)
        else:
            dual = encoder_coefs(gram, block, mode, settings.eta[layer], noise)
        mean = fitted.mean(dim=0) if problem.center else fitted.new_zeros(len(fitted))
        dual = dual - dual.mean(dim=0) if problem.center else dual
        shift = -(mean @ dual)
        found = rows @ dual + shift
        encoder = Expansion(features, _array(dual), _array(shift))
        encoders.append(Fitted(encoder, found if mode == "ridge" else block, chosen, error, _defect(found, block)))
        if layer + 1 < len(blocks):
            kernel, codes = problem.kernels[layer], problem.scale * encoders[-1].codes
            features, fitted = WholeMap(kernel, _array(codes), len(codes)), kernel._gram(codes)
            rows = fitted if mode == "ridge" else kernel._gram(problem.scale * found, codes)
    return encoders


def _feature_encoders(storage: Storage, in_memory: InMemoryItems, problem: ConstrainedDRKM, H: Tensor) -> list[Fitted]:
    """Fit the encoders in features; each kernel of codes has landmarks or random features for the codes it reads."""
    rng, features, F = check_seed(storage.random_state), in_memory.map, in_memory.values
    encoders: list[Fitted] = []
    for layer, block in enumerate(problem.split(H)):
        if layer:
            kernel, codes = problem.kernels[layer - 1], problem.scale * encoders[-1].codes
            features = storage.build(
                kernel, pick(codes, sample_rows(len(codes), storage.sample_size(len(H)), rng)), rng
            )
            F = item_features(kernel, features, codes)
        mean = F.mean(dim=0) if problem.center else F.new_zeros(F.shape[1])
        noise = torch.finfo(F.dtype).eps * float((F * F).sum())
        w, chosen, error = ridge_features(F - mean, block, problem.center, noise)
        shift = -(mean @ w)
        found, encoder = F @ w + shift, Expansion(features, _array(features.whiten(w)), _array(shift))
        encoders.append(Fitted(encoder, found, chosen, error, _defect(found, block)))
    return encoders


def _defect(found: Tensor, block: Tensor) -> float:
    return float((found - block).norm() / block.norm())


def _quality(found: Sequence[Any], violation: float) -> DeepRKMQuality:
    """Errors of the encoders, and the violation of the orthogonality constraint."""
    defects, ridges, errors = (np.array([getattr(one, name) for one in found]) for name in ("defect", "ridge", "error"))
    return DeepRKMQuality(defects, ridges, errors, violation)


def _mean_and_directions(
    in_memory: InMemoryItems, problem: ConstrainedDRKM, block: Tensor
) -> tuple[Tensor, np.ndarray | None, np.ndarray | None]:
    """Mean of the raw features; for finite features also the components of layer 1 and the weights of the mean."""
    mean = in_memory.values.mean(dim=0)
    if not in_memory.factored:
        return mean, None, None
    mean = mean if problem.center else torch.zeros_like(mean)
    directions = _array(in_memory.map.whiten((in_memory.values - mean).mT @ block))
    weights = _array(in_memory.map.whiten(mean[:, None])[:, 0])
    return in_memory.map.raw_of(mean[None])[0], directions, weights


def machine_model(
    in_memory: InMemoryItems, problem: ConstrainedDRKM, settings: Settings, H: Tensor, codes: np.ndarray
) -> DeepRKMModel:
    """The model of a solved machine on its items; ``codes``: ``H`` in the dtype of the training data."""
    blocks, found = problem.split(H), fit_encoders(in_memory, problem, settings, H)
    mean, directions, mean_weights = _mean_and_directions(in_memory, problem, blocks[0])
    moments = [block.mT @ problem.layer_product(layer, H, block) for layer, block in enumerate(blocks)]
    diagonal = in_memory.kernel._diag(in_memory.items) if in_memory.factored else in_memory.diagonal
    return DeepRKMModel(
        in_memory.kernel,
        found[0].encoder,
        tuple(one.encoder for one in found[1:]),
        problem.kernels,
        problem.scale,
        codes,
        [np.ascontiguousarray(_array(block)) for block in blocks],
        [_array(M) for M in moments],
        [_array(torch.diagonal(M)).copy() for M in moments],
        [_array(mean), *_code_means(problem, blocks)] if problem.center else [None] * len(blocks),
        directions,
        mean_weights,
        _kept_items(in_memory, settings.storage),
        _array(diagonal).copy(),
        _quality(found, problem.constraint.violation(H)),
    )


def _code_means(problem: ConstrainedDRKM, blocks: list[Tensor]) -> list[np.ndarray]:
    """Means of the kernel values of the codes that each layer above the first reads."""
    ones = torch.ones_like(blocks[0][:, :1])
    sums = [problem.inner(layer, block).times(ones)[:, 0] for layer, block in enumerate(blocks[:-1], 1)]
    return [_array(one / len(ones)) for one in sums]


def _kept_items(in_memory: InMemoryItems, storage: Storage | str) -> Any:
    """Training items for pre-images: those of the map, or a sample if it keeps none."""
    if not isinstance(storage, Storage) or storage.keeps_items:
        return in_memory.map.kept
    some = pick(in_memory.items, sample_rows(len(in_memory.items), storage.m, np.random.RandomState(0)))
    return _array(some) if isinstance(some, Tensor) else some  # a list of sparse rows


def _array(values: Tensor) -> np.ndarray:
    return values.cpu().numpy()
