"""Choosing settings: leave-one-out and generalised cross-validation in closed form, held-out parts, learned kernels."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
