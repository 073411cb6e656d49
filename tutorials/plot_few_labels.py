"""Few labels: five a class
========================

You have many rows and few labels. Codes need no labels, so they are learned from all rows; a small classifier then
learns from the labelled ones. This tutorial uses 500 of scikit-learn's digits, with five labels for each of the ten
classes.
"""

# %%
# The task
# --------

import numpy as np
from sklearn.datasets import load_digits

data = load_digits()
X, y = data.data[:500] / 16.0, data.target[:500]
rng = np.random.default_rng(0)
labelled = np.concatenate([rng.choice(np.flatnonzero(y == digit), 5, replace=False) for digit in range(10)])
hidden = np.setdiff1d(np.arange(len(y)), labelled)
len(labelled), len(hidden)

# %%
# Codes from all rows, a head on fifty
# ------------------------------------
#
# ``SmoothClassifier`` chooses its settings by leave-one-out in closed form, so that no label has to be kept for
# validation. The same head learns from the raw pixels, from principal components and from codes.

from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs.evaluation import SmoothClassifier
from rkhs.kernels import Gaussian

codes = {
    "raw pixels": X,
    "PCA, 10 numbers": PCA(10).fit_transform(X),
    "kernel PCA, 10 numbers": KernelPCA(10).fit_transform(X),
    "kernel autoencoder, 10 numbers": KernelAutoencoder(10).fit_transform(X),
}


def right(Z: np.ndarray) -> float:
    """Share of the hidden labels that a head on the labelled rows finds."""
    return SmoothClassifier().fit(Z[labelled], y[labelled]).score(Z[hidden], y[hidden])


for name, Z in codes.items():
    print(f"{name}: {right(Z):.1%} of the hidden labels")

# %%
# One draw of fifty labels says little: another draw moves every line by several percent. Always repeat it.

draws = []
for seed in range(10):
    again = np.random.default_rng(seed)
    labelled = np.concatenate([again.choice(np.flatnonzero(y == digit), 5, replace=False) for digit in range(10)])
    hidden = np.setdiff1d(np.arange(len(y)), labelled)
    draws.append([right(Z) for Z in codes.values()])
for name, mean, error in zip(codes, np.mean(draws, 0), np.std(draws, 0, ddof=1) / 10**0.5, strict=True):
    print(f"{name}: {mean:.1%} +- {error:.1%}")

# %%
# Codes that know what does not matter
# ------------------------------------
#
# A contrastive model learns from pairs that should be alike. Here a pair is a digit and the same digit moved by one
# pixel. That knowledge is worth labels, if it is true of your data.

contrastive = KernelContrastive(
    20, kernel=Gaussian("median"), pairs="augment", augment="random_shift", loss="spectral", random_state=0
).fit(X)
Z = contrastive.transform(X)
shifts = []
for seed in range(10):
    again = np.random.default_rng(seed)
    labelled = np.concatenate([again.choice(np.flatnonzero(y == digit), 5, replace=False) for digit in range(10)])
    hidden = np.setdiff1d(np.arange(len(y)), labelled)
    shifts.append(right(Z))
print(f"contrastive, 20 numbers: {np.mean(shifts):.1%} +- {np.std(shifts, ddof=1) / 10**0.5:.1%}")

# %%
# A picture
# ---------

import matplotlib.pyplot as plt

from rkhs.plots import CodeMapDisplay

plane = KernelAutoencoder(2).fit(X)
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
CodeMapDisplay(plane.codes_, labels=y, title="500 digits by two numbers; no label was used").plot(axes)
plt.show()

# %%
# On your own table
# -----------------
#
# ``rkhs compare table.csv --target class --few-labels 50`` runs such a comparison with five random splits. The same
# numbers come from ``rkhs.evaluation.compare_codes(X, y, n_labels=50)``. See :doc:`/user/few_labels`.
