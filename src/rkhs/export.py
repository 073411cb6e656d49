"""Fitted models as formulas: ONNX files, for programs without Python, and modules of torch, with derivatives."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rkhs._core.checks import check_choice, check_flag
from rkhs._core.errors import InputError, optional
from rkhs._core.files import atomic_path
from rkhs.estimators import (
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs.models import Layer
from rkhs.onnx_graph import Graph, Value
from rkhs.outputs import Euclidean

if TYPE_CHECKING:
    import torch

    from rkhs.estimators.base import KernelEstimator

__all__ = ["as_module", "to_onnx"]

_OPSET = 17


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
        say ``model.set_params(refine=False)`` to export the plain encoder.
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
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     rkhs.to_onnx(model, f"{folder}/iris.onnx")
    {'X': (4,), 'codes': (2,)}
    """
    check_choice(dtype, "dtype", ("float64", "float32"))
    write, names, widths = _formula(model, part, "to_onnx")
    helper, numpy_helper = optional("onnx.helper"), optional("onnx.numpy_helper")
    graph = Graph(helper, numpy_helper, np.dtype(dtype))
    result = write(graph, model, Value(graph, names[0]))
    graph.nodes.append(helper.make_node("Identity", [result.name], [names[1]]))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    values = [helper.make_tensor_value_info(n, kind, ["rows", w]) for n, w in zip(names, widths, strict=True)]
    body = helper.make_graph(graph.nodes, f"{type(model).__name__} {part}", values[:1], values[1:], graph.constants)
    made = helper.make_model(body, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8, producer_name="rkhs")
    optional("onnx.checker").check_model(made)
    with atomic_path(path) as temporary:
        optional("onnx").save_model(made, os.fspath(temporary))
    return {name: (width,) for name, width in zip(names, widths, strict=True)}


def as_module(model: KernelEstimator, *, part: str | None = None, trainable: bool = False) -> torch.nn.Module:
    """A fitted encoder, decoder or predictor as a module of torch: a layer of a network, with derivatives.

    ``as_module(model)(X)`` are the codes, rows or outputs of tensors ``X`` of shape (m, d), and their derivatives with
    respect to ``X`` are those of the formulas, through the pull-backs of the kernels.

    Parameters
    ----------
    model : KernelAutoencoder, KernelPCA, KernelContrastive or OperatorKernelRegressor
        Fitted on vectors with any kernel; those without a gradient refuse the way back. Refined codes are settled to
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
        In float64; ``.float()`` makes it one of float32.

    Raises
    ------
    InputError
        For another model, and for parameters of refined codes.

    Notes
    -----
    A derivative costs about as much as the value: O(m n d). There are no second derivatives.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder, as_module
    >>> X = load_iris().data
    >>> encoder = as_module(KernelAutoencoder(2).fit(X))
    >>> row = torch.tensor(X[:1], requires_grad=True)
    >>> encoder(row)[0, 0].backward()
    >>> row.grad.shape
    torch.Size([1, 4])
    """
    from rkhs.torch_module import FittedModule, RefinedEncoder

    write, _, widths = _formula(model, part, "as_module")
    if check_flag(trainable, "trainable") or write is not _encoder or not getattr(model, "_refinement", None):
        return FittedModule(lambda graph, rows: write(graph, model, rows), widths[0], trainable=trainable)
    return RefinedEncoder(model)


_Formula = tuple[Callable[[Any, Any, Any], Any], tuple[str, str], tuple[int, int]]


def _formula(model: KernelEstimator, part: str | None, name: str) -> _Formula:
    """What writes a part of a model, the names of its input and output, and their columns."""
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
    if model.filling_ is not None:
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
        return _predictor, ("X", "y"), (d, len(model.output_.mean))
    p = model.codes_.shape[1]
    return (_encoder, ("X", "codes"), (d, p)) if part == "encoder" else (_decoder, ("codes", "X"), (p, d))


def _scaled(model: KernelEstimator, rows: Any) -> Any:
    if model.column_scales_ is None:
        return rows
    return (rows - np.asarray(model.column_means_)) / np.asarray(model.column_scales_)


def _predictor(graph: Any, model: KernelEstimator, rows: Any) -> Any:
    rows, supports = _scaled(model, rows), np.asarray(model.support_items_, dtype=np.float64)
    C, found = np.asarray(model.dual_coef_), None
    for term in model.kernel_.pairs:
        part = C if term.operator is None else C @ np.asarray(term.operator)
        said = graph.gram(term.kernel, rows, supports) @ part
        found = said if found is None else found + said
    return _in_units(model.output_, found)


def _in_units(output: Euclidean, U: Any) -> Any:
    """Vectors of their coordinates."""
    if output.axes is not None:
        U = U @ np.asarray(output.axes)
    root = 1.0 if output.column_weights is None else np.sqrt(output.column_weights)
    return U * np.asarray(output.factor / root) + np.asarray(output.mean)


def _encoder(graph: Any, model: KernelEstimator, rows: Any) -> Any:
    rows = _scaled(model, rows)
    K = graph.gram(model.kernel_, rows, np.asarray(model.support_items_, dtype=np.float64))
    if not isinstance(model, KernelAutoencoder):
        codes = K @ np.asarray(model.dual_coef_)
        return codes + np.asarray(model.intercept_) if isinstance(model, KernelPCA) else codes
    if model._refinement:
        raise InputError(
            "a formula of codes is that of the plain encoder, and the model refines codes by an iteration: say "
            "model.set_params(refine=False) first, and compare the codes that transform then gives"
        )
    fitted = model.model_
    codes = K @ fitted.encoder.coefficients
    if fitted.linear is not None:
        part = fitted.linear
        read = K if part.center is None else rows - part.center  # features are read from their values
        codes = codes + (read @ (part.directions @ part.coefficients) - part.offset @ part.coefficients)
    for layer in fitted.layers[: fitted.narrowest]:
        codes = _layer(graph, layer, codes)
    shown = codes if fitted.code_map is None else codes @ fitted.code_map
    return shown if fitted.resting is None else shown * np.isnan(fitted.resting)


def _layer(graph: Any, layer: Layer, codes: Any) -> Any:
    said = graph.gram(layer.kernel, codes, layer.anchors) @ layer.coefficients
    return said if layer.linear is None else said + (codes @ layer.linear[:-1] + layer.linear[-1])


def _decoder(graph: Any, model: KernelEstimator, U: Any) -> Any:
    output = getattr(model, "output_", None)
    back = model.model_.back if isinstance(model, KernelPCA) else None
    if not isinstance(output, Euclidean) or (isinstance(model, KernelPCA) and back is None):
        raise InputError(
            f"decoders to vectors are written; this {type(model).__name__} has none. Export the encoder, or fit a "
            "KernelAutoencoder that rebuilds vectors"
        )
    if back is not None:
        U = graph.gram(back.kernel, U, back.anchors) @ back.coefficients
    else:
        U = _decoded(graph, model.model_, U)
    found = _in_units(output, U)
    if model.column_scales_ is None:
        return found
    return found * np.asarray(model.column_scales_) + np.asarray(model.column_means_)


def _decoded(graph: Any, fitted: Any, U: Any) -> Any:
    """What the layers of a fitted autoencoder behind its codes make of these."""
    if fitted.resting is not None:
        live = np.isnan(fitted.resting)
        U = U * live + np.where(live, 0.0, fitted.resting)
    if fitted.code_map is not None:
        U = U @ np.linalg.inv(fitted.code_map)
    for layer in fitted.layers[fitted.narrowest :]:
        U = _layer(graph, layer, U)
    return U
