"""Our kernels as kernels of scikit-learn's Gaussian processes, with gradients by their hyper-parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.gaussian_process.kernels import Kernel as ProcessKernel
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel
from rkhs.kernels.combine import Composite, Product, Scaled, Sum
from rkhs.kernels.derived import GaussianOf
from rkhs.kernels.distances import squared_distances
from rkhs.kernels.dot_product import Linear
from rkhs.kernels.laplacian import Laplacian
from rkhs.kernels.radial import Radial
from rkhs.kernels.stationary import Stationary

__all__ = ["SklearnKernel"]


class SklearnKernel(ProcessKernel):
    """A kernel of this library in the form that scikit-learn's Gaussian processes read; made by ``k.as_sklearn()``.

    The logarithms of these positive numbers are hyper-parameters, with exact gradients: ``gamma`` of stationary kernels
    and of ``GaussianOf``, ``scale`` of ``Linear`` and of multiples ``0.5 * k``, also inside sums and products.
    All other parameters stay as they are.

    Parameters
    ----------
    kernel : Kernel
        With numbers for its bandwidths.
    limits : tuple of two float or "fixed", default=(1e-5, 1e5)
        Bounds of every hyper-parameter; ``"fixed"``: none is changed.

    Raises
    ------
    InputError
        If a hyper-parameter is not yet a number (``gamma="median"``).

    Notes
    -----
    Combines with scikit-learn's own by ``+``, ``*`` and ``**``. The gradient costs one Gram matrix a hyper-parameter.

    References
    ----------
    Rasmussen and Williams (2006), equation 5.9.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from rkhs.kernels import Matern
    >>> X = [[0.0], [1.0], [2.0]]
    >>> model = GaussianProcessRegressor(Matern(2.5, 1.0).as_sklearn()).fit(X, [0.0, 1.0, 0.0])
    >>> model.predict(X).round(3)
    array([0., 1., 0.])
    """

    def __init__(self, kernel: Kernel, limits: Any = (1e-5, 1e5)) -> None:
        self.kernel = kernel
        self.limits = limits

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Names and bounds of the hyper-parameters."""
        return [Hyperparameter(name, "numeric", self.limits) for name, _ in _numbers(self.kernel)]

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the hyper-parameters, shape (h,); none if they are fixed."""
        if self.limits == "fixed":
            return np.empty(0)
        return np.log([value for _, value in _numbers(self.kernel)])

    @theta.setter
    def theta(self, theta: np.ndarray) -> None:
        """Set the hyper-parameters from their logarithms."""
        if self.limits != "fixed":
            self.kernel = _with_numbers(self.kernel, iter(np.exp(np.asarray(theta, dtype=float)).tolist()))

    @property
    def bounds(self) -> np.ndarray:
        """Logarithms of the bounds, shape (h, 2)."""
        return np.log(np.tile(np.asarray(self.limits, dtype=float), (self.n_dims, 1))) if self.n_dims else np.empty(0)

    @property
    def requires_vector_input(self) -> bool:
        """Whether the kernel reads rows of numbers."""
        return self.kernel.domain == "vectors"

    def is_stationary(self) -> bool:
        """Whether the kernel is a function of the difference."""
        return _stationary(self.kernel)

    def diag(self, X: Any) -> np.ndarray:
        """``k(x_i, x_i)``, shape (n,)."""
        return np.asarray(self.kernel.diag(as_numpy(X)), dtype=np.float64)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Gram matrix, shape (n, m), and with ``eval_gradient`` its gradient by ``theta``, shape (n, n, h)."""
        X = as_numpy(X)
        if not eval_gradient:
            return self.kernel(X, None if Y is None else as_numpy(Y))
        if Y is not None:
            raise InputError("the gradient is that of k(X, X): leave Y out with eval_gradient=True")
        K = self.kernel(X)
        if not self.n_dims:
            return K, np.empty((*K.shape, 0))
        items = self.kernel.read(X)
        parts = _gradients(self.kernel.resolve(items), items)
        return K, torch.stack(parts, -1).cpu().numpy()

    def __repr__(self) -> str:
        return f"SklearnKernel({self.kernel!r})"


def _own_number(kernel: Kernel) -> str | None:
    """Name of the parameter of this kernel itself that is a hyper-parameter."""
    if isinstance(kernel, (Stationary, GaussianOf)):
        return "gamma"
    return "scale" if isinstance(kernel, (Linear, Scaled)) else None


def _children(kernel: Kernel) -> tuple[tuple[str, Kernel], ...]:
    """Kernels inside whose hyper-parameters are followed."""
    if isinstance(kernel, (Sum, Product)):
        return tuple((f"terms{i}", part) for i, part in enumerate(kernel.parts))
    return (("base", kernel.base),) if isinstance(kernel, Scaled) else ()


def _numbers(kernel: Kernel, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Names and values of the hyper-parameters, in a fixed order."""
    own = _own_number(kernel)
    if own is not None:
        value = getattr(kernel, own)
        if isinstance(value, str):
            raise InputError(
                f"{type(kernel).__name__}.{own} must be a number for a Gaussian process; got {value!r}. "
                "Pass the training data, kernel.as_sklearn(X), or a number"
            )
        yield prefix + own, float(value)
    for name, child in _children(kernel):
        yield from _numbers(child, f"{prefix}{name}__")


def _with_numbers(kernel: Kernel, values: Iterator[float]) -> Kernel:
    """The kernel with other values of its hyper-parameters."""
    params = kernel.get_params(deep=False)
    own = _own_number(kernel)
    if own is not None:
        params[own] = next(values)
    if isinstance(kernel, (Sum, Product)):
        params["terms"] = tuple(_with_numbers(part, values) for part in kernel.parts)
    elif isinstance(kernel, Scaled):
        params["base"] = _with_numbers(kernel.base, values)
    return type(kernel)(**params)


def _gradients(kernel: Kernel, X: Any) -> list[Tensor]:
    """Derivatives of the Gram matrix by the logarithms of the hyper-parameters, each of shape (n, n)."""
    if isinstance(kernel, Sum):
        return [G for part in kernel.parts for G in _gradients(part, X)]
    if isinstance(kernel, Product):
        grams = [part._gram(X) for part in kernel.parts]
        found = []
        for i, part in enumerate(kernel.parts):
            others = [K for j, K in enumerate(grams) if j != i]
            for G in _gradients(part, X):
                for K in others:
                    G = G * K
                found.append(G)
        return found
    if isinstance(kernel, Scaled):
        return [kernel._gram(X), *(G.mul_(kernel.scale) for G in _gradients(kernel.base, X))]
    if isinstance(kernel, Linear):
        return [kernel._gram(X)]
    if isinstance(kernel, GaussianOf) or (isinstance(kernel, Laplacian) and kernel.norm == "l1"):
        K = kernel._gram(X)  # exp(-gamma D), so that the derivative is K log K
        return [torch.xlogy(K, K)]
    if isinstance(kernel, Radial):  # F(gamma^(2 / power) D)
        D = squared_distances(X, rate=kernel._gamma ** (2 / kernel._power))
        return [kernel._slope(D.clone()).mul_(D).mul_(2.0 / kernel._power)]
    return []


def _stationary(kernel: Kernel) -> bool:
    if isinstance(kernel, (Sum, Product, Scaled)):
        return all(_stationary(part) for part in kernel.parts)
    return isinstance(kernel, Stationary) and not isinstance(kernel, Composite)
