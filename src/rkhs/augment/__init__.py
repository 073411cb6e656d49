"""Named augmentations: random changes that preserve the meaning of an item.

An augmentation is called with an array (n, d) and a NumPy generator. :func:`augmented` draws view number ``step`` as a
pure function of ``(seed, step)``.
"""

from rkhs._core.lazy import names_in_stub

__getattr__, __dir__, __all__ = names_in_stub(__name__, __file__)
