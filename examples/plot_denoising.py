"""Denoising plane figures
=======================

Four noisy plane figures, denoised by a deep machine, what its first two components keep, and what its second layer
keeps (Figures 1 to 3 of the deep machine paper). Grey: the noisy points. Blue: what the machine makes of them. Layer 1
is the one to denoise with; the second layer is a summary of few numbers.
"""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
from gallery import save

from rkhs import DeepRKM
from rkhs.kernels import Gaussian
from studies.papers.shapes import SHAPES, sample_shape


def main(n: int = 300, noise: float = 0.1) -> dict[str, float]:
    figure, axes = plt.subplots(len(SHAPES), 5, figsize=(10.5, 2.0 * len(SHAPES)), layout="constrained")
    result = {}
    for row, shape in zip(axes, SHAPES, strict=True):
        clean, noisy = sample_shape(shape, n, noise, 0)
        kernel = Gaussian(1.0 / float(noisy.var(axis=0).sum()))
        widths = (8, 4) if shape in ("square", "half circle") else (24, 8)  # more parts, more components
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of figures in parts, codes of layer 2 are hard to predict
            model = DeepRKM(widths, kernel=kernel, tol=1e-4).fit(noisy)
        views = {
            "noisy": noisy,
            "layer 1": model.denoise(noisy),
            "layer 1, component 1": model.denoise(noisy, components=[0]),
            "layer 1, component 2": model.denoise(noisy, components=[1]),
            "layer 2": model.denoise(noisy, layer=2),
        }
        for panel, (title, points) in zip(row, views.items(), strict=True):
            panel.plot(*noisy.T, "k.", markersize=1, alpha=0.4)
            panel.plot(*points.T, ".", markersize=3)
            panel.set(title=title, xticks=[], yticks=[])
            panel.set_xlim(*np.quantile(noisy[:, 0], [0, 1]))
            panel.set_ylim(*np.quantile(noisy[:, 1], [0, 1]))
        row[0].set_ylabel(shape)
        result[shape] = float(((views["layer 1"] - clean) ** 2).sum(1).mean()) / (2 * noise**2)
        print(f"{shape}: error over that of the noise {result[shape]:.2f}")
    save(figure, "denoising")
    return result


if __name__ == "__main__":
    main()
