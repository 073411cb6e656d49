"""What a kernel is: values, diagonal, pull-backs, and data-dependent parameters resolved once."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer

if TYPE_CHECKING:
    from rkhs.kernels.combine import Product, Scaled, Sum

__all__ = ["Kernel", "VectorKernel"]


class Kernel(Configurable):
    """A positive semi-definite kernel ``k(x, y)`` on vectors or on any objects.

    A kernel is described by its constructor parameters alone. Parameters that depend on data (``gamma="median"``) are
    turned into numbers by :meth:`resolve`, which returns a new kernel; every other method needs a resolved kernel.

    Kernels combine by ``+``, ``*`` and multiplication with a positive number, and act as callables on NumPy arrays and
    torch tensors, so that ``sklearn.svm.SVC(kernel=k)`` works.

    To write a kernel, subclass this class (objects) or :class:`VectorKernel` (vectors) and give ``_gram`` and
    ``_diag``; a differentiable kernel adds ``_pullback`` and ``_cross_pullback``.

    References
    ----------
    Scholkopf and Smola (2002), chapter 2.
    """

    domain: ClassVar[str] = "objects"
    """``"vectors"``, ``"objects"`` or ``"gram"``: what the kernel reads."""

    @property
    def differentiable(self) -> bool:
        """Whether the kernel can act on codes, that is, has pull-backs."""
        return type(self)._pullback is not Kernel._pullback

    @property
    def rotation_invariant(self) -> bool:
        """Whether ``k(Qx, Qy) = k(x, y)`` for every orthogonal ``Q``."""
        return False

    def __call__(self, X: Any, Y: Any = None) -> Any:
        """Gram matrix ``k(x_i, y_j)``, shape (n, m).

        Parameters
        ----------
        X : array, tensor or list of n items
        Y : array, tensor or list of m items, optional
            Default: ``X`` itself.

        Returns
        -------
        ndarray or Tensor of shape (n, m)
            A tensor if ``X`` is one, else an array. A kernel with data-dependent parameters is resolved on ``X`` first.
        """
        as_tensor = isinstance(X, Tensor)
        A = self.read(X)
        kernel = self.resolve(A)
        K = kernel._gram(A, None if Y is None else kernel.read(Y))
        return K if as_tensor else K.cpu().numpy()

    def diag(self, X: Any) -> Any:
        """Diagonal ``k(x_i, x_i)``, shape (n,); a tensor if ``X`` is one, else an array."""
        A = self.read(X)
        d = self.resolve(A)._diag(A)
        return d if isinstance(X, Tensor) else d.cpu().numpy()

    def read(self, X: Any) -> Any:
        """Bring ``X`` to the form that the private methods take; objects stay as they are."""
        return X

    def resolve(self, X: Any, weights: Tensor | None = None) -> Kernel:
        """Return the kernel with every data-dependent parameter turned into a number.

        Parameters
        ----------
        X : items as returned by :meth:`read`
            Training items.
        weights : Tensor of shape (n,), optional
            Sample weights that sum to one.

        Returns
        -------
        Kernel
            ``self`` if nothing depends on data.
        """
        return self

    def pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None = None) -> Tensor:
        """Gradient of a function of ``k(X, X)`` with respect to ``X``.

        With ``S = dJ/dK`` (all entries free, not necessarily symmetric):
        ``G_i = sum_j (S_ij + S_ji) grad_1 k(x_i, x_j)``.

        Parameters
        ----------
        X : Tensor of shape (n, d)
        S : Tensor of shape (n, n), or Outer
        K : Tensor of shape (n, n), optional
            The Gram matrix at ``X`` if it is at hand; saves recomputing it.

        Returns
        -------
        Tensor of shape (n, d)

        Raises
        ------
        InputError
            If the kernel is not differentiable.
        """
        return self._pullback(X, S, K)

    def cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        """Gradient with respect to ``X`` of a function of ``k(X, Y)`` with ``S = dJ/dk(X, Y)``, ``Y`` fixed.

        Parameters
        ----------
        X : Tensor of shape (n, d)
        Y : Tensor of shape (m, d)
        S : Tensor of shape (n, m)

        Returns
        -------
        Tensor of shape (n, d)
            ``G_i = sum_j S_ij grad_1 k(x_i, y_j)``.
        """
        return self._cross_pullback(X, Y, S)

    def diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        """Gradient with respect to ``X`` of a function of the diagonal, ``s_i = dJ/dk(x_i, x_i)``; shape (n, d)."""
        return self._diag_pullback(X, s)

    @abstractmethod
    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        """Gram matrix of items in the form of :meth:`read`; a new tensor that the caller may change."""

    @abstractmethod
    def _diag(self, X: Any) -> Tensor:
        """Diagonal of the Gram matrix."""

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        raise InputError(
            f"{type(self).__name__} has no gradient and cannot act on codes; use a Gaussian or Matern kernel"
        )

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        raise InputError(f"{type(self).__name__} has no gradient; use a Gaussian or Matern kernel")

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        raise InputError(f"{type(self).__name__} has no gradient; use a Gaussian or Matern kernel")

    def __add__(self, other: object) -> Sum:
        from rkhs.kernels.combine import Sum

        if not isinstance(other, Kernel):
            return NotImplemented
        return Sum((*_terms(self, Sum), *_terms(other, Sum)))

    def __mul__(self, other: object) -> Product | Scaled:
        from rkhs.kernels.combine import Product, Scaled

        if isinstance(other, Kernel):
            return Product((*_terms(self, Product), *_terms(other, Product)))
        if isinstance(other, (int, float)) and not isinstance(other, bool):
            return Scaled(self, float(other))
        return NotImplemented

    __rmul__ = __mul__


def _terms(kernel: Kernel, kind: type) -> tuple[Kernel, ...]:
    return kernel.terms if isinstance(kernel, kind) else (kernel,)  # type: ignore[attr-defined]


class VectorKernel(Kernel):
    """A kernel on the rows of a real matrix.

    References
    ----------
    Same as :class:`Kernel`.
    """

    domain = "vectors"

    def read(self, X: Any) -> Tensor:
        """Turn an array of shape (n, d) into a floating-point tensor; float32 stays float32."""
        if isinstance(X, Tensor):
            tensor = X if X.dtype in (torch.float32, torch.float64) else X.to(torch.float64)
        else:
            array = np.asarray(X)
            if array.dtype.kind not in "biuf":
                raise InputError(
                    f"{type(self).__name__} reads numbers; got dtype {array.dtype}. "
                    "Encode the columns as numbers, or use a kernel for objects"
                )
            dtype = np.float32 if array.dtype == np.float32 else np.float64
            array = np.ascontiguousarray(array, dtype=dtype)
            tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
        if tensor.ndim != 2:
            raise InputError(
                f"{type(self).__name__} reads a 2-D array (n samples, d inputs); got shape {tuple(tensor.shape)}. "
                "Reshape one feature by X.reshape(-1, 1), one sample by X.reshape(1, -1)"
            )
        return tensor
