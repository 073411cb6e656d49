"""What a fitted autoencoder does with items and codes: encode, decode, rank, rebuild."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import give_back, to_tensor
from rkhs._core.checks import check_count
from rkhs.estimators.autoencoder_targets import candidate_distances, reconstruction_errors
from rkhs.estimators.base import Ranking, rank
from rkhs.estimators.code_metric import from_outside, to_outside
from rkhs.estimators.constrained_parts import renormalized
from rkhs.estimators.preimages import PreimageMixin
from rkhs.estimators.refined_codes import can_refine, linear_coordinates, refined_codes
from rkhs.estimators.tiles import encode_tiles
from rkhs.kernels.base import Kernel
from rkhs.losses import Loss
from rkhs.outputs import Euclidean

__all__ = ["FittedAutoencoder"]


class FittedAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PreimageMixin):
    """Base of the autoencoders: everything that reads the fitted layers and nothing that makes them.

    A subclass has the parameters of :class:`~rkhs.estimators.kernel_autoencoder.KernelAutoencoder` that say what is
    done with new items (``refine``, ``renormalize``, ``constraint``, ``operators``, noise), and its ``fit`` sets the
    attributes of that class.

    References
    ----------
    Laforgue et al. (2019), equation 5 and appendix B.7.
    """

    refine: bool
    renormalize: bool
    constraint: str
    operators: Any
    noise_std: float
    n_copies: int
    codes_: np.ndarray
    layer_codes_: list[np.ndarray]
    kernel_: Kernel
    decoder_kernels_: tuple[Kernel, ...]
    output_kernel_: Kernel | None
    reg_: tuple[float, ...]
    candidates_: np.ndarray | None
    candidate_errors_: np.ndarray | None
    loss_: Loss
    gap_: float
    support_: np.ndarray
    saturated_: np.ndarray
    code_map_: np.ndarray | None = None
    linear_coef_: np.ndarray | None = None  # models of files that were written before there were linear parts
    decoder_linear_: np.ndarray | None = None
    held_out_error_: float | None = None
    goal_directions_: np.ndarray | None = None  # of many rows, the directions of the targets that codes are found by
    code_price_: str = "power"  # that of models from files of before there was another
    at_edge_: dict[str, str] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _noisy(self) -> bool:
        return self.noise_std > 0.0 or self.n_copies > 1

    @property
    def _n_features_out(self) -> int:
        return int(self.codes_.shape[1])

    def transform(self, X: Any, layer: int | None = None) -> Any:
        """Encode items.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects
        layer : int, optional
            Hidden layer whose codes to return, from 1; default: the narrowest, the first of them on ties.

        Returns
        -------
        ndarray of shape (m, p)
            A tensor if ``X`` is one.

        Raises
        ------
        NotFittedError
            Before fit.
        InputError
            For a layer that does not exist.
        """
        check_is_fitted(self)
        depth = len(self.layer_codes_)
        index = self.bottleneck_ if layer is None else check_count(layer, "layer", at_most=depth) - 1
        codes = encode_tiles(self, X, lambda items: self._layer_of(items, index))
        return give_back(codes, X)

    def _layer_of(self, items: Any, index: int) -> Tensor:
        codes = self._codes_of(items, self._cross_gram(items))[index]
        return to_outside(self, codes) if index == self.bottleneck_ else codes

    def _read_codes(self, codes: Any) -> Tensor:
        return from_outside(self, super()._read_codes(codes))

    def _codes_of(self, items: Any, K: Tensor) -> list[Tensor]:
        """Codes of every hidden layer, refined where the model can."""
        codes = self._encode(items, K)
        return [refined_codes(self, items, K, codes[0])] if can_refine(self) else codes

    def _encode(self, items: Any, K: Tensor) -> list[Tensor]:
        """Codes of every hidden layer from items and their kernel values with the training items."""
        first = K @ to_tensor(self.encoder_coefs_[0], **self._options)
        if self.linear_coef_ is not None:
            first += linear_coordinates(self, items, K) @ to_tensor(self.linear_coef_, **self._options)
        codes = [renormalized(self, first) if self.renormalize else first]
        for kernel, coef, Z in zip(self.decoder_kernels_, self.encoder_coefs_[1:], self.layer_codes_, strict=False):
            supports = to_tensor(Z, **self._options)
            codes.append(kernel._gram(codes[-1], supports) @ to_tensor(coef, **self._options))
        return codes

    def _decode(self, codes: Tensor) -> Tensor:
        """Output coordinates from codes of the narrowest layer, shape (m, r)."""
        last = len(self.layer_codes_) - 1
        for layer in range(self.bottleneck_, last + 1):
            supports = to_tensor(self.layer_codes_[layer], **self._options)
            coef = self.decoder_coef_ if layer == last else self.encoder_coefs_[layer + 1]
            before, codes = (
                codes,
                self.decoder_kernels_[layer]._gram(codes, supports) @ to_tensor(coef, **self._options),
            )
        if self.decoder_linear_ is not None:
            linear = to_tensor(self.decoder_linear_, **self._options)
            codes = codes.add_(linear[-1]).addmm_(before, linear[:-1])
        return codes

    def inverse_transform(self, codes: Any) -> Any:
        """Decode codes.

        Parameters
        ----------
        codes : array of shape (m, p)
            Codes of the narrowest layer.

        Returns
        -------
        ndarray of shape (m, q)
            Vectors; with features as outputs the weights ``b`` of shape (m, n) on the training items, with which the
            decoded feature is ``sum_i b_i phi(x_i)``.
        """
        U = self._decode(self._read_codes(codes))
        if isinstance(self.output_, Euclidean):
            return give_back(self._to_rows(self.output_.decode(U)), codes)
        return give_back(self._to_output(self.output_.weights(U)), codes)

    @property
    def _rebuilds_vectors(self) -> bool:
        return isinstance(self.output_, Euclidean)

    def _feature_weights(self, Z: Tensor) -> Tensor:
        return self.output_.weights(self._decode(Z))

    def decode(self, codes: Any, candidates: Any = None, *, diag: Any = None, n_best: int | None = None) -> Ranking:
        """Rank candidates by their distance to what the codes decode to.

        Parameters
        ----------
        codes : array of shape (m, p)
        candidates : items, default=None
            Vectors (c, q), objects, or for ``kernel="precomputed"`` kernel values (c, n) with the training items. None:
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
        U = self._decode(self._read_codes(codes))
        return rank(candidate_distances(self, U, candidates, diag), n_best)

    def reconstruction_error(self, X: Any, *, targets: Any = None, diag: Any = None) -> np.ndarray:
        """Squared reconstruction error of each item.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n), or list of m objects
        targets : same kind as in fit, optional
            What should be rebuilt; default ``X``. Needed if the model was fitted with ``targets``.
        diag : float or array of shape (m,), optional
            ``k(x, x)`` for ``kernel="precomputed"``; see :meth:`decode`.

        Returns
        -------
        ndarray of shape (m,)
            ``||t_i - g(f(x_i))||^2`` in the units of the targets; of standard deviations with ``columns="scaled"``.
        """
        items = self._read_new(X)
        K = self._cross_gram(items)
        U = self._decode(self._codes_of(items, K)[self.bottleneck_])
        return self._finite(reconstruction_errors(self, U, items, K, targets, diag))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared reconstruction error (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())
