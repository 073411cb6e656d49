"""Finite features whose inner products are, or approximate, a kernel: landmarks and random features.

Both are scikit-learn transformers, and the ``storage=`` of the estimators. ``FilledTable`` encodes tables with
texts and gaps as numbers.
"""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
