"""Our kernels as kernels of scikit-learn's Gaussian processes, with gradients by their hyper-parameters."""

from __future__ import annotations

from abc import abstractmethod
from functools import reduce
from typing import Any

import numpy as np
import torch
from sklearn.gaussian_process import kernels as process
from sklearn.gaussian_process.kernels import Hyperparameter
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_number, check_numbers
from rkhs._core.errors import InputError, shown
from rkhs.kernels.base import Kernel
from rkhs.kernels.combined.derived import GaussianOf
from rkhs.kernels.combined.scaled_inputs import ScaledInputs
from rkhs.kernels.combined.sums_and_products import Product, Scaled, Sum
from rkhs.kernels.vectors.distances import squared_distances
from rkhs.kernels.vectors.dot_product import Linear
from rkhs.kernels.vectors.laplacian import Laplacian
from rkhs.kernels.vectors.radial import Radial
from rkhs.kernels.vectors.stationary import Stationary


class SklearnKernel(process.Kernel):
    """A kernel of this library in the form that scikit-learn's Gaussian processes read; made by ``k.as_sklearn()``.

    It behaves as scikit-learn's own: hyper-parameters are attributes and parameters under their names (``gamma``), each
    with its bounds (``gamma_bounds``), and ``theta`` holds their logarithms. Values and gradients are in float64.

    References
    ----------
    Rasmussen and Williams (2006), equation 5.9.
    """

    template: Kernel

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel of this library with the hyper-parameters as they are now."""

    @abstractmethod
    def _gradient(self, kernel: Kernel, items: Any) -> list[Tensor]:
        """Derivatives of the Gram matrix by the logarithms of the hyper-parameters, each of shape (n, n)."""

    @property
    def requires_vector_input(self) -> bool:
        """Whether the kernel reads rows of numbers."""
        return self.template.domain == "vectors"

    def is_stationary(self) -> bool:
        """Whether the kernel is a function of the difference."""
        kernel = self.template
        return isinstance(kernel.base if isinstance(kernel, ScaledInputs) else kernel, Stationary)

    def diag(self, X: Any) -> np.ndarray:
        """``k(x_i, x_i)``, shape (n,)."""
        kernel, items = self._read(X)
        return kernel._diag(items).cpu().numpy().astype(np.float64, copy=False)

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Gram matrix, shape (n, m), and with ``eval_gradient`` its gradient by ``theta``, shape (n, n, h)."""
        if eval_gradient and Y is not None:
            raise InputError("the gradient is that of k(X, X): leave Y out with eval_gradient=True")
        kernel, items = self._read(X)
        K = kernel(items, None if Y is None else self._read(Y)[1])
        K = np.asarray(K, dtype=np.float64)
        if not eval_gradient:
            return K
        if not self.n_dims:
            return K, np.empty((*K.shape, 0))
        return K, torch.stack(self._gradient(kernel, items), -1).cpu().numpy()

    def _read(self, X: Any) -> tuple[Kernel, Any]:
        """The kernel, and items as it reads them; parameters that depend on data would follow those of each call."""
        kernel = self.kernel
        items = kernel.read(as_numpy(X))
        if isinstance(items, Tensor):
            items = items.to(torch.float64)
        if kernel.resolve(items) is not kernel:
            raise InputError(
                f"{kernel!r} has parameters that depend on data, which a Gaussian process would choose anew for each "
                "set of points. Pass the training data, kernel.as_sklearn(X), or numbers"
            )
        return kernel, items

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        assert isinstance(other, SklearnKernel)
        return bool(self.kernel == other.kernel and self.hyperparameters == other.hyperparameters)

    __hash__ = None  # type: ignore[assignment]  # parameters may be changed by set_params

    def __repr__(self) -> str:
        return f"SklearnKernel({self.kernel!r})"


class GammaKernel(SklearnKernel):
    """A stationary kernel, or ``GaussianOf``, whose ``gamma`` is a hyper-parameter."""

    def __init__(self, template: Kernel, gamma: float = 1.0, gamma_bounds: Any = (1e-5, 1e5)) -> None:
        self.template = template
        self.gamma = gamma
        self.gamma_bounds = gamma_bounds

    @property
    def hyperparameter_gamma(self) -> Hyperparameter:
        """Name and bounds of the bandwidth."""
        return Hyperparameter("gamma", "numeric", self.gamma_bounds)

    @property
    def kernel(self) -> Kernel:
        return self.template._with(gamma=float(self.gamma))

    def _gradient(self, kernel: Kernel, items: Any) -> list[Tensor]:
        if isinstance(kernel, Radial) and kernel.rotation_invariant:  # F(gamma^(2 / power) D)
            D = squared_distances(items, rate=kernel._gamma ** (2 / kernel._power))
            return [kernel._slope(D.clone()).mul_(D).mul_(2.0 / kernel._power)]
        K = kernel._gram(items)  # exp(-gamma D), so that the derivative is K log K
        return [torch.xlogy(K, K)]


class ScaleKernel(SklearnKernel):
    """A linear kernel whose ``scale`` is a hyper-parameter."""

    def __init__(self, template: Linear, scale: float = 1.0, scale_bounds: Any = (1e-5, 1e5)) -> None:
        self.template = template
        self.scale = scale
        self.scale_bounds = scale_bounds

    @property
    def hyperparameter_scale(self) -> Hyperparameter:
        """Name and bounds of the factor."""
        return Hyperparameter("scale", "numeric", self.scale_bounds)

    @property
    def kernel(self) -> Kernel:
        return self.template._with(scale=float(self.scale))

    def _gradient(self, kernel: Kernel, items: Any) -> list[Tensor]:
        return [kernel._gram(items)]


class ScalesKernel(SklearnKernel):
    """A stationary kernel of scaled columns whose ``scales`` are hyper-parameters (relevance of columns)."""

    def __init__(self, template: ScaledInputs, scales: Any = (1.0,), scales_bounds: Any = (1e-5, 1e5)) -> None:
        self.template = template
        self.scales = scales
        self.scales_bounds = scales_bounds

    @property
    def hyperparameter_scales(self) -> Hyperparameter:
        """Name, bounds and number of the scales."""
        return Hyperparameter("scales", "numeric", self.scales_bounds, len(np.atleast_1d(self.scales)))

    @property
    def kernel(self) -> Kernel:
        return self.template._with(scales=tuple(np.atleast_1d(self.scales).tolist()))

    def _gradient(self, kernel: Kernel, items: Tensor) -> list[Tensor]:
        assert isinstance(kernel, ScaledInputs)
        base, A = kernel.base, kernel._mapped(items)
        gaps = [(column[:, None] - column).abs_() for column in A.mT]
        if isinstance(base, Laplacian) and base.norm == "l1":
            K = base._gram(A)
            return [gap.mul_(K).mul_(-base._gamma) for gap in gaps]
        assert isinstance(base, Radial)  # f(sum_j s_j^2 d_j^2)
        slope = base._slope(squared_distances(A, rate=base._gamma ** (2 / base._power)))
        return [gap.square_().mul_(slope).mul_(2.0) for gap in gaps]


class FixedKernel(SklearnKernel):
    """A kernel without hyper-parameters."""

    def __init__(self, template: Kernel) -> None:
        self.template = template

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.template

    def _gradient(self, kernel: Kernel, items: Any) -> list[Tensor]:
        return []


def to_process(kernel: Kernel, limits: Any = (1e-5, 1e5)) -> process.Kernel:
    """A kernel for scikit-learn's Gaussian processes: sums, products and multiples become scikit-learn's."""
    limits = _check_limits(limits)
    if isinstance(kernel, (Sum, Product)):
        join = process.Sum if isinstance(kernel, Sum) else process.Product
        return reduce(join, (to_process(part, limits) for part in kernel.parts))
    if isinstance(kernel, Scaled):
        (base,), factor = kernel.parts, check_number(kernel.scale, "Scaled.scale", above=0.0)
        return process.Product(process.ConstantKernel(factor, limits), to_process(base, limits))
    if isinstance(kernel, (Stationary, GaussianOf)):
        return GammaKernel(kernel, _number(kernel, "gamma"), limits)
    if isinstance(kernel, Linear):
        return ScaleKernel(kernel, _number(kernel, "scale"), limits)
    if isinstance(kernel, ScaledInputs) and isinstance(kernel.base, (Radial, Laplacian)):
        if isinstance(kernel.scales, str):
            raise InputError(
                f"ScaledInputs.scales must be numbers for a Gaussian process; got {kernel.scales!r}. Pass the training "
                "data, kernel.as_sklearn(X), or numbers"
            )
        return ScalesKernel(kernel, kernel.scales, limits)
    return FixedKernel(kernel)


def from_process(kernel: process.Kernel) -> Kernel | None:
    """The kernel of this library that :func:`to_process` made, with the hyper-parameters as they are now."""
    if isinstance(kernel, SklearnKernel):
        return kernel.kernel
    if not isinstance(kernel, (process.Sum, process.Product)):
        return None
    if isinstance(kernel, process.Product) and isinstance(kernel.k1, process.ConstantKernel):
        base = from_process(kernel.k2)
        return None if base is None else base * float(kernel.k1.constant_value)
    left, right = from_process(kernel.k1), from_process(kernel.k2)
    if left is None or right is None:
        return None
    return left + right if isinstance(kernel, process.Sum) else left * right


def _check_limits(limits: Any) -> Any:
    if isinstance(limits, str) and limits == "fixed":
        return limits
    found = () if isinstance(limits, str) else tuple(check_numbers(limits, "limits", above=0.0))
    if len(found) != 2 or found[0] > found[1]:
        raise InputError(f"limits must be 'fixed' or two numbers, the lower one first; got {shown(limits)}")
    return found


def _number(kernel: Kernel, name: str) -> float:
    value = getattr(kernel, name)
    if isinstance(value, str):
        raise InputError(
            f"{type(kernel).__name__}.{name} must be a number for a Gaussian process; got {value!r}. "
            "Pass the training data, kernel.as_sklearn(X), or a number"
        )
    return float(value)
