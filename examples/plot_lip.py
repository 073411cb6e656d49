"""Curves from curves, some of them wrong
======================================

The Huber loss against the squared loss, in the manner of the lip data.

Smooth input curves stand for muscle activity, a smoothed and delayed copy for the movement. Some training outputs are
reversed and stretched. ``studies/bench/lip.py`` draws the published figure from the recorded data.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from sklearn.base import clone

from rkhs import FunctionalKernelRegressor
from rkhs.losses import Huber


def curves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Input curves (n, 60), output curves (n, 60) and times."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, 60)
    place, height = rng.uniform(0.3, 0.6, size=(n, 1)), rng.uniform(0.6, 1.4, size=(n, 1))
    X = height * np.exp(-80.0 * (t - place) ** 2) + 0.03 * rng.normal(size=(n, 60))
    bump = (t - place - 0.1) / 0.12
    return X, height * (1.0 - bump**2) * np.exp(-0.5 * bump**2), t


def main(n: int = 40) -> dict[str, float]:
    X, Y, t = curves(n, 0)
    X_new, Y_new, _ = curves(200, 1)
    spoilt = Y.copy()
    bad = np.arange(0, n, 8)
    spoilt[bad] *= -1.2
    kappas = np.geomspace(0.01, 1.0, 13)
    base = FunctionalKernelRegressor(n_basis=11, reg=1e-4, loss="squared", center=False)

    def error(model: FunctionalKernelRegressor) -> float:
        return float(np.trapezoid((model.predict(X_new) - Y_new) ** 2, t, axis=1).mean())

    ridge = clone(base).fit(X, spoilt)
    result = {"squared, no outliers": error(base.fit(X, Y)), "squared": error(ridge)}
    machines = [clone(base).set_params(loss=Huber(float(kappa))) for kappa in kappas]
    errors = [error(machine.fit(X, spoilt)) for machine in machines]
    best = machines[int(np.argmin(errors))]
    result["Huber, best kappa"] = min(errors)
    result["Huber, largest kappa"] = errors[-1]
    found = set(best.saturated_.tolist())
    result["outliers saturated"] = len(found & set(bad.tolist())) / len(bad)

    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    axes[0].semilogx(kappas, errors, color="#0072b2", label="Huber")
    axes[0].axhline(result["squared"], color="#d55e00", linestyle="--", label="squared")
    axes[0].axhline(result["squared, no outliers"], color="grey", linestyle=":", label="squared, no outliers")
    axes[0].set(xlabel="kappa", ylabel="mean squared L2 error", yscale="log", title="error on new curves")
    axes[0].legend(frameon=False)
    axes[1].plot(t, Y_new[0], "k", label="truth")
    axes[1].plot(t, best.predict(X_new[:1])[0], color="#0072b2", label="Huber")
    axes[1].plot(t, ridge.predict(X_new[:1])[0], "--", color="#d55e00", label="squared")
    axes[1].set(xlabel="time", title="one new curve")
    axes[1].legend(frameon=False)
    save(figure, "lip")
    for name, value in result.items():
        print(f"{name}: {value:.4f}")
    return result


if __name__ == "__main__":
    main()
