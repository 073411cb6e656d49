"""Time series of one or several channels: reading, and the shift-invariant kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import Declared, choice, number
from rkhs._core.errors import InputError, warn
from rkhs.kernels.objects.parts import ObjectKernel

_SHIFTS = 4_000_000  # entries of the cross-correlations of a batch of pairs


def read_series(item: Any, row: int, reader: str) -> np.ndarray:
    """Return one series as a float64 array of shape (length, channels)."""
    try:
        array = np.asarray(item.detach().cpu() if isinstance(item, Tensor) else item)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        values = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{reader} reads series of numbers; item {row} is not one ({error})") from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.size == 0:
        raise InputError(
            f"{reader} reads series of shape (length, channels) or (length,), not empty; item {row} has shape "
            f"{array.shape}"
        )
    if not np.isfinite(values).all():
        when = int((~np.isfinite(values)).any(1).argmax())
        raise InputError(
            f"{reader} reads finite numbers; item {row} has NaN or infinity at time {when}. Fill gaps, and cut the "
            "padding of shorter series off: lengths may differ"
        )
    return np.ascontiguousarray(values)


class SeriesKernel(ObjectKernel):
    """Base class of kernels on series: reads them and checks that all have the same number of channels."""

    gamma: Any

    def _read_item(self, item: Any, row: int) -> np.ndarray:
        series = read_series(item, row, self._name)
        if row == 0 and len(series) <= series.shape[1] > 1:
            warn(
                f"{self._name} reads series of shape (length, channels): the first has {len(series)} times of "
                f"{series.shape[1]} channels. "
                "If its last axis is time, as for aeon and sktime, pass X.transpose(0, 2, 1)"
            )
        return series

    def _checked(self, series: list[np.ndarray]) -> list[np.ndarray]:
        channels = series[0].shape[1]
        for row, one in enumerate(series):
            if one.shape[1] != channels:
                raise InputError(
                    f"{self._name} reads series that all have the same number of channels; item 0 has {channels}, "
                    f"item {row} has {one.shape[1]}. Series are arrays of shape (length, channels)"
                )
        return series

    def _features(self, items: list[np.ndarray]) -> Any:
        return self._checked(items)


class ShiftInvariant(SeriesKernel):
    """Shift-invariant kernel of series: the sum over all shifts of a Gaussian of the normalised series.

    ``k(x, y) = sum_s exp(gamma (c_s(x, y) - 1))`` with ``c_s(x, y) = <x, y shifted by s> / (||x|| ||y||)``, over all
    shifts with zeros around the series, divided by ``sqrt(k(x, x) k(y, y))``. It sums over the group of shifts a kernel
    that does not change if both series are shifted, so it is positive semi-definite.

    Parameters
    ----------
    gamma : float, default=5.0
        > 0; the larger, the more the best shift decides.
    center : {"mean", "none"}, default="mean"
        Subtract from every channel of a series its mean first, since series are padded with zeros.

    Notes
    -----
    Items are arrays of shape (length,) or (length, channels), of one length. O(length log length) per pair by fast
    Fourier transforms.

    References
    ----------
    Haasdonk and Burkhardt (2007), invariant kernels; Paparrizos and Franklin (2019), section 4, for series.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.kernels import ShiftInvariant
    >>> bump = np.array([0.0, 1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> bool(ShiftInvariant(center="none")([bump, np.roll(bump, 3)])[0, 1] > 0.999)
    True
    """

    def __init__(self, gamma: float = 5.0, center: str = "mean") -> None:
        self.gamma = gamma
        self.center = center

    _declared: ClassVar[Declared] = {"gamma": number(above=0.0), "center": choice(choices=("mean", "none"))}

    def _features(self, items: list[np.ndarray]) -> tuple[Tensor, Tensor, int]:
        """Fourier transforms of the unit-norm series, the sums over shifts of each with itself, and their length."""
        self._checked(items)
        length = len(items[0])
        for row, one in enumerate(items):
            if len(one) != length:
                raise InputError(
                    f"ShiftInvariant reads series of one length; item 0 has {length}, item {row} has {len(one)}. "
                    "GlobalAlignment takes different lengths"
                )
        X = torch.from_numpy(np.stack(items))
        size = X.abs().amax((1, 2), keepdim=True)
        if self.center == "mean":
            X = X - X.mean(1, keepdim=True)
        norms = torch.linalg.vector_norm(X, dim=(1, 2))
        flat = norms <= 1e-13 * size[:, 0, 0] * length**0.5
        if bool(flat.any()):
            raise InputError(
                f"ShiftInvariant reads series that vary; item {int(flat.nonzero()[0])} is constant. Leave it out"
            )
        T = torch.fft.rfft(X / norms[:, None, None], n=2 * length, dim=1)
        return T, torch.cat([self._sums(T[i : i + 1], T[i : i + 1], length)[0] for i in range(len(T))]), length

    def _memory(self, X: list[np.ndarray]) -> float:
        length, channels = X[0].shape
        return 48.0 * (min(len(X) ** 2 * 2 * length * channels, _SHIFTS) + len(X) * length * channels)

    def _sums(self, T: Tensor, R: Tensor, length: int) -> Tensor:
        """Sum over shifts for all pairs, shape (n, m)."""
        K = torch.empty(len(T), len(R), dtype=torch.float64)
        step = max(1, _SHIFTS // max(1, len(R) * 2 * length * T.shape[2]))
        for start in range(0, len(T), step):
            products = (T[start : start + step, None] * R[None].conj()).sum(-1)
            shifts = torch.fft.irfft(products, n=2 * length, dim=2)
            K[start : start + step] = torch.exp(shifts.sub_(1.0).mul_(float(self.gamma))).sum(2)
        return K

    def _from_features(self, F: tuple[Tensor, Tensor, int], G: tuple[Tensor, Tensor, int]) -> Tensor:
        if F[2] != G[2] or F[0].shape[2] != G[0].shape[2]:
            raise InputError(
                f"ShiftInvariant reads series of one length and one number of channels; got lengths {F[2]} and {G[2]}, "
                f"channels {F[0].shape[2]} and {G[0].shape[2]}"
            )
        K = self._sums(F[0], G[0], F[2]) / (F[1].sqrt()[:, None] * G[1].sqrt())
        if F is G:
            K = ((K + K.mT) / 2.0).fill_diagonal_(1.0)
        return K

    def _diag(self, X: list[np.ndarray]) -> Tensor:
        return torch.ones(len(X), dtype=torch.float64)
