"""Ridge regression of several outputs where some targets are not known.

Output ``j`` minimises ``sum_i w_ij 1/2 (h_j(x_i) - t_ij)^2 + reg/2 ||h_j||^2`` over the rows ``O_j`` where it is known,
with ``w_ij`` the weights of these rows divided by their sum. So it is the regression of this output alone on these
rows: ``h_j = sum_{i in O_j} c_ij k(., x_i)`` with ``(K_OO + reg diag(1/w_j)) c_j = t_j``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import solve_positive


@dataclass(frozen=True, eq=False)
class GappedRidge:
    """A ridge regression with gaps in its targets."""

    K: Tensor  # (n, n): gram matrix
    values: Tensor  # (n, q): targets; NaN where one is not known
    weights: Tensor | None = None  # (n,): not negative; default: ones
    center: bool = True  # around the mean of the known targets of each output

    @property
    def known(self) -> Tensor:
        """Which targets are known and count, shape (n, q)."""
        found = ~torch.isnan(self.values)
        return found if self.weights is None else found & (self.weights > 0.0)[:, None]

    @property
    def shares(self) -> Tensor:
        """``w_ij``, shape (n, q): every column sums to one, and a gap has none."""
        w = self.known.to(self.values)
        if self.weights is not None:
            w = w * self.weights[:, None]
        return w / w.sum(0)

    @property
    def mean(self) -> Tensor:
        """What is subtracted from the targets, shape (q,)."""
        found = (self.shares * torch.nan_to_num(self.values)).sum(0)
        return found if self.center else torch.zeros_like(found)

    @property
    def targets(self) -> Tensor:
        """Targets less their mean, shape (n, q), zero at a gap."""
        return torch.where(self.known, self.values - self.mean, torch.zeros_like(self.values))

    def solve(self, reg: float) -> tuple[Tensor, float]:
        """Coefficients of shape (n, q), zero at a gap, and the objective."""
        C, shares, T = torch.zeros_like(self.values), self.shares, self.targets
        for rows, columns in self._patterns():
            A = self.K[rows[:, None], rows]
            A.diagonal().add_(reg / shares[rows, columns[0]])
            cells = rows[:, None], columns
            C[cells] = solve_positive(A, T[cells], name="the system K + n reg I")
        return C, 0.5 * reg * float((C * T).sum())

    def _patterns(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the rows of each pattern of known targets, and the outputs that have it."""
        sets, numbers = np.unique(self.known.cpu().numpy(), axis=1, return_inverse=True)
        for number, rows in enumerate(sets.T):
            columns = np.flatnonzero(np.ravel(numbers) == number)
            device = self.K.device
            yield torch.as_tensor(np.flatnonzero(rows), device=device), torch.as_tensor(columns, device=device)

    def held_out_errors(self, train: Tensor, test: Tensor, regs: Sequence[float]) -> Tensor:
        """Squared errors of held-out rows, shape (len(regs),)."""
        both = self.known[train].any(0) & self.known[test].any(0)
        w = self.weights
        part = GappedRidge(
            self.K[train[:, None], train], self.values[train][:, both], None if w is None else w[train], self.center
        )
        rest = GappedRidge(self.K[:0], self.values[test][:, both], None if w is None else w[test])
        cross, found = self.K[test[:, None], train], []
        for reg in regs:
            residuals = cross @ part.solve(reg)[0] + part.mean - torch.nan_to_num(rest.values)
            found.append((rest.shares * residuals**2).sum() * (self.values.shape[1] / max(int(both.sum()), 1)))
        return torch.stack(found)
