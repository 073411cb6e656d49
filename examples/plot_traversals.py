"""One code at a time
==================

Traversals of a deep machine on small sprites. Each strip moves one code from low to high and keeps the others at those
of one ordinary sprite.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, strip

from rkhs import DeepRKM
from rkhs.metrics import irs, mig, mutual_information


def sprites(side: int = 24) -> tuple[np.ndarray, np.ndarray]:
    """Soft squares and discs at eight by eight places in three sizes, with their factors (shape, size, x, y)."""
    grid = np.linspace(0.0, 1.0, side)
    factors = np.stack([a.reshape(-1) for a in np.meshgrid(range(2), range(3), range(8), range(8), indexing="ij")], 1)
    images = []
    for shape, size, i, j in factors:
        dx, dy = np.abs(grid - 0.2 - 0.6 * i / 7)[None, :], np.abs(grid - 0.2 - 0.6 * j / 7)[:, None]
        distance = np.maximum(dx, dy) if shape == 0 else np.hypot(dx, dy)
        images.append(1.0 / (1.0 + np.exp((distance - 0.15 - 0.07 * size) * 25)))
    return np.array(images).reshape(len(factors), -1), factors


def main(n: int = 300) -> dict[str, float]:
    X, factors = sprites()
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:n], rows[n:]
    model = DeepRKM((6, 2)).fit(X[train])
    codes = model.transform(X[test])
    result = {"MIG": mig(codes, factors[test]), "IRS": irs(codes, factors[test])}
    for factor, column in zip(("shape", "size", "x", "y"), mutual_information(codes, factors[test]).T, strict=True):
        print(f"{factor}: code {column.argmax()}, {column.max():.2f} nats")
    Z = model.codes_
    middle = Z[np.argmin(((Z - np.median(Z, axis=0)) ** 2).sum(1))]  # an ordinary sprite
    names = [(layer, c) for layer, width in enumerate((6, 2), 1) for c in range(width)]
    figure, axes = plt.subplots(4, 2, figsize=(10, 3.8), layout="constrained")
    for panel, (number, (layer, component)) in zip(axes.T.ravel(), enumerate(names), strict=True):
        walk = model.traverse(component, layer=layer, start=middle).reshape(-1, 24, 24)
        strip(panel, walk, f"code {number} (layer {layer})", cmap="gray", vmin=0.0, vmax=1.0)
    save(figure, "traversals")
    print(", ".join(f"{k} {v:.3f}" for k, v in result.items()))
    return result


if __name__ == "__main__":
    main()
