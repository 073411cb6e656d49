"""A transformer from items to kernel values, for estimators that take a Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from rkhs._core.arrays import give_back
from rkhs.estimators.fitted import FittedKernel
from rkhs.estimators.options.arguments import Device, Dtype, KernelLike
from rkhs.models import GramModel
from rkhs.spaces import whole_items


class GramTransformer(FittedKernel):
    """Gram matrix of a kernel as a step of a Pipeline, before any estimator with ``kernel="precomputed"``.

    ``fit_transform(X)`` gives ``k(x_i, x_j)``, and ``transform(X_new)`` gives ``k(z_i, x_j)``. Support vector machines,
    kernel ridge regression and spectral clustering read such rows. The training items determine the bandwidths.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="gaussian"
        On vectors or on any objects.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. The result has the dtype of the training data.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with a number for every bandwidth.
    n_features_in_, feature_names_in_
        As in scikit-learn (not for objects).

    Raises
    ------
    InputError
        For parameters out of range and data that cannot be used.

    Notes
    -----
    Memory is the n x n matrix. The kernel's parameters are reached by grid search:
    ``gramtransformer__kernel__gamma``.

    References
    ----------
    Scholkopf and Smola (2002), definition 2.3.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from rkhs import GramTransformer
    >>> words = ["kernel", "kennel", "matrix", "tricks"]
    >>> def shared_letters(x, y):
    ...     return len(set(x) & set(y))
    >>> model = make_pipeline(GramTransformer(shared_letters), SVC(kernel="precomputed", C=10.0))
    >>> model.fit(words, [0, 0, 1, 1]).predict(["colonel"])
    array([0])
    """

    _matrices = 1.0

    model_: GramModel

    def __init__(self, kernel: KernelLike = "gaussian", *, device: Device = "cpu", dtype: Dtype = "float64") -> None:
        self.kernel = kernel
        self.device = device
        self.dtype = dtype

    @property
    def _n_features_out(self) -> int:
        return self.map_.width

    def fit(self, X: Any, y: Any = None) -> GramTransformer:
        """Store the training items and resolve the kernel on them.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : ignored

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the Gram matrix of the training items, shape (n, n); see :meth:`fit`."""
        return give_back(self._fit(X), X)

    def _fit(self, X: Any) -> np.ndarray:
        self._check_parameters()
        training = self._training(X, kernel := self._kernel_for(X), at_least=1)
        features, K = whole_items(kernel.resolve(training.items), training.items, self._options)
        self.model_ = GramModel(features)
        return self._to_output(K)

    def transform(self, X: Any) -> Any:
        """Kernel values with the training items.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects

        Returns
        -------
        ndarray of shape (m, n)
            A tensor if ``X`` is one.

        Raises
        ------
        NotFittedError
            Before fit.
        """
        return give_back(self._in_tiles(X, self._cross_gram), X)
