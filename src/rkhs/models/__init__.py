"""Fitted things as values: frozen objects of arrays that encode, decode, rank and measure, and know no scikit-learn."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
