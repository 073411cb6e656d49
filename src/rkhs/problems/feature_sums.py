"""Sums over blocks of rows that models in finite features are made of: moments, normal equations, gradients.

Each function has the form that engines map over blocks; what all blocks share is a :class:`Sweep`. Blocks are computed
in the dtype of the sweep and summed in float64: sums of a million products in float32 are not positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg.blas
import torch
from torch import Tensor

from rkhs.engines import Block, fingerprint
from rkhs.features import FeatureMap
from rkhs.kernels.base import Kernel
from rkhs.outputs import OutputSpace

__all__ = [
    "Sweep",
    "block_codes",
    "block_gradient",
    "block_moments",
    "block_normal",
    "block_ridge",
    "symmetric_product",
]


@dataclass(frozen=True)
class Sweep:
    """What every block of a pass needs to know.

    Parameters
    ----------
    features : FeatureMap
        ``F = raw W`` of the inputs.
    dtype : torch.dtype
        Of the blocks.
    device : str
    columns : int
        Columns of the rows that are inputs; the targets follow, unless the rows hold no more.
    weights : ndarray of shape (n,) or None
        Sample weights that sum to one; None: ``1/n``.
    n : int
        Number of rows.
    maps : Tensor of shape (width, p) or None
        ``B``: codes are ``raw B + shift``.
    shift : Tensor of shape (p,) or None
    kernel : Kernel or None
        On codes.
    anchors : Tensor of shape (a, p) or None
        Codes that the last layer is spread over.
    coefficients : Tensor of shape (a, q) or None
        Of the last layer.
    space : OutputSpace or None
        Puts targets in coordinates.
    output_map : FeatureMap or None
        Landmarks of the output kernel; None: vectors, or features of the input map.
    own_features : bool
        Targets are the features of ``features`` itself.
    """

    features: FeatureMap
    dtype: torch.dtype
    device: str
    columns: int
    weights: np.ndarray | None
    n: int
    maps: Tensor | None = None
    shift: Tensor | None = None
    kernel: Kernel | None = None
    anchors: Tensor | None = None
    coefficients: Tensor | None = None
    space: OutputSpace | None = None
    output_map: FeatureMap | None = None
    own_features: bool = False

    def cast(self, **parts: Tensor | None) -> Sweep:
        """The sweep with other parameters, in its dtype and on its device."""
        moved = {k: None if v is None else v.to(dtype=self.dtype, device=self.device) for k, v in parts.items()}
        return replace(self, **moved)  # type: ignore[arg-type]

    def read(self, items: Any) -> Tensor:
        """A block as a tensor."""
        if isinstance(items, np.ndarray):
            items = torch.from_numpy(items)
        return items.to(dtype=self.dtype, device=self.device)

    def inputs(self, rows: Tensor) -> Tensor:
        """The inputs among the columns of a block."""
        return rows if rows.shape[1] == self.columns else rows[:, : self.columns]

    def targets(self, rows: Tensor, raw: Tensor) -> Tensor:
        """Coordinates of the targets of a block, shape (b, q)."""
        given = rows if rows.shape[1] == self.columns else rows[:, self.columns :]
        if self.own_features:
            given = raw
        elif self.output_map is not None:
            given = self.output_map.raw(given)
        assert self.space is not None
        return self.space.encode(given)

    def root_weights(self, block: Block) -> Tensor | float:
        """Roots of the weights of a block: a column, or one number for equal weights."""
        if self.weights is None:
            return float(self.n) ** -0.5
        part = torch.from_numpy(self.weights[block.start : block.stop])
        return part.sqrt().to(dtype=self.dtype, device=self.device)[:, None]

    def digest(self) -> str:
        """What tells this sweep from the others of one fit: its parameters."""
        parts = (self.maps, self.shift, self.anchors, self.coefficients)
        return fingerprint(self.n, *(None if part is None else part.cpu().numpy() for part in parts))

    def codes(self, raw: Tensor) -> Tensor:
        """``raw B + shift``."""
        assert self.maps is not None
        Z = raw @ self.maps
        return Z if self.shift is None else Z + self.shift


def symmetric_product(A: Tensor) -> np.ndarray:
    """``A^T A`` in float64 from products in the dtype of ``A``; half the work where BLAS offers it."""
    if A.device.type != "cpu":
        product = A.mT @ A
        return product.to("cpu", torch.float64).numpy()
    array = A.numpy() if A.is_contiguous() else A.contiguous().numpy()
    syrk = scipy.linalg.blas.ssyrk if array.dtype == np.float32 else scipy.linalg.blas.dsyrk
    half = syrk(1.0, array.T, lower=1)  # the transpose is in Fortran order: nothing is copied
    upper = torch.from_numpy(half.T).to(torch.float64)  # zeros below the diagonal
    return (upper + upper.triu(1).mT).numpy()


def _array(T: Tensor) -> np.ndarray:
    return T.to("cpu", torch.float64).numpy()


def block_moments(items: Any, block: Block, sweep: Sweep) -> tuple[np.ndarray, ...]:
    """Sums of ``w raw`` and ``w raw raw^T`` over a block.

    Parameters
    ----------
    items : array of shape (b, columns)
    block : Block
    sweep : Sweep

    Returns
    -------
    tuple of ndarray
        Shapes (width,) and (width, width).
    """
    raw = sweep.features.raw(sweep.inputs(sweep.read(items)))
    root = sweep.root_weights(block)
    raw.mul_(root)
    first = raw.sum(0) * root if isinstance(root, float) else (raw * root).sum(0)
    return _array(first), symmetric_product(raw)


def block_ridge(items: Any, block: Block, sweep: Sweep) -> tuple[np.ndarray, ...]:
    """Sums of ``w raw raw^T``, ``w raw t^T`` and ``w |t|^2`` over a block.

    Parameters
    ----------
    items : array of shape (b, columns)
    block : Block
    sweep : Sweep

    Returns
    -------
    tuple of ndarray
        Shapes (width, width), (width, q) and ().
    """
    rows = sweep.read(items)
    raw = sweep.features.raw(sweep.inputs(rows))
    root = sweep.root_weights(block)
    T = sweep.targets(rows, raw) * root
    raw.mul_(root)
    return symmetric_product(raw), _array(raw.mT @ T), np.asarray(_square(T))


def block_codes(items: Any, block: Block, sweep: Sweep) -> np.ndarray:
    """Codes of a block, shape (b, p)."""
    return sweep.codes(sweep.features.raw(sweep.inputs(sweep.read(items)))).cpu().numpy()


def block_normal(items: Any, block: Block, sweep: Sweep) -> tuple[np.ndarray, ...]:
    """Normal equations of the last layer: ``w psi psi^T``, ``w psi t^T`` and ``w |t|^2`` of a block.

    Parameters
    ----------
    items : array of shape (b, columns)
    block : Block
    sweep : Sweep

    Returns
    -------
    tuple of ndarray
        Shapes (a, a), (a, q) and ().
    """
    assert sweep.kernel is not None
    rows = sweep.read(items)
    raw = sweep.features.raw(sweep.inputs(rows))
    T = sweep.targets(rows, raw)
    psi = sweep.kernel._gram(sweep.codes(raw), sweep.anchors)
    root = sweep.root_weights(block)
    if isinstance(root, float):
        square = root * root
        return symmetric_product(psi) * square, _array(psi.mT @ T) * square, np.asarray(_square(T) * square)
    psi.mul_(root)
    T = T * root
    return symmetric_product(psi), _array(psi.mT @ T), np.asarray(_square(T))


def _square(T: Tensor) -> float:
    return (
        float(torch.linalg.vector_norm(T, dtype=torch.float64)) ** 2 if T.device.type != "mps" else float((T * T).sum())
    )


def block_gradient(items: Any, block: Block, sweep: Sweep) -> tuple[np.ndarray, ...]:
    """Derivative of the loss of a block with the last layer fixed, with respect to ``B`` and to the anchors.

    Parameters
    ----------
    items : array of shape (b, columns)
    block : Block
    sweep : Sweep

    Returns
    -------
    tuple of ndarray
        Shapes (width, p) and (a, p).
    """
    assert sweep.kernel is not None
    assert sweep.coefficients is not None
    assert sweep.anchors is not None
    rows = sweep.read(items)
    raw = sweep.features.raw(sweep.inputs(rows))
    Z = sweep.codes(raw)
    psi = sweep.kernel._gram(Z, sweep.anchors)
    residual = torch.addmm(sweep.targets(rows, raw), psi, sweep.coefficients, beta=-1.0)
    root = sweep.root_weights(block)
    S = (residual * (root * root)) @ sweep.coefficients.mT
    dZ, dA = sweep.kernel._pair_pullback(Z, sweep.anchors, S, psi)
    return _array(raw.mT @ dZ), _array(dA)
