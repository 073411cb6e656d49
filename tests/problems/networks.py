"""Small autoencoder problems of every kind: depths, operators, weights, kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import factorize
from rkhs.kernels import Gaussian, Linear, Matern, Polynomial
from rkhs.kernels.base import Kernel
from rkhs.problems.autoencoder import Autoencoder, items_autoencoder

KERNELS: tuple[Kernel, ...] = (
    Gaussian(0.4),
    Matern(1.5, 0.7) + 0.1 * Linear(),
    Polynomial(2, 0.3, 1.0),
    Matern(2.5, 0.5),
)
WIDTHS = (3, 2, 4)


def packed(problem: Autoencoder, parts: list[Tensor]) -> Tensor:
    """The point of parameters of the first layer and coefficients of the hidden ones."""
    return problem.encoder.pack(parts[0], parts[1:])


def unpacked(problem: Autoencoder, point: Tensor) -> list[Tensor]:
    """The inverse of :func:`packed`."""
    first, others = problem.encoder.parts(point)
    return [first, *others]


@dataclass(frozen=True)
class Network:
    """One network as a reduced and as a joint problem, with everything the naive twin needs."""

    K: Tensor
    target: Tensor
    kernels: tuple[Kernel, ...]
    widths: tuple[int, ...]
    reg: tuple[float, ...]
    operators: tuple[Tensor | None, ...]
    weights: Tensor | None
    seed: int

    @property
    def reduced(self) -> Autoencoder:
        return items_autoencoder(
            factorize(self.K), self.target, self.kernels, self.widths, self.reg, self.operators, self.weights
        )

    @property
    def joint(self) -> Autoencoder:
        """All layers are variables."""
        given = self.K, self.target, self.kernels, self.widths, self.reg, self.operators, self.weights
        return items_autoencoder(*given, moving=True)

    @property
    def coefficients(self) -> Autoencoder:
        """All layers but the last are."""
        return items_autoencoder(self.K, self.target, self.kernels, self.widths, self.reg, self.operators, self.weights)

    def complete(self, parts: list[Tensor]) -> list[Tensor]:
        """These coefficients and those of the best last layer."""
        problem = self.coefficients
        return [*parts, problem.last_layer.solve(problem.encoder.layers(packed(problem, parts))[-1]).parameters]

    @property
    def w(self) -> np.ndarray:
        n = len(self.target)
        return np.full(n, 1.0 / n) if self.weights is None else self.weights.numpy()

    def random(self, widths: tuple[int, ...], rows: int | None = None, scale: float = 0.6) -> list[Tensor]:
        rng = np.random.default_rng(self.seed + 100)
        heights = [len(self.target) if rows is None else rows] + [len(self.target)] * (len(widths) - 1)
        return [torch.as_tensor(scale * rng.normal(size=(h, p))) for h, p in zip(heights, widths, strict=True)]


def network(
    layers: int, *, operators: bool = False, weights: bool = False, seed: int = 0, n: int = 8, q: int = 3
) -> Network:
    """A random network of ``layers`` layers, the first on a Gaussian Gram matrix."""
    rng = np.random.default_rng(seed)
    X = torch.as_tensor(rng.normal(size=(n, q)))
    widths = WIDTHS[: layers - 1]
    made: list[Tensor | None] = [None] * layers
    if operators:
        for index, p in enumerate((*widths, q)):
            B = rng.normal(size=(p, p))
            made[index] = torch.as_tensor(B @ B.T / p + 0.1 * np.eye(p))
    w = torch.as_tensor(rng.uniform(0.2, 1.0, size=n)) if weights else None
    return Network(
        Gaussian(0.3)._gram(X),
        X,
        KERNELS[: layers - 1],
        widths,
        (0.03, 0.02, 0.05, 0.01)[:layers],
        tuple(made),
        None if w is None else w / w.sum(),
        seed,
    )
