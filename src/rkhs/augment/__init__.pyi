from rkhs.augment.base import (
    Augmentation as Augmentation,
    as_augmentation as as_augmentation,
    augmented as augmented,
)
from rkhs.augment.images import RandomShift as RandomShift
from rkhs.augment.vectors import GaussianNoise as GaussianNoise
