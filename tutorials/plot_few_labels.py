"""Few labels: five per class
==========================

You have many rows and few labels. Codes need no labels, so they are learned from all rows; a small classifier is then
fitted to the labelled rows. This tutorial uses 500 of scikit-learn's digits, with five labels for each of the ten
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
# Codes from all rows, a classifier on fifty
# ------------------------------------------
#
# ``SmoothClassifier`` chooses its settings by leave-one-out in closed form, so it needs no validation set. The same
# classifier is fitted to the raw pixels, to principal components and to codes.

from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs.evaluation import SmoothClassifier
from rkhs.kernels import Gaussian

codes = {
    "raw pixels": X,
    "PCA, 10 components": PCA(10).fit_transform(X),
    "kernel PCA, 10 components": KernelPCA(10).fit_transform(X),
    "kernel autoencoder, 10 components": KernelAutoencoder(10).fit_transform(X),
}


def accuracy(Z: np.ndarray) -> float:
    """Accuracy on the hidden labels of a classifier fitted to the labelled rows."""
    return SmoothClassifier().fit(Z[labelled], y[labelled]).score(Z[hidden], y[hidden])


for name, Z in codes.items():
    print(f"{name}: {accuracy(Z):.1%} of the hidden labels")

# %%
# One draw of fifty labels is not enough: another draw changes every accuracy by several per cent. Always repeat it.

draws = []
for seed in range(10):
    again = np.random.default_rng(seed)
    labelled = np.concatenate([again.choice(np.flatnonzero(y == digit), 5, replace=False) for digit in range(10)])
    hidden = np.setdiff1d(np.arange(len(y)), labelled)
    draws.append([accuracy(Z) for Z in codes.values()])
for name, mean, error in zip(codes, np.mean(draws, 0), np.std(draws, 0, ddof=1) / 10**0.5, strict=True):
    print(f"{name}: {mean:.1%} +- {error:.1%}")

# %%
# Codes that are invariant to shifts
# ----------------------------------
#
# A contrastive model learns from pairs that should get similar codes. Here a pair is a digit and the same digit shifted
# by one pixel. Such an invariance can replace labels, if it holds for your data.

contrastive = KernelContrastive(
    20, kernel=Gaussian("median"), pairs="augment", augment="random_shift", loss="spectral", random_state=0
).fit(X)
Z = contrastive.transform(X)
shifts = []
for seed in range(10):
    again = np.random.default_rng(seed)
    labelled = np.concatenate([again.choice(np.flatnonzero(y == digit), 5, replace=False) for digit in range(10)])
    hidden = np.setdiff1d(np.arange(len(y)), labelled)
    shifts.append(accuracy(Z))
print(f"contrastive, 20 components: {np.mean(shifts):.1%} +- {np.std(shifts, ddof=1) / 10**0.5:.1%}")

# %%
# A plot
# ------

import matplotlib.pyplot as plt

from rkhs.plots import CodeMapDisplay

plane = KernelAutoencoder(2).fit(X)
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
CodeMapDisplay(plane.codes_, labels=y, title="500 digits, two components; no label was used").plot(axes)
plt.show()

# %%
# On your own table
# -----------------
#
# ``rkhs compare table.csv --predict class`` runs such a comparison of all labels with five random splits.
# ``rkhs.evaluation.compare_codes(X, y.astype(str), n_labels=50)`` returns the same numbers.
# See :doc:`/user/few_labels`.
