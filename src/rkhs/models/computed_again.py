"""What models can compute again from their training items, so that model files need not hold it.

The coordinates of features as targets and the coefficients of the last layer are two matrices of ``n x r`` numbers,
nearly all of a file. Both follow from the items, the codes and a few numbers, by the steps of the fit: a factorisation
and a linear system, ``2/3 n^3 + 2 n^2 r`` multiplications. A file lacks them where these steps, made once more when it
is written, give the same numbers. The same holds for items with more columns than rows that are rebuilt as vectors (a
singular value decomposition takes the place of the factorisation), and for zeros and ones, which take little room.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.eigen import positive_part
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from rkhs._core.stored import Stored
from rkhs.kernels.base import Kernel
from rkhs.kernels.operator_valued import OperatorKernel
from rkhs.losses import Squared
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.dual import dual_problem
from rkhs.problems.semiparametric import semiparametric_decoder
from rkhs.solvers import Direct

if TYPE_CHECKING:
    from rkhs.models.autoencoder import AutoencoderModel

__all__ = [
    "GramOf",
    "InFile",
    "LastLayer",
    "MachineOfFeatures",
    "WayToVectors",
    "clipped_gram",
    "equal",
    "what_a_file_holds",
    "with_computed_again",
]

Model = TypeVar("Model", bound="AutoencoderModel")

_SAME = 1e-10  # of the largest number: on the machine of the fit all bits agree, another rounds otherwise


def clipped_gram(kernel: Kernel, items: Any, like: Tensor) -> Tensor:
    """Gram matrix of training items as a fit used it; of what it clipped it has said so."""
    K = kernel._gram(items).to(like)
    if kernel.known_psd:
        return K
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPositiveSemidefiniteWarning)
        return positive_part(K, psd="clip", name="the Gram matrix of the kernel")


@dataclass(frozen=True, eq=False)
class GramOf(Stored):
    """The Gram matrix of training targets, when it is called."""

    kernel: Kernel  # resolved
    items: Any  # (n, d)
    like: np.ndarray  # has the dtype of the fit

    def __call__(self) -> Tensor:
        """Shape (n, n)."""
        like = torch.as_tensor(self.like)
        return clipped_gram(self.kernel, tensor_like(self.items, like) if self._vectors else self.items, like)

    @property
    def _vectors(self) -> bool:
        return self.kernel.domain == "vectors"


@dataclass(frozen=True, eq=False)
class LastLayer:
    """Coefficients (n, r) of the best last layer of the squared loss at fixed codes, when it is called."""

    kernel: Kernel  # on codes, resolved
    codes: np.ndarray  # (n, p)
    output: RKHS  # of targets that can be computed again
    reg: float
    free: bool  # whether the layer has a free linear part
    weights: np.ndarray | None = None  # (n,)

    def __call__(self) -> np.ndarray:
        """Shape (n, r)."""
        Z = torch.as_tensor(self.codes)
        U = self.output.coordinates_again()
        w = None if self.weights is None else tensor_like(self.weights, Z)
        solve = semiparametric_decoder if self.free else optimal_decoder
        found = solve((self.kernel.radial or self.kernel)._gram(Z), Z, U, self.reg, None, w).coefficients
        return found.contiguous().numpy()


@dataclass(frozen=True, eq=False)
class MachineOfFeatures:
    """Coefficients (n, r) of the machine of the squared loss whose outputs are features, when it is called."""

    kernel: OperatorKernel  # resolved, of one term
    items: Any  # (n, d)
    output: RKHS  # of outputs that can be computed again
    reg: float

    def __call__(self) -> np.ndarray:
        """Shape (n, r)."""
        U, term = self.output.coordinates_again(), self.kernel.pairs[0]
        K = GramOf(term.kernel, self.items, self.output.gram_mean)()
        A = None if term.operator is None else tensor_like(term.operator, U)
        return Direct().solve(dual_problem([(K, A)], U, Squared(), self.reg)).point.cpu().numpy()


@dataclass(frozen=True, eq=False)
class WayToVectors:
    """Basis of training items as targets, and the best last layer of the squared loss that gives them from codes."""

    kernel: Kernel  # on codes, resolved
    codes: np.ndarray  # (n, p)
    items: np.ndarray  # (n, q)
    output: Euclidean  # of these items
    reg: float
    dtype: np.dtype  # of the fit
    free: bool = False  # whether the layer has a free linear part
    weights: np.ndarray | None = None  # (n,)
    by_columns: bool = False

    @property
    def spares_room(self) -> bool:
        """Whether the items take less room than what is computed again."""
        wide = self.items.shape[1] > len(self.items)
        return wide or bool(((self.items == 0) | (self.items == 1)).all())

    @cached_property
    def _found(self) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | None]:
        like = torch.empty(0, dtype=torch.from_numpy(np.empty(0, self.dtype)).dtype)
        Z, w = (
            tensor_like(self.codes, like).contiguous(),
            None if self.weights is None else tensor_like(self.weights, like),
        )
        basis, U = self.output.fitted_again(tensor_like(self.items, like), w)
        solve = semiparametric_decoder if self.free else optimal_decoder
        found = solve(self.kernel._gram(Z), Z, U, self.reg, None, w)
        linear = None if found.linear is None else found.linear.contiguous().numpy()
        coefficients = np.asarray(found.coefficients.numpy(), order="F" if self.by_columns else "C")
        return basis, coefficients, linear

    def basis(self) -> np.ndarray | None:
        """Shape (r, q); None for the coordinate axes."""
        return self._found[0]

    def coefficients(self) -> np.ndarray:
        """Shape (n, r)."""
        return self._found[1]

    def linear(self) -> np.ndarray | None:
        """Shape (p + 1, r); None without a free linear part."""
        return self._found[2]

    def gives(self, coefficients: np.ndarray, linear: np.ndarray | None = None) -> bool:
        """Whether basis and layer come out to the last bit, so that a file may lack them."""
        if not self.spares_room:
            return False
        try:
            found = self._found
        except InputError:  # a system that has no solution
            return False
        held = (self.output.axes, coefficients, linear)
        return all(equal(a, b) for a, b in zip(found, held, strict=True))


class InFile(NamedTuple):
    """What a model file must hold of an autoencoder beside codes and coefficients of the encoder."""

    map: Any
    output: Any  # space of the targets
    coefficients: np.ndarray | None  # (a, r): of the last layer; None: computed again
    directions: np.ndarray | None = None  # (r, k): of the targets; None: all, or computed again with the layer
    items: Any = None  # training items, where the layer is computed again and the map does not keep them


def what_a_file_holds(model: AutoencoderModel) -> InFile:
    """What a file of a model with all training items must hold."""
    return InFile(model.map, *_space_and_layer(model))


def _space_and_layer(model: AutoencoderModel) -> tuple[Any, np.ndarray | None]:
    output, layer, gram = model.rebuilt.output, model.last, model.gram_of_targets
    if isinstance(output, Euclidean):
        if layer.held is not None and not isinstance(layer.held, np.ndarray):  # from such a file
            return output, None
        way = _way_to_vectors(model, output)
        if way is not None and isinstance(model.loss, Squared) and way.gives(layer.coefficients, layer.linear):
            return output.without_basis(way.basis), None
        return output, layer.coefficients
    if gram is None:
        return output, layer.coefficients
    if output.triangle is None:  # from such a file
        return output, layer.held if isinstance(layer.held, np.ndarray) else None
    lean = output.without_triangle(gram)
    try:
        found = _last_layer(model, lean)()
    except InputError:  # a system that has no solution
        return output, layer.coefficients
    if not _same(lean.rows, output.triangle):
        return output, layer.coefficients
    squared = isinstance(model.loss, Squared)  # solutions of other losses agree within their stopping at best
    return lean, None if squared and _same(found, layer.coefficients) else layer.coefficients


def with_computed_again(model: Model) -> Model:
    """The model of a file, which computes what the file lacks when it is asked for."""
    output, layer, gram = model.rebuilt.output, model.last, model.gram_of_targets
    way = _way_to_vectors(model, output) if isinstance(output, Euclidean) and layer.held is None else None
    if way is not None:
        layer = replace(layer, held=way.coefficients, held_linear=way.linear if way.free else None)
        rebuilt = replace(model.rebuilt, output=way.output.without_basis(way.basis))
        return replace(model, rebuilt=rebuilt, layers=(*model.layers[:-1], layer))
    if not isinstance(output, RKHS) or output.triangle is not None or gram is None:
        if layer.held is None:
            raise InputError("the last layer must have coefficients, or targets to compute them again; got neither")
        return model
    lean = output.without_triangle(gram)
    if layer.held is None:
        layer = replace(layer, held=_last_layer(model, lean))
    return replace(model, rebuilt=replace(model.rebuilt, output=lean), layers=(*model.layers[:-1], layer))


def _way_to_vectors(model: AutoencoderModel, output: Euclidean) -> WayToVectors | None:
    """None where the targets are not the items that the model keeps."""
    items, layer = model.map.kept, model.last
    whole = model.map.whole and model.rebuilt.own and isinstance(items, np.ndarray) and items.ndim == 2
    if not whole or model.pricing.held_directions is not None or len(items) != len(layer.anchors):
        return None
    kernel, free, dtype = layer.kernel.radial or layer.kernel, layer.held_linear is not None, layer.anchors.dtype
    return WayToVectors(kernel, layer.anchors, items, output, model.reg[-1], dtype, free, model.row_weights)


def _last_layer(model: AutoencoderModel, output: RKHS) -> LastLayer:
    layer = model.last
    return LastLayer(
        layer.kernel, layer.anchors, output, model.reg[-1], layer.held_linear is not None, model.row_weights
    )


def _same(found: np.ndarray, held: np.ndarray) -> bool:
    """Whether numbers agree as they do on two machines."""
    return found.shape == held.shape and bool(
        np.abs(found - held).max(initial=0.0) <= _SAME * np.abs(held).max(initial=0.0)
    )


def equal(found: np.ndarray | None, held: np.ndarray | None) -> bool:
    """Whether numbers agree to the last bit, or neither is there."""
    return found is held if found is None or held is None else np.array_equal(found, held)
