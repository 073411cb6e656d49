"""Many labels at once
===================

Four losses on one multi-label set; their parameters are chosen by cross-validation on the training part.

With ``RKHS_DATA`` the set is the yeast genes (2,417 rows, 14 labels). Without it a set of the same kind is drawn at
random.
"""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from gallery import save
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import KFold, train_test_split

from rkhs import InputOutputKernelRegressor, OperatorKernelRegressorCV
from rkhs.kernels import Gaussian
from rkhs.metrics import hamming_error

NAMES = {
    "squared": "squared",
    "squared_epsilon_insensitive": "epsilon-ridge",
    "epsilon_insensitive": "epsilon-SVR",
    "huber": "Huber",
}


def labels(n: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Inputs, labels of zeros and ones, and the name of the set."""
    root = os.environ.get("RKHS_DATA")
    if root:
        with np.load(Path(root) / "yeast" / "yeast.npz", allow_pickle=False) as data:
            return data["X"][:n], data["Y"][:n].astype(float), "yeast"
    X, Y = make_multilabel_classification(n, n_features=60, n_classes=14, n_labels=4, length=400, random_state=0)
    return X / np.linalg.norm(X, axis=1, keepdims=True), Y.astype(float), "a drawn set"


def main(n: int = 300) -> dict[str, float]:
    X, Y, name = labels(n)
    X, X_new, Y, Y_new = train_test_split(X, Y, test_size=1 / 3, random_state=0)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    result = {"most frequent": hamming_error(Y_new, np.broadcast_to(Y.mean(0) > 0.5, Y_new.shape))}
    deviations = []
    for loss, title in NAMES.items():
        cv = KFold(3, shuffle=True, random_state=0)
        search = OperatorKernelRegressorCV(
            "gaussian", loss=loss, regs=np.logspace(-5, -1, 5), gammas=(1.0, 4.0), cv=cv, tol=1e-4
        ).fit(X, Y)
        machine = InputOutputKernelRegressor(Gaussian(search.gamma_), loss=search.loss_, reg=search.reg_).fit(X, Y)
        predicted = machine.predict(X_new)  # label vectors: the vector compared with one half
        result[title] = hamming_error(Y_new, predicted)
        wrong = (predicted != Y_new).mean(1)
        deviations.append(float(wrong.std(ddof=1) / len(wrong) ** 0.5))
        axes[1].plot(np.sort(np.linalg.norm(machine.dual_coef_, axis=1)), label=title)
        print(f"{title}: Hamming error {result[title]:.4f}, reg {search.reg_:g}, gap {machine.gap_:.1e}")
    axes[0].bar(list(NAMES.values()), [result[title] for title in NAMES.values()], yerr=deviations, color="#0072b2")
    axes[0].axhline(result["most frequent"], color="grey", linestyle=":", label="most frequent labels")
    axes[0].set_title(f"Hamming error on {name}, with standard errors", fontsize=10)
    axes[0].set_ylim(0.0, 1.2 * result["most frequent"])
    axes[0].legend(loc="upper left", frameon=False)
    axes[1].set(xlabel="training samples, sorted", yscale="log", title="norms of the coefficients")
    axes[1].legend(frameon=False)
    save(figure, "multilabel")
    return result


if __name__ == "__main__":
    main()
