"""Ranking of candidates: by distances of their features, by their codes, and in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import Items, tile_rows, tiles, to_tensor
from rkhs._core.checks import check_choice, check_count, check_methods
from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.given_matrices import read_items
from rkhs.metrics.ranking import nearest_first


class Ranking(NamedTuple):
    """Candidates in the order of their distance to what the codes decode to.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> X = load_iris().data
    >>> model = KernelPCA(4, kernel="linear").fit(X)
    >>> found = model.decode(model.codes_[:3], n_best=1)
    >>> found.indices.ravel(), found.distances.ravel().round(6)
    (array([0, 1, 2]), array([0., 0., 0.]))
    """

    indices: np.ndarray  # (m, k): row numbers of the candidates, nearest first; ties by row number
    distances: np.ndarray  # (m, k): squared distances in the output space, ascending


def rank_codes(Z: Tensor, distances: Callable[[Tensor], Tensor], count: int, n_best: int | None) -> Ranking:
    """Rank ``count`` candidates for codes (m, p), tile by tile, by their squared distances."""
    found = [rank(distances(Z[tile]), n_best) for tile in tiles(len(Z), tile_rows(2 * count))]
    return Ranking(*map(np.concatenate, zip(*found, strict=True)))


def rank(D: Tensor, n_best: int | None) -> Ranking:
    """Order candidates by squared distances of shape (m, c); of equal ones within rounding the first comes first."""
    if not bool(torch.isfinite(D).all()):
        raise InputError("distances to candidates are not finite: codes or candidates are too large; rescale them")
    count = D.shape[1] if n_best is None else min(check_count(n_best, "n_best"), D.shape[1])
    return Ranking(*nearest_first(D.detach().cpu().numpy(), count))


def ranks_by_codes(by: str, diag: ArrayLike | None, *, encodes: bool, features: bool) -> bool:
    """Whether candidates are ranked by their codes, as ``by`` asks or ``"auto"`` finds."""
    check_choice(by, "by", ("auto", "codes", "features"))
    if by == "auto":
        return features and encodes and diag is None
    if by == "codes" and not encodes:
        raise InputError(
            "by='codes' encodes the candidates, but the targets of this model are not its inputs; use by='features'"
        )
    if by == "codes" and diag is not None:
        raise InputError("diag is not used with by='codes'; leave it out, or use by='features'")
    return by == "codes"


def rank_by_codes(
    model: KernelEstimator,
    codes: ArrayLike,
    candidates: Items | None,
    n_best: int | None,
    encode: Callable[[Items], Tensor],
) -> Ranking:
    """Order candidates by the squared distances of their codes to given ones."""
    check_is_fitted(model)
    Z = model._read_matrix(codes, "codes", model.codes_.shape[1], "(m, {q}), as transform returns")
    if candidates is None:
        training_codes = to_tensor(model.codes_, **model._options)
    else:
        items = _read_candidates(model, candidates)
        step = tile_rows(model.map_.width)
        training_codes = torch.cat([encode(items[tile]) for tile in tiles(len(items), step)]).to(Z)
    distances = partial(torch.cdist, x2=training_codes, compute_mode="donot_use_mm_for_euclid_dist")
    return rank_codes(Z, lambda part: distances(part).square_(), len(training_codes), n_best)


def _read_candidates(model: KernelEstimator, candidates: Items) -> Any:
    """Candidates in the form that the kernel of the inputs reads."""
    kernel = model.kernel_
    if kernel.domain == "gram":
        return model._candidate_rows(candidates)
    if kernel.domain == "objects":
        return read_items(kernel, candidates, "candidates")
    return model.reader_.read(model, candidates, "candidates")


class Decoding(Protocol):
    """Models that rank candidates: KernelAutoencoder, KernelPCA, KernelMap."""

    @property
    def decode(self) -> Callable[..., Ranking]:
        """Decode from codes and candidates."""


class BestCandidates:
    """The best candidates of every code among the chunks seen so far.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.estimators import BestCandidates
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data[:100:5]
    >>> model, best = KernelPCA(3).fit(X), BestCandidates(1)
    >>> for chunk in (X[:10], X[10:]):
    ...     _ = best.add(model, model.codes_[[12]], chunk)
    >>> best.seen, best.ranking.indices
    (20, array([[12]]))
    """

    def __init__(self, n_best: int) -> None:
        self.n_best: int = check_count(n_best, "n_best")
        self.seen: int = 0
        self.ranking: Ranking | None = None

    def add(self, model: Decoding, codes: ArrayLike, chunk: Items, **options: Any) -> np.ndarray:
        """Rank a chunk and keep the best; ties go to the earlier candidate."""
        check_methods(model, "model", ("decode",))
        found = model.decode(codes, chunk, n_best=self.n_best, **options)
        indices, distances = found.indices + self.seen, found.distances
        if self.ranking is not None:
            indices = np.concatenate([self.ranking.indices, indices], 1)
            distances = np.concatenate([self.ranking.distances, distances], 1)
            order, distances = nearest_first(distances, min(self.n_best, distances.shape[1]))
            indices = np.take_along_axis(indices, order, 1)
        self.ranking = Ranking(indices, distances)
        self.seen += getattr(model, "_count_new", len)(chunk)
        return np.unique(indices)


def decode_chunks(
    model: Decoding, codes: ArrayLike, chunks: Iterable[Items], *, n_best: int = 10, **options: Any
) -> Ranking:
    """Rank candidates that arrive in chunks, such as a library too large for memory.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import KernelPCA
    >>> from rkhs.estimators import decode_chunks
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> model = KernelPCA(3, kernel="linear").fit(X)
    >>> found = decode_chunks(model, model.codes_[[7, 31]], (X[:20], X[20:]), n_best=1)
    >>> found.indices.ravel()
    array([ 7, 31])
    """
    best = BestCandidates(n_best)
    for chunk in chunks:
        best.add(model, codes, chunk, **options)
    if best.ranking is None:
        raise InputError("chunks must hold at least one chunk of candidates; got none")
    return best.ranking
