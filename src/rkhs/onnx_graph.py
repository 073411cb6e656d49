"""Kernel expansions as ONNX graphs: the Gram matrix of new rows with stored ones, node by node."""

from __future__ import annotations

from functools import partialmethod, reduce
from operator import add, mul
from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel
from rkhs.kernels.combined.sums_and_products import Product, Scaled, Sum
from rkhs.kernels.vectors.discrete import Tanimoto
from rkhs.kernels.vectors.dot_product import Linear, Polynomial
from rkhs.kernels.vectors.laplacian import Laplacian
from rkhs.kernels.vectors.radial import Gaussian, Matern


class Value:
    """The result of a node of an ONNX graph; arithmetic with it makes further nodes."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def then(self, operation: str, *others: Any, **attributes: Any) -> Any:
        """The result of an operation on this value and others."""
        return self.graph.node(operation, self, *others, **attributes)

    __add__ = partialmethod(then, "Add")
    __sub__ = partialmethod(then, "Sub")
    __mul__ = partialmethod(then, "Mul")
    __truediv__ = partialmethod(then, "Div")
    __matmul__ = partialmethod(then, "MatMul")


class Graph:
    """Nodes and constants of an ONNX graph in the making."""

    def __init__(self, helper: Any, numbers: Any, dtype: Any) -> None:
        self.helper, self.numbers, self.dtype = helper, numbers, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = None) -> Value:
        """An array as a constant."""
        array = np.ascontiguousarray(value, dtype=self.dtype if dtype is None else dtype).reshape(np.shape(value))
        name = f"c{len(self.constants)}"
        self.constants.append(self.numbers.from_array(array, name))
        return Value(self, name)

    def node(self, operation: str, *inputs: Any, **attributes: Any) -> Any:
        """The result of a node; inputs that are numbers or arrays become constants."""
        names = [(x if isinstance(x, Value) else self.constant(x)).name for x in inputs]
        result = f"r{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operation, names, [result], **attributes))
        return Value(self, result)

    def row_sums(self, x: Any) -> Any:
        """Sum of each row, shape (m, 1)."""
        return x.then("ReduceSum", self.constant([1], np.int64), keepdims=1)

    def squared_distances(self, x: Any, supports: np.ndarray) -> Any:
        """Squared distances of the rows of ``x`` to the supports, on centred data as in the library."""
        center = supports.mean(axis=0)
        A, B = x - center, supports - center
        D = self.row_sums(A * A) + (B * B).sum(axis=1)[None, :] - A @ (2.0 * B.T)
        return D.then("Max", 0.0)

    def gram(self, kernel: Kernel, x: Any, supports: np.ndarray) -> Any:
        """``k(x_i, s_j)`` with the supports, shape (m, n)."""
        for kind, write in _WRITERS:
            if isinstance(kernel, kind) and getattr(kernel, "norm", "l2") == "l2":
                return write(self, kernel, x, supports)
        raise InputError(
            "ONNX export knows Gaussian, Laplacian('l2'), Matern, Linear, Polynomial and Tanimoto kernels, their sums, "
            f"products and multiples; got {getattr(kernel, 'base', kernel)!r}; fit again with kernel='gaussian', or "
            "use rkhs.as_module, which takes every kernel on vectors"
        )


def _of_parts(graph: Graph, kernel: Any, x: Any, supports: np.ndarray) -> Any:
    return reduce(add if isinstance(kernel, Sum) else mul, [graph.gram(part, x, supports) for part in kernel.parts])


def _linear(graph: Graph, kernel: Any, x: Any, supports: np.ndarray) -> Any:
    offset = np.zeros(supports.shape[1]) if kernel.offset is None else np.asarray(kernel.offset)
    return (x - offset) @ (float(kernel.scale) * (supports - offset).T)


def _polynomial(graph: Graph, kernel: Any, x: Any, supports: np.ndarray) -> Any:
    """A power by products: exact for negative bases."""
    base = x @ (float(kernel.scale) * supports.T) + kernel.offset
    return reduce(mul, [base] * kernel.degree)


def _matern(graph: Graph, kernel: Any, x: Any, supports: np.ndarray) -> Any:
    """Matern kernels; the L2 Laplacian is that of smoothness 1/2."""
    nu = 0.5 if isinstance(kernel, Laplacian) else kernel.nu
    a = graph.squared_distances(x, supports).then("Sqrt") * ((2.0 * nu) ** 0.5 * float(kernel.gamma))
    decay = a.then("Neg").then("Exp")
    if nu == 0.5:
        return decay
    factor = a + 1.0
    return (factor + a * a * (1.0 / 3.0) if nu == 2.5 else factor) * decay


def _tanimoto(graph: Graph, kernel: Any, x: Any, supports: np.ndarray) -> Any:
    """``x.y / (|x|^2 + |y|^2 - x.y)``, one where both vectors are zero."""
    P = x @ supports.T
    below = graph.row_sums(x * x) + (supports**2).sum(axis=1)[None, :] - P
    empty = below.then("Equal", 0.0)
    return empty.then("Where", 1.0, P / empty.then("Where", 1.0, below))


_WRITERS: tuple[tuple[Any, Any], ...] = (
    ((Sum, Product), _of_parts),
    (Scaled, lambda graph, kernel, x, Y: graph.gram(kernel.base, x, Y) * kernel.scale),
    (Linear, _linear),
    (Polynomial, _polynomial),
    (Tanimoto, _tanimoto),
    (Gaussian, lambda graph, kernel, x, Y: (graph.squared_distances(x, Y) * -float(kernel.gamma)).then("Exp")),
    ((Matern, Laplacian), _matern),
)
