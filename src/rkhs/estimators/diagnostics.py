"""Diagnostics of a fitted model: numbers, and sentences that name its problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import as_tensor
from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor
from rkhs._core.threads import within_limit
from rkhs.estimators.autoencoder.base import BaseAutoencoder
from rkhs.estimators.autoencoder.settings import is_plain
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.choice_report import edge_sentences, overfit_sentence
from rkhs.models import lower_start
from rkhs.outputs import Euclidean

# Thresholds of the sentences; in 86 fits on 45 real sets only real near-duplicates or lost variance exceeded them.
_NOTHING, _DEAD, _INTERPOLATES = 0.9, 1e-8, 0.99
_LIMITS = {
    "near_duplicates": (
        0.1,
        "{:.0%} of the training items have a near-duplicate, so held-out errors look too small; drop them, or use "
        "sample_weight",
    ),
    "saturated": (0.5, "the loss is linear on {:.0%} of the training items: raise its parameter"),
    "in_sample_defect": (0.1, "the encoder reproduces the training codes with a relative error of {:.2f}"),
    "typical_similarity": (
        0.999,
        "all items look alike to the kernel (median similarity {:.4f}): lower its bandwidth",
    ),
}
_INTERPOLATED = "the decoder interpolates ({:.0f} degrees of freedom for {} items): raise its reg"
# Random starts, and most items: they end lower with one component and a given regulariser (studies/bench/starts.py).
_STARTS, _MOST = 5, 500


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a fitted model; None where a number does not apply. Errors are shares of the variance.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder, diagnose
    >>> found = diagnose(KernelAutoencoder(2).fit(load_iris().data[::3]))
    >>> found.converged, bool(found.leave_one_out_error > found.training_error), bool(found.near_duplicates < 0.1)
    (True, True, True)
    """

    training_error: float | None  # error of the training items with their own codes
    leave_one_out_error: float | None
    held_out_error: float | None  # error of the items ``X``, with refined codes if the model refines
    plain_error: float | None  # the same without refinement
    effective_rank: float  # participation ratio of the variances of the codes
    degrees_of_freedom: float | None  # trace of the map from targets to reconstructions; at n the decoder interpolates
    in_sample_defect: float | None  # relative error of the encoder on the training codes
    saturated: float | None  # share of the training items on which a robust loss is linear
    near_duplicates: float | None  # share of the training items with a near-duplicate among the others
    typical_similarity: float | None  # median of the normalised kernel values of different items
    lower_start: float | None  # relative fall of the objective from another start; 0 if none
    converged: bool | None
    warnings: tuple[str, ...]  # sentences that name a problem of the model


@within_limit
def diagnose(
    model: KernelEstimator, X: Any = None, *, at_most: int | None = None, starts: int | None = None
) -> Diagnostics:
    """Compute diagnostics of a fitted model: errors, degrees of freedom, near-duplicates and warnings.

    Errors are shares of the variance: ``sum_i ||x_i - f(g(x_i))||^2 / sum_i ||x_i - m||^2`` for the encoder ``g``, the
    decoder ``f`` and the training mean ``m``. One is the error of predicting ``m``.

    Parameters
    ----------
    model : estimator
        Fitted; any that has codes (``codes_``). Most numbers are those of an autoencoder.
    X : items, optional
        Items that were not trained on, as for ``transform``, to measure errors of an autoencoder on.
    at_most : int, optional
        Training items that are left out for the leave-one-out error, evenly spaced; None: all, one after the other.
    starts : int, optional
        Random starts to try, each a fit, until one ends lower than the model. None: five for an autoencoder with one
        component, a given ``reg``, ``n_init=1`` and at most 500 dense training items; none elsewhere. They need one
        hidden layer, the squared loss, and neither constraint, operators nor noise.

    Returns
    -------
    Diagnostics

    Raises
    ------
    NotFittedError
        Before fit.
    InputError
        If ``at_most`` or ``starts`` is no positive whole number.

    Notes
    -----
    Two inverses of n x n matrices, ``2 n^3``: about six evaluations of the objective; fifteen with refined codes, less
    with ``at_most``. Each start costs as much as a fit.

    References
    ----------
    Wahba (1990), Spline models for observational data, section 4.2, for the leave-one-out error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder, diagnose
    >>> X = load_iris().data
    >>> found = diagnose(KernelAutoencoder(2).fit(X[::2]), X[1::2])
    >>> bool(abs(found.leave_one_out_error - found.held_out_error) < 0.02), found.warnings
    (True, ())
    """
    check_is_fitted(model)
    at_most = None if at_most is None else check_count(at_most, "at_most")
    starts = None if starts is None else check_count(starts, "starts")
    facts: dict[str, Any] = dict.fromkeys(Diagnostics.__dataclass_fields__)
    Z = np.asarray(_codes_of(model), dtype=np.float64)
    spread = np.atleast_2d(np.cov(Z.T)) if len(Z) > 1 else np.zeros((Z.shape[1],) * 2)
    variances = np.linalg.eigvalsh(spread).clip(0.0)
    shares = variances / max(float(variances.max()), 1e-300)  # squares of variances may overflow
    facts["effective_rank"] = float(shares.sum() ** 2 / max(float((shares**2).sum()), 1e-300))
    if getattr(model, "converged_", None) is not None:
        facts["converged"] = bool(model.converged_)
    K = _training_gram(model)
    if K is not None and len(K) > 1:
        facts["near_duplicates"], facts["typical_similarity"] = _similarities(K)
    if isinstance(model, BaseAutoencoder):
        facts |= model._left_out(at_most=at_most)[0] | {"held_out_error": model.held_out_error_}
        facts["lower_start"] = _lower_start(model, starts)
        if X is not None:
            facts |= _held_out(model, X)
    elif getattr(model, "in_sample_defect_", None) is not None:
        facts["in_sample_defect"] = float(np.max(model.in_sample_defect_))
    sentences = _sentences(model, facts, variances)
    if X is not None and not isinstance(model, BaseAutoencoder):
        sentences.append(
            "held_out_error is computed for autoencoders alone: rkhs.evaluation.reconstruction(model, X) measures a "
            "KernelPCA, the attribute held_out_error_ a KernelMap"
        )
    facts["warnings"] = tuple(sentences)
    return Diagnostics(**facts)


def _codes_of(model: KernelEstimator) -> Any:
    if not hasattr(model, "codes_"):
        raise InputError(f"model must have codes; got {type(model).__name__}; its method score measures new items")
    return model.codes_


def _similarities(K: Tensor) -> tuple[float, float]:
    root = divisor(K.diagonal().clamp_min(0.0).sqrt())
    scaled = K / root[:, None] / root[None, :]
    off = scaled[~torch.eye(len(K), dtype=torch.bool, device=K.device)]
    duplicates = ((scaled.fill_diagonal_(-1.0) > 1.0 - 1e-10) & _equal(root)).any(1)
    return float(duplicates.to(torch.float64).mean()), float(off.median())


def _equal(root: Tensor) -> Tensor:
    return (root[:, None] - root[None, :]).abs() <= 1e-10 * root.max()


def _training_gram(model: KernelEstimator) -> Tensor | None:
    """Gram matrix of the training items, or of those that are kept; None if it can no longer be computed."""
    if isinstance(model, BaseAutoencoder) and model.support_items_ is None:
        return model.model_.training_gram(as_tensor(model.model_.layers[0].anchors))
    if getattr(model, "support_items_", None) is None:
        return None
    return model.kernel_._gram(model._support()).to(**model._options)


def _lower_start(model: BaseAutoencoder, starts: int | None) -> float | None:
    """Relative fall of the objective from another start; None if none is tried."""
    if not is_plain(model) or len(model.model_.layers) > 1:
        return None
    if starts is None:
        n, p = model.codes_.shape
        matters = p == 1 and model.n_init == 1 and model.candidates_ is None and n <= _MOST
        starts = _STARTS if matters else 0
    return lower_start(model.model_, model._options, float(model.objective_), starts) if starts else None


def _held_out(model: BaseAutoencoder, X: Any) -> dict[str, Any]:
    spread = float(model._target_spread(X).mean()) if model.model_.rebuilt.self_targets else 0.0
    if spread <= 0.0:
        return {}
    facts = {"held_out_error": float(model.reconstruction_error(X).mean()) / spread}
    plain = float(model._plain_errors(X).mean()) / spread if model._refinement else facts["held_out_error"]
    return facts | {"plain_error": plain}


def _sentences(model: KernelEstimator, facts: dict[str, Any], variances: np.ndarray) -> list[str]:
    """One sentence for each problem: what was found, and what to do."""
    sentences = []
    if facts["converged"] is False:
        sentences.append(f"the solver did not converge: {getattr(model, 'reason_', 'no reason given')}")
    if facts["lower_start"]:
        sentences.append(
            f"another start reaches an objective lower by {facts['lower_start']:.0%}: fit with n_init=20, or with more "
            "components"
        )
    sentences += [*edge_sentences(model), *_of_errors(model, facts)]
    dead = int((variances < _DEAD * variances.max()).sum()) if variances.max() > 0.0 else len(variances)
    if dead:
        sentences.append(f"{dead} of {len(variances)} components are constant: lower n_components, or lower reg")
    seen, n = dict(facts), len(model.codes_)
    if not isinstance(model, BaseAutoencoder):
        seen["in_sample_defect"] = None
    if model.kernel_.domain == "objects":
        seen["typical_similarity"] = None
    limits = _LIMITS | {"degrees_of_freedom": (_INTERPOLATES * n, _INTERPOLATED)}
    sentences += [text.format(seen[name], n) for name, (most, text) in limits.items() if (seen[name] or 0.0) > most]
    return sentences


def _of_errors(model: KernelEstimator, facts: dict[str, Any]) -> list[str]:
    """At most one sentence on the errors of new and of training items."""
    expected = facts["held_out_error"] if facts["held_out_error"] is not None else facts["leave_one_out_error"]
    vectors = isinstance(getattr(model, "output_", None), Euclidean)
    overfit = overfit_sentence(expected, facts["training_error"], vectors=vectors)
    if overfit is not None:
        return [overfit]
    if expected is None or expected <= _NOTHING:
        return []
    return [
        f"new items are rebuilt hardly better than by the mean (share of variance lost: {expected:.2f}): look "
        "for wrong rows (fit_robust), raise n_components, fit more items, or choose another kernel"
    ]
