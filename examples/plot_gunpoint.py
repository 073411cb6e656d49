"""Time series and what lies between them
======================================

Codes of the global alignment kernel, and the series nearest to points along a line.

With ``RKHS_DATA`` the series are those of GunPoint (hand motions). Without it they are drawn at random: a bump, with or
without a dip after it, at any time.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, scatter_classes
from sklearn.neighbors import KNeighborsClassifier

import rkhs
from rkhs.kernels import GlobalAlignment


def load(n: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Series (n, length), classes, and the name of the set."""
    root = os.environ.get("RKHS_DATA")
    if root:
        with np.load(Path(root) / "ts_gunpoint" / "gunpoint.npz", allow_pickle=False) as data:
            X = np.concatenate([data["X_train"], data["X_test"]])
            y = np.concatenate([data["y_train"], data["y_test"]])
        rows = np.random.default_rng(0).permutation(len(y))[:n]
        return X[rows, ::3].astype(float), (y[rows] == y[0]).astype(int), "GunPoint"
    rng, time, y = np.random.default_rng(0), np.linspace(0.0, 1.0, 50), np.arange(n) % 2
    start = rng.uniform(0.2, 0.5, size=n)[:, None]
    X = np.exp(-(((time - start) / 0.07) ** 2)) - 0.5 * y[:, None] * np.exp(-(((time - start - 0.2) / 0.05) ** 2))
    return X + 0.05 * rng.normal(size=X.shape), y, "drawn series"


def main(n: int = 120) -> dict[str, float]:
    X, y, name = load(n)
    model = rkhs.KernelAutoencoder(2, kernel=GlobalAlignment(), random_state=0).fit(X)
    Z = model.codes_
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
    classes = ("a bump", "a bump and a dip") if name == "drawn series" else ("class 0", "class 1")
    scatter_classes(axes[0], Z, y, classes, loc="lower center")
    axes[0].set(xlabel="code 1", ylabel="code 2")
    axes[0].set_title(f"{name}: two codes of {len(y)} series", fontsize=10)
    ends = np.argmin(Z[:, 0]), np.argmax(Z[:, 0])
    line = np.linspace(Z[ends[0]], Z[ends[1]], 6)
    axes[0].plot(line[:, 0], line[:, 1], "k.-", linewidth=0.8)
    for step, row in enumerate(model.decode(line).indices[:, 0]):
        axes[0].annotate(str(step + 1), line[step], xytext=(0, 5), textcoords="offset points", weight="bold")
        axes[1].plot(X[row] - 2.0 * step, color=f"C{y[row]}")
    axes[1].set_yticks([-2.0 * step for step in range(6)], [str(step + 1) for step in range(6)])
    axes[1].set(xlabel="time", ylabel="place on the line")
    axes[1].set_title("the series nearest to each place on the line", fontsize=10)
    save(figure, "gunpoint")
    half = len(y) // 2
    score = KNeighborsClassifier(3).fit(Z[:half], y[:half]).score(Z[half:], y[half:])
    euclid = KNeighborsClassifier(3).fit(X[:half], y[:half]).score(X[half:], y[half:])
    result = {"3 nearest codes": float(score), "3 nearest series": float(euclid)}
    print(name, result)
    return result


if __name__ == "__main__":
    main()
