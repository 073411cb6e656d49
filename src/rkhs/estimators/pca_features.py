"""Kernel PCA in finite features: the space that a storage opens, and rows that come in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.engines import Rows, row_blocks
from rkhs.estimators.storage import announce_features, make_data_engine, read_row_weights, read_rows
from rkhs.features import Storage
from rkhs.features.base import EvaluatedMap
from rkhs.kernels.base import Kernel
from rkhs.models import ComponentsModel
from rkhs.spaces.mapped import MappedSpace, feature_components, with_signs
from rkhs.spaces.passes import Data, feature_moments
from rkhs.spaces.source import BLOCK, open_source
from rkhs.spaces.sums import Sweep, block_moments

if TYPE_CHECKING:
    from rkhs.estimators.kernel_pca import KernelPCA

__all__ = ["add_rows", "open_features", "takes_more_rows"]


def open_features(model: KernelPCA, storage: Storage, kernel: Kernel, X: Any, sample_weight: Any) -> MappedSpace:
    """The space of a storage in finite features."""
    _refuse(model, storage)
    data, _, weights, _ = read_row_weights(model, sample_weight, read_rows(model, X, kernel), kernel)
    _announce(model, storage, data, layers=2 if model.preimage == "ridge" else 1)
    source = open_source(model._options, storage, kernel, data, weights)
    engine = make_data_engine(model, source.blocks)
    passes = Data(engine.place(source.rows), source.blocks, engine, journal=model._journal)
    diagonal = source.kernel._diag(data) if kernel.domain == "gram" else None
    return MappedSpace(source, passes, source.sweep(model._options), storage.m, diagonal)


def _announce(model: KernelPCA, storage: Storage, data: Any, *, layers: int) -> None:
    n = data.shape[0] if isinstance(data, Rows) else len(data)
    columns = data.shape[1] if isinstance(data, (Rows, Tensor)) else 0
    codes = model.n_components if isinstance(model.n_components, int) else storage.m
    announce_features(model, storage, n, columns, columns, codes, layers=layers)


def takes_more_rows(model: KernelPCA) -> bool:
    """Whether ``partial_fit`` is there; the error of an attribute that is not says what is missing."""
    if not isinstance(model.storage, Storage):
        raise AttributeError("partial_fit needs storage=Nystroem(m) or storage=RandomFeatures(m)")
    if model.__sklearn_tags__().input_tags.pairwise:
        raise AttributeError("partial_fit needs inputs of fixed width; a Gram matrix grows with its rows. Use fit")
    return True


def add_rows(model: KernelPCA, storage: Storage, X: Any) -> ComponentsModel:
    """Add rows to the moments of the features, which the first rows choose; the model of all rows so far."""
    _refuse(model, storage)
    if getattr(model, "moments_", None) is None:
        kernel = model._kernel_for(X)
        data = read_rows(model, X, kernel)
        _announce(model, storage, data, layers=1)
        source = open_source(model._options, storage, kernel, data, None)
        resolved, features = source.kernel, source.features
        model._kept_rows, model._n_training = None, 0
        model.moments_ = np.zeros(features.width), np.zeros((features.width,) * 2), 0.0
    else:
        data, resolved, features = model._read_new(X), model.model_.kernel, model.model_.map
    options = model._options
    sweep = Sweep(EvaluatedMap(features), options["dtype"], str(options["device"]), features.width, None, 1)
    assert model.moments_ is not None
    first, second, diag = model.moments_
    for block in row_blocks(len(data), BLOCK):
        tile = data[block.start : block.stop]
        parts = block_moments(features.raw(tile), block, sweep)
        first, second = first + parts[0], second + parts[1]
        diag += float(resolved._diag(tile).sum())
    model.moments_, model._n_training = (first, second, diag), model._n_training + len(data)
    n = model._n_training
    moments = feature_moments(features, first / n, second / n, center=model.center)
    found = feature_components(features, moments, diag / n, n, model.n_components, center=model.center)
    raw = features.raw(data)
    found = with_signs(found, raw @ found.coefficients.to(raw) + found.shift.to(raw))
    model._warn_of_rounding(diag / n, found.coefficients, float(found.variances[0]) ** 0.5)
    return ComponentsModel.of(resolved, features, found, model._to_output(found.scores), n)


def _refuse(model: KernelPCA, storage: Storage) -> None:
    if not (isinstance(model.loss, str) and model.loss == "squared"):
        raise InputError(f"loss={model.loss!r} needs storage='dense'; use loss='squared' with {storage!r}")
    if model.preimage != "ridge" and not storage.keeps_items:
        raise InputError(
            f"preimage={model.preimage!r} needs training items to return to, which random features do not keep; use "
            "preimage='ridge', or storage=Nystroem(m)"
        )
