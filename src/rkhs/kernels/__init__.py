"""Kernels on vectors and on objects, and what they are made of.

``k(X)`` and ``k(X, Y)`` give Gram matrices; ``k1 + k2``, ``k1 * k2`` and ``0.5 * k`` combine them.
"""

from rkhs.kernels.base import Kernel, VectorKernel
from rkhs.kernels.combine import Product, Scaled, Sum
from rkhs.kernels.dot_product import DotProduct, Linear, Polynomial
from rkhs.kernels.stationary import Gaussian, Laplacian, Matern, Stationary

__all__ = [
    "DotProduct",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "Scaled",
    "Stationary",
    "Sum",
    "VectorKernel",
]
