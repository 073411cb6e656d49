"""A fitted kernel PCA: codes of items, projections of features, their pre-images and distances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import Items, tensor_like
from rkhs._core.errors import InputError
from rkhs._core.stored import Stored, check_places, check_shape, completing, leanest
from rkhs.kernels.base import Kernel
from rkhs.losses import Loss
from rkhs.models.completion import best_layer, spares_memory
from rkhs.models.functions import CodeRegression, Expansion
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import PreimageDescent
from rkhs.spaces import Components
from rkhs.spaces.features import FeatureMap
from rkhs.spaces.features.base import check_kernel_stored


@dataclass(frozen=True, eq=False)
class RobustFacts(Stored):
    """Diagnostics of components under a loss other than the squared one."""

    loss: Loss  # with numbers for its parameters
    support: np.ndarray  # (n_support,): rows with a non-zero dual variable
    stationarity: float  # zero at a stationary point


@dataclass(frozen=True, eq=False)
class ComponentsModel(Stored):
    """Principal components of features: ``z(x) = <phi(x) - mean, u>``."""

    kernel: Kernel  # resolved
    encoder: Expansion  # from items to codes
    codes: np.ndarray  # (n, p): of the training items
    variances: np.ndarray  # (p,): variances of the components
    shares: np.ndarray  # (p,): their shares of the total variance
    n: int  # number of training items
    mean: np.ndarray | None  # (w,): the mean feature as weights on the kept items; None: features are not centred
    mean_norm: float  # its squared norm
    diagonal: np.ndarray | None = None  # (n,): ``k(x, x)`` of the training items
    back: CodeRegression | None = None  # ridge pre-image: regression from codes to vectors
    open_ends: dict[str, str] | None = None  # parameters chosen at an end of their range, and which end
    robust: RobustFacts | None = None  # diagnostics; None for the squared loss
    moments: tuple[np.ndarray, np.ndarray, float] | None = None  # sums (w,), (w, w) and of ``k(x, x)`` of all rows

    @property
    def map(self) -> FeatureMap:
        """Feature map of the items."""
        return self.encoder.map

    @property
    def eigenvalues(self) -> np.ndarray:
        """Return the eigenvalues of the centred Gram matrix: ``n`` times the variances."""
        return self.variances * self.n

    @property
    def width(self) -> int:
        """Number of components."""
        return len(self.variances)

    def encode(self, items: Items) -> Tensor:
        """Codes of items, shape (m, p)."""
        return self.encoder.of(self.map.raw(items))

    def weights(self, Z: Tensor) -> Tensor:
        """Weights on the kept items of the projections with the given codes, shape (m, w)."""
        W = self.encoder.weights(Z)
        return W if self.mean is None else W + tensor_like(self.mean, W)

    def nearest_features(self, Z: Tensor, *, descend: bool) -> Tensor:
        """Pre-images (m, d) of the projections with the given codes: nearest training vectors, or by descent."""
        problem = Preimage(self.kernel, self.map.support(Z), self.weights(Z))
        start = problem.X[problem.nearest()]
        return PreimageDescent().solve(problem, start) if descend else start

    def norms(self, raw: Tensor, diagonal: Tensor) -> Tensor:
        """``||phi(x) - mean||^2`` from raw features and ``k(x, x)``, shape (m,)."""
        if self.mean is None:
            return diagonal
        return diagonal - 2.0 * raw @ tensor_like(self.mean, raw) + self.mean_norm

    def errors(self, raw: Tensor, diagonal: Tensor) -> Tensor:
        """Squared distances of features from their projections, shape (m,)."""
        Z = self.encoder.of(raw)
        return (self.norms(raw, diagonal) - (Z * Z).sum(1)).clamp_min(0.0)

    def distances(self, Z: Tensor, raw: Tensor, diagonal: Tensor) -> Tensor:
        """Squared distances of the projections with codes (m, p) to the features of c items, shape (m, c)."""
        scores = self.encoder.of(raw)
        outside = self.norms(raw, diagonal) - (scores * scores).sum(1)
        D = (Z * Z).sum(1)[:, None] - 2.0 * Z @ scores.mT + (scores * scores).sum(1)[None, :] + outside[None, :]
        return D.clamp_min(0.0)

    @classmethod
    def of(
        cls, kernel: Kernel, features: FeatureMap, found: Components, codes: np.ndarray, n: int, **rest: Any
    ) -> Self:
        """Build the model from components."""
        return cls(
            kernel,
            Expansion(features, found.coefficients.cpu().numpy(), found.shift.cpu().numpy()),
            codes,
            found.variances.cpu().numpy(),
            found.shares.cpu().numpy(),
            n,
            None if found.mean is None else found.mean.cpu().numpy(),
            found.mean_norm,
            **rest,
        )

    def in_file(self) -> Self:
        """The model without arrays that can be recomputed from the kept items."""
        back = self.back
        if back is None or not self._returns_to_items or not spares_memory(self.map.kept):
            return self
        lean = replace(back, coefficients=None, output=back.output.without_basis())
        return leanest(self, [replace(self, back=lean)], lambda model: model._parts)

    @property
    def _parts(self) -> tuple[Any, ...]:
        """Arrays that a file may omit."""
        return (None, None) if self.back is None else (self.back.coefficients, self.back.output.basis)

    @property
    def _returns_to_items(self) -> bool:
        """Whether the ridge pre-image maps the codes to the kept items, which are all training items."""
        items, whole = self.map.kept, self.map.whole and self.kernel.domain == "vectors"
        return whole and isinstance(items, np.ndarray) and self.back is not None and self.back.anchors is self.codes

    def check_stored(self) -> None:
        """Sizes must agree."""
        p, w = self.encoder.coefficients.shape[1], self.map.width
        check_shape("codes", self.codes, w if self.map.whole else None, p)
        check_kernel_stored(self.kernel, self.map)
        check_shape("variances", self.variances, p)
        check_shape("shares", self.shares, p)
        check_shape("mean", self.mean, w)
        check_shape("diagonal", self.diagonal, self.n)
        if self.kernel.domain == "gram" and self.diagonal is None:
            raise InputError("a model file of a Gram matrix must hold its diagonal")
        if self.back is not None:
            check_shape("anchors", self.back.anchors, None, p)
            check_shape("mean", self.back.output.mean, self.map.reads)
        if self.robust is not None:
            check_places("support", self.robust.support, 2**31)

    def from_file(self) -> Self:
        """The model with omitted arrays recomputed."""
        back = self.back
        if back is None or back.coefficients is not None:
            return self
        if not self._returns_to_items:
            raise InputError(
                "the learned pre-image must have coefficients, or training items to recompute them; got neither"
            )
        with completing():
            items = self.map.kept.astype(self.encoder.coefficients.dtype, order="C")
            output, U = back.output.recomputed(torch.from_numpy(items))
            C, _ = best_layer(back.kernel, self.codes, U, back.reg)
        return replace(self, back=replace(back, coefficients=np.asarray(C.numpy(), order="F"), output=output))
