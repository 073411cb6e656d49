r"""A chemist: from SMILES to a map and back
========================================

You have a list of molecules. You want a map of them, a code for each molecule, its neighbours, and perhaps a
prediction. This tutorial uses the 500 real molecules of rkhs (MassBank records). It needs the extras ``chem`` and
``plots``.
"""

# %%
# Read the molecules
# ------------------
#
# A molecule is a SMILES string. The kernel computes its fingerprint: the set of small fragments that it contains. The
# kernel value of two molecules is the share of fragments that they have in common (Tanimoto).

import matplotlib.pyplot as plt
import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Chem import Crippen, Draw

from rkhs import KernelAutoencoder, KernelPCA, diagnose
from rkhs.data import load_molecules
from rkhs.kernels import MoleculeTanimoto

RDLogger.DisableLog("rdApp.*")  # RDKit's messages about the records
smiles = list(load_molecules().smiles)
order = np.random.default_rng(0).permutation(len(smiles))
train = [smiles[i] for i in order[:400]]
test = [smiles[i] for i in order[400:]]
train[:3]

# %%
# Ten components
# --------------
#
# The model is fitted to 400 molecules. The other 100 are test data. No setting has to be chosen: the regulariser is
# selected on held-out molecules during the fit.

model = KernelAutoencoder(10, kernel=MoleculeTanimoto()).fit(train)
codes = model.transform(test)
codes.shape

# %%
# How good are ten components? ``reconstruction`` measures the share of the variance between molecules that the codes
# explain. Kernel PCA with the same kernel is the baseline.

from rkhs.evaluation import decoding_quality, reconstruction

pca = KernelPCA(10, kernel=MoleculeTanimoto()).fit(train)
print(f"explained by ten components: {reconstruction(model, test).share:.0%}")
print(f"the same by kernel PCA:      {reconstruction(pca, test).share:.0%}")

# %%
# The share is not large: molecules differ in many ways, and ten components are few. More relevant is whether the code
# of a molecule is decoded to that molecule. The next line ranks all 500 molecules for each code.

quality = decoding_quality(model, test, candidates=train + test, truth=np.arange(400, 500), ks=(1, 5, 10))
{f"among the best {k}": f"{share:.0%}" for k, share in quality.top.items()}

# %%
# A map
# -----
#
# Two components are a map. The colour is a property that the model does not use: the logarithm of the octanol-water
# partition coefficient (Crippen's estimate).

from rkhs.plots import CodeMapDisplay

plane = KernelAutoencoder(2, kernel=MoleculeTanimoto()).fit(train)
logp = np.array([Crippen.MolLogP(Chem.MolFromSmiles(text)) for text in train])
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
title = "400 molecules, two components"
CodeMapDisplay(plane.codes_, values=logp, title=title, value_name="logP (Crippen)").plot(axes)
plt.show()

# %%
# Neighbours and decoding
# -----------------------
#
# ``decode`` ranks molecules for each code. Here are the first new molecule and the three training molecules that rank
# first for its code.

ranking = model.decode(codes[:1], train, n_best=3)
shown = [test[0], *(train[i] for i in ranking.indices[0])]
figure, panels = plt.subplots(1, 4, figsize=(12, 2.6), layout="constrained")
for panel, text, title in zip(panels, shown, ("new molecule", "nearest", "second", "third"), strict=True):
    panel.imshow(np.asarray(Draw.MolToImage(Chem.MolFromSmiles(text), size=(360, 260))))
    panel.set_title(title)
    panel.axis("off")
plt.show()

# %%
# Predict a property
# ------------------
#
# Codes are numeric features, so any scikit-learn method can use them. ``SmoothRegressor`` works well. For comparison
# the same method is fitted to the 2,048 bits, and a kernel ridge regression with the kernel.

from sklearn.kernel_ridge import KernelRidge

from rkhs.data import molecular_fingerprints
from rkhs.evaluation import SmoothRegressor

new_logp = np.array([Crippen.MolLogP(Chem.MolFromSmiles(text)) for text in test])
kernel = MoleculeTanimoto()
ridge = KernelRidge(alpha=0.1, kernel="precomputed").fit(np.asarray(kernel(train)), logp - logp.mean())
bits = [molecular_fingerprints(part).bits.astype(float) for part in (train, test)]
scores = {
    "ten codes": SmoothRegressor().fit(model.codes_, logp).score(codes, new_logp),
    "2,048 bits": SmoothRegressor().fit(bits[0], logp).score(bits[1], new_logp),
    "the whole kernel": 1
    - ((ridge.predict(np.asarray(kernel(test, train))) + logp.mean() - new_logp) ** 2).mean() / new_logp.var(),
}
for name, score in scores.items():
    print(f"{name}: share of the variance of logP explained {score:.2f}")

# %%
# All molecules here have labels, and then the kernel itself is best. Codes are useful when labels are few, when the
# codes are needed anyway, or when the next program accepts a few features but no kernel.
#
# Can the model be trusted?
# -------------------------

diagnosis = diagnose(model, test)
print(
    f"share of the variance lost: {diagnosis.held_out_error:.2f} on new molecules, "
    f"{diagnosis.training_error:.2f} in training"
)
diagnosis.warnings

# %%
# Save the model
# --------------
#
# The file contains only numbers and strings, no code. See :doc:`/user/model_files`.

import tempfile
from pathlib import Path

import rkhs

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "molecules.rkhs"
    rkhs.save(model, path)
    loaded = rkhs.load(path)
np.array_equal(loaded.transform(test[:5]), model.transform(test[:5]))

# %%
# The same from the command line, for a file of yours:
#
# .. code-block:: sh
#
#    rkhs fit molecules.csv --smiles smiles --n-components 10 -o model.rkhs --codes codes.csv
#    rkhs compare new.csv --model model.rkhs
#    rkhs decode model.rkhs codes.csv --candidates library.smi --n-best 5 -o nearest.csv
