"""What a fitted autoencoder rebuilds: vectors, or features of a kernel; errors and distances there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs._core.linalg import constant_value
from rkhs._core.stored import Stored, check_shape
from rkhs.kernels.base import Kernel
from rkhs.outputs import RKHS, Euclidean


class Goal(NamedTuple):
    """Targets of items, as a model reads them."""

    rows: Tensor  # (m, q): vectors; for features their kernel values with the training targets
    diagonal: Tensor | None = None  # (m,): for features ``k(t, t)``


@dataclass(frozen=True, eq=False)
class Rebuilt(Stored):
    """The targets of an autoencoder and the coordinates that its decoder gives of them."""

    output: Euclidean | RKHS  # of vectors, or of features
    kernel: Kernel | None  # whose features are rebuilt, resolved; None: vectors
    own: bool  # whether items are their own targets
    items: Any = None  # (n, q): the training targets, for features of items other than those that the encoder keeps
    diagonal: np.ndarray | None = None  # (n,): ``k(t, t)`` of the training targets, where new ones have none

    def check_stored(self) -> None:
        """Features of a Gram matrix need its diagonal."""
        check_shape("diagonal", self.diagonal, None)
        if self.kernel is not None and self.kernel.domain == "gram" and self.diagonal is None:
            raise InputError("a model file of a Gram matrix must hold its diagonal")

    @property
    def vectors(self) -> bool:
        """Whether vectors are rebuilt."""
        return isinstance(self.output, Euclidean)

    @property
    def columns(self) -> int:
        """Of the vectors."""
        assert isinstance(self.output, Euclidean)
        return len(self.output.mean)

    @property
    def constant(self) -> float | None:
        """``k(t, t)`` of every training target if it is the same for all, else None."""
        return None if self.diagonal is None else constant_value(self.diagonal)

    def encode(self, goal: Tensor) -> Tensor:
        """Coordinates (m, r) of targets, from their rows."""
        return self.output.encode(goal)

    def decode(self, U: Tensor) -> Tensor:
        """Vectors (m, q) at coordinates of shape (m, r), or weights (m, n) of features on the training targets."""
        return self.output.decode(U) if isinstance(self.output, Euclidean) else self.output.weights(U)

    def errors(self, U: Tensor, goal: Goal) -> Tensor:
        """Squared distances of coordinates (m, r) to as many targets, shape (m,)."""
        if isinstance(self.output, Euclidean):
            return self.output.squared_errors(goal.rows, self.output.decode(U))
        assert goal.diagonal is not None
        return self.output.squared_distances(U, goal.rows, goal.diagonal, paired=True)

    def distances(self, U: Tensor, goal: Goal) -> Tensor:
        """Squared distances of coordinates (m, r) to each of c targets, shape (m, c)."""
        if isinstance(self.output, Euclidean):
            root = self.output.root(goal.rows)
            decoded = self.output.decode(U) * root
            return torch.cdist(decoded, goal.rows * root, compute_mode="donot_use_mm_for_euclid_dist").square_()
        assert goal.diagonal is not None
        return self.output.squared_distances(U, goal.rows, goal.diagonal, paired=False)

    def spread(self, goal: Goal) -> Tensor:
        """Squared distances of targets to the mean of the training targets, shape (m,)."""
        if isinstance(self.output, Euclidean):
            return self.output.squared_errors(goal.rows, tensor_like(self.output.mean, goal.rows))
        assert goal.diagonal is not None
        return self.output.squared_norms(goal.rows, goal.diagonal)
