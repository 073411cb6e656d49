"""What all estimators share: reading the user's data, sample weights, kernels, and handing results back."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor

from rkhs._core.arrays import as_numpy, check_items, resolve_device, resolve_dtype, to_tensor
from rkhs._core.checks import check_count, check_gram
from rkhs._core.errors import InputError
from rkhs._core.linalg import positive_part
from rkhs.kernels.base import Kernel
from rkhs.kernels.registry import as_kernel
from rkhs.protocols import Solution

__all__ = ["KernelEstimator", "Ranking", "rank", "take"]


class Ranking(NamedTuple):
    """Candidates in the order of their distance to what the codes decode to.

    Parameters
    ----------
    indices : ndarray of shape (m, k)
        Row numbers of the candidates, nearest first.
    distances : ndarray of shape (m, k)
        Squared distances in the output space, ascending.

    References
    ----------
    Laforgue et al. (2019), appendix B.7.
    """

    indices: np.ndarray
    distances: np.ndarray


def rank(D: Tensor, n_best: int | None) -> Ranking:
    """Order candidates by squared distances of shape (m, c), ties by row number."""
    count = D.shape[1] if n_best is None else min(check_count(n_best, "n_best"), D.shape[1])
    order = torch.argsort(D, dim=1, stable=True)[:, :count]
    return Ranking(order.cpu().numpy(), torch.gather(D, 1, order).cpu().numpy())


class KernelEstimator(BaseEstimator):
    """Base of the estimators: one kernel on the inputs, and the data in the form that it reads.

    A subclass has the parameters ``kernel``, ``psd``, ``device`` and ``dtype``.

    References
    ----------
    ``docs/design.md``, data flow.
    """

    kernel: Any
    psd: str
    device: str
    dtype: str

    def _input_kernel(self) -> Kernel:
        """The kernel that the user asked for, not yet resolved."""
        return as_kernel(self.kernel)

    @property
    def _options(self) -> dict[str, Any]:
        return {"dtype": resolve_dtype(self.dtype), "device": resolve_device(self.device)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed" or getattr(self.kernel, "domain", None) == "gram"
        return tags

    def _read_training(self, X: Any, kernel: Kernel, *, at_least: int = 2) -> Any:
        """Check training data and bring them to the form that the kernel reads."""
        if kernel.domain == "objects":
            items = check_items(X, at_least=at_least)
            self._forget_features()
            self._input_dtype = np.dtype(np.float64)
            return items
        array = self._check_array(X, reset=True, at_least=at_least)
        self._input_dtype = array.dtype
        if kernel.domain == "gram":
            array = check_gram(array, "X (kernel='precomputed')")
        return to_tensor(array, **self._options)

    def _read_new(self, X: Any) -> Any:
        """Check new data against what was seen in fit."""
        check_is_fitted(self)
        if self.kernel_.domain == "objects":
            return check_items(X)
        array = self._check_array(X, reset=False, at_least=1)
        return to_tensor(array, **self._options)

    def _check_array(self, X: Any, *, reset: bool, at_least: int) -> np.ndarray:
        array = validate_data(
            self, as_numpy(X), reset=reset, dtype=[np.float64, np.float32], order="C", ensure_min_samples=at_least
        )
        limit = np.sqrt(np.finfo(np.float64 if self.dtype == "float64" else np.float32).max) / max(1, array.shape[1])
        if array.size and float(np.abs(array).max()) > limit:
            raise InputError(
                f"X must hold values of modulus under {limit:.0e}, whose squares are finite; rescale the data"
            )
        return array

    def _forget_features(self) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                delattr(self, name)

    def _read_weights(self, sample_weight: Any, n: int) -> tuple[np.ndarray | None, Tensor | None]:
        """Rows to keep (None: all) and their weights, summing to one (None: equal)."""
        if sample_weight is None:
            return None, None
        w = _check_sample_weight(as_numpy(sample_weight, "sample_weight"), np.empty((n, 1)), dtype=np.float64)
        if (w < 0.0).any():
            raise InputError(f"sample_weight must not be negative; got a smallest weight of {w.min():g}")
        if not w.sum() > 0.0:
            raise InputError("sample_weight must have a positive sum; got zeros only")
        kept = np.flatnonzero(w > 0.0)
        weights = torch.as_tensor(w[kept] / w[kept].sum(), **self._options)
        equal = bool(np.ptp(w[kept]) == 0.0)
        return (None if len(kept) == n else kept), (None if equal else weights)

    def _training_gram(self, kernel: Kernel, items: Any) -> Tensor:
        """Gram matrix of the training items; kernels that are not known to be positive semi-definite are checked."""
        K = kernel._gram(items)
        if not bool(torch.isfinite(K.sum())):
            raise InputError(f"the kernel {kernel!r} gives values that are not finite on these data; rescale the data")
        if kernel.domain != "vectors":
            K = positive_part(K, psd=self.psd, name="the Gram matrix of the kernel")
        return K

    def _cross_gram(self, items: Any) -> Tensor:
        """``k(new items, training items)``, shape (m, n)."""
        return self.kernel_._gram(items, self._support())

    def _support(self) -> Any:
        """The training items in the form that the kernel reads."""
        support = self.support_items_
        if isinstance(support, np.ndarray) and self.kernel_.domain != "objects":
            return to_tensor(support, **self._options)
        return support

    def _store_support(self, items: Any) -> None:
        # A Gram matrix is its own support: new rows arrive as kernel values with the training items.
        self.support_items_ = None if self.kernel_.domain == "gram" else as_numpy(items)

    def _read_codes(self, codes: Any) -> Tensor:
        check_is_fitted(self)
        array = np.asarray(as_numpy(codes, "codes"), dtype=np.float64)
        p = self.codes_.shape[1]
        if array.ndim != 2 or array.shape[1] != p or not np.isfinite(array).all():
            raise InputError(
                f"codes must be a finite array of shape (m, {p}), as transform returns; got shape {array.shape}"
            )
        return to_tensor(array, **self._options)

    def _check_rows(self, rows: Any) -> Tensor:
        array = np.asarray(as_numpy(rows, "candidates"), dtype=np.float64)
        n = self._n_training
        if array.ndim != 2 or array.shape[1] != n or len(array) == 0 or not np.isfinite(array).all():
            raise InputError(
                f"kernel values must be a finite, non-empty array of shape (c, {n}); got shape {array.shape}"
            )
        K = to_tensor(array, **self._options)
        return K if self._kept_rows is None else K[:, torch.as_tensor(self._kept_rows)]

    def _gram_diagonal(self, diag: Any, m: int, K: Tensor) -> Tensor:
        if diag is not None:
            values = np.broadcast_to(np.asarray(diag, dtype=np.float64), (m,))
            if not np.isfinite(values).all() or (values < 0).any():
                raise InputError("diag must be finite and not negative: k(z, z) of each item, or one number")
            return to_tensor(values, **self._options)
        train = self.train_diag_
        if float(np.ptp(train)) <= 1e-8 * max(float(np.abs(train).max()), 1e-300):
            return K.new_full((m,), float(train.mean()))
        warnings.warn(
            "k(x, x) of the new items is unknown and left out: errors are off by a constant for each item, good for comparing "
            "settings only; pass diag=",
            UserWarning,
            stacklevel=3,
        )
        return K.new_zeros(m)

    def _to_output(self, result: Tensor) -> np.ndarray:
        """A result as an array of the dtype of the training data."""
        return result.detach().cpu().numpy().astype(self._input_dtype, copy=False)

    def _record(self, solution: Solution) -> None:
        """Store what the solver said, and warn if it did not converge."""
        self.objective_ = float(solution.value)
        self.n_iter_ = max(1, int(solution.n_iter))
        self.n_evaluations_ = int(solution.n_evaluations)
        self.converged_ = bool(solution.converged)
        self.reason_ = solution.reason.value
        self.history_ = list(solution.history)
        if not solution.converged:
            warnings.warn(f"{type(self).__name__}: {solution.reason.value}", ConvergenceWarning, stacklevel=3)


def take(items: Any, rows: np.ndarray | None, *, square: bool = False) -> Any:
    """Rows of a tensor, an array or a list of items; for a Gram matrix (``square``) rows and columns."""
    if rows is None:
        return items
    if isinstance(items, list):
        return [items[i] for i in rows]
    index = torch.as_tensor(rows) if isinstance(items, Tensor) else rows
    return items[index][:, index] if square else items[index]
