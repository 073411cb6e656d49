"""What a fitted kernel PCA does with items and codes: encode, decode, rank, rebuild."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import Tensor

from rkhs._core.arrays import give_back, to_tensor
from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError
from rkhs.estimators.base import Ranking, rank
from rkhs.estimators.preimages import PreimageMixin
from rkhs.estimators.tiles import encode_tiles
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import PreimageDescent

__all__ = ["FittedPCA"]


class FittedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PreimageMixin):
    """Base of kernel PCA: everything that reads the fitted components and nothing that makes them.

    References
    ----------
    Scholkopf, Smola and Muller (1998); Mika et al. (1999).
    """

    preimage: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: Any) -> Any:
        """Encode items.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects

        Returns
        -------
        ndarray of shape (m, p)
            A tensor if ``X`` is one.
        """
        return give_back(encode_tiles(self, X, lambda items: self._scores(self._cross_gram(items))), X)

    def _scores(self, K: Tensor) -> Tensor:
        return K @ to_tensor(self.dual_coef_, **self._options) + to_tensor(self.intercept_, **self._options)

    def _feature_weights(self, codes: Tensor) -> Tensor:
        """Weights on the training features of the projections with the given codes, shape (m, n)."""
        W = codes @ to_tensor(self.dual_coef_, **self._options).mT
        if self.mean_weights_ is None:
            return W
        return W + to_tensor(self.mean_weights_, **self._options)

    def inverse_transform(self, codes: Any) -> Any:
        """Return to the input space.

        Parameters
        ----------
        codes : array of shape (m, p)

        Returns
        -------
        ndarray of shape (m, d)
            Vectors; for Gram and object inputs weights ``b`` of shape (m, n) on the training items, with which the
            projection is ``sum_i b_i phi(x_i)``.
        """
        Z = self._read_codes(codes)
        if self.kernel_.domain != "vectors":
            result = self._feature_weights(Z)
        elif self.preimage == "ridge":
            result = self._ridge_preimage(Z)
        else:
            result = self._feature_preimage(Z)
        return give_back(self._to_output(result), codes)

    def _ridge_preimage(self, Z: Tensor) -> Tensor:
        if getattr(self, "decoder_coef_", None) is None:
            raise InputError(
                "this model has no ridge pre-image: partial_fit keeps no training items to fit it on; use "
                "preimage='nearest' or 'fixed_point'"
            )
        anchors = getattr(self, "anchor_codes_", None)
        K = self.decoder_kernel_._gram(Z, to_tensor(self.codes_ if anchors is None else anchors, **self._options))
        return self.output_.decode(K @ to_tensor(self.decoder_coef_, **self._options))

    def _feature_preimage(self, Z: Tensor) -> Tensor:
        problem = Preimage(self.kernel_, self._support(), self._feature_weights(Z))
        start = problem.X[problem.nearest()]
        return start if self.preimage == "nearest" else PreimageDescent().solve(problem, start)

    def decode(self, codes: Any, candidates: Any = None, *, diag: Any = None, n_best: int | None = None) -> Ranking:
        """Rank candidates by the distance of their features to the projections with the given codes.

        Parameters
        ----------
        codes : array of shape (m, p)
        candidates : items, default=None
            Vectors (c, d), objects, or for ``kernel="precomputed"`` kernel values (c, n) with the training items. None:
            the training items themselves (not for ``kernel="precomputed"``).
        diag : float or array of shape (c,), optional
            ``k(z, z)`` of the candidates, for ``kernel="precomputed"``. Default: the diagonal of the training Gram
            matrix if it is constant.
        n_best : int, optional
            Number of candidates to return for each code; default all.

        Returns
        -------
        Ranking
            ``indices`` and squared ``distances``, both of shape (m, n_best), nearest first.
        """
        Z = self._read_codes(codes)
        if self.kernel_.domain == "gram":
            if candidates is None:
                raise InputError(
                    "candidates must be kernel values (c, n) with the training items for kernel='precomputed'"
                )
            K = self._cross_gram(self._check_rows(candidates))
            diagonal = self._gram_diagonal(diag, K)
        else:
            items = self._own_items() if candidates is None else self._read_new(candidates)
            K, diagonal = self._cross_gram(items), self.kernel_._diag(items)
        scores = self._scores(K)
        outside = self._centred_norms(K, diagonal) - (scores * scores).sum(1)
        D = (Z * Z).sum(1)[:, None] - 2.0 * Z @ scores.mT + (scores * scores).sum(1)[None, :] + outside[None, :]
        return rank(D.clamp_min(0.0), n_best)

    def _centred_norms(self, K: Tensor, diagonal: Tensor) -> Tensor:
        """``||phi(x) - mean||^2`` from rows of kernel values and ``k(x, x)``, shape (m,)."""
        if self.mean_weights_ is None:
            return diagonal
        return diagonal - 2.0 * K @ to_tensor(self.mean_weights_, **self._options) + self.total_

    def reconstruction_error(self, X: Any, *, space: str = "auto", diag: Any = None) -> np.ndarray:
        """Squared reconstruction error of each item.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n), or list of m objects
        space : {"auto", "input", "feature"}, default="auto"
            ``"input"``: ``||x - inverse_transform(transform(x))||^2``, vectors only; ``"feature"``: squared distance
            of ``phi(x)`` from its projection; ``"auto"``: input for vectors, feature otherwise.
        diag : float or array of shape (m,), optional
            ``k(x, x)`` for ``kernel="precomputed"``; see :meth:`decode`.

        Returns
        -------
        ndarray of shape (m,)
        """
        check_choice(space, "space", ("auto", "input", "feature"))
        items = self._read_new(X)
        vectors = self.kernel_.domain == "vectors"
        if space == "input" and not vectors:
            raise InputError("space='input' needs vector inputs; use space='feature' for Gram and object inputs")
        K = self._cross_gram(items)
        Z = self._scores(K)
        if vectors and space != "feature":
            back = self._ridge_preimage(Z) if self.preimage == "ridge" else self._feature_preimage(Z)
            errors = ((items - back) ** 2).sum(1)
        else:
            gram = self.kernel_.domain == "gram"
            diagonal = self._gram_diagonal(diag, K) if gram else self.kernel_._diag(items)
            errors = (self._centred_norms(K, diagonal) - (Z * Z).sum(1)).clamp_min(0.0)
        return self._finite(errors)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared reconstruction error (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())
