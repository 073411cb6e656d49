"""The Laplacian kernel of the L1 or L2 norm."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer, symmetric_rows
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.distances import blocks
from rkhs.kernels.vectors.radial import LOG2E, Radial, RadialDistance, flat_where_infinite


class Laplacian(RadialDistance):
    """Laplacian kernel ``k(x, y) = exp(-gamma ||x - y||)`` with the L1 or the L2 norm.

    Parameters
    ----------
    norm : {"l1", "l2"}, default="l1"
        The distance; ``"l2"`` is the Matern kernel of smoothness 1/2.
    gamma : float or {"median", "scale", "1/d"}, default="median"
        Multiplies the distance.

    Notes
    -----
    The L1 distance has no matrix-product form: O(n m d) elementwise work in row blocks. At coincident points both
    gradients are set to zero.

    References
    ----------
    Esser et al. (2024), section 5 (norm not stated there; L1 as in ``sklearn.metrics.pairwise.laplacian_kernel``).

    Examples
    --------
    >>> from rkhs.kernels import Laplacian
    >>> float(Laplacian("l1", gamma=0.5)([[0.0, 0.0]], [[1.0, 1.0]])[0, 0])
    0.36787944117144233
    """

    def __init__(self, norm: str = "l1", gamma: float | str = "median") -> None:
        self.norm = norm
        self.gamma = gamma

    @property
    def rotation_invariant(self) -> bool:
        """True for the L2 norm."""
        return self.norm == "l2"

    @property
    def radial(self) -> Radial | None:
        """Itself, for the L2 norm."""
        return super().radial if self.norm == "l2" else None

    def _check(self) -> None:
        if not isinstance(self.norm, str) or self.norm not in ("l1", "l2"):
            raise InputError(f"Laplacian.norm must be 'l1' or 'l2'; got {self.norm!r}")

    def _distances(self, X: Tensor) -> Tensor:
        return torch.cdist(X, X, p=1.0) if self.norm == "l1" else super()._distances(X)

    def _median_distance(self, X: Tensor) -> float:
        return 0.0 if self.norm == "l1" else super()._median_distance(X)

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        if self.norm == "l2":
            return super()._gram(X, Y)
        return torch.cdist(X, X if Y is None else Y, p=1.0).mul_(-self._gamma * LOG2E).exp2_()

    def from_distances(self, D: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Values from squared distances ``D`` of shape (n, m), or L1 distances, which are overwritten."""
        return self._profile_at(D) if self.norm == "l1" else super().from_distances(D, a, b)

    def _profile_at(self, r: Tensor) -> Tensor:
        return r.mul_(-self._gamma * LOG2E).exp2_()

    def _both_at(self, r: Tensor) -> tuple[Tensor, Tensor]:
        E = (r * (-self._gamma * LOG2E)).exp2_()
        return E, flat_where_infinite((E * (-0.5 * self._gamma)).div_(r))

    def gram_and_pullback(self, X: Tensor) -> tuple[Tensor, Callable[[Tensor | Outer], Tensor]]:
        return super().gram_and_pullback(X) if self.norm == "l2" else Kernel.gram_and_pullback(self, X)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        if self.norm == "l2":
            return super()._pullback(X, S, K)
        G = torch.empty_like(X)
        for rows in blocks(len(X)):
            G[rows] = self._cross_pullback(X[rows], X, symmetric_rows(S, rows.start, rows.stop))
        return G

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        if self.norm == "l2":
            return super()._cross_pullback(X, Y, S)
        M = self._gram(X, Y).mul_(S)
        columns = [(torch.sign(X[:, j, None] - Y[None, :, j]) * M).sum(1) for j in range(X.shape[1])]
        return torch.stack(columns, 1).mul_(-self._gamma)

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        return super()._jacobian(X, Y, C) if self.norm == "l2" else Kernel._jacobian(self, X, Y, C)

    def _pair_pullback(self, X: Tensor, Y: Tensor, S: Tensor, K: Tensor | None) -> tuple[Tensor, Tensor]:
        return super()._pair_pullback(X, Y, S, K) if self.norm == "l2" else Kernel._pair_pullback(self, X, Y, S, K)
