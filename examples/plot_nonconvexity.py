r"""The objective is not convex
===========================

Figure 4 of the kernel autoencoder paper, with the corrected penalty.

One sample :math:`x = 1`, linear kernels, scalar coefficients :math:`a` (encoder) and :math:`b` (decoder). The squared
norm of the decoder is :math:`k(f(1), f(1))\, b^2 = a^2 b^2`, not :math:`b^2` as printed, so that

.. math:: P(a, b) = (1 - a^2 b)^2 + \mathrm{reg}_1 a^2 + \mathrm{reg}_2 a^2 b^2.

Its minimum is :math:`2 m - m^2` with :math:`m = \sqrt{\mathrm{reg}_1 \mathrm{reg}_2}` while :math:`m < 1`, and on the
line :math:`(0, b)` the value is 1 everywhere.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save

SETTINGS = ((0.0, 0.0), (0.1, 0.1), (0.5, 0.5), (2.0, 2.0))


def objective(a: np.ndarray, b: np.ndarray, reg_1: float, reg_2: float) -> np.ndarray:
    return (1.0 - a**2 * b) ** 2 + reg_1 * a**2 + reg_2 * a**2 * b**2


def minimum(reg_1: float, reg_2: float) -> float:
    m = np.sqrt(reg_1 * reg_2)
    return float(2.0 * m - m**2) if m < 1.0 else 1.0


def main(n: int = 401) -> dict[str, float]:
    axis_a, axis_b = np.linspace(-3.0, 3.0, n), np.linspace(-1.0, 5.0, n)
    A, B = np.meshgrid(axis_a, axis_b, indexing="ij")
    figure, axes = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
    result = {}
    for axis, (reg_1, reg_2) in zip(axes.flat, SETTINGS, strict=True):
        P = objective(A, B, reg_1, reg_2)
        image = axis.pcolormesh(A, B, np.log10(np.maximum(P, 1e-3)), cmap="viridis", shading="auto")
        i, j = np.unravel_index(P.argmin(), P.shape)
        axis.plot(A[i, j], B[i, j], "x", color="white", markersize=9, clip_on=False)
        axis.set(
            xlabel="a",
            ylabel="b",
            title=f"reg {reg_1:g} and {reg_2:g}: minimum {minimum(reg_1, reg_2):.2f}",
        )
        figure.colorbar(image, ax=axis, label="log10 P")
        result[f"reg {reg_1:g}, {reg_2:g}"] = float(P.min() - minimum(reg_1, reg_2))
    save(figure, "nonconvexity")
    for name, gap in result.items():
        print(f"{name}: least value on the grid minus the closed form {gap:.2e}")
    return result


if __name__ == "__main__":
    main()
