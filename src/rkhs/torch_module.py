"""Formulas of fitted models as modules of torch, with the pull-backs of the kernels as derivatives."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.kernels.base import Kernel
from rkhs.kernels.combined.sums_and_products import Product, Scaled, Sum
from rkhs.kernels.vectors.discrete import Tanimoto
from rkhs.kernels.vectors.dot_product import DotProduct, Linear
from rkhs.kernels.vectors.radial import Gaussian, Laplacian, Matern
from rkhs.kernels.vectors.stationary import Stationary
from rkhs.models.autoencoder import refined_codes
from rkhs.models.layers import AutoencoderLayers


class _Gram(torch.autograd.Function):
    """Kernel values of rows with supports, whose derivative is the pull-back of the kernel."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, supports: Tensor, kernel: Kernel) -> Tensor:
        ctx.save_for_backward(rows, supports)
        ctx.kernel = kernel
        return kernel._gram(rows, supports)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, S: Tensor) -> tuple[Tensor, None, None]:
        rows, supports = ctx.saved_tensors
        return ctx.kernel.cross_pullback(rows, supports, S.contiguous()), None, None


def _traced(kernel: Kernel, X: Tensor, Y: Tensor) -> Tensor:
    """``k(X, Y)`` in plain operations: a graph holds no blocks of rows and no branch that reads numbers."""
    if isinstance(kernel, (Sum, Product)):
        return reduce(torch.add if isinstance(kernel, Sum) else torch.mul, [_traced(k, X, Y) for k in kernel.parts])
    if isinstance(kernel, Scaled):
        return _traced(kernel.base, X, Y) * kernel.scale
    if isinstance(kernel, Stationary):
        X, Y = X - Y.mean(0), Y - Y.mean(0)
    elif isinstance(kernel, Linear) and kernel.offset is not None:
        X, Y = X - Y.new_tensor(kernel.offset), Y - Y.new_tensor(kernel.offset)
    P, a, b = X.mm(Y.T), (X * X).sum(1), (Y * Y).sum(1)  # after ``@`` numbers would be rounded to float32
    if isinstance(kernel, (DotProduct, Tanimoto)):
        return kernel.from_products(P, a, b)
    return _profile(kernel, (a[:, None] + b - 2.0 * P).clamp_min(0.0))


def _profile(kernel: Kernel, D: Tensor) -> Tensor:  # of squared distances
    if isinstance(kernel, Gaussian):
        return torch.exp(-kernel._gamma * D)
    if not isinstance(kernel, (Matern, Laplacian)) or getattr(kernel, "norm", "l2") != "l2":
        raise InputError(
            "ONNX export knows Gaussian, Laplacian('l2'), Matern, Linear, Polynomial and Tanimoto kernels, their sums, "
            f"products and multiples; got {getattr(kernel, 'base', kernel)!r}; fit again with kernel='gaussian', or "
            "use rkhs.as_module, which takes every kernel on vectors"
        )
    nu = getattr(kernel, "nu", 0.5)  # the L2 Laplacian is the Matern kernel of smoothness 1/2
    a = (2.0 * nu) ** 0.5 * kernel._gamma * D.sqrt()
    return {0.5: 1.0, 1.5: 1.0 + a, 2.5: 1.0 + a + a * a / 3.0}[nu] * torch.exp(-a)


class FittedModule(torch.nn.Module):
    """The formula of a part of a fitted model; its constants are buffers ``c0, c1, ...`` or parameters."""

    def __init__(
        self, write: Callable[..., Tensor], model: KernelEstimator, columns: tuple[int, ...], *, trainable: bool
    ) -> None:
        super().__init__()
        # A copy, which a later fit of the model does not change.
        self.write, self.model, self.columns, self.trainable, self._count = write, copy(model), columns, trainable, 0
        with torch.no_grad():
            write(self, self.model, torch.zeros(1, *columns, dtype=torch.float64))  # names the constants

    def constant(self, value: Any, *, free: bool = False) -> Tensor:
        """The next constant of the formula, set to ``value`` at first; trainable if ``free``."""
        name, self._count = f"c{self._count}", self._count + 1
        if not hasattr(self, name):
            tensor = torch.as_tensor(np.array(value, dtype=np.float64))
            setattr(self, name, torch.nn.Parameter(tensor) if free and self.trainable else torch.nn.Buffer(tensor))
        return getattr(self, name)

    def times(self, x: Tensor, weights: Any) -> Tensor:
        """Rows times an array that may be trained."""
        return x.mm(self.constant(weights, free=True))

    def gram(self, kernel: Kernel, x: Tensor, supports: Any) -> Tensor:
        """Kernel values (m, n) with the supports."""
        Y = self.constant(supports)
        return _traced(kernel, x, Y) if torch.jit.is_tracing() else _Gram.apply(x, Y, kernel)

    def refined(self, model: AutoencoderLayers, rows: Tensor, raw: Tensor, codes: Tensor) -> Tensor:
        """Refined codes; derivatives by the implicit function theorem."""
        if self.trainable or torch.jit.is_tracing():
            raise InputError(
                "codes have a closed formula for the plain encoder only, and this model refines them by an iteration: "
                "use model.set_params(refine=False) first; transform then returns the plain codes too"
            )
        if model.rebuilt.kernel not in (None, model.kernel):
            raise InputError(
                "refined codes have derivatives only if vectors, or features of the same kernel, are rebuilt; got "
                f"output_kernel={model.rebuilt.kernel!r}. Use model.set_params(refine=False) for the plain encoder"
            )
        return refined_codes(model, rows, raw, codes, None)

    def forward(self, rows: Tensor) -> Tensor:
        """The codes, rows or outputs of rows of shape (m, d), of the dtype and on the device of the module."""
        self._count = 0
        if not torch.jit.is_tracing():  # a trace would keep the branch
            self._check(rows)
        return self.write(self, self.model, rows)

    def _check(self, rows: Tensor) -> None:
        """Refuse rows that would broadcast or mix precisions."""
        like, (d,) = next(chain(self.buffers(), self.parameters())), self.columns
        if not isinstance(rows, Tensor) or rows.ndim != 2 or rows.shape[1] != d:
            got = f"shape {tuple(rows.shape)}" if isinstance(rows, Tensor) else f"a {type(rows).__name__}"
            raise InputError(f"the rows of this module must be a tensor of shape (m, {d}); got {got}")
        if (rows.dtype, rows.device) != (like.dtype, like.device):
            raise InputError(
                f"the rows of this module must be {like.dtype} on {like.device}, as it is; got {rows.dtype} on "
                f"{rows.device}. Move the module by module.to(rows), or rows by rows.to({like.dtype})"
            )
