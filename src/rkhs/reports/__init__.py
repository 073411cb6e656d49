"""One self-contained page about a model and its items: the map, the errors, and what to know before codes are used."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
