"""Representations with kernels in Hilbert spaces.

Public names are imported on first use, so ``import rkhs`` costs nothing and the command line starts without torch.
"""

from rkhs._core.lazy import names_in_stub

__version__ = "0.1.0"

__getattr__, __dir__, _names = names_in_stub(__name__, __file__)
__all__ = ["__version__", *_names]
