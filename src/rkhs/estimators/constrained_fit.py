"""Fitting a kernel autoencoder whose codes obey a constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor
from rkhs.problems.sphere_autoencoder import SphereAutoencoder, jittered_factor
from rkhs.problems.start import kernel_pca_scores, normalise_scale
from rkhs.protocols import Monitor, Solution
from rkhs.solvers.lbfgs import LBFGS

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = ["solve_constrained"]


def solve_constrained(
    estimator: KernelAutoencoder,
    settings: Any,
    K: Tensor,
    coordinates: Tensor,
    weights: Tensor | None,
    previous: list[Tensor] | None,
) -> tuple[SphereAutoencoder, Solution]:
    """Solve from every start and keep the lowest objective.

    Parameters
    ----------
    estimator : KernelAutoencoder
    settings : Settings
    K : Tensor of shape (n, n)
        Gram matrix of the encoder.
    coordinates : Tensor of shape (n, q)
        Of the targets.
    weights : Tensor of shape (n,), optional
    previous : list of Tensor, optional
        Codes of shape (n, p) of the last fit, for a warm start.

    Returns
    -------
    problem : SphereAutoencoder
    solution : Solution

    Raises
    ------
    InputError
        For weights or components that the constraint does not allow.

    References
    ----------
    Esser et al. (2024), theorem 5.
    """
    p = settings.widths[0]
    if weights is not None and estimator.constraint == "whiten":
        raise InputError("sample_weight must be equal for constraint='whiten'")
    if estimator.constraint == "whiten" and p > K.shape[0]:
        raise InputError(f"n_components must be at most the number of rows for constraint='whiten'; got {p}")
    problem = SphereAutoencoder(
        jittered_factor(K),
        coordinates,
        settings.decoder_kernels[0],
        p,
        (settings.reg[0], settings.reg[1]),
        estimator.constraint,
        float(estimator.softness),
        weights,
    )
    rng = check_seed(estimator.random_state)
    best: Solution | None = None
    for attempt in range(estimator.n_init):
        if attempt == 0 and previous is not None:
            start = problem.point(previous[0])
        elif attempt == 0 and estimator.init == "kpca":
            start = problem.start(_scores(K, p, weights))
        else:
            start = problem.start(torch.as_tensor(rng.standard_normal((K.shape[0], p))).to(K))
        monitor = Monitor(
            verbose=estimator.verbose, label=f"{type(estimator).__name__} start {attempt + 1}/{estimator.n_init}"
        )
        solution = LBFGS(estimator.max_iter, estimator.tol).solve(problem, start, monitor)
        if best is None or solution.value < best.value:
            best = solution
    assert best is not None
    return problem, best


def _scores(K: Tensor, p: int, weights: Tensor | None) -> Tensor:
    """Kernel PCA scores, every column at the same scale: a circle of codes needs both of its axes."""
    scores, _ = kernel_pca_scores(K, min(p, K.shape[0]), weights)
    spread = scores.std(0).clamp_min(1e-6 * float(divisor(scores.abs().max())))
    padded = torch.cat([scores / spread, scores.new_zeros(K.shape[0], max(0, p - scores.shape[1]))], 1)
    return normalise_scale(padded, weights)
