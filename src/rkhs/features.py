"""Finite features whose inner products are, or approximate, a kernel: landmarks and random features.

Both are scikit-learn transformers, and the ``storage=`` of the estimators. ``FilledTable`` makes numbers of tables with
texts and gaps. The code stands in :mod:`rkhs.spaces.features`, with what else a function of a kernel lives in.
"""

from rkhs.spaces.features import *  # noqa: F403
from rkhs.spaces.features import __all__ as __all__  # type: ignore[attr-defined]  # its stub lists names
