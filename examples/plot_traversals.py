"""Latent traversals of a deep machine on small sprites: one code at a time from low to high."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save

from rkhs import DeepRKM
from rkhs.metrics import irs, latent_report, mig


def sprites(side: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Soft squares and discs at eight by eight places in three sizes, with their factors (shape, size, x, y)."""
    grid = np.linspace(0.0, 1.0, side)
    factors = np.stack([a.reshape(-1) for a in np.meshgrid(range(2), range(3), range(8), range(8), indexing="ij")], 1)
    images = []
    for shape, size, i, j in factors:
        dx, dy = np.abs(grid - 0.2 - 0.6 * i / 7)[None, :], np.abs(grid - 0.2 - 0.6 * j / 7)[:, None]
        distance = np.maximum(dx, dy) if shape == 0 else np.hypot(dx, dy)
        images.append(1.0 / (1.0 + np.exp((distance - 0.08 - 0.04 * size) * 60)))
    return np.array(images).reshape(len(factors), -1), factors


def main(n: int = 300) -> dict[str, float]:
    X, factors = sprites()
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:n], rows[n:]
    model = DeepRKM((4, 2)).fit(X[train])
    codes = model.transform(X[test])
    result = {"MIG": mig(codes, factors[test]), "IRS": irs(codes, factors[test])}
    for row in latent_report(codes, factors[test], names=["shape", "size", "x", "y"]):
        print(f"{row['factor']}: code {row['best']}, share {row['share']:.2f}, gap {row['gap']:.2f}")
    names = [(layer, c) for layer, width in enumerate((4, 2), 1) for c in range(width)]
    figure, axes = plt.subplots(len(names), 7, figsize=(8, 1.2 * len(names)))
    for panels, (layer, component) in zip(axes, names, strict=True):
        for panel, image in zip(panels, model.traverse(component, layer=layer), strict=True):
            panel.imshow(image.reshape(24, 24), cmap="gray", vmin=0.0, vmax=1.0)
            panel.axis("off")
        panels[0].set_title(f"layer {layer}, code {component}", fontsize=7, loc="left")
    save(figure, "traversals")
    print(", ".join(f"{k} {v:.3f}" for k, v in result.items()))
    return result


if __name__ == "__main__":
    main()
