"""Certificates of a dual solution per sample: optimality, support, saturation; output operators in coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.problems.dual import DualProblem


@dataclass(frozen=True)
class SampleReport:
    """Certificates of every sample for every setting of a batch."""

    gaps: Tensor  # (n, B): duality gaps
    kkt: Tensor  # (n, B): residuals of the optimality conditions
    support: Tensor  # (n, B): samples with ``alpha_i != 0``
    saturated: Tensor  # samples at the cap ``||alpha_i|| = kappa`` (Huber) or 1 (norms): the loss is linear there


def sample_report(problem: DualProblem, points: Tensor) -> SampleReport:
    """Certificates of a solution, sample by sample."""
    W = points.permute(1, 2, 0).contiguous()
    _, gaps, _ = problem.certificates(W)
    tau = problem.tau
    # In the variable tau W the prox of the row part is that of the conjugate with step one, and no square overflows.
    rows, V = problem.rows.with_tau(torch.ones_like(tau)), W * tau
    R = problem.targets[..., None] - problem.apply(W)
    step = 1.0 / (1.0 + rows.curvature)
    proximal = rows.prox((V + R) * step, step)
    kkt = torch.linalg.vector_norm(V - proximal, dim=1) * problem.root_weights[:, None]
    norms = torch.linalg.vector_norm(W, dim=1)
    saturated = (norms >= problem.rows.caps() * (1.0 - 1e-9)) & (norms > 0)
    return SampleReport(gaps, kkt, norms > 0, saturated)


def covariance_operator(U: Tensor, weights: Tensor | None = None) -> Tensor:
    """The operator learned from the outputs, their empirical covariance ``A = sum_i w_i y_i (x) y_i``."""
    return U.mT @ U / len(U) if weights is None else (U * weights[:, None]).mT @ U


def restricted_operator(A: Tensor, basis: Tensor | None) -> Tensor:
    """An operator on ``R^q`` in an orthonormal basis of the span of the training outputs."""
    if basis is None:
        return A
    image = A @ basis.mT
    inside = basis @ image
    defect = float(torch.linalg.norm(image - basis.mT @ inside))
    scale = float(torch.linalg.norm(image))
    if defect > 1e-6 * max(scale, torch.finfo(A.dtype).tiny):
        raise InputError(
            "operator must map the span of the training outputs into itself (assumption 3 of the double "
            f"representer theorem); {defect / scale:.1%} of its image lies outside, of which there are no data. "
            "Use operator='covariance' or None, give more training outputs than output dimensions, or approximate the "
            "dual by the leading eigenvectors of the operator"
        )
    return (inside + inside.mT) / 2
