"""The decoder of a map: kernel ridge regression from codes to targets with a free linear part."""

from __future__ import annotations

import torch
from torch import Tensor

from rkhs.kernels import Matern
from rkhs.kernels.base import Kernel
from rkhs.models import CodeRegression
from rkhs.outputs import Euclidean
from rkhs.problems.last_layers import AnchorsLayer

# Codes that a decoder is spread over, those that settings are compared on, and rows that are left out.
_ANCHORS, _COMPARED, _CHECKED = 1500, 600, 2000
_WIDTHS, _REGS = (1.0, 0.3, 0.1, 0.03), (1e-3, 1e-4, 1e-5)  # in units of the spread of the codes


def fit_decoder(Z: Tensor, targets: Tensor, mass: Tensor, output: Euclidean) -> tuple[CodeRegression, float]:
    """The decoder from codes (n, p) to targets (n, r) of variance one, and what it loses of rows left out."""
    n = len(Z)
    spread = float((mass @ (Z - mass @ Z) ** 2).mean().sqrt())
    few = torch.linspace(0, n - 1, min(n, _COMPARED)).long()
    parts = Z[few], targets[few], mass[few] / mass[few].sum()
    tried = [(Matern(1.5, 1.0 / (width * spread)), reg) for width in _WIDTHS for reg in _REGS]
    errors = [left_out_error(kernel, reg, *parts) for kernel, reg in tried]
    kernel, reg = tried[errors.index(min(errors))]
    anchors = torch.linspace(0, n - 1, min(n, _ANCHORS)).long()
    order = torch.cat([anchors, torch.ones(n, dtype=torch.bool).index_fill_(0, anchors, False).nonzero()[:, 0]])
    layer, Z = AnchorsLayer.of(targets[order], kernel, len(anchors), reg, mass[order], None), Z[order]
    sums = layer.sums(Z)
    found = layer.solve(Z, sums)
    assert found.linear is not None
    parts = (found.anchors, found.coefficients, found.linear)
    back = CodeRegression(kernel, *(part.contiguous().numpy() for part in parts), output=output, reg=reg)
    if n <= _ANCHORS:
        return back, left_out_error(kernel, reg, Z, targets[order], mass[order])
    return back, layer.left_out_error(Z, found, sums, torch.linspace(0, n - 1, min(n, _CHECKED)).long())


def left_out_error(kernel: Kernel, reg: float, Z: Tensor, targets: Tensor, mass: Tensor) -> float:
    """Weighted mean of the squared errors of each row by the decoder that did not see it, in closed form. O(n^3)."""
    # With ``W = K + reg diag(1 / m)``, ``B = [Z, 1]`` and ``M = W^-1 - W^-1 B (B^T W^-1 B)^-1 B^T W^-1`` the error of
    # row i is ``(M T)_i / M_ii``: Wahba (1990), section 4.2.
    W = kernel._gram(Z)
    W.diagonal().add_(reg / mass)
    B = torch.cat([Z, torch.ones_like(Z[:, :1])], 1)
    M = torch.cholesky_inverse(torch.linalg.cholesky(W))
    MB = M @ B
    M = M - MB @ torch.linalg.pinv(B.mT @ MB, hermitian=True) @ MB.mT
    errors = (M @ targets) / M.diagonal().clamp_min(1e-300)[:, None]
    return float(mass @ (errors * errors).sum(1))
