"""What a fitted kernel PCA does with items and codes: encode, decode, rank, rebuild."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import Tensor

from rkhs._core.arrays import give_back
from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError
from rkhs.estimators.candidates import Ranking, rank, rank_by_codes, ranks_by_codes
from rkhs.estimators.fitted import Fitted
from rkhs.estimators.preimages import PreimageMixin
from rkhs.estimators.tiles import encode_tiles
from rkhs.features import FeatureMap
from rkhs.kernels.base import Kernel
from rkhs.models import ComponentsModel
from rkhs.outputs import Euclidean

__all__ = ["FittedPCA"]


class FittedPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PreimageMixin):
    """Base of kernel PCA: everything that reads the fitted components and nothing that makes them.

    References
    ----------
    Scholkopf, Smola and Muller (1998); Mika et al. (1999).
    """

    preimage: str
    model_: ComponentsModel
    _model_class = ComponentsModel

    kernel_ = Fitted[Kernel]("kernel")
    map_ = Fitted[FeatureMap]("map")
    support_items_ = Fitted[Any]("map.kept", optional=True)
    codes_ = Fitted[np.ndarray]("codes")
    n_components_ = Fitted[int]("width")
    explained_variance_ = Fitted[np.ndarray]("variances")
    explained_variance_ratio_ = Fitted[np.ndarray]("shares")
    eigenvalues_ = Fitted[np.ndarray]("eigenvalues")
    dual_coef_ = Fitted[np.ndarray]("encoder.coefficients")
    intercept_ = Fitted[np.ndarray]("encoder.shift")
    train_diag_ = Fitted[np.ndarray]("diagonal")
    decoder_kernel_ = Fitted[Kernel]("back.kernel")
    decoder_coef_ = Fitted[np.ndarray]("back.coefficients", optional=True)
    output_ = Fitted[Euclidean]("back.output", optional=True)
    reg_ = Fitted[float]("back.reg")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

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
        return give_back(encode_tiles(self, X, lambda items: self.model_.encode(items)), X)

    def _feature_weights(self, codes: Tensor) -> Tensor:
        return self.model_.weights(codes)

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
        if self.kernel_.domain == "vectors":
            return give_back(self._to_rows(self._vectors(Z)), codes)
        return give_back(self._to_output(self.model_.weights(Z)), codes)

    def _vectors(self, Z: Tensor) -> Tensor:
        """Vectors of codes, by the way that ``preimage`` names."""
        if self.preimage != "ridge":
            return self.model_.nearest_features(Z, descend=self.preimage == "fixed_point")
        if self.model_.back is None:
            raise InputError(
                "this model has no ridge pre-image: partial_fit keeps no training items to fit it on, and no other "
                "preimage= needs one; use preimage='nearest' or 'fixed_point', or fit with preimage='ridge'"
            )
        return self.model_.back.targets(Z)

    def decode(
        self, codes: Any, candidates: Any = None, *, by: str = "auto", diag: Any = None, n_best: int | None = None
    ) -> Ranking:
        """Rank candidates by the distance of their features to the projections with the given codes, or by codes.

        Parameters
        ----------
        codes : array of shape (m, p)
        candidates : items, default=None
            Vectors (c, d), objects, or for ``kernel="precomputed"`` kernel values (c, n) with the training items. None:
            the training items themselves (not for ``kernel="precomputed"`` by features).
        by : {"auto", "codes", "features"}, default="auto"
            ``"features"``: distances in the space of the outputs, in which training items come before all others.
            ``"codes"``: distances to the codes that the candidates have themselves. ``"auto"``: codes, unless
            ``diag`` is given.
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
        if ranks_by_codes(by, diag, encodes=True, features=True):
            return rank_by_codes(self, codes, candidates, n_best, lambda items: self.model_.encode(items))
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
        return rank(self.model_.distances(Z, K, diagonal), n_best)

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
        raw = self._cross_gram(items)
        if vectors and space != "feature":
            errors = ((items - self._vectors(self.model_.encoder.of(raw))) ** 2).sum(1)
        else:
            gram = self.kernel_.domain == "gram"
            diagonal = self._gram_diagonal(diag, raw) if gram else self.kernel_._diag(items)
            errors = self.model_.errors(raw, diagonal)
        return self._finite(errors)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared reconstruction error (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())
