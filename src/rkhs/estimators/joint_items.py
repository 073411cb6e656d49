"""Scales and bandwidths re-estimated with each new item, so that it and the training items are exchangeable.

Means and scales of ``d`` columns that were estimated from ``n`` training rows favour these rows: a scaled training row
has a mean squared length of ``d``, and a new one of ``d (1 + 4 / n)``, with a standard deviation of ``(2 d)^1/2``. If
the difference is not small, scales and bandwidths are estimated from the training items and the new one together, once
for each new item. All ``n + 1`` items then play the same part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from rkhs._core.arrays import as_tensor
from rkhs._core.errors import unwarned
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.given_matrices import scalar_kernels
from rkhs.estimators.options.arguments import TABLES
from rkhs.estimators.reader import ColumnScaling
from rkhs.kernels import Kernel

_LEAK = 0.05  # standard deviations of a squared length: smaller differences are invisible in p-values


@dataclass(frozen=True, eq=False)
class JointItems:
    """Training items of an estimator whose scales and bandwidths are re-estimated with new items."""

    estimator: KernelEstimator
    kernels: Sequence[Kernel]  # not resolved
    known: Any  # (n, d) tensor, list of n objects, or list of n rows of a table

    @classmethod
    def of(cls, estimator: KernelEstimator, kernels: Sequence[Kernel]) -> Self | None:
        """Collect the items; None if nothing was estimated from them, or the effect is negligible."""
        kept, kernel = estimator.model_.map.kept, estimator.kernel_
        fitted = scalar_kernels(kernel)
        if kept is None:
            return None
        scaled = estimator._columns in ("scaled", *TABLES)
        if not scaled and list(kernels) == fitted:
            return None
        columns = len(kept[0]) if scaled or isinstance(kept[0], tuple) else 1  # one bandwidth, or cells of a table
        if (8.0 * columns) ** 0.5 < _LEAK * len(kept):
            return None
        if estimator.reader_.filling is not None:
            return cls(estimator, kernels, estimator.reader_.filling.known_cells())
        vectors = fitted[0].domain == "vectors"
        return cls(estimator, kernels, as_tensor(kept).double() if vectors else kept)

    def __len__(self) -> int:
        return len(self.known)

    def kept(self, places: Sequence[int]) -> Any:
        """Some training items in the units of the fit."""
        kept = self.estimator.model_.map.kept
        return _some(as_tensor(kept) if isinstance(kept, np.ndarray) else kept, places)

    def with_each(self, X: Any, places: Sequence[int]) -> Iterator[tuple[int, tuple[list[Kernel], Any]]]:
        """Yield the index of each new item of ``places``, the resolved kernels and n + 1 items, the new one last."""
        table = self.estimator.reader_.filling
        items: Any = self.estimator._read_new(X) if table is None else table._read(X)
        for place in places:
            item = items[place]
            rows = torch.cat([self.known, item[None].double().cpu()]) if torch.is_tensor(item) else [*self.known, item]
            yield place, self._in_units(rows, rows)

    def without_each(self, places: Sequence[int]) -> Iterator[tuple[list[Kernel], Any]]:
        """Yield for some training items the kernels resolved on the others, and all n items, this one last."""
        for place in places:
            rows = _some(self.known, [*(i for i in range(len(self)) if i != place), place])
            yield self._in_units(rows, rows[:-1])

    def _in_units(self, rows: Any, among: Any) -> tuple[list[Kernel], Any]:
        """Kernels resolved, and rows scaled, by estimates from the rows ``among``."""
        table, count = self.estimator.reader_.filling, len(among)
        if table is not None:
            with unwarned(UserWarning):  # of texts that the other rows lack
                rows = torch.as_tensor(table.rows_among(rows, count))
        elif self.estimator._columns == "scaled":
            rows = torch.as_tensor(ColumnScaling.of(among.numpy()).apply(rows.numpy()))
        return [kernel.resolve(rows[:count]) for kernel in self.kernels], rows


def _some(items: Any, places: Sequence[int]) -> Any:
    return items[places] if torch.is_tensor(items) else [items[place] for place in places]
