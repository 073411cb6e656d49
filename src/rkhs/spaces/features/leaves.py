"""Kernel values with the rows of the leaves of a tree that a row lies in: exact machines of many rows, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import check_count
from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate
from rkhs._core.stored import check_places, check_shape
from rkhs.kernels.base import Kernel
from rkhs.spaces.features.base import KernelValues, check_items_stored

_ROW_SIZE = 64
_LEAF_TILE = 2048  # rows of a leaf whose kernel values are in memory at once


class Leaves(Configurable):
    """Storage of a regressor of many rows: exact ridge regression in the leaves of a tree.

    Rows are halved until a leaf has at most ``size`` of them, at the median along the leading eigenvector of the mean
    outer product of the gradients of a fit on 600 rows of the node. Near a cut rows are in both halves and predicted by
    both, with smooth weights that sum to one: predictions are continuous. ``O(n size^2)`` time, ``O(n)`` memory.

    Parameters
    ----------
    size : int, default=2000
        Largest number of rows of a leaf.
    shared : int, default=300
        Rows on each side of a cut that both halves have.

    Raises
    ------
    InputError
        From ``fit``, for a size of fewer than four times the shared rows.

    References
    ----------
    Bottou and Vapnik (1992), Local learning algorithms; Zhang, Duchi and Wainwright (2015), Divide and conquer kernel
    ridge regression.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import OperatorKernelRegressor
    >>> from rkhs.features import Leaves
    >>> x = np.linspace(0.0, 1.0, 400)[:, None]
    >>> model = OperatorKernelRegressor(reg=1e-6, storage=Leaves(100, 10)).fit(x, np.sin(9.0 * x))
    >>> len(model.map_.starts) - 1, bool(abs(model.predict(x) - np.sin(9.0 * x)).max() < 1e-2)
    (8, True)
    """

    def __init__(self, size: int = 2000, shared: int = 300) -> None:
        self.size = size
        self.shared = shared

    def check(self) -> None:
        """Check the parameters."""
        check_count(self.shared, "Leaves.shared", at_least=1)
        if check_count(self.size, "Leaves.size") < 4 * self.shared:
            raise InputError(f"Leaves.size must be at least four times Leaves.shared={self.shared}; got {self.size}")

    def depth(self, n: int) -> int:
        """How often ``n`` rows are halved: a leaf has twice the shared rows besides its own."""
        if n <= self.size:
            return 0
        return int(np.ceil(np.log2(n / (self.size - 2 * self.shared))))

    def need(self, n: int, columns: int, outputs: int) -> Estimate:
        """Memory of a fit of ``n`` rows."""
        rows = 8 * n * (4 * columns + 4 * outputs) + 8 * 4 * self.size**2 + 2**25
        return Estimate(f"leaves of {self.size} rows on n={n} rows", rows, f"4 copies of n x {columns + outputs}")


@dataclass(frozen=True, eq=False)
class Tree:
    """A complete binary tree of cuts, level by level, with zones in which both sides count."""

    normals: Tensor  # (2^depth - 1, d)
    cuts: Tensor  # (2^depth - 1,): thresholds of ``<normal, x>``
    widths: Tensor  # (2^depth - 1,): half-widths of the zones

    def parts(self, X: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Yield each leaf with the rows that it counts for, and its weights there. O(n depth d)."""
        waiting = [(0, torch.arange(len(X), device=X.device), X.new_ones(len(X)))]
        while waiting:
            node, rows, share = waiting.pop()
            if node >= len(self.cuts):
                yield node - len(self.cuts), rows, share
                continue
            place = (X[rows] @ self.normals[node] - self.cuts[node]) / (2.0 * self.widths[node]) + 0.5
            place = place.clamp(0.0, 1.0)
            right = place * place * (3.0 - 2.0 * place)
            for child, part in ((2 * node + 1, share * (1.0 - right)), (2 * node + 2, share * right)):
                inside = part > 0.0
                if bool(inside.any()):
                    waiting.append((child, rows[inside], part[inside]))


class LeavesMap(KernelValues):
    """Raw features ``s_l(x) k(x, X_l)`` of the rows ``X_l`` of every leaf, and ``s_l(x)``, the weight of the leaf.

    Parameters
    ----------
    kernel : Kernel
        Resolved, on vectors.
    items : array of shape (n, d)
    places : array of shape (m,)
        Indices of the rows of the leaves, one leaf after the other; some are in two leaves.
    starts : array of shape (leaves + 1,)
        Index of the first place of each leaf, and m.
    normals, cuts, widths : arrays of shape (leaves - 1, d), (leaves - 1,) and (leaves - 1,)
        Cuts of the tree, level by level: ``<normal, x> = cut``, and half of the width of the zone in which both sides
        count.

    References
    ----------
    Bottou and Vapnik (1992), Local learning algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.features import LeavesMap
    >>> from rkhs.kernels import Linear
    >>> X, cut = np.array([[1.0], [2.0]]), (np.ones((1, 1)), np.zeros(1), np.ones(1))
    >>> LeavesMap(Linear(), X, np.arange(2), np.arange(3), *cut).raw(torch.tensor([[-3.0], [0.0]]))
    tensor([[-3.0000,  0.0000,  1.0000,  0.0000],
            [ 0.0000,  0.0000,  0.5000,  0.5000]])
    """

    def __init__(
        self, kernel: Kernel, items: Any, places: Any, starts: Any, normals: Any, cuts: Any, widths: Any
    ) -> None:
        self.kernel = kernel
        self.items = items
        self.places = places
        self.starts = starts
        self.normals = normals
        self.cuts = cuts
        self.widths = widths

    def check_stored(self) -> None:
        """Sizes must agree."""
        m, leaves = len(self.places), len(self.starts) - 1
        check_items_stored(self.kernel, self.items, len(self.items))
        check_places("places", self.places, len(self.items))
        check_places("starts", self.starts, m + 1)
        ends_fit = leaves >= 1 and self.starts[0] == 0 and self.starts[-1] == m
        if not ends_fit or leaves & (leaves - 1) or (np.diff(self.starts) < 1).any():
            raise InputError("a model file must have 1, 2, 4, 8 or more leaves, each with rows; got others")
        check_shape("normals", self.normals, leaves - 1, self.items.shape[1])
        check_shape("cuts", self.cuts, leaves - 1)
        check_shape("widths", self.widths, leaves - 1)
        if (self.widths <= 0.0).any():
            raise InputError("widths in a model file must be positive")

    @property
    def kept(self) -> Any:
        """All training rows."""
        return self.items

    @property
    def width(self) -> int:
        """Number of places in all leaves, and of leaves."""
        return len(self.places) + len(self.starts) - 1

    def in_leaf(self, leaf: int) -> np.ndarray:
        """Indices of the rows of a leaf."""
        return np.asarray(self.places[self.starts[leaf] : self.starts[leaf + 1]])

    @property
    def row_size(self) -> int:
        """Numbers per row for its way through the tree; kernel values are computed for some rows at a time."""
        return _ROW_SIZE

    def tree(self, like: Tensor) -> Tree:
        """The cuts, with the dtype and on the device of a tensor."""
        return Tree(*(tensor_like(part, like) for part in (self.normals, self.cuts, self.widths)))

    def _parts(self, items: Tensor) -> Iterator[tuple[slice, int, Tensor, Tensor, Tensor]]:
        """Columns of each leaf, that of its weight, its rows, and some items inside with their weights there."""
        for leaf, rows, share in self.tree(items).parts(items):
            columns = slice(int(self.starts[leaf]), int(self.starts[leaf + 1]))
            kept = tensor_like(self.items[self.in_leaf(leaf)], items)
            for some in torch.arange(len(rows), device=items.device).split(_LEAF_TILE):
                yield columns, len(self.places) + leaf, kept, rows[some], share[some]

    def raw(self, items: Tensor) -> Tensor:
        """Weighted kernel values with the rows of all leaves, and the weights of the leaves."""
        found = items.new_zeros(len(items), self.width)
        for columns, constant, kept, rows, share in self._parts(items):
            found[rows, columns] = share[:, None] * self.kernel._gram(items[rows], kept)
            found[rows, constant] = share
        return found

    def times(self, items: Tensor, C: Tensor) -> Tensor:
        """``raw(items) C`` by the leaves that count alone. O(m size d)."""
        found = torch.zeros(len(items), C.shape[1], dtype=C.dtype, device=C.device)
        for columns, constant, kept, rows, share in self._parts(items):
            K = self.kernel._gram(items[rows], kept).to(C)
            found.index_add_(0, rows, share[:, None].to(C) * (K @ C[columns] + C[constant]))
        return found

    def blend(self, items: Tensor, values: np.ndarray) -> np.ndarray:
        """Values (leaves, q) of leaves at items of shape (m, d), shape (m, q): means by the weights of the leaves."""
        found = np.zeros((len(items), values.shape[1]))
        for leaf, rows, share in self.tree(items).parts(items):
            found[rows.cpu().numpy()] += share.double().cpu().numpy()[:, None] * values[leaf]
        return found
