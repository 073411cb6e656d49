r"""A researcher: formulas, certificates, tables
============================================

You know kernel methods. You want to check that the code computes the formulas of the papers, to compare algorithms, to
replace one part, and to reproduce the tables of the papers. This tutorial uses 300 of scikit-learn's digits.
"""

# %%
# One objective
# -------------
#
# Everywhere in the library the objective is
#
# .. math:: \frac1n \sum_{i=1}^n \ell\bigl(f(x_i) - y_i\bigr) + \frac{\mathrm{reg}}{2} \lVert f \rVert^2,
#           \qquad \ell(r) = \tfrac12 \lVert r \rVert^2 \text{ for the squared loss.}
#
# :doc:`/notation` translates the symbols and scales of four papers. For vector outputs the function is :math:`f(x) =
# \sum_i k(x, x_i) c_i`, so the objective can be computed by hand and compared.

import numpy as np
from sklearn.datasets import load_digits

from rkhs import OperatorKernelRegressor
from rkhs.kernels import Gaussian
from rkhs.losses import Huber

images = load_digits().data[:300] / 16.0
X, Y = images[:, :32], images[:, 32:]
kernel, reg, kappa = Gaussian(0.1), 1e-3, 1.0
model = OperatorKernelRegressor(kernel, loss=Huber(kappa), reg=reg, center=False, tol=1e-10).fit(X, Y)

K = np.asarray(kernel(X))
C = model.dual_coef_
residuals = np.linalg.norm(K @ C - Y, axis=1)
huber = np.where(residuals <= kappa, 0.5 * residuals**2, kappa * (residuals - 0.5 * kappa))
by_hand = huber.mean() + reg / 2 * np.trace(C.T @ K @ C)
print(f"objective of the model {model.objective_:.10f}, by hand {by_hand:.10f}")

# %%
# A certificate
# -------------
#
# The dual of the problem bounds the optimum from below. ``gap_`` is the difference of the primal and the dual
# objective: a proven bound for every solver. The gap is a sum of one term per sample, and each is zero only if the
# optimality conditions hold.

print(f"gap {model.gap_:.1e}, largest part {model.certificates_.max():.1e}")
print(f"samples where the loss is linear: {len(model.saturated_)} of {len(X)}")

# %%
# An algorithm race
# -----------------
#
# Problems and solvers are independent. A deep restricted kernel machine is a problem with orthogonality constraints;
# four solvers start from the same random point. :doc:`/gallery/plot_algorithms` plots the costs of five over time, and
# ``studies/bench/drkm.py`` measures Table 1 of the paper.

import torch

from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.protocols import Monitor
from rkhs.solvers import CayleyAdam, ProjectedGradient, RiemannianLBFGS, Subspace

base = Gaussian(0.01)
gram = base(torch.tensor(images))
problem = ConstrainedDRKM.from_gram(gram, center=False, kernels=(base,), n_components=(10, 5), eta=(1.0, 1.0))
start = problem.random_start(torch.Generator().manual_seed(0))
for solver in (Subspace(), ProjectedGradient(tol=1e-7), RiemannianLBFGS(tol=1e-7), CayleyAdam(learning_rate=1e-2)):
    run = solver.solve(problem, start, Monitor(time_limit=2.0))
    print(f"{type(solver).__name__:18} cost {run.value:.6f} after {run.n_iter} iterations, {run.reason.name}")

# %%
# Replace one part
# ----------------
#
# A kernel of your own is a class of a few lines. ``check_kernel`` tests the guarantees that estimators rely on:
# symmetry, positive semi-definiteness, gradients. :doc:`/user/add_a_kernel` explains the interface.

from rkhs import KernelAutoencoder
from rkhs.kernels import Radial
from rkhs.testing import check_kernel


class RationalQuadratic(Radial):
    """k(x, y) = 1 / (1 + gamma ||x - y||^2)."""

    _power = 2  # gamma multiplies the squared distance

    def __init__(self, gamma="median"):
        self.gamma = gamma

    def _profile(self, D):
        return 1.0 / (1.0 + self._gamma * D)

    def _slope(self, D):
        return -self._gamma / (1.0 + self._gamma * D) ** 2


guarantees = check_kernel(RationalQuadratic(0.5), images[:20])
print(f"{len(guarantees)} guarantees kept, such as: {guarantees[0]}")
KernelAutoencoder(3, kernel=RationalQuadratic(), reg=1e-4).fit(images[:200]).reconstruction_error(images[200:]).mean()

# %%
# The tables of the papers
# ------------------------
#
# Each paper has a page with its equations, their place in the code, what the paper leaves open, and the reproduced
# tables, with the differences:
#
# * :doc:`/papers/kernel_autoencoders`
# * :doc:`/papers/constr_drkm`
# * :doc:`/papers/representation_learning`
# * :doc:`/papers/duality_robust_losses`
#
# The runs are commands in a checkout of the repository. :doc:`/results/papers` lists them all with models, data and
# verdicts. Those on benchmark data need the folder ``RKHS_DATA``. A run with ``--cells FILE`` can be interrupted and
# continued.
#
# .. code-block:: sh
#
#    ./dev bench drkm --table-only --processor               # Table 1 of the deep machine paper
#    ./dev reproduce drkm_table2 --reduced --cells t2        # its Table 2; no data needed
#    ./dev reproduce nci_tables --parts table1 --cells t1    # Table 1 of the kernel autoencoder paper
#    ./dev reproduce few_labels_figures 1 --cells f1         # Figure 1 of the representation-learning paper
#    ./dev reproduce yeast                                   # yeast, of the duality paper
