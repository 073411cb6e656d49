"""How the items of a fit were read: kept in the model file, so that new items are read in the same way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names
from torch import Tensor

from rkhs._core.arrays import (
    check_items,
    column_names,
    cut_rows,
    frame_of_dicts,
    in_order_of,
    is_curves,
    is_frame,
    is_sparse,
    read_curves,
    read_numbers,
    read_rows,
    row_count,
    tiles,
    to_tensor,
    warn_of_one_column,
)
from rkhs._core.checks import check_gram, check_spread, check_squares
from rkhs._core.errors import InputError, quote, warn
from rkhs._core.ownership import private_copy, unshared
from rkhs._core.stored import Stored, check_places, check_shape, check_whole
from rkhs.engines.sources import as_rows, is_stream
from rkhs.estimators.given_matrices import (
    MOST_IN_BOUND,
    bound_of,
    kernel_leaves,
    new_matrix,
    read_sparse,
    scalar_kernels,
    spread_places,
    training_matrix,
)
from rkhs.estimators.options.arguments import TABLES
from rkhs.estimators.run import items_bytes
from rkhs.kernels.objects.molecules import FINGERPRINTS
from rkhs.kernels.vectors.functional import check_grid, check_times, grid_weights, quadrature_weights
from rkhs.spaces.features import FilledTable

if TYPE_CHECKING:
    from rkhs.engines import Rows
    from rkhs.estimators.training import RowWeights
    from rkhs.kernels import Kernel, OperatorKernel
    from rkhs.spaces.features import Storage


_OF_KERNEL = (
    "kernel values",
    "make them of distances by the formula of the fit, or fit on distances: rkhs fit FILE --gram reads these",
)
_OF_DISTANCES = "distances", "the model makes kernel values of them"
_NEARLY_ALL, _ENOUGH_ROWS = 0.9, 5  # share of rows that are no distances; rows that show kernel values
_NO_ITEM_NEAR = 0.3  # what several items explain of a new one, beyond the nearest


@dataclass(frozen=True, eq=False)
class ColumnScaling(Stored):
    """``(x - mean) / scale`` for each column, and its inverse; a constant column becomes zero.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    scale : ndarray of shape (d,)
        Positive; standard deviations for ``columns="scaled"``.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.estimators import ColumnScaling
    >>> scaling = ColumnScaling.of(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> scaling.apply(np.array([[3.0, 5.0]]))
    array([[1., 0.]])
    """

    mean: np.ndarray  # (d,): of float64; the scales are positive
    scale: np.ndarray  # (d,)

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray | None = None) -> ColumnScaling:
        """Means and standard deviations of the columns of ``X`` (n, d), by weights (n,) that sum to one."""
        wide = X.astype(np.float64, copy=False)
        mean = wide.mean(0) if weights is None else weights @ wide
        scale = (wide - mean).std(0) if weights is None else np.sqrt(weights @ (wide - mean) ** 2)
        # The deviation of a constant column is the rounding error of its mean.
        rounding = 10.0 * np.finfo(np.float64).eps * np.abs(wide).max(0)
        return cls(mean, np.where(scale > rounding, scale, 1.0))

    @classmethod
    def of_weights(cls, weights: np.ndarray) -> ColumnScaling:
        """Scaling after which a sum of squares over columns is the sum with these weights of shape (d,)."""
        return cls(np.zeros(len(weights)), weights**-0.5)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Scaled rows, shape (m, d), of float64 whatever the dtype of ``X``."""
        return (X - self.mean) / self.scale

    def undo(self, X: np.ndarray) -> np.ndarray:
        """Rows in the units of the columns, shape (m, d), of the dtype of ``X``."""
        return (X * self.scale + self.mean).astype(X.dtype, copy=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Reader(Stored):
    """How the items of a fit were read; new items are read in the same way, with the kernel of the fitted model.

    The attribute ``reader_`` of a fitted estimator. Set by ``fit``; users do not make one.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> model = KernelPCA(1, columns="scaled").fit([[1.0, 40.0], [2.0, 10.0], [3.0, 70.0]])
    >>> model.reader_.n_items, model.reader_.scaling.mean
    (3, array([ 2., 40.]))
    """

    dtype: np.dtype  # of the results
    n_items: int = 0  # how many were given
    kept: np.ndarray | None = None  # indices of the items of positive weight; None: all
    grid: np.ndarray | None = None  # sampling times of the curves, and of their targets; None if the data had none
    target_grid: np.ndarray | None = None
    scaling: ColumnScaling | None = None  # None: columns are read as they are
    filling: FilledTable | None = None  # how a table with texts and gaps becomes numbers
    fingerprint: dict[str, Any] | None = None  # how molecules become bits
    view_weights: np.ndarray | None = None  # of several Gram matrices
    bound: np.ndarray | None = None  # (s, s): no row of kernel values with s items is longer than one after it
    distance_scale: float | None = None  # new rows are distances d, whose kernel values are exp(-d / distance_scale)
    capitals: bool | None = None  # True: all texts of a kernel of letters were capital ones, and small ones become such

    def check_stored(self) -> None:
        """Raise InputError for invalid fingerprint options."""
        recipe = self.fingerprint
        if recipe is not None and (
            recipe.get("name") not in ("counts", *FINGERPRINTS)
            or not all(type(recipe.get(size)) is int for size in ("radius", "n_bits"))
        ):
            raise InputError(
                f"fingerprint in a model file must have a name among {('counts', *FINGERPRINTS)} and integers radius "
                f"and n_bits; got {recipe!r:.80}"
            )

    @classmethod
    def fit(
        cls,
        estimator: BaseEstimator,
        X: Any,
        kernel: Kernel | OperatorKernel,
        *,
        weights: RowWeights | None = None,
        at_least: int = 2,
        storage: Storage | str | None = None,
    ) -> tuple[Reader, Any]:
        """Check training data and convert them to the form that the kernel reads, as a private copy.

        ``weights`` are those of the rows of ``X``; None: equal, or rows of a file.
        """
        streamed = streams(X, kernel, storage)
        sparse = kernel.row_width is not None
        if estimator._columns != "raw":
            _refuse_columns(estimator._columns, "stream" if streamed else "sparse" if sparse else kernel.domain)
        if streamed:
            return cls._of_stream(estimator, as_rows(X), np.dtype(getattr(X, "dtype", np.float64)))
        if not sparse and kernel.domain != "objects":
            return cls._of_matrix(estimator, X, kernel, weights, at_least, storage)
        dtype, capitals = np.dtype(np.float64), None
        if sparse:
            rows = _checked(estimator, read_sparse(estimator, X, reset=True, at_least=at_least), fitting=True)
            _warn_of_columns(estimator, rows, kernel, weights)
            dtype, items = rows.dtype, kernel.read(rows)
        else:
            read = check_items(X, at_least=at_least)
            items = private_copy(kernel.read(read))
            _name_features(estimator, X, items)
            capitals = _are_capitals(kernel, read)
        estimator._announce_dense((len(items), 0), storage, items_bytes(kernel, items))
        return cls(dtype=dtype, grid=times_of(X), capitals=capitals), items

    @classmethod
    def _of_stream(cls, estimator: BaseEstimator, rows: Rows, dtype: np.dtype) -> tuple[Reader, Rows]:
        """Training rows that are read block by block from a file or memory map."""
        estimator.n_features_in_ = rows.shape[1]
        return cls(dtype=dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)), rows

    @classmethod
    def _of_matrix(
        cls,
        estimator: BaseEstimator,
        X: Any,
        kernel: Kernel | OperatorKernel,
        weights: RowWeights | None,
        at_least: int,
        storage: Storage | str | None,
    ) -> tuple[Reader, Tensor]:
        columns, gram = estimator._columns, kernel.domain == "gram"
        shares = None if weights is None else weights.shares
        grid = times_of(X)
        scaling = _integral(grid, kernel) if columns == "integral" else None
        X, fingerprint, view_weights = training_matrix(X, kernel, shares)
        filling = _table(estimator, columns, X, weights) if columns in TABLES else None
        X = X if filling is None else filling.transform(X)
        shape: Any = getattr(X, "shape", ())
        known = len(shape) == 2 and isinstance(shape[0], int)
        if known and not gram:  # before the checks, which copy
            estimator._announce_dense(shape, storage)
        array = read_checked(estimator, X, fitting=True, at_least=at_least)
        if filling is not None:  # the columns that users see are those of the table
            vars(estimator).update({name: value for name, value in vars(filling).items() if name.endswith("_in_")})
        facts: dict[str, Any] = {"dtype": array.dtype, "grid": grid, "filling": filling, "fingerprint": fingerprint}
        if gram:
            matrix = to_tensor(check_gram(array, "X (kernel='precomputed')"), **estimator._options)
            return cls(view_weights=view_weights, bound=bound_of(array), **facts), matrix
        if not known:
            estimator._announce_dense(array.shape, storage)
        if columns == "raw":
            _warn_of_columns(estimator, array, kernel, weights)
        if columns == "scaled":
            scaling = ColumnScaling.of(array, shares)
        reader = cls(scaling=scaling, **facts)
        return reader, unshared(to_tensor(reader.scaled(array), **estimator._options), X)

    def read(self, estimator: BaseEstimator, X: Any, name: str = "X") -> Any:
        """New items in the form that the kernel reads, checked against those of the fit."""
        kernel = estimator.kernel_
        self.check_times(estimator, X, name)
        if kernel.row_width is not None:
            return kernel.read(_checked(estimator, read_sparse(estimator, X, reset=False)))
        if self.filling is not None:
            return to_tensor(self.filling.transform(X), **estimator._options)
        names = list(getattr(estimator, "feature_names_in_", ()))
        X = in_order_of(names, X) if kernel.domain == "objects" else frame_of_dicts(names, X)
        if is_frame(X) and names:
            _check_feature_names(estimator, X, reset=False)
        if kernel.domain == "objects":
            return kernel.read(_as_capitals(check_items(X, name), self.capitals))
        gram = kernel.domain == "gram"
        X = new_matrix(X, kernel.domain, self.fingerprint, self.view_weights, name)
        if name == "X":
            array = read_checked(estimator, X)
        else:
            shape = "(c, {q}), kernel values with the training items" if gram else "(m, {q})"
            array = read_numbers(X, name, columns=estimator.n_features_in_, shape=shape)
            check_squares(array, name, estimator.dtype)
        return to_tensor(self._kernel_values(array, name) if gram else self.scaled(array), **estimator._options)

    def _kernel_values(self, rows: np.ndarray, name: str) -> np.ndarray:
        """Kernel values of new items; where no item has most of them with those of the fit, as distances, an error."""
        rows = rows if self.kept is None else np.ascontiguousarray(rows[:, self.kept])
        K = rows if self.distance_scale is None else np.exp(rows / -self.distance_scale)
        bound = np.zeros((1, 1)) if self.bound is None else self.bound
        parts = np.square(K[:, spread_places(self._n_kept, len(bound))] @ bound).sum(axis=1)
        if 2 * (parts > 1.0).sum() > len(K):
            needed, advice = _OF_KERNEL if self.distance_scale is None else _OF_DISTANCES
            raise InputError(
                f"{name} must hold {needed} with the items of the fit; got numbers such as "
                f"{quote(rows[0, :3].round(4).tolist())} in row 0, which no item has; {advice}"
            )
        if self.distance_scale is not None and self.bound is not None:
            _warn_of_no_distances(name, rows, K.max(axis=1), parts, self.bound @ self.bound.T)
        return K

    @property
    def _n_kept(self) -> int:
        """Number of items of positive weight."""
        return self.n_items if self.kept is None else len(self.kept)

    def open(self, estimator: BaseEstimator, X: Any, step: int) -> tuple[int, Callable[[slice], Any]]:
        """The number of new items, and a function that reads a slice; arrays in memory are checked whole beforehand."""
        # Kernel values are read at once: they are as large as what is computed of them.
        if estimator.kernel_.domain == "vectors" and is_stream(X) and self.filling is None:
            return self._open_stream(estimator, as_rows(X))
        n = None if estimator.kernel_.domain == "gram" else row_count(X)
        if n is None or n <= step:
            items = self.read(estimator, X)
            return len(items), lambda tile: items if tile == slice(0, len(items)) else items[tile]
        X = X.tocsr() if is_sparse(X) else X
        if hasattr(X, "shape"):
            for tile in tiles(n, step):
                self.read(estimator, cut_rows(X, tile))
        return n, lambda tile: self.read(estimator, cut_rows(X, tile))

    def _open_stream(self, estimator: BaseEstimator, rows: Rows) -> tuple[int, Callable[[slice], Tensor]]:
        (n, d), expected = rows.shape, estimator.n_features_in_
        if d != expected:
            raise InputError(
                f"X has {d} features, but {type(estimator).__name__} is expecting {expected} features as input"
            )
        return n, lambda tile: to_tensor(self.scaled(rows.read(tile.start, tile.stop)), **estimator._options)

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """Scale rows of the data to the units that the kernel reads."""
        return rows if self.scaling is None else self.scaling.apply(rows)

    def rows(self, U: np.ndarray) -> np.ndarray:
        """Decoded rows in the columns of the data."""
        if self.filling is not None:
            return self.filling.inverse_transform(U)
        return U if self.scaling is None else self.scaling.undo(U)

    def check_times(self, estimator: BaseEstimator, X: Any, name: str = "X", *, targets: bool = False) -> None:
        """Refuse curves at other times than those of the fit."""
        grid = self.target_grid if targets else self.grid
        if grid is not None:
            check_times(X, grid, name, type(estimator).__name__)
        elif not targets:
            check_grid(estimator.kernel_, X)

    def check_model(self, estimator: BaseEstimator) -> None:
        """Refuse a reader of a model file that belongs to another model."""
        kernel, features = estimator.kernel_, estimator.map_
        expected = kernel.row_width or features.reads
        if self.dtype.kind != "f":
            raise InputError(
                f"dtype of a {type(estimator).__name__} in a model file must be a floating-point type; got {self.dtype}"
            )
        if self.filling is not None:
            check_shape("rows", getattr(self.filling, "rows_", np.empty(0)), None, expected)
            return
        if self.scaling is not None:
            check_shape("column means", self.scaling.mean, expected)
            check_shape("column scales", self.scaling.scale, expected)
        if kernel.domain == "gram":
            check_places("kept rows", self.kept, getattr(estimator, "n_features_in_", 0))
            check_whole("number of training items", self.n_items, 1)
            check_shape("bound on kernel values", self.bound, *2 * [min(self._n_kept, MOST_IN_BOUND)])
            expected = features.width if features.whole and self.kept is None else None
        if expected is not None and getattr(estimator, "n_features_in_", expected) != expected:
            raise InputError(f"n_features_in_ of a model file must be {expected}; got {estimator.n_features_in_}")


def _are_capitals(kernel: Kernel | OperatorKernel, items: Any) -> bool | None:
    """True for texts of capital letters alone, of which the kernel counts letters; else None, which no file keeps."""
    letters = any(hasattr(one, "alphabet") for one in kernel_leaves(kernel))
    return (letters and all(map(str.isupper, items))) or None


def _as_capitals(items: Any, capitals: bool | None) -> Any:
    """Texts in capital letters where those of the fit were, as masked letters of files are read."""
    return [one.upper() if isinstance(one, str) else one for one in items] if capitals else items


def streams(X: Any, kernel: Kernel | OperatorKernel, storage: Storage | str | None) -> bool:
    """Whether a fit reads the rows of ``X`` block by block, from a file or memory map."""
    return kernel.domain == "vectors" and not isinstance(storage or "", str) and is_stream(X)


def times_of(X: Any) -> np.ndarray | None:
    """Times of curves that carry them."""
    return read_curves(X)[1] if is_curves(X) else None


def read_checked(estimator: BaseEstimator, X: Any, *, fitting: bool = False, at_least: int = 1) -> np.ndarray:
    """Rows of numbers, with the checks of scikit-learn, whose squares are finite."""
    return _checked(estimator, read_rows(estimator, X, reset=fitting, ensure_min_samples=at_least), fitting)


def _checked(estimator: BaseEstimator, rows: Any, fitting: bool = False) -> Any:
    check_squares(rows, "X", estimator.dtype)
    return check_spread(rows, "X", estimator.dtype) if fitting else rows


def _name_features(estimator: BaseEstimator, X: Any, items: Any) -> None:
    """Remember the names of the columns of a frame, or the keys of rows given as dicts."""
    if is_frame(X):
        _check_feature_names(estimator, X, reset=True)
    elif (names := column_names(X)) is not None and isinstance(items[0], tuple):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _table(estimator: BaseEstimator, columns: str, X: Any, weights: RowWeights | None) -> FilledTable:
    """The fitted table of an estimator that reads texts and gaps."""
    table = FilledTable(**estimator._table_options, numbers=TABLES[columns])
    return table.fit(X, sample_weight=None if weights is None else weights.each)


def _refuse_columns(asked: str, domain: str) -> None:
    """Refuse ``columns`` other than "raw" for data that are not rows of numbers in memory."""
    if domain == "vectors":
        return
    what = {
        "gram": "a Gram matrix",
        "objects": "items that are no rows of numbers",
        "sparse": "a sparse matrix, whose zeros a mean would fill; scale it before, by MaxAbsScaler",
    }.get(domain, "a stream")
    rows = "in memory and a kernel on vectors" if asked in TABLES else "of numbers in memory"
    raise InputError(f"columns={asked!r} is for rows {rows}; got {what}; use columns='raw'")


def _integral(times: np.ndarray | None, kernel: Kernel | OperatorKernel) -> ColumnScaling:
    """Scales that make sums over the columns of curves integrals over their times."""
    if times is None:
        raise InputError(
            "columns='integral' is for curves that carry their times; got data without; pass scikit-fda's FDataGrid, "
            "or use columns='raw'"
        )
    if any(one.domain == "vectors" and grid_weights(one, len(times)) is not None for one in scalar_kernels(kernel)):
        raise InputError(f"columns='integral' is for kernels that do not integrate; got {kernel!r}; use columns='raw'")
    return ColumnScaling.of_weights(quadrature_weights(times, len(times)))


def _warn_of_columns(
    estimator: BaseEstimator, rows: Any, kernel: Kernel | OperatorKernel, weights: RowWeights | None
) -> None:
    """Warn if one unscaled column holds nearly all the variance and the kernel is rotation invariant."""
    if all(one.rotation_invariant for one in scalar_kernels(kernel)):
        dense = hasattr(estimator, "columns") and isinstance(rows, np.ndarray)
        way = "pass columns='scaled' to standardise them all" if dense else "standardise the columns"
        names, shares = getattr(estimator, "feature_names_in_", None), None if weights is None else weights.shares
        warn_of_one_column(rows, names, f"{way}, or leave that one out", shares)


def _warn_of_no_distances(
    name: str, rows: np.ndarray, near: np.ndarray, parts: np.ndarray, inverse: np.ndarray
) -> None:
    """Warn where nearly all rows are farther from the items of the fit than these from each other, or kernel values.

    An item of the fit is explained by the others up to ``1 / inverse_ii``; kernel values read as distances are
    explained better than all items of the fit, though no item is near them.
    """
    far = near < np.linalg.inv(inverse).min()
    explained = (parts > 1.0 - 1.0 / inverse.diagonal().max()) & (parts > near**2 + _NO_ITEM_NEAR)
    as_kernel = len(rows) >= _ENOUGH_ROWS and rows.min() > 0.0 and rows.max() <= 1.0 and explained.mean() > _NEARLY_ALL
    if as_kernel or far.mean() > _NEARLY_ALL:
        got = "which look like kernel values" if as_kernel else "farther from all of them than they are from each other"
        warn(
            f"{name} must hold distances with the items of the fit, in their units; got numbers such as "
            f"{quote(rows[0, :3].round(4).tolist())} in row 0, {got}; compute the distances as those of the fit, or do "
            "not trust the answers"
        )
