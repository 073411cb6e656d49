"""How high decoding ranks the items that the codes came from."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from rkhs._core.arrays import read_values
from rkhs._core.checks import check_count, check_list, check_methods
from rkhs._core.errors import InputError
from rkhs._core.threads import within_limit
from rkhs.estimators import KernelEstimator
from rkhs.metrics import top_k_accuracy


class DecodingQuality(NamedTuple):
    """Ranks of the true items among the candidates.

    Parameters
    ----------
    ranks : ndarray of shape (m,)
        1 is best; ties count against the truth.
    top : dict of int to float
        Share of items among the best ``k``.
    n_candidates : int
        How many there were to choose from.

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
    """Encode items, decode the codes against candidates, and say how high the items themselves rank.

    Parameters
    ----------
    model : estimator with ``transform`` and ``decode``
    X : items, m of them
        For an honest number none that the model was fitted on.
    candidates : items, default=None
        What to choose from, as ``model.decode`` takes it; None: ``X`` itself.
    truth : array of shape (m,), default=None
        Number of each item's own candidate; needed with ``candidates``.
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
        For candidates without truth, numbers beyond them, or what the model refuses.

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
        raise InputError("truth numbers the candidate of each item: give it with candidates, and only then")
    if "by" in signature(model.decode).parameters:
        options.setdefault("by", "features")
    codes = model.transform(X)
    if truth is None:
        candidates, truth = X, np.arange(len(codes))
    ranking = model.decode(codes, candidates, **options)
    m, count = ranking.indices.shape
    true_places = read_values(truth, "truth")
    if (
        true_places.shape != (m,)
        or true_places.dtype.kind not in "iu"
        or true_places.min() < 0
        or true_places.max() >= count
    ):
        raise InputError(f"truth must be {m} numbers from 0 to {count - 1}, one per item; got {truth!r}")
    places = np.argmax(ranking.indices == true_places[:, None], axis=1)
    reached = np.take_along_axis(ranking.distances, places[:, None], 1)
    ranks = (ranking.distances <= reached).sum(axis=1).astype(float)
    return DecodingQuality(ranks, {k: top_k_accuracy(ranks, k) for k in wanted}, count)
