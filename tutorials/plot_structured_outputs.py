"""Structured outputs: many numbers, or an object
===============================================

Some predictions are not one number. They are half an image, a set of labels, a curve or a molecule. This tutorial
predicts the lower half of a digit from the upper half, with wrong rows among the training targets, and then a
molecule from a few properties.
"""

# %%
# Half an image from the other half
# ---------------------------------
#
# Inputs are the upper 32 pixels of scikit-learn's digits, outputs the lower 32. A tenth of the training outputs is
# spoilt: the pixels are inverted, and three times as strong.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

images = load_digits().data[:600] / 16.0
X, Y = images[:400, :32], images[:400, 32:].copy()
X_new, Y_new = images[400:, :32], images[400:, 32:]
spoilt = np.arange(0, 400, 10)
Y[spoilt] = 3.0 * (1.0 - Y[spoilt])

# %%
# One model for all 32 outputs. The squared loss follows the wrong rows. The Huber loss counts a large residual by its
# length and not by its square; ``loss="huber"`` finds its threshold by itself.

from rkhs import OperatorKernelRegressor

squared = OperatorKernelRegressor("gaussian", reg=1e-3).fit(X, Y)
huber = OperatorKernelRegressor("gaussian", loss="huber", reg=1e-3).fit(X, Y)
clean = OperatorKernelRegressor("gaussian", reg=1e-3).fit(np.delete(X, spoilt, 0), np.delete(Y, spoilt, 0))
for name, model in {"squared": squared, "Huber": huber, "squared, without the wrong rows": clean}.items():
    print(f"{name}: mean squared error {((model.predict(X_new) - Y_new) ** 2).mean():.4f}")

# %%
# The model says by itself which rows it does not believe, and how far its objective can be from the optimum at most.

suspected = set(huber.saturated_.tolist())
print(f"wrong rows: {len(spoilt)}; suspected: {len(suspected)}; both: {len(suspected & set(spoilt.tolist()))}")
print(f"objective {huber.objective_:.4f}, at most {huber.gap_:.1e} above the optimum")

# %%

figure, axes = plt.subplots(3, 1, figsize=(8, 3.9), layout="constrained")
rows = {
    "truth": Y_new,
    "predicted, Huber loss": huber.predict(X_new),
    "predicted, squared loss": squared.predict(X_new),
}
for panel, (title, lower) in zip(axes, rows.items(), strict=True):
    whole = np.c_[X_new, lower][:12].reshape(12, 8, 8)
    panel.imshow(np.hstack(list(np.pad(whole, ((0, 0), (0, 0), (0, 1))))), cmap="gray_r", vmin=0, vmax=1)
    panel.axhline(3.5, color="C3", linewidth=0.7)
    panel.set_title(f"{title} (below the line)", loc="left", fontsize=9)
    panel.axis("off")
plt.show()

# %%
# A molecule from a few properties
# --------------------------------
#
# ``InputOutputKernelRegressor`` predicts the *feature* of an object, and then looks for the candidate whose feature
# lies nearest. Inputs are eight properties of a molecule that RDKit computes from its formula. Outputs are the
# molecules, known by their fingerprints. The candidates are all 500 molecules.

from rdkit.Chem import Descriptors, MolFromSmiles

from rkhs import InputOutputKernelRegressor
from rkhs.data import load_molecules
from rkhs.kernels import Gaussian, Tanimoto
from rkhs.metrics import top_k_accuracy, truth_ranks

molecules = load_molecules()
bits = molecules.fingerprints.astype(float)
names = ("MolWt", "MolLogP", "TPSA", "NumHDonors", "NumHAcceptors", "NumRotatableBonds", "RingCount", "FractionCSP3")
properties = np.array([[getattr(Descriptors, n)(MolFromSmiles(s)) for n in names] for s in molecules.smiles])
properties = (properties - properties[:400].mean(0)) / properties[:400].std(0)

iokr = InputOutputKernelRegressor(Gaussian(0.05), output_kernel=Tanimoto(), reg=1e-4).fit(properties[:400], bits[:400])
scores = iokr.scores(properties[400:], candidates=bits)
ranks = truth_ranks(scores, np.arange(400, 500))
nearest = np.argsort(((properties[400:, None] - properties[None]) ** 2).sum(-1), axis=1)
for k in (1, 10, 50):
    print(f"the molecule is among the first {k}: {top_k_accuracy(ranks, k=k):.0%} (by chance {k / 500:.1%})")

# %%
# The model has seen none of the 100 molecules that it is asked for. It learns which fragments go with which
# properties, and ranks the candidates by them.
#
# A set of labels, a word or a graph works in the same way: give their kernel as ``output_kernel``.
# :doc:`/user/regression` says which loss to take and what the certificates mean.
