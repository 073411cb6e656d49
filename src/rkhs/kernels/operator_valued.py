"""Operator-valued kernels: lists of pairs (scalar kernel, output operator). Kronecker products are never built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.checks import check_operator
from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel, common_domain


class OperatorKernel(Configurable):
    """A kernel with values in operators on R^p (OVK), ``K(x, y) = sum_t k_t(x, y) A_t`` with ``A_t`` psd.

    A function of its space (vv-RKHS) is ``f = sum_i K(., x_i) phi_i`` with coefficients ``Phi`` of shape (n, p).

    References
    ----------
    Laforgue et al. (2020), section 2; Alvarez et al. (2012), section 4.

    Examples
    --------
    >>> from rkhs.kernels import Gaussian, Linear, OperatorKernel, Separable
    >>> kernel = Separable(Gaussian(1.0), [[1.0, 0.5], [0.5, 1.0]]) + Separable(Linear())
    >>> isinstance(kernel, OperatorKernel), len(kernel.pairs)
    (True, 2)
    """

    @property
    @abstractmethod
    def pairs(self) -> tuple[Separable, ...]:
        """The terms ``k_t A_t``, checked."""

    @property
    def domain(self) -> str:
        """What the scalar kernels read; all must read the same."""
        return common_domain(self, [term.kernel for term in self.pairs], "terms")

    @property
    def row_width(self) -> int | None:
        """Number of columns if the scalar kernels read rows of sparse matrices; None for other items."""
        return self.pairs[0].kernel.row_width

    def read(self, X: Any) -> Any:
        """Read the items by the scalar kernels."""
        assert self.domain
        return self.pairs[0].kernel.read(X)

    @abstractmethod
    def resolve(self, X: Any, weights: Tensor | None = None, size: int | None = None) -> OperatorKernel:
        """Resolve every scalar kernel and check every operator.

        Parameters
        ----------
        X : items as returned by :meth:`read`
        weights : Tensor of shape (n,), optional
            Sample weights that sum to one.
        size : int, optional
            Number of outputs p; operators are checked against it. A name in place of an operator, such as
            ``"covariance"``, stays: it is for the problem that knows the outputs.

        Returns
        -------
        OperatorKernel

        Raises
        ------
        InputError
            For a parameter out of range, or an operator of another shape, asymmetric or not psd.
        """

    @abstractmethod
    def with_operators(self, operators: Sequence[Any]) -> OperatorKernel:
        """Return the same kernel with other operators, one per term (None: the identity)."""

    def grams(self, X: Any, Y: Any = None) -> list[Tensor]:
        """Gram matrices of the scalar kernels, one of shape (n, m) per term; equal kernels share one."""
        computed: list[tuple[Kernel, Tensor]] = []
        grams = []
        for term in self.pairs:
            known = next((K for kernel, K in computed if kernel == term.kernel), None)
            if known is None:
                known = term.kernel._gram(X, Y)
                computed.append((term.kernel, known))
            grams.append(known)
        return grams

    def apply(self, Ks: Sequence[Tensor], Phi: Tensor) -> Tensor:
        """Values ``f(X) = sum_t K_t Phi A_t``, shape (m, p), for the matrices (m, n) of :meth:`grams`.

        Raises
        ------
        InputError
            For another number of matrices, or an operator that is still a name or does not fit.
        """
        parts = [K.to(Phi) @ term._times(Phi) for K, term in zip(Ks, self._match(Ks), strict=True)]
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]

    def squared_norm(self, Ks: Sequence[Tensor], Phi: Tensor) -> Tensor:
        """Squared norm ``||f||^2 = sum_t <K_t, Phi A_t Phi^T>``, a scalar; ``K_t`` as :meth:`grams` returns them."""
        parts = [((K @ Phi) * term._times(Phi)).sum() for K, term in zip(Ks, self._match(Ks), strict=True)]
        return torch.stack(parts).sum()

    def _match(self, Ks: Sequence[Tensor]) -> tuple[Separable, ...]:
        pairs = self.pairs
        if len(Ks) != len(pairs):
            raise InputError(f"Ks must hold {len(pairs)} Gram matrices, one per term; got {len(Ks)}")
        return pairs

    def __add__(self, other: object) -> OperatorSum:
        if isinstance(other, Kernel):
            other = Separable(other)
        if not isinstance(other, OperatorKernel):
            return NotImplemented
        return OperatorSum((*self.pairs, *other.pairs))

    def __radd__(self, other: object) -> OperatorSum:
        return Separable(other) + self if isinstance(other, Kernel) else NotImplemented


class Separable(OperatorKernel):
    """Separable kernel ``K(x, y) = k(x, y) A``.

    Parameters
    ----------
    kernel : Kernel
        The scalar kernel ``k``.
    operator : array of shape (p, p), str or None, default=None
        Symmetric positive semi-definite ``A``; None: the identity; a name such as ``"covariance"``: left for the
        problem that knows the outputs.

    References
    ----------
    Laforgue et al. (2020), section 2 (decomposable kernels).

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from rkhs.kernels import Linear, Separable
    >>> kernel = Separable(Linear(), operator=np.diag([1.0, 2.0]))
    >>> Ks = kernel.grams(torch.tensor([[1.0], [2.0]]))
    >>> kernel.apply(Ks, torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 2.],
            [2., 4.]])
    """

    def __init__(self, kernel: Kernel, operator: Any = None) -> None:
        self.kernel = kernel
        self.operator = operator

    @property
    def pairs(self) -> tuple[Separable, ...]:
        """Itself, checked."""
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"Separable.kernel must be a kernel; got {self.kernel!r}")
        return (self,)

    def resolve(self, X: Any, weights: Tensor | None = None, size: int | None = None) -> Separable:
        assert self.pairs
        kernel = self.kernel.resolve(X, weights)
        operator = self.operator
        if operator is not None and not isinstance(operator, str):
            p = size if size is not None else np.shape(operator)[0] if np.ndim(operator) else 1
            checked = check_operator(operator, "Separable.operator", p)
            unchanged = isinstance(operator, np.ndarray) and np.array_equal(checked, operator)
            operator = operator if unchanged else checked
        return self if kernel is self.kernel and operator is self.operator else Separable(kernel, operator)

    def with_operators(self, operators: Sequence[Any]) -> Separable:
        if len(operators) != 1:
            raise InputError(f"operators must hold one operator for a Separable kernel; got {len(operators)}")
        return Separable(self.kernel, operators[0])

    def _times(self, Phi: Tensor) -> Tensor:
        if self.operator is None:
            return Phi
        if isinstance(self.operator, str):
            raise InputError(f"Separable.operator is {self.operator!r}, a name; replace it by with_operators first")
        A = tensor_like(self.operator, Phi)
        if A.shape != (Phi.shape[1], Phi.shape[1]):
            raise InputError(
                f"Separable.operator must have shape ({Phi.shape[1]}, {Phi.shape[1]}); got {tuple(A.shape)}"
            )
        return Phi @ A


class OperatorSum(OperatorKernel):
    """Sum of separable kernels, ``K(x, y) = sum_t k_t(x, y) A_t``; written ``Separable(k1, A1) + Separable(k2, A2)``.

    Parameters
    ----------
    terms : tuple of Separable
        At least one.

    References
    ----------
    Alvarez et al. (2012), section 4.2 (linear model of coregionalisation).

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.kernels import Gaussian, Linear, Separable
    >>> kernel = Separable(Gaussian(1.0)) + Separable(Linear(), np.eye(2))
    >>> len(kernel.pairs)
    2
    """

    def __init__(self, terms: tuple[Separable, ...]) -> None:
        self.terms = terms

    @property
    def pairs(self) -> tuple[Separable, ...]:
        """The terms, checked."""
        if not isinstance(self.terms, (tuple, list)) or not self.terms:
            raise InputError(f"OperatorSum.terms must be a tuple of at least one Separable; got {self.terms!r}")
        for term in self.terms:
            if not isinstance(term, Separable):
                raise InputError(f"OperatorSum.terms must be Separable kernels; got {term!r}")
        return tuple(pair for term in self.terms for pair in term.pairs)

    def resolve(self, X: Any, weights: Tensor | None = None, size: int | None = None) -> OperatorSum:
        resolved = tuple(term.resolve(X, weights, size) for term in self.pairs)
        same = all(new is old for new, old in zip(resolved, self.terms, strict=True))
        return self if same else OperatorSum(resolved)

    def with_operators(self, operators: Sequence[Any]) -> OperatorSum:
        pairs = self.pairs
        if len(operators) != len(pairs):
            raise InputError(f"operators must hold {len(pairs)} operators, one per term; got {len(operators)}")
        return OperatorSum(tuple(Separable(term.kernel, A) for term, A in zip(pairs, operators, strict=True)))
