"""Formulas of fitted models as modules of torch, with the pull-backs of the kernels as derivatives."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from inspect import signature
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor, is_legacy_batchedtensor

from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.kernels.base import Kernel
from rkhs.kernels.combined.derived import GaussianOf, Normalized
from rkhs.kernels.combined.sums_and_products import Product, Scaled, Sum
from rkhs.kernels.vectors.discrete import Tanimoto
from rkhs.kernels.vectors.dot_product import DotProduct, Linear, Polynomial
from rkhs.kernels.vectors.neural import NTK, ArcCosine
from rkhs.kernels.vectors.radial import Gaussian, Laplacian, Matern
from rkhs.models.autoencoder import refined_codes
from rkhs.models.layers import AutoencoderLayers


def _is_transformed(tensor: Tensor) -> bool:
    """Whether a transformation of torch.func, or a batch of gradients of autograd, acts on the tensor."""
    return is_functorch_wrapped_tensor(tensor) or is_legacy_batchedtensor(tensor)


def _values(kernel: Kernel, rows: Tensor, supports: Tensor) -> Tensor:
    """Kernel values (m, n), by the kernel itself where autograd alone follows, else by its plain formula."""
    if torch.jit.is_tracing():
        _check_written(kernel)
    elif torch.compiler.is_dynamo_compiling() and not _is_one_graph(kernel):
        return _gram_outside_graphs(rows, supports, kernel)
    elif not torch.compiler.is_compiling() and not any(map(_is_transformed, (rows, supports))) and not rows.is_meta:
        return _Gram.apply(rows, supports, kernel)
    return kernel._plain(rows, supports)  # a graph holds no blocks of rows and no branch that reads numbers


class _Gram(torch.autograd.Function):
    """Kernel values of rows with supports; derivatives by the pull-back, higher ones by the plain formula."""

    @staticmethod
    def forward(rows: Tensor, supports: Tensor, kernel: Kernel) -> Tensor:
        return kernel._gram(rows, supports)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.kernel = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, S: Tensor) -> tuple[Tensor, None, None]:
        rows, supports = ctx.saved_tensors
        if _is_transformed(S):
            return _plain_pullback(ctx.kernel, supports)(rows, S), None, None
        return _Pullback.apply(rows, supports, S, ctx.kernel), None, None

    @staticmethod
    def jvp(ctx: Any, direction: Tensor, *_: None) -> Tensor:
        rows, supports = ctx.saved_tensors
        return _along(lambda X: ctx.kernel._plain(X, supports), (rows,), (direction,))


class _Pullback(torch.autograd.Function):
    """The pull-back of ``S`` to the rows, whose own derivatives are those of the plain formula."""

    @staticmethod
    def forward(rows: Tensor, supports: Tensor, S: Tensor, kernel: Kernel) -> Tensor:
        return kernel.cross_pullback(rows, supports, S.contiguous())

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _Gram.setup_context(ctx, inputs, output)

    @staticmethod
    def backward(ctx: Any, G: Tensor) -> tuple[Tensor, None, Tensor, None]:
        rows, supports, S = ctx.saved_tensors
        of_rows, of_S = torch.func.vjp(_plain_pullback(ctx.kernel, supports), rows, S)[1](G)
        return of_rows, None, of_S, None

    @staticmethod
    def jvp(ctx: Any, direction: Tensor | None, _: None, S_direction: Tensor | None, *__: None) -> Tensor:
        rows, supports, S = ctx.saved_tensors
        return _along(_plain_pullback(ctx.kernel, supports), (rows, S), (direction, S_direction))


def _plain_pullback(kernel: Kernel, supports: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """The pull-back as a function of rows and ``S``, by the derivative of the plain formula."""
    return lambda rows, S: torch.func.vjp(lambda X: kernel._plain(X, supports), rows)[1](S)[0]


def _along(function: Callable[..., Tensor], at: tuple[Tensor, ...], steps: tuple[Tensor | None, ...]) -> Tensor:
    """Derivative of a function along steps, of which some may be missing: the transpose of its transposed map."""
    # torch.func.jvp would nest modes of forward differentiation, which torch refuses.
    directions = tuple(torch.zeros_like(x) if step is None else step for x, step in zip(at, steps, strict=True))
    pair: tuple[Tensor, Any] = torch.func.vjp(function, *at)  # type: ignore[assignment]
    value, transposed = pair
    return torch.func.vjp(transposed, torch.zeros_like(value))[1](directions)[0]


_REFINED = (
    "refined codes have values and first derivatives alone, since they come from an iteration; use "
    "model.set_params(refine=False), whose plain codes have second derivatives and pass torch.func, torch.compile and "
    "torch.export"
)


class _OneDerivative(torch.autograd.Function):
    """A tensor as it is, for a formula whose first derivatives by autograd are right, and no others."""

    @staticmethod
    def forward(tensor: Tensor) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, G: Tensor) -> Tensor:
        if _is_transformed(G):
            raise InputError(_REFINED)
        return _LastDerivative.apply(G, *ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, *_: Tensor) -> Tensor:
        raise InputError(_REFINED)


class _LastDerivative(torch.autograd.Function):
    """A gradient of a tensor, which refuses to be differentiated."""

    @staticmethod
    def forward(ctx: Any, G: Tensor, tensor: Tensor) -> Tensor:
        return G.clone()

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Tensor:
        raise InputError(_REFINED)


def _outside_graphs(function: Callable[..., Tensor], reason: str) -> Callable[..., Tensor]:
    """A function that torch.compile calls as it is; with ``fullgraph`` it refuses, for the reason from torch 2.8 on."""
    takes_reason = "reason" in signature(torch.compiler.disable).parameters
    return torch.compiler.disable(function, reason=reason) if takes_reason else torch.compiler.disable(function)


_gram_outside_graphs = _outside_graphs(
    _Gram.apply,
    "this kernel is computed outside the graph: use torch.compile without fullgraph, torch.export with strict=False, "
    "or a Gaussian, Matern, Laplacian, Polynomial, Tanimoto, ArcCosine or NTK kernel",
)


def _is_one_graph(kernel: Kernel) -> bool:
    """Whether torch.compile reads the formula; kernels that read arrays of their own stay outside the graph."""
    if isinstance(kernel, (Sum, Product, Scaled, Normalized, GaussianOf)):
        return all(_is_one_graph(part) for part in kernel.parts)
    if isinstance(kernel, Linear):
        return kernel.offset is None
    return isinstance(kernel, (Gaussian, Matern, Laplacian, Polynomial, Tanimoto, ArcCosine, NTK))


def _check_written(kernel: Kernel) -> None:
    """Refuse kernels whose operations a graph of ONNX does not have."""
    if isinstance(kernel, (Sum, Product, Scaled)):
        for part in kernel.parts:
            _check_written(part)
    elif not isinstance(kernel, (Gaussian, Matern, DotProduct, Tanimoto)) and getattr(kernel, "norm", "l1") != "l2":
        raise InputError(
            "ONNX export knows Gaussian, Laplacian('l2'), Matern, Linear, Polynomial and Tanimoto kernels, their sums, "
            f"products and multiples; got {kernel!r}; fit again with kernel='gaussian', or use rkhs.as_module, which "
            "takes every kernel on vectors"
        )


def _refined_once(model: AutoencoderLayers, rows: Tensor, raw: Tensor, codes: Tensor) -> Tensor:
    """Refined codes, whose first derivatives alone are right."""
    if rows.is_meta or _is_transformed(rows):
        raise InputError(_REFINED)
    rows, raw, codes = (_OneDerivative.apply(part) for part in (rows, raw, codes))
    return refined_codes(model, rows, raw, codes, None)


_refined_outside_graphs = _outside_graphs(_refined_once, _REFINED)


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
        return _values(kernel, x, self.constant(supports))

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
        if rows.dtype not in (torch.float32, torch.float64):
            raise InputError(
                f"refined codes are computed in float64 or float32; got a module of {rows.dtype}. Use module.float(), "
                "or model.set_params(refine=False) for the plain encoder"
            )
        if torch.compiler.is_compiling() and not torch.compiler.is_dynamo_compiling():  # an export
            raise InputError(_REFINED)
        return _refined_outside_graphs(model, rows, raw, codes)

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
