"""Generalisation bounds as computable terms, and the algorithmic stability of operator-valued machines.

Each bound reads ``true loss <= training loss + terms`` with probability at least ``1 - delta``; losses are means over
samples. The terms are returned one by one, because some hold only up to a universal constant: their use is to compare
settings and sample sizes, not to certify a number. None of them is tight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_choice, check_count, check_number, real_array
from rkhs._core.errors import InputError
from rkhs.losses import Radial, as_loss


@dataclass(frozen=True)
class Bound:
    """Terms of a generalisation bound; their sum is the allowed excess over the training loss.

    With probability at least ``1 - delta`` the expected loss is at most the training loss plus ``sum_j terms_j``.

    Parameters
    ----------
    terms : dict of str to float
        Named summands, none negative.
    exact : bool
        Whether all constants are explicit; else some terms hold up to a universal constant.

    Raises
    ------
    InputError
        If a term is not finite.

    References
    ----------
    Bartlett and Mendelson (2002), Rademacher and Gaussian complexities, theorem 8, for bounds of this form.

    Examples
    --------
    >>> from rkhs.metrics import Bound
    >>> Bound({"complexity": 0.2, "deviation": 0.05}, exact=True).total
    0.25
    """

    terms: dict[str, float]
    exact: bool

    def __post_init__(self) -> None:
        """Refuse terms that overflowed."""
        check_finite("bound", self.terms)

    @property
    def total(self) -> float:
        """Sum of the terms."""
        return math.fsum(self.terms.values())


def check_finite(what: str, terms: dict[str, float]) -> None:
    """Raise :class:`InputError` if numbers that were computed from arguments overflowed."""
    overflowed = [name for name, value in terms.items() if not math.isfinite(value)]
    if overflowed:
        raise InputError(f"the {what} is not finite ({', '.join(overflowed)}): pass smaller numbers, in other units")


def check_delta(delta: float) -> float:
    """Check a probability of failure, in (0, 1)."""
    value = check_number(delta, "delta", above=0.0, at_most=1.0)
    if value >= 1.0:
        raise InputError("delta must be > 0 and < 1; got 1.0")
    return value


def autoencoder_terms(
    n: int, M: float, norms: tuple[float, float], trace: float, L: float, origin: float, *, C0: float, delta: float
) -> Bound:
    """The terms of :func:`~rkhs.metrics.bound` for an autoencoder of two layers."""
    s, t = norms
    constant = check_number(C0, "C0", at_least=0.0)
    terms = {
        "complexity": constant * L * M * s * t * math.sqrt(trace / n),
        "origin": 16.0 * math.sqrt(math.pi) * M * t * math.sqrt(origin / n),
        "deviation": 24.0 * M * M * math.sqrt(math.log(2.0 / check_delta(delta)) / (2.0 * n)),
    }
    return Bound(terms, exact=False)


def contrastive_bound(
    loss: str,
    *,
    n_components: int,
    map_norm: float,
    traces: Any,
    n: int,
    kernel_bound: float,
    operator_norm: float | None = None,
    delta: float = 0.05,
) -> Bound:
    """Excess of the expected contrastive loss over the training loss, for every map of the given norm.

    ``2 sqrt(2) Lip omega sqrt(h T) / n + 3 R sqrt(ln(2 / delta) / (2 n))`` with ``T`` the sum of the three traces and
    ``b = ||W||_op^2 kappa`` a bound on the squared norm of codes; simple loss: ``Lip = sqrt(6 b)``, ``R = 4 b``;
    spectral: ``Lip = sqrt((2 sqrt(b) + 2 b^(3/2))^2 + 4 b + 4 b^3)``, ``R = 4 b + b^2``.

    Parameters
    ----------
    loss : {"simple", "spectral"}
        As a mean over samples, without penalty.
    n_components : int
        ``h``.
    map_norm : float
        ``omega``, at least the Hilbert-Schmidt norm of ``W`` (``KernelContrastive.map_norm_``).
    traces : sequence of three floats
        Traces of the Gram matrices of anchors, positives and negatives; n each for a normalised kernel.
    n : int
        Number of anchors, drawn independently with their positive and negative.
    kernel_bound : float
        ``kappa``, at least the supremum of ``k(x, x)``, over all inputs and not the sample only.
    operator_norm : float, optional
        Of ``W``; 1 for orthonormal columns. Default: ``map_norm``.
    delta : float, default=0.05
        Probability of failure.

    Returns
    -------
    Bound
        Terms ``complexity`` and ``deviation``; exact. The leading order of the spectral complexity is
        ``omega^4 kappa^(3/2)``.

    References
    ----------
    Esser et al. (2024), theorem 6, with explicit constants from Maurer (2016), corollary 4, and the correction D9 of
    ``docs/papers/representation_learning.md``.

    Examples
    --------
    >>> from rkhs.metrics.bounds import contrastive_bound
    >>> bound = contrastive_bound(
    ...     "simple", n_components=2, map_norm=2**0.5, operator_norm=1.0, traces=(1e4,) * 3, n=10000, kernel_bound=1.0
    ... )
    >>> sorted(bound.terms)
    ['complexity', 'deviation']
    """
    check_choice(loss, "loss", ("simple", "spectral"))
    h, n = check_count(n_components, "n_components"), check_count(n, "n")
    omega = check_number(map_norm, "map_norm", at_least=0.0)
    kappa = check_number(kernel_bound, "kernel_bound", at_least=0.0)
    norm = omega if operator_norm is None else check_number(operator_norm, "operator_norm", at_least=0.0)
    if norm > omega * (1.0 + 1e-9):
        raise InputError(f"operator_norm must be at most map_norm, {omega:g}; got {norm:g}")
    T = real_array(as_numpy(traces, "traces"), "traces")
    if T.shape != (3,) or not np.isfinite(T).all() or (T < 0.0).any():
        raise InputError(f"traces must be three numbers >= 0, of anchors, positives and negatives; got shape {T.shape}")
    b = norm * norm * kappa
    if loss == "simple":
        lipschitz, spread = math.sqrt(6.0 * b), 4.0 * b
    else:
        lipschitz = math.sqrt(4.0 * b * (1.0 + b) * (1.0 + b) + 4.0 * b + 4.0 * b * b * b)
        spread = 4.0 * b + b * b
    terms = {
        "complexity": 2.0 * math.sqrt(2.0) * lipschitz * omega * math.sqrt(h * float(T.sum())) / n,
        "deviation": 3.0 * spread * math.sqrt(math.log(2.0 / check_delta(delta)) / (2.0 * n)),
    }
    return Bound(terms, exact=True)


def downstream_bound(unsupervised_loss: float, class_shares: Any, *, loss: str = "linear") -> float:
    """Loss of the mean classifier on a fresh pair of classes, from the contrastive loss alone.

    With ``tau = sum_c rho_c^2`` the chance that two classes coincide: the linear loss is exactly
    ``L_un / (1 - tau)``; a hinge or logistic loss normalised to ``l(0) = 1`` is at most ``(L_un - tau) / (1 - tau)``.

    Parameters
    ----------
    unsupervised_loss : float
        Expected simple contrastive loss with class-conditional positives and independent negatives.
    class_shares : array of shape (c,)
        ``rho``: not negative, summing to one, at least two classes.
    loss : {"linear", "normalized"}, default="linear"
        ``"normalized"``: convex losses with ``l(0) = 1``.

    Returns
    -------
    float

    Raises
    ------
    InputError
        For shares that are no distribution over at least two classes.

    References
    ----------
    Esser et al. (2024), "Error bound for supervised downstream task"; Saunshi et al. (2019), theorem 4.1;
    ``docs/papers/representation_learning.md``.

    Examples
    --------
    >>> from rkhs.metrics.bounds import downstream_bound
    >>> downstream_bound(-0.25, [0.5, 0.5])
    -0.5
    """
    check_choice(loss, "loss", ("linear", "normalized"))
    value = check_number(unsupervised_loss, "unsupervised_loss")
    rho = real_array(as_numpy(class_shares, "class_shares"), "class_shares")
    good = rho.ndim == 1 and np.isfinite(rho).all() and (rho >= 0.0).all() and abs(float(rho.sum()) - 1.0) < 1e-8
    if not good or np.count_nonzero(rho) < 2:
        raise InputError(f"class_shares must be a distribution over at least two classes; got {class_shares!r}")
    tau, denominator = float((rho * rho).sum()), float((rho * (1.0 - rho)).sum())
    return (value if loss == "linear" else value - tau) / denominator


@dataclass(frozen=True)
class Stability:
    """Constants of a machine that is stable to the removal of one sample.

    Parameters
    ----------
    M : float
        Largest loss of any sample.
    C : float
        Lipschitz constant of the loss on the residuals that can occur.
    beta : float
        ``C^2 gamma^2 / (reg n)``: largest change of any loss when one training sample is removed.
    n : int
        Number of training samples.

    Raises
    ------
    InputError
        For constants that are not finite; from :meth:`bound`, for ``delta`` out of (0, 1).

    References
    ----------
    Laforgue et al. (2020), definitions 6 and 7, theorems 8 to 10.

    Examples
    --------
    >>> from rkhs.losses import Huber
    >>> from rkhs.metrics import stability_constants
    >>> found = stability_constants(Huber(0.5), 1000, 0.1, kernel_bound=1.0, output_bound=1.0)
    >>> found.C, found.beta, round(found.bound(delta=0.05).total, 2)
    (0.5, 0.0025, 0.46)
    """

    M: float
    C: float
    beta: float
    n: int

    def __post_init__(self) -> None:
        """Refuse constants that overflowed."""
        check_finite("stability", {"M": self.M, "C": self.C, "beta": self.beta})

    def bound(self, delta: float = 0.05) -> Bound:
        """Excess of the true over the training loss, ``2 beta + (4 n beta + M) sqrt(ln(1 / delta) / (2 n))``."""
        deviation = (4.0 * self.n * self.beta + self.M) * math.sqrt(math.log(1.0 / check_delta(delta)) / (2.0 * self.n))
        return Bound({"stability": 2.0 * self.beta, "deviation": deviation}, exact=True)


def stability_constants(loss: Any, n: int, reg: float, *, kernel_bound: float, output_bound: float) -> Stability:
    """Constants ``M``, ``C`` and ``beta`` for any loss ``g(||r||)``.

    The objective at zero bounds the norm, ``||h|| <= sqrt(2 g(M_Y) / reg)``, so residuals stay below
    ``r = M_Y + gamma sqrt(2 g(M_Y) / reg)``; then ``M = g(r)``, ``C = g'(r)`` and ``beta = C^2 gamma^2 / (reg n)``.

    Parameters
    ----------
    loss : str or Loss
        A loss of the norm of the residual.
    n : int
        Number of training samples.
    reg : float
        Positive.
    kernel_bound : float
        ``gamma^2``, at least the operator norm of ``K(x, x)`` for all inputs.
    output_bound : float
        ``M_Y``, at least the norm of all outputs.

    Returns
    -------
    Stability
        All zero if the loss of every output is zero (``epsilon >= M_Y``), since the machine is zero then.

    Raises
    ------
    InputError
        For arguments out of range, and losses that depend on more than the norm.

    References
    ----------
    Laforgue et al. (2020), theorems 8 to 10 and the table of constants, from one formula for every loss.

    Examples
    --------
    >>> from rkhs.losses import Huber
    >>> from rkhs.metrics import stability_constants
    >>> stability_constants(Huber(0.5), 100, 0.1, kernel_bound=1.0, output_bound=1.0).beta
    0.025
    """
    profile = as_loss(loss)
    if not isinstance(profile, Radial):
        raise InputError(f"loss must be a function of the norm of the residual, such as Huber(1.0); got {loss!r}")
    n, reg = check_count(n, "n"), check_number(reg, "reg", above=0.0)
    gamma2 = check_number(kernel_bound, "kernel_bound", at_least=0.0)
    M_Y = check_number(output_bound, "output_bound", at_least=0.0)
    start = float(profile.profile(torch.tensor(M_Y, dtype=torch.float64)))
    if start == 0.0:
        return Stability(0.0, 0.0, 0.0, n)
    residual = torch.tensor(M_Y + math.sqrt(2.0 * gamma2 * start / reg), dtype=torch.float64)
    C = float(profile.slope(residual))
    return Stability(float(profile.profile(residual)), C, C * C * gamma2 / (reg * n), n)
