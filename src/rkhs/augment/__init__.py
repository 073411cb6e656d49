"""Named augmentations: random changes that keep what an item means.

An augmentation is called with an array (n, d) and a NumPy generator. :func:`augmented` draws view number ``step`` as a
pure function of ``(seed, step)``.
"""

from rkhs.augment.base import Augmentation
from rkhs.augment.images import RandomCrop, RandomFlip, RandomShift
from rkhs.augment.registry import Compose, as_augmentation, augmented
from rkhs.augment.vectors import BitDropout, GaussianNoise, TimeWarp

__all__ = [
    "Augmentation",
    "BitDropout",
    "Compose",
    "GaussianNoise",
    "RandomCrop",
    "RandomFlip",
    "RandomShift",
    "TimeWarp",
    "as_augmentation",
    "augmented",
]
