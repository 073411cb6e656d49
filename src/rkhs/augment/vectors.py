"""Noise on rows of numbers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rkhs._core.checks import Declared, check_flag, count, number
from rkhs._core.errors import InputError
from rkhs.augment.base import Augmentation


class GaussianNoise(Augmentation):
    """Independent Gaussian noise on every entry; for series this is known as jitter.

    Parameters
    ----------
    std : float, default=0.1
        Standard deviation, not negative.
    relative : bool, default=True
        Measure ``std`` in units of the root mean variance of the columns of the data.
    copies : int, default=1
        Noisy copies of each row that ``KernelAutoencoder(noise=...)`` encodes. Only that estimator reads it.

    Raises
    ------
    InputError
        At the first call, for parameters out of range.

    References
    ----------
    Esser et al. (2024), introduction and section "De-noising".

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import GaussianNoise
    >>> X = np.zeros((1000, 1))
    >>> noisy = GaussianNoise(0.5, relative=False)(X, np.random.default_rng(0))
    >>> round(float(noisy.std()), 1)
    0.5
    """

    def __init__(self, std: float = 0.1, relative: bool = True, copies: int = 1) -> None:
        self.std = std
        self.relative = relative
        self.copies = copies

    _declared: ClassVar[Declared] = {"std": number(at_least=0.0), "relative": check_flag, "copies": count()}

    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """``X`` plus noise, shape (n, d)."""
        self.check()
        std, kind = float(self.std), X.dtype if isinstance(X, np.ndarray) else np.dtype(object)  # a list has items
        if kind.kind not in "biuf":
            raise InputError(f"GaussianNoise needs numbers, not sparse; got items of dtype {kind}: augment= must fit X")
        if self.relative:
            std *= float(np.sqrt(np.var(X, axis=0).mean()))
        return X + std * rng.standard_normal(X.shape)
