"""Several views of the same items as one Gram matrix, and kernel values of new items in the same units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs._core.checks import check_gram, check_number
from rkhs._core.errors import InputError

__all__ = ["Views"]


@dataclass(frozen=True, eq=False)
class Views:
    """Weighted mean of Gram matrices, each divided by the mean of its diagonal: ``K = sum_v w_v K_v / m_v``.

    A sum of kernels is the kernel of the features side by side, so that a model of ``gram`` codes all views at once; as
    ``targets`` of a fit it has all of them rebuilt. Made by :meth:`of`.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        With a diagonal of mean one.
    factors : tuple of float
        ``w_v / m_v``, what each view was multiplied by.

    Raises
    ------
    InputError
        For views of different shapes, weights that do not fit, and diagonals of zeros.

    References
    ----------
    Lanckriet et al. (2004), "Learning the kernel matrix with semidefinite programming", section 3, for sums of
    normalised kernels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.grams import Views
    >>> from rkhs.kernels import Gaussian, Linear
    >>> X = load_iris().data
    >>> kernels = [Gaussian(1.0), Linear()]
    >>> views = Views.of([k(X[::2]) for k in kernels])
    >>> model = KernelAutoencoder(2, kernel="precomputed").fit(views.gram)
    >>> model.transform(views.rows([k(X[1::2], X[::2]) for k in kernels])).shape
    (75, 2)
    """

    gram: np.ndarray
    factors: tuple[float, ...]

    @classmethod
    def of(cls, grams: Sequence[Any], weights: Sequence[float] | None = None) -> Views:
        """Sum Gram matrices of the same n items.

        Parameters
        ----------
        grams : sequence of array of shape (n, n)
        weights : sequence of float, optional
            Not negative, one a view; divided by their sum. None: all alike.

        Returns
        -------
        Views
        """
        checked = [check_gram(np.asarray(K, dtype=np.float64), f"grams[{place}]") for place, K in enumerate(grams)]
        if not checked:
            raise InputError("grams must hold at least one Gram matrix; got none")
        if len({K.shape for K in checked}) > 1:
            raise InputError(f"grams must be of the same items; got shapes {[K.shape for K in checked]}")
        given = [1.0] * len(checked) if weights is None else [check_number(w, "weights", at_least=0.0) for w in weights]
        if len(given) != len(checked) or sum(given) <= 0.0:
            raise InputError(f"weights must be {len(checked)} numbers with a positive sum, one a view; got {weights!r}")
        means = [float(K.diagonal().mean()) for K in checked]
        for place, mean in enumerate(means):
            if mean <= 0.0:
                raise InputError(f"grams[{place}] must have a diagonal of positive mean; got {mean:g}. Leave it out")
        factors = tuple(w / sum(given) / mean for w, mean in zip(given, means, strict=True))
        total = np.zeros(checked[0].shape)
        for factor, K in zip(factors, checked, strict=True):
            total += factor * K
        return cls(total, factors)

    def rows(self, values: Sequence[Any]) -> np.ndarray:
        """Kernel values of m new items with the n items, in the units of ``gram``.

        Parameters
        ----------
        values : sequence of array of shape (m, n)
            One a view, in the order of ``of``; or of shape (m,), ``k_v(x, x)`` of the items.

        Returns
        -------
        ndarray of shape (m, n) or (m,)
        """
        parts = [np.asarray(V, dtype=np.float64) for V in values]
        if len(parts) != len(self.factors) or len({V.shape for V in parts}) > 1:
            raise InputError(
                f"values must be {len(self.factors)} arrays of one shape, one a view; got {[V.shape for V in parts]}"
            )
        return sum((f * V for f, V in zip(self.factors, parts, strict=True)), np.zeros(parts[0].shape))
