"""Functions of items and of codes that a fit leaves behind: expansions, layers, free linear parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs.kernels.base import Kernel
from rkhs.outputs import Euclidean
from rkhs.problems.semiparametric import PrincipalCoordinates, principal_coordinates
from rkhs.spaces.features import FeatureMap, WholeMap

__all__ = ["CodeRegression", "Expansion", "Layer", "LinearPart"]


@dataclass(frozen=True, eq=False)
class Expansion:
    """The function ``raw(x) B + b`` of the raw features of items; with all training items ``k(x, X) B + b``.

    Parameters
    ----------
    map : FeatureMap
        Of width w.
    coefficients : ndarray of shape (w, p)
        ``B``.
    shift : ndarray of shape (p,), optional
        ``b``.

    References
    ----------
    The representer theorem: Scholkopf and Smola (2002), theorem 4.2.
    """

    map: FeatureMap
    coefficients: np.ndarray
    shift: np.ndarray | None = None

    def of(self, raw: Tensor) -> Tensor:
        """Values at items with the given raw features of shape (m, w), shape (m, p)."""
        values = raw @ tensor_like(self.coefficients, raw)
        return values if self.shift is None else values + tensor_like(self.shift, raw)

    def state(self) -> dict[str, Any]:
        """What model files of format 1 hold of it, by their names."""
        held = {"map_": None if self.map.whole else self.map.in_file(), "support_items_": self.map.kept}
        return held | {"dual_coef_": self.coefficients} | ({} if self.shift is None else {"intercept_": self.shift})

    @classmethod
    def take_state(cls, kernel: Kernel, state: dict[str, Any]) -> Self:
        """The expansion of a file; takes what it needs out of ``state``."""
        features, items, coefficients = state.pop("map_", None), state.pop("support_items_"), state.pop("dual_coef_")
        whole = WholeMap(kernel, items, len(coefficients))
        return cls(whole if features is None else features, coefficients, state.pop("intercept_", None))

    def weights(self, Z: Tensor) -> Tensor:
        """``Z B^T``: the elements with these coordinates as weights on the kept items, shape (m, w)."""
        return Z @ tensor_like(self.coefficients, Z).mT


@dataclass(frozen=True, eq=False)
class CodeRegression:
    """The function ``g(z) = k(z, A) C`` from codes to targets, in coordinates of their space.

    Parameters
    ----------
    kernel : Kernel
        On codes, resolved.
    anchors : ndarray of shape (a, p)
        ``A``.
    held : ndarray of shape (a, r), callable, or None
        ``C``, or what computes it when it is asked for; None while a file is read.
    output : Euclidean
        Turns coordinates into targets.
    reg : float
        Regulariser that it was fitted with.

    References
    ----------
    Bakir, Weston and Scholkopf (2004), "Learning to find pre-images".
    """

    kernel: Kernel
    anchors: np.ndarray
    held: np.ndarray | Callable[[], np.ndarray] | None
    output: Euclidean
    reg: float

    @cached_property
    def coefficients(self) -> np.ndarray:
        """``C``, shape (a, r)."""
        assert self.held is not None
        return self.held if isinstance(self.held, np.ndarray) else self.held()

    def targets(self, Z: Tensor) -> Tensor:
        """Targets of codes of shape (m, p), shape (m, q)."""
        K = self.kernel._gram(Z, tensor_like(self.anchors, Z))
        return self.output.decode(K @ tensor_like(self.coefficients, K))


@dataclass(frozen=True, eq=False)
class Layer:
    """The function ``g(z) = k(z, A) C`` of codes; beside a free linear part ``k(z, A) C + [z, 1] L``.

    Parameters
    ----------
    kernel : Kernel
        On codes, resolved.
    anchors : ndarray of shape (a, p)
        ``A``: the codes of the training items, or of some of them.
    held : ndarray of shape (a, r), callable, or None
        ``C``, or what computes it when it is asked for; None while a file is read.
    held_linear : ndarray of shape (p + 1, r) or callable, optional
        ``L``, the constant last, or what computes it.

    References
    ----------
    Laforgue et al. (2019), equation 5.
    """

    kernel: Kernel
    anchors: np.ndarray
    held: np.ndarray | Callable[[], np.ndarray] | None
    held_linear: np.ndarray | Callable[[], np.ndarray | None] | None = None

    @cached_property
    def coefficients(self) -> np.ndarray:
        """``C``, shape (a, r)."""
        assert self.held is not None
        return self.held if isinstance(self.held, np.ndarray) else self.held()

    @cached_property
    def linear(self) -> np.ndarray | None:
        """``L``, shape (p + 1, r); None without a free linear part."""
        return self.held_linear() if callable(self.held_linear) else self.held_linear

    def of(self, Z: Tensor) -> Tensor:
        """Values at codes of shape (m, p), shape (m, r)."""
        said = self.kernel._gram(Z, tensor_like(self.anchors, Z)) @ tensor_like(self.coefficients, Z)
        if self.linear is None:
            return said
        linear = tensor_like(self.linear, Z)
        return said.add_(linear[-1]).addmm_(Z, linear[:-1])


@dataclass(frozen=True, eq=False)
class LinearPart:
    """The free linear part ``q(x) A`` of an encoder, with ``q = (rows - center) @ directions - offset``.

    Rows are vectors, or kernel values with the training items.

    Parameters
    ----------
    directions : ndarray of shape (d, k)
        In units in which the slopes ``A`` have the price of the encoder.
    offset : ndarray of shape (k,)
    center : ndarray of shape (d,) or None
    coefficients : ndarray of shape (k, p)
        ``A``.
    mixed : ndarray of shape (r, k) or None
        ``F^-1 Q`` of the training items, for the power function; None where codes have another price.

    References
    ----------
    ``docs/design.md``, free linear parts.
    """

    directions: np.ndarray
    offset: np.ndarray
    center: np.ndarray | None
    coefficients: np.ndarray
    mixed: np.ndarray | None = None

    @classmethod
    def along(cls, axes: PrincipalCoordinates, coefficients: Tensor, mixed: Tensor | None = None) -> Self:
        """The linear part on principal coordinates in units of their price."""
        found = (axes.directions, axes.offset, axes.center, coefficients, mixed)
        return cls(*(None if one is None else one.contiguous().cpu().numpy() for one in found))  # type: ignore[arg-type]

    def coordinates(self, rows: Tensor) -> Tensor:
        """``q`` of rows of shape (m, d), shape (m, k)."""
        center = None if self.center is None else tensor_like(self.center, rows)
        return principal_coordinates(rows, tensor_like(self.directions, rows), tensor_like(self.offset, rows), center)

    def of(self, rows: Tensor) -> Tensor:
        """Values at rows of shape (m, d), shape (m, p)."""
        return self.coordinates(rows) @ tensor_like(self.coefficients, rows)
