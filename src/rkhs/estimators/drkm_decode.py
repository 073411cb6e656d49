"""From codes of a deep restricted kernel machine back to the inputs: denoising, decoding, traversals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import as_numpy, give_back
from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.fitted import Fitted
from rkhs.estimators.tiles import encode_tiles
from rkhs.features import FeatureMap
from rkhs.kernels.base import Kernel
from rkhs.models import DeepRKMModel
from rkhs.problems.code_ridge import decoded_by_ridge
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import preimages

__all__ = ["FittedDeepRKM"]


class FittedDeepRKM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Base of the deep machine: everything that reads the fitted layers and nothing that makes them.

    References
    ----------
    Tonin, Patrinos and Suykens (2021), sections 4.1 and 4.2.
    """

    out_of_sample: str
    preimage: str
    model_: DeepRKMModel
    _model_class = DeepRKMModel

    kernel_ = Fitted[Kernel]("kernel")
    map_ = Fitted[FeatureMap]("map")
    support_items_ = Fitted[Any]("items", optional=True)
    codes_ = Fitted[np.ndarray]("codes")
    layer_codes_ = Fitted[list[np.ndarray]]("layer_codes")
    layer_values_ = Fitted[list[np.ndarray]]("values")
    decoder_kernels_ = Fitted[tuple[Kernel, ...]]("kernels")
    dual_coefs_ = Fitted[list[np.ndarray]]("coefficients")
    intercepts_ = Fitted[list[np.ndarray]]("shifts")
    train_diag_ = Fitted[np.ndarray]("diagonal")
    in_sample_defect_ = Fitted[np.ndarray]("quality.defects")
    ridge_ = Fitted[np.ndarray]("quality.ridges")
    leave_one_out_error_ = Fitted[np.ndarray]("quality.errors")
    infeasibility_ = Fitted[float]("quality.infeasibility")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.codes_.shape[1])

    def transform(self, X: Any, layer: int | None = None) -> Any:
        """Encode items.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects
        layer : int, optional
            Layer whose codes to return, from 1; default: those of all layers side by side.

        Returns
        -------
        ndarray of shape (m, S)
            Or (m, n_components[layer - 1]). A tensor if ``X`` is one.

        Raises
        ------
        NotFittedError
            Before fit.
        InputError
            For a layer that does not exist.
        """
        check_is_fitted(self)
        index = None if layer is None else self._layer_index(layer)

        def encode(items: Any) -> Tensor:
            codes = self.model_.encode(self._cross_gram(items))
            return torch.cat(codes, 1) if index is None else codes[index]

        return give_back(encode_tiles(self, X, encode), X)

    def denoise(
        self, X: Any, layer: int = 1, components: Sequence[int] | None = None, *, weighting: str = "projection"
    ) -> Any:
        """Replace each item by what components of a layer keep of it.

        Layer 1: ``phi(x)`` is projected on the span of ``sum_i H_ik phi(x_i)``, ``k`` in ``components``, with the
        weights ``b = H (H^T K H)^-1 H^T k(., x)``, and the vector nearest to it in the feature space is sought from
        ``x``.

        Deeper layers of vectors with ``preimage="ridge"``: kernel ridge regression from these components alone to the
        inputs, an estimate of the mean of ``x`` given the codes. Otherwise, and with a ``"paper"`` setting here or
        in ``out_of_sample``, the chain of pre-images: codes of the layer below are projected as in layer 1, the nearest
        codes are sought, and so on down to the inputs. Each link loses detail (``docs/papers/constr_drkm.md`` has
        numbers).

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects
        layer : int, default=1
            From 1.
        components : sequence of int, optional
            Components of that layer to keep, from 0; default all.
        weighting : {"projection", "paper"}, default="projection"
            ``"paper"``: ``b = H H^T k(., x)``, in which components count by an extra eigenvalue.

        Returns
        -------
        ndarray of shape (m, d)
            For Gram and object inputs the weights ``b`` of shape (m, n).

        References
        ----------
        Tonin et al. (2021), section 4.2; Mika et al. (1999).
        """
        check_choice(weighting, "weighting", ("projection", "paper"))
        items = self._read_new(X)
        index = self._layer_index(layer)
        kept = self._check_components(components, index)
        K, whitened = self._cross_gram(items), weighting == "projection"
        if index == 0:
            weights = self.model_.projected(0, K, kept, whitened=whitened)
        elif self._regresses(weighting):
            Z = self.model_.encode(K)[index][:, kept]
            return give_back(self._to_rows(self._ridge(Z, layer, kept)), X)
        else:
            codes = self.model_.encode(K)
            rows = self.model_.code_rows(index, codes[index - 1])
            block = self.model_.projected(index, rows, kept, whitened=whitened)
            weights = self.model_.descend(index, self.model_.nearest_codes(index, block, codes[index - 1]), codes)
        if self.kernel_.domain != "vectors":
            return give_back(self._to_output(weights), X)
        problem = Preimage(self.kernel_, self._support(), weights)
        return give_back(self._to_rows(preimages(problem, items)), X)

    def reconstruction_error(self, X: Any, *, space: str = "auto", diag: Any = None) -> np.ndarray:
        """Squared reconstruction error of each item.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n), or list of m objects
        space : {"auto", "input", "feature"}, default="auto"
            ``"input"``: ``||x - inverse_transform(transform(x))||^2``, vectors only; ``"feature"``: squared distance
            of ``phi(x)`` from its projection on the components of layer 1, which :meth:`denoise` takes; ``"auto"``:
            input for vectors, feature otherwise. Features of different kernels have no common scale: choose bandwidths
            by ``"input"``.
        diag : float or array of shape (m,), optional
            ``k(x, x)`` for ``kernel="precomputed"``; default: the diagonal of the training Gram matrix if it is
            constant, otherwise errors are off by a constant for each item, with a warning.

        Returns
        -------
        ndarray of shape (m,)

        Raises
        ------
        NotFittedError
            Before fit.
        InputError
            For ``space="input"`` without vectors, and a ``diag`` that does not fit.
        """
        check_choice(space, "space", ("auto", "input", "feature"))
        items = self._read_new(X)
        vectors = self.kernel_.domain == "vectors"
        if space == "input" and not vectors:
            raise InputError("space='input' needs vector inputs; use space='feature' for Gram and object inputs")
        K = self._cross_gram(items)
        if vectors and space != "feature":
            codes = torch.cat(self.model_.encode(K), 1)
            errors = ((items - self._decoded(codes, None)) ** 2).sum(1)
        else:
            gram = self.kernel_.domain == "gram"
            diagonal = self._gram_diagonal(diag, K) if gram else self.kernel_._diag(items)
            errors = self.model_.errors(K, diagonal)
        return self._finite(errors)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean of :meth:`reconstruction_error` (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())

    def inverse_transform(self, codes: Any, layer: int | None = None) -> Any:
        """Return to the input space.

        Parameters
        ----------
        codes : array of shape (m, S)
            As :meth:`transform` returns with the same ``layer``.
        layer : int, optional
            Layer of the codes, from 1; default: codes of all layers.

        Returns
        -------
        ndarray of shape (m, d)
            For Gram and object inputs weights ``b`` of shape (m, n) on the training items, with which the feature is
            ``sum_i b_i phi(x_i)``.

        Notes
        -----
        ``preimage="ridge"`` solves seven systems of size n at each call and uses the codes of all layers that it is
        given; ``"fixed_point"`` descends from the given layer (all layers: from the first, which alone determines the
        feature).
        """
        check_is_fitted(self)
        index = 0 if layer is None else self._layer_index(layer)
        Z = self._check_codes(codes, (self.codes_ if layer is None else self.layer_codes_[index]).shape[1])
        if self.kernel_.domain == "vectors":
            return give_back(self._to_rows(self._decoded(Z, layer)), codes)
        return give_back(self._to_output(self._feature_weights(Z, index)), codes)

    def _decoded(self, Z: Tensor, layer: int | None) -> Tensor:
        """Vectors from codes of a layer, or of all."""
        if self.preimage == "ridge":
            return self._ridge(Z, layer)
        weights = self._feature_weights(Z, 0 if layer is None else layer - 1)
        problem = Preimage(self.kernel_, self._support(), weights)
        return preimages(problem, problem.X[problem.nearest()])

    def _feature_weights(self, Z: Tensor, index: int) -> Tensor:
        """Weights on the training items of the features of codes of a layer (or of all: the first is read)."""
        return self.model_.descend(index + 1, Z[:, : self.layer_codes_[index].shape[1]], None)

    def traverse(self, component: int = 0, *, layer: int = 1, start: Any = None, n_steps: int = 7) -> np.ndarray:
        """Decode a walk along one code, from the 5 % to the 95 % quantile of its training values.

        Parameters
        ----------
        component : int, default=0
            Code to change, from 0 within its layer.
        layer : int, default=1
            Its layer, from 1.
        start : array of shape (S,), optional
            All other codes; default: the mean of the training codes.
        n_steps : int, default=7

        Returns
        -------
        ndarray of shape (n_steps, d)
            As :meth:`inverse_transform` of the codes along the walk.
        """
        check_is_fitted(self)
        index = self._layer_index(layer)
        (chosen,) = self._check_components([component], index)
        steps = check_count(n_steps, "n_steps")
        column = sum(block.shape[1] for block in self.layer_codes_[:index]) + chosen
        if start is None:
            base = self.codes_.mean(axis=0)
        else:
            flat = np.asarray(as_numpy(start, "start"), dtype=np.float64).reshape(1, -1)
            base = self._check_codes(flat, self.codes_.shape[1]).cpu().numpy()[0]
        path = np.repeat(base[None, :].astype(np.float64), steps, axis=0)
        low, high = np.quantile(self.codes_[:, column], [0.05, 0.95])
        path[:, column] = np.linspace(float(low), float(high), steps)
        return self.inverse_transform(path)

    def _regresses(self, weighting: str) -> bool:
        """Whether components above layer 1 are decoded by regression."""
        literal = weighting == "paper" or self.out_of_sample == "paper"
        return self.kernel_.domain == "vectors" and self.preimage == "ridge" and not literal

    def _check_components(self, components: Any, index: int) -> list[int]:
        width = self.layer_codes_[index].shape[1]
        if components is None:
            return list(range(width))
        chosen = [check_count(c, "components", at_least=0, at_most=width - 1) for c in components]
        if not chosen or len(set(chosen)) < len(chosen):
            raise InputError(
                f"components must be different numbers from 0 to {width - 1}, at least one; got {components!r}"
            )
        return chosen

    def _check_codes(self, codes: Any, width: int) -> Tensor:
        return self._read_matrix(codes, "codes", width, "(m, {q}), as transform returns")

    def _ridge(self, Z: Tensor, layer: int | None, kept: list[int] | None = None) -> Tensor:
        """Kernel ridge regression from codes, as new items have them, to inputs; the ridge by leave-one-out.

        In finite features on the items that are kept: the landmarks, or as many training items as random features.
        """
        X = self._support()
        codes = self.model_.encode(self._cross_gram(X))
        train = torch.cat(codes, 1) if layer is None else codes[layer - 1]
        return decoded_by_ridge(train if kept is None else train[:, kept], X, Z)

    def _layer_index(self, layer: Any) -> int:
        count = len(self.layer_codes_)
        try:
            return check_count(layer, "layer", at_most=count) - 1
        except InputError as error:
            raise InputError(f"{error}. This model has {count} layers") from None
