"""Expression data: many genes, few samples
========================================

Counts of genes, with one column per gene and one row per sample; some samples have a label. This tutorial goes from
counts to a map, to outlying samples, and to predicted labels. The libraries contain no table of counts, so a synthetic
one is drawn here: 60 samples of three tissues, 1,000 genes, of which 60 differ between tissues.
"""

# %%
# A table of counts
# -----------------
#
# Sequencing depth differs between samples by a factor of several, and counts vary more than Poisson counts do.

import numpy as np

rng = np.random.default_rng(0)
n_samples, n_genes = 60, 1000
tissue = np.arange(n_samples) % 3
log_means = np.tile(rng.normal(3.0, 1.5, n_genes), (3, 1))
log_means[:, :60] += rng.normal(0.0, 1.0, (3, 60))
depth = rng.lognormal(0.0, 0.5, n_samples)
rates = depth[:, None] * np.exp(log_means[tissue])
counts = rng.poisson(rates * rng.gamma(5.0, 1 / 5.0, rates.shape))
counts.shape, counts.sum(1).min(), counts.sum(1).max()

# %%
# Files often have one row per gene. In Python, transpose (``counts.T``); in the shell, ``rkhs map counts.csv
# --transpose --labels samples.csv --color tissue -o map.png``.
#
# Depth and logarithm
# -------------------
#
# Divide by the depth of the sample (counts per million), then take ``log2(1 + x)``. Without the first step depth
# dominates the map; without the second the few genes with the largest counts do.

X = np.log2(1.0 + counts / counts.sum(1, keepdims=True) * 1e6)

# %%
# Genes that do not vary only add noise. Keep the most variable ones. The choice uses no label.

spread = X.std(0)
X = X[:, np.argsort(spread)[::-1][:300]]

# %%
# A map, and how good it is
# -------------------------
#
# ``columns="raw"``: all columns have the same unit, so they are not standardised.

import matplotlib.pyplot as plt

from rkhs import KernelMap

model = KernelMap(2, n_neighbors=10, columns="raw").fit(X)
plt.scatter(*model.codes_.T, c=tissue)
plt.title("60 samples; the colour is the tissue, which the map does not use")
plt.show()

# %%
# Outlying samples
# ----------------
#
# A mixed-up or degraded sample is unlike the other samples. ``p_values`` tests whether a sample is like the training
# samples; with 30 training samples no p-value is below 1/31.

from rkhs import KernelNovelty

known, new = X[:30], X[30:].copy()
new[0] = rng.permutation(new[0])  # genes of one sample permuted
p = KernelNovelty(columns="raw").fit(known).p_values(new)
p[0], np.median(p[1:]), 1 / 31

# %%
# Few labels
# ----------
#
# Five samples per tissue have a label. Codes are learned from all samples, a classifier from the labelled ones; for
# comparison, the same classifier is fitted to all genes.

from rkhs import KernelPCA, SmoothClassifier

labelled = np.arange(n_samples) < 15
Z = KernelPCA(5, columns="raw").fit_transform(X)
for name, features in (("five components", Z), ("300 genes", X)):
    score = SmoothClassifier().fit(features[labelled], tissue[labelled]).score(features[~labelled], tissue[~labelled])
    print(f"{name}: {score:.0%} of the other 45 samples")

# %%
# Synthetic counts are easier than real ones: there are no batches, sexes and ages. If samples come from several batches
# or patients, keep each of these in one fold: pass ``groups=`` when you compare models, ``--groups COLUMN`` in the
# shell.
