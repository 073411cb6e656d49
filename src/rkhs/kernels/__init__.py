"""Kernels on vectors and on objects, and their base classes.

``k(X)`` and ``k(X, Y)`` give Gram matrices; ``k1 + k2``, ``k1 * k2`` and ``0.5 * k`` combine them.
"""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
