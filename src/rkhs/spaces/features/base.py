"""Base classes: feature maps, and the transformers that choose one and serve as storage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from rkhs._core.arrays import give_back, is_sparse, read_rows, tensor_like, to_tensor
from rkhs._core.checks import check_count, check_gram, check_seed, check_squares
from rkhs._core.config import ClassNamePrefixFeaturesOutMixin, Configurable, TransformerMixin
from rkhs._core.copies import same_items
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate, check_memory
from rkhs._core.ownership import WholeFits, private_copy
from rkhs._core.sparse import compressed
from rkhs._core.stored import check_shape, check_types, check_whole
from rkhs.kernels.base import Kernel
from rkhs.kernels.combined.sparse_rows import on_sparse_rows
from rkhs.kernels.registry import as_kernel, reads_gram

RESOLVE = 3000  # bandwidths are resolved on at most this many rows: a median takes all pairs
_TILE = 4096


class FeatureMap(Configurable):
    """A fixed map ``F`` from items to vectors with ``F(x)^T F(y)`` equal to, or near, ``k(x, y)``.

    ``F = raw W``. The cheap part ``raw`` is evaluated tile by tile. The small matrix ``W``, of shape (width, dim), is
    applied to parameters only, so that the n x width block is never multiplied by it.

    References
    ----------
    Williams and Seeger (2001), for landmarks; Rahimi and Recht (2007), for random features.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.features import Nystroem
    >>> from rkhs.kernels import Gaussian
    >>> X = torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64)
    >>> F = Nystroem(3).build(Gaussian(1.0), X, np.random.RandomState(0))
    >>> bool(torch.allclose(F.features(X) @ F.features(X).T, Gaussian(1.0)(X)))
    True
    """

    whole: ClassVar[bool] = False
    """Whether raw features are kernel values with all training items, so that results in their span are exact."""

    @property
    def kept(self) -> Any:
        """Items whose kernel values are the raw features, in the form that files hold; None for other features."""
        return None

    def support(self, like: Tensor) -> Any:
        """:attr:`kept` in the form that the kernel reads, vectors with the dtype and on the device of a tensor."""
        raise InputError(f"{type(self).__name__} keeps no training items; use storage='dense' or Nystroem(m)")

    def holds(self, items: Any) -> np.ndarray:
        """Whether each of a tile of items is one of those that are kept, shape (m,)."""
        return np.zeros(len(items), dtype=bool)

    def kept_raw(self) -> Tensor | None:
        """Raw features of the kept items, shape (width, width), in float64; None where none are known."""
        return None

    def in_file(self) -> FeatureMap:
        """The map as a model file holds it, without what it can recompute."""
        return self

    @property
    def reads(self) -> int | None:
        """Number of columns of the vectors that are read; None for other items, or any number."""
        return None

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns of :meth:`raw`."""

    @property
    def dim(self) -> int:
        """Number of features."""
        return self.width

    @property
    def row_size(self) -> int:
        """Numbers per row that are in memory while features are evaluated."""
        return self.width

    @abstractmethod
    def raw(self, items: Any) -> Tensor:
        """The cheap part of the features of a tile of items, a new tensor of shape (m, width)."""

    def times(self, items: Any, C: Tensor) -> Tensor:
        """``raw(items) C`` of shape (m, p), for coefficients (width, p)."""
        return self.raw(items).to(C) @ C

    def whiten(self, V: Tensor) -> Tensor:
        """``W V`` of shape (width, p) for ``V`` of shape (dim, p)."""
        return V

    def whiten_adjoint(self, G: Tensor) -> Tensor:
        """``W^T G`` of shape (dim, p) for ``G`` of shape (width, p)."""
        return G

    def raw_of(self, F: Tensor) -> Tensor:
        """Raw features (m, width) of elements of the span, such as means, with features ``F`` of shape (m, dim)."""
        return F

    def features(self, items: Any) -> Tensor:
        """Features of a tile of items, shape (m, dim)."""
        return self.whiten_adjoint(self.raw(items).mT).mT


class KernelValues(FeatureMap):
    """Features whose raw part is the kernel values with the items that are kept."""

    kernel: Kernel

    @property
    def reads(self) -> int | None:
        """Columns of the kept vectors."""
        return len(self.kept[0]) if self.kernel.domain == "vectors" else None

    def support(self, like: Tensor) -> Any:
        """The kept items in the form that the kernel reads."""
        return tensor_like(self.kept, like) if self.kernel.domain == "vectors" else self.kept

    def raw(self, items: Any) -> Tensor:
        """``k(x, X)`` with the kept items ``X``."""
        return self.kernel._gram(items, self.support(items) if isinstance(items, Tensor) else self.kept)

    def holds(self, items: Any) -> np.ndarray:
        """Whether each of a tile of items is one of those that are kept, shape (m,); of a Gram matrix none is."""
        if self.kept is None:
            return np.zeros(len(items), dtype=bool)
        items = items.double() if isinstance(items, Tensor) else items
        kept = self.support(items) if isinstance(items, Tensor) else self.kept
        parts = self.kernel._gram(items, kept), self.kernel._diag(items), self.kernel._diag(kept)
        return np.asarray(same_items(*(part.cpu().double() for part in parts)).any(1).numpy())


def check_items_stored(kernel: Any, items: Any, n: int) -> None:
    """Refuse items of a file that are not ``n`` of those that a resolved kernel reads."""
    if not isinstance(kernel, Kernel):
        raise InputError(f"items of a model file need a kernel; got a {type(kernel).__name__}")
    if kernel.domain == "gram":
        fits = items is None
    elif kernel.domain == "vectors":
        check_shape("items", items, n, None)
        fits = items is not None
    else:
        fits = isinstance(items, list) and len(items) == n == len(kernel.read(items))
    if not fits:
        raise InputError(f"a model file must hold the {n} items that {kernel!r} reads; got others")
    if items is not None:
        check_resolved(kernel, items)


def check_resolved(kernel: Kernel, items: Any) -> None:
    """Refuse a kernel of a file whose parameters are none, or still depend on data, or that cannot read its items."""
    sample = torch.tensor(items[:2]) if kernel.domain == "vectors" else items[:2]  # in the precision of the model
    if kernel.resolve(sample) != kernel:
        raise InputError(f"a kernel of a model file must have numbers for its parameters; got {kernel!r}")
    kernel._gram(sample)


def check_kernel_stored(kernel: Kernel, features: FeatureMap) -> None:
    """Refuse a kernel of a file that does not read the items of its features."""
    if features.kept is not None:
        check_resolved(kernel, features.kept)
    elif features.reads is not None:
        check_resolved(kernel, np.eye(2, features.reads))


class LinearMap(FeatureMap):
    """The exact features ``sqrt(scale) (x - offset)`` of a linear kernel.

    Parameters
    ----------
    columns : int
        Number of input columns.
    scale : float
    offset : array of shape (d,), optional

    Raises
    ------
    RuntimeError
        From torch, for items of another width.

    References
    ----------
    Scholkopf and Smola (2002), section 2.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.features import LinearMap
    >>> LinearMap(2, scale=4.0, offset=[1.0, 1.0]).features(torch.tensor([[2.0, 3.0]]))
    tensor([[2., 4.]])
    """

    scale: float

    def __init__(self, columns: int, scale: float = 1.0, offset: Any = None) -> None:
        self.columns = columns
        self.scale = scale
        self.offset = offset

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_whole("columns", self.columns, 1)
        check_types(LinearMap, {"scale": self.scale})
        check_shape("offset", self.offset, self.columns)

    @property
    def reads(self) -> int:
        """Equals ``columns``."""
        return self.columns

    @property
    def width(self) -> int:
        """Number of columns of the inputs."""
        return self.columns

    def raw(self, items: Tensor) -> Tensor:
        """Shifted and scaled columns."""
        shifted = items if self.offset is None else items - tensor_like(self.offset, items)
        return shifted * self.scale**0.5


class EvaluatedMap(FeatureMap):
    """A map whose items are rows of precomputed raw features, so that slow kernels are evaluated once."""

    def __init__(self, base: FeatureMap) -> None:
        self.base = base

    @property
    def width(self) -> int:
        """Equals that of the base map."""
        return self.base.width

    @property
    def dim(self) -> int:
        """Equals that of the base map."""
        return self.base.dim

    def raw(self, items: Tensor) -> Tensor:
        """A copy of the items."""
        return items.clone()

    def whiten(self, V: Tensor) -> Tensor:
        """Apply ``W`` of the base map."""
        return self.base.whiten(V)

    def whiten_adjoint(self, G: Tensor) -> Tensor:
        """Apply ``W^T`` of the base map."""
        return self.base.whiten_adjoint(G)


class ConcatenatedMap(FeatureMap):
    """Features side by side, each times its factor: the features of a weighted sum of kernels.

    Parameters
    ----------
    maps : tuple of FeatureMap
        Each with ``W = I``.
    factors : tuple of float
        Of the features, the roots of the weights of the kernels.

    Raises
    ------
    ValueError
        If there are not as many factors as maps.

    References
    ----------
    Scholkopf and Smola (2002), proposition 13.1.

    Examples
    --------
    >>> import torch
    >>> from rkhs.features import ConcatenatedMap, LinearMap
    >>> F = ConcatenatedMap([LinearMap(2), LinearMap(2)], [1.0, 2.0])
    >>> F.features(torch.tensor([[1.0, 3.0]]))
    tensor([[1., 3., 2., 6.]])
    """

    def __init__(self, maps: Sequence[FeatureMap], factors: Sequence[float]) -> None:
        self.maps = maps
        self.factors = factors

    def check_stored(self) -> None:
        """Refuse another number of factors than maps, and maps of different inputs."""
        if not all(isinstance(each, FeatureMap) for each in self.maps) or len(self.maps) != len(self.factors):
            raise InputError("concatenated feature maps must have one factor each")
        if len({each.reads for each in self.maps}) != 1:
            raise InputError("concatenated feature maps must read vectors of one width")
        check_shape("factors", np.array(self.factors), len(self.maps))

    @property
    def reads(self) -> int | None:
        """Equals that of each map."""
        return self.maps[0].reads

    @property
    def width(self) -> int:
        """Sum of the widths."""
        return sum(each.width for each in self.maps)

    def raw(self, items: Any) -> Tensor:
        """Columns of every map."""
        return torch.cat([f * each.raw(items) for each, f in zip(self.maps, self.factors, strict=True)], 1)


@runtime_checkable
class Storage(Protocol):
    """What ``storage=`` takes besides ``"dense"``: a choice of features, whatever its class.

    ``m`` is the number of landmarks or random features. ``keeps_items`` says whether raw features are kernel values
    with training items: a model can then return to these.

    Examples
    --------
    >>> from rkhs.features import Nystroem, RandomFeatures, Storage
    >>> isinstance(Nystroem(50), Storage), isinstance(RandomFeatures(50), Storage), isinstance("dense", Storage)
    (True, True, False)
    """

    m: int
    random_state: Any
    keeps_items: bool

    def check(self) -> None:
        """Raise an ``InputError`` for parameters out of range."""

    def sample_size(self, n: int) -> int:
        """How many of ``n`` training items :meth:`build` needs; they also resolve bandwidths."""

    def build(self, kernel: Kernel, items: Any, rng: np.random.RandomState) -> FeatureMap:
        """Choose the features of a resolved kernel from (a sample of) the training items."""


def most_features(storage: Storage, items: Any) -> int:
    """The largest number of features that a storage may choose for these items."""
    return min(storage.m, len(items)) if storage.keeps_items else storage.m + _columns(items)


def check_sample_memory(storage: Storage, items: Any) -> None:
    """Refuse features that do not fit into memory, before they are drawn."""
    n, m = len(items), most_features(storage, items)
    squares = 3 if storage.keeps_items else 0  # the Gram matrix of landmarks and its factor
    n_bytes = 8 * m * (squares * m + 3 * _columns(items) + 2 * min(n, _TILE))
    what = f"{type(storage).__name__} with m={storage.m} on n={n} rows"
    check_memory(Estimate(what, n_bytes, "what is drawn, and features of a block"), "Use a smaller m")


def _columns(items: Any) -> int:
    return items.shape[1] if isinstance(items, Tensor) else 0


class Features(ClassNamePrefixFeaturesOutMixin, TransformerMixin, WholeFits, Configurable):
    """A choice of features: a transformer in its own right, and a ``storage=`` of the estimators.

    A row ``x`` becomes ``F(x)``, shape (dim,), with ``F(x)^T F(y)`` equal to, or near, ``k(x, y)``.
    A subclass has the parameters ``m``, ``kernel`` and ``random_state`` and gives :meth:`build`.

    References
    ----------
    Williams and Seeger (2001), for landmarks; Rahimi and Recht (2007), for random features.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.features import Features, Nystroem, RandomFeatures
    >>> from sklearn.datasets import load_iris
    >>> isinstance(Nystroem(20), Features), isinstance(RandomFeatures(20), Features)
    (True, True)
    >>> KernelPCA(2, storage=RandomFeatures(200)).fit(load_iris().data).codes_.shape
    (150, 2)
    """

    m: int
    kernel: Any
    random_state: Any
    keeps_items: bool = True

    @abstractmethod
    def build(self, kernel: Kernel, items: Any, rng: np.random.RandomState) -> FeatureMap:
        """Choose the features of a resolved kernel from (a sample of) the training items."""

    def sample_size(self, n: int) -> int:
        """How many of ``n`` training items :meth:`build` needs."""
        return n

    def check(self) -> None:
        """Check the parameters.

        Raises
        ------
        InputError
            Naming the one that is out of range.
        """
        check_count(self.m, f"{type(self).__name__}.m")
        check_seed(self.random_state, f"{type(self).__name__}.random_state")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = reads_gram(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.map_.dim)

    def fit(self, X: Any, y: Any = None) -> Features:
        """Choose the features.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : ignored

        Returns
        -------
        self
        """
        self.check()
        kernel = as_kernel("gaussian" if self.kernel is None else self.kernel)
        if is_sparse(X):
            kernel = on_sparse_rows(kernel, X.shape[-1])
        items = self._read(X, kernel, reset=True)
        check_sample_memory(self, items)
        rng = check_seed(self.random_state)
        rows = sample_rows(len(items), self.sample_size(len(items)), rng)
        if kernel.domain != "gram":
            items = pick(items, rows)
        self.kernel_: Kernel = resolve_subsampled(kernel, items, None)
        self.map_: FeatureMap = self.build(self.kernel_, items, rng)
        return self

    def transform(self, X: Any) -> Any:
        """Features of items.

        Parameters
        ----------
        X : array (k, d), kernel values (k, n) for ``kernel="precomputed"``, or list of k objects

        Returns
        -------
        ndarray of shape (k, dim)
            A tensor if ``X`` is one.
        """
        check_is_fitted(self)
        items = self._read(X, self.kernel_, reset=False)
        tiles = [self.map_.features(items[i : i + _TILE]) for i in range(0, len(items), _TILE)]
        with np.errstate(over="ignore"):  # refused just below
            found = torch.cat(tiles).numpy().astype(self._input_dtype, copy=False)
        if not np.isfinite(found).all():
            raise InputError(f"X has too large values: its features do not fit into {found.dtype}; rescale the data")
        return give_back(found, X)

    def _read_objects(self, X: Any, kernel: Kernel, *, reset: bool) -> Any:
        """Objects, or rows of a sparse matrix, in the form that the kernel reads."""
        if kernel.row_width is not None:
            check_squares(X, "X", "float64")
        if reset:
            self._input_dtype = X.dtype if kernel.row_width is not None else np.dtype(np.float64)
        return private_copy(kernel.read(X))

    def _read(self, X: Any, kernel: Kernel, *, reset: bool) -> Any:
        """Data in the form that the kernel reads, in float64."""
        if kernel.row_width is not None and is_sparse(X):
            X = compressed(X)
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=X.dtype)
        elif kernel.row_width is not None:
            X = read_rows(self, X, reset=reset)
        if kernel.domain == "objects":
            return self._read_objects(X, kernel, reset=reset)
        array = read_rows(self, X, reset=reset)
        if reset:
            self._input_dtype = array.dtype
        if kernel.domain == "gram" and reset:
            array = check_gram(array, "X (kernel='precomputed')")
        elif kernel.domain != "gram":
            check_squares(array, "X", "float64")
        return to_tensor(array, torch.float64, torch.device("cpu"))


def sample_rows(n: int, size: int, rng: np.random.RandomState) -> np.ndarray | None:
    """Indices of ``size`` rows drawn without replacement, None if that is all of them."""
    return None if size >= n else np.sort(rng.choice(n, size, replace=False))


def subsampled(items: Tensor, count: int = RESOLVE) -> Tensor:
    """Return at most ``count`` evenly spaced rows; by default 3000, as the median of a bandwidth takes all pairs."""
    n = len(items)
    return items if n <= count else items[torch.arange(count) * n // count]


def resolve_subsampled(kernel: Kernel, items: Any, weights: Tensor | None) -> Kernel:
    """Turn data-dependent parameters into numbers, on 3000 rows at most: a median takes all pairs."""
    if kernel.domain != "vectors" and kernel.row_width is None:
        return kernel.resolve(items, weights)
    kept = subsampled(torch.arange(len(items)))
    if len(kept) < len(items):
        items = pick(items, kept.numpy())
        weights = None if weights is None else weights[kept] / weights[kept].sum()
    return kernel.resolve(items, weights)


def pick(items: Any, rows: np.ndarray | Tensor | None) -> Any:
    """Rows of a tensor or of a list; None: all."""
    if rows is None:
        return items
    return [items[i] for i in rows] if isinstance(items, list) else items[torch.as_tensor(rows)]


def no_random_features(kernel: Kernel, why: str = "") -> InputError:
    """Return the error for a kernel without random features; it names the storage to use."""
    name = type(kernel).__name__ if kernel.domain == "gram" else repr(kernel)  # its diagonal is as long as the data
    return InputError(
        f"RandomFeatures knows no features of {name}{why}; it takes Gaussian, Laplacian, Matern, Linear, ArcCosine "
        "of depth 1, Tanimoto on rows of 0 and 1, MinMax, and their sums. Use Nystroem, which takes every kernel"
    )
