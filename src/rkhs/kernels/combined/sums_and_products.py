"""Sums, products and positive multiples of kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, ClassVar

import torch
from torch import Tensor

from rkhs._core.checks import Declared, number
from rkhs._core.errors import InputError
from rkhs._core.linalg import Outer
from rkhs.kernels.base import Composite, Derived, Kernel
from rkhs.kernels.vectors.radial import Mixture, Radial


class _Many(Composite):
    of_values = True

    def __init__(self, terms: tuple[Kernel, ...]) -> None:
        self.terms = terms

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The terms, checked."""
        if not isinstance(self.terms, (tuple, list)) or not self.terms:
            raise InputError(f"{type(self).__name__}.terms must be a tuple of at least one kernel; got {self.terms!r}")
        for term in self.terms:
            if not isinstance(term, Kernel):
                raise InputError(f"{type(self).__name__}.terms must be kernels; got {term!r}")
        return tuple(self.terms)


class Sum(_Many):
    """Sum of kernels, ``k(x, y) = sum_t k_t(x, y)``; written ``k1 + k2``.

    Parameters
    ----------
    terms : tuple of Kernel
        At least one.

    References
    ----------
    Scholkopf and Smola (2002), proposition 13.1.

    Examples
    --------
    >>> from rkhs.kernels import Gaussian, Linear
    >>> (Gaussian(1.0) + Linear())([[1.0]], [[1.0]])
    array([[2.]])
    """

    @property
    def _passes(self) -> list[Kernel]:
        """The terms, with all radial ones merged, so that distances are computed once."""
        radial: list[tuple[float, Radial]] = []
        others: list[Kernel] = []
        for term in self.terms:
            weight, base = (term.scale, term.base) if isinstance(term, Scaled) else (1.0, term)
            if isinstance(base, Radial) and base.rotation_invariant:  # not the L1 norm
                radial.append((weight, base))
            else:
                others.append(term)
        if len(radial) < 2:
            return list(self.terms)
        return [Mixture(*zip(*radial, strict=True)), *others]

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        first, *rest = self._passes
        K = first._gram(X, Y)
        for term in rest:
            term._add_gram(K, X, Y)
        return K

    @property
    def radial(self) -> Kernel | None:
        """All terms as one radial kernel, if each of them is radial."""
        return passes[0].radial if len(passes := self._passes) == 1 else None

    def gram_and_pullback(self, X: Tensor) -> tuple[Tensor, Callable[[Tensor | Outer], Tensor]]:
        first, *rest = [term.gram_and_pullback(X) for term in self._passes]
        K, pull = first
        for other, _ in rest:
            K += other
        return K, lambda S: sum((pull_term(S) for _, pull_term in rest), start=pull(S))

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return reduce(torch.add, [term._plain(X, Y) for term in self.parts])

    def _plain_diag(self, X: Tensor) -> Tensor:
        return reduce(torch.add, [term._plain_diag(X) for term in self.parts])

    def _diag(self, X: Any) -> Tensor:
        return torch.stack([term._diag(X) for term in self.parts]).sum(0)

    def _column_diag(self, X: Any, Y: Any) -> Tensor:
        return torch.stack([term._column_diag(X, Y) for term in self.parts]).sum(0)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        return torch.stack([term._pullback(X, S, None) for term in self._passes]).sum(0)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return torch.stack([term._cross_pullback(X, Y, S) for term in self._passes]).sum(0)

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        first, *rest = self._passes
        J = first._jacobian(X, Y, C)
        for term in rest:
            J += term._jacobian(X, Y, C)
        return J

    def _pair_pullback(self, X: Tensor, Y: Tensor, S: Tensor, K: Tensor | None) -> tuple[Tensor, Tensor]:
        parts = [term._pair_pullback(X, Y, S.clone(), None) for term in self._passes]
        return torch.stack([left for left, _ in parts]).sum(0), torch.stack([right for _, right in parts]).sum(0)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return torch.stack([term._diag_pullback(X, s) for term in self.parts]).sum(0)


class Product(_Many):
    """Product of kernels, ``k(x, y) = prod_t k_t(x, y)``; written ``k1 * k2``.

    Parameters
    ----------
    terms : tuple of Kernel
        At least one.

    References
    ----------
    Scholkopf and Smola (2002), proposition 13.2 (Schur).

    Examples
    --------
    >>> from rkhs.kernels import Linear
    >>> (Linear() * Linear())([[2.0]], [[3.0]])
    array([[36.]])
    """

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        first, *rest = self.parts
        K = first._gram(X, Y)
        for term in rest:
            K *= term._gram(X, Y)
        return K

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return reduce(torch.mul, [term._plain(X, Y) for term in self.parts])

    def _plain_diag(self, X: Tensor) -> Tensor:
        return reduce(torch.mul, [term._plain_diag(X) for term in self.parts])

    def _diag(self, X: Any) -> Tensor:
        return torch.stack([term._diag(X) for term in self.parts]).prod(0)

    def _column_diag(self, X: Any, Y: Any) -> Tensor:
        return torch.stack([term._column_diag(X, Y) for term in self.parts]).prod(0)

    def _others(self, values: list[Tensor], index: int, S: Tensor) -> Tensor:
        others = [value for i, value in enumerate(values) if i != index]
        return math.prod(others, start=S)

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        dense = S.dense() if isinstance(S, Outer) else S
        values = [term._gram(X) for term in self.parts]
        parts = [term._pullback(X, self._others(values, i, dense), values[i]) for i, term in enumerate(self.parts)]
        return torch.stack(parts).sum(0)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        values = [term._gram(X, Y) for term in self.parts]
        parts = [term._cross_pullback(X, Y, self._others(values, i, S)) for i, term in enumerate(self.parts)]
        return torch.stack(parts).sum(0)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        values = [term._diag(X) for term in self.parts]
        parts = [term._diag_pullback(X, self._others(values, i, s)) for i, term in enumerate(self.parts)]
        return torch.stack(parts).sum(0)


class Scaled(Derived):
    """Positive multiple of a kernel, ``k(x, y) = scale base(x, y)``; written ``scale * k``.

    Parameters
    ----------
    base : Kernel
    scale : float
        Positive.

    References
    ----------
    Scholkopf and Smola (2002), proposition 13.1.

    Examples
    --------
    >>> from rkhs.kernels import Linear
    >>> (0.5 * Linear())([[2.0]], [[3.0]])
    array([[3.]])
    """

    of_values = True

    def __init__(self, base: Kernel, scale: float) -> None:
        self.base = base
        self.scale = scale

    _declared: ClassVar[Declared] = {"scale": number(above=0.0)}

    def _gram(self, X: Any, Y: Any = None) -> Tensor:
        return self.base._gram(X, Y).mul_(self.scale)

    @property
    def radial(self) -> Radial | None:
        """The scaled base, if that is radial."""
        base = self.base.radial
        return Mixture([self.scale], [base]) if isinstance(base, Radial) else None

    def gram_and_pullback(self, X: Tensor) -> tuple[Tensor, Callable[[Tensor | Outer], Tensor]]:
        K, pull = self.base.gram_and_pullback(X)
        return K.mul_(self.scale), lambda S: pull(S).mul_(self.scale)

    def _add_gram(self, K: Tensor, X: Any, Y: Any = None, factor: float = 1.0) -> Tensor:
        return self.base._add_gram(K, X, Y, factor * self.scale)

    def _plain(self, X: Tensor, Y: Tensor) -> Tensor:
        return self.base._plain(X, Y) * self.scale

    def _plain_diag(self, X: Tensor) -> Tensor:
        return self.base._plain_diag(X) * self.scale

    def _diag(self, X: Any) -> Tensor:
        return self.base._diag(X) * self.scale

    def _column_diag(self, X: Any, Y: Any) -> Tensor:
        return self.base._column_diag(X, Y) * self.scale

    def _pullback(self, X: Tensor, S: Tensor | Outer, K: Tensor | None) -> Tensor:
        return self.base._pullback(X, S, None).mul_(self.scale)

    def _cross_pullback(self, X: Tensor, Y: Tensor, S: Tensor) -> Tensor:
        return self.base._cross_pullback(X, Y, S).mul_(self.scale)

    def _jacobian(self, X: Tensor, Y: Tensor, C: Tensor) -> Tensor:
        return self.base._jacobian(X, Y, C).mul_(self.scale)

    def _pair_pullback(self, X: Tensor, Y: Tensor, S: Tensor, K: Tensor | None) -> tuple[Tensor, Tensor]:
        return self.base._pair_pullback(X, Y, S.mul_(self.scale), None)

    def _diag_pullback(self, X: Tensor, s: Tensor) -> Tensor:
        return self.base._diag_pullback(X, s) * self.scale


def weighted_terms(kernel: Kernel, weight: float = 1.0) -> list[tuple[Kernel, float]]:
    """Expand sums and multiples into pairs of a kernel and its weight."""
    if isinstance(kernel, Sum):
        return [pair for part in kernel.parts for pair in weighted_terms(part, weight)]
    if isinstance(kernel, Scaled):
        return weighted_terms(kernel.parts[0], weight * kernel.scale)
    return [(kernel, weight)]


def _joined(left: Kernel, right: Kernel, kind: type[_Many]) -> Kernel:
    terms = [one.terms if isinstance(one, kind) else (one,) for one in (left, right)]
    return kind((*terms[0], *terms[1]))


added, multiplied = partial(_joined, kind=Sum), partial(_joined, kind=Product)
