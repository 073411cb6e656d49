"""Kernels of time series against tslearn and against loops."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import rkhs
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from rkhs.kernels import DynamicTimeWarping, GlobalAlignment, ShiftInvariant
from rkhs.kernels.objects import warping as warping_module


def some(n: int, seed: int = 0, channels: int = 2, length: int | None = None) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(length or int(rng.integers(2, 12)), channels)) for _ in range(n)]


def alignment(x: np.ndarray, y: np.ndarray, gamma: float, window: int | None) -> float:
    table = np.zeros((len(x) + 1, len(y) + 1))
    table[0, 0] = 1.0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if window is None or abs(i - j) <= window:
                e = math.exp(-gamma * float(((x[i - 1] - y[j - 1]) ** 2).sum()))
                table[i, j] = e / (2.0 - e) * (table[i - 1, j] + table[i, j - 1] + table[i - 1, j - 1])
    return table[-1, -1]


def warping(x: np.ndarray, y: np.ndarray, window: int | None) -> float:
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            if window is None or abs(i - j) <= window:
                best = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
                table[i, j] = float(((x[i - 1] - y[j - 1]) ** 2).sum()) + best
    return table[-1, -1]


@pytest.mark.parametrize("batch", [30, 200_000])
@pytest.mark.parametrize("window", [None, 10])
@pytest.mark.parametrize("channels", [1, 3])
def test_tables_are_those_of_loops(
    monkeypatch: pytest.MonkeyPatch, batch: int, window: int | None, channels: int
) -> None:
    monkeypatch.setattr(warping_module, "_NUMBERS", batch)
    X, Y = some(7, 0, channels), some(4, 1, channels)
    raw = np.array([[alignment(x, y, 0.4, window) for y in Y] for x in X])
    rows, columns = ([alignment(x, x, 0.4, window) for x in Z] for Z in (X, Y))
    np.testing.assert_allclose(GlobalAlignment(0.4, window)(X, Y), raw / np.sqrt(np.outer(rows, columns)), rtol=1e-12)
    D = np.array([[warping(x, y, window) for y in Y] for x in X])
    np.testing.assert_allclose(DynamicTimeWarping(0.2, window)(X, Y), np.exp(-0.2 * D), rtol=1e-12)


@pytest.mark.parametrize("window", [0, 1, 2])
def test_narrow_windows(window: int) -> None:
    X = some(5, length=6)
    D = np.array([[warping(x, y, window) for y in X] for x in X])
    np.testing.assert_allclose(DynamicTimeWarping(0.2, window)(X), np.exp(-0.2 * D), rtol=1e-12)
    uneven = [np.zeros(3), np.zeros(6)]
    for kernel in (DynamicTimeWarping(1.0, 2), GlobalAlignment(1.0, 2)):
        with pytest.raises(InputError, match=r"\.window must"):
            kernel(uneven)


@pytest.mark.slow
def test_tslearn_gives_the_same() -> None:
    metrics = pytest.importorskip("tslearn.metrics", reason="the other implementation is tslearn (extra `timeseries`)")
    X = some(6)
    gamma = 0.3
    expected = np.array([[metrics.gak(a, b, sigma=(0.5 / gamma) ** 0.5) for b in X] for a in X])
    np.testing.assert_allclose(GlobalAlignment(gamma)(X), expected, rtol=1e-10)
    distances = np.array([[metrics.dtw(a, b) for b in X] for a in X])
    np.testing.assert_allclose(DynamicTimeWarping(0.1)(X), np.exp(-0.1 * distances**2), rtol=1e-10)


def test_shifts_are_all_shifts() -> None:
    X = some(5, channels=2, length=7)
    size = 14

    def value(x: np.ndarray, y: np.ndarray, center: bool) -> float:
        a, b = (np.concatenate([z - z.mean(0) if center else z, np.zeros((7, 2))]) for z in (x, y))
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        return sum(math.exp(3.0 * ((a * np.roll(b, s, axis=0)).sum() - 1.0)) for s in range(size))

    for center in (True, False):
        K = np.array([[value(x, y, center) for y in X] for x in X])
        expected = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
        kernel = ShiftInvariant(3.0, "mean" if center else "none")
        np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)
        np.testing.assert_allclose(kernel(X[:2], X), expected[:2], rtol=1e-12)


def test_a_shifted_bump_is_the_same_bump() -> None:
    time = np.arange(40.0)
    bumps = [np.exp(-((time - c) ** 2) / 8.0) for c in (12.0, 20.0, 28.0)] + [np.sin(time), np.cos(2.5 * time)]
    K = ShiftInvariant(center="none")(bumps)
    assert K[:3, :3].min() > 0.99 > 0.9 > K[:3, 3:].max()


def test_long_and_distant_series_do_not_overflow() -> None:
    X = [np.zeros(400), np.full(400, 50.0), np.linspace(0.0, 50.0, 400)]
    K = GlobalAlignment(1.0)(X)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(np.diag(K), 1.0)
    assert K[0, 1] == 0.0  # exp(-10^6): below the smallest number


def test_median_bandwidths() -> None:
    X = some(9)
    resolved = GlobalAlignment().resolve(GlobalAlignment().read(X))
    points = np.concatenate(X)
    squares = ((points[:, None] - points[None]) ** 2).sum(-1)[np.triu_indices(len(points), 1)]
    length = np.median([len(x) for x in X])
    assert resolved.gamma == pytest.approx(1.0 / (2.0 * length * np.median(squares)), rel=0.02)
    warped = DynamicTimeWarping().resolve(DynamicTimeWarping().read(X))
    pairs = [warping(X[i], X[j], None) for i in range(9) for j in range(i)]
    assert warped.gamma == pytest.approx(1.0 / np.median(pairs), rel=1e-12)
    assert GlobalAlignment().resolve([np.zeros((3, 1))]).gamma == 1.0


def test_models_report_the_correction_of_warping(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = [np.round(rng.normal(size=int(rng.integers(2, 9)))) for _ in range(40)]
    with pytest.warns(NotPositiveSemidefiniteWarning, match="negative eigenvalues"):
        rkhs.KernelPCA(2, kernel=DynamicTimeWarping(0.5)).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rkhs.KernelAutoencoder(2, kernel=GlobalAlignment(), max_iter=20, tol=1e-2).fit(X[:30])
    rkhs.save(model, tmp_path / "m.rkhs")
    np.testing.assert_array_equal(rkhs.load(tmp_path / "m.rkhs").transform(X[30:]), model.transform(X[30:]))


def test_arrays_of_series_are_lists_of_series() -> None:
    X = np.random.default_rng(0).normal(size=(5, 8))
    np.testing.assert_array_equal(GlobalAlignment(0.2)(X), GlobalAlignment(0.2)(list(X[:, :, None])))


@pytest.mark.parametrize("kernel", [GlobalAlignment(), DynamicTimeWarping(), ShiftInvariant()])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([0.0, np.nan, 1.0]), "item 1 has NaN or infinity at time 1. Fill gaps"),
        (np.array([]), "not empty; item 1 has shape"),
        (np.zeros((2, 2, 2)), "item 1 has shape"),
        ("abc", "item 1 is not one"),
        (np.zeros((3, 2)), "item 0 has 1, item 1 has 2|one number of channels"),
    ],
)
def test_bad_series_are_named(kernel, bad, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel([np.arange(3.0), bad])


def test_bad_parameters_are_named() -> None:
    X = some(3)
    for kernel, message in (
        (GlobalAlignment(-1.0), "GlobalAlignment.gamma must be > 0"),
        (GlobalAlignment("scale"), "GlobalAlignment.gamma must be > 0 or 'median'; got 'scale'"),
        (DynamicTimeWarping(1.0, -1), "DynamicTimeWarping.window must be an integer >= 0"),
        (ShiftInvariant(0.0), "ShiftInvariant.gamma must be > 0"),
        (ShiftInvariant(1.0, "median"), "ShiftInvariant.center must be one of"),
    ):
        with pytest.raises(InputError, match=message):
            kernel(X)
    with pytest.raises(InputError, match="series of one length; item 0 has 3, item 1 has 4"):
        ShiftInvariant()([np.arange(3.0), np.arange(4.0)])
    with pytest.raises(InputError, match="series that vary; item 1 is constant"):
        ShiftInvariant()([np.arange(3.0), np.full(3, 0.1)])
    with pytest.raises(InputError, match="(same|one) number of channels; got 2 and 1"):
        GlobalAlignment(1.0)(some(2), some(2, channels=1))
    with pytest.raises(InputError, match="lengths 5 and 6"):
        ShiftInvariant()(some(2, length=5), some(2, length=6))
