"""The two-layer autoencoder in finite features, seen a batch of rows at a time.

The full objective eliminates the decoder by normal equations over all rows. Here they are running means over the
batches seen so far, in which old batches fade: the decoder stays near its optimum for the current encoder while a step
costs the same whatever the number of rows. The gradient of a batch at that decoder is, up to the lag of the means, an
unbiased gradient of the reduced objective (the envelope theorem).

Doubly stochastic: a step also draws the coefficients that it updates, and the gradient is computed in these only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs.engines import ArrayRows, Engine, Journal, Rows, row_blocks
from rkhs.problems.landmark_autoencoder import LandmarkAutoencoder
from rkhs.spaces.passes import Data

__all__ = ["Batches", "MiniBatchAutoencoder"]

_RUN = 32  # rows of an array or a file that are read together
_BLOCK = 1024  # rows of a batch that one thread computes


@dataclass(frozen=True, eq=False)
class Batches:
    """Random batches of rows, a function of the seed and the number of the step."""

    rows: Rows
    size: int  # rows of a batch; all rows if there are no more
    seed: int
    weights: np.ndarray | None = None  # (n,): of the rows, summing to one

    def read(self, step: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows of a step, shape (b, columns), and their weights, which sum to one on average."""
        n = self.rows.shape[0]
        if self.size >= n:
            return self.rows.read(), self.weights
        run = min(self.size, _RUN if self.rows.reads_anywhere else self.size)
        generator = np.random.Generator(np.random.Philox(key=[self.seed, step]))
        starts = np.sort(generator.integers(0, n, self.size // run))
        pieces = [(int(start), min(int(start) + run, n)) for start in starts]
        pieces += [(0, run - (stop - start)) for start, stop in pieces if stop - start < run]  # around the end
        items = np.concatenate([self.rows.read(*piece) for piece in pieces])
        if self.weights is None:
            return items, None
        weights = np.concatenate([self.weights[slice(*piece)] for piece in pieces])
        return items, weights * (n / len(items))


@dataclass(eq=False)
class MiniBatchAutoencoder:
    """A :class:`LandmarkAutoencoder` whose gradients come from batches."""

    solvers: ClassVar[tuple[str, ...]] = ("minibatch", "doubly_stochastic")  # that fit the problem

    whole: LandmarkAutoencoder  # on all rows
    batches: Batches
    engine: Engine  # computes the blocks of a batch
    scales: Tensor  # (dim,): of the features along their principal axes, positive
    rotation: Tensor  # (dim, dim)
    share: float = 0.15  # of the newest batch in the running means
    part: float = 1.0
    journal: Journal | None = None  # keeps the state of the solver
    _means: list[np.ndarray] = field(default_factory=list)

    @cached_property
    def _axes(self) -> Tensor:
        """Raw features to principal axes, shape (width, dim)."""
        return self.whole.sweep.features.whiten(self.rotation)

    def drawn(self, step: int) -> slice | Tensor:
        """Rows of the point that a step updates."""
        dim = self.whole.dim
        size = math.ceil(self.part * dim)
        if size >= dim:
            return slice(None)
        bits = np.random.Philox(key=[self.batches.seed, step], counter=[0, 0, 0, 1])  # far from those of the rows
        return torch.from_numpy(np.sort(np.random.Generator(bits).permutation(dim)[:size]))

    def batch_value_and_grad(self, point: Tensor, step: int) -> tuple[float, Tensor, slice | Tensor]:
        """Objective by the running means, the gradient of a batch in the drawn rows of the point, and these."""
        items, weights = self.batches.read(step)
        n = len(items)
        data = Data(ArrayRows(items), row_blocks(n, _BLOCK), self.engine)
        part = replace(self.whole, data=data, sweep=replace(self.whole.sweep, n=n, weights=weights))
        V = self.parameters(point)
        sums, sweep = part.normal(V)
        share = 1.0 if n >= self.batches.rows.shape[0] else max(self.share, 1.0 / (step + 1))
        if not self._means:
            self._means = [np.zeros_like(one) for one in sums]
        self._means = [old + share * (new - old) for old, new in zip(self._means, sums, strict=True)]
        layer, G = part.solve(V, tuple(self._means))
        value = layer.value + 0.5 * part.reg[0] * float((V * V).sum())
        rows = self.drawn(step)
        scales = self.scales[rows, None]
        grad = self._axes[:, rows].mT @ part.raw_gradient(layer, sweep, G)
        grad = grad.add_(point[rows] / scales, alpha=part.reg[0]) / scales
        return value, grad, rows

    def point(self, V: Tensor) -> Tensor:
        """The point of parameters."""
        return self.scales[:, None] * (self.rotation.mT @ V)

    def parameters(self, point: Tensor) -> Tensor:
        """``V`` of a point, shape (dim, p)."""
        return self.rotation @ (point.reshape(self.whole.dim, -1) / self.scales[:, None])

    def resume(self) -> tuple[int, dict[str, Tensor]] | None:
        """Step and state of the solver that a journal kept, or None."""
        entry = None if self.journal is None else self.journal.last("batches")
        if entry is None:
            return None
        content, arrays = entry
        self._means = [arrays[f"mean {i}"] for i in range(content["means"])]
        self.batches = replace(self.batches, seed=content["seed"])
        return content["step"], {k: torch.as_tensor(v) for k, v in arrays.items() if not k.startswith("mean ")}

    def keep(self, step: int, state: Callable[[], dict[str, Tensor]]) -> None:
        """Keep the state of the solver before a step, if it is time."""
        if self.journal is None or not self.journal.is_due():
            return
        arrays: dict[str, Any] = {name: value.numpy() for name, value in state().items()}
        arrays |= {f"mean {i}": mean for i, mean in enumerate(self._means)}
        content = {"step": step, "seed": self.batches.seed, "means": len(self._means)}
        self.journal.add("batches", content, arrays)
