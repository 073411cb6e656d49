"""Random features of shift-invariant kernels (Fourier) and of random layers (arc-cosine)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.stored import check_shape, check_types
from rkhs.spaces.features.base import FeatureMap


def directions(count: int, d: int, rng: np.random.RandomState, *, orthogonal: bool) -> np.ndarray:
    """Standard normal vectors, shape (count, d); orthogonal within each group of ``d``, each still standard normal."""
    if not orthogonal:
        return rng.standard_normal((count, d))
    groups = []
    for start in range(0, count, d):
        Q, R = np.linalg.qr(rng.standard_normal((d, d)))
        groups.append((Q * np.sign(R.diagonal()))[: count - start])
    return np.concatenate(groups) * np.sqrt(rng.chisquare(d, (count, 1)))


class FourierMap(FeatureMap):
    """``F(x) = m^{-1/2} [cos(W x), sin(W x)]`` with ``m`` random frequencies: ``E F(x)^T F(y) = k(x - y)``.

    Parameters
    ----------
    frequencies : array of shape (m, d)
        Drawn from the spectral density of the kernel.

    Raises
    ------
    RuntimeError
        From torch, for items of another width.

    References
    ----------
    Rahimi and Recht (2007), algorithm 1, with pairs of cosine and sine in place of random phases.
    """

    def __init__(self, frequencies: Any) -> None:
        self.frequencies = frequencies

    def check_stored(self) -> None:
        """Rows of numbers."""
        check_shape("frequencies", self.frequencies, None, None)

    @property
    def reads(self) -> int:
        """Columns of the frequencies."""
        return len(self.frequencies[0])

    @property
    def width(self) -> int:
        """Two features a frequency."""
        return 2 * len(self.frequencies)

    def raw(self, items: Tensor) -> Tensor:
        """Cosines, then sines."""
        return self.of_products(items @ tensor_like(self.frequencies, items).mT)

    def of_products(self, phase: Tensor) -> Tensor:
        """The features from inner products with the frequencies, shape (k, m)."""
        m = phase.shape[1]
        out = phase.new_empty(len(phase), 2 * m)
        torch.cos(phase, out=out[:, :m])
        torch.sin(phase, out=out[:, m:])
        return out.mul_(m**-0.5)


class ArcCosineMap(FeatureMap):
    """``F(x) = sqrt(2 / m) a(W x)`` with a random layer ``W`` of rectifiers or steps ``a``.

    Parameters
    ----------
    layer : array of shape (m, d)
        Standard normal rows; ``d`` counts the bias coordinate.
    order : {0, 1}
        0: steps, 1: rectifiers.
    bias : bool
        Append a constant coordinate 1 to every item.

    Raises
    ------
    RuntimeError
        From torch, for items of another width.

    References
    ----------
    Cho and Saul (2009), equation 1.
    """

    order: int
    bias: bool

    def __init__(self, layer: Any, order: int = 1, bias: bool = False) -> None:
        self.layer = layer
        self.order = order
        self.bias = bias

    def check_stored(self) -> None:
        """Rows of numbers."""
        check_shape("layer", self.layer, None, None)
        check_types(ArcCosineMap, {"order": self.order, "bias": self.bias})

    @property
    def reads(self) -> int:
        """Columns of the layer, without the bias."""
        return len(self.layer[0]) - int(self.bias)

    @property
    def width(self) -> int:
        """One feature a unit."""
        return len(self.layer)

    def raw(self, items: Tensor) -> Tensor:
        """Outputs of the units."""
        A = torch.cat([items, items.new_ones(len(items), 1)], 1) if self.bias else items
        return self.of_products(A @ tensor_like(self.layer, items).mT)

    def of_products(self, U: Tensor) -> Tensor:
        """The features from inner products with the layer, shape (k, m), which are overwritten."""
        opened = U.clamp_min_(0.0) if self.order == 1 else (U > 0.0).to(U.dtype)
        return opened.mul_((2.0 / len(self.layer)) ** 0.5)
