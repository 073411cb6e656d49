"""What an autoencoder of features can compute again from its training items, so that model files need not hold it.

The coordinates of the targets and the coefficients of the last layer are two matrices of ``n x r`` numbers, nearly all
of a file. Both follow from the items, the codes and a few numbers, by the steps of the fit: a factorisation and a
linear system, ``2/3 n^3 + 2 n^2 r`` multiplications. A file lacks them where these steps, made once more when it is
written, give the same numbers.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.eigen import positive_part
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from rkhs.kernels.base import Kernel
from rkhs.losses import Squared
from rkhs.outputs import RKHS
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.semiparametric import semiparametric_decoder

if TYPE_CHECKING:
    from rkhs.models.autoencoder import AutoencoderModel

__all__ = ["GramOf", "LastLayer", "clipped_gram", "what_a_file_holds", "with_computed_again"]

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
class GramOf:
    """The Gram matrix of training targets, when it is called.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    items : array (n, d) or list of n objects
    like : ndarray
        Has the dtype of the fit.
    """

    kernel: Kernel
    items: Any
    like: np.ndarray

    def __call__(self) -> Tensor:
        """Shape (n, n)."""
        like = torch.as_tensor(self.like)
        return clipped_gram(self.kernel, tensor_like(self.items, like) if self._vectors else self.items, like)

    @property
    def _vectors(self) -> bool:
        return self.kernel.domain == "vectors"


@dataclass(frozen=True, eq=False)
class LastLayer:
    """Coefficients (n, r) of the best last layer of the squared loss at fixed codes, when it is called.

    Parameters
    ----------
    kernel : Kernel
        On codes, resolved.
    codes : ndarray of shape (n, p)
    output : RKHS
        Of targets that can be computed again.
    reg : float
    free : bool
        Whether the layer has a free linear part.
    weights : ndarray of shape (n,), optional

    References
    ----------
    :mod:`rkhs.problems.decoder`, :mod:`rkhs.problems.semiparametric`.
    """

    kernel: Kernel
    codes: np.ndarray
    output: RKHS
    reg: float
    free: bool
    weights: np.ndarray | None = None

    def __call__(self) -> np.ndarray:
        """Shape (n, r)."""
        Z = torch.as_tensor(self.codes)
        U = self.output.coordinates_again()
        w = None if self.weights is None else tensor_like(self.weights, Z)
        solve = semiparametric_decoder if self.free else optimal_decoder
        found = solve((self.kernel.radial or self.kernel)._gram(Z), Z, U, self.reg, None, w).coefficients
        return found.contiguous().numpy()


def what_a_file_holds(model: AutoencoderModel) -> tuple[Any, np.ndarray | None]:
    """The space of the targets and the coefficients of the last layer, as far as a model file must hold them."""
    output, layer, gram = model.rebuilt.output, model.last, model.gram_of_targets
    if gram is None or not isinstance(output, RKHS):
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
    if not isinstance(output, RKHS) or output.triangle is not None or gram is None:
        if layer.held is None:
            raise InputError("the last layer must have coefficients, or targets to compute them again; got neither")
        return model
    lean = output.without_triangle(gram)
    if layer.held is None:
        layer = replace(layer, held=_last_layer(model, lean))
    return replace(model, rebuilt=replace(model.rebuilt, output=lean), layers=(*model.layers[:-1], layer))


def _last_layer(model: AutoencoderModel, output: RKHS) -> LastLayer:
    layer = model.last
    return LastLayer(layer.kernel, layer.anchors, output, model.reg[-1], layer.linear is not None, model.row_weights)


def _same(found: np.ndarray, held: np.ndarray) -> bool:
    """Whether numbers agree as they do on two machines."""
    return found.shape == held.shape and bool(
        np.abs(found - held).max(initial=0.0) <= _SAME * np.abs(held).max(initial=0.0)
    )
