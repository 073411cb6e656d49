"""All training items: their span from a Gram matrix in memory or in tiles, or the items with finite features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_seed
from rkhs._core.eigen import positive_part
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor, fix_signs
from rkhs.kernels.base import Kernel, not_finite
from rkhs.outputs import Euclidean
from rkhs.spaces.base import Components, Space, Targets, enough
from rkhs.spaces.features import FeatureMap, Storage, WholeMap
from rkhs.spaces.features.base import check_sample_memory, pick, resolve_subsampled, sample_rows
from rkhs.spaces.rounding import check_digits, check_row_digits, refuse_identical
from rkhs.spaces.source import BLOCK, Options

if TYPE_CHECKING:
    from rkhs.spaces.grams import Gram


def training_gram(kernel: Kernel, items: Any, options: Options) -> Tensor:
    """Gram matrix of training items; negative eigenvalues of a kernel that may be indefinite become zero."""
    K = kernel._gram(items).to(**options)  # objects give float64
    if not bool(torch.isfinite(K.sum())):
        raise not_finite(kernel, K)
    largest = float(K.diagonal().abs().max())
    if 0.0 < largest < 1e-150 * (1.0 if K.dtype == torch.float64 else 1e130):  # its inverse would overflow
        raise InputError(
            f"the kernel {kernel!r} gives values of at most {largest:.1e} on these data, too small to work with; "
            "multiply it by a large number"
        )
    check_digits(kernel, K, items)
    return K if kernel.known_psd else positive_part(K, name="the Gram matrix of the kernel")


def whole_items(kernel: Kernel, items: Any, options: Options) -> tuple[WholeMap, Tensor]:
    """Feature map and Gram matrix of the training items under a resolved kernel."""
    features = WholeMap(kernel, None if kernel.domain == "gram" else as_numpy(items), len(items))
    return features, training_gram(kernel, items, options)


class WholeSpace(Space):
    """All training items; nothing is approximated."""

    diagonal: Tensor

    def __init__(self, gram: Gram, kernel: Kernel, items: Any, weights: Tensor | None) -> None:
        self.gram, self.kernel, self.items, self.weights = gram, kernel, items, weights
        self.n, self.diagonal = len(items), gram.diag()
        self.size = float(self.diagonal.abs().max())
        self.map = WholeMap(kernel, None if kernel.domain == "gram" else as_numpy(items), self.n)
        # Equal weights if none were given.
        self.mean_weights = self.diagonal.new_full((self.n,), 1.0 / self.n) if weights is None else weights

    def principal(self, count: int | float | None, *, center: bool) -> Components:
        """Eigenvectors of the centred Gram matrix; see :meth:`Space.principal`. O(n^2 p) by Lanczos or Krylov bases."""
        n, diagonal, mean = self.n, self.diagonal, self.mean_weights
        gram_mean = self.gram.matmul(mean) if center else diagonal.new_zeros(n)
        norm = float(gram_mean @ mean)
        variance = max(float(mean @ diagonal) - norm, 0.0)
        values, vectors = self._leading(count, variance, center=center)
        floor = n * torch.finfo(diagonal.dtype).eps * max(float(values[0]), float(diagonal.abs().mean()))
        positive = values > floor
        if count is None:
            keep = max(1, int(positive.sum()))
            values, vectors, positive = values[:keep], vectors[:, :keep], positive[:keep]
        values = torch.where(positive, values, torch.zeros_like(values))
        scores = fix_signs(vectors * values.sqrt() / mean.sqrt()[:, None])
        inverse = torch.where(positive, 1.0 / divisor(values), torch.zeros_like(values))
        dual = mean[:, None] * scores * inverse
        if center:  # exactly centred weights, so that the means of new rows drop out
            dual -= mean[:, None] * dual.sum(0)
        shift = -(gram_mean @ dual) + norm * dual.sum(0)
        return Components(dual, shift, scores, values, variance, mean if center else None, gram_mean, norm)

    def _leading(self, count: int | float | None, variance: float, *, center: bool) -> tuple[Tensor, Tensor]:
        n = self.n
        if not isinstance(count, float):
            return self.gram.top_eigenpairs(n if count is None else count, self.weights, center=center)
        k = min(n, 16)
        while True:
            values, vectors = self.gram.top_eigenpairs(k, self.weights, center=center)
            kept = enough(values, count, variance)
            if kept is not None or k == n:
                return values[:kept], vectors[:, :kept]
            k = min(n, 2 * k)

    def targets(self) -> Targets:
        """The training vectors, centred and scaled."""
        return Targets(*Euclidean.fit(self.items, self.weights, center=True, scale=True))

    def resolve_on_codes(self, kernel: Kernel, found: Components) -> Kernel:
        """See :meth:`Space.resolve_on_codes`."""
        return self.gram.resolve(kernel, found.scores, self.weights)

    def regress(self, kernel: Kernel, found: Components, targets: Targets, reg: float) -> tuple[Tensor, Tensor]:
        """``(K + reg W^-1) C = U`` on the scores of all training items; see :meth:`Space.regress`."""
        assert targets.coordinates is not None
        ridge = reg * self.n if self.weights is None else reg / self.weights
        return found.scores, self.gram.like(kernel, found.scores).solve(targets.coordinates, ridge)


@dataclass(frozen=True, eq=False)
class InMemoryItems:
    """Items with their Gram matrix, or with features of them."""

    kernel: Kernel  # resolved
    items: Any  # (n, d)
    values: Tensor  # (n, n): their Gram matrix, or features of them
    map: FeatureMap  # feature map of new items

    @classmethod
    def open(cls, options: Options, storage: Storage | str, kernel: Kernel, items: Any) -> Self:
        """Resolve a kernel on the items and compute their Gram matrix or features; landmarks are among the items."""
        if isinstance(storage, Storage):
            check_sample_memory(storage, items)
            rng, n = check_seed(storage.random_state), len(items)
            sample = pick(items, None if kernel.domain == "gram" else sample_rows(n, storage.sample_size(n), rng))
            kernel = resolve_subsampled(kernel, sample, None)
            check_row_digits(kernel, sample, squared=True)
            features: FeatureMap = storage.build(kernel, sample, rng)
            values = item_features(kernel, features, items)
        else:
            kernel = kernel.resolve(items)
            features, values = whole_items(kernel, items, options)
        refuse_identical(values, factored=not features.whole)
        return cls(kernel, items, values, features)

    def of(self, items: Any, options: Options) -> Self:
        """Return the same kernel and features with other items."""
        if self.factored:
            return replace(self, items=items, values=item_features(self.kernel, self.map, items))
        features, values = whole_items(self.kernel, items, options)
        return replace(self, items=items, values=values, map=features)

    @property
    def factored(self) -> bool:
        """Whether ``values`` are features."""
        return not self.map.whole

    @property
    def diagonal(self) -> Tensor:
        """``k(x, x)`` of the items, shape (n,)."""
        return (self.values * self.values).sum(1) if self.factored else self.values.diagonal()

    def rows(self, tile: slice) -> Tensor:
        """Kernel values of some items with all items."""
        return self.values[tile] @ self.values.mT if self.factored else self.values[tile]


def item_features(kernel: Kernel, features: FeatureMap, items: Any) -> Tensor:
    """Features of all items, shape (n, r)."""
    F = torch.cat([features.features(items[i : i + BLOCK]) for i in range(0, len(items), BLOCK)])
    if not bool(torch.isfinite(F.sum())):
        raise not_finite(kernel, F)
    return F
