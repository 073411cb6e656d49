"""Formulas of fitted models as modules of torch; kernels bring their own pull-backs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel
from rkhs.models.autoencoder import refined_codes


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


class _Value:
    """A tensor on its way through the formula of a model; arrays that meet it are constants of the module."""

    def __init__(self, graph: FittedModule, tensor: Tensor) -> None:
        self.graph, self.tensor = graph, tensor

    def then(self, operation: str, other: Any, *, free: bool = False) -> _Value:
        """The result of an operation with another value or an array; whether the array may be trained."""
        right = other.tensor if isinstance(other, _Value) else self.graph.constant(other, free=free)
        return _Value(self.graph, getattr(torch, operation)(self.tensor, right))

    __add__ = partialmethod(then, "add")
    __sub__ = partialmethod(then, "sub")
    __mul__ = partialmethod(then, "mul")
    __truediv__ = partialmethod(then, "div")
    __matmul__ = partialmethod(then, "matmul", free=True)


class FittedModule(torch.nn.Module):
    """The formula of a part of a fitted model; its constants are buffers ``c0, c1, ...`` or parameters."""

    def __init__(self, write: Callable[[Any, Any], Any], columns: int, *, trainable: bool) -> None:
        super().__init__()
        self.write, self.trainable, self._count = write, trainable, 0
        with torch.no_grad():
            self.forward(torch.zeros(1, columns, dtype=torch.float64))  # names the constants

    def constant(self, value: Any, *, free: bool = False) -> Tensor:
        """The next constant of the formula, which has the value of an array at first."""
        name, self._count = f"c{self._count}", self._count + 1
        if not hasattr(self, name):
            made = torch.as_tensor(np.array(value, dtype=np.float64))
            if free and self.trainable:
                self.register_parameter(name, torch.nn.Parameter(made))
            else:
                self.register_buffer(name, made)
        found: Tensor = getattr(self, name)
        return found

    def gram(self, kernel: Kernel, x: _Value, supports: np.ndarray) -> _Value:
        """Kernel values (m, n) with the supports."""
        return _Value(self, _Gram.apply(x.tensor, self.constant(supports), kernel))

    def forward(self, rows: Tensor) -> Tensor:
        """The codes, rows or outputs of rows of shape (m, d)."""
        self._count = 0
        found: Tensor = self.write(self, _Value(self, rows)).tensor
        return found


class RefinedEncoder(torch.nn.Module):
    """Refined codes of rows; a derivative is that of the least objective."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model, rebuilt = model, model.model_.rebuilt
        if rebuilt.kernel not in (None, model.kernel_):
            raise InputError(
                "as_module follows refined codes where vectors or features of the same kernel are rebuilt; got "
                f"output_kernel={rebuilt.kernel!r}. Say model.set_params(refine=False) for the plain encoder"
            )

    def forward(self, rows: Tensor) -> Tensor:
        """The codes of rows of shape (m, d)."""
        whole, fitted = self.model, self.model.model_
        if whole.column_scales_ is not None:
            rows = (rows - tensor_like(whole.column_means_, rows)) / tensor_like(whole.column_scales_, rows)
        raw = _Gram.apply(rows, tensor_like(whole.support_items_, rows), fitted.kernel)
        Z = refined_codes(fitted, rows, raw, fitted.plain(rows, raw), None)
        for layer in fitted.layers[: fitted.narrowest]:
            A, C, linear = layer.tensors(Z)
            said = _Gram.apply(Z, A, layer.kernel) @ C
            Z = said if linear is None else said + linear[-1] + Z @ linear[:-1]
        return cast(Tensor, fitted.shown(Z))
