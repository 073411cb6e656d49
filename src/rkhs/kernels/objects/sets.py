"""Sets and distributions: the mean embedding of bags of points of any size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import check_items
from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel, read_matrix
from rkhs.kernels.vectors.radial import Gaussian

_BLOCK = 1 << 20  # kernel values of points held at once


class MeanEmbedding(Kernel):
    """Mean of a kernel over all pairs of points of two bags.

    ``k(P, Q) = 1 / (|P| |Q|) sum_{x in P, y in Q} base(x, y)``, the inner product of the mean embeddings of two bags.
    ``GaussianOf(MeanEmbedding(base))`` is the Gaussian of their maximum mean discrepancy,
    ``exp(-gamma MMD(P, Q)^2)``, which distinguishes all distributions that ``base`` distinguishes.

    Parameters
    ----------
    base : Kernel, default=Gaussian()
        On the points: rows of numbers, or objects.
    max_points : int, default=1000
        Bandwidths of ``base`` are chosen on this many points, evenly spaced over all points of the training bags.

    Raises
    ------
    InputError
        For an empty bag, bags of different width, and what ``base`` refuses; the message names the bag.

    Notes
    -----
    An item is one bag: an array (points, d) of vectors, or a list of objects, of any size > 0. A Gram matrix costs one
    value of ``base`` for every pair of points, in blocks of bounded memory.

    References
    ----------
    Muandet et al. (2017), "Kernel mean embedding of distributions", equations 3.3 and 3.31; Gretton et al. (2012),
    equation 5 (the biased estimate of MMD).

    Examples
    --------
    >>> from rkhs.kernels import Linear, MeanEmbedding
    >>> MeanEmbedding(Linear())([[[1.0], [3.0]], [[5.0]]])
    array([[ 4., 10.],
           [10., 25.]])
    """

    def __init__(self, base: Kernel | None = None, max_points: int = 1000) -> None:
        self.base = base
        self.max_points = max_points

    @property
    def _base(self) -> Kernel:
        return Gaussian() if self.base is None else self.base

    @property
    def known_psd(self) -> bool:
        """Whether the base kernel is."""
        return self._base.known_psd

    def read(self, X: Any) -> Any:
        """Check every bag; bags of vectors become float64 arrays (points, d)."""
        if not isinstance(self._base, Kernel) or self._base.domain == "gram":
            raise InputError(f"MeanEmbedding.base must be a kernel on vectors or objects; got {self.base!r}")
        bags = [self._bag(bag, i) for i, bag in enumerate(check_items(X))]
        if self._base.domain == "vectors":
            widths = {bag.shape[1] for bag in bags}
            if len(widths) > 1:
                odd = next(i for i, bag in enumerate(bags) if bag.shape[1] != bags[0].shape[1])
                raise InputError(
                    f"MeanEmbedding reads points that all have the same number of columns; bag {odd} has "
                    f"{bags[odd].shape[1]} columns and bag 0 has {bags[0].shape[1]}"
                )
        return bags

    def _bag(self, bag: Any, index: int) -> Any:
        if isinstance(bag, (str, bytes, dict)) or not hasattr(bag, "__len__") or hasattr(bag, "toarray"):
            raise InputError(
                f"MeanEmbedding reads bags, each an array or a list of points; item {index} is a {type(bag).__name__}"
            )
        if len(bag) == 0:
            raise InputError(f"MeanEmbedding reads bags of at least one point; bag {index} is empty. Leave it out")
        if self._base.domain == "objects":
            return check_items(bag)
        try:
            return read_matrix(bag, "MeanEmbedding", "bags of shape (points, d)").numpy()
        except InputError as error:
            raise InputError(f"bag {index}: {error}") from None

    def resolve(self, X: Any, weights: Tensor | None = None) -> MeanEmbedding:
        """Choose the bandwidths of the base kernel on the points of the training bags; see :class:`MeanEmbedding`."""
        count = check_count(self.max_points, "MeanEmbedding.max_points", at_least=2)
        points, owners, _ = self._points(self.read(X))
        w = None if weights is None else weights[owners]
        if len(points) > count:
            rows = np.linspace(0, len(points) - 1, count).round().astype(int)
            points = points[torch.from_numpy(rows)] if isinstance(points, Tensor) else [points[i] for i in rows]
            w = None if w is None else w[torch.from_numpy(rows)]
        unresolved = self._base
        base = unresolved.resolve(points, None if w is None else w / w.sum())
        return self if base is unresolved else MeanEmbedding(base, self.max_points)

    def _points(self, bags: Sequence[Any]) -> tuple[Any, Tensor, Tensor]:
        """All points one after the other, the bag of each, and the sizes of the bags."""
        sizes = torch.tensor([len(bag) for bag in bags])
        owners = torch.repeat_interleave(torch.arange(len(bags)), sizes)
        if self._base.domain == "objects":
            return [point for bag in bags for point in bag], owners, sizes
        return torch.from_numpy(np.concatenate(bags)).to(torch.float64), owners, sizes

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        left, rows, row_sizes = self._points(self.read(X))
        right, columns, column_sizes = (left, rows, row_sizes) if Y is None else self._points(self.read(Y))
        if isinstance(left, Tensor) and left.shape[1] != right.shape[1]:
            raise InputError(
                f"MeanEmbedding reads bags of points of one width; got {left.shape[1]} and {right.shape[1]} columns"
            )
        sums = torch.zeros(len(row_sizes), len(column_sizes), dtype=torch.float64)
        step = max(1, _BLOCK // len(right))
        for start in range(0, len(left), step):
            stop = start + step
            K = self._base._gram(left[start:stop], right).to(torch.float64)
            part = K.new_zeros(len(K), len(column_sizes)).index_add_(1, columns, K)
            sums.index_add_(0, rows[start:stop], part)
        means = sums.div_(row_sizes[:, None]).div_(column_sizes[None, :])
        return (means + means.mT).mul_(0.5) if Y is None else means

    def _diag(self, X: Any) -> Tensor:
        parts = [self._points([bag])[0] for bag in self.read(X)]
        return torch.stack([self._base._gram(part).to(torch.float64).mean() for part in parts])
