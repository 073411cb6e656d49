"""Passes over rows in blocks, and the sums of models in finite features: moments, normal equations.

Each function has the form that engines map over blocks; what all blocks share is a :class:`BlockPass`. Blocks are
computed in the dtype of the pass and summed in float64: sums of a million products in float32 are not positive
definite. Moments and the normal equations of one layer, which a fit needs once and then divides by small numbers, are
products in float64 too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg.blas
import torch
from torch import Tensor

from rkhs.engines import Block, Engine, Rows
from rkhs.kernels.base import Kernel
from rkhs.outputs import OutputSpace
from rkhs.spaces.features import FeatureMap

STRIP = 1024  # rows of a block computed at once: their features stay in the cache


@dataclass(frozen=True)
class BlockPass:
    """Parameters of a pass, the same for every block."""

    features: FeatureMap  # ``F = raw W`` of the inputs
    dtype: torch.dtype  # of the blocks
    device: str
    columns: int  # columns of the rows that are inputs; the targets follow, unless the rows hold no more
    weights: np.ndarray | None  # (n,): sample weights that sum to one; None: ``1/n``
    n: int  # number of rows
    maps: Tensor | None = None  # (width, p): ``B``: codes are ``raw B + shift``
    shift: Tensor | None = None  # (p,)
    kernel: Kernel | None = None  # on codes
    anchors: Tensor | None = None  # (a, p): codes at which the last layer has coefficients
    space: OutputSpace | None = None  # puts targets in coordinates
    side: Tensor | None = None  # (n, p): further columns of every row

    def cast(self, **parts: Tensor | None) -> BlockPass:
        """The pass with other parameters, in its dtype and on its device."""
        moved = {k: None if v is None else v.to(dtype=self.dtype, device=self.device) for k, v in parts.items()}
        return replace(self, **moved)  # type: ignore[arg-type]

    def in_double(self) -> BlockPass:
        """The pass, before it has parameters, in float64 if the device has it."""
        return replace(self, dtype=torch.float64) if self.wide == torch.float64 else self

    @property
    def wide(self) -> torch.dtype:
        """Dtype of products that are divided by small numbers: float64 if the device has it."""
        return self.dtype if torch.device(self.device).type == "mps" else torch.float64

    def read(self, items: Any) -> Tensor:
        """A block as a tensor."""
        if isinstance(items, np.ndarray):
            items = torch.from_numpy(items)
        return items.to(dtype=self.dtype, device=self.device)

    def inputs(self, rows: Tensor) -> Tensor:
        """The inputs among the columns of a block."""
        return rows if rows.shape[1] == self.columns else rows[:, : self.columns]

    def targets(self, rows: Tensor) -> Tensor:
        """Coordinates of the targets of a block, shape (b, q)."""
        assert self.space is not None
        return self.space.encode(rows if rows.shape[1] == self.columns else rows[:, self.columns :])

    def root_weights(self, block: Block) -> Tensor | None:
        """Roots of the weights of a block, a column; None for equal weights."""
        if self.weights is None:
            return None
        part = torch.from_numpy(self.weights[block.start : block.stop])
        return part.sqrt().to(dtype=self.dtype, device=self.device)[:, None]

    def codes(self, raw: Tensor) -> Tensor:
        """``raw B + shift``."""
        assert self.maps is not None
        Z = raw @ self.maps
        return Z if self.shift is None else Z + self.shift


def upper_product(A: Tensor) -> Tensor:
    """Upper triangle of ``A^T A`` with zeros below, in the dtype of ``A``; half the work where BLAS offers it."""
    if A.device.type != "cpu":
        return (A.mT @ A).triu()
    array = A.numpy() if A.is_contiguous() else A.contiguous().numpy()
    syrk = scipy.linalg.blas.ssyrk if array.dtype == np.float32 else scipy.linalg.blas.dsyrk
    return torch.from_numpy(syrk(1.0, array.T, lower=1).T)  # the transpose is in Fortran order: nothing is copied


def _by_strips(
    function: Callable[[Tensor, Tensor | None, BlockPass], tuple[Tensor, ...]],
    items: Any,
    block: Block,
    block_pass: BlockPass,
) -> tuple[np.ndarray, ...]:
    """Sums over strips of a block, in float64 at the end; the first is given by its upper triangle."""
    rows, root = block_pass.read(items), block_pass.root_weights(block)
    height = STRIP if rows.device.type == "cpu" else len(rows)
    totals: tuple[Tensor, ...] = ()
    for start in range(0, len(rows), height):
        strip = slice(start, start + height)
        parts = function(rows[strip], None if root is None else root[strip], block_pass)
        for total, part in zip(totals, parts, strict=False):
            total.add_(part)
        totals = totals or parts
    scale = 1.0 / block_pass.n if root is None else 1.0
    upper, *others = (total.to("cpu", torch.float64).numpy() * scale for total in totals)
    return upper + np.triu(upper, 1).T, *others


def _times(A: Tensor, root: Tensor | None) -> Tensor:
    return A if root is None else A * root


def block_moments(items: Any, block: Block, block_pass: BlockPass) -> tuple[np.ndarray, ...]:
    """Sums of ``w raw`` and ``w raw raw^T`` over a block."""
    return _by_strips(_moments, items, block, block_pass)[::-1]


def _moments(rows: Tensor, root: Tensor | None, block_pass: BlockPass) -> tuple[Tensor, ...]:
    raw, root = (
        block_pass.features.raw(block_pass.inputs(rows)).to(block_pass.wide),
        None if root is None else root.to(block_pass.wide),
    )
    raw = _times(raw, root)
    return upper_product(raw), _times(raw, root).sum(0)


def block_ridge(items: Any, block: Block, block_pass: BlockPass) -> tuple[np.ndarray, ...]:
    """Sums of ``w F F^T``, ``w F t^T`` and ``w |t|^2`` over a block, ``F`` the features."""
    return _by_strips(_ridge, items, block, block_pass)


def _ridge(rows: Tensor, root: Tensor | None, block_pass: BlockPass) -> tuple[Tensor, ...]:
    raw = block_pass.features.raw(block_pass.inputs(rows))
    wide = None if root is None else root.to(block_pass.wide)
    features = block_pass.features.whiten_adjoint(raw.to(block_pass.wide).mT).mT
    return _normal(features, block_pass.targets(rows).to(block_pass.wide), wide)


def _normal(psi: Tensor, T: Tensor, root: Tensor | None) -> tuple[Tensor, ...]:
    """Normal equations of least squares on rows ``psi`` with targets ``T``."""
    psi, T = _times(psi, root), _times(T, root)
    return upper_product(psi), psi.mT @ T, _square(T)


def block_adjoint(items: Any, block: Block, block_pass: BlockPass) -> tuple[np.ndarray, ...]:
    """Sum of ``raw g^T`` over a block, ``g`` the rows of ``side``: the adjoint of :func:`block_codes`."""
    assert block_pass.side is not None
    raw = block_pass.features.raw(block_pass.inputs(block_pass.read(items)))
    return ((raw.mT @ block_pass.side[block.start : block.stop].to(raw)).cpu().to(torch.float64).numpy(),)


def block_codes(items: Any, block: Block, block_pass: BlockPass) -> np.ndarray:
    """Codes of a block, shape (b, p)."""
    return np.concatenate([Z.cpu().numpy() for Z in _codes_by_strips(items, block_pass)])


def _codes_by_strips(items: Any, block_pass: BlockPass) -> Iterator[Tensor]:
    """Codes of a block, strip by strip: the features of a whole block may not fit in memory."""
    for strip in block_pass.inputs(block_pass.read(items)).split(STRIP):
        yield block_pass.codes(block_pass.features.raw(strip))


def block_features(items: Any, block: Block, block_pass: BlockPass) -> np.ndarray:
    """Raw features of a block, shape (b, width)."""
    return block_pass.features.raw(block_pass.inputs(block_pass.read(items))).cpu().numpy()


def block_lengths(items: Any, block: Block, block_pass: BlockPass) -> np.ndarray:
    """Squared norms of the codes of a block, shape (b,)."""
    codes = _codes_by_strips(items, block_pass)
    return np.concatenate([torch.linalg.vecdot(Z, Z).cpu().numpy() for Z in codes])


def block_normal(items: Any, block: Block, block_pass: BlockPass) -> tuple[np.ndarray, ...]:
    """Normal equations of the last layer: ``w psi psi^T``, ``w psi t^T`` and ``w |t|^2`` of a block."""
    return _by_strips(_last_layer, items, block, block_pass)


def _last_layer(rows: Tensor, root: Tensor | None, block_pass: BlockPass) -> tuple[Tensor, ...]:
    assert block_pass.kernel is not None
    raw = block_pass.features.raw(block_pass.inputs(rows))
    return _normal(block_pass.kernel._gram(block_pass.codes(raw), block_pass.anchors), block_pass.targets(rows), root)


def _square(T: Tensor) -> Tensor:
    dtype = torch.float64 if T.device.type != "mps" else T.dtype
    return torch.linalg.vector_norm(T, dtype=dtype).square()


@dataclass(frozen=True)
class Data:
    """Rows in blocks, and the engine that computes them."""

    rows: Rows
    blocks: tuple[Block, ...]
    engine: Engine

    def sum(self, function: Any, block_pass: BlockPass) -> tuple[np.ndarray, ...]:
        """Sum of a block function."""
        return self.engine.sum(function, self.blocks, self.rows, block_pass)

    def codes(self, block_pass: BlockPass) -> Tensor:
        """Codes of all rows, shape (n, p)."""
        return torch.from_numpy(np.concatenate(list(self.engine.map(block_codes, self.blocks, self.rows, block_pass))))


@dataclass(frozen=True)
class FeatureMoments:
    """Mean and covariance of whitened features."""

    mean: Tensor  # (dim,)
    covariance: Tensor  # (dim, dim): around the mean, or around zero
    raw_mean: Tensor  # (width,): of the raw features


def feature_moments(features: FeatureMap, first: Any, second: Any, *, center: bool = True) -> FeatureMoments:
    """Moments of the features from the sums that :func:`block_moments` gives."""
    raw_mean, M = torch.as_tensor(first), torch.as_tensor(second)
    mean = features.whiten_adjoint(raw_mean[:, None])[:, 0]
    C = features.whiten_adjoint(features.whiten_adjoint(M).mT.contiguous())
    C = (C + C.mT) / 2
    return FeatureMoments(mean, C - torch.outer(mean, mean) if center else C, raw_mean)
