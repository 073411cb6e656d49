"""Kernel expansions as ONNX graphs: the Gram matrix of new rows with stored ones, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel
from rkhs.kernels.combined.sums_and_products import Product, Scaled, Sum
from rkhs.kernels.vectors.discrete import Tanimoto
from rkhs.kernels.vectors.dot_product import Linear, Polynomial
from rkhs.kernels.vectors.laplacian import Laplacian
from rkhs.kernels.vectors.radial import Gaussian, Matern

__all__ = ["Graph"]


class Graph:
    """Nodes and constants of an ONNX graph in the making; every method returns the name of a result."""

    def __init__(self, helper: Any, numbers: Any, dtype: Any) -> None:
        self.helper, self.numbers, self.dtype = helper, numbers, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = None) -> str:
        """An array as a constant."""
        array = np.ascontiguousarray(value, dtype=self.dtype if dtype is None else dtype).reshape(np.shape(value))
        name = f"c{len(self.constants)}"
        self.constants.append(self.numbers.from_array(array, name))
        return name

    def node(self, operation: str, *inputs: Any, **attributes: Any) -> str:
        """A node; inputs that are not names become constants."""
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        result = f"r{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operation, names, [result], **attributes))
        return result

    def row_sums(self, x: str) -> str:
        """Sum of each row, shape (m, 1)."""
        return self.node("ReduceSum", x, self.constant([1], np.int64), keepdims=1)

    def squared_distances(self, x: str, supports: np.ndarray) -> str:
        """Squared distances of the rows of ``x`` to the supports, on centred data as in the library."""
        center = supports.mean(axis=0)
        B = supports - center
        a = self.node("Sub", x, center)
        norms = self.node("Add", self.row_sums(self.node("Mul", a, a)), (B * B).sum(axis=1)[None, :])
        cross = self.node("MatMul", a, 2.0 * B.T)
        return self.node("Max", self.node("Sub", norms, cross), np.array(0.0))

    def gram(self, kernel: Kernel, x: str, supports: np.ndarray) -> str:
        """``k(x_i, s_j)`` with the supports, shape (m, n)."""
        if isinstance(kernel, (Sum, Product)):
            parts = [self.gram(part, x, supports) for part in kernel.parts]
            total = parts[0]
            for part in parts[1:]:
                total = self.node("Add" if isinstance(kernel, Sum) else "Mul", total, part)
            return total
        if isinstance(kernel, Scaled):
            return self.node("Mul", self.gram(kernel.base, x, supports), np.array(kernel.scale))
        if isinstance(kernel, Linear):
            offset = np.zeros(supports.shape[1]) if kernel.offset is None else np.asarray(kernel.offset)
            return self.node("MatMul", self.node("Sub", x, offset), float(kernel.scale) * (supports - offset).T)
        if isinstance(kernel, Polynomial):
            base = self.node("MatMul", x, float(kernel.scale) * supports.T)
            return self.power(self.node("Add", base, np.array(kernel.offset)), kernel.degree)
        if isinstance(kernel, Tanimoto):
            return self.tanimoto(x, supports)
        if isinstance(kernel, Gaussian):
            return self.node(
                "Exp", self.node("Mul", self.squared_distances(x, supports), np.array(-float(kernel.gamma)))
            )
        if isinstance(kernel, Matern) or (isinstance(kernel, Laplacian) and kernel.norm == "l2"):
            return self.matern(kernel, x, supports)
        raise InputError(
            "ONNX export knows Gaussian, Laplacian('l2'), Matern, Linear, Polynomial and Tanimoto kernels, their sums, "
            f"products and multiples; got {kernel!r}"
        )

    def power(self, x: str, degree: int) -> str:
        """``x^degree`` by products: exact for negative bases."""
        result = x
        for _ in range(degree - 1):
            result = self.node("Mul", result, x)
        return result

    def matern(self, kernel: Any, x: str, supports: np.ndarray) -> str:
        """Matern kernels; the L2 Laplacian is that of smoothness 1/2."""
        nu = 0.5 if isinstance(kernel, Laplacian) else kernel.nu
        rate = (2.0 * nu) ** 0.5 * float(kernel.gamma)
        a = self.node("Mul", self.node("Sqrt", self.squared_distances(x, supports)), np.array(rate))
        decay = self.node("Exp", self.node("Neg", a))
        if nu == 0.5:
            return decay
        factor = self.node("Add", a, np.array(1.0))
        if nu == 2.5:
            factor = self.node("Add", factor, self.node("Mul", self.node("Mul", a, a), np.array(1.0 / 3.0)))
        return self.node("Mul", factor, decay)

    def tanimoto(self, x: str, supports: np.ndarray) -> str:
        """``x.y / (|x|^2 + |y|^2 - x.y)``, one where both vectors are zero."""
        P = self.node("MatMul", x, supports.T)
        norms = self.node("Add", self.row_sums(self.node("Mul", x, x)), (supports**2).sum(axis=1)[None, :])
        below = self.node("Sub", norms, P)
        empty = self.node("Equal", below, np.array(0.0))
        one = np.array(1.0)
        return self.node("Where", empty, one, self.node("Div", P, self.node("Where", empty, one, below)))
