"""Augmentations of tables, time series and fingerprints."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rkhs._core.checks import Declared, check_count, check_flag, check_number, count, number
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


class TimeWarp(Augmentation):
    """Smooth random change of the speed of a time series, by linear interpolation.

    The new time is ``t + strength * sum of two sine waves with random phases`` on [0, 1], with both ends fixed and the
    order of times kept.

    Parameters
    ----------
    strength : float, default=0.1
        Largest shift as a share of the length, from 0 to 0.15 (beyond it, time could run backwards).
    n_channels : int, default=1
        The columns are ``n_channels`` series of equal length, one after the other, warped alike.

    Raises
    ------
    InputError
        At the first call, for parameters out of range or columns that do not divide by ``n_channels``.

    References
    ----------
    Um et al. (2017), "Data augmentation of wearable sensor data", section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import TimeWarp
    >>> X = np.linspace(0.0, 1.0, 50)[None, :]
    >>> warped = TimeWarp(0.1)(X, np.random.default_rng(0))
    >>> bool((np.diff(warped) >= 0).all()), float(warped[0, 0]), float(warped[0, -1])
    (True, 0.0, 1.0)
    """

    def __init__(self, strength: float = 0.1, n_channels: int = 1) -> None:
        self.strength = strength
        self.n_channels = n_channels

    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Warped series, shape (n, d)."""
        strength = check_number(self.strength, "TimeWarp.strength", at_least=0.0, at_most=0.15)
        channels = check_count(self.n_channels, "TimeWarp.n_channels")
        n, d = X.shape
        if d % channels or d // channels < 2:
            raise InputError(
                f"TimeWarp.n_channels must divide the {d} columns in series of at least 2 times; got {channels}"
            )
        t = np.linspace(0.0, 1.0, d // channels)
        a = rng.uniform(-1.0, 1.0, size=(n, 2, 1))
        # Half waves vanish at both ends; the slope of the shift stays above -0.15 pi (1 + 2) / 2 > -1.
        shift = 0.5 * strength * (a[:, 0] * np.sin(np.pi * t) + a[:, 1] * np.sin(2.0 * np.pi * t))
        times = np.clip(t + shift, 0.0, 1.0)
        times[:, 0], times[:, -1] = 0.0, 1.0
        series = X.reshape(n, channels, -1)
        warped = [[np.interp(times[i], t, series[i, c]) for c in range(channels)] for i in range(n)]
        return np.array(warped).reshape(n, d)


class BitDropout(Augmentation):
    """Set each entry that is not zero to zero with a given probability: fingerprints, word counts.

    Parameters
    ----------
    rate : float, default=0.1
        Probability, at least 0 and under 1.

    Raises
    ------
    InputError
        At the first call, for a rate out of range.

    References
    ----------
    Vincent et al. (2010), section 3.3 (masking noise).

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.augment import BitDropout
    >>> bits = np.ones((1, 1000))
    >>> bool(850 < BitDropout(0.1)(bits, np.random.default_rng(0)).sum() < 950)
    True
    """

    def __init__(self, rate: float = 0.1) -> None:
        self.rate = rate

    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Thinned rows, shape (n, d)."""
        rate = check_number(self.rate, "BitDropout.rate", at_least=0.0)
        if rate >= 1.0:
            raise InputError(f"BitDropout.rate must be >= 0 and < 1; got {self.rate!r}")
        return np.where(rng.random(X.shape) < rate, np.zeros_like(X), X)
