"""Kernel PCA in finite features: an eigendecomposition of their covariance, in one pass over the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_count, naming
from rkhs._core.eigen import top_eigenpairs
from rkhs._core.errors import InputError
from rkhs._core.linalg import fix_signs
from rkhs.engines import Rows, row_blocks
from rkhs.estimators.storage import (
    BLOCK,
    Source,
    announce_features,
    make_data_engine,
    open_source,
    read_row_weights,
    read_rows,
)
from rkhs.features import Features, LandmarkMap, RandomFeatures
from rkhs.features.base import EvaluatedMap, sample_rows
from rkhs.kernels.base import Kernel
from rkhs.outputs import Euclidean
from rkhs.problems.feature_sums import Sweep, block_moments, block_normal
from rkhs.problems.landmark_autoencoder import Data, FeatureMoments, feature_moments, least_ridge, solve_normal

__all__ = ["fit_features", "partial_fit_features", "store_components", "takes_more_rows"]


def fit_features(model: Any, storage: Features, X: Any, sample_weight: Any) -> None:
    """Fit a :class:`KernelPCA` in the features of a storage."""
    kernel = model._kernel_for(X)
    _refuse(model, storage, kernel)
    data, weights = read_row_weights(model, sample_weight, read_rows(model, X, kernel), kernel)
    n = data.shape[0] if isinstance(data, Rows) else len(data)
    columns = data.shape[1] if isinstance(data, (Rows, Tensor)) else 0
    codes = model.n_components if isinstance(model.n_components, int) else storage.m
    announce_features(model, storage, n, columns, columns, codes, layers=2 if model.preimage == "ridge" else 1)
    source = open_source(model, storage, kernel, data, weights)
    model.kernel_, model.map_ = source.kernel, source.features
    engine = make_data_engine(model, source.blocks)
    passes = Data(engine.place(source.rows), source.blocks, engine, journal=model._journal)
    sweep = source.sweep(model)
    first, second = passes.sum(block_moments, sweep)
    moments = feature_moments(source.features, first, second, center=model.center)
    _store_support(model, source, data)
    store_components(model, moments, source.diag, n)
    options = {"maps": torch.as_tensor(model.dual_coef_), "shift": torch.as_tensor(model.intercept_)}
    scores = passes.codes(sweep.cast(**options))
    flips = torch.where((fix_signs(scores) * scores).sum(0) < 0.0, -1.0, 1.0).to(torch.float64)
    model.dual_coef_ *= flips.numpy()
    model.intercept_ *= flips.numpy()
    model.codes_ = model._to_output(scores.mul_(flips))
    model.n_iter_ = 1
    if source.kernel.domain == "vectors":
        _fit_ridge(model, source, passes, sweep)


def takes_more_rows(model: Any) -> bool:
    """Whether ``partial_fit`` is there; the error of an attribute that is not says what is missing."""
    if not isinstance(model.storage, Features):
        raise AttributeError("partial_fit needs storage=Nystroem(m) or storage=RandomFeatures(m)")
    if model.__sklearn_tags__().input_tags.pairwise:
        raise AttributeError("partial_fit needs inputs of fixed width; a Gram matrix grows with its rows. Use fit")
    return True


def partial_fit_features(model: Any, storage: Features, X: Any) -> None:
    """Add rows to the moments of the features, which the first rows choose."""
    kernel = model._kernel_for(X)
    _refuse(model, storage, kernel)
    if getattr(model, "moments_", None) is None:
        data = read_rows(model, X, kernel)
        source = open_source(model, storage, kernel, data, None)
        model.kernel_, model.map_ = source.kernel, source.features
        model._kept_rows, model._n_training, model.anchor_codes_, model.decoder_coef_ = None, 0, None, None
        _store_support(model, source, data)
        model.moments_ = [np.zeros(source.features.width), np.zeros((source.features.width,) * 2), 0.0]
    else:
        data = model._read_new(X)
    n, options = len(data), model._options
    sweep = Sweep(EvaluatedMap(model.map_), options["dtype"], str(options["device"]), model.map_.width, None, 1)
    first, second, diag = model.moments_
    for block in row_blocks(n, BLOCK):
        tile = data[block.start : block.stop]
        parts = block_moments(model.map_.raw(tile), block, sweep)
        first, second = first + parts[0], second + parts[1]
        diag += float(model.kernel_._diag(tile).sum())
    model.moments_, model._n_training = [first, second, diag], model._n_training + n
    total = model._n_training
    moments = feature_moments(model.map_, first / total, second / total, center=model.center)
    store_components(model, moments, diag / total, total)
    scores = model._scores(model._cross_gram(data))
    flips = torch.where((fix_signs(scores) * scores).sum(0) < 0.0, -1.0, 1.0)
    model.dual_coef_ *= flips.numpy()
    model.intercept_ *= flips.numpy()
    model.codes_ = model._to_output(scores * flips)
    model.n_iter_ = 1


def _refuse(model: Any, storage: Features, kernel: Kernel) -> None:
    if not (isinstance(model.loss, str) and model.loss == "squared"):
        raise InputError(f"loss={model.loss!r} needs storage='dense'; use loss='squared' with {storage!r}")
    if model.preimage != "ridge" and isinstance(storage, RandomFeatures):
        raise InputError(
            f"preimage={model.preimage!r} needs training items to return to, which random features do not keep; use "
            "preimage='ridge', or storage=Nystroem(m)"
        )


def _store_support(model: Any, source: Source, data: Any) -> None:
    """Landmarks are what the model keeps of the training items."""
    features = source.features
    landmarks = features.landmarks if isinstance(features, LandmarkMap) else None
    model.support_items_ = None if source.kernel.domain == "gram" else landmarks
    model.train_diag_ = source.kernel._diag(data).cpu().numpy() if source.kernel.domain == "gram" else None


def store_components(model: Any, moments: FeatureMoments, diag: float, n: int) -> None:
    """Store the components of a covariance of features."""
    features = model.map_
    mean = moments.mean if model.center else torch.zeros_like(moments.mean)
    total = float(mean @ mean)
    asked, width = model.n_components, len(mean)
    whole = asked is None or isinstance(asked, float)
    count = width if whole else check_count(asked, "n_components", at_most=width, why=" (the number of features)")
    values, vectors = top_eigenpairs(moments.covariance, count)
    variance = max(diag - total, float(values.clamp_min(0.0).sum()), 0.0)
    floor = n * torch.finfo(torch.float64).eps * max(float(values[0]), diag)
    positive = values > floor
    if asked is None:
        count = max(1, int(positive.sum()))
    elif isinstance(asked, float):
        reached = torch.cumsum(values, 0) >= asked * variance
        count = int(reached.to(torch.uint8).argmax()) + 1 if bool(reached.any()) else len(values)
    values, vectors = values[:count], vectors[:, :count]
    values = torch.where(positive[:count], values, torch.zeros_like(values))
    U = vectors * (values > 0.0)
    model.n_components_ = count
    model.dual_coef_ = features.whiten(U).numpy()
    model.intercept_ = (-(mean @ U)).numpy()
    model._warn_of_rounding(diag, model.dual_coef_, float(values[0]) ** 0.5)
    model.explained_variance_ = values.numpy()
    model.explained_variance_ratio_ = values.numpy() / variance if variance > 0.0 else np.zeros(count)
    model.eigenvalues_ = values.numpy() * n
    model.mean_weights_ = features.whiten(mean[:, None])[:, 0].numpy() if model.center else None
    model.gram_mean_, model.total_ = None, total


def _fit_ridge(model: Any, source: Source, passes: Data, sweep: Sweep) -> None:
    """Ridge regression from codes to inputs, spread over the codes of the landmarks."""
    rng = np.random.RandomState(0)
    Z = torch.as_tensor(model.codes_).to(**model._options)
    chosen = sample_rows(len(Z), 3000, rng)
    part = Z if chosen is None else Z[torch.as_tensor(chosen)]
    w = None
    if source.weights is not None:
        w = torch.as_tensor(source.weights if chosen is None else source.weights[chosen]).to(Z)
        w = w / w.sum()
    with naming("decoder_kernel"):
        model.decoder_kernel_ = model._decoder_kernel().resolve(part, w)
    model.output_ = fit_euclidean(passes, source, center=True, scale=True)
    model.decoder_coef_ = None
    if model.preimage != "ridge":
        return
    model.anchor_codes_ = _anchor_codes(model, source, rng)
    anchors = torch.as_tensor(model.anchor_codes_)
    parts = {"maps": model.dual_coef_, "shift": model.intercept_}
    sweep = sweep.in_double()
    full = sweep.cast(anchors=anchors, **{k: torch.as_tensor(v) for k, v in parts.items()})
    full = replace(full, kernel=model.decoder_kernel_, space=model.output_)
    sums = passes.sum(block_normal, full)
    ridge = least_ridge(sweep.dtype, len(anchors))
    model.decoder_coef_ = solve_normal(model.decoder_kernel_, anchors, sums, model.reg, ridge)[0].coefficients.numpy()


def _anchor_codes(model: Any, source: Source, rng: np.random.RandomState) -> np.ndarray:
    """Codes of the landmarks; of as many training rows for random features."""
    if isinstance(source.features, LandmarkMap):
        L = torch.as_tensor(source.features.triangle)
        raw = L @ L.mT
        return (raw @ torch.as_tensor(model.dual_coef_) + torch.as_tensor(model.intercept_)).numpy()
    m = min(model.storage.m, source.n)
    chosen = sample_rows(source.n, m, rng)
    return np.asarray(model.codes_ if chosen is None else model.codes_[chosen], dtype=np.float64)


def block_spread(items: Any, block: Any, sweep: Sweep) -> tuple[np.ndarray, ...]:
    """Weighted sums of the targets and of their squared distances from the first mean, ``sweep.shift``."""
    rows = sweep.read(items).to(torch.float64)
    given = rows if rows.shape[1] == sweep.columns else rows[:, sweep.columns :]
    root = sweep.root_weights(block)
    w = rows.new_full((len(rows), 1), 1.0 / sweep.n) if root is None else root * root
    if sweep.shift is None:
        return ((w * given).sum(0).cpu().numpy(),)
    return (np.asarray(float((w * (given - sweep.shift.to(given)) ** 2).sum())),)


def fit_euclidean(passes: Data, source: Source, *, center: bool, scale: bool) -> Euclidean:
    """Mean and scale of vector targets, in two passes over the rows."""
    plain = Sweep(source.features, torch.float64, "cpu", source.columns, source.weights, source.n)
    mean = torch.as_tensor(passes.sum(block_spread, plain)[0])
    if not center:
        mean = torch.zeros_like(mean)
    factor = 1.0
    if scale:
        variance = float(passes.sum(block_spread, plain.cast(shift=mean))[0])
        factor = variance**0.5 if variance > 0.0 else 1.0
    return Euclidean(mean.numpy(), factor, None)
