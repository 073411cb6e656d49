"""The autoencoder on finite features, seen a batch of rows at a time (Laforgue et al., 2019, end of section 4.2).

The last layer is that of running means of the normal equations, in which old batches fade: it stays near its optimum
for the current encoder, and a step costs the same whatever the number of rows. The gradient of a batch at that layer
is, up to the lag of the means, an unbiased gradient of the reduced objective (the envelope theorem). The codes of the
anchors are part of every batch.

Doubly stochastic: a step also draws the coefficients that it updates, and the gradient is computed in these only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs.problems.coordinates import PerRowCodes
from rkhs.problems.encoders import UnconstrainedCodes
from rkhs.problems.last_layers import AnchorsLayer

_SAMPLE = 4096  # rows that the principal axes of the features are found on


@dataclass(eq=False)
class BatchedAutoencoder:
    """The reduced objective of rows without codes of their own, whose gradients are of batches."""

    solvers: ClassVar[tuple[str, ...]] = ("minibatch", "doubly_stochastic")  # that fit the problem

    encoder: UnconstrainedCodes  # of all rows, in finite features
    last_layer: AnchorsLayer  # of all rows
    size: int  # rows of a batch; all rows if there are no more
    seed: int  # of the batches: each is a function of it and the number of the step
    part: float = 1.0  # of the coefficients that a step updates
    share: float = 0.15  # of the newest batch in the running means
    _means: list[np.ndarray] = field(default_factory=list)

    @cached_property
    def axes(self) -> tuple[Tensor, Tensor]:
        """Principal axes of the coordinates, as columns, and their scales, bounded from below."""
        factor = self.encoder.factor
        assert isinstance(factor, PerRowCodes)
        F = torch.cat([factor.linear[:_SAMPLE], factor.features[:_SAMPLE]], 1)
        F = F - F.mean(0)
        variances, axes = torch.linalg.eigh(F.mT @ F / len(F))
        return axes, variances.clamp_min(1e-2 * float(variances[-1]) + 1e-300).sqrt()

    def batch(self, step: int) -> tuple[UnconstrainedCodes, AnchorsLayer]:
        """Codes of the anchors and of the rows of a step, and the last layer of these rows."""
        factor, layer = self.encoder.factor, self.last_layer
        n, a = len(layer.target), layer.anchors
        if self.size >= n:
            return self.encoder, layer
        assert isinstance(factor, PerRowCodes)
        generator = np.random.Generator(np.random.Philox(key=[self.seed, step]))
        drawn = torch.from_numpy(np.sort(generator.choice(n, self.size, replace=False)))
        rows = torch.cat([torch.arange(a), drawn]).to(layer.target.device)
        w = torch.full_like(layer.target[:, 0], 1.0 / n) if layer.weights is None else layer.weights
        weights = w[rows] * (n / self.size)  # sum to one on average
        factor = replace(factor, linear=factor.linear[rows], features=factor.features[rows])
        layer = replace(layer, target=layer.target[rows], weights=weights, fitted=a)
        return replace(self.encoder, factor=factor), layer

    def drawn(self, step: int) -> slice | Tensor:
        """Rows of the point that a step updates."""
        dim = self.encoder.factor.dim
        size = math.ceil(self.part * dim)
        if size >= dim:
            return slice(None)
        bits = np.random.Philox(key=[self.seed, step], counter=[0, 0, 0, 1])  # far from those of the rows
        return torch.from_numpy(np.sort(np.random.Generator(bits).permutation(dim)[:size]))

    def batch_value_and_grad(self, point: Tensor, step: int) -> tuple[float, Tensor, slice | Tensor]:
        """Objective by the running means, the gradient of a batch in the drawn rows of the point, and these."""
        encoder, layer = self.batch(step)
        coded = encoder.forward(self.parameters(point))
        sums = layer.sums(coded.codes)
        share = 1.0 if encoder is self.encoder else max(self.share, 1.0 / (step + 1))
        if not self._means:
            self._means = [np.zeros_like(one) for one in sums]
        self._means = [old + share * (new - old) for old, new in zip(self._means, sums, strict=True)]
        solved = layer.solve(coded.codes, tuple(self._means))
        (axes, scales), rows = self.axes, self.drawn(step)
        grad = axes[:, rows].mT @ coded.backward(layer.gradient(coded.codes, solved))[0] / scales[rows, None]
        return solved.value + coded.encoder_penalty, grad, rows

    def point(self, V: Tensor) -> Tensor:
        """The point of parameters."""
        axes, scales = self.axes
        return scales[:, None] * (axes.mT @ V)

    def parameters(self, point: Tensor) -> Tensor:
        """``V`` of a point, shape (dim, p)."""
        axes, scales = self.axes
        return axes @ (point / scales[:, None])
