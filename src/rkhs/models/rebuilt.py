"""Targets of a fitted autoencoder: vectors, or features of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import constant_value
from rkhs._core.stored import Stored, check_shape
from rkhs.kernels.base import Kernel
from rkhs.outputs import RKHS, Euclidean


class Targets(NamedTuple):
    """Targets of items as vectors, or as kernel values with the training targets."""

    rows: Tensor  # (m, q): vectors; for features their kernel values with the training targets
    diagonal: Tensor | None = None  # (m,): for features ``k(t, t)``


@dataclass(frozen=True, eq=False)
class Rebuilt(Stored):
    """Targets of an autoencoder, and the output space of its decoder."""

    output: Euclidean | RKHS  # of vectors, or of features
    kernel: Kernel | None  # whose features are rebuilt, resolved; None: vectors
    self_targets: bool  # whether items are their own targets
    items: Any = None  # (n, q): the training targets, for features of items other than the inputs
    diagonal: np.ndarray | None = None  # (n,): ``k(t, t)`` of the training targets, for a precomputed kernel

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
        """Number of columns of the vectors."""
        assert isinstance(self.output, Euclidean)
        return len(self.output.mean)

    @property
    def constant(self) -> float | None:
        """``k(t, t)`` of every training target if it is the same for all, else None."""
        return None if self.diagonal is None else constant_value(self.diagonal)

    def decode(self, U: Tensor) -> Tensor:
        """Vectors (m, q) at coordinates of shape (m, r), or weights (m, n) of features on the training targets."""
        return self.output.decode(U) if isinstance(self.output, Euclidean) else self.output.weights(U)
