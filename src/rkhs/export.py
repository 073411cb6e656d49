"""Fitted encoders and decoders to ONNX files, for programs without Python or torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError, missing_extra
from rkhs._core.files import atomic_path
from rkhs.estimators import KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs.models import Layer
from rkhs.onnx_graph import Graph, Value
from rkhs.outputs import Euclidean

if TYPE_CHECKING:
    from rkhs.estimators.base import KernelEstimator

__all__ = ["to_onnx"]

_OPSET = 17


def to_onnx(
    model: KernelEstimator, path: str | os.PathLike[str], *, part: str = "encoder", dtype: str = "float64"
) -> dict[str, tuple[int, ...]]:
    """Write the encoder or the decoder of a fitted model to an ONNX file.

    The encoder maps ``X`` (m, d) to ``codes`` (m, p) as ``transform`` does, the decoder ``codes`` to ``X`` as
    ``inverse_transform`` does. The graph holds the training items, or the landmarks of ``storage=Nystroem(m)``, and
    computes their kernel values with new rows.

    Parameters
    ----------
    model : KernelAutoencoder, KernelPCA or KernelContrastive
        Fitted on vectors, with Gaussian, Laplacian (L2), Matern, linear, polynomial or Tanimoto kernels, or sums,
        products and multiples of such. An autoencoder that refines codes does so by an iteration, which has no graph:
        say ``model.set_params(refine=False)`` to export the plain encoder.
    path : str or path
        By convention it ends in ``.onnx``.
    part : {"encoder", "decoder"}, default="encoder"
        ``"decoder"``: for models that rebuild vectors.
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
    check_choice(part, "part", ("encoder", "decoder"))
    check_choice(dtype, "dtype", ("float64", "float32"))
    if not isinstance(model, (KernelAutoencoder, KernelContrastive, KernelPCA)):
        raise InputError(
            f"to_onnx writes KernelAutoencoder, KernelPCA and KernelContrastive; got a {type(model).__name__}"
        )
    check_is_fitted(model)
    if model.kernel_.domain != "vectors":
        raise InputError(
            f"to_onnx writes models of vectors; got one that reads {model.kernel_.domain}. Compute kernel values "
            "outside and multiply them by the stored coefficients"
        )
    if model.filling_ is not None:
        raise InputError(
            "to_onnx writes models of rows of numbers; got columns='filled'. Use features.FilledTable before"
        )
    if model.map_.kept is None:
        raise InputError(
            f"to_onnx writes models of kernel values with training items or landmarks; got storage={model.storage!r}. "
            "Use 'dense' or Nystroem(m)"
        )
    onnx = import_onnx()
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    graph = Graph(helper, numpy_helper, np.dtype(dtype))
    names, widths = ("X", "codes"), (np.asarray(model.support_items_).shape[1], model.codes_.shape[1])
    result = _encoder(graph, model) if part == "encoder" else _decoder(graph, model)
    if part == "decoder":
        names, widths = names[::-1], widths[::-1]
    graph.nodes.append(helper.make_node("Identity", [result.name], [names[1]]))
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    values = [helper.make_tensor_value_info(n, kind, ["rows", w]) for n, w in zip(names, widths, strict=True)]
    body = helper.make_graph(graph.nodes, f"{type(model).__name__} {part}", values[:1], values[1:], graph.constants)
    made = helper.make_model(body, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8, producer_name="rkhs")
    onnx.checker.check_model(made)
    with atomic_path(path) as temporary:
        onnx.save_model(made, os.fspath(temporary))
    return {name: (width,) for name, width in zip(names, widths, strict=True)}


def import_onnx() -> Any:
    """Return the module onnx."""
    try:
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise missing_extra("onnx", "onnx") from None
    return onnx


def _encoder(graph: Graph, model: KernelEstimator) -> Any:
    rows: Any = Value(graph, "X")
    if model.column_scales_ is not None:
        rows = (rows - np.asarray(model.column_means_)) / np.asarray(model.column_scales_)
    K = graph.gram(model.kernel_, rows, np.asarray(model.support_items_, dtype=np.float64))
    if not isinstance(model, KernelAutoencoder):
        codes = K @ np.asarray(model.dual_coef_)
        return codes + np.asarray(model.intercept_) if isinstance(model, KernelPCA) else codes
    if model._refines:
        raise InputError(
            "to_onnx writes the plain encoder, and this model refines codes by an iteration: say "
            "model.set_params(refine=False) first, and compare the codes that transform then gives"
        )
    if model._onto is not None:
        raise InputError(f"to_onnx writes the plain encoder; got {model.constraint!r}: use renormalize=False")
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


def _layer(graph: Graph, layer: Layer, codes: Any) -> Any:
    said = graph.gram(layer.kernel, codes, layer.anchors) @ layer.coefficients
    return said if layer.linear is None else said + (codes @ layer.linear[:-1] + layer.linear[-1])


def _decoder(graph: Graph, model: KernelEstimator) -> Any:
    output = getattr(model, "output_", None)
    back = model.model_.back if isinstance(model, KernelPCA) else None
    if not isinstance(output, Euclidean) or (isinstance(model, KernelPCA) and back is None):
        raise InputError(
            f"to_onnx writes decoders to vectors; this {type(model).__name__} has none. Export the encoder, or fit a "
            "KernelAutoencoder that rebuilds vectors"
        )
    U: Any = Value(graph, "codes")
    if back is not None:
        U = graph.gram(back.kernel, U, back.anchors) @ back.coefficients
    else:
        U = _decoded(graph, model.model_, U)
    if output.axes is not None:
        U = U @ np.asarray(output.axes)
    root = 1.0 if output.column_weights is None else np.sqrt(output.column_weights)
    found = U * np.asarray(output.factor / root) + np.asarray(output.mean)
    if model.column_scales_ is None:
        return found
    return found * np.asarray(model.column_scales_) + np.asarray(model.column_means_)


def _decoded(graph: Graph, fitted: Any, U: Any) -> Any:
    """What the layers of a fitted autoencoder behind its codes make of these."""
    if fitted.resting is not None:
        live = np.isnan(fitted.resting)
        U = U * live + np.where(live, 0.0, fitted.resting)
    if fitted.code_map is not None:
        U = U @ np.linalg.inv(fitted.code_map)
    for layer in fitted.layers[fitted.narrowest :]:
        U = _layer(graph, layer, U)
    return U
