"""Digits through ten numbers
==========================

Digits through ten numbers and back, with defaults only: codes, rebuilt images, a way through the code space. The script
prints the share of the variance of held-out digits that is not rebuilt, beside kernel PCA.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, strip, write_names
from sklearn.datasets import load_digits

from rkhs import KernelAutoencoder, KernelPCA


def main(n: int = 700) -> dict[str, float]:
    digits = load_digits()
    X = digits.data / 16.0
    train, test = X[:n], X[1200:]
    spread = float(((test - train.mean(0)) ** 2).sum(1).mean())
    ten = KernelAutoencoder(10).fit(train)
    two = KernelAutoencoder(2).fit(train)
    result = {
        "kernel autoencoder, 10 components": float(ten.reconstruction_error(test).mean()) / spread,
        "kernel PCA, 10 components": float(KernelPCA(10).fit(train).reconstruction_error(test).mean()) / spread,
        "kernel autoencoder, 2 components": float(two.reconstruction_error(test).mean()) / spread,
        "kernel PCA, 2 components": float(KernelPCA(2).fit(train).reconstruction_error(test).mean()) / spread,
    }
    for name, error in result.items():
        print(f"{name}: share of variance not rebuilt on held-out digits {error:.3f}")
    figure = plt.figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axis = left.subplots()
    codes = two.transform(test)
    axis.scatter(codes[:, 0], codes[:, 1], c=digits.target[1200:], cmap="tab10", s=12)
    write_names(axis, codes, digits.target[1200:])
    axis.set(xlabel="code 1", ylabel="code 2", title="held-out digits by two numbers")
    rows = [test[:10], ten.inverse_transform(ten.transform(test[:10]))]
    ends = ten.transform(test[[0, 3]])
    rows.append(ten.inverse_transform(ends[0] + np.linspace(0.0, 1.0, 10)[:, None] * (ends[1] - ends[0])))
    titles = ("held out", "rebuilt from ten numbers", "a straight line from the first code to the fourth")
    for axes, title, images in zip(right.subplots(3, 1), titles, rows, strict=True):
        strip(axes, images.reshape(10, 8, 8), title, cmap="gray_r", vmin=0.0, vmax=1.0)
    save(figure, "digits")
    return result


if __name__ == "__main__":
    main()
