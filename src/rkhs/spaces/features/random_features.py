"""Random features: an unbiased estimate of a kernel that needs no data."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_flag
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate, check_memory
from rkhs._core.sparse import SparseItem, from_items
from rkhs._core.stored import check_whole
from rkhs.kernels import (
    ArcCosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    Scaled,
    SparseRows,
    Sum,
    Tanimoto,
)
from rkhs.spaces.features.base import ConcatenatedMap, FeatureMap, Features, LinearMap, no_random_features
from rkhs.spaces.features.fourier import ArcCosineMap, FourierMap, directions
from rkhs.spaces.features.sketch import MinHashMap


class RandomFeatures(Features):
    """Random features whose inner products have the kernel as their mean.

    Fourier features for Gaussian, Laplacian and Matern kernels; random layers for arc-cosine kernels of depth 1;
    random signs of consistent samples for MinMax, and Tanimoto on rows of 0 and 1; the columns themselves, exact and
    beside the ``m`` others, for a linear kernel; sums share ``m`` among their terms.

    Parameters
    ----------
    m : int, default=2000
        Number of features, at least 2 a term; an odd one is rounded up for Fourier features, which come in pairs.
    orthogonal : bool, default=True
        Orthogonal directions within each group of as many as there are columns: the same mean, less variance. Of no
        effect on the L1 Laplacian kernel, on sketches, and on rows of sparse matrices.
    kernel : str, Kernel or None, default=None
        Of the transformer; None: ``"gaussian"``. As a ``storage`` it stays None: the estimator has a kernel.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    map_ : FeatureMap
    kernel_ : Kernel
        Resolved, on 3000 rows at most.

    Raises
    ------
    InputError
        For parameters out of range and kernels without random features.

    Notes
    -----
    ``O(d m)`` an item. The error of one kernel value falls like ``m^{-1/2}``; Nystroem features of as many landmarks
    are better where the spectrum decays fast.

    References
    ----------
    Rahimi and Recht (2007); Yu et al. (2016), section 3, for orthogonal directions; Cho and Saul (2009); Tripp et al.
    (2023), section 3.1.

    Examples
    --------
    >>> from rkhs.features import RandomFeatures
    >>> from sklearn.datasets import load_iris
    >>> RandomFeatures(100).fit_transform(load_iris().data).shape
    (150, 100)
    """

    keeps_items = False

    def __init__(self, m: int = 2000, orthogonal: bool = True, *, kernel: Any = None, random_state: Any = 0) -> None:
        self.m = m
        self.orthogonal = orthogonal
        self.kernel = kernel
        self.random_state = random_state

    def check(self) -> None:
        """Check the parameters; see :meth:`Features.check`."""
        super().check()
        check_flag(self.orthogonal, "RandomFeatures.orthogonal")

    def sample_size(self, n: int) -> int:
        """Rows that bandwidths are resolved on; the features see their number of columns only."""
        return min(n, 3000)

    def build(self, kernel: Kernel, items: Any, rng: np.random.RandomState) -> FeatureMap:
        """Draw the features.

        Parameters
        ----------
        kernel : Kernel
            Resolved.
        items : Tensor of shape (n, d)
            Only their number of columns is read.
        rng : RandomState

        Returns
        -------
        FeatureMap

        Raises
        ------
        InputError
            For a kernel without random features.
        """
        if kernel.domain != "vectors" and kernel.row_width is None:
            raise no_random_features(kernel)
        terms = _terms(kernel, 1.0)
        random = sum(not isinstance(term, Linear) for term, _ in terms)
        each = max(2, self.m // max(random, 1))
        if kernel.row_width is None:
            maps = tuple(self._draw(term, each, items.shape[1], rng) for term, _ in terms)
        else:
            maps = tuple(self._draw_sparse(term, each, rng) for term, _ in terms)
        if len(maps) == 1 and terms[0][1] == 1.0:
            return maps[0]
        return ConcatenatedMap(maps, tuple(weight**0.5 for _, weight in terms))

    def _draw_sparse(self, kernel: Kernel, m: int, rng: np.random.RandomState) -> FeatureMap:
        """Features of rows of a sparse matrix; as there are many columns, directions are nearly orthogonal anyway."""
        if not isinstance(kernel, SparseRows):
            raise no_random_features(kernel)
        if isinstance(kernel.base, Linear):
            raise no_random_features(kernel, ", whose features are the columns themselves, written out")
        d = kernel.width
        what = f"RandomFeatures with m={self.m} on {d} columns"
        advice = "Use a smaller m, or Nystroem, whose landmarks are sparse"
        check_memory(Estimate(what, 24 * m * d, "directions"), advice)
        plain = RandomFeatures(self.m, orthogonal=False)
        return SparseMap(plain._draw(kernel.base, m, d, rng), d)  # type: ignore[arg-type]

    def _draw(self, kernel: Kernel, m: int, d: int, rng: np.random.RandomState) -> FeatureMap:
        if isinstance(kernel, Linear):
            return LinearMap(d, kernel._scale, kernel.offset)
        if isinstance(kernel, (Gaussian, Laplacian, Matern)):
            return FourierMap(self._frequencies(kernel, (m + 1) // 2, d, rng))
        if isinstance(kernel, ArcCosine):
            if kernel.depth != 1:
                raise no_random_features(kernel, " (of depth 1 only)")
            layer = directions(m, d + int(kernel.bias), rng, orthogonal=self.orthogonal)
            return ArcCosineMap(layer, kernel.order, kernel.bias)
        if isinstance(kernel, (MinMax, Tanimoto)):
            return MinHashMap(m, d, int(rng.randint(2**31 - 1)), isinstance(kernel, Tanimoto))
        raise no_random_features(kernel)

    def _frequencies(
        self, kernel: Gaussian | Laplacian | Matern, m: int, d: int, rng: np.random.RandomState
    ) -> np.ndarray:
        """Frequencies from the spectral density: normal, products of Cauchy, or a multivariate t."""
        gamma = kernel._gamma
        if isinstance(kernel, Laplacian) and kernel.norm == "l1":
            return gamma * rng.standard_cauchy((m, d))
        W = directions(m, d, rng, orthogonal=self.orthogonal)
        if isinstance(kernel, Gaussian):
            return (2.0 * gamma) ** 0.5 * W
        degrees = 2.0 * kernel.nu if isinstance(kernel, Matern) else 1.0
        return gamma * W / np.sqrt(rng.chisquare(degrees, (m, 1)) / degrees)


def _terms(kernel: Kernel, weight: float) -> list[tuple[Kernel, float]]:
    """The kernel as a weighted sum of simple ones."""
    if isinstance(kernel, Sum):
        return [pair for part in kernel.parts for pair in _terms(part, weight)]
    if isinstance(kernel, Scaled):
        return _terms(kernel.parts[0], weight * kernel.scale)
    return [(kernel, weight)]


class SparseMap(FeatureMap):
    """Random features of rows of a sparse matrix: those that ``base`` gives of the rows written out in full.

    Parameters
    ----------
    base : FourierMap, ArcCosineMap or MinHashMap
    columns : int
        Number of columns of the rows.

    Raises
    ------
    ValueError
        From scipy, for rows of another width.

    References
    ----------
    Rahimi and Recht (2007), algorithm 1.
    """

    def __init__(self, base: FourierMap | ArcCosineMap | MinHashMap, columns: int) -> None:
        self.base = base
        self.columns = columns

    def check_stored(self) -> None:
        """Random features of so many columns."""
        check_whole("columns", self.columns, 1)
        if not isinstance(self.base, (FourierMap, ArcCosineMap, MinHashMap)):
            raise InputError(f"features of sparse rows must be random ones; got a {type(self.base).__name__}")

    @property
    def width(self) -> int:
        """As the base."""
        return self.base.width

    def raw(self, items: list[SparseItem]) -> Tensor:
        """The features from sparse products, or from the entries of the rows."""
        rows = from_items(items, self.columns)
        if isinstance(self.base, MinHashMap):
            entries = rows.tocoo()
            return self.base.of_entries(entries.row, entries.col, entries.data, len(items))
        given = self.base.frequencies if isinstance(self.base, FourierMap) else self.base.layer
        directions = np.asarray(given)
        products = rows @ directions[:, : self.columns].T
        products += directions[:, self.columns :].sum(1)  # of a bias coordinate, if there is one
        return self.base.of_products(torch.from_numpy(products))
