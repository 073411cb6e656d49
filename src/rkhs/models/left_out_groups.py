"""Leave-one-group-out calibration: sets of candidates where an output has several rows, as a molecule its spectra.

With ``A`` as in :mod:`rkhs.models.conformal` and ``V = A_gg^-1`` of the rows of a group, the residuals of these rows
without their group are ``E = V (A U)_g``, and their predictive variances the diagonal of ``V``. A new row of weights b
and posterior variance d turns V into ``V - u u^T / (d + t)``, ``u = V b_g``, ``t = b_g^T u``, and E into ``E - u (y - h
+ b_g^T E) / (d + t)``. The score of a row is the length of its residual over its standard deviation. A set holds the
outputs y whose score is at most that of ``floor(alpha (G + 1))`` of G groups, where each row counts one over the size
of its group: the set of single rows where each group has one. Dunn, Wasserman and Ramdas (2023), section 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs.models.conformal import TIE, Calibration, NewItems, min_nonconforming_rows


@dataclass(frozen=True, eq=False)
class LeftOutGroups:
    """Residuals of the distinct rows of a machine, each without its group."""

    representatives: Tensor  # (m,): index of the first row of each group of copies
    same: Tensor  # (m, m): one where two rows are of one group, else zero
    covariances: Tensor  # (m, m): V of each group, zero elsewhere
    residuals: Tensor  # (m, r): E

    @classmethod
    def of(cls, calibration: Calibration, groups: np.ndarray) -> LeftOutGroups:
        """Leave out the groups of the rows (n,) of a calibration: O(m^3)."""
        A, kept = calibration.inverse, calibration.representatives
        numbers = torch.from_numpy(groups)[kept]
        same = (numbers[:, None] == numbers).to(A)
        V = torch.linalg.inv(A * same)
        return cls(kept, same, V, V @ (calibration.loo_residuals * A.diagonal()[:, None]))

    def contains(self, new: NewItems, row: int, E: Tensor, squares: Tensor, coverage: float) -> np.ndarray:
        """Whether the set of a new item contains candidates of coordinates (c, r), squared distances (c,)."""
        b, d = new.weights[row][self.representatives], new.variance[row]
        u = self.covariances @ b
        a = u / (d + self.same @ (b * u))
        moved = self.residuals - a[:, None] * (self.same @ (b[:, None] * self.residuals))
        along, squares = moved @ (E.double() - new.values[row]).mT, squares.double()
        lengths = (moved**2).sum(1)[:, None] - 2.0 * a[:, None] * along + a[:, None] ** 2 * squares
        larger = squares * (self.covariances.diagonal() - u * a)[:, None] <= lengths * d * TIE
        shares = 1.0 / self.same.sum(1)
        needed = min_nonconforming_rows(coverage, round(float(shares.sum())))
        return np.asarray((shares @ larger.double() >= needed - 1e-9).numpy())
