"""Kernels of scikit-learn, and kernels on the features of torch modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_count, check_list
from rkhs._core.config import hashed
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs._core.ownership import is_process_kernel
from rkhs.kernels.base import Kernel, VectorKernel, read_matrix
from rkhs.kernels.vectors.dot_product import Linear

_BLOCK = 32  # items per block; its small Gram matrix has the diagonal
# The pairwise kernels of scikit-learn that are positive semi-definite on what they accept. "rbf" is one by its formula,
# but rounding of distances far from the origin may make its matrix indefinite, so that it is checked.
_PSD = frozenset({"chi2", "cosine", "laplacian", "linear", "poly", "polynomial"})


class FromSklearn(Kernel):
    """A kernel of scikit-learn: one of its pairwise kernels by name, or a kernel of its Gaussian processes.

    Parameters
    ----------
    kernel : str or sklearn.gaussian_process.kernels.Kernel
        ``"chi2"``, ``"cosine"``, ``"rbf"``, ... (``sklearn.metrics.pairwise.PAIRWISE_KERNEL_FUNCTIONS``), or an object
        such as ``ExpSineSquared()``. Hyper-parameters keep the values they have.
    params : dict, default=None
        Parameters of a pairwise kernel, such as ``{"gamma": 0.1}``.

    Notes
    -----
    ``known_psd`` is false where scikit-learn's kernel may be indefinite (``"sigmoid"``, ``"additive_chi2"``) or unknown
    (every object): estimators then check the Gram matrix. ``WhiteKernel`` is zero between any two sets of points, so
    add the noise to the estimator instead. Kernels by name are written to model files, objects are not. No gradient:
    it cannot act on codes.

    References
    ----------
    Pedregosa et al. (2011), "Scikit-learn: machine learning in Python".

    Examples
    --------
    >>> from rkhs.kernels import FromSklearn
    >>> FromSklearn("cosine")([[3.0, 4.0]], [[1.0, 0.0]])
    array([[0.6]])
    """

    def __init__(self, kernel: Any, params: dict[str, Any] | None = None) -> None:
        self.kernel = kernel
        self.params = params

    @property
    def domain(self) -> str:  # type: ignore[override]
        """Vectors, unless a kernel of a Gaussian process reads objects."""
        return "objects" if getattr(self.kernel, "requires_vector_input", True) is False else "vectors"

    @property
    def known_psd(self) -> bool:
        """Whether the name is one of a positive semi-definite kernel."""
        return isinstance(self.kernel, str) and self.kernel in _PSD

    def read(self, X: Any) -> Any:
        """A tensor for vectors; objects stay as they are, in a list."""
        return read_matrix(X, "FromSklearn") if self.domain == "vectors" else super().read(X)

    def _check(self) -> None:
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        if isinstance(self.kernel, str):
            if self.kernel not in PAIRWISE_KERNEL_FUNCTIONS:
                known = ", ".join(sorted(PAIRWISE_KERNEL_FUNCTIONS))
                raise InputError(f"FromSklearn.kernel must be one of {known}, or an object; got {self.kernel!r}")
            if self.params is not None and not isinstance(self.params, dict):
                raise InputError(f"FromSklearn.params must be a dict or None; got {self.params!r}")
        elif not is_process_kernel(self.kernel):
            raise InputError(
                f"FromSklearn.kernel must be a name or a kernel of scikit-learn's Gaussian processes; "
                f"got {self.kernel!r}"
            )
        elif self.params is not None:
            raise InputError("FromSklearn.params are those of a pairwise kernel; set those of an object on the object")

    def _values(self, X: Any, Y: Any) -> Any:
        if not isinstance(self.kernel, str):
            return self.kernel(X, Y)
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        function = PAIRWISE_KERNEL_FUNCTIONS[self.kernel]
        try:
            with np.errstate(all="ignore"):  # values that are not finite are refused by name
                return function(X, X if Y is None else Y, **(self.params or {}))
        except (ValueError, TypeError) as error:  # data or parameters that scikit-learn refuses
            raise InputError(f"scikit-learn's kernel {self.kernel!r} refuses: {error}") from None

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        tensor = isinstance(X, Tensor)
        A, B = (Z.detach().cpu().numpy() if isinstance(Z, Tensor) else Z for Z in (X, Y))
        K = torch.as_tensor(np.array(self._values(A, B), dtype=np.float64))
        if Y is None:
            K = (K + K.mT) / 2  # its last digits may differ across the diagonal
        return K.to(dtype=X.dtype, device=X.device) if tensor else K

    def _diag(self, X: Any) -> Tensor:
        if not isinstance(self.kernel, str):
            tensor = isinstance(X, Tensor)
            d = torch.as_tensor(np.array(self.kernel.diag(X.detach().cpu().numpy() if tensor else X), dtype=np.float64))
            return d.to(dtype=X.dtype, device=X.device) if tensor else d
        return torch.cat([self._gram(part).diagonal() for part in X.split(_BLOCK)])


class FromModule(VectorKernel):
    """Deep kernel: a kernel of the features that a torch module computes, ``k(x, y) = base(m(x), m(y))``.

    Parameters
    ----------
    module : torch.nn.Module
        Maps a batch (n, d), or (n, c, h, w), to features (n, p), row by row. It is used in evaluation mode and
        never changed: train it beforehand.
    base : Kernel, default=Linear()
        On the features; ``Gaussian()`` makes the usual deep kernel.
    input_shape : tuple of int, default=None
        Shape into which each row of ``d`` numbers is folded, such as ``(1, 28, 28)`` for images; None: rows stay rows.

    Raises
    ------
    InputError
        If ``module`` is not a module, gives anything but finite features (n, p), or the rows do not fold.

    Notes
    -----
    Gradients pass the base kernel in closed form and the module by automatic differentiation, so that the kernel can
    act on codes. The module is not written to model files.

    References
    ----------
    Wilson et al. (2016), "Deep kernel learning", equation 5.

    Examples
    --------
    >>> import torch
    >>> from rkhs.kernels import FromModule
    >>> halve = torch.nn.Linear(2, 1, bias=False).double()
    >>> _ = torch.nn.init.constant_(halve.weight, 0.5)
    >>> FromModule(halve)([[1.0, 3.0]], [[1.0, 1.0]])
    array([[2.]])
    """

    def __init__(self, module: Any, base: Kernel | None = None, input_shape: tuple[int, ...] | None = None) -> None:
        self.module = module
        self.base = base
        self.input_shape = input_shape

    def __eq__(self, other: object) -> bool:
        """Equal parameters and modules of one class with equal weights."""
        if not isinstance(other, FromModule):
            return NotImplemented
        if (self.base, self.input_shape) != (other.base, other.input_shape):
            return False
        if self.module is other.module:
            return True
        if type(self.module) is not type(other.module) or not isinstance(self.module, torch.nn.Module):
            return False
        mine, theirs = self.module.state_dict(), other.module.state_dict()
        return mine.keys() == theirs.keys() and all(torch.equal(mine[key], theirs[key]) for key in mine)

    def __hash__(self) -> int:
        """Of the parameters and the class of the module."""
        return hash((type(self), hashed([self.base, self.input_shape]), type(self.module)))

    @property
    def differentiable(self) -> bool:
        """Whether the base kernel is."""
        return self._base.differentiable

    @property
    def known_psd(self) -> bool:
        """Whether the base kernel is."""
        return self._base.known_psd

    @property
    def _base(self) -> Kernel:
        return Linear() if self.base is None else self.base

    def resolve(self, X: Any, weights: Tensor | None = None) -> FromModule:
        """Check the parameters and resolve the base kernel on the features."""
        if not isinstance(self.module, torch.nn.Module):
            raise InputError(f"FromModule.module must be a torch.nn.Module; got {type(self.module).__name__}")
        if not isinstance(self._base, Kernel) or self._base.domain != "vectors":
            raise InputError(f"FromModule.base must be a kernel on vectors; got {self.base!r}")
        if self.input_shape is not None:
            shape = check_list(self.input_shape, "FromModule.input_shape")
            sizes = [check_count(size, "FromModule.input_shape") for size in shape]
            if int(np.prod(sizes)) != X.shape[1]:
                raise InputError(
                    f"FromModule.input_shape must hold as many numbers as a row, {X.shape[1]}; got {self.input_shape}"
                )
        unresolved = self._base
        base = unresolved.resolve(self._features(X), weights)
        return self if base is unresolved else FromModule(self.module, base, self.input_shape)

    def _map(self, X: Tensor) -> Tensor:
        """Compute the features in the dtype of ``X``, with the autograd graph if gradients are enabled."""
        weight = next(iter(self.module.parameters()), X)
        folded = X if self.input_shape is None else X.reshape(len(X), *self.input_shape)
        with _evaluating(self.module):
            H = self.module(folded.to(dtype=weight.dtype, device=weight.device))
        if not isinstance(H, Tensor) or H.ndim != 2 or len(H) != len(X):
            got = tuple(H.shape) if isinstance(H, Tensor) else type(H).__name__
            raise InputError(f"FromModule.module must give features of shape ({len(X)}, p); got {got}. Flatten them")
        return H.to(dtype=X.dtype, device=X.device)

    def _features(self, X: Tensor) -> Tensor:
        with torch.no_grad():
            return self._finite(self._map(X))

    @staticmethod
    def _finite(H: Tensor) -> Tensor:
        if not bool(torch.isfinite(H.detach()).all()):
            raise InputError("FromModule.module must give finite features; got NaN or infinity")
        return H

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return self._base._plain(self._map(X), self._map(Y))

    def _plain_diag(self, X: Tensor) -> Tensor:
        return self._base._plain_diag(self._map(X))

    def _gram(self, X: Tensor, Y: Tensor | None = None) -> Tensor:
        return self._base._gram(self._features(X), None if Y is None else self._features(Y))

    def _diag(self, X: Tensor) -> Tensor:
        return self._base._diag(self._features(X))

    def _through(self, X: Tensor, pull: Any) -> Tensor:
        """Pull a gradient with respect to the features back to ``X``."""
        with torch.enable_grad():
            leaf = X.detach().clone().requires_grad_()
            H = self._finite(self._map(leaf))
        (gradient,) = torch.autograd.grad(H, leaf, pull(H.detach()))
        return gradient

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        return self._through(X, lambda H: self._base._pullback(H, S, K))

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return self._through(X, lambda H: self._base._cross_pullback(H, self._features(Y), S))

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return self._through(X, lambda H: self._base._diag_pullback(H, s))


@contextmanager
def _evaluating(module: torch.nn.Module) -> Iterator[None]:
    """Set evaluation mode for a while: with drop-out or batch statistics the features of a row depend on the batch."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
