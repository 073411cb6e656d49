r"""A chemist: from SMILES to a map and back
========================================

You have a list of molecules. You want a picture of them, a few numbers for each, its neighbours, and perhaps a
prediction. This tutorial uses the 500 real molecules that travel with rkhs (MassBank records). It needs the extras
``chem`` and ``plots``.
"""

# %%
# Read the molecules
# ------------------
#
# A molecule is a SMILES, which is a text. The kernel turns it into a fingerprint: a list of the small fragments that it
# holds. The kernel value of two molecules is the share of fragments that they have in common (Tanimoto).

import matplotlib.pyplot as plt
import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Chem import Crippen, Draw

from rkhs import KernelAutoencoder, KernelPCA, diagnose
from rkhs.data import load_molecules
from rkhs.kernels import MoleculeTanimoto

RDLogger.DisableLog("rdApp.*")  # RDKit's own remarks on the records
smiles = list(load_molecules().smiles)
order = np.random.default_rng(0).permutation(len(smiles))
train = [smiles[i] for i in order[:400]]
test = [smiles[i] for i in order[400:]]
train[:3]

# %%
# Ten numbers for each molecule
# -----------------------------
#
# The model is fitted on 400 molecules. The other 100 stay aside, so that the result can be measured honestly. No
# setting has to be chosen: the regulariser is found on held-out molecules during the fit.

model = KernelAutoencoder(10, kernel=MoleculeTanimoto()).fit(train)
codes = model.transform(test)
codes.shape

# %%
# How good are ten numbers? ``reconstruction`` says how much of the variance between molecules can be rebuilt from their
# codes. Kernel PCA with the same kernel stands beside it.

from rkhs.evaluation import decoding_quality, reconstruction

pca = KernelPCA(10, kernel=MoleculeTanimoto()).fit(train)
print(f"rebuilt from ten numbers: {reconstruction(model, test).share:.0%}")
print(f"the same by kernel PCA:   {reconstruction(pca, test).share:.0%}")

# %%
# The share is not large: molecules differ in many ways, and ten numbers are few. A more telling question: does the
# code of a molecule lead back to that molecule? The next line ranks all 500 molecules for each code.

quality = decoding_quality(model, test, candidates=train + test, truth=np.arange(400, 500), ks=(1, 5, 10))
{f"among the best {k}": f"{share:.0%}" for k, share in quality.top.items()}

# %%
# A map
# -----
#
# Two numbers a molecule make a picture. Colour shows a property that the model has never seen: the logarithm of the
# octanol-water partition (Crippen's estimate).

from rkhs.plots import CodeMapDisplay

plane = KernelAutoencoder(2, kernel=MoleculeTanimoto()).fit(train)
logp = np.array([Crippen.MolLogP(Chem.MolFromSmiles(text)) for text in train])
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
title = "400 molecules by two numbers"
CodeMapDisplay(plane.codes_, values=logp, title=title, value_name="logP (Crippen)").plot(axes)
plt.show()

# %%
# Neighbours, and the way back
# ----------------------------
#
# ``decode`` takes codes and ranks molecules. Here the first new molecule, and the three training molecules whose
# features lie nearest to what its code stands for.

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
# Codes are ordinary numbers, so any method of scikit-learn can learn from them. ``SmoothRegressor`` is a good
# partner. As an honest comparison the same method learns from the 2,048 bits themselves, and a kernel ridge
# regression from the kernel.

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
# All molecules here have labels, and then the kernel itself is the best input. Codes pay when labels are few, when
# the codes are wanted anyway, or when the next program accepts a few numbers and not a kernel.
#
# Can the model be trusted?
# -------------------------

found = diagnose(model, test)
print(
    f"share of the variance lost: {found.held_out_error:.2f} on new molecules, {found.training_error:.2f} in training"
)
found.warnings

# %%
# Keep it
# -------
#
# The file holds numbers and texts only, and no program code. :doc:`/user/model_files` says more.

import tempfile
from pathlib import Path

import rkhs

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "molecules.rkhs"
    rkhs.save(model, path)
    again = rkhs.load(path)
np.array_equal(again.transform(test[:5]), model.transform(test[:5]))

# %%
# The same from the command line, for a file of yours:
#
# .. code-block:: sh
#
#    rkhs fit molecules.csv --smiles smiles --n-components 10 -o model.rkhs --codes codes.csv
#    rkhs compare new.csv --model model.rkhs --top-k 1,5,10
#    rkhs decode model.rkhs codes.csv --candidates library.smi --n-best 5 -o nearest.csv
