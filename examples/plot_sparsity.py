"""Fewer supports with epsilon
===========================

An insensitive zone drops samples. Beyond the largest output it drops all of them.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save

from rkhs import OperatorKernelRegressor
from rkhs.kernels import Gaussian
from rkhs.losses import EpsilonInsensitive, SquaredEpsilonInsensitive

NOISE = 0.15


def curve_in_space(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs (n, 1), noisy points of a curve in space (n, 3), and the curve."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 1))
    clean = np.c_[np.sin(2.0 * X), np.cos(3.0 * X), 0.5 * X]
    return X, clean + NOISE * rng.normal(size=clean.shape), clean


def main(n: int = 120) -> dict[str, float]:
    X, Y, _ = curve_in_space(n, 0)
    X_new, _, clean = curve_in_space(500, 1)
    epsilons = np.linspace(0.0, 1.8, 19)
    largest = float(np.linalg.norm(Y - Y.mean(0), axis=1).max())
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    result = {"no outputs left": largest}
    for kind, color, dash in ((SquaredEpsilonInsensitive, "#0072b2", "-"), (EpsilonInsensitive, "#d55e00", "--")):
        losses = [kind(float(epsilon)) for epsilon in epsilons]
        path = OperatorKernelRegressor(Gaussian(1.0), tol=1e-6).path(X, Y, regs=[1e-4], losses=losses)
        supports = path.n_support / n
        errors = path.mean_squared_errors(X_new, clean)
        axes[0].plot(epsilons, supports, dash, color=color, label=kind.__name__)
        axes[1].plot(epsilons, errors, dash, color=color, label=kind.__name__)
        result[f"{kind.__name__}, supports at epsilon 0.3"] = float(supports[3])
        result[f"{kind.__name__}, supports at epsilon 1.8"] = float(supports[-1])
        result[f"{kind.__name__}, best epsilon"] = float(epsilons[int(errors.argmin())])
    for ax, title in zip(axes, ("share of support samples", "error against the clean curve"), strict=True):
        ax.axvline(NOISE * 3**0.5, color="grey", linewidth=0.8)  # the root mean squared norm of the noise
        ax.set(xlabel="epsilon (grey: norm of the noise)", title=title)
    axes[1].set_yscale("log")
    axes[0].legend(frameon=False)
    save(figure, "sparsity")
    for name, value in result.items():
        print(f"{name}: {value:.3f}")
    return result


if __name__ == "__main__":
    main()
