"""Figures of fitted models (needs matplotlib, extra `plots`).

Displays keep the numbers of a picture and draw them by ``plot()``, as scikit-learn's do.
"""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
