from rkhs.augment.base import (
    Augmentation as Augmentation,
    Compose as Compose,
    as_augmentation as as_augmentation,
    augmented as augmented,
)
from rkhs.augment.images import RandomCrop as RandomCrop, RandomFlip as RandomFlip, RandomShift as RandomShift
from rkhs.augment.vectors import BitDropout as BitDropout, GaussianNoise as GaussianNoise, TimeWarp as TimeWarp
