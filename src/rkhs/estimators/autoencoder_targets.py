"""Targets of a kernel autoencoder: read in fit, and compared with what the decoder says of other items."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, check_items, tensor_like, to_tensor
from rkhs._core.checks import check_gram
from rkhs._core.errors import InputError
from rkhs._core.ownership import own
from rkhs.estimators.autoencoder_settings import Settings
from rkhs.kernels.base import Kernel
from rkhs.outputs import Euclidean

__all__ = [
    "candidate_distances",
    "read_targets",
    "reconstruction_errors",
    "store_targets",
    "target_rows",
    "target_spread",
]


def read_targets(model: Any, targets: Any, items: Any, kernel: Kernel, settings: Settings) -> Any:
    """The targets in the form that the output reads; the items themselves if none are given."""
    n, output_kernel = len(items), settings.output_kernel
    domain = kernel.domain if output_kernel is None else output_kernel.domain
    model._own_targets = targets is None
    if targets is None:
        if settings.features and output_kernel is not None and output_kernel.domain != kernel.domain:
            raise InputError(
                f"output_kernel reads {domain}, kernel reads {kernel.domain}; pass fit(X, targets=...) that it can read"
            )
        return items
    if model.column_scales_ is not None:
        raise InputError(
            "columns='scaled' scales the rows that are rebuilt; with targets= scale both before fit, and use "
            "columns='raw'"
        )
    if settings.features and domain == "objects":
        assert output_kernel is not None
        read: Any = own(output_kernel.read(check_items(targets, "targets")))
    else:
        read = model._read_matrix(targets, "targets", shape="(n, {q})")
        if settings.features and domain == "gram":
            read = to_tensor(check_gram(read.cpu().numpy(), "targets (kernel='precomputed')"), **model._options)
    if len(read) != n:
        raise InputError(f"targets must have one row a row of X, {n}; got {len(read)}")
    return read


def store_targets(model: Any, goal: Any, diagonal: Tensor) -> None:
    """Keep of the targets what errors and decoding of other items need; ``diagonal`` is that of the input Gram."""
    reads_items = model.output_kernel_ is not None and model.output_kernel_.domain != "gram"
    same = model._own_targets and reads_items
    model.target_items_ = as_numpy(goal) if reads_items and not same else None
    model.train_diag_ = None
    if model.output_kernel_ is not None and not reads_items:
        shared = model._own_targets and model.output_kernel_ == model.kernel_
        model.train_diag_ = (diagonal if shared else model.output_kernel_._diag(goal)).cpu().numpy().copy()


def candidate_distances(model: Any, U: Tensor, candidates: Any, diag: Any) -> Tensor:
    """Squared distances of decoded coordinates (m, r) to candidates, shape (m, c)."""
    if isinstance(model.output_, Euclidean):
        return _vector_distances(model, U, candidates)
    K, diagonal = _target_rows(model, candidates, diag)
    return model.output_.squared_distances(U, K, diagonal, paired=False)


def reconstruction_errors(model: Any, U: Tensor, items: Any, K: Tensor, targets: Any, diag: Any) -> Tensor:
    """Squared distances of decoded coordinates (m, r) to the items' own targets, shape (m,)."""
    if targets is None and not model._own_targets:
        raise InputError("targets must be given: the model was fitted with fit(X, targets=...)")
    if isinstance(model.output_, Euclidean):
        goal = items if targets is None else model._read_beside(targets, "targets", len(model.output_.mean))
        _check_pairs(goal, len(U))
        return model.output_.squared_errors(goal, model.output_.decode(U))
    rows, diagonal = _error_rows(model, items, K, targets, diag)
    return model.output_.squared_distances(U, rows, diagonal, paired=True)


def target_spread(model: Any, items: Any, diag: Any = None) -> Tensor:
    """Squared distances of the items' own targets to the mean of the training targets, shape (m,)."""
    if isinstance(model.output_, Euclidean):
        return model.output_.squared_errors(items, tensor_like(model.output_.mean, items))
    rows, diagonal = _error_rows(model, items, model._cross_gram(items), None, diag)
    return model.output_.squared_norms(rows, diagonal)


def _vector_distances(model: Any, U: Tensor, candidates: Any) -> Tensor:
    predicted = model.output_.decode(U)
    if candidates is None:
        stored = model._map.whole and model.support_items_ is not None
        if not stored or not model._own_targets or model._noisy:
            raise InputError("candidates must be given: this model keeps no training targets to choose from")
        goal = model._support()
    else:
        goal = model._read_beside(candidates, "candidates", len(model.output_.mean))
    root = model.output_.root(goal)
    return torch.cdist(predicted * root, goal * root, compute_mode="donot_use_mm_for_euclid_dist").square_()


def _target_rows(model: Any, candidates: Any, diag: Any) -> tuple[Tensor, Tensor]:
    """Kernel values of candidates with the training targets, and their diagonal."""
    kernel = model.output_kernel_
    if kernel.domain == "gram":
        if candidates is None:
            raise InputError("candidates must be kernel values (c, n) with the training items for kernel='precomputed'")
        K = model._cross_gram(model._check_rows(candidates))
        return K, model._gram_diagonal(diag, K)
    support = model._support() if model.target_items_ is None else model.target_items_
    if isinstance(support, np.ndarray) and kernel.domain == "vectors":
        support = to_tensor(support, **model._options)
    if candidates is None:
        model._own_items()
        items = support
    elif kernel.domain == "objects":
        items = kernel.read(check_items(candidates, "candidates"))
    else:
        items = model._read_beside(candidates, "candidates", support.shape[1])
    return kernel._gram(items, support).to(**model._options), kernel._diag(items).to(**model._options)


def target_rows(model: Any, items: Any, K: Tensor) -> Tensor:
    """Kernel values of the items, as their own targets, with the training targets; ``K`` are those of the inputs."""
    if model.output_kernel_ == model.kernel_:
        return K
    return model.output_kernel_._gram(items, model._support()).to(**model._options)


def _error_rows(model: Any, items: Any, K: Tensor, targets: Any, diag: Any) -> tuple[Tensor, Tensor]:
    if targets is not None:
        rows, diagonal = _target_rows(model, targets, diag)
        _check_pairs(rows, len(K))
        return rows, diagonal
    rows = target_rows(model, items, K)
    if model.output_kernel_.domain == "gram":
        return rows, model._gram_diagonal(diag, rows)
    return rows, model.output_kernel_._diag(items).to(**model._options)


def _check_pairs(targets: Tensor, m: int) -> None:
    if len(targets) != m:
        raise InputError(f"targets must have one row a row of X, {m}; got {len(targets)}")
