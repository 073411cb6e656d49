"""Interface of spaces of functions on the training items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rkhs.kernels.base import Kernel
from rkhs.outputs import Euclidean
from rkhs.spaces.features import FeatureMap


class Targets(NamedTuple):
    """Training vectors as targets of a decoder."""

    output: Euclidean  # mean and scale of the training vectors
    coordinates: Tensor | None  # (n, r): those of the training vectors; None: reread from the rows


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of the features of the training items."""

    coefficients: Tensor  # (w, p): scores of items are ``raw coefficients + shift``
    shift: Tensor  # (p,)
    scores: Tensor  # (n, p): of the training items
    variances: Tensor  # (p,): descending; zero within rounding errors
    total: float  # variance of all features
    mean: Tensor | None  # (w,): the mean feature as weights on the kept items; None: not centred
    raw_mean: Tensor  # (w,): mean of the raw features; zero if not centred
    mean_norm: float  # squared norm of the mean feature

    @property
    def shares(self) -> Tensor:
        """Shares of the variance, zero if there is none."""
        return self.variances / self.total if self.total > 0.0 else torch.zeros_like(self.variances)


class Space(ABC):
    """The span of the features of the training items, or of what a storage keeps of them."""

    map: FeatureMap  # feature map of new items
    kernel: Kernel  # resolved
    n: int  # number of training items
    weights: Tensor | None  # (n,): of the training items; sum to one
    size: float  # ``k(x, x)``: the largest, or the mean where it is not known of every item
    diagonal: Tensor | None  # (n,): ``k(x, x)`` of the training items; None where new items have their own

    @abstractmethod
    def principal(self, count: int | float | None, *, center: bool) -> Components:
        """Leading principal components."""

    @abstractmethod
    def targets(self) -> Targets:
        """The training vectors as targets, centred and scaled."""

    @abstractmethod
    def resolve_on_codes(self, kernel: Kernel, found: Components) -> Kernel:
        """Resolve a kernel on the scores of the training items."""

    @abstractmethod
    def regress(self, kernel: Kernel, found: Components, targets: Targets, reg: float) -> tuple[Tensor, Tensor]:
        """Kernel ridge regression from scores to targets."""


def enough(variances: Tensor, share: float, total: float) -> int | None:
    """Number of components that explain a share of the variance; None if these do not."""
    reached = torch.cumsum(variances, 0) >= share * total
    return int(reached.to(torch.uint8).argmax()) + 1 if bool(reached.any()) else None
