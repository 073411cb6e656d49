"""How much noise is left of new curves that are coded and rebuilt, with good and with spoilt training curves.

Run: ./dev bench noisy_curves. Two families of curves with known clean values, one seed each. The figures stand in
``docs/user/curves.md``.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder, fit_robust
from rkhs.augment import GaussianNoise

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


def main() -> None:
    """Print one table."""
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
    main()
