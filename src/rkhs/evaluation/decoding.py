"""Reconstruction errors of items, and ranks of the true items when codes are decoded against candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from rkhs._core.checks import check_count, check_list, check_methods
from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit
from rkhs.estimators import KernelAutoencoder, KernelEstimator, KernelPCA
from rkhs.metrics import top_k_accuracy, truth_ranks
from rkhs.outputs import Euclidean


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Squared reconstruction errors, next to those of predicting the mean of the training items.

    Parameters
    ----------
    errors : ndarray of shape (m,)
        Squared distance of each item from its reconstruction.
    spread : ndarray of shape (m,)
        Squared distance of each item from the mean of the training items.
    space : {"input", "feature"}
        Where distances are taken: between vectors, or between features ``phi(x)``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import reconstruction
    >>> X = load_iris().data
    >>> found = reconstruction(KernelPCA(2, kernel="linear", columns="raw").fit(X), X)
    >>> found.space, found.errors.shape, bool(found.share > 0.97)
    ('input', (150,), True)
    """

    errors: np.ndarray
    spread: np.ndarray
    space: str

    @property
    def share(self) -> float:
        """Share of the variance around the training mean that is rebuilt; 1 is perfect, 0 as bad as the mean."""
        total = float(self.spread.mean())
        return 1.0 - float(self.errors.mean()) / total if total > 0.0 else float("nan")


@within_limit
def reconstruction(
    model: KernelEstimator, X: Any, *, space: str = "auto", diag: Any = None, codes: Any = None
) -> Reconstruction:
    """Rebuild items from their codes and measure the errors.

    Parameters
    ----------
    model : KernelAutoencoder or KernelPCA
        Fitted without ``targets``.
    X : array (m, d), kernel values (m, n), or list of m objects
    space : {"auto", "input", "feature"}, default="auto"
        Kernel PCA on vectors can be measured in both spaces; "auto" is its pre-image in the space of inputs. An
        autoencoder is measured where it was trained.
    diag : float or array of shape (m,), optional
        ``k(x, x)`` of the items, for ``kernel="precomputed"``.
    codes : array of shape (m, p), optional
        Codes of the items where they are known, which saves an autoencoder most of the time.

    Returns
    -------
    Reconstruction

    Raises
    ------
    InputError
        If the model cannot be measured that way.

    References
    ----------
    Laforgue et al. (2019), section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> from rkhs.evaluation import reconstruction
    >>> X = load_iris().data
    >>> found = reconstruction(KernelAutoencoder(2).fit(X[::2]), X[1::2])
    >>> found.space, bool(found.share > 0.9)
    ('input', True)
    """
    if isinstance(model, KernelPCA):
        return _of_kernel_pca(model, X, space, diag)
    if not isinstance(model, KernelAutoencoder):
        raise InputError(f"model must be a KernelAutoencoder or a KernelPCA; got a {type(model).__name__}")
    native = "input" if isinstance(model.output_, Euclidean) else "feature"
    if space not in ("auto", native):
        raise InputError(f"space={space!r}: this autoencoder rebuilds in the {native} space; use 'auto' or {native!r}")
    errors = model.reconstruction_error(X, diag=diag, codes=codes)
    if not model.model_.rebuilt.self_targets:
        raise InputError("the model was fitted with targets; use its reconstruction_error(X, targets=...)")
    return Reconstruction(errors, model._target_spread(X, diag=diag), native)


def _of_kernel_pca(model: KernelPCA, X: Any, space: str, diag: Any) -> Reconstruction:
    native = "input" if model.kernel_.domain == "vectors" and space != "feature" else "feature"
    errors = model.reconstruction_error(X, space=native, diag=diag)

    def spread(items: Any, diagonal: Any) -> np.ndarray:
        if native == "input":
            return np.asarray(((items.cpu().numpy() - np.asarray(model.output_.mean)) ** 2).sum(axis=1))
        known = model.kernel_._diag(items) if diagonal is None else diagonal
        return np.asarray(model.model_.norms(model._cross_gram(items), known).cpu().numpy())

    return Reconstruction(errors, model._in_tiles(X, spread, model._new_diagonal(X, diag)), native)


class DecodingQuality(NamedTuple):
    """Ranks of the true items among the candidates.

    Parameters
    ----------
    ranks : ndarray of shape (m,)
        1 is best; ties count against the truth, as in :func:`rkhs.metrics.truth_ranks`.
    top : dict of int to float
        Share of items among the best ``k``.
    n_candidates : int
        Number of candidates.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import decoding_quality
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> found = decoding_quality(KernelPCA(3, kernel="linear").fit(X[:20]), X[20:], ks=(1,))
    >>> found.ranks[:3], found.top, found.n_candidates
    (array([1., 1., 1.]), {1: 1.0}, 10)
    """

    ranks: np.ndarray
    top: dict[int, float]
    n_candidates: int


@within_limit
def decoding_quality(
    model: KernelEstimator,
    X: Any,
    candidates: Any = None,
    truth: Any = None,
    *,
    ks: Sequence[int] = (1, 5, 10),
    **options: Any,
) -> DecodingQuality:
    """Encode items, decode the codes against candidates, and rank the true item of each code.

    Parameters
    ----------
    model : estimator with ``transform`` and ``decode``
    X : items, m of them
        For an unbiased result none that the model was fitted on.
    candidates : items, default=None
        As ``model.decode`` takes them; None: ``X`` itself.
    truth : array of shape (m,), default=None
        Index of the true candidate of each item, negative where it is missing; needed with ``candidates``.
    ks : sequence of int, default=(1, 5, 10)
    **options
        More arguments of ``model.decode``, such as ``diag``. Without ``by`` candidates are ranked by features: an exact
        code is always nearest to the code of its own item.

    Returns
    -------
    DecodingQuality

    Raises
    ------
    InputError
        For candidates without truth, indices out of range, or what the model refuses.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import decoding_quality
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> decoding_quality(KernelPCA(2).fit(X[:40]), X[40:], ks=(5,)).top[5] > 0.5
    True
    """
    check_methods(model, "model", ("transform", "decode"))
    wanted = [check_count(k, "ks") for k in check_list(ks, "ks", "whole numbers")]
    if (candidates is None) != (truth is None):
        raise InputError(
            "candidates and truth must be given together: truth holds the index of the true candidate of each item"
        )
    if "by" in signature(model.decode).parameters:
        options.setdefault("by", "features")
    codes = model.transform(X)
    if truth is None:
        candidates, truth = X, np.arange(len(codes))
    ranking = model.decode(codes, candidates, **options)
    in_order = np.argsort(ranking.indices, axis=1)
    scores = [*-np.take_along_axis(ranking.distances, in_order, 1)]
    ranks = truth_ranks(scores, truth)
    return DecodingQuality(ranks, {k: top_k_accuracy(ranks, k) for k in wanted}, ranking.indices.shape[1])
