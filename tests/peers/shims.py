"""Our classes under the names and parameters of scikit-learn's: adapters of names, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import rkhs
from rkhs import features
from rkhs.kernels import FromFunction, FromSklearn, Gaussian, Linear, Polynomial

# ---------------------------------------------------------------- estimators


class _Shim(BaseEstimator):
    """An estimator with scikit-learn's parameters that hands every call to one of ours."""

    def _model(self) -> Any:
        """Our estimator of these parameters."""

    def __sklearn_tags__(self) -> Any:
        return self._model().__sklearn_tags__()

    def fit(self, X: Any, y: Any = None, **weights: Any) -> _Shim:
        self.model_ = self._model().fit(X, y, **weights)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        self.model_ = self._model()
        return self.model_.fit_transform(X, y)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "model_":
            raise AttributeError(name)
        return getattr(self.model_ if "model_" in vars(self) else self._model(), name)


def _kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any, params: Any) -> Any:
    """One of our kernels by scikit-learn's name and parameters."""
    if callable(kernel):
        return FromFunction(lambda x, y: kernel(x, y, **(params or {})))
    if kernel == "linear":
        return Linear()
    if kernel == "rbf":
        return Gaussian("1/d" if gamma is None else gamma)
    if kernel in ("poly", "polynomial") and isinstance(degree, int):
        return Polynomial(degree, "1/d" if gamma is None else gamma, coef0)
    if kernel == "precomputed":
        return kernel
    given = {name: value for name, value in {"gamma": gamma, "degree": degree, "coef0": coef0}.items() if value}
    return FromSklearn(kernel, {"poly": given, "polynomial": given}.get(kernel, {"gamma": gamma} if gamma else None))


class KernelPCA(_Shim):
    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        remove_zero_eig=False,
        random_state=None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state

    def _model(self) -> rkhs.KernelPCA:
        kernel = _kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
        return rkhs.KernelPCA(self.n_components, kernel=kernel)

    @property
    def gamma_(self) -> float:
        return self.model_.kernel_.gamma


class KernelRidge(_Shim):
    def __init__(self, alpha=1, *, kernel="linear", gamma=None, degree=3, coef0=1, kernel_params=None) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _model(self) -> rkhs.OperatorKernelRegressor:
        kernel = _kernel(self.kernel, self.gamma, self.degree, self.coef0, self.kernel_params)
        return rkhs.OperatorKernelRegressor(kernel, center=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelRidge:
        total = np.shape(y)[0] if sample_weight is None else np.sum(sample_weight)
        self.model_ = self._model().set_params(reg=self.alpha / total).fit(X, y, sample_weight=sample_weight)
        return self


class Nystroem(_Shim):
    def __init__(
        self,
        kernel="rbf",
        *,
        gamma=None,
        coef0=None,
        degree=None,
        kernel_params=None,
        n_components=100,
        random_state=None,
        n_jobs=None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _model(self) -> features.Nystroem:
        coef0, degree = 1 if self.coef0 is None else self.coef0, 3 if self.degree is None else self.degree
        kernel = _kernel(self.kernel, self.gamma, degree, coef0, self.kernel_params)
        return features.Nystroem(self.n_components, kernel=kernel, random_state=self.random_state)


class RBFSampler(_Shim):
    def __init__(self, *, gamma=1.0, n_components=100, random_state=None) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def _model(self) -> features.RandomFeatures:
        return features.RandomFeatures(
            self.n_components, orthogonal=False, kernel=Gaussian(self.gamma), random_state=self.random_state
        )

    @property
    def _gamma(self) -> float:
        return self.model_.kernel_.gamma

    @property
    def random_weights_(self) -> np.ndarray:
        return self.model_.map_.frequencies.T


# ---------------------------------------------------------------- kernels of Gaussian processes
