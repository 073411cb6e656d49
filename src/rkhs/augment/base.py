"""What an augmentation is."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from rkhs._core.config import Configurable


class Augmentation(Configurable):
    """A random change of the rows of a matrix.

    References
    ----------
    Chen et al. (2020), section 3, on the choice of augmentations.
    """

    copies: int = 1
    """Changed copies of each row that an autoencoder encodes; see :class:`GaussianNoise`."""

    def check(self) -> None:
        """Refuse parameters out of range, where that needs no data."""

    @abstractmethod
    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return changed copies of the rows."""
