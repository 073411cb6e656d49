"""A signal group: windows of a recording
======================================

You have a recording of several channels. You want a code for each window, a model of the usual windows, and a list of
the unusual ones. This tutorial uses a real electroencephalogram of four channels, 800 samples each, from matplotlib's
sample data.
"""

# %%
# Cut the recording into windows
# ------------------------------
#
# A window is 40 samples of one channel. The first three quarters of the recording are for training, the last quarter
# for testing. No window overlaps both parts.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook

recording = np.frombuffer(cbook.get_sample_data("eeg.dat", asfileobj=True).read(), dtype=float).reshape(800, 4)
recording = (recording - recording.mean(0)) / recording.std(0)
WIDTH, STEP, CUT = 40, 10, 600


def windows(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows (n, WIDTH) between two samples, channel after channel, and their first samples."""
    begins = np.arange(start, stop - WIDTH + 1, STEP)
    cut = [recording[b : b + WIDTH, channel] for channel in range(4) for b in begins]
    return np.array(cut), np.tile(begins, 4)


X, _ = windows(0, CUT)
X_new, begins = windows(CUT, 800)
X.shape, X_new.shape

# %%

figure, axes = plt.subplots(figsize=(10, 4), layout="constrained")
for channel in range(4):
    axes.plot(recording[:, channel] - 6 * channel, color="C0", linewidth=0.8)
axes.axvspan(CUT, 800, color="grey", alpha=0.2, linewidth=0)
axes.set(xlabel="sample", yticks=[-6 * c for c in range(4)], yticklabels=[f"channel {c}" for c in range(4)])
axes.set_title("the recording; grey: test part")
plt.show()

# %%
# Four components
# ---------------
#
# No setting has to be chosen. The explained share of the variance is measured on the new windows, and compared with
# principal components.

from sklearn.decomposition import PCA

from rkhs import KernelAutoencoder, diagnose

model = KernelAutoencoder(4).fit(X)
back = model.inverse_transform(model.transform(X_new))
pca = PCA(4).fit(X)
plain = pca.inverse_transform(pca.transform(X_new))
spread = ((X_new - X.mean(0)) ** 2).sum()
print(f"explained, kernel autoencoder:   {1 - ((back - X_new) ** 2).sum() / spread:.2f}")
print(f"explained, principal components: {1 - ((plain - X_new) ** 2).sum() / spread:.2f}")

# %%

figure, panels = plt.subplots(1, 4, figsize=(10, 3.0), sharey=True, layout="constrained")
for channel, panel in enumerate(panels):
    row = channel * (len(X_new) // 4) + 7
    panel.plot(X_new[row], color="grey", label="new window")
    panel.plot(back[row], color="C0", label="reconstruction")
    panel.set(title=f"channel {channel}", xlabel="sample")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# Which windows are unusual?
# --------------------------
#
# ``fit_robust`` leaves out windows that the model of the other windows does not fit, and scores every window: a score
# above 1 is unusual. We add an artefact to the test part, a short step such as that of a loose electrode, and compute
# the scores.

from rkhs import fit_robust

corrupted = X_new.copy()
artefact = (begins == 660) & (np.arange(len(begins)) < len(begins) // 4)  # one window of channel 0
corrupted[artefact, 15:25] += 6.0
result = fit_robust(KernelAutoencoder(4), X)
scores = result.score_items(corrupted)
print(f"score of the corrupted window: {scores[artefact][0]:.2f}")
print(f"largest score of the others: {scores[~artefact].max():.2f}, their median: {np.median(scores[~artefact]):.2f}")

# %%
# Windows that are shifted
# ------------------------
#
# A window that begins slightly later contains the same wave. ``ShiftInvariant`` compares windows under all shifts,
# ``GlobalAlignment`` also under time warping. Two components with the first kernel are a map, coloured by the standard
# deviation of the window.

from rkhs.plots import CodeMapDisplay

shifted = KernelAutoencoder(2, kernel="sink").fit(X)
strength = X.std(1)
figure, axes = plt.subplots(figsize=(6.5, 4.8), layout="constrained")
title = "windows, compared under all shifts"
CodeMapDisplay(shifted.codes_, values=strength, title=title, value_name="standard deviation").plot(axes)
plt.show()

# %%
# Can the model be trusted?
# -------------------------
#
# Neighbouring windows overlap, so the training windows are not independent: an error estimated on some of them is
# unreliable. Use the error on the part of the recording that no training window overlaps.

report = diagnose(model, X_new)
print(
    f"share of the variance lost: {report.held_out_error:.2f} on new windows, {report.training_error:.3f} in training"
)
report.warnings

# %%
# For curves on an uneven grid use ``kernel="functional_gaussian"`` or ``FunctionalGaussian(times=...)``: distances are
# then integrals over time. From files, ``rkhs fit windows.csv --kind curves --read header=0 -o model.rkhs`` reads a
# table whose columns are named by their times, and ``--kind series`` reads series of any length.
# :doc:`/user/read_any_file` lists the formats.
