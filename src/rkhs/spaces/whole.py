"""The span of all training items, from their Gram matrix: in memory, or recomputed tile by tile."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.eigen import positive_part
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor, fix_signs
from rkhs.kernels.base import Kernel, not_finite
from rkhs.outputs import Euclidean
from rkhs.spaces.base import Components, Space, Targets, enough
from rkhs.spaces.features import WholeMap
from rkhs.spaces.grams import Gram
from rkhs.spaces.rounding import check_digits
from rkhs.spaces.source import Options


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
        coefficients = self.gram.like(kernel, found.scores).solve(targets.coordinates, ridge)
        return found.scores, coefficients
