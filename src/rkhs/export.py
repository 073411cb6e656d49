"""Fitted models as formulas: ONNX files, for programs without Python, and modules of torch, with derivatives."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import resolve_dtype
from rkhs._core.checks import check_choice, check_flag
from rkhs._core.devices import naming_devices
from rkhs._core.errors import InputError, filtering_warnings, optional
from rkhs._core.files import atomic_file
from rkhs.estimators import (
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.estimators.base import KernelEstimator
from rkhs.models import Layer, LocalLayer
from rkhs.outputs import Euclidean
from rkhs.torch_module import FittedModule

__all__ = ["as_module", "to_onnx"]

_OPSET = 17
_TRACING = threading.Lock()  # the exporter of torch has a state of the process, and fails in a second thread


@naming_devices
def to_onnx(
    model: KernelEstimator, path: str | os.PathLike[str], *, part: str | None = None, dtype: str = "float64"
) -> dict[str, tuple[int, ...]]:
    """Write the encoder, the decoder or the predictor of a fitted model to an ONNX file.

    The encoder maps ``X`` (m, d) to ``codes`` (m, p) as ``transform`` does, the decoder ``codes`` to ``X`` as
    ``inverse_transform`` does, and the predictor of a regressor ``X`` to ``y`` (m, q) as ``predict`` does. The graph
    holds the training items, or the landmarks of ``storage=Nystroem(m)``, and computes their kernel values with rows.

    Parameters
    ----------
    model : KernelAutoencoder, KernelPCA, KernelContrastive or OperatorKernelRegressor
        Fitted on vectors, with Gaussian, Laplacian (L2), Matern, linear, polynomial or Tanimoto kernels, or sums,
        products and multiples of such. An autoencoder that refines codes does so by an iteration, which has no graph:
        use ``model.set_params(refine=False)`` to export the plain encoder.
    path : str or path
        By convention it ends in ``.onnx``.
    part : {"encoder", "decoder", "predictor"}, default=None
        None: the predictor of a regressor, the encoder of others. ``"decoder"``: for models that rebuild vectors.
    dtype : {"float64", "float32"}, default="float64"
        Of the input, the output and everything between.

    Returns
    -------
    dict of str to tuple of int
        Columns of the input and the output by name: ``{"X": (d,), "codes": (p,)}``.

    Raises
    ------
    InputError
        For another model or kernel.
    MissingExtraError
        If the extra ``onnx`` is missing.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import rkhs
    >>> model = rkhs.KernelPCA(2).fit(load_iris().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rkhs.to_onnx(model, f"{folder}/iris.onnx")
    {'X': (4,), 'codes': (2,)}
    """
    kind = resolve_dtype(dtype)
    write, shapes = _formula(model, part, "to_onnx")
    (first, columns), (second, _) = shapes.items()
    module = FittedModule(write, model, columns, trainable=False).to(kind)
    optional("onnx")
    # The newer exporter of torch needs one more package.
    buffer: Any = io.BytesIO()
    with _TRACING, filtering_warnings("ignore", DeprecationWarning):
        torch.onnx.export(
            module,
            (torch.zeros(2, *columns, dtype=kind),),
            buffer,
            dynamo=False,
            opset_version=_OPSET,
            input_names=[first],
            output_names=[second],
            dynamic_axes={name: {0: "rows"} for name in shapes},
        )
    with atomic_file(path) as handle:
        handle.write(buffer.getbuffer())
    return shapes


@naming_devices
def as_module(model: KernelEstimator, *, part: str | None = None, trainable: bool = False) -> torch.nn.Module:
    """A fitted encoder, decoder or predictor as a module of torch: a layer of a network, with derivatives.

    ``as_module(model)(X)`` are the codes, rows or outputs of tensors ``X`` of shape (m, d), and their derivatives with
    respect to ``X`` are those of the formulas, through the pull-backs of the kernels.

    Parameters
    ----------
    model : KernelAutoencoder, KernelPCA, KernelContrastive or OperatorKernelRegressor
        Fitted on vectors with any kernel; those without a gradient refuse to decode. Refined codes are converged to
        rounding, where ``transform`` stops after ten steps, and their derivatives are those of the least objective, by
        the implicit function theorem.
    part : {"encoder", "decoder", "predictor"}, default=None
        As in :func:`to_onnx`.
    trainable : bool, default=False
        Whether coefficients and linear maps are parameters that an optimiser may change; kernels, training items,
        means and scales stay. Refined codes have none.

    Returns
    -------
    torch.nn.Module
        In float64; ``.float()`` makes it one of float32. It takes rows of its dtype and gives results of it.

    Raises
    ------
    InputError
        For another model, and for parameters of refined codes. The module raises it for rows of another shape, dtype
        or device than its constants.

    Notes
    -----
    A first derivative costs about as much as the value: O(m n d). Higher ones, and ``vmap``, ``jacrev``, ``jacfwd``,
    ``jvp`` and ``hessian`` of ``torch.func``, differentiate the formulas of the kernels by autograd, with O(m n d)
    memory for kernels of distances. They leave out kinks: of Laplacian, Matern(0.5) and NTK at equal rows.
    ``torch.export`` with ``strict=False`` takes all kernels that have them; ``torch.compile``
    with ``fullgraph=True`` those without arrays as parameters. Refused, with the way out: higher derivatives of refined
    codes, and of kernels without a formula in torch (:class:`~rkhs.kernels.FromSklearn`,
    :class:`~rkhs.kernels.MinMax`, classes of your own without ``_plain``).

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder, as_module
    >>> X = load_iris().data[::3]
    >>> encoder = as_module(KernelAutoencoder(2).fit(X))
    >>> row = torch.tensor(X[:1], requires_grad=True)
    >>> encoder(row)[0, 0].backward()
    >>> row.grad.shape
    torch.Size([1, 4])
    """
    write, shapes = _formula(model, part, "as_module")
    return FittedModule(write, model, next(iter(shapes.values())), trainable=check_flag(trainable, "trainable"))


def _formula(
    model: KernelEstimator, part: str | None, name: str
) -> tuple[Callable[..., Tensor], dict[str, tuple[int, ...]]]:
    """Formula of a part of a model, and the columns of its input and output by name."""
    regressor = isinstance(model, (OperatorKernelRegressor, OperatorKernelRegressorCV))
    if not regressor and not isinstance(model, (KernelAutoencoder, KernelContrastive, KernelPCA)):
        raise InputError(
            f"{name} writes KernelAutoencoder, KernelPCA, KernelContrastive and OperatorKernelRegressor; got a "
            f"{type(model).__name__}"
        )
    parts = ("predictor",) if regressor else ("encoder", "decoder")
    part = parts[0] if part is None else check_choice(part, "part", parts)
    check_is_fitted(model)
    if model.kernel_.domain != "vectors":
        raise InputError(
            f"{name} writes models of vectors; got one that reads {model.kernel_.domain}. Compute kernel values "
            "outside and multiply them by the stored coefficients"
        )
    if model.reader_.filling is not None:
        raise InputError(
            f"{name} writes models of rows of numbers; got columns='filled'. Use features.FilledTable before"
        )
    if model.map_.kept is None:
        raise InputError(
            f"{name} writes models of kernel values with training items or landmarks; got storage={model.storage!r}. "
            "Use 'dense' or Nystroem(m)"
        )
    d = np.asarray(model.support_items_).shape[1]
    if regressor:
        return _predictor, {"X": (d,), "y": (len(model.output_.mean),)}
    p = model.codes_.shape[1]
    return (_encoder, {"X": (d,), "codes": (p,)}) if part == "encoder" else (_decoder, {"codes": (p,), "X": (d,)})


def _scaled(graph: FittedModule, model: KernelEstimator, rows: Tensor) -> Tensor:
    scaling = model.reader_.scaling
    return rows if scaling is None else (rows - graph.constant(scaling.mean)) / graph.constant(scaling.scale)


def _predictor(graph: FittedModule, model: KernelEstimator, rows: Tensor) -> Tensor:
    rows, C, found = _scaled(graph, model, rows), np.asarray(model.dual_coef_), []
    for term in model.kernel_.pairs:
        part = C if term.operator is None else C @ np.asarray(term.operator)
        found.append(graph.times(graph.gram(term.kernel, rows, model.support_items_), part))
    return _in_units(graph, model.output_, torch.stack(found).sum(0))


def _in_units(graph: FittedModule, output: Euclidean, U: Tensor) -> Tensor:
    """Decode coordinates to vectors."""
    if output.basis is not None:
        U = graph.times(U, output.basis)
    root = 1.0 if output.column_weights is None else np.sqrt(output.column_weights)
    return U * graph.constant(output.scale / root) + graph.constant(output.mean)


def _encoder(graph: FittedModule, model: KernelEstimator, rows: Tensor) -> Tensor:
    rows = _scaled(graph, model, rows)
    K = graph.gram(model.kernel_, rows, model.support_items_)
    if not isinstance(model, KernelAutoencoder):
        codes = graph.times(K, model.dual_coef_)
        return codes + graph.constant(model.intercept_) if isinstance(model, KernelPCA) else codes
    fitted = model.model_
    codes = graph.times(K, fitted.encoder.coefficients)
    if fitted.linear is not None:
        part = fitted.linear
        linear_inputs = K if part.center is None else rows - graph.constant(part.center)
        offset = graph.constant(part.offset @ part.coefficients)
        codes = codes + (graph.times(linear_inputs, part.directions @ part.coefficients) - offset)
    codes = codes if fitted.penalty.row_constraint is None else fitted.penalty.row_constraint.project(codes)
    if model._refinement:
        codes = graph.refined(fitted, rows, K, codes)
    for layer in fitted.layers[: fitted.narrowest]:
        codes = _layer(graph, layer, codes)
    user_codes = codes if fitted.code_map is None else graph.times(codes, fitted.code_map)
    return user_codes if fitted.inactive is None else user_codes * graph.constant(np.isnan(fitted.inactive))


def _layer(graph: FittedModule, layer: Layer, codes: Tensor) -> Tensor:
    predicted = graph.times(graph.gram(layer.kernel, codes, layer.anchors), layer.coefficients)
    if layer.linear is not None:
        predicted = predicted + (graph.times(codes, layer.linear[:-1]) + graph.constant(layer.linear[-1]))
    return _with_leaves(graph, layer, codes, predicted) if isinstance(layer, LocalLayer) else predicted


def _with_leaves(graph: FittedModule, layer: LocalLayer, codes: Tensor, predicted: Tensor) -> Tensor:
    """The sum over all leaves: a graph has no branch, and a leaf without weight adds zero."""
    shares = layer.shares(codes, graph.constant)
    parts = [shares[:, i : i + 1] * _layer(graph, leaf, codes) for i, leaf in enumerate(layer.leaves)]
    near = torch.stack(parts).sum(0)
    if layer.directions is None:
        return near
    return predicted + graph.times(near - graph.times(predicted, layer.directions), layer.directions.T)


def _decoder(graph: FittedModule, model: KernelEstimator, U: Tensor) -> Tensor:
    output, fitted = getattr(model, "output_", None), model.model_
    deep = isinstance(model, KernelAutoencoder)
    layers = fitted.layers[fitted.narrowest :] if deep else (getattr(fitted, "back", None),)
    if not isinstance(output, Euclidean) or None in layers:
        raise InputError(
            f"decoders to vectors are written; this {type(model).__name__} has none. Export the encoder, or fit a "
            "KernelAutoencoder that rebuilds vectors"
        )
    U = reduce(lambda Z, layer: _layer(graph, layer, Z), layers, _from_user(graph, fitted, U) if deep else U)
    found = _in_units(graph, output, U)
    scaling = model.reader_.scaling
    return found if scaling is None else found * graph.constant(scaling.scale) + graph.constant(scaling.mean)


def _from_user(graph: FittedModule, fitted: Any, U: Tensor) -> Tensor:
    """Convert codes from user coordinates to those of the layers."""
    if fitted.inactive is not None:
        live = np.isnan(fitted.inactive)
        U = U * graph.constant(live) + graph.constant(np.where(live, 0.0, fitted.inactive))
    return U if fitted.code_map is None else graph.times(U, np.linalg.inv(fitted.code_map))
