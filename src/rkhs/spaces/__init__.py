"""Spaces of functions on the training items: one interface to a fit for every storage."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
