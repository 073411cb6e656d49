"""The losses
==========

The losses of the duality paper on the line and in the plane (its appendix B).
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from gallery import save

from rkhs.losses import EpsilonInsensitive, Huber, Norm, Power, Squared, SquaredEpsilonInsensitive

LOSSES = {
    "squared": Squared(),
    "Huber, kappa 0.8": Huber(0.8),
    "squared, epsilon 0.6": SquaredEpsilonInsensitive(0.6),
    "norm, epsilon 0.6": EpsilonInsensitive(0.6),
    "norm": Norm(),
    "power 1.5": Power(1.5),
}


LIMIT = 2.5


def on_a_line() -> Any:
    """Losses of scalar residuals as curves."""
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    r = np.linspace(-LIMIT, LIMIT, 601)
    for (name, loss), dash in zip(LOSSES.items(), ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1))), strict=True):
        axes.plot(r, loss.value(torch.from_numpy(r[:, None])).numpy(), linestyle=dash, label=name)
    axes.set(xlabel="residual $r$", ylabel="loss $f(r)$", xlim=(-LIMIT, LIMIT))
    axes.legend(frameon=False)
    return figure


def in_the_plane() -> Any:
    """Losses of residuals of two numbers as level sets on one scale; the white line bounds what costs nothing."""
    figure, axes = plt.subplots(2, 3, figsize=(10.4, 6.2), layout="constrained")
    axis = np.linspace(-LIMIT, LIMIT, 161)
    grid = torch.from_numpy(np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2))
    maps = [loss.value(grid).numpy().reshape(161, 161) for loss in LOSSES.values()]
    levels = np.linspace(0.0, max(float(values.max()) for values in maps), 13)
    for ax, name, values in zip(axes.flat, LOSSES, maps, strict=True):
        shown = ax.contourf(axis, axis, values, levels=levels)
        if (values == 0.0).sum() > 1:
            ax.contour(axis, axis, values, levels=[1e-4 * levels[-1]], colors="white", linewidths=1.0)
        ax.set(title=name, aspect="equal", xlabel="$r_1$", ylabel="$r_2$")
    figure.colorbar(shown, ax=axes, label="loss $f(r)$", shrink=0.8)
    return figure


def main(n: int = 1000) -> dict[str, float]:
    save(on_a_line(), "losses_line")
    save(in_the_plane(), "losses")
    # A loss equals its second conjugate; Fenchel and Young say the same sample by sample, with equality at a gradient.
    R = torch.randn(n, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    result = {}
    for name in ("squared", "Huber, kappa 0.8", "squared, epsilon 0.6"):
        loss = LOSSES[name]
        alpha = loss.gradient(R)
        gap = loss.value(R) + loss.conjugate(alpha) - (R * alpha).sum(1)
        result[name] = float(gap.abs().max())
        print(f"{name}: largest Fenchel-Young gap {result[name]:.1e}")
    return result


if __name__ == "__main__":
    main()
