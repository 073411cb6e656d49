"""Random features: an unbiased estimate of a kernel, without data, by Fourier features, random layers or hashing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import check_flag
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate, check_memory
from rkhs._core.sparse import SparseItem, from_items
from rkhs._core.stored import check_shape, check_types, check_whole
from rkhs.kernels import (
    ArcCosine,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    MinMax,
    SparseRows,
    Tanimoto,
)
from rkhs.kernels.combined.sums_and_products import weighted_terms
from rkhs.kernels.objects.parts import mix
from rkhs.spaces.features.base import ConcatenatedMap, FeatureMap, Features, LinearMap, no_random_features

_HASHES = 16  # functions of MinHashMap that are drawn and evaluated together


class RandomFeatures(Features):
    """Random features whose inner products have the kernel as their mean.

    Fourier features for Gaussian, Laplacian and Matern kernels; random layers for arc-cosine kernels of depth 1;
    random signs of consistent samples for MinMax, and Tanimoto on rows of 0 and 1; the columns themselves, exact and
    next to the ``m`` others, for a linear kernel; sums share ``m`` among their terms.

    Parameters
    ----------
    m : int, default=2000
        Number of features, at least 2 per term; an odd one is rounded up for Fourier features, which come in pairs.
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
    ``O(d m)`` per item. The error of one kernel value falls like ``m^{-1/2}``; Nystroem features of as many landmarks
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
        terms = weighted_terms(kernel)
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
            layer = _directions(m, d + int(kernel.bias), rng, orthogonal=self.orthogonal)
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
        W = _directions(m, d, rng, orthogonal=self.orthogonal)
        if isinstance(kernel, Gaussian):
            return (2.0 * gamma) ** 0.5 * W
        degrees = 2.0 * kernel.nu if isinstance(kernel, Matern) else 1.0
        return gamma * W / np.sqrt(rng.chisquare(degrees, (m, 1)) / degrees)


def _directions(count: int, d: int, rng: np.random.RandomState, *, orthogonal: bool) -> np.ndarray:
    """Standard normal vectors, shape (count, d); orthogonal within each group of ``d``, each still standard normal."""
    if not orthogonal:
        return rng.standard_normal((count, d))
    groups = []
    for start in range(0, count, d):
        Q, R = np.linalg.qr(rng.standard_normal((d, d)))
        groups.append((Q * np.sign(R.diagonal()))[: count - start])
    return np.concatenate(groups) * np.sqrt(rng.chisquare(d, (count, 1)))


class FourierMap(FeatureMap):
    """``F(x) = m^{-1/2} [cos(W x), sin(W x)]`` with ``m`` random frequencies: ``E F(x)^T F(y) = k(x - y)``.

    Parameters
    ----------
    frequencies : array of shape (m, d)
        Drawn from the spectral density of the kernel.

    Raises
    ------
    RuntimeError
        From torch, for items of another width.

    References
    ----------
    Rahimi and Recht (2007), algorithm 1, with pairs of cosine and sine in place of random phases.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.features import FourierMap
    >>> F = FourierMap(np.random.default_rng(0).normal(size=(20000, 1)))
    >>> x, y = F.features(torch.tensor([[0.0], [1.0]], dtype=torch.float64))
    >>> round(float(x @ y), 1)  # near exp(-1/2)
    0.6
    """

    def __init__(self, frequencies: Any) -> None:
        self.frequencies = frequencies

    def check_stored(self) -> None:
        """Rows of numbers."""
        check_shape("frequencies", self.frequencies, None, None)

    @property
    def reads(self) -> int:
        """Columns of the frequencies."""
        return len(self.frequencies[0])

    @property
    def width(self) -> int:
        """Two features per frequency."""
        return 2 * len(self.frequencies)

    def raw(self, items: Tensor) -> Tensor:
        """Cosines, then sines."""
        return self.of_products(items @ tensor_like(self.frequencies, items).mT)

    def of_products(self, phase: Tensor) -> Tensor:
        """The features from inner products with the frequencies, shape (k, m)."""
        m = phase.shape[1]
        out = phase.new_empty(len(phase), 2 * m)
        torch.cos(phase, out=out[:, :m])
        torch.sin(phase, out=out[:, m:])
        return out.mul_(m**-0.5)


class ArcCosineMap(FeatureMap):
    """``F(x) = sqrt(2 / m) a(W x)`` with a random layer ``W`` of rectifiers or steps ``a``.

    Parameters
    ----------
    layer : array of shape (m, d)
        Standard normal rows; ``d`` counts the bias coordinate.
    order : {0, 1}
        0: steps, 1: rectifiers.
    bias : bool
        Append a constant coordinate 1 to every item.

    Raises
    ------
    RuntimeError
        From torch, for items of another width.

    References
    ----------
    Cho and Saul (2009), equation 1.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.features import ArcCosineMap
    >>> F = ArcCosineMap(np.random.default_rng(0).normal(size=(20000, 2)))
    >>> x = F.features(torch.tensor([[3.0, 4.0]], dtype=torch.float64))
    >>> round(float(x @ x.T))  # near k(x, x) = ||x||^2
    25
    """

    order: int
    bias: bool

    def __init__(self, layer: Any, order: int = 1, bias: bool = False) -> None:
        self.layer = layer
        self.order = order
        self.bias = bias

    def check_stored(self) -> None:
        """Rows of numbers."""
        check_shape("layer", self.layer, None, None)
        check_types(ArcCosineMap, {"order": self.order, "bias": self.bias})

    @property
    def reads(self) -> int:
        """Columns of the layer, without the bias."""
        return len(self.layer[0]) - int(self.bias)

    @property
    def width(self) -> int:
        """Count one feature per unit."""
        return len(self.layer)

    def raw(self, items: Tensor) -> Tensor:
        """Outputs of the units."""
        A = torch.cat([items, items.new_ones(len(items), 1)], 1) if self.bias else items
        return self.of_products(A @ tensor_like(self.layer, items).mT)

    def of_products(self, U: Tensor) -> Tensor:
        """The features from inner products with the layer, shape (k, m), which are overwritten."""
        active = U.clamp_min_(0.0) if self.order == 1 else (U > 0.0).to(U.dtype)
        return active.mul_((2.0 / len(self.layer)) ** 0.5)


class MinHashMap(FeatureMap):
    """Features ``F_h(x) = m^{-1/2} s_h(sample_h(x))`` with random signs ``s_h``: ``E F(x)^T F(y) = MinMax(x, y)``.

    Two items draw the same consistent weighted sample with the probability ``MinMax(x, y)``; then their signs agree,
    otherwise they are independent. On rows of 0 and 1 MinMax is the Tanimoto kernel.

    Parameters
    ----------
    m : int
        Number of features.
    columns : int
        Number of input columns.
    seed : int
        Of the hash functions, which are redrawn at every use: the map stores no table.
    binary : bool, default=False
        Refuse entries other than 0 and 1, for which MinMax is not the Tanimoto kernel.

    Raises
    ------
    InputError
        For a negative entry, or one that is not 0 or 1 with ``binary``.

    Notes
    -----
    Work: ``m`` times the number of non-zero entries.

    References
    ----------
    Ioffe (2010), algorithm 1; Tripp et al. (2023), section 3.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.features import MinHashMap
    >>> x, y = MinHashMap(20000, 4).features(torch.tensor([[1.0, 2.0, 0.0, 1.0], [2.0, 1.0, 1.0, 0.0]]))
    >>> round(float(x @ y), 1)  # MinMax: 2 / 6
    0.3
    """

    def __init__(self, m: int, columns: int, seed: int = 0, binary: bool = False) -> None:
        self.m = m
        self.columns = columns
        self.seed = seed
        self.binary = binary

    def check_stored(self) -> None:
        """Whole numbers."""
        for name in ("m", "columns"):
            check_whole(name, getattr(self, name), 1)
        check_whole("seed", self.seed, 0)

    @property
    def reads(self) -> int:
        """As many columns as it was drawn for."""
        return self.columns

    @property
    def width(self) -> int:
        """Number of hash functions."""
        return self.m

    def raw(self, items: Tensor) -> Tensor:
        """Signs over the root of their number."""
        X = items.cpu().numpy()
        rows, columns = np.nonzero(X)
        return self.of_entries(rows, columns, X[rows, columns], len(X)).to(items)

    def of_entries(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, n: int) -> Tensor:
        """Features of ``n`` rows from their non-zero entries, row by row."""
        if self.binary and not bool((values == 1.0).all()):
            raise InputError(
                "random features of Tanimoto need rows of 0 and 1; got other numbers. Use MinMax, or Nystroem"
            )
        if not bool((values > 0.0).all()):
            raise InputError("random features of MinMax need numbers >= 0; got a negative one. Shift the columns")
        logs = np.log(values)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        owners = rows[starts]
        out = np.empty((n, self.m))
        for first in range(0, self.m, _HASHES):
            hashes = np.arange(first, min(first + _HASHES, self.m))
            column, level = self._samples(hashes, columns, logs, starts)
            # Items of zeros have no sample; all get one extra column, so that they agree.
            chosen = np.full((len(hashes), n), self.columns, dtype=np.int64)
            levels = np.zeros((len(hashes), n), dtype=np.int64)
            chosen[:, owners], levels[:, owners] = column, level
            out[:, hashes] = self._signs(hashes[:, None], chosen, levels).T
        return torch.from_numpy(out * self.m**-0.5)

    def _samples(
        self, hashes: np.ndarray, columns: np.ndarray, logs: np.ndarray, starts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sampled column and level of every item that has entries, each of shape (hashes, items)."""
        rng = np.random.Generator(np.random.Philox(key=[self.seed, int(hashes[0])]))
        size = (_HASHES, self.columns)
        r, c, beta = rng.gamma(2.0, size=size), rng.gamma(2.0, size=size), rng.random(size=size)
        r, c, beta = (part[: len(hashes)][:, columns] for part in (r, c, beta))
        level = np.floor(logs / r + beta)
        score = np.log(c) - r * (level - beta + 1.0)
        if not len(starts):
            return np.empty((len(hashes), 0), np.int64), np.empty((len(hashes), 0), np.int64)
        least = np.minimum.reduceat(score, starts, axis=1)
        lengths = np.diff(np.append(starts, len(columns)))
        is_least = score == np.repeat(least, lengths, axis=1)
        position = np.where(is_least, np.arange(len(columns)), len(columns))
        winner = np.minimum.reduceat(position, starts, axis=1)
        return columns[winner], np.take_along_axis(level, winner, axis=1).astype(np.int64)

    def _signs(self, hashes: np.ndarray, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Signs that are a fixed random function of hash, column and level."""
        with np.errstate(over="ignore"):
            state = mix(hashes.astype(np.uint64) + mix(np.full((1, 1), self.seed, np.uint64)))
            state = mix(state ^ columns.astype(np.uint64))
            state = mix(state + levels.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        return np.where(state >> np.uint64(63), 1.0, -1.0)


class SparseMap(FeatureMap):
    """Random features of rows of a sparse matrix: those of ``base`` on dense rows.

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

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.features import RandomFeatures
    >>> from scipy.sparse import csr_array
    >>> features = RandomFeatures(50, kernel="gaussian").fit(csr_array(np.eye(3)))
    >>> type(features.map_).__name__, features.transform(csr_array(np.eye(3))).shape
    ('SparseMap', (3, 50))
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
        """Equals that of the base."""
        return self.base.width

    def raw(self, items: list[SparseItem]) -> Tensor:
        """The features from sparse products, or from the entries of the rows."""
        rows = from_items(items, self.columns)
        if isinstance(self.base, MinHashMap):
            entries = rows.tocoo()
            return self.base.of_entries(entries.row, entries.col, entries.data, len(items))
        weights = np.asarray(self.base.frequencies if isinstance(self.base, FourierMap) else self.base.layer)
        products = rows @ weights[:, : self.columns].T
        products += weights[:, self.columns :].sum(1)  # of a bias coordinate, if there is one
        return self.base.of_products(torch.from_numpy(products))
