"""Peaks of a mass spectrum that is listed in parts."""

from __future__ import annotations

import numpy as np
import pytest

from rkhs.kernels import Normalized, ProbabilityProduct


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("spread", [0.0, 1e-9, 1e-5])
def test_a_peak_in_parts_is_the_peak(power: float, spread: float) -> None:
    rng = np.random.default_rng(0)
    positions, intensities = np.sort(rng.uniform(50.0, 500.0, 12)), rng.uniform(0.1, 1.0, 12)
    parts = rng.dirichlet(np.ones(3), 12)
    moves = spread * rng.normal(size=(12, 3))
    moves -= (parts * moves).sum(1, keepdims=True)  # their mean stays
    order = rng.permutation(36)
    listed = (positions[:, None] + moves).ravel()[order], (intensities[:, None] * parts).ravel()[order]
    kernel = ProbabilityProduct(0.005, power)
    values = kernel([(positions, intensities), listed])
    np.testing.assert_allclose(values, values[0, 0], rtol=1e-7)
    np.testing.assert_allclose(kernel.diag([listed]), kernel.diag([(positions, intensities)]), rtol=1e-7)
    assert Normalized(kernel)([(positions, intensities)], [listed])[0, 0] == pytest.approx(1.0, abs=1e-7)


def test_peaks_further_apart_than_the_width_count_apart() -> None:
    kernel = ProbabilityProduct(0.01, 0.5)
    apart = [100.0, 100.02], [0.5, 0.5]
    expected = 0.5 + 0.5 * np.exp(-((0.02 / 0.02) ** 2))  # w = 1/2 each: 2 (1/4) + 2 (1/4) exp(-d^2 / (4 width^2))
    assert kernel([apart])[0, 0] == pytest.approx(expected)


def test_silent_peaks_count_with_power_zero_as_they_did() -> None:
    spectrum = [100.0, 100.0, 200.0], [0.0, 0.0, 1.0]
    assert ProbabilityProduct(0.01, 0.0)([spectrum])[0, 0] == pytest.approx(0.5)
