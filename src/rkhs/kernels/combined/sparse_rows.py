"""Kernels on the rows of sparse matrices, from sparse products: no row is made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from rkhs._core.arrays import is_sparse
from rkhs._core.checks import check_count, real_array
from rkhs._core.errors import InputError
from rkhs._core.sparse import SparseItem, compressed, from_items, to_items
from rkhs.kernels.base import Composite, Kernel, read_matrix
from rkhs.kernels.vectors.discrete import MinMax
from rkhs.kernels.vectors.distances import median_bandwidth, new_matrix, strips
from rkhs.kernels.vectors.dot_product import Linear
from rkhs.kernels.vectors.stationary import Stationary, found_rate, read_rule

_NAMES = "Gaussian, Laplacian, Matern, Linear, Polynomial, Tanimoto, MinMax, ArcCosine, NTK"
_NEAR = 2.0**-10  # squared distances under this share of the squared norms are recomputed from differences
_DOUBLE = torch.empty(0, dtype=torch.float64)
_PAIRS = 2**14  # pairs of rows whose differences are in memory at once


class SparseRows(Kernel):
    """A kernel of vectors on the rows of a sparse matrix, ``k(x, y) = base(x, y)``.

    An item is a pair of arrays: the column indices of the entries of a row, ascending, and their values. Estimators
    wrap their kernel in this one if they are given a sparse matrix.

    Parameters
    ----------
    base : Kernel
        Gaussian, Laplacian, Matern, Linear, Polynomial, Tanimoto, MinMax, ArcCosine or NTK.
    width : int
        Number of columns ``d``.

    Notes
    -----
    Inner products of the rows are products of sparse matrices, in strips; squared distances are
    ``||x||^2 + ||y||^2 - 2 x.y``, and come from differences where digits would cancel. L1 distances are those of
    scikit-learn. Computed in double precision, in O(n m z) for ``z`` entries per row that others share.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from rkhs.kernels import Linear, SparseRows
    >>> SparseRows(Linear(), width=3)(csr_array([[0.0, 2.0, 0.0], [1.0, 1.0, 0.0]]))
    array([[4., 2.],
           [2., 2.]])

    References
    ----------
    Scholkopf and Smola (2002), section 4.6.
    """

    def __init__(self, base: Kernel, width: int) -> None:
        self.base = base
        self.width = width

    @property
    def rotation_invariant(self) -> bool:
        """Equals that of the base."""
        return self._checked.rotation_invariant

    @property
    def known_psd(self) -> bool:
        """Equals that of the base."""
        return self._checked.known_psd

    @property
    def row_width(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return check_count(self.width, "SparseRows.width")

    @property
    def _checked(self) -> Any:
        """Return the base; refuse one that cannot compute its values from inner products or from distances."""
        known = hasattr(self.base, "from_products") or hasattr(self.base, "from_distances")
        if not known or not type(self.base).__module__.startswith("rkhs."):  # a user's subclass may do something else
            raise InputError(
                f"{self.base!r} does not read sparse matrices; use one of {_NAMES}, or sums, products and normalised "
                "ones of these; or pass X.toarray()"
            )
        return self.base

    def read(self, X: Any) -> list[SparseItem]:
        """Convert the rows of a sparse matrix, or of an array of shape (n, width), to items; items stay as they are."""
        assert self._checked is self.base
        if not is_sparse(X):
            if getattr(X, "dtype", None) == np.dtype(object) and X.ndim == 1:  # a column of items
                X = X.tolist()
            if isinstance(X, (list, tuple)) and X and all(_is_item(one, self.row_width) for one in X):
                return list(X)
            X = scipy.sparse.csr_array(read_matrix(X, "SparseRows").cpu().numpy())
        if X.shape[1:] != (self.row_width,):
            raise InputError(f"SparseRows reads rows of {self.width} columns; got shape {X.shape}")
        return to_items(compressed(X))

    def resolve(self, X: list[SparseItem], weights: Tensor | None = None) -> SparseRows:
        """Turn parameters of the base that depend on data into numbers."""
        base = self._checked
        zeros = torch.zeros((), dtype=torch.float64).expand(len(X), self.width)
        if isinstance(base, Stationary) and isinstance(base.gamma, str):
            base._with(gamma=1.0).resolve(zeros)  # checks the other parameters
            factor, rule = read_rule(base.gamma, name := f"{type(base).__name__}.gamma")
            if rule != "1/d":
                rate = factor * self._bandwidth(rule, from_items(X, self.width), weights)
                base = base._with(gamma=found_rate(rate, name, base.gamma))
        elif isinstance(base, Linear):
            base = self._centred(base, X, weights)
        resolved = base.resolve(zeros)
        return self if resolved is self.base else SparseRows(resolved, self.width)

    def _centred(self, base: Linear, X: list[SparseItem], weights: Tensor | None) -> Linear:
        """Return the linear kernel with numbers in place of a named offset and scale."""
        w, offset = _sample_weights(len(X), weights), base.offset
        if isinstance(offset, str):
            if offset != "mean":
                Linear(1.0, offset).resolve(torch.zeros(1, self.width))  # raises the error
            offset = w @ from_items(X, self.width)
        if isinstance(base.scale, str):
            sizes = SparseRows(Linear(1.0, offset), self.width)._diag(X).sqrt()[:, None]
            return Linear(Linear(base.scale).resolve(sizes, torch.from_numpy(w)).scale, offset)
        return base if offset is base.offset else Linear(base.scale, offset)

    def _bandwidth(self, rule: str, rows: scipy.sparse.csr_array, weights: Tensor | None) -> float:
        base = self._checked
        if rule == "scale":
            w = _sample_weights(rows.shape[0], weights)
            with np.errstate(all="ignore"):
                size, mean = float(w @ _squared_norms(rows)), w @ rows
                spread = size - float(mean @ mean)
            if not np.isfinite(spread):
                return 0.0
            return 1.0 if spread <= 4e-16 * size else (1.0 / spread) ** (0.5 * base._power)
        D = self._distances(rows, None)
        if base._power == 1 and not self._l1:
            D.sqrt_()
        return median_bandwidth(D, None if weights is None else weights.to(D))

    @property
    def _offset(self) -> np.ndarray | None:
        if not isinstance(self.base, Linear) or self.base.offset is None:
            return None
        shift = real_array(self.base.offset, "Linear.offset")
        if shift.shape != (self.width,):
            raise InputError(f"Linear.offset must have shape ({self.width},), one value per column; got {shift.shape}")
        return shift

    @property
    def _l1(self) -> bool:
        return not self._checked.rotation_invariant

    def _products(self, A: scipy.sparse.csr_array, B: scipy.sparse.csr_array) -> tuple[Tensor, Tensor, Tensor]:
        """Inner products of rows, shape (n, m), and their squared norms."""
        left, other = _without_empty_columns(A, B)
        right = other.T.tocsr()

        P = new_matrix(A.shape[0], B.shape[0], _DOUBLE)
        for rows, strip in strips(P):
            strip.copy_(torch.from_numpy((left[rows] @ right).toarray()))
        u, a = _along(self._offset, A)
        v, b = _along(self._offset, B)
        if self._offset is not None:
            P.sub_(u[:, None]).sub_(v)
        return P, a, b

    def _distances(self, A: scipy.sparse.csr_array, B: scipy.sparse.csr_array | None) -> Tensor:
        """Squared distances of rows, or L1 distances, shape (n, m)."""
        A, other = _without_empty_columns(A, A if B is None else B)
        if self._l1:
            from sklearn.metrics.pairwise import manhattan_distances

            return torch.from_numpy(manhattan_distances(A, other))
        right, a, b = other.T.tocsr(), _squared_norms(A), _squared_norms(other)

        found = new_matrix(A.shape[0], other.shape[0], _DOUBLE)
        for rows, strip in strips(found):
            norms, D = a[rows, None] + b, (A[rows] @ right).toarray()
            np.subtract(norms, np.multiply(D, 2.0, out=D), out=D)
            if B is None:
                np.fill_diagonal(D[:, rows], np.inf)  # set to zero below, so not recomputed
            i, j = np.nonzero(np.multiply(norms, _NEAR, out=norms) > D)
            for start in range(0, len(i), _PAIRS):
                part = slice(start, start + _PAIRS)
                D[i[part], j[part]] = _squared_norms(A[i[part] + rows.start] - other[j[part]])
            if B is None:
                np.fill_diagonal(D[:, rows], 0.0)
            strip.copy_(torch.from_numpy(D))

        return found

    def _gram(self, X: list[SparseItem], Y: list[SparseItem] | None = None) -> Tensor:
        base, A = self._checked, from_items(X, self.width)
        B = A if Y is None else from_items(Y, self.width)
        if isinstance(base, MinMax):
            for rows in (A, B):
                base._refuse_negative(torch.from_numpy(rows.data)[None])
        if hasattr(base, "from_distances"):
            a, b = (torch.from_numpy(np.asarray(rows.sum(1)).ravel()) for rows in (A, B))
            K: Tensor = base.from_distances(self._distances(A, None if Y is None else B), a, b)
        else:
            K = base.from_products(*self._products(A, B))
        if Y is None:
            K.diagonal().copy_(self._diag(X))
        return K

    def _diag(self, X: list[SparseItem]) -> Tensor:
        base, rows = self._checked, from_items(X, self.width)
        # k(x, x) depends on the norm alone, so that rows of one number with these norms have the same diagonal.
        sizes = _along(self._offset, rows)[1].clamp_min_(0.0).sqrt_()[:, None]
        return (Linear(base.scale) if isinstance(base, Linear) else base)._diag(sizes)


def _sample_weights(n: int, weights: Tensor | None) -> np.ndarray:
    return np.full(n, 1.0 / n) if weights is None else weights.cpu().numpy().astype(np.float64)


def _without_empty_columns(*both: scipy.sparse.csr_array) -> list[scipy.sparse.csr_array]:
    """Drop the empty columns of both matrices if most are empty: a sparse product passes over every column."""
    if both[0].shape[1] <= sum(M.nnz for M in both):
        return list(both)
    used = np.union1d(*(M.indices for M in both)) if any(M.nnz for M in both) else np.zeros(1, np.int32)
    parts = [(M.data, np.searchsorted(used, M.indices).astype(M.indices.dtype), M.indptr) for M in both]
    return [scipy.sparse.csr_array(part, shape=(len(part[2]) - 1, len(used))) for part in parts]


def _squared_norms(rows: scipy.sparse.csr_array) -> np.ndarray:
    return np.asarray(rows.multiply(rows).sum(1)).ravel()


def _along(offset: np.ndarray | None, rows: scipy.sparse.csr_array) -> tuple[Tensor, Tensor]:
    """Compute for an offset ``o``: ``x.o - o.o / 2`` of each row, and the squared norms of the rows less the offset."""
    norms = torch.from_numpy(_squared_norms(rows))
    if offset is None:
        return torch.zeros_like(norms), norms
    along = torch.from_numpy(rows @ offset - float(offset @ offset) / 2.0)
    return along, norms - 2.0 * along


def _is_item(one: Any, width: int) -> bool:
    """Whether ``one`` is an item: a row of a sparse matrix with ``width`` columns."""
    if not (isinstance(one, tuple) and len(one) == 2 and all(isinstance(part, np.ndarray) for part in one)):
        return False
    index, values = one
    fits = index.ndim == 1 and index.shape == values.shape and (index.dtype, values.dtype) == (np.int32, np.float64)
    if not fits or not len(index):
        return bool(fits)
    ascending = bool((np.diff(index) > 0).all())
    return ascending and index[0] >= 0 and index[-1] < width and bool(np.isfinite(values).all())


def on_sparse_rows(kernel: Kernel, width: int) -> Kernel:
    """Return the same kernel on rows of sparse matrices with ``width`` columns."""
    if kernel.domain != "vectors":
        return kernel
    if isinstance(kernel, Composite) and kernel.of_values:
        return kernel.with_parts([on_sparse_rows(part, width) for part in kernel.parts])
    wrapped = SparseRows(kernel, width)
    assert wrapped._checked is kernel
    return wrapped
