"""Mass spectra: the probability product kernel of their peaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import Declared, number, real_array
from rkhs._core.errors import InputError
from rkhs.kernels.base import Kernel

# Peaks further apart than this many widths contribute less than exp(-40) of a pair at the same place.
_REACH = 2.0 * 40.0**0.5
_ONE_PEAK = 0.1  # widths; two peaks of density so near are one to a share of 0.0025
_PAIRS = 2**19  # pairs of peaks held at once


class ProbabilityProduct(Kernel):
    """Probability product kernel of spectra whose peaks are Gaussians of one width.

    A spectrum with peaks at ``m_l`` of intensity ``a_l`` is the density ``p(m) = sum_l w_l N(m; m_l, width^2)`` with
    ``w_l`` proportional to ``a_l^power`` and summing to one, and

    ``k(x, y) = 2 sqrt(pi) width int p_x p_y = sum_{l, l'} w_l w'_l' exp(-(m_l - m'_l')^2 / (4 width^2))``,

    an inner product of functions, so positive semi-definite, and between 0 and 1. ``Normalized`` makes its
    cosine, and ``kernel="mass_spectrum"`` is that.

    Neighbouring peaks at most a tenth of ``width`` apart are one peak first, at their mean position weighted by
    intensity, with the sum of their intensities: a peak that is listed in parts is the same peak.

    Parameters
    ----------
    width : float, default=0.005
        Standard deviation of a peak, in the unit of the positions, > 0.
    power : float, default=0.5
        Of the intensities, >= 0; 0 counts peaks alike, 1 trusts intensities.

    Raises
    ------
    InputError
        For parameters out of range, and for spectra that cannot be read. A spectrum is a pair of as many positions as
        intensities. All are finite, no intensity is negative, and one is positive.

    Notes
    -----
    Items are pairs ``(mz, intensity)`` of sequences, sorted or not. Peaks are sorted once and only pairs within
    12.6 widths are summed; what is left out is below ``exp(-40)`` per pair. Cost: one exponential per such pair.

    References
    ----------
    Jebara, Kondor and Howard (2004), section 3.1; Heinonen et al. (2012) for spectra; used in Brouard et al. (2016).

    Examples
    --------
    >>> from rkhs.kernels import ProbabilityProduct
    >>> spectra = [([100.0, 150.0], [1.0, 1.0]), ([100.0, 180.0], [1.0, 1.0])]
    >>> ProbabilityProduct()(spectra)
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """

    def __init__(self, width: float = 0.005, power: float = 0.5) -> None:
        self.width = width
        self.power = power

    _declared: ClassVar[Declared] = {"width": number(above=0.0), "power": number(at_least=0.0)}

    def _gram(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> Tensor:
        left = self._peaks(X)
        right = left if Y is None else self._peaks(Y)
        n, m = len(X), len(X if Y is None else Y)
        K = torch.zeros(n * m, dtype=torch.float64)
        reach = _REACH * self.width
        low = np.searchsorted(right[0], left[0] - reach, side="left")
        counts = np.searchsorted(right[0], left[0] + reach, side="right") - low
        start, total = 0, np.cumsum(counts)
        while start < len(counts):
            done = total[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(total, done + _PAIRS, side="right")))
            number = counts[start:stop]
            rows = np.repeat(np.arange(start, stop), number)
            # The pairs of each peak are a run of neighbours among the sorted peaks of the other side.
            columns = np.arange(len(rows)) + np.repeat(low[start:stop] - (np.cumsum(number) - number), number)
            near = (left[0][rows] - right[0][columns]) / (2.0 * self.width)
            values = left[1][rows] * right[1][columns] * np.exp(-near * near)
            K.index_add_(0, torch.from_numpy(left[2][rows] * m + right[2][columns]), torch.from_numpy(values))
            start = stop
        K = K.view(n, m)
        return (K + K.mT).mul_(0.5) if Y is None else K

    def _diag(self, X: Sequence[Any]) -> Tensor:
        out = np.empty(len(X))
        for i, item in enumerate(X):
            positions, w = self._spectrum(item, i)
            with np.errstate(over="ignore"):  # an overflow is an infinite distance, whose term is zero
                near = (positions[:, None] - positions) / (2.0 * self.width)
                out[i] = w @ np.exp(-near * near) @ w
        return torch.from_numpy(out)

    def _peaks(self, X: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, weights and owners of all peaks, sorted by position."""
        spectra = [self._spectrum(item, i) for i, item in enumerate(X)]
        positions = np.concatenate([positions for positions, _ in spectra])
        order = np.argsort(positions, kind="stable")
        owners = np.repeat(np.arange(len(spectra)), [len(w) for _, w in spectra])
        return positions[order], np.concatenate([w for _, w in spectra])[order], owners[order]

    def _spectrum(self, item: Any, row: int) -> tuple[np.ndarray, np.ndarray]:
        try:
            positions, intensities = (real_array(part, "spectrum") for part in item)
        except (TypeError, ValueError):
            raise InputError(
                f"ProbabilityProduct reads pairs (mz, intensity) of sequences; item {row} is {type(item).__name__}"
            ) from None
        if positions.ndim != 1 or positions.shape != intensities.shape or positions.size == 0:
            raise InputError(
                f"ProbabilityProduct reads pairs (mz, intensity) of one length, not empty; item {row} has shapes "
                f"{positions.shape} and {intensities.shape}"
            )
        if not (np.isfinite(positions).all() and np.isfinite(intensities).all() and (intensities >= 0.0).all()):
            raise InputError(
                f"ProbabilityProduct reads finite positions and intensities >= 0; item {row} has NaN, infinity or a "
                "negative intensity"
            )
        top = intensities.max()
        if top == 0.0:
            raise InputError(f"ProbabilityProduct reads spectra with a peak of intensity > 0; item {row} has none")
        positions, intensities = _merged(positions, intensities / top, _ONE_PEAK * self.width)
        w = intensities**self.power
        return positions, w / w.sum()


def _merged(positions: np.ndarray, intensities: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
    """Peaks with the runs of neighbours at most ``near`` apart as one peak, at their mean, with their sum."""
    order = np.argsort(positions, kind="stable")
    with np.errstate(over="ignore"):  # of positions at both ends of the range of numbers
        distinct = np.diff(positions[order]) > near
    if distinct.all():
        return positions, intensities
    starts = np.flatnonzero(np.concatenate([[True], distinct]))
    sizes = np.diff(np.append(starts, len(order)))
    sums = np.add.reduceat(intensities[order], starts)
    shares = np.where(np.repeat(sums, sizes) > 0.0, intensities[order], 1.0)
    first = np.repeat(positions[order][starts], sizes)  # offsets from it keep the digits of the position
    shift = np.add.reduceat(shares * (positions[order] - first), starts) / np.add.reduceat(shares, starts)
    return positions[order][starts] + shift, sums
