"""The probability product kernel against its definition: two loops over peaks, and the integral itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rkhs.kernels.objects.spectra as spectra_module
from rkhs._core.errors import InputError
from rkhs.kernels import Normalized, ProbabilityProduct, kernel_from_name

Spectrum = tuple[np.ndarray, np.ndarray]


def draw(n: int, seed: int) -> list[Spectrum]:
    rng = np.random.default_rng(seed)
    return [(rng.uniform(60.0, 62.0, p), rng.uniform(0.01, 5.0, p)) for p in rng.integers(1, 12, size=n)]


def merged(spectrum: Spectrum, near: float) -> Spectrum:
    """Peak after peak joins the one below it if it is near."""
    runs: list[list[tuple[float, float]]] = []
    for m, a in sorted(zip(*spectrum, strict=True)):
        if runs and m - runs[-1][-1][0] <= near:
            runs[-1].append((m, a))
        else:
            runs.append([(m, a)])
    sums = [sum(a for _, a in run) for run in runs]
    means = [sum(m * a for m, a in run) / total for run, total in zip(runs, sums, strict=True)]
    return np.array(means), np.array(sums)


def twin(x: Spectrum, y: Spectrum, width: float, power: float) -> float:
    x, y = merged(x, 0.1 * width), merged(y, 0.1 * width)
    a, b = x[1] ** power, y[1] ** power
    total = 0.0
    for m, v in zip(x[0], a / a.sum(), strict=True):
        for other, w in zip(y[0], b / b.sum(), strict=True):
            total += v * w * math.exp(-((m - other) ** 2) / (4.0 * width**2))
    return total


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("width", "power"), [(0.005, 0.5), (0.3, 1.0), (0.05, 0.0)])
def test_equals_two_loops(width: float, power: float, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectra_module, "_PAIRS", 50)  # many blocks
    X, Y = draw(12, seed), draw(9, seed + 10)
    k = ProbabilityProduct(width, power)
    np.testing.assert_allclose(k(X, Y), [[twin(x, y, width, power) for y in Y] for x in X], rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(k(X), [[twin(x, y, width, power) for y in X] for x in X], rtol=1e-10, atol=1e-15)


def test_is_the_integral_of_the_product_of_densities() -> None:
    width = 0.1
    x, y = draw(2, 3)
    m = np.linspace(58.0, 64.0, 60_001)

    def density(spectrum: Spectrum) -> Any:
        w = spectrum[1] ** 0.5
        bells = np.exp(-((m[:, None] - spectrum[0]) ** 2) / (2 * width**2)) / (width * math.sqrt(2 * math.pi))
        return bells @ (w / w.sum())

    integral = 2 * math.sqrt(math.pi) * width * np.trapezoid(density(x) * density(y), m)
    assert ProbabilityProduct(width)([x], [y])[0, 0] == pytest.approx(integral, rel=1e-9)


def test_scale_of_intensities_and_order_of_peaks_do_not_matter() -> None:
    X = draw(5, 4)
    other = [(m[::-1].tolist(), (7.0 * a[::-1]).tolist()) for m, a in X]
    k = Normalized(ProbabilityProduct(0.02))
    np.testing.assert_allclose(k(X, other), k(X), rtol=1e-12)
    np.testing.assert_allclose(np.diag(k(X)), 1.0)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (([100.0], [1.0, 2.0]), "of one length"),
        (([], []), "not empty"),
        (([100.0], [-1.0]), "intensities >= 0"),
        (([np.nan], [1.0]), "finite positions"),
        (([100.0], [0.0]), "intensity > 0"),
        ("CCO", "item 1 is str"),
    ],
)
def test_bad_spectra_are_named(item: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ProbabilityProduct()([([100.0], [1.0]), item])


@pytest.mark.parametrize("bad", [{"width": 0.0}, {"power": -1.0}])
def test_bad_parameters(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"ProbabilityProduct.{next(iter(bad))}"):
        ProbabilityProduct(**bad)(draw(2, 0))


def test_peaks_any_number_of_widths_apart_share_nothing() -> None:
    spectrum = (np.array([50.0, 60.0]), np.array([1.0, 1.0]))
    kernel = ProbabilityProduct(width=1e-300, power=1.0)
    assert kernel.diag([spectrum]).tolist() == [0.5]
    assert kernel([spectrum]).tolist() == [[0.5]]


def test_the_name_of_the_kernel_is_the_normalised_one() -> None:
    X = draw(4, 2)
    np.testing.assert_array_equal(kernel_from_name("mass_spectrum")(X), Normalized(ProbabilityProduct())(X))
