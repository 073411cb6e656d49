"""What a dual solution says about each sample: optimality, support, saturation; and output operators in coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.errors import InputError
from rkhs.problems.dual import DualProblem

__all__ = [
    "covariance_operator",
    "operator_from_gram",
    "restricted_operator",
    "sample_report",
]


@dataclass(frozen=True)
class SampleReport:
    """Facts about every sample of every machine of a batch.

    Parameters
    ----------
    gaps : Tensor of shape (F, n, B)
        ``l_i(h(x_i)) + l_i*(-alpha_i) + <alpha_i, h(x_i)>``, weights included; their weighted mean is the gap.
    kkt : Tensor of shape (F, n, B)
        ``||alpha_i - prox_{f*}(alpha_i + y_i - h(x_i))||`` with the conjugate of the loss: zero exactly at the optimum.
    support : Tensor of shape (F, n, B), booleans
        Samples with ``alpha_i != 0``.
    saturated : Tensor of shape (F, n, B), booleans
        Samples at the cap ``||alpha_i|| = kappa`` (Huber) or 1 (norms): the loss is linear there.

    References
    ----------
    Laforgue et al. (2020): ``docs/papers/duality_robust_losses.md``.
    """

    gaps: Tensor
    kkt: Tensor
    support: Tensor
    saturated: Tensor


def sample_report(problem: DualProblem, points: Tensor) -> SampleReport:
    """Certificates of a solution, sample by sample.

    Parameters
    ----------
    problem : DualProblem
    points : Tensor of shape (F, B, n, q)
        As returned by a solver.

    Returns
    -------
    SampleReport

    References
    ----------
    Laforgue et al. (2020): ``docs/papers/duality_robust_losses.md``.
    """
    W = points.permute(0, 2, 3, 1).contiguous()
    _, gaps, _ = problem.certificates(W)
    tau = problem.tau
    # In the variable tau W the prox of the row part is that of the conjugate with step one, and no square overflows.
    rows, V = problem.rows.with_tau(torch.ones_like(tau)), W * tau[:, None, None, :]
    R = problem.targets[..., None] - problem.apply(W)
    step = 1.0 / (1.0 + rows.curvature)
    moved = rows.prox((V + R) * step[:, None, None, :], step)
    kkt = torch.linalg.vector_norm(V - moved, dim=2) * problem.root_weights[:, :, None]
    norms = torch.linalg.vector_norm(W, dim=2)
    caps = problem.rows.caps()
    saturated = (norms >= caps * (1.0 - 1e-9)) & (norms > 0)
    return SampleReport(gaps, kkt, norms > 0, saturated)


def covariance_operator(U: Tensor, weights: Tensor | None = None) -> Tensor:
    """The operator learned from the outputs, their empirical covariance ``A = sum_i w_i y_i (x) y_i``.

    It keeps the span of the outputs, so assumption 3 holds always, and weighs directions by how much the outputs vary.

    Parameters
    ----------
    U : Tensor of shape (n, r)
        Coordinates of the outputs.
    weights : Tensor of shape (n,), optional
        Sample weights that sum to one; default ``1/n``.

    Returns
    -------
    Tensor of shape (r, r)
        ``U^T diag(w) U``.

    References
    ----------
    Laforgue et al. (2020), remark 1; ``docs/papers/duality_robust_losses.md``.
    """
    return U.mT @ U / len(U) if weights is None else (U * weights[:, None]).mT @ U


def operator_from_gram(U: Tensor, K_A: Tensor, name: str = "operator") -> Tensor:
    """An operator on outputs that are known through Gram matrices only, in coordinates.

    Parameters
    ----------
    U : Tensor of shape (n, r)
        Coordinates, ``U U^T = [<y_k, y_l>]``.
    K_A : Tensor of shape (n, n)
        ``<y_k, A y_l>``.
    name : str
        The argument, for messages.

    Returns
    -------
    Tensor of shape (r, r)
        ``U^+ K_A U^+T``.

    Raises
    ------
    InputError
        If no operator that keeps the span of the outputs (assumption 3) has these inner products.

    References
    ----------
    Laforgue et al. (2020), assumption 3; ``docs/papers/duality_robust_losses.md``.
    """
    inverse = torch.linalg.pinv(U)
    A = inverse @ K_A @ inverse.mT
    defect = float(torch.linalg.norm(U @ A @ U.mT - K_A))
    if defect > 1e-6 * max(float(torch.linalg.norm(K_A)), torch.finfo(K_A.dtype).tiny):
        raise InputError(_assumption(name, defect / float(torch.linalg.norm(K_A))))
    return (A + A.mT) / 2


def restricted_operator(A: Tensor, basis: Tensor | None, name: str = "operator") -> Tensor:
    """An operator on ``R^q`` in an orthonormal basis of the span of the training outputs.

    Parameters
    ----------
    A : Tensor of shape (q, q)
    basis : Tensor of shape (r, q) or None
        Orthonormal rows; None: the coordinate axes, which every operator keeps.
    name : str
        The argument, for messages.

    Returns
    -------
    Tensor of shape (r, r)
        ``B A B^T``.

    Raises
    ------
    InputError
        If ``A`` leads out of the span (assumption 3 fails).

    References
    ----------
    Laforgue et al. (2020), assumption 3.
    """
    if basis is None:
        return A
    image = A @ basis.mT
    inside = basis @ image
    defect = float(torch.linalg.norm(image - basis.mT @ inside))
    scale = float(torch.linalg.norm(image))
    if defect > 1e-6 * max(scale, torch.finfo(A.dtype).tiny):
        raise InputError(_assumption(name, defect / scale))
    return (inside + inside.mT) / 2


def _assumption(name: str, defect: float) -> str:
    return (
        f"{name} must map the span of the training outputs into itself (assumption 3 of the double "
        f"representer theorem); {defect:.1%} of its image lies outside, where the data say nothing. "
        "Use operator='covariance' or None, give more training outputs than output dimensions, or approximate the dual "
        "by the leading eigenvectors of the operator"
    )
