"""A two-layer kernel autoencoder in finite features: sums over blocks of rows, never an n x m matrix.

The encoder is ``Z = F V`` with the features ``F = raw W`` of a :class:`~rkhs.features.FeatureMap`, the decoder a
function ``g(z) = k(z, A) C`` on the codes ``A`` of anchors (the landmarks). For given ``V`` the best ``C`` solves
normal equations, and the rest is the reduced objective

``J(V) = min_C sum_i w_i 1/2 |t_i - k(z_i, A) C|^2 + reg_2 / 2 <C, G C> + reg_1 / 2 |V|^2``, ``G = k(A, A) + ridge I``.

One sweep sums the normal equations; at the optimal ``C`` the envelope theorem makes the gradient one more sweep, in
which every tile is computed again instead of kept. With all training items as landmarks this is the exact problem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.spaces.normal_equations import LastLayer, least_ridge, solve_normal
from rkhs.spaces.passes import Data, FeatureMoments, feature_moments
from rkhs.spaces.sums import Sweep, block_gradient, block_moments, block_normal

__all__ = ["LandmarkAutoencoder"]


@dataclass(frozen=True, eq=False)
class LandmarkAutoencoder:
    """Reduced objective of a two-layer autoencoder in finite features."""

    data: Data
    sweep: Sweep  # what the blocks need, without parameters
    anchors_raw: Tensor  # (a, width): raw features of the anchors, in float64
    reg: tuple[float, float]  # regularisers of the two layers
    factor: float = 1.0  # of the ridge, where the usual one is too small for these data
    curvature: tuple[Any, ...] = ()  # what L-BFGS learned on a sample of the rows

    @property
    def dim(self) -> int:
        """Number of features."""
        return self.sweep.features.dim

    @property
    def ridge(self) -> float:
        """A fixed part of the objective, so that its gradient is exact."""
        return self.factor * least_ridge(self.sweep.dtype, len(self.anchors_raw))

    def with_safe_ridge(self, V: Tensor) -> LandmarkAutoencoder:
        """The problem with the least ridge, by powers of ten, at which a point has a value."""
        for power in range(4):
            problem = replace(self, factor=self.factor * 10.0**power)
            try:
                problem.value(V)
            except InputError:
                continue
            return problem
        raise InputError(
            "the normal equations of the decoder are not positive definite in this dtype; use dtype='float64' or a "
            "larger reg"
        )

    def moments(self) -> FeatureMoments:
        """Mean and covariance of the features of the rows."""
        return feature_moments(self.sweep.features, *self.data.sum(block_moments, self.sweep))

    def normal(self, V: Tensor) -> tuple[tuple[np.ndarray, ...], Sweep]:
        """Sums of the normal equations of the last layer for an encoder, and the sweep that found them."""
        B = self.sweep.features.whiten(V)
        sweep = self.sweep.cast(maps=B, anchors=self.anchors_raw @ B)
        return self.data.sum(block_normal, sweep), sweep

    def solve(self, V: Tensor, sums: tuple[np.ndarray, ...]) -> tuple[LastLayer, Tensor]:
        """Best last layer for these sums and an encoder, and ``k(A, A)``."""
        anchors = self.anchors_raw @ self.sweep.features.whiten(V)
        assert self.sweep.kernel is not None
        return solve_normal(self.sweep.kernel, anchors, sums, self.reg[1], self.ridge)

    def last_layer(self, V: Tensor) -> tuple[LastLayer, Sweep, Tensor]:
        """Best last layer for an encoder; also the sweep that found it, and ``k(A, A)``."""
        sums, sweep = self.normal(V)
        layer, G = self.solve(V, sums)
        return layer, sweep, G

    def gradient(self, V: Tensor, layer: LastLayer, sweep: Sweep, G: Tensor) -> Tensor:
        """Gradient in the encoder with a last layer held fixed, shape of ``V``; one sweep."""
        raw = self.raw_gradient(layer, sweep, G)
        return self.sweep.features.whiten_adjoint(raw).add_(V, alpha=self.reg[0])

    def raw_gradient(self, layer: LastLayer, sweep: Sweep, G: Tensor) -> Tensor:
        """Gradient of all but the penalty of the encoder in ``W V``, shape (width, p)."""
        sweep = sweep.cast(coefficients=layer.coefficients)
        dB, dA = (torch.as_tensor(part) for part in self.data.sum(block_gradient, sweep))
        assert sweep.kernel is not None
        C = layer.coefficients
        dA = dA + sweep.kernel._pullback(layer.anchors, Outer(C, C), G).mul_(0.5 * self.reg[1])
        return dB + self.anchors_raw.mT @ dA

    def value(self, V: Tensor) -> float:
        """Reduced objective; one sweep."""
        V = V.reshape(self.dim, -1)
        return self.last_layer(V)[0].value + 0.5 * self.reg[0] * float((V * V).sum())

    def value_and_grad(self, point: Tensor) -> tuple[float, Tensor]:
        """Reduced objective and gradient, shape of ``point``; two sweeps."""
        V = point.reshape(self.dim, -1)
        try:
            layer, sweep, G = self.last_layer(V)
        except InputError:  # too long a step of a line search: not positive definite in this dtype
            return float("inf"), torch.zeros_like(point)
        value = layer.value + 0.5 * self.reg[0] * float((V * V).sum())
        return value, self.gradient(V, layer, sweep, G).reshape(point.shape)

    def codes(self, V: Tensor) -> Tensor:
        """Codes of all rows, shape (n, p), in the dtype of the sweep."""
        return self.data.codes(self.sweep.cast(maps=self.sweep.features.whiten(V)))
