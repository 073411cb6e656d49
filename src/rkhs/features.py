"""Finite features whose inner products are, or approximate, a kernel: landmarks and random features.

Both are scikit-learn transformers, and the ``storage=`` of the estimators. ``FilledTable`` encodes tables with
texts and gaps as numbers. The code is in :mod:`rkhs.spaces.features`.
"""

from rkhs.spaces.features import *  # noqa: F403
from rkhs.spaces.features import __all__ as __all__  # type: ignore[attr-defined]  # its stub lists names
