"""Rankings of candidates that arrive in chunks: the best so far, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rkhs._core.arrays import Items
from rkhs._core.checks import check_count, check_methods
from rkhs._core.errors import InputError
from rkhs.estimators.candidates import Ranking

__all__ = ["BestCandidates", "decode_chunks"]


class Decoding(Protocol):
    """What ranks candidates: KernelAutoencoder, KernelPCA, DeepRKM."""

    @property
    def decode(self) -> Callable[..., Ranking]:
        """From codes and candidates."""
        ...


class BestCandidates:
    """The best candidates of every code among the chunks seen so far.

    Parameters
    ----------
    n_best : int
        How many to keep.

    References
    ----------
    Laforgue et al. (2019), appendix B.7, for the distances.
    """

    def __init__(self, n_best: int) -> None:
        self.n_best = check_count(n_best, "n_best")
        self.seen = 0
        self.ranking: Ranking | None = None

    def add(self, model: Decoding, codes: ArrayLike, chunk: Items, **options: Any) -> np.ndarray:
        """Rank a chunk and keep the best; ties go to the earlier candidate.

        Parameters
        ----------
        model : estimator with ``decode``
        codes : array of shape (m, p)
        chunk : items, as ``model.decode`` takes them
        **options
            More arguments of ``model.decode``.

        Returns
        -------
        ndarray of int
            Numbers of the candidates that are now among the best of any code, counted over all chunks.

        Raises
        ------
        InputError
            For candidates that the model cannot read.
        """
        check_methods(model, "model", ("decode",))
        found = model.decode(codes, chunk, n_best=self.n_best, **options)
        indices, distances = found.indices + self.seen, found.distances
        if self.ranking is not None:
            indices = np.concatenate([self.ranking.indices, indices], 1)
            distances = np.concatenate([self.ranking.distances, distances], 1)
            order = np.argsort(distances, axis=1, kind="stable")[:, : self.n_best]
            indices, distances = (np.take_along_axis(part, order, 1) for part in (indices, distances))
        self.ranking = Ranking(indices, distances)
        views = hasattr(model, "view_weights_")  # Gram matrices of the same candidates
        self.seen += len(chunk[0] if views else chunk)
        return np.unique(indices)


def decode_chunks(
    model: Decoding, codes: ArrayLike, chunks: Iterable[Items], *, n_best: int = 10, **options: Any
) -> Ranking:
    """Rank candidates that arrive in chunks, such as a library too large for memory.

    Parameters
    ----------
    model : estimator with ``decode``
        KernelAutoencoder, KernelPCA, DeepRKM.
    codes : array of shape (m, p)
    chunks : iterable
        Each as ``model.decode`` takes candidates; :func:`rkhs.data.read_chunks` reads files so.
    n_best : int, default=10
    **options
        More arguments of ``model.decode``.

    Returns
    -------
    Ranking
        As ``model.decode`` on all candidates at once; ``indices`` count over all chunks.

    Raises
    ------
    InputError
        If there is no chunk, and for candidates that the model cannot read.

    Notes
    -----
    Memory: one chunk, its kernel values with the training items, and the best so far.

    References
    ----------
    Laforgue et al. (2019), appendix B.7.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import KernelPCA
    >>> from rkhs.estimators import decode_chunks
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> model = KernelPCA(2).fit(X)
    >>> library = (X[start : start + 6] for start in range(0, 20, 6))
    >>> decode_chunks(model, model.codes_[[7]], library, n_best=1).indices
    array([[7]])
    """
    best = BestCandidates(n_best)
    for chunk in chunks:
        best.add(model, codes, chunk, **options)
    if best.ranking is None:
        raise InputError("chunks must hold at least one chunk of candidates; got none")
    return best.ranking
