"""A fitted kernel PCA: codes of items, projections of features, vectors and distances from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from torch import Tensor

from rkhs._core.arrays import Items, tensor_like
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel
from rkhs.losses import Loss
from rkhs.models.computed_again import WayToVectors
from rkhs.models.functions import CodeRegression, Expansion
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import PreimageDescent
from rkhs.spaces import Components
from rkhs.spaces.features import FeatureMap

__all__ = ["ComponentsModel", "RobustFacts"]


@dataclass(frozen=True, eq=False)
class RobustFacts:
    """What is known of components of another loss than the square."""

    loss: Loss  # with numbers for its parameters
    support: np.ndarray  # (n_support,): rows with a non-zero dual variable
    stationarity: float  # zero at a stationary point


@dataclass(frozen=True, eq=False)
class ComponentsModel:
    """Principal components of features: ``z(x) = <phi(x) - mean, u>``."""

    kernel: Kernel  # resolved
    encoder: Expansion  # from items to codes
    codes: np.ndarray  # (n, p): of the training items
    variances: np.ndarray  # (p,): variances of the components, and their shares of the total
    shares: np.ndarray  # (p,)
    n: int  # number of training items
    mean: np.ndarray | None  # (w,): the mean feature as weights on the kept items; None: features are not centred
    mean_norm: float  # its squared norm
    diagonal: np.ndarray | None = None  # (n,): ``k(x, x)`` of the training items, where new ones have none
    back: CodeRegression | None = None  # from codes to vectors
    open_ends: dict[str, str] | None = None
    robust: RobustFacts | None = None  # what is known of components of another loss than the square
    moments: tuple[np.ndarray, np.ndarray, float] | None = None  # (w,)

    @property
    def map(self) -> FeatureMap:
        """What items are read through."""
        return self.encoder.map

    @property
    def eigenvalues(self) -> np.ndarray:
        """Of the centred Gram matrix: ``n`` times the variances."""
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
        """Vectors with features near the projections with the given codes, shape (m, d)."""
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
        """The model of components that were found."""
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

    def state(self) -> dict[str, Any]:
        """What model files of format 1 hold, by their names."""
        back, robust = self._back_in_a_file(), self.robust
        held = {
            "kernel_": self.kernel,
            **self.encoder.state(),
            "codes_": self.codes,
            "explained_variance_": self.variances,
            "explained_variance_ratio_": self.shares,
            "eigenvalues_": self.eigenvalues,
            "mean_weights_": self.mean,
            "total_": self.mean_norm,
            "train_diag_": self.diagonal,
            "anchor_codes_": None if back is None or back.anchors is self.codes else back.anchors,
            "decoder_kernel_": None if back is None else back.kernel,
            "decoder_coef_": None if back is None or callable(back.held) else back.held,
            "output_": None if back is None else back.output,
            "reg_": None if back is None else back.reg,
            "n_components_": self.width,
            "at_edge_": self.open_ends,
            "moments_": self.moments,
        }
        if robust is None:
            return held
        return held | {"loss_": robust.loss, "support_": robust.support, "stationarity_": robust.stationarity}

    def _back_in_a_file(self) -> CodeRegression | None:
        """From codes to vectors, without what the kept items say."""
        way = None if self.back is None or callable(self.back.held) else self._way(self.back)
        if self.back is None or way is None or not way.gives(self.back.coefficients):
            return self.back
        return replace(self.back, held=way.coefficients, output=way.output.without_basis(way.basis))

    def _computed_again(self, back: CodeRegression) -> CodeRegression:
        """The way back of a file, which computes what the file lacks when it is asked for."""
        way = self._way(back)
        if way is None:
            raise InputError(
                "the way back must have coefficients, or training items to compute them again; got neither"
            )
        return replace(back, held=way.coefficients, output=back.output.without_basis(way.basis))

    def _way(self, back: CodeRegression) -> WayToVectors | None:
        """To the kept items from their codes; None where these are not the training items."""
        items, whole = self.map.kept, self.map.whole and self.kernel.domain == "vectors"
        if not whole or not isinstance(items, np.ndarray) or back.anchors is not self.codes:
            return None
        dtype = self.encoder.coefficients.dtype
        return WayToVectors(back.kernel, self.codes, items, back.output, back.reg, dtype, by_columns=True)

    @classmethod
    def take_state(cls, state: dict[str, Any]) -> Self:
        """The model of a file; takes what it needs out of ``state``."""
        for name in ("gram_mean_", "n_components_"):  # of earlier versions; follows from the others
            state.pop(name, None)
        kernel = state.pop("kernel_")
        encoder = Expansion.take_state(kernel, state)
        codes, variances = state.pop("codes_"), state.pop("explained_variance_")
        values, largest = state.pop("eigenvalues_"), int(np.argmax(variances))
        n = round(float(values[largest] / variances[largest])) if variances[largest] > 0.0 else len(codes)
        anchors, coefficients = state.pop("anchor_codes_", None), state.pop("decoder_coef_", None)
        decoder, output, reg = (state.pop(name, None) for name in ("decoder_kernel_", "output_", "reg_"))
        back = None
        if output is not None:
            back = CodeRegression(decoder, codes if anchors is None else anchors, coefficients, output, reg)
        robust = tuple(state.pop(name, None) for name in ("loss_", "support_", "stationarity_"))
        model = cls(
            kernel,
            encoder,
            codes,
            variances,
            state.pop("explained_variance_ratio_"),
            n,
            state.pop("mean_weights_"),
            float(np.mean(state.pop("total_"))),
            state.pop("train_diag_"),
            back,
            state.pop("at_edge_", None),
            None if robust[0] is None else RobustFacts(*robust),
            state.pop("moments_", None),
        )
        return model if back is None or back.held is not None else replace(model, back=model._computed_again(back))
