"""Convex losses of vector residuals, with conjugates and proximal maps."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
