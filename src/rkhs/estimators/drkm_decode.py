"""From codes of a deep restricted kernel machine back to the inputs: denoising, decoding, traversals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import as_numpy, give_back, to_tensor
from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError
from rkhs.estimators.drkm_parts import ridge_coefs, solve_psd
from rkhs.kernels.dot_product import Linear
from rkhs.kernels.radial import Matern
from rkhs.outputs import Euclidean
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import preimages


class DecodingMixin:
    """Methods of :class:`DeepRKM` that go from codes to inputs."""

    # Given by the estimator.
    kernel_: Any
    decoder_kernels_: tuple[Any, ...]
    layer_codes_: list[np.ndarray]
    moments_: list[np.ndarray]
    gram_means_: list[np.ndarray]
    feature_codes_: np.ndarray
    mean_weights_: np.ndarray
    codes_: np.ndarray
    center: bool
    out_of_sample: str
    preimage: str
    scale_: float
    map_: Any = None  # models of files that were written before there was a storage
    _options: dict[str, Any]

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
        items = self._read_new(X)  # type: ignore[attr-defined]
        index = self._layer_index(layer)  # type: ignore[attr-defined]
        kept = self._check_components(components, index)
        K = self._cross_gram(items)  # type: ignore[attr-defined]
        if index == 0:
            weights = self._projection(0, K, kept, weighting)
        elif self._regresses(weighting):
            Z = self._encode(K)[index][:, kept]  # type: ignore[attr-defined]
            return give_back(self._to_rows(self._ridge(Z, layer, kept)), X)  # type: ignore[attr-defined]
        else:
            codes = self._encode(K)  # type: ignore[attr-defined]
            rows = self._code_rows(index, codes[index - 1])  # type: ignore[attr-defined]
            block = self._code_preimage(index, self._projection(index, rows, kept, weighting), codes[index - 1])
            weights = self._descend(index, block, codes)
        if self.kernel_.domain != "vectors":
            return give_back(self._to_output(weights), X)  # type: ignore[attr-defined]
        problem = Preimage(self.kernel_, self._support(), weights)  # type: ignore[attr-defined]
        return give_back(self._to_rows(preimages(problem, items)), X)  # type: ignore[attr-defined]

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
        items = self._read_new(X)  # type: ignore[attr-defined]
        vectors = self.kernel_.domain == "vectors"
        if space == "input" and not vectors:
            raise InputError("space='input' needs vector inputs; use space='feature' for Gram and object inputs")
        K = self._cross_gram(items)  # type: ignore[attr-defined]
        if vectors and space != "feature":
            codes = torch.cat(self._encode(K), 1)  # type: ignore[attr-defined]
            errors = ((items - self._decoded(codes, None)) ** 2).sum(1)
        else:
            gram = self.kernel_.domain == "gram"
            diagonal = self._gram_diagonal(diag, K) if gram else self.kernel_._diag(items)  # type: ignore[attr-defined]
            errors = self._distances(K, diagonal)
        return self._finite(errors)  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean of :meth:`reconstruction_error` (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())

    def _distances(self, K: Tensor, diagonal: Tensor) -> Tensor:
        """Squared distances of features from their projections on the components of layer 1, shape (m,)."""
        if self.center:
            mean = to_tensor(self.gram_means_[0], **self._options)
            if self.map_ is None:
                diagonal = diagonal - 2.0 * K.mean(dim=1) + mean.mean()
            else:
                weights = to_tensor(self.mean_weights_, **self._options)
                diagonal = diagonal - 2.0 * (K @ weights) + mean @ weights
            K = K - mean
        scores = K @ self._directions()
        kept = solve_psd(to_tensor(self.moments_[0], **self._options), scores.mT).mT
        return (diagonal - (kept * scores).sum(1)).clamp_min(0.0)

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
        index = 0 if layer is None else self._layer_index(layer)  # type: ignore[attr-defined]
        Z = self._check_codes(codes, (self.codes_ if layer is None else self.layer_codes_[index]).shape[1])
        if self.kernel_.domain == "vectors":
            return give_back(self._to_rows(self._decoded(Z, layer)), codes)  # type: ignore[attr-defined]
        return give_back(self._to_output(self._feature_weights(Z, index)), codes)  # type: ignore[attr-defined]

    def _decoded(self, Z: Tensor, layer: int | None) -> Tensor:
        """Vectors from codes of a layer, or of all."""
        if self.preimage == "ridge":
            return self._ridge(Z, layer)
        weights = self._feature_weights(Z, 0 if layer is None else layer - 1)
        problem = Preimage(self.kernel_, self._support(), weights)  # type: ignore[attr-defined]
        return preimages(problem, problem.X[problem.nearest()])

    def _feature_weights(self, Z: Tensor, index: int) -> Tensor:
        """Weights on the training items of the features of codes of a layer (or of all: the first is read)."""
        return self._descend(index + 1, Z[:, : self.layer_codes_[index].shape[1]], None)

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
        index = self._layer_index(layer)  # type: ignore[attr-defined]
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
        return self._read_matrix(codes, "codes", width, "(m, {q}), as transform returns")  # type: ignore[attr-defined]

    def _projection(self, index: int, rows: Tensor, kept: list[int], weighting: str) -> Tensor:
        """Weights on the items of a layer of the projections of features with given kernel rows, shape (m, n)."""
        H = (self._directions() if index == 0 else self._layer(index + 1))[:, kept]  # type: ignore[attr-defined]
        if self.center:
            rows = rows - to_tensor(self.gram_means_[index], **self._options)
            if index > 0 or self.map_ is None:
                rows = rows - rows.mean(dim=1, keepdim=True)
        scores = rows @ H
        if weighting == "projection":
            moment = to_tensor(self.moments_[index][np.ix_(kept, kept)], **self._options)
            scores = solve_psd(moment, scores.mT).mT
        return self._uncentred(scores @ H.mT, first=index == 0)

    def _directions(self) -> Tensor:
        """Components of layer 1 as weights: on the training items the codes, else on the landmarks."""
        if self.map_ is None:
            return self._layer(1)  # type: ignore[attr-defined]
        return to_tensor(self.feature_codes_, **self._options)

    def _uncentred(self, weights: Tensor, *, first: bool) -> Tensor:
        """Weights on centred features as weights on features; those of the data are ``first``."""
        if first and self.map_ is not None:
            if self.map_.kept_raw() is None:
                raise InputError(
                    "a feature can be given by training items with storage=Nystroem(m) or 'dense' only: random "
                    "features keep none"
                )
            return weights + to_tensor(self.mean_weights_, **self._options) if self.center else weights
        if not self.center:
            return weights
        return weights - weights.mean(dim=1, keepdim=True) + 1.0 / weights.shape[1]

    def _code_preimage(self, layer: int, weights: Tensor, start: Tensor | None) -> Tensor:
        """Codes of layer ``layer`` whose feature is nearest to a combination of those of the training items."""
        kernel, scale = self.decoder_kernels_[layer - 1], self.scale_
        problem = Preimage(kernel, scale * self._layer(layer), weights)  # type: ignore[attr-defined]
        first = problem.X[problem.nearest()] if start is None else scale * start
        return preimages(problem, first) / scale

    def _descend(self, layer: int, block: Tensor, codes: list[Tensor] | None) -> Tensor:
        """Weights on the training items from codes of a layer, through the pre-images of every layer below."""
        for below in range(layer - 1, 0, -1):
            weights = self._uncentred(block @ self._layer(below + 1).mT, first=False)  # type: ignore[attr-defined]
            block = self._code_preimage(below, weights, None if codes is None else codes[below - 1])
        return self._uncentred(block @ self._directions().mT, first=True)

    def _ridge(self, Z: Tensor, layer: int | None, kept: list[int] | None = None) -> Tensor:
        """Kernel ridge regression from codes, as new items have them, to inputs; the ridge by leave-one-out.

        In finite features on the items that are kept: the landmarks, or as many training items as random features.
        """
        X = self._support()  # type: ignore[attr-defined]
        codes = self._encode(self._cross_gram(X))  # type: ignore[attr-defined]
        train = torch.cat(codes, 1) if layer is None else codes[layer - 1]
        train = train if kept is None else train[:, kept]
        factor = float(len(train)) ** 0.5  # codes of order one
        output, U = Euclidean.fit(X, None, center=True, scale=True)
        kernel = (Matern(1.5, "median") + 0.1 * Linear("mean_norm")).resolve(factor * train)
        coefs, _, _ = ridge_coefs(kernel._gram(factor * train), U, "loo", False)
        return output.decode(kernel._gram(factor * Z, factor * train) @ coefs)
