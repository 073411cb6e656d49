"""Inputs that are converted to a matrix: several Gram matrices, molecules for kernels of bits, sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse
import torch
from sklearn.utils.validation import validate_data
from torch import Tensor

from rkhs._core.arrays import as_numpy, check_items, is_sparse, read_rows, reading, to_tensor
from rkhs._core.checks import real_array
from rkhs._core.errors import InputError, quote
from rkhs._core.linalg import constant_value
from rkhs._core.ownership import private_copy
from rkhs._core.sparse import compressed
from rkhs.kernels import Kernel, MinMax, OperatorKernel, OperatorSum, Precomputed, Separable, Tanimoto, view_weights
from rkhs.kernels.combined.sparse_rows import on_sparse_rows
from rkhs.kernels.objects.molecules import every_fingerprint
from rkhs.kernels.vectors.functional import on_grid

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from rdkit.Chem import Mol
    from sklearn.base import BaseEstimator

    from rkhs._core.arrays import Items


K = TypeVar("K", Kernel, OperatorKernel)

_RADIUS, _BITS = 2, 2048
MOST_IN_BOUND, _RIDGE = 64, 0.1  # items, and multiple of k(x, x), of the bound on rows of kernel values


def adapted_to(X: Any, kernel: K) -> K:
    """The kernel for the grid of curves, or the sparse rows, in X; unchanged for other data."""
    if not is_sparse(X):
        return on_grid(kernel, X)
    width = X.shape[-1]
    if isinstance(kernel, Kernel):
        return on_sparse_rows(kernel, width)
    terms = tuple(Separable(on_sparse_rows(term.kernel, width), term.operator) for term in kernel.pairs)
    return terms[0] if isinstance(kernel, Separable) else OperatorSum(terms)


def read_items(kernel: Kernel | OperatorKernel, X: Any, name: str = "X") -> Any:
    """Items other than vectors, in the form that a kernel reads, as a private copy."""
    return kernel.read(X) if is_sparse(X) else private_copy(kernel.read(check_items(X, name)))


def read_sparse(estimator: BaseEstimator, X: Any, *, reset: bool, at_least: int = 1) -> scipy.sparse.csr_array:
    """Rows of a sparse matrix, or of an array, checked like an array, as a private copy."""
    if not is_sparse(X):
        return scipy.sparse.csr_array(read_rows(estimator, X, reset=reset, ensure_min_samples=at_least))
    compact = compressed(X)
    options: dict[str, Any] = {"accept_sparse": "csr", "dtype": compact.dtype, "ensure_min_samples": at_least}
    with reading(compact, "X"):
        return validate_data(estimator, compact, reset=reset, **options)


def training_matrix(
    X: Any, kernel: Kernel | OperatorKernel, weights: np.ndarray | None = None
) -> tuple[Any, dict[str, Any] | None, np.ndarray | None]:
    """Training data as a matrix, with the options of fingerprints and the multipliers of views (None if unused).

    ``weights`` (n,) of the rows sum to one; None: equal.
    """
    if kernel.domain == "gram":
        matrix, multipliers = _join_training_views(X, kernel, weights)
        return matrix, None, multipliers
    molecules = _molecules(X)
    if molecules is None:
        return X, None, None
    leaves = kernel_leaves(kernel)
    if not any(isinstance(leaf, (MinMax, Tanimoto)) for leaf in leaves):
        raise InputError(
            f"X must hold rows of numbers for this kernel; got texts or molecules, the first {quote(molecules[0])}; "
            "pass kernel='tanimoto' for SMILES, kernel='spectrum' for sequences"
        )
    counts = not any(isinstance(leaf, Tanimoto) for leaf in leaves)
    fingerprint = {"name": "counts" if counts else "morgan", "radius": _RADIUS, "n_bits": _BITS}
    return _fingerprints(fingerprint, molecules, "X"), fingerprint, None


def new_matrix(
    X: Any, domain: str, fingerprint: dict[str, Any] | None, multipliers: np.ndarray | None, name: str = "X"
) -> Any:
    """Convert new data to a matrix, as the training data were."""
    if domain == "gram":
        return _join_new_views(X, multipliers, name)
    molecules = _molecules(X)
    if molecules is None:
        return X
    if fingerprint is None:
        raise InputError(
            f"{name} must hold rows of numbers, as in fit; got texts or molecules, the first {quote(molecules[0])}; "
            "make fingerprints of them as for the fit: rkhs.data.molecular_fingerprints"
        )
    return _fingerprints(fingerprint, molecules, name)


def _molecules(X: Any) -> list[Any] | None:
    """The texts or molecules of RDKit in a list, a column or an array; None for anything else."""
    X = as_numpy(X) if hasattr(X, "to_numpy") or isinstance(X, np.ndarray) else X
    if not isinstance(X, (list, tuple, np.ndarray)) or getattr(X, "ndim", 1) != 1 or len(X) == 0:
        return None
    return list(X) if isinstance(X[0], str) or type(X[0]).__module__.startswith("rdkit.") else None


def scalar_kernels(kernel: Kernel | OperatorKernel) -> list[Kernel]:
    """The kernel, or the scalar kernels of an operator-valued one."""
    return [term.kernel for term in kernel.pairs] if hasattr(kernel, "pairs") else [kernel]


def kernel_leaves(kernel: Kernel | OperatorKernel) -> list[Kernel]:
    """The scalar kernels and all parts of which they are made."""
    found = scalar_kernels(kernel)
    for part in found:
        found.extend(getattr(part, "parts", ()))
    return found


def _fingerprints(options: dict[str, Any], molecules: list[str] | list[Mol], name: str) -> np.ndarray:
    counts = options["name"] == "counts"
    kind = "morgan" if counts else options["name"]
    rows = every_fingerprint(f"{name} must hold", molecules, kind, counts, options["radius"], options["n_bits"])
    return np.stack(rows).astype(np.float64)


def read_diagonal(diag: ArrayLike | None, K: Tensor, train_diagonal: np.ndarray) -> Tensor:
    """``k(z, z)`` of the items of the rows of ``K``; without ``diag`` the training diagonal, or its constant."""
    m = len(K)
    if diag is not None:
        values = real_array(diag, "diag")
        if values.shape not in ((), (m,)):
            raise InputError(f"diag must be one number or {m} numbers, one per item; got shape {values.shape}")
        values = np.broadcast_to(values, (m,))
        if not np.isfinite(values).all() or (values < 0).any():
            raise InputError("diag must be finite and not negative: k(z, z) of each item, or one number")
        return to_tensor(values, K.dtype, K.device)
    if m == len(train_diagonal) and np.array_equal(K.diagonal().numpy(force=True), train_diagonal):
        return K.diagonal()  # the training items, which ``fit(K).score(K)`` of scikit-learn hands over
    constant = constant_value(train_diagonal)
    if constant is None:
        raise InputError(
            f"diag must be given: k(z, z) of the {m} items does not follow from their kernel values with the training "
            "items; pass diag=, or a Gram matrix whose diagonal is one"
        )
    return K.new_full((m,), constant)


def spread_places(n: int, count: int) -> np.ndarray:
    """Places of so many of n items, evenly spaced."""
    return np.linspace(0, n - 1, count).astype(int)


def bound_of(K: np.ndarray) -> np.ndarray | None:
    """Root of the inverse of a part of a Gram matrix with a ridge; none where k(x, x) differs or the part is no kernel.

    The Schur complement ``k(x, x) - k(x)^T (K + r I)^-1 k(x)`` of an item is positive.
    """
    diagonal, places = constant_value(K.diagonal()) or 0.0, spread_places(len(K), min(len(K), MOST_IN_BOUND))
    if diagonal <= 0.0:
        return None
    values, vectors = np.linalg.eigh(K[np.ix_(places, places)] / diagonal)
    return vectors / np.sqrt(values + _RIDGE) / diagonal if values[0] > -0.1 * _RIDGE else None


def has_views(X: Any) -> bool:
    """Whether X, read as kernel values, is a list of matrices or a stack of them, shape (v, m, n)."""
    if isinstance(X, (list, tuple)):
        return bool(X) and all(_is_matrix(K) for K in X)
    return len(getattr(X, "shape", ())) == 3


def _is_matrix(K: Items) -> bool:
    if isinstance(K, (list, tuple)):
        return bool(K) and isinstance(K[0], (list, tuple))
    return len(getattr(K, "shape", ())) == 2


def _join_training_views(
    X: Any, kernel: Kernel | OperatorKernel, weights: np.ndarray | None
) -> tuple[Any, np.ndarray | None]:
    """Weighted sum of several Gram matrices, and the weights; a single matrix is returned unchanged, with None."""
    if not has_views(X):
        return X, None
    views = _matrices(X, "X")
    found = [part for part in (kernel, *kernel.get_params(deep=True).values()) if isinstance(part, Precomputed)]
    shares = None if weights is None else torch.as_tensor(weights)
    multipliers = view_weights(views, found[0].views if found else "alignment", sample_weights=shares)
    return _with_column_names(X, _weighted_sum(views, multipliers)), multipliers


def _join_new_views(X: Any, m: np.ndarray | None, name: str) -> Any:
    """Kernel values with the training items, added up as in fit."""
    if m is None:
        if has_views(X):
            raise InputError(f"{name} must be one matrix of kernel values: the model was fitted on one Gram matrix")
        return X
    if not has_views(X) or len(X) != len(m):
        got = f"{len(X)}" if has_views(X) else "a single matrix"
        raise InputError(
            f"{name} must be {len(m)} matrices of kernel values (m, n), one per view, as in fit; got {got}. Pass them "
            f"in a list"
        )
    return _with_column_names(X, _weighted_sum(_matrices(X, name), m))


def _matrices(X: Any, name: str) -> list[np.ndarray]:
    views = [real_array(as_numpy(K, name), f"{name}[{i}]") for i, K in enumerate(X)]
    for i, K in enumerate(views):
        if K.shape != views[0].shape:
            raise InputError(
                f"{name} must hold matrices of one shape, of the same items; {name}[{i}] has shape {K.shape} and "
                f"{name}[0] "
                f"{views[0].shape}"
            )
        if not np.isfinite(K).all():
            raise InputError(f"{name}[{i}] must be finite; got NaN or infinity")
    return views


def _with_column_names(X: Any, total: np.ndarray) -> Any:
    """The sum with the column names of the views, if all are data frames of pandas."""
    if not all(hasattr(K, "iloc") for K in X):
        return total
    for i, K in enumerate(X):
        if list(K.columns) != list(X[0].columns):
            other = next((a, b) for a, b in zip(K.columns, X[0].columns, strict=True) if a != b)
            raise InputError(
                f"views must have the same columns in the same order; got {quote(other[0])} in view {i} where view 0 "
                f"has {quote(other[1])}; reorder the columns"
            )
    return type(X[0])(total, columns=X[0].columns)


def _weighted_sum(views: list[np.ndarray], multipliers: np.ndarray) -> np.ndarray:
    total = np.zeros(views[0].shape)
    for K, m in zip(views, multipliers, strict=True):
        total += m * K
    return total
