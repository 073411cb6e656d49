"""Random signs of consistent weighted samples: unbiased features of the MinMax and Tanimoto kernels."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs._core.stored import check_whole
from rkhs.spaces.features.base import FeatureMap

_HASHES = 16  # drawn and evaluated together


class MinHashMap(FeatureMap):
    """Features ``F_h(x) = m^{-1/2} s_h(sample_h(x))`` with random signs ``s_h``: ``E F(x)^T F(y) = MinMax(x, y)``.

    Two items draw the same consistent weighted sample with the probability ``MinMax(x, y)``; then their signs agree,
    otherwise they are independent. On rows of 0 and 1 MinMax is the Tanimoto kernel.

    Parameters
    ----------
    m : int
        Number of features.
    columns : int
        Number of input columns.
    seed : int
        Of the hash functions, which are drawn again at every use: the map stores no table.
    binary : bool, default=False
        Refuse entries other than 0 and 1, where the Tanimoto kernel is another one.

    Raises
    ------
    InputError
        For a negative entry, or one that is not 0 or 1 with ``binary``.

    Notes
    -----
    Work: ``m`` times the number of non-zero entries.

    References
    ----------
    Ioffe (2010), algorithm 1; Tripp et al. (2023), section 3.1.
    """

    def __init__(self, m: int, columns: int, seed: int = 0, binary: bool = False) -> None:
        self.m = m
        self.columns = columns
        self.seed = seed
        self.binary = binary

    def check_stored(self) -> None:
        """Whole numbers."""
        for name in ("m", "columns"):
            check_whole(name, getattr(self, name), 1)
        check_whole("seed", self.seed, 0)

    @property
    def reads(self) -> int:
        """As many columns as it was drawn for."""
        return self.columns

    @property
    def width(self) -> int:
        """Number of hash functions."""
        return self.m

    def raw(self, items: Tensor) -> Tensor:
        """Signs over the root of their number."""
        X = items.cpu().numpy()
        rows, columns = np.nonzero(X)
        return self.of_entries(rows, columns, X[rows, columns], len(X)).to(items)

    def of_entries(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, n: int) -> Tensor:
        """The same for n rows of which these are the entries that are not zero, row by row."""
        if self.binary and not bool((values == 1.0).all()):
            raise InputError(
                "random features of Tanimoto need rows of 0 and 1; got other numbers. Use MinMax, or Nystroem"
            )
        if not bool((values > 0.0).all()):
            raise InputError("random features of MinMax need numbers >= 0; got a negative one. Shift the columns")
        logs = np.log(values)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        owners = rows[starts]
        out = np.empty((n, self.m))
        for first in range(0, self.m, _HASHES):
            hashes = np.arange(first, min(first + _HASHES, self.m))
            column, level = self._samples(hashes, columns, logs, starts)
            # An item of zeros has no sample: it shares an imaginary column with its like.
            chosen = np.full((len(hashes), n), self.columns, dtype=np.int64)
            levels = np.zeros((len(hashes), n), dtype=np.int64)
            chosen[:, owners], levels[:, owners] = column, level
            out[:, hashes] = self._signs(hashes[:, None], chosen, levels).T
        return torch.from_numpy(out * self.m**-0.5)

    def _samples(
        self, hashes: np.ndarray, columns: np.ndarray, logs: np.ndarray, starts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sampled column and level of every item that has entries, each of shape (hashes, items)."""
        rng = np.random.Generator(np.random.Philox(key=[self.seed, int(hashes[0])]))
        size = (_HASHES, self.columns)
        r, c, beta = rng.gamma(2.0, size=size), rng.gamma(2.0, size=size), rng.random(size=size)
        r, c, beta = (part[: len(hashes)][:, columns] for part in (r, c, beta))
        level = np.floor(logs / r + beta)
        score = np.log(c) - r * (level - beta + 1.0)
        if not len(starts):
            return np.empty((len(hashes), 0), np.int64), np.empty((len(hashes), 0), np.int64)
        least = np.minimum.reduceat(score, starts, axis=1)
        lengths = np.diff(np.append(starts, len(columns)))
        at_least = score == np.repeat(least, lengths, axis=1)
        position = np.where(at_least, np.arange(len(columns)), len(columns))
        winner = np.minimum.reduceat(position, starts, axis=1)
        return columns[winner], np.take_along_axis(level, winner, axis=1).astype(np.int64)

    def _signs(self, hashes: np.ndarray, columns: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Signs that are a fixed random function of hash, column and level."""
        with np.errstate(over="ignore"):
            state = _mix(hashes.astype(np.uint64) + _mix(np.full((1, 1), self.seed, np.uint64)))
            state = _mix(state ^ columns.astype(np.uint64))
            state = _mix(state + levels.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        return np.where(state >> np.uint64(63), 1.0, -1.0)


def _mix(x: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words whose output bits each depend on all input bits (SplitMix64, Steele et al., 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
