"""Prediction sets and p-values from machines of folds, each of rows that it has not seen (CV+).

Nothing of a fold's machine depends on its held-out rows, not the metric of its inputs either. For a new item like the
training items the sets hold its outputs with probability at least ``1 - 2 alpha`` (Barber et al. 2021, theorem 4), and
about ``1 - alpha`` as measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs._core.linalg import cholesky
from rkhs._core.stored import Stored, check_places, check_shape
from rkhs.kernels import Kernel
from rkhs.models.conformal import conformal_rank, lengths


@dataclass(frozen=True, eq=False)
class FoldMachines(Stored):
    """A machine for each fold, fitted to the rows of the others."""

    fold: np.ndarray  # (n,): the fold of each training row
    kernels: tuple[Kernel, ...]  # resolved
    ridges: np.ndarray  # (folds,): n reg
    coefficients: tuple[np.ndarray, ...]  # (n_k, q) each
    means: np.ndarray  # (folds, q): of the outputs, predictions far from all rows
    residuals: np.ndarray  # (n, q): ``y_i`` less the prediction by the machine of its fold

    def check_stored(self) -> None:
        """Sizes must agree."""
        count, (n, q) = len(self.kernels), self.residuals.shape
        check_shape("residuals", self.residuals, None, None)
        check_shape("fold", self.fold, n, kinds="i")
        check_places("fold", self.fold, count)
        check_shape("ridges", self.ridges, count)
        check_shape("means", self.means, count, q)
        if len(self.coefficients) != count:
            raise InputError(f"a model file must have coefficients of {count} folds; got {len(self.coefficients)}")
        for number, C in enumerate(self.coefficients):
            check_shape("coefficients", C, int((self.fold != number).sum()), q)

    def predictions(self, items: Tensor, X: Tensor) -> np.ndarray:
        """Predictions (folds, m, q) of items by every machine; ``X``: the training rows."""
        found = []
        for number, kernel in enumerate(self.kernels):
            K = kernel._gram(items, X[self._training(number)])
            C, mean = (tensor_like(part, K) for part in (self.coefficients[number], self.means[number]))
            found.append((K @ C + mean).double().cpu().numpy())
        return np.stack(found)

    def _training(self, number: int) -> Tensor:
        return torch.from_numpy(np.flatnonzero(self.fold != number))

    def intervals(self, predicted: np.ndarray, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Ends (m, q) of a box for each item by its predictions (folds, m, q); all outputs are inside together."""
        scale = np.sqrt((self.residuals**2).mean(0))
        scale = np.where(scale > 0.0, scale, 1.0)
        score = (np.abs(self.residuals) / scale).max(1)
        reach = score[:, None] * scale
        ends = [
            self._quantile(sign * predicted[:, :, j], reach[:, j], coverage) * sign
            for j in range(predicted.shape[2])
            for sign in (-1.0, 1.0)
        ]
        return np.stack(ends[::2], 1), np.stack(ends[1::2], 1)

    def radii(
        self, predicted: np.ndarray, center: np.ndarray, coverage: float, metric: np.ndarray | None
    ) -> np.ndarray:
        """Radius (m,) around centres (m, q) of balls, or of ellipsoids of a metric (q, q)."""
        away = np.stack([lengths(one - center, metric) for one in predicted])
        return self._quantile(away, lengths(self.residuals, metric), coverage)

    def _quantile(self, places: np.ndarray, reach: np.ndarray, coverage: float) -> np.ndarray:
        """For each item the value that enough of ``places[fold_i] + reach_i`` do not exceed, shape (m,)."""
        n, rank = len(reach), conformal_rank(coverage, len(reach))
        if rank > n:
            return np.full(places.shape[1], np.inf)
        return np.array([np.partition(column[self.fold] + reach, rank - 1)[rank - 1] for column in places.T])

    def p_values(self, tiles: Callable[[], Iterator[Tensor]], X: Tensor) -> np.ndarray:
        """P-values (m,) of new items by the posterior variances of the machines; ``tiles()``: the items, in order."""
        reached: float | np.ndarray = 0.0
        for number, (kernel, ridge) in enumerate(zip(self.kernels, self.ridges, strict=True)):
            train = X[self._training(number)].double()
            G = kernel._gram(train)
            G.diagonal().add_(float(ridge))
            L = cholesky(G, name="the system K + n reg I")[0]

            def variances(items: Tensor, kernel=kernel, train=train, L=L) -> np.ndarray:  # type: ignore[no-untyped-def]
                half = torch.linalg.solve_triangular(L, kernel._gram(train, items), upper=False)
                return (kernel._diag(items).double() - (half * half).sum(0)).cpu().numpy()

            known = np.sort(variances(X[torch.from_numpy(self.fold == number)].double()))
            new = np.concatenate([variances(items.double()) for items in tiles()])
            reached = reached + len(known) - np.searchsorted(known, new, side="left")
        return np.minimum((1.0 + np.asarray(reached)) / (len(self.fold) + 1.0), 1.0)
