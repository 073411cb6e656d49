"""Three views, one of them noise
==============================

Three views of handwritten digits: Gram matrices weighted by their agreement.

The upper half and the lower half of each image agree about the digit; the third view is random. A list of Gram
matrices is one argument, and the weights are reported.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from gallery import save, write_names
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelPCA
from rkhs.kernels import Gaussian


def main(n: int = 500) -> dict[str, float]:
    data = load_digits()
    X, digit = data.data[: n + 300] / 16.0, data.target[: n + 300]
    noise = np.random.default_rng(0).normal(size=(len(X), 20))
    views = {"upper half": X[:, :32], "lower half": X[:, 32:], "noise": noise}
    kernels = {name: Gaussian().resolve(Gaussian().read(V[:n])) for name, V in views.items()}
    grams = [kernels[name](V[:n]) for name, V in views.items()]
    crosses = [kernels[name](V[n:], V[:n]) for name, V in views.items()]
    model = KernelPCA(10, kernel="precomputed").fit(grams)
    traces = [np.trace(K) / n - K.mean() for K in grams]
    shares = model.reader_.view_weights * traces

    def found(fitted: KernelPCA, new: object) -> float:
        machine = KNeighborsClassifier(5).fit(fitted.codes_, digit[:n])
        return float(machine.score(fitted.transform(new), digit[n:]))

    result = {f"weight of {name}": float(share) for name, share in zip(views, shares, strict=True)}
    for name, K, cross in zip(views, grams, crosses, strict=True):
        result[f"{name} alone"] = found(KernelPCA(10, kernel="precomputed").fit(K), cross)
    result["all views"] = found(model, crosses)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    axes[0].bar(list(views), shares)
    axes[0].set_title("share of each view in the sum", fontsize=10)
    axes[1].scatter(model.codes_[:, 0], model.codes_[:, 1], c=digit[:n], cmap="tab10", s=10)
    write_names(axes[1], model.codes_[:, :2], digit[:n])
    axes[1].set(xlabel="code 1", ylabel="code 2")
    axes[1].set_title("first two codes of all views, by digit", fontsize=10)
    save(figure, "views")
    for name, value in result.items():
        print(f"{name}: {value:.3f}")
    return result


if __name__ == "__main__":
    main()
