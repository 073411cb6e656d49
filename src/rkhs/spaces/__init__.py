"""Where functions of a kernel live: what a fit asks of its data, the same whatever the storage."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
