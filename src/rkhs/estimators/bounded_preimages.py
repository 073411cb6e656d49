"""Pre-images within bounds: vectors whose features are nearest to those that a model decodes to."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from rkhs._core.arrays import give_back
from rkhs._core.checks import check_count, check_number, real_array
from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import PreimageInBox


class PreimageMixin(KernelEstimator):
    """Mixin with the method ``preimages`` for models of vectors."""

    def preimages(
        self,
        codes: ArrayLike,
        *,
        bounds: tuple[ArrayLike | None, ArrayLike | None] | None = None,
        n_starts: int = 3,
        max_iter: int = 200,
        tol: float = 1e-9,
    ) -> Any:
        """Vectors within bounds whose features are nearest to what the codes decode to.

        Minimises ``||phi(x) - sum_i b_i phi(x_i)||^2`` over the box by L-BFGS-B from the best training vectors: counts
        and spectra by ``bounds=(0, None)``, images by ``bounds=(0, 1)``. Where the model decodes to vectors, the
        nearest vector in the box.
        """
        Z = self._read_codes(codes)
        if self.reader_.filling is not None:
            raise InputError("preimages makes rows of numbers; with columns='filled' use inverse_transform")
        if self._rebuilds_vectors:
            decoded = np.asarray(self.inverse_transform(codes))
            low, high = _read_bounds(bounds, decoded.shape[1])
            return give_back(np.clip(decoded, low, high).astype(decoded.dtype), codes)
        kernel, X, target = self._feature_target(Z)
        low, high = _read_bounds(bounds, X.shape[1])
        solver = PreimageInBox(
            check_count(n_starts, "n_starts"), check_count(max_iter, "max_iter"), check_number(tol, "tol", at_least=0.0)
        )
        box = [torch.as_tensor(self.reader_.scaled(side[None])[0]).to(X) for side in (low, high)]
        found = self._to_rows(solver.solve(Preimage(kernel, X, target), *box))
        return give_back(np.clip(found, low, high).astype(found.dtype), codes)

    @abstractmethod
    def inverse_transform(self, codes: ArrayLike) -> Any:
        """Decode codes to vectors, or to weights on the training features."""

    @property
    def _rebuilds_vectors(self) -> bool:
        """Whether the decoder gives vectors; a kernel PCA gives projections in feature space."""
        return False

    def _feature_target(self, Z: Tensor) -> tuple[Any, Tensor, Tensor]:
        """Kernel, training vectors, and the weights of the decoded features on them."""
        kernel = getattr(self, "output_kernel_", None) or self.kernel_
        if kernel.domain != "vectors":
            raise InputError(
                f"preimages makes vectors; the kernel of this model reads {kernel.domain}. Use decode, which ranks "
                "candidates"
            )
        if not self.map_.whole:
            raise InputError(
                "preimages needs all training items, which this storage does not keep; use storage='dense'"
            )
        X = self._target_items()
        return kernel, X, self._feature_weights(Z).to(X)

    def _target_items(self) -> Any:
        """The items whose features are decoded to, in the form that their kernel reads."""
        return self._support()

    @abstractmethod
    def _feature_weights(self, Z: Tensor) -> Tensor:
        """Weights of decoded features on the training features, shape (m, n)."""


def _read_bounds(bounds: tuple[ArrayLike | None, ArrayLike | None] | None, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds, shape (d,) each, infinite where there is none."""
    if bounds is None:
        return np.full(width, -np.inf), np.full(width, np.inf)
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise InputError(f"bounds must be a pair (lower, upper), each a number, an array or None; got {bounds!r}")
    sides = []
    for side, default in zip(bounds, (-np.inf, np.inf), strict=True):
        values = np.asarray(default) if side is None else real_array(side, "bounds").astype(float)
        if values.shape not in ((), (width,)) or np.isnan(values).any():
            raise InputError(f"bounds must be numbers or arrays of shape ({width},), one per column; got {side!r}")
        sides.append(np.broadcast_to(values, (width,)).copy())
    if (sides[0] > sides[1]).any():
        column = int(np.flatnonzero(sides[0] > sides[1])[0])
        raise InputError(f"bounds must be in order; got {sides[0][column]:g} > {sides[1][column]:g} in column {column}")
    return sides[0], sides[1]
