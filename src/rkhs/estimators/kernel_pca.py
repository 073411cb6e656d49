"""Kernel principal component analysis, with pre-images and explained variance."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from torch import Tensor

from rkhs._core.arrays import give_back, to_tensor
from rkhs._core.checks import check_choice, check_count, check_flag, check_number, naming
from rkhs._core.errors import InputError
from rkhs._core.linalg import fix_signs, solve_positive
from rkhs.estimators.base import Ranking, rank, take
from rkhs.estimators.preimages import PreimageMixin
from rkhs.estimators.robust_pca import fit_robust
from rkhs.grams import Dense, Gram
from rkhs.kernels.base import Kernel
from rkhs.kernels.dot_product import Linear
from rkhs.kernels.registry import as_kernel
from rkhs.kernels.stationary import Matern
from rkhs.outputs import Euclidean
from rkhs.problems.preimage import Preimage
from rkhs.solvers.preimage import PreimageDescent

__all__ = ["KernelPCA"]


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PreimageMixin):
    """Principal components of the features ``phi(x)`` of a kernel.

    The codes are ``z_j(x) = <phi(x) - mean, u_j>`` with the leading eigenvectors ``u_j`` of the covariance of the
    features. Largest eigenpairs come from a Lanczos iteration whatever their number, so that ten components cost no
    more than nine.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Number of components; a share in (0, 1): as many as explain that share of the variance; None: all of positive
        variance.
    kernel : str, Kernel or callable, default="gaussian"
        Acts on the inputs. ``"precomputed"``: fit takes the Gram matrix (n, n) and every other method rows of kernel
        values with the training items (m, n).
    center : bool, default=True
        Centre the features. Off: eigenvectors of the second moment.
    loss : str or Loss, default="squared"
        Maximise ``sum_i w_i loss(z(x_i))`` in place of the variance: ``Huber(kappa)`` is robust to outliers,
        ``EpsilonInsensitive(epsilon)`` sparse; parameters in units of the features. Not convex.
    preimage : {"ridge", "fixed_point", "nearest"}, default="ridge"
        How ``inverse_transform`` returns to vectors: a kernel ridge regression from the codes to the inputs; the
        vector whose feature is nearest to the projection (fixed point for the Gaussian kernel, gradient descent for
        other differentiable ones); the nearest training vector.
    decoder_kernel : str, Kernel or "auto", default="auto"
        Of the ridge regression, on codes. ``"auto"``: ``Matern(1.5, "median") + 0.1 Linear("mean_norm")``.
    reg : float, default=1e-5
        Regulariser of the ridge regression, relative to the variance of the inputs.
    n_init, random_state : int and (int, RandomState or None), default=1 and None
        Starts of a loss that is not squared; the first is kernel PCA, the others are random.
    psd : {"clip", "raise"}, default="clip"
        What to do with a Gram matrix that has negative eigenvalues: set them to zero and warn, or refuse.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Of the computation. The results have the dtype of the training data.

    Attributes
    ----------
    codes_ : ndarray of shape (n, p)
        Codes of the training items.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (p,)
        Variance of each component in the feature space, and its share of the total.
    eigenvalues_ : ndarray of shape (p,)
        Eigenvalues of the centred Gram matrix, ``n`` times the variances.
    dual_coef_ : ndarray of shape (n, p)
        Codes are ``k(x, X) dual_coef_ + intercept_``.
    intercept_ : ndarray of shape (p,)
    n_components_ : int
    kernel_ : Kernel
        Resolved: every bandwidth a number.
    n_iter_ : int
        1 for the squared loss: the solution is closed.
    support_, objective_, stationarity_
        Other losses: rows with a non-zero dual variable, minus the mean loss, and zero at a stationary point.

    Raises
    ------
    InputError
        For parameters out of range and data that cannot be used; the message names the argument.

    Notes
    -----
    Fit costs ``O(n^2 (d + 10 p))``, and ``n^3 / 3`` more for the ridge pre-image. ``y`` is ignored.

    References
    ----------
    Scholkopf, Smola and Muller (1998); Mika et al. (1999) for pre-images; Laforgue et al. (2019), section 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> pca = KernelPCA(n_components=0.9).fit(load_iris().data)
    >>> pca.n_components_
    5
    >>> bool(pca.explained_variance_ratio_.sum() > 0.9)
    True
    """

    def __init__(
        self,
        n_components: Any = 2,
        *,
        kernel: Any = "gaussian",
        center: bool = True,
        loss: Any = "squared",
        preimage: str = "ridge",
        decoder_kernel: Any = "auto",
        reg: float = 1e-5,
        n_init: int = 1,
        random_state: Any = None,
        psd: str = "clip",
        device: str = "cpu",
        dtype: str = "float64",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.center = center
        self.loss = loss
        self.preimage = preimage
        self.decoder_kernel = decoder_kernel
        self.reg = reg
        self.n_init = n_init
        self.random_state = random_state
        self.psd = psd
        self.device = device
        self.dtype = dtype

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> KernelPCA:
        """Find the components.

        Parameters
        ----------
        X : array (n, d), Gram matrix (n, n), or list of n objects
        y : ignored
        sample_weight : array of shape (n,), optional
            Not negative. Rows of weight zero are dropped.

        Returns
        -------
        self
        """
        kernel = self._input_kernel()
        self._check_parameters()
        items = self._read_training(X, kernel, at_least=1)
        n_given = len(items)
        kept, weights = self._read_weights(sample_weight, n_given)
        items = take(items, kept, square=kernel.domain == "gram")
        n = len(items)
        if not isinstance(self.n_components, float) and self.n_components is not None:
            check_count(self.n_components, "n_components", at_most=n, why=" (the number of samples)")
        self._kept_rows, self._n_training = kept, n_given
        self.kernel_ = kernel.resolve(items, weights)
        K = self._training_gram(self.kernel_, items)
        self.train_diag_ = K.diagonal().cpu().numpy().copy()
        self._fit_components(K, weights)
        self.n_iter_ = 1
        fit_robust(self, K, weights)
        del K
        self._store_support(items)
        if kernel.domain == "vectors":
            self._fit_ridge(items, weights)
        return self

    def _check_parameters(self) -> None:
        check_choice(self.preimage, "preimage", ("ridge", "fixed_point", "nearest"))
        check_choice(self.psd, "psd", ("clip", "raise"))
        check_flag(self.center, "center")
        check_count(self.n_init, "n_init")
        check_number(self.reg, "reg", above=0.0)
        if isinstance(self.n_components, float) and not 0.0 < self.n_components < 1.0:
            raise InputError(
                f"n_components must be an integer >= 1, a share in (0, 1) or None; got {self.n_components!r}"
            )
        if self.n_components is not None and not isinstance(self.n_components, float):
            check_count(self.n_components, "n_components")

    def _fit_components(self, K: Tensor, weights: Tensor | None) -> None:
        n, gram = K.shape[0], Dense(K)
        mean = K.new_full((n,), 1.0 / n) if weights is None else weights
        root = mean.sqrt()
        gram_mean = K @ mean if self.center else K.new_zeros(n)
        total = float(gram_mean @ mean)
        spread = float(K.diagonal().abs().mean())
        variance = max(float(mean @ K.diagonal()) - total, 0.0)
        values, vectors = self._leading(gram, weights, variance)
        floor = n * torch.finfo(K.dtype).eps * max(float(values[0]), spread)
        positive = values > floor
        if self.n_components is None:
            keep = max(1, int(positive.sum()))
            values, vectors, positive = values[:keep], vectors[:, :keep], positive[:keep]
        values = torch.where(positive, values, torch.zeros_like(values))
        scores = fix_signs(vectors * values.sqrt() / root[:, None])
        inverse = torch.where(positive, 1.0 / values.clamp_min(1e-300), torch.zeros_like(values))
        dual = mean[:, None] * scores * inverse  # z = k(x, X) dual + intercept
        if self.center:  # exactly centred weights, so that the means of new rows drop out
            dual -= mean[:, None] * dual.sum(0)
        self.n_components_ = len(values)
        self.dual_coef_ = dual.cpu().numpy()
        self.intercept_ = (-(gram_mean @ dual) + total * dual.sum(0)).cpu().numpy()
        self.codes_ = self._to_output(scores)
        self.explained_variance_ = values.cpu().numpy()
        self.explained_variance_ratio_ = (
            self.explained_variance_ / variance if variance > 0.0 else np.zeros(len(values))
        )
        self.eigenvalues_ = self.explained_variance_ * n
        self.mean_weights_ = mean.cpu().numpy() if self.center else None
        self.gram_mean_, self.total_ = gram_mean.cpu().numpy(), total

    def _leading(self, gram: Gram, weights: Tensor | None, variance: float) -> tuple[Tensor, Tensor]:
        """As many eigenpairs as were asked for."""
        n, asked = gram.shape[0], self.n_components
        if asked is None:
            return gram.top_eigenpairs(n, weights, center=self.center)
        if not isinstance(asked, float):
            return gram.top_eigenpairs(int(asked), weights, center=self.center)
        k = min(n, 16)
        while True:
            values, vectors = gram.top_eigenpairs(k, weights, center=self.center)
            reached = torch.cumsum(values, 0) >= asked * variance
            if bool(reached.any()) or k == n:
                count = int(reached.to(torch.uint8).argmax()) + 1 if bool(reached.any()) else n
                return values[:count], vectors[:, :count]
            k = min(n, 2 * k)

    def _decoder_kernel(self) -> Kernel:
        given = self.decoder_kernel
        if isinstance(given, str) and given == "auto":
            return Matern(1.5, "median") + 0.1 * Linear("mean_norm")
        kernel = as_kernel(given)
        if kernel.domain != "vectors":
            raise InputError(f"decoder_kernel must be a kernel on vectors; got {kernel!r}")
        return kernel

    def _fit_ridge(self, X: Tensor, weights: Tensor | None) -> None:
        """Kernel ridge regression from codes to inputs: ``(K + reg W^-1) Phi = T``."""
        self.output_, U = Euclidean.fit(X, weights, center=True, scale=True)
        Z = to_tensor(self.codes_, **self._options)
        with naming("decoder_kernel"):
            self.decoder_kernel_ = self._decoder_kernel().resolve(Z, weights)
        self.decoder_coef_: np.ndarray | None = None
        if self.preimage != "ridge":
            return
        K = self.decoder_kernel_._gram(Z)
        K.diagonal().add_(self.reg * len(Z) if weights is None else self.reg / weights)
        self.decoder_coef_ = solve_positive(K, U, name="the pre-image system K + n reg I").cpu().numpy()

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
        items = self._read_new(X)
        return give_back(self._to_output(self._scores(self._cross_gram(items))), X)

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
        assert self.decoder_coef_ is not None
        K = self.decoder_kernel_._gram(Z, to_tensor(self.codes_, **self._options))
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
            items = self._support() if candidates is None else self._read_new(candidates)
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
