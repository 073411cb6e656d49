"""Growth curves
=============

Curves in, curves out: the heights of a child at uneven ages become two numbers, and two numbers become a curve.

The curves are simulated by the model of Preece and Baines (1978) with a spread of its parameters, at the ages of the
Berkeley growth study. Errors are integrals over age, by quadrature on the uneven grid.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, scatter_classes

from rkhs import KernelAutoencoder
from rkhs.kernels import FunctionalGaussian, quadrature_weights

AGES = np.r_[1.0:2.0:0.25, 2.0:8.0:1.0, 8.0:18.5:0.5]


def heights(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Heights in cm, shape (n, T), and whether the child is a boy."""
    rng = np.random.default_rng(seed)
    boy = np.arange(n) % 2 == 0
    adult = np.where(boy, 175.0, 163.5) + 6.0 * rng.normal(size=n)
    spurt = np.where(boy, 14.0, 12.0) + 0.9 * rng.normal(size=n)
    at_spurt = adult * (0.925 + 0.006 * rng.normal(size=n))
    slow = 0.105 + 0.003 * rng.normal(size=n)
    fast = 1.1 + 0.12 * rng.normal(size=n)
    t = AGES[None, :] - spurt[:, None]
    sum_of_rates = np.exp(slow[:, None] * t) + np.exp(fast[:, None] * t)
    return adult[:, None] - 2.0 * (adult - at_spurt)[:, None] / sum_of_rates + 0.3 * rng.normal(size=t.shape), boy


def main(n: int = 120) -> dict[str, float]:
    X, _ = heights(n, 0)
    new, new_boy = heights(80, 1)
    model = KernelAutoencoder(2, kernel=FunctionalGaussian(times=AGES)).fit(X)
    codes = model.transform(new)
    back = model.inverse_transform(codes)
    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
    for i in range(4):
        axes[0].plot(AGES, new[i], "o", markersize=3, color=f"C{i}")
        axes[0].plot(AGES, back[i], color=f"C{i}")
    axes[0].set(xlabel="age, years", ylabel="height, cm", title="new children: points; rebuilt: lines")
    scatter_classes(axes[1], codes, new_boy.astype(int), ("girls", "boys"))
    axes[1].set(xlabel="code 1", ylabel="code 2", title="two numbers a child")
    steps = np.linspace(*np.quantile(model.codes_[:, 1], [0.05, 0.95]), 5)
    path = np.c_[np.full(5, np.median(model.codes_[:, 0])), steps]
    colours = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, 5))
    for value, curve, colour in zip(steps, model.inverse_transform(path), colours, strict=True):
        axes[2].plot(AGES, curve - X.mean(0), color=colour, label=f"code 2 = {value:.1f}")
    axes[2].set(xlabel="age, years", ylabel="height minus the mean height, cm", title="what the second code does")
    axes[2].legend(fontsize=8)
    save(figure, "growth")
    w = quadrature_weights(AGES, len(AGES))
    spread = float((((new - X.mean(0)) ** 2) @ w).mean())
    result = {
        "share of variance not rebuilt": float(model.reconstruction_error(new).mean()) / spread,
        "root mean squared error, cm": float(np.sqrt(((back - new) ** 2 @ w / w.sum()).mean())),
    }
    for name, value in result.items():
        print(f"{name}: {value:.4f}")
    return result


if __name__ == "__main__":
    main()
