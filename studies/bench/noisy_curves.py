"""How much noise is left of new curves that are coded and rebuilt, with good and with spoilt training curves.

Run: ./dev bench noisy_curves. Two families of curves with known clean values, one seed each. The figures stand in
``docs/user/curves.md``.

Run: RKHS_DATA=... ./dev bench noisy_curves --kernels [--scored]. What ``rkhs fit --kind curves`` fits, the functional
Gaussian that it fitted before, and principal components: curves without noise and with noise added, three splits. The
default was chosen on the development curves and is scored on phonemes and spectra (``--scored``). Printed: mean squared
L2 distance of rebuilt new curves to the clean ones over the variance of these, and the change with its standard error.

Run: RKHS_DATA=... ./dev bench noisy_curves --gaps. The same for curves with noise of which a share of the values is
missing, in training and in new curves: filled by straight lines (`curves_on_grid`), and by the mean of the column.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder, fit_robust
from rkhs.augment import GaussianNoise
from rkhs.data import Curves, curves_on_grid
from rkhs.kernels import FunctionalGaussian, quadrature_weights
from studies.harness.arguments import bench_arguments
from studies.harness.scripts import data_folder, run_script

COMPONENTS, NOISE, SPIKES, BAD, TRAIN = 4, 0.3, 3.0, 12, 160
TIMES = np.linspace(0.0, 1.0, 60)


def bumps(rng: np.random.Generator, n: int) -> np.ndarray:
    """Bumps of random place and height."""
    center, height = rng.uniform(0.3, 0.7, (n, 1)), rng.uniform(0.5, 1.5, (n, 1))
    return np.asarray(height * np.exp(-(((TIMES - center) / 0.12) ** 2)))


def sines(rng: np.random.Generator, n: int) -> np.ndarray:
    """Sums of three sines of random weight."""
    return np.asarray(rng.normal(size=(n, 3)) @ np.stack([np.sin(2.0 * np.pi * k * TIMES) for k in (1, 2, 3)]))


def models(noise: float) -> dict[str, Any]:
    """What is fitted to training curves, by name."""
    return {
        "fit_robust": lambda X: fit_robust(KernelAutoencoder(COMPONENTS), X).model,
        "default": KernelAutoencoder(COMPONENTS).fit,
        "PCA": PCA(COMPONENTS).fit,
        "denoising": KernelAutoencoder(COMPONENTS, noise=GaussianNoise(noise, relative=False), random_state=0).fit,
        "functional_gaussian": KernelAutoencoder(COMPONENTS, kernel="functional_gaussian").fit,
    }


def waves(rng: np.random.Generator, n: int) -> np.ndarray:
    """Two waves of random height in a time that runs slower or faster."""
    warped = TIMES + 0.3 * rng.normal(size=(n, 1)) * TIMES * (1.0 - TIMES)
    return np.asarray(np.sin(4.0 * np.pi * warped) * rng.uniform(0.7, 1.3, (n, 1)))


def recorded(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Curves and their times: ``set/array``."""
    place, _, array = name.partition("/")
    file = next((folder / place).glob("*.npz"))
    data = np.load(file, allow_pickle=False)
    X = data[array][:, :: 8 if place == "emg_lip" else 1]
    times = data["t"][:: 8 if place == "emg_lip" else 1] if "t" in data.files else np.arange(float(X.shape[1]))
    return X, times


def curve_sets(scored: bool) -> dict[str, Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]]:
    """Functions of a generator that give clean curves, in random order, and times."""

    def shuffled(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X, times = recorded(data_folder(), name)
        return rng.permutation(X)[:300], times

    real = ("fda_growth/X", "fda_gait/hip", "fda_gait/knee", "fda_canadian_weather/temp", "emg_lip/lip")
    names = ("fda_phoneme/X_train", "fda_tecator/X") if scored else real
    made = () if scored else (bumps, sines, waves)
    found: dict[str, Any] = {family.__name__: lambda rng, f=family: (f(rng, 160), TIMES) for family in made}
    return found | {name: lambda rng, name=name: shuffled(name, rng) for name in names}


def kernels(scored: bool) -> None:
    """Print one line per set and an amount of noise."""
    warnings.simplefilter("ignore", UserWarning)  # components at rest, unfinished descents on curves without noise
    for noise in (0.0, NOISE):
        logs = []
        for name, read in curve_sets(scored).items():
            errors = np.array([_rebuilt(read, noise, seed) for seed in range(3)])
            change = errors[:, 1] / errors[:, 0]
            shown = " ".join(f"{value:.4f}" for value in errors.mean(0))
            spread = change.std(ddof=1) / len(change) ** 0.5
            print(f"noise {noise}, {name:26} {shown}   default over before {change.mean():.2f} +- {spread:.2f}")
            logs.append(np.log(np.maximum(errors.mean(0), 1e-12)))
        ratios = np.exp(np.mean(np.array(logs) - np.array(logs)[:, :1], axis=0))
        print(f"noise {noise}, geometric mean over before: " + " ".join(f"{ratio:.3f}" for ratio in ratios), flush=True)
    print("columns: functional_gaussian (before), the default, its columns as they are, principal components")


def _rebuilt(read: Callable[..., Any], noise: float, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    clean, times = read(rng)
    n = int(0.65 * len(clean))
    X = clean + noise * clean.std(0).mean() * rng.normal(size=clean.shape)
    weights = quadrature_weights(times, len(times))
    p = min(COMPONENTS, n // 5)
    even = np.allclose(np.diff(times), np.diff(times).mean(), rtol=1e-3)
    root = np.sqrt(weights)
    default = KernelAutoencoder(p, columns="raw" if even else "integral").fit(Curves(X[:n, :, None], (times,)))
    plain = KernelAutoencoder(p).fit(X[:n])
    before = KernelAutoencoder(p, kernel=FunctionalGaussian(times=times)).fit(X[:n])
    linear = PCA(p).fit(X[:n] * root)
    found = [model.inverse_transform(model.transform(X[n:])) for model in (before, default, plain)]
    found.append(linear.inverse_transform(linear.transform(X[n:] * root)) / root)
    variance = (((clean[n:] - clean[n:].mean(0)) ** 2) @ weights).mean()
    return [float((((one - clean[n:]) ** 2) @ weights).mean() / variance) for one in found]


def gaps() -> None:
    """Print one line per set: curves without gaps, and two shares of gaps filled in two ways."""
    sets = {**curve_sets(False), **curve_sets(True)}
    for name in ("bumps", "sines", "fda_growth/X", "fda_phoneme/X_train"):
        errors = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            clean, times = sets[name](rng)
            n, X = int(0.65 * len(clean)), clean + NOISE * clean.std(0).mean() * rng.normal(size=clean.shape)
            w = quadrature_weights(times, len(times))
            row = []
            for share in (0.0, 0.3, 0.6):
                holes = X.copy()
                holes[:, 1:-1][rng.random((len(X), len(times) - 2)) < share] = np.nan
                means = np.where(np.isnan(holes), np.nanmean(holes[:n], 0), holes)
                for filled in (curves_on_grid(holes, times).data_matrix[:, :, 0], means)[: 2 if share else 1]:
                    model = KernelAutoencoder(COMPONENTS).fit(filled[:n])
                    back = model.inverse_transform(model.transform(filled[n:]))
                    variance = (((clean[n:] - clean[n:].mean(0)) ** 2) @ w).mean()
                    row.append(float((((back - clean[n:]) ** 2) @ w).mean() / variance))
            errors.append(row)
        spread = np.std(errors, axis=0, ddof=1) / len(errors) ** 0.5
        shown = "  ".join(f"{a:.4f} +- {b:.4f}" for a, b in zip(np.mean(errors, axis=0), spread, strict=True))
        print(f"{name:22} {shown}", flush=True)
    print("columns: no gaps; 30 % by lines, by means; 60 % by lines, by means")


def main() -> None:
    """Print one table."""
    options = bench_arguments(__doc__, kernels=False, scored=False, gaps=False)
    if options.gaps:
        return gaps()
    if options.kernels or options.scored:
        return kernels(options.scored)
    for family in (bumps, sines):
        rng = np.random.default_rng(0)
        clean = family(rng, TRAIN + 80)
        noise = NOISE * float(clean.std())
        curves = clean + noise * rng.normal(size=clean.shape)
        bad = rng.permutation(TRAIN)[:BAD]
        spoilt = curves[:TRAIN].copy()
        spoilt[bad] += SPIKES * clean.std() * rng.standard_t(1.5, size=(BAD, len(TIMES)))
        new, truth = curves[TRAIN:], clean[TRAIN:]
        spread = ((truth - truth.mean(0)) ** 2).sum(1).mean()

        def left(rebuilt: np.ndarray, truth: np.ndarray = truth, spread: float = spread) -> float:
            return float(((rebuilt - truth) ** 2).sum(1).mean() / spread)

        print(f"{family.__name__}: noise of new curves {left(new):.3f} of the variance of the clean ones")
        for name, fit in models(noise).items():
            shares, started = [], time.process_time()
            for rows in (curves[:TRAIN], spoilt):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    model = fit(rows)
                shares.append(left(model.inverse_transform(model.transform(new))))
            seconds = time.process_time() - started
            print(f"  {name:20} good {shares[0]:.3f}   {BAD} of {TRAIN} bad {shares[1]:.3f}   {seconds:.1f} s")
        scores = fit_robust(KernelAutoencoder(COMPONENTS), spoilt).outlier_score > 1.0
        hits = int(scores[bad].sum())
        print(f"  fit_robust names {hits} of {BAD} bad curves and {int(scores.sum()) - hits} good")


if __name__ == "__main__":
    run_script(main)
