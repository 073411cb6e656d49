"""Last layers that models can compute again from their training items, so that model files need not hold them.

The coefficients of the last layer are ``n x r`` numbers, and so are the coordinates of features as targets: nearly all
of a file. Both follow from the items, the codes and a few numbers, by the steps of the fit: a factorisation and a
linear system, ``2/3 n^3 + 2 n^2 r`` multiplications. The same holds for items that are rebuilt as vectors and have more
columns than rows, by a singular value decomposition, and for zeros and ones, which take little room.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs.engines import thread_limit
from rkhs.kernels.base import Kernel
from rkhs.models.kept import KeptItems
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.coordinates import STRIP
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.problems.semiparametric import leading_directions, semiparametric_decoder
from rkhs.spaces.features import FeatureMap

Found = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]


class ComputedAgain(ABC):
    """The best last layer of the squared loss at fixed codes, when it is asked for."""

    @cached_property
    def found(self) -> Found:
        """Coefficients, free linear part, and what else follows from the items."""
        try:
            return self._found()
        except torch.linalg.LinAlgError as error:  # of a file made by hand
            raise InputError(f"the items of a model file give no last layer ({error}); fit the model again") from error

    @abstractmethod
    def _found(self) -> Found:
        """As ``found``."""

    def coefficients(self) -> np.ndarray:
        """Shape (n, r)."""
        return self.found[0]

    def linear(self) -> np.ndarray | None:
        """Shape (p + 1, r); None without a free linear part."""
        return self.found[1]

    def other(self) -> np.ndarray | None:
        """Basis (r, q) of vectors, or directions (r, k) of targets that are descended on; None for all axes."""
        return self.found[2]

    def gives(self, *held: np.ndarray | None) -> bool:
        """Whether these numbers come out to the last bit, so that a file may lack them."""
        try:
            found = self.found
        except InputError:  # a system that has no solution
            return False
        return all(a is b if a is None or b is None else np.array_equal(a, b) for a, b in zip(found, held, strict=True))


@dataclass(frozen=True, eq=False)
class LayerAgain(ComputedAgain):
    """A layer on the codes of all items."""

    kernel: Kernel  # on codes, resolved
    codes: np.ndarray  # (n, p)
    output: Euclidean | RKHS  # of the items, or of features whose coordinates can be computed again
    items: np.ndarray | None  # (n, q): vectors that are rebuilt
    reg: float
    dtype: np.dtype  # of the fit
    free: bool = False  # whether the layer has a free linear part
    weights: np.ndarray | None = None  # (n,)
    by_columns: bool = False

    @property
    def spares_room(self) -> bool:
        """Whether the items take less room than what is computed again."""
        items = self.items
        return items is not None and (items.shape[1] > len(items) or bool(((items == 0) | (items == 1)).all()))

    def _found(self) -> Found:
        Z = torch.from_numpy(self.codes.astype(self.dtype, order="C"))
        w, basis = None if self.weights is None else tensor_like(self.weights, Z), None
        if isinstance(self.output, RKHS):
            U = self.output.coordinates_again()
        else:
            assert self.items is not None
            basis, U = self.output.fitted_again(tensor_like(self.items, Z), w)
        solve = semiparametric_decoder if self.free else optimal_decoder
        found = solve(self.kernel._gram(Z), Z, U, self.reg, None, w)
        linear = None if found.linear is None else found.linear.contiguous().numpy()
        return np.asarray(found.coefficients.numpy(), order="F" if self.by_columns else "C"), linear, basis


@dataclass(frozen=True, eq=False)
class LayerOnLandmarks(ComputedAgain):
    """A layer on landmarks, which need no items: a model keeps them where they take less room than this."""

    kernel: Kernel  # on codes, resolved
    codes: np.ndarray  # (n, p): in the order of the fit
    order: np.ndarray  # (n,): numbers of the items in that order
    items: KeptItems
    map: FeatureMap  # of the landmarks
    output: RKHS  # of targets in their span
    reg: float
    components: int  # of the narrowest layer
    free: bool  # whether the layer has a free linear part
    weights: np.ndarray | None = None  # (n,): of the items in their own order

    def _found(self) -> Found:
        with thread_limit(1):  # as in the fit
            order = torch.as_tensor(self.order)
            raw = torch.cat(
                [self.map.raw(tile).to(torch.float64) for tile in torch.from_numpy(self.items.rows).split(STRIP)]
            )
            target = torch.cat([self.output.encode(tile) for tile in raw.split(STRIP)])[order]
            w = None if self.weights is None else torch.as_tensor(self.weights)[order]
            leading = leading_directions(target, w, self.components) if self.free else None
            decoder = AnchorsLayer.of(target, self.kernel, len(target), self.reg, w, None, linear=self.free)
            layer = decoder.solve(torch.as_tensor(self.codes).to(target))
        found = (layer.coefficients, layer.linear, leading)
        return tuple(None if part is None else part.contiguous().numpy() for part in found)  # type: ignore[return-value]
