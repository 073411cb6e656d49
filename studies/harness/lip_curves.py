"""The lip figure of Laforgue et al. (2020), section 4.3: leave-one-out errors of functional Huber regression.

Lip acceleration from EMG, 32 records and 4 outliers (copies of four records with outputs times -1.2), all 36 counted in
the error. For each basis size the regulariser is the one of the best leave-one-out ridge machine (closed form).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from rkhs.kernels import FunctionalLaplacian
from rkhs.losses import Huber, Squared
from rkhs.outputs import Functional
from rkhs.problems.dual import dual_problem
from rkhs.solvers import GapSolver, leave_one_out_residuals
from studies.harness.scripts import data_folder

__all__ = ["KAPPAS", "REGS", "SIZES", "curves", "figure"]

SIZES = (4, 5, 6, 7, 15)
KAPPAS = np.linspace(0.05, 2.0, 50)
REGS = np.logspace(-7, 2, 37)


def curves() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """EMG, lip acceleration with the outliers appended, and times on [0, 1]."""
    data = np.load(data_folder("emg_lip") / "emg_lip" / "emg_lip.npz", allow_pickle=False)
    bad = data["outlier_idx"]
    X = np.concatenate([data["emg"], data["emg"][bad]])
    Y = np.concatenate([data["lip"], -1.2 * data["lip"][bad]])
    t = data["t"]
    return X, Y, (t - t[0]) / (t[-1] - t[0])


def figure(
    solver: GapSolver,
    convention: str,
    *,
    center: bool = False,
    gamma: float = 7.0,
    printed: bool = False,
    sizes: Sequence[int] = SIZES,
) -> dict[str, Any]:
    """Errors (sizes, kappas), ridge errors (sizes,), regs, iterations and the largest relative gap.

    ``gains`` holds a matrix a size: errors of each left-out curve less those of ridge, shape (curves, kappas).
    ``center`` subtracts the mean curve of each fold; the published figure does not. ``gamma`` is that of the kernel:
    7 in the authors' script, 1 in the text. ``printed``: eigenvalues ``1/(j + 1)^2``, one for each function, as the
    text has them; the script has one for each frequency.
    """
    X, Y, t = curves()
    reference = convention == "reference"
    rule = "mean" if reference else "trapezoid"
    K = torch.from_numpy(FunctionalLaplacian(gamma, None if reference else t, rule)(X))
    T = torch.from_numpy(Y)
    n = len(T)
    others = torch.tensor([[j for j in range(n) if j != i] for i in range(n)])
    grams = K[others[:, :, None], others[:, None, :]]
    cross = K[torch.arange(n)[:, None], others]
    out: dict[str, Any] = {"errors": [], "gains": [], "ridge": [], "regs": [], "iterations": [], "gap": 0.0}
    for size in sizes:
        basis = "cosine_sine" if reference else "fourier"
        space, R = Functional.fit(T, basis=basis, n_basis=size, times=t, rule=rule, center=False)
        a = torch.arange(2.0, size + 2.0, dtype=T.dtype) ** -2 if printed else torch.from_numpy(space.eigenvalues)
        # Each fold has its own mean curve; without centring it is zero.
        means = (T.sum(0) - T) / (n - 1) if center else torch.zeros_like(T)
        centred = R[others] - (means @ torch.from_numpy(space.functions * space.weights).mT)[:, None]

        def error(h: torch.Tensor, space: Functional = space, means: torch.Tensor = means) -> torch.Tensor:
            """Squared L2 errors of predictions in coordinates, shape (n, S), one per curve; h of shape (n, S, m)."""
            difference = space.decode(h.reshape(-1, h.shape[-1])).view(n, h.shape[1], -1) + (means - T)[:, None]
            return difference**2 @ torch.from_numpy(space.weights)

        shifted = R - R.mean(0) if center else R
        whole = dual_problem([(K, a)], shifted, Squared(), list(REGS))
        fitted = shifted - leave_one_out_residuals(whole)
        by_reg = error(fitted.transpose(0, 1))
        ridge = by_reg.mean(0)
        reg = float(REGS[int(ridge.argmin())])
        losses, parts = [Huber(float(k)) for k in KAPPAS], zip(grams, centred, strict=True)
        problems = [dual_problem([(gram, a)], targets, losses, reg) for gram, targets in parts]
        batches = [solver.solve_batch(problem) for problem in problems]
        folds = list(zip(problems, batches, strict=True))
        h = [row @ p.coefficients(b.points) for row, (p, b) in zip(cross, folds, strict=True)]
        by_curve = error(torch.stack(h) * a).numpy()
        out["errors"].append(by_curve.mean(0))
        out["gains"].append(by_curve - by_reg[:, [int(ridge.argmin())]].numpy())
        out["ridge"].append(float(ridge.min()))
        out["regs"].append(reg)
        out["iterations"].append(float(torch.stack([b.n_iter for b in batches]).double().mean()))
        out["gap"] = max(out["gap"], *(float((b.gaps / p.null_value()).max()) for p, b in folds))
    return out
