"""Two moons
=========

Two moons in one and in two dimensions (Figure 7 of the kernel autoencoder paper).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
from gallery import save, scatter
from sklearn.datasets import make_moons

from rkhs import KernelAutoencoder
from rkhs.kernels import Gaussian


def main(n: int = 200) -> dict[str, float]:
    X, label = make_moons(n, noise=0.05, random_state=0)
    X_new, _ = make_moons(300, noise=0.05, random_state=2)
    spread = float(((X_new - X.mean(0)) ** 2).sum(1).mean())
    options = {"kernel": Gaussian(4.0), "decoder_kernel": Gaussian(1.0), "random_state": 0}
    one = KernelAutoencoder(1, reg=(1e-3, 1e-3), n_init=4, **options).fit(X)
    two = KernelAutoencoder(2, reg=(1e-3, 1e-3), **options).fit(X)
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    scatter(axes[0, 0], X, one.codes_[:, 0], "coloured by the 1-D code")
    axes[0, 1].scatter(one.codes_[:, 0], label, c=one.codes_[:, 0], cmap="viridis", s=14)
    axes[0, 1].set(xlabel="1-D code", ylabel="moon", yticks=[0, 1])
    axes[0, 1].set_title("the 1-D codes of each moon", fontsize=10)
    scatter(axes[1, 0], X, two.codes_[:, 0], "coloured by the first of two codes")
    scatter(axes[1, 1], two.codes_, label, "2-D codes, coloured by moon", "coolwarm")
    save(figure, "moons")
    result = {
        name: float(m.reconstruction_error(X_new).mean()) / spread for name, m in (("2-1-2", one), ("2-2-2", two))
    }
    for name, error in result.items():
        print(f"{name}: share of variance not rebuilt on new points {error:.4f}")
    return result


if __name__ == "__main__":
    main()
