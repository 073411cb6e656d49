"""The layers of a fitted autoencoder, its targets, its code penalty, and the regularisers that were compared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import Items, as_tensor, tensor_like
from rkhs._core.errors import InputError
from rkhs._core.linalg import constant_value, factorize
from rkhs._core.sparse import from_items
from rkhs._core.stored import Stored, check_places, check_shape
from rkhs.constraints import CodeSet
from rkhs.kernels import Kernel, Linear, SparseRows
from rkhs.losses import Loss, Squared
from rkhs.models.functions import Expansion, Layer, LinearPart
from rkhs.models.kept import GramOf, KeptItems, clipped_gram
from rkhs.outputs import RKHS, Euclidean
from rkhs.spaces.features import FeatureMap


class Targets(NamedTuple):
    """Targets of items as vectors, or as kernel values with the training targets."""

    rows: Tensor  # (m, q): vectors; for features their kernel values with the training targets
    diagonal: Tensor | None = None  # (m,): for features ``k(t, t)``


@dataclass(frozen=True, eq=False)
class Rebuilt(Stored):
    """Targets of an autoencoder, and the output space of its decoder."""

    output: Euclidean | RKHS  # of vectors, or of features
    kernel: Kernel | None  # whose features are rebuilt, resolved; None: vectors
    self_targets: bool  # whether items are their own targets
    items: Any = None  # (n, q): the training targets, for features of items other than the inputs
    diagonal: np.ndarray | None = None  # (n,): ``k(t, t)`` of the training targets, for a precomputed kernel

    def check_stored(self) -> None:
        """Features of a Gram matrix need its diagonal."""
        check_shape("diagonal", self.diagonal, None)
        if self.kernel is not None and self.kernel.domain == "gram" and self.diagonal is None:
            raise InputError("a model file of a Gram matrix must hold its diagonal")

    @property
    def vectors(self) -> bool:
        """Whether vectors are rebuilt."""
        return isinstance(self.output, Euclidean)

    @property
    def columns(self) -> int:
        """Number of columns of the vectors."""
        assert isinstance(self.output, Euclidean)
        return len(self.output.mean)

    @property
    def constant(self) -> float | None:
        """``k(t, t)`` of every training target if it is the same for all, else None."""
        return None if self.diagonal is None else constant_value(self.diagonal)

    def decode(self, U: Tensor) -> Tensor:
        """Vectors (m, q) at coordinates of shape (m, r), or weights (m, n) of features on the training targets."""
        return self.output.decode(U) if isinstance(self.output, Euclidean) else self.output.weights(U)


def rebuilds_rows(output_kernel: Kernel | None) -> bool:
    """Whether the output kernel is linear on sparse rows, so that its features are rebuilt as vectors."""
    return isinstance(output_kernel, SparseRows) and output_kernel.base == Linear()


@dataclass(frozen=True, eq=False)
class Compared(Stored):
    """Result of a choice of regularisers; all None without a choice."""

    candidates: np.ndarray | None = None  # (k, L)
    errors: np.ndarray | None = None  # (k,): their errors on held-out items
    held_out: float | None = None  # held-out error of the chosen one, as a share of the variance
    open_ends: dict[str, str] | None = None  # parameters chosen at an end of their range, and which end
    kinds: dict[str, float] | None = None  # held-out error by kind of kernel

    def with_identity_layers(self, count: int) -> Compared:
        """Candidates of a model with ``count`` further layers that are the identity (infinite ``reg``)."""
        if self.candidates is None:
            return self
        return replace(self, candidates=np.insert(self.candidates, [1] * count, np.inf, axis=1))


@dataclass(frozen=True, eq=False)
class CodePenalty(Stored):
    """Penalty of a change of a code: ``reg / 2 ||z - f(x)||^2 / s^2(x)``."""

    kind: Literal["power", "diagonal"]  # which ``s^2``: the power function, or ``k(x, x)``
    total: float  # number of training items, or the sum of their weights: scale of the data term
    cholesky: np.ndarray | None = None  # (r, r): of the Gram matrix of the pivots
    pivots: np.ndarray | None = None  # (r,): their indices
    directions: np.ndarray | None = None  # (q, k): of the targets; None for all
    row_constraint: CodeSet | None = None
    free: bool = True  # whether codes may be refined

    def check_stored(self) -> None:
        """Sizes must agree."""
        check_shape("cholesky", self.cholesky, None, None)
        if self.cholesky is not None:
            check_places("pivots", self.pivots, 2**31)
            check_shape("pivots", self.pivots, self.cholesky.shape[1], kinds="iu")
        check_shape("directions", self.directions, None, None)
        if not self.total > 0.0:
            raise InputError(f"the weight of the items of a model file must be positive; got {self.total}")


@dataclass(frozen=True, eq=False)
class AutoencoderLayers(Stored):
    """Layers ``f_1, ..., f_L``: ``f_1`` reads items, the others codes, and ``f_L`` gives coordinates of the targets."""

    kernel: Kernel  # of the items, resolved
    encoder: Expansion  # kernel part of ``f_1``
    linear: LinearPart | None  # free linear part of ``f_1``
    layers: tuple[Layer, ...]  # ``f_2, ..., f_L``
    rebuilt: Rebuilt  # the targets
    reg: tuple[float, ...]  # one per layer
    codes: np.ndarray  # (n, p): of the training items at the narrowest layer, in user coordinates
    code_map: np.ndarray | None  # (p, p): ``codes`` are those of the layer times this matrix
    penalty: CodePenalty  # of changes of codes
    loss: Loss | None = None  # with numbers for its parameters
    gap: float | None = 0.0  # duality gap of the last layer; None if the loss has no dual
    support: np.ndarray = field(default_factory=lambda: np.arange(0))  # (n_support,): rows that the decoder uses
    saturated: np.ndarray = field(default_factory=lambda: np.arange(0))  # (n_saturated,): rows of linear loss
    row_weights: np.ndarray | None = None  # (n,): of the training items; sum to one
    compared: Compared = field(default_factory=Compared)  # choice of the regularisers
    inactive: np.ndarray | None = None  # (p,): values of inactive components, NaN for active ones
    items: KeptItems | None = None  # training items, if the last layer is recomputed from them
    last_reg: float | None = None  # of the last layer, if it was refitted with another one

    @property
    def map(self) -> FeatureMap:
        """Feature map of the items."""
        return self.encoder.map

    @property
    def narrowest(self) -> int:
        """Index of the hidden layer with the fewest dimensions, from 0; the first of them on ties."""
        widths = [layer.anchors.shape[1] for layer in self.layers]
        return widths.index(min(widths))

    @property
    def decoder_kernels(self) -> tuple[Kernel, ...]:
        """Return the decoder kernels of the layers 2..L."""
        return tuple(layer.kernel for layer in self.layers)

    @property
    def layer_codes(self) -> list[np.ndarray]:
        """Codes of every hidden layer, the anchors of the next one."""
        return [layer.anchors for layer in self.layers]

    @property
    def encoder_coefficients(self) -> list[np.ndarray]:
        """Coefficients of the layers 1..L-1."""
        return [self.encoder.coefficients, *(layer.coefficients for layer in self.layers[:-1])]

    @property
    def last(self) -> Layer:
        """The decoder of the last hidden layer."""
        return self.layers[-1]

    @property
    def is_squared(self) -> bool:
        """Whether the loss is the squared one."""
        return self.loss is None or isinstance(self.loss, Squared)

    def linear_inputs(self, items: Items, raw: Tensor) -> Tensor:
        """Inputs of the free linear part: vectors, inner products of sparse rows, or kernel values with kept items."""
        features = self.rebuilt.kernel is not None and not self.map.whole  # on landmarks, whatever the items are
        if self.kernel.domain == "vectors" and isinstance(items, Tensor) and not features:
            return items
        return self.target_rows(items, raw) if self.rebuilds_rows else raw

    @property
    def rebuilds_rows(self) -> bool:
        """Whether rows of a sparse matrix are rebuilt, as features of a linear kernel."""
        return rebuilds_rows(self.rebuilt.kernel) and self.map.whole and self.rebuilt.self_targets

    def weighted_rows(self, weights: Tensor) -> Tensor:
        """Weighted sums of the rows of the training matrix, for weights of shape (m, n)."""
        return torch.from_numpy(weights.cpu().numpy() @ from_items(self.map.kept, self.kernel.row_width or 0))

    def decode(self, Z: Tensor) -> Tensor:
        """Coordinates (m, r) of targets from codes of the narrowest layer, in the coordinates of the layers."""
        for layer in self.layers[self.narrowest :]:
            Z = layer.of(Z)
        return Z

    def to_user(self, Z: Tensor) -> Tensor:
        """Codes of the narrowest layer in user coordinates."""
        user_codes = Z if self.code_map is None else Z @ tensor_like(self.code_map, Z)
        if self.inactive is None:
            return user_codes
        return torch.where(torch.isnan(tensor_like(self.inactive, Z)), user_codes, 0.0)

    def from_user(self, Z: Tensor) -> Tensor:
        """Codes in user coordinates, in the coordinates of the layers."""
        if self.inactive is not None:
            means = tensor_like(self.inactive, Z)
            Z = torch.where(torch.isnan(means), Z, means)
        return Z if self.code_map is None else torch.linalg.solve(tensor_like(self.code_map, Z), Z, left=False)

    def active_projection(self, like: Tensor) -> Tensor:
        """Orthogonal projection, shape (p, p), on the changes of codes that keep inactive components fixed."""
        assert self.inactive is not None
        inactive = torch.from_numpy(~np.isnan(self.inactive)).to(like.device)
        M = torch.eye(len(inactive)).to(like) if self.code_map is None else tensor_like(self.code_map, like)
        Q = torch.linalg.qr(M[:, inactive])[0]
        return torch.eye(len(inactive)).to(like) - Q @ Q.mT

    @property
    def refinable(self) -> bool:
        """Whether codes of new items can be refined."""
        free = self.map.whole or self.linear is not None  # landmarks without a free linear part: not refined
        known = self.kernel.domain != "gram" or (
            self.rebuilt.kernel == self.kernel and self.rebuilt.constant is not None
        )
        return self.penalty.free and free and known and self.rebuilt.self_targets and self.reg[0] > 0.0

    @cached_property
    def factor(self) -> tuple[np.ndarray, np.ndarray]:
        """Cholesky factor and pivots of the power function, recomputed for a model from a file."""
        if self.penalty.cholesky is not None and self.penalty.pivots is not None:
            return self.penalty.cholesky, self.penalty.pivots
        like = as_tensor(self.encoder.coefficients)
        kept = self.map.whole and self.map.kept is not None
        K = clipped_gram(self.kernel, self.map.support(like), like) if kept else self.training_gram(like)
        assert K is not None
        factor = factorize(K)
        check_shape("mixed", None if self.linear is None else self.linear.mixed, factor.dim, None)
        return factor.cholesky.contiguous().cpu().numpy(), factor.pivots.cpu().numpy()

    def training_gram(self, like: Tensor) -> Tensor | None:
        """Gram matrix of the training items; None if it can no longer be computed."""
        if self.map.whole and self.map.kept is not None:
            return self.kernel._gram(self.map.support(like)).to(like)
        cholesky, pivots = self.penalty.cholesky, self.penalty.pivots
        if cholesky is None or pivots is None or len(cholesky) != len(self.layers[0].anchors):
            return None
        T = tensor_like(cholesky, like)
        K = torch.empty_like(T)
        order = torch.as_tensor(pivots, device=T.device)
        K[order[:, None], order[None, :]] = T @ T.mT
        return K

    @property
    def gram_of_targets(self) -> GramOf | None:
        """Gram matrix of targets that are features; None if the targets are not in memory."""
        rebuilt = self.rebuilt
        items = self.map.kept if rebuilt.self_targets and self.map.whole else rebuilt.items
        if rebuilt.kernel is None or items is None:
            return None
        return GramOf(rebuilt.kernel, items, self.encoder.coefficients)

    def new_diagonal(self, items: Items, raw: Tensor) -> Tensor:
        """``k(x, x)`` of new items, shape (m,); for Gram matrices the constant of the training items."""
        if self.kernel.domain != "gram":
            return self.kernel._diag(items).to(raw)
        constant = self.rebuilt.constant
        assert constant is not None
        return raw.new_full((len(raw),), constant)

    def target_rows(self, items: Items, raw: Tensor) -> Tensor:
        """The items as their own targets: vectors, or kernel values with the training targets."""
        kernel = self.rebuilt.kernel
        if kernel is None:
            assert isinstance(items, Tensor)
            return items
        return raw if kernel == self.kernel else kernel._gram(items, self.map.support(raw)).to(raw)

    def targets_of_items(self, items: Items, raw: Tensor, diagonal: Tensor | None = None) -> Targets:
        """The items as their own targets; ``diagonal`` is ``k(x, x)`` for a precomputed kernel."""
        kernel, rows = self.rebuilt.kernel, self.target_rows(items, raw)
        if kernel is None:
            return Targets(rows)
        return Targets(rows, kernel._diag(items).to(raw) if diagonal is None else diagonal)

    def __getstate__(self) -> dict[str, Any]:
        """The state without what can be recomputed from the training items."""
        state = {name: value for name, value in vars(self).items() if name != "factor"}
        if self.map.kept is not None:
            state["penalty"] = replace(self.penalty, cholesky=None, pivots=None)
        return state
