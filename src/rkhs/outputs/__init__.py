"""Output spaces in isometric coordinates: what problems and solvers see of the targets."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
