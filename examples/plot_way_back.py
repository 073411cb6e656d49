"""The way back
============

Codes are walked from one item to another in equal steps, and each step is decoded.

Digits and curves come back as themselves; a code among molecules leads to the nearest of the 500 bundled ones.
Structures are drawn if RDKit is installed (extra ``chem``).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import far_apart, save
from plot_molecules import draw
from sklearn.datasets import load_digits

from rkhs import KernelAutoencoder
from rkhs.data import load_molecules
from rkhs.kernels import Tanimoto


def walk(codes: np.ndarray, start: int, end: int, steps: int) -> np.ndarray:
    """Codes on the line between those of two items."""
    share = np.linspace(0.0, 1.0, steps)[:, None]
    return (1.0 - share) * codes[start] + share * codes[end]


def main(n: int = 300, steps: int = 8) -> dict[str, float]:
    pixels, names = load_digits(return_X_y=True)
    some = np.flatnonzero(np.isin(names, (3, 8)))[:n]
    digits = KernelAutoencoder(10).fit(pixels[some])
    first, last = (int(np.flatnonzero(names[some] == name)[0]) for name in (3, 8))
    images = digits.inverse_transform(walk(digits.codes_, first, last, steps))

    t, rng = np.linspace(0.0, 1.0, 100), np.random.default_rng(0)
    middle = rng.uniform(0.2, 0.8, (n, 1))
    bumps = KernelAutoencoder(1).fit(np.exp(-(((t - middle) / 0.15) ** 2)))
    curves = bumps.inverse_transform(walk(bumps.codes_, int(middle.argmin()), int(middle.argmax()), steps))

    known = load_molecules()
    bits = known.fingerprints[:n].astype(float)
    molecules = KernelAutoencoder(2, kernel=Tanimoto(), output_kernel="same").fit(bits)
    start, end = far_apart(molecules.codes_, 2)
    path = walk(molecules.codes_, start, end, steps)
    near = molecules.decode(path, bits, n_best=1).indices[:, 0]

    figure, axes = plt.subplots(3, steps, figsize=(9.6, 3.4), height_ratios=(1, 0.7, 1), layout="constrained")
    for (digit, curve, structure), image, values, j in zip(axes.T, images, curves, near, strict=True):
        digit.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        curve.plot(t, values, color="#0072b2")
        curve.set_ylim(-0.2, 1.2)
        draw(structure, known.smiles[j])
        for axis in (digit, curve):
            axis.axis("off")
    save(figure, "way_back")
    moved = float((np.diff(curves.argmax(axis=1)) >= 0).mean())
    result = {"steps of the bump to the right": moved, "different molecules": float(len(set(near.tolist())))}
    print(result)
    return result


if __name__ == "__main__":
    main()
