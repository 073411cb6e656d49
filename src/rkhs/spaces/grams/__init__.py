"""How a Gram matrix is stored: in memory, or as tiles that are recomputed."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
