"""The losses
==========

The losses of the duality paper on the line and in the plane (its appendix B).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from gallery import save

from rkhs.losses import EpsilonInsensitive, Huber, Norm, Power, Squared, SquaredEpsilonInsensitive
from rkhs.plots import loss_maps, loss_profiles

LOSSES = {
    "squared": Squared(),
    "Huber, kappa 0.8": Huber(0.8),
    "squared, epsilon 0.6": SquaredEpsilonInsensitive(0.6),
    "norm, epsilon 0.6": EpsilonInsensitive(0.6),
    "norm": Norm(),
    "power 1.5": Power(1.5),
}


def main(n: int = 1000) -> dict[str, float]:
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    loss_profiles(LOSSES, limit=2.5, ax=axes)
    save(figure, "losses_line")
    save(loss_maps(LOSSES, limit=2.5), "losses")
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
