"""Structured outputs: a vector, or an object
===========================================

Some outputs are not scalars: half an image, a set of labels, a curve or a molecule. This tutorial predicts the lower
half of a digit from the upper half, with wrong rows among the training targets, and then a molecule from a few
properties.
"""

# %%
# Half an image from the other half
# ---------------------------------
#
# Inputs are the upper 32 pixels of scikit-learn's digits, outputs the lower 32. 10 % of the training outputs are
# corrupted: the pixels are inverted and multiplied by three.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

images = load_digits().data[:600] / 16.0
X, Y = images[:400, :32], images[:400, 32:].copy()
X_new, Y_new = images[400:, :32], images[400:, 32:]
corrupted = np.arange(0, 400, 10)
Y[corrupted] = 3.0 * (1.0 - Y[corrupted])

# %%
# There is one model for all 32 outputs. The squared loss is sensitive to the wrong rows. The Huber loss is linear in
# the norm of large residuals; ``loss="huber"`` chooses its threshold.

from rkhs import OperatorKernelRegressor

squared = OperatorKernelRegressor("gaussian", reg=1e-3).fit(X, Y)
huber = OperatorKernelRegressor("gaussian", loss="huber", reg=1e-3).fit(X, Y)
clean = OperatorKernelRegressor("gaussian", reg=1e-3).fit(np.delete(X, corrupted, 0), np.delete(Y, corrupted, 0))
for name, model in {"squared": squared, "Huber": huber, "squared, without the wrong rows": clean}.items():
    print(f"{name}: mean squared error {((model.predict(X_new) - Y_new) ** 2).mean():.4f}")

# %%
# The model reports suspected rows, and a bound on the distance of its objective from the optimum.

suspected = set(huber.saturated_.tolist())
print(f"wrong rows: {len(corrupted)}; suspected: {len(suspected)}; both: {len(suspected & set(corrupted.tolist()))}")
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
# ``InputOutputKernelRegressor`` predicts the *feature* of an object, and then the candidate with the nearest feature.
# Inputs are eight properties of a molecule that RDKit computes from its structure. Outputs are the molecules,
# represented by their fingerprints. The candidates are all 500 molecules.

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
# None of the 100 test molecules is in the training data. The model learns which fragments correlate with which
# properties, and ranks the candidates by them.
#
# Sets of labels, words and graphs work in the same way: pass their kernel as ``output_kernel``. :doc:`/user/regression`
# describes the losses and the certificates.
