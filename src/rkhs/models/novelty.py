"""A fitted novelty score: the posterior variance of a Gaussian process at an item, given the training items."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import Items, as_tensor
from rkhs._core.checks import check_gram
from rkhs._core.copies import copies, same_items
from rkhs._core.stored import check_shape
from rkhs.models.conformal import Calibration, NewItems, min_nonconforming_rows
from rkhs.models.kept import GramModel, GramOf


@dataclass(frozen=True, eq=False)
class NoveltyModel(GramModel):
    """The training items and the ridge of their Gram matrix; an item is judged without those that equal it."""

    ridge: float
    gram: np.ndarray | None = None  # (n, n): for a precomputed kernel
    shift: float = 0.0  # mean rise of the variance of a training item if scales are estimated without it

    def check_stored(self) -> None:
        """The matrix must be one of the items, symmetric."""
        n = self.map.width
        check_shape("gram", self.gram, n, n)
        if self.gram is not None:
            check_gram(self.gram, "gram")

    @cached_property
    def _distinct(self) -> tuple[Tensor, Tensor, Tensor]:
        """Gram matrix of the distinct items, their indices and their multiplicities."""
        like = np.zeros(1)
        K = GramOf(self.kernel, self.map.kept, like)() if self.gram is None else as_tensor(self.gram).double()
        places, counts = torch.unique(torch.from_numpy(copies([K])), return_counts=True)
        return K[places][:, places], places, counts.double()

    @cached_property
    def calibration(self) -> Calibration:
        """Leave-one-out calibration on the distinct items, without targets."""
        K = self._distinct[0]
        unit = float(K.diagonal().mean())
        return Calibration.from_gram(K, K.new_zeros(len(K), 1), self.ridge, mean=False, unit=unit)

    def new(self, items: Items, diagonal: Tensor | None = None) -> NewItems:
        """Posterior variances of items; ``diagonal`` (m,): ``k(x, x)`` for a precomputed kernel."""
        K, places, _ = self._distinct
        raw = self.map.raw(items).cpu().double()[:, places]
        d = (self.kernel._diag(items) if diagonal is None else diagonal).cpu().double()
        found, known = self.calibration.new(raw, d), same_items(raw, d, K.diagonal())
        rows = known.any(1)
        found = replace(found, known=rows)
        found.variance[rows] = 1.0 / self.calibration.precision[known.double().argmax(1)[rows]]
        found.weights[rows] = 0.0
        return found

    def differences(self, x: Tensor) -> np.ndarray:
        """The rise of the variance of the nearest row that differs with each column of ``x``, shape (d,)."""
        K, places, _ = self._distinct
        raw, d = self.map.raw(x[None]).double()[:, places], self.kernel._diag(x[None]).double()
        near = raw.masked_fill(same_items(raw, d, K.diagonal()), -torch.inf)[0].argmax()
        changed = self.map.support(x)[places[near]].repeat(len(x) + 1, 1)
        changed[:-1].diagonal().copy_(x)
        variance = self.calibration.new(self.map.raw(changed)[:, places], self.kernel._diag(changed)).variance
        return np.asarray((variance[:-1] - variance[-1]).numpy())

    def p_values(self, new: NewItems) -> np.ndarray:
        """Conformal p-values of new items, shape (m,)."""
        return self.calibration.p_values(new, self._distinct[2])

    def scores(self, new: NewItems) -> Tensor:
        """Posterior variances (m,); those of training items are corrected for scales estimated from them too."""
        return new.variance if new.known is None else new.variance + self.shift * new.known

    def limit(self, alpha: float) -> float:
        """The score above which an item is more novel than all but a share ``alpha`` of the training items."""
        variances, (_, _, counts) = 1.0 / self.calibration.precision + self.shift, self._distinct
        values = torch.repeat_interleave(variances, counts.long()).sort(descending=True).values
        needed = min_nonconforming_rows(1.0 - alpha, len(values))
        return float(values[needed - 1]) if needed > 0 else sys.float_info.max
