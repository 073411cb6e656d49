"""How good codes are: on items that were not trained on, and under learners of classes and numbers."""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
