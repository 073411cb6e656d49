"""The last layer at fixed codes: a linear system with a closed form, for every operator and all sample weights."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rkhs._core.linalg import solve_positive

__all__ = ["Decoder", "optimal_decoder", "square_root"]


@dataclass(frozen=True)
class Decoder:
    """The optimal last layer at given codes.

    Parameters
    ----------
    coefficients : Tensor of shape (n, r)
        ``Phi A``: predictions are ``k(z, Z) Phi A``.
    root : Tensor of shape (n, r)
        ``Phi A^(1/2)``, so that ``N = root root^T``.
    value : float
        ``reg / 2 <T, Phi>``, the optimum of loss plus penalty.
    parameters : Tensor of shape (n, r)
        ``Phi`` itself.
    gap : float, default=0.0
        Duality gap of a robust layer: ``value`` is at most this far below the objective of these coefficients.
    saturated : Tensor of shape (n,), booleans, optional
        Rows where the loss is linear.
    solved : bool, default=True
        Whether the gap is within the tolerance.
    linear : Tensor of shape (p + 1, r), optional
        Of a semi-parametric layer: predictions are ``k(z, Z) Phi A + [z, 1] linear``.

    Raises
    ------
    InputError
        From :func:`optimal_decoder`, if the system is not positive definite.

    References
    ----------
    Laforgue et al. (2019), section 4.2, kernel ridge regression of the inputs on the codes.
    """

    coefficients: Tensor
    root: Tensor
    value: float
    parameters: Tensor
    gap: float = 0.0
    saturated: Tensor | None = None
    solved: bool = True
    linear: Tensor | None = None


def optimal_decoder(
    K: Tensor, codes: Tensor, target: Tensor, reg: float, operator: Tensor | None, weights: Tensor | None
) -> Decoder:
    """Minimise ``sum_i w_i 1/2 ||t_i - (K Phi A)_i||^2 + reg / 2 <K, Phi A Phi^T>`` over ``Phi``.

    Without an operator one Cholesky factorisation of ``K + reg diag(1 / w)``; with one the eigenbases of
    ``diag(w)^(1/2) K diag(w)^(1/2)`` and ``A``, so that no Kronecker system is ever built.

    Parameters
    ----------
    K : Tensor of shape (n, n)
        Gram matrix of the codes; its memory is used up.
    codes : Tensor of shape (n, p)
        Inputs of the last layer; here ``K`` says all of them.
    target : Tensor of shape (n, r)
        Coordinates of the targets.
    reg : float
        Positive.
    operator : Tensor of shape (r, r), optional
        Positive semi-definite ``A``; None is the identity.
    weights : Tensor of shape (n,), optional
        Sample weights that sum to one; None is ``1/n``.

    Returns
    -------
    Decoder

    Raises
    ------
    InputError
        If the system is not positive definite.

    References
    ----------
    Laforgue et al. (2019), section 4.2 (``N_KRR``), with weights and operators.
    """
    n, T = target.shape[0], target
    if operator is None:
        K.diagonal().add_(n * reg if weights is None else reg / weights)
        Phi = solve_positive(K, T, name="the decoder system K + n reg I")
        return Decoder(Phi, Phi, 0.5 * reg * float((T * Phi).sum()), Phi)
    w = weights.sqrt() if weights is not None else T.new_full((n,), n**-0.5)
    s, U = torch.linalg.eigh(w[:, None] * K * w[None, :])
    a, Q = torch.linalg.eigh(operator)
    Y = U.mT @ (w[:, None] * T) @ Q
    Phi = w[:, None] * (U @ (Y / (torch.outer(s.clamp_min(0.0), a.clamp_min(0.0)) + reg)) @ Q.mT)
    return Decoder(Phi @ operator, Phi @ square_root(operator), 0.5 * reg * float((T * Phi).sum()), Phi)


def square_root(A: Tensor) -> Tensor:
    """Symmetric square root of a positive semi-definite matrix.

    Parameters
    ----------
    A : Tensor of shape (p, p)

    Returns
    -------
    Tensor of shape (p, p)
        Negative eigenvalues, which are rounding, count as zero.

    References
    ----------
    Higham (2008), Functions of matrices, section 6.
    """
    values, vectors = torch.linalg.eigh(A)
    return (vectors * values.clamp_min(0.0).sqrt()) @ vectors.mT
