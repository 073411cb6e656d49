"""Training rows in blocks, with the features that were chosen for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs._core.checks import check_seed
from rkhs.engines import ArrayRows, Block, Rows, row_blocks
from rkhs.kernels.base import Kernel
from rkhs.spaces.features import FeatureMap, Storage
from rkhs.spaces.features.base import EvaluatedMap, pick, resolve_subsampled, sample_rows
from rkhs.spaces.rounding import check_row_digits
from rkhs.spaces.sums import BlockPass

BLOCK = 4096
"""Rows of a block; another number changes the rounding of sums."""

Options = dict[str, Any]
"""``dtype`` and ``device`` of a computation, as torch takes them."""


@dataclass(frozen=True)
class Source:
    """Training data of a model in finite features."""

    rows: Rows  # what blocks are read from: inputs, then targets unless these are the inputs
    n: int  # rows, and columns that are inputs
    columns: int
    weights: np.ndarray | None  # (n,): sum to one; None: equal
    kernel: Kernel  # resolved
    features: FeatureMap  # of the model
    evaluated: FeatureMap  # the same on ``rows``, which hold raw features where the kernel is evaluated once
    diag: float  # mean of ``k(x, x)`` over (a sample of) the rows
    blocks: tuple[Block, ...]

    def block_pass(self, options: Options) -> BlockPass:
        """Parameters of a pass over these data."""
        return BlockPass(self.evaluated, options["dtype"], str(options["device"]), self.columns, self.weights, self.n)


def open_source(
    options: Options,
    storage: Storage,
    kernel: Kernel,
    X: Any,
    weights: np.ndarray | None,
    targets: Tensor | None = None,
) -> Source:
    """Choose the features of a storage and arrange the data in blocks."""
    rng = check_seed(storage.random_state)
    n = X.shape[0] if isinstance(X, Rows) else len(X)
    sampled, sample = None, X
    if kernel.domain != "gram":
        sampled = positive_rows(n, storage.sample_size(n), weights, rng)
        sample = to_tensor(gather_rows(X, sampled), **options) if isinstance(X, Rows) else pick(X, sampled)
    w = None if weights is None else torch.from_numpy(_part(weights, sampled))
    resolved = resolve_subsampled(kernel, sample, w if w is None or isinstance(sample, list) else w.to(sample))
    check_row_digits(resolved, sample, squared=True)
    features = storage.build(resolved, sample, rng)
    diag = resolved._diag(sample).to(torch.float64)
    mean_diag = float(diag.mean()) if w is None else float(w @ diag.cpu())
    rows, columns, evaluated = (
        (X, X.shape[1], features) if isinstance(X, Rows) else _in_rows(kernel, features, X, targets)
    )
    return Source(rows, n, columns, weights, resolved, features, evaluated, mean_diag, row_blocks(n, BLOCK))


def _in_rows(kernel: Kernel, features: FeatureMap, X: Any, targets: Tensor | None) -> tuple[Rows, int, FeatureMap]:
    """Items as rows that features are computed from, with targets, how many columns the items have, and the map."""
    inputs, evaluated = X, features
    if kernel.domain != "vectors":
        tiles = [features.raw(X[i : i + BLOCK]) for i in range(0, len(X), BLOCK)]
        inputs, evaluated = torch.cat(tiles), EvaluatedMap(features)
    joined = inputs if targets is None else torch.cat([inputs, targets.to(inputs)], 1)
    return ArrayRows(joined.cpu().numpy()), inputs.shape[1], evaluated


def _part(weights: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    part = weights if rows is None else weights[rows]
    return part / part.sum()


def positive_rows(n: int, size: int, weights: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray | None:
    """Rows that the features are chosen from, of positive weight."""
    if weights is None or (weights > 0.0).all():
        return sample_rows(n, size, rng)
    positive = np.flatnonzero(weights > 0.0)
    chosen = sample_rows(len(positive), min(size, len(positive)), rng)
    return positive if chosen is None else positive[chosen]


def gather_rows(rows: Rows, numbers: np.ndarray | None) -> np.ndarray:
    """Some rows, block by block: a file is read once, forwards."""
    n = rows.shape[0]
    if numbers is None:
        return rows.read(0, n)
    parts = []
    for block in row_blocks(n, 16 * BLOCK):
        low, high = np.searchsorted(numbers, (block.start, block.stop))
        if low < high:
            parts.append(rows.read(block.start, block.stop)[numbers[low:high] - block.start])
    return np.concatenate(parts)
