"""Digits without their noise
==========================

Denoised digits beside noisy ones (Figure 3 of the representation-learning paper, on scikit-learn's digits). An
autoencoder sees noisy copies of 225 digits and learns to rebuild the clean ones. The pictures are digits that it has
not seen.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, strip
from sklearn.datasets import load_digits

from rkhs import KernelAutoencoder
from rkhs.augment import GaussianNoise
from rkhs.kernels import Gaussian


def main(n: int = 225) -> dict[str, float]:
    X, y = load_digits(return_X_y=True)
    X = X[y < 5] / 16.0
    order = np.random.default_rng(0).permutation(len(X))
    train, test = X[order[:n]], X[order[n : n + 100]]
    std = 0.1**0.5
    noisy = test + std * np.random.default_rng(1).standard_normal(test.shape)
    shared = {
        "kernel": Gaussian("median"),
        "decoder_kernel": Gaussian(0.5),
        "reg": (1e-4, 1e-4),
        "noise": GaussianNoise(std, relative=False, copies=3),
        "random_state": 0,
        "max_iter": 60,
        "tol": 1e-3,
    }
    rows = {"clean": test, "noisy": noisy}
    for constraint in ("none", "sphere"):
        model = KernelAutoencoder(10, constraint=constraint, **shared).fit(train)
        rows[f"denoised, constraint={constraint!r}"] = model.inverse_transform(model.transform(noisy))
    figure, axes = plt.subplots(len(rows), 1, figsize=(8, 1.15 * len(rows)), layout="constrained")
    result = {}
    for line, (name, images) in enumerate(rows.items()):
        result[name] = float(((images - test) ** 2).mean())
        title = f"{name} (mean squared error {result[name]:.3f})"
        strip(axes[line], images[:10].reshape(10, 8, 8), title, cmap="gray_r", vmin=0, vmax=1)
        print(f"{name}: mean squared error {result[name]:.4f}")
    save(figure, "denoised_digits")
    return result


if __name__ == "__main__":
    main()
