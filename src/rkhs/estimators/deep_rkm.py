"""The constrained deep restricted kernel machine: several kernel PCA layers trained together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import give_back, to_tensor
from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs._core.linalg import center_gram
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.drkm_decode import DecodingMixin
from rkhs.estimators.drkm_features import check_storage, fit_feature_encoders, store_features
from rkhs.estimators.drkm_parts import Encoder, fit_encoders, read_settings, solve_machine
from rkhs.estimators.storage import as_storage, build_features, item_features
from rkhs.estimators.tiles import encode_tiles
from rkhs.features import FeatureMap, Storage
from rkhs.problems.drkm import ConstrainedDRKM

__all__ = ["DeepRKM"]

_DEFECT = 0.1
_LOO_DEFECT = 0.5  # with a chosen ridge the codes are shrunk on purpose


class DeepRKM(DecodingMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Layers of kernel PCA, each on the codes of the one below, trained end to end with orthogonal codes.

    It minimises ``-sum_l 1/(2 eta_l) Tr(H_l^T K_(l-1) H_l)`` over the codes ``H = [H_1, .., H_L]`` of the training
    items, with ``H^T H = I``. ``K_0`` is the Gram matrix of the data, ``K_l`` that of the codes ``H_l``. With one layer
    this is kernel PCA.

    Parameters
    ----------
    n_components : int or tuple of int, default=(4, 2)
        Number of codes of each layer; an int means one layer. Their sum is at most n, or n - 1 when centred.
    kernel : str, Kernel or callable, default="gaussian"
        Kernel of the inputs. With ``"precomputed"``, ``fit`` takes the Gram matrix (n, n) and every other method kernel
        values with the training items (m, n).
    decoder_kernel : str, Kernel or tuple, default="gaussian"
        Kernel of the codes: one, or one for each of the layers 2 to L. A bandwidth by a rule is computed from the codes
        of layer-wise kernel PCA. Linear and polynomial kernels are nearly constant on orthogonal codes, so they are of
        little use here.
    eta : float or tuple of float, default=1.0
        Inverse weight of each layer. A common factor changes nothing; the paper's ``gamma`` is ``eta[0] / eta[1]``.
    columns : {"raw", "scaled"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean; ``inverse_transform``
        gives the units of the data back.
    center : bool, default=True
        Centre every Gram matrix. The paper does not; one code is then the constant vector.
    code_scale : {"sqrt_n", "unit"}, default="sqrt_n"
        What the kernels of codes read. ``"sqrt_n"``: ``sqrt(n) H_l``, whose entries are of order one. ``"unit"``:
        ``H_l`` as in the paper; with its bandwidths all kernel values are then nearly equal.
    constraint : {"joint", "per_layer"}, default="joint"
        Orthogonality of all codes together (paper), or within each layer only.
    out_of_sample : {"ridge", "block", "paper"}, default="ridge"
        How new items are encoded. ``"ridge"``: kernel ridge regression of the training codes; ``"block"``: ``M_l^-1
        H_l^T k`` with ``M_l = H_l^T K H_l``, exact for one layer. ``"paper"``: ``H_l^T k / (multiplier eta)``, which is
        wrong by a factor in each component and is here to repeat the paper.
    ridge : "loo" or float, default="loo"
        Ridge of ``out_of_sample="ridge"``, relative to the mean of the diagonal of the Gram matrix. ``"loo"``: for each
        layer, the one of seven values with the least leave-one-out error. A tiny value such as ``1e-8`` makes codes of
        new items very large from the third layer on.
    multiplier : float or tuple of float, default=1.0
        The paper's ``lambda``. Only ``out_of_sample="paper"`` reads it; training does not depend on it.
    preimage : {"ridge", "fixed_point"}, default="ridge"
        How :meth:`inverse_transform`, and :meth:`denoise` from layer 2 on, return to vectors: kernel ridge regression
        from codes to inputs, or pre-images layer by layer.
    bandwidths : {"fixed", "joint"}, default="fixed"
        ``"joint"`` minimises the objective over the bandwidths too, each within a factor ten of its start. Without this
        limit, and without centring, an infinite bandwidth would be optimal for any data. ``"fixed"`` keeps the
        bandwidths.
    solver : str or Solver, default="subspace"
        ``"subspace"``, ``"riemannian_lbfgs"``, ``"riemannian_cg"``, ``"projected_gradient"``, ``"cayley_adam"``,
        ``"penalty_lbfgs"``, ``"penalty_adam"``, or an object of :mod:`rkhs.solvers` that keeps orthonormal columns.
    init : {"kpca", "random"}, default="kpca"
        Start from layer-wise kernel PCA, each layer orthogonal to those below, or from random codes.
    n_init : int, default=1
        Number of starts; the first is ``init``, the others are random. The lowest objective wins.
    canonical : bool, default=True
        Rotate the codes of each layer onto its principal axes, by decreasing eigenvalue, with fixed signs. The
        objective does not change (for code kernels that are invariant to rotation). Metrics that compare single axes do
        change.
    max_iter : int, default=1000
        Largest number of iterations of a solver given by name.
    tol : float, default=1e-6
        Such a solver stops when the norm of the Riemannian gradient is at most ``tol * max(1, |objective|)``.
    storage : "dense", Nystroem or RandomFeatures, default="dense"
        How Gram matrices are kept. ``"dense"`` keeps them whole; the others keep features of the items
        (:mod:`rkhs.features`) and compute the exact Gram matrices of codes tile by tile, in ``O(n)`` memory and ``O(n^2
        S)`` time. They need ``out_of_sample="ridge"`` and ``bandwidths="fixed"``.
    psd : {"clip", "raise"}, default="clip"
        What to do with a Gram matrix that has negative eigenvalues: set them to zero and warn, or raise an error.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. Results have the dtype of the training data.
    verbose : int, default=0
        Above 0, show progress on standard error.

    Attributes
    ----------
    codes_ : ndarray of shape (n, S)
        Codes of the training items, all layers side by side. The columns are orthonormal under the joint constraint.
    layer_codes_ : list of ndarray of shape (n, s_l)
        Codes of every layer.
    layer_values_ : list of ndarray of shape (s_l,)
        Diagonal of ``H_l^T K_(l-1) H_l``: the variance that each code carries.
    in_sample_defect_ : ndarray of shape (L,)
        ``||H_l(X) - H_l|| / ||H_l||``: how far the codes are off if the training items are encoded as new items.
        ``fit`` warns above 0.1, or above 0.5 for ``ridge="loo"``, which shrinks the codes.
    ridge_, leave_one_out_error_ : ndarray of shape (L,)
        Ridge of each layer, and the error of predicting each code from the other items, as a share of its norm (NaN
        without a ridge).
    kernel_, decoder_kernels_ : Kernel or tuple of Kernel
        The kernel with a number for every bandwidth.
    dual_coefs_, intercepts_ : list of ndarray of shapes (n, s_l) and (s_l,)
        Codes of a layer are ``k(x, X) dual_coef + intercept``. With landmarks or random features, raw features stand in
        place of ``k(x, X)``.
    announced_bytes_ : int
        Memory in bytes that a fit with landmarks or random features was expected to take.
    infeasibility_ : float
        ``||H^T H - I||``.
    objective_, n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used. The message names the argument.

    Notes
    -----
    One evaluation costs ``O(n^2 S)``, the encoder of each layer ``n^3 / 3`` once. ``fit`` ignores ``y``. The model of
    the paper itself is ``DeepRKM((10, 5), kernel=Gaussian(0.01), decoder_kernel=Gaussian(0.01), center=False,
    code_scale="unit", out_of_sample="paper", canonical=False)`` for ``sigma^2 = 50``, with ``init="random"`` and the
    solver of one's choice, and ``denoise(X, weighting="paper")``.

    References
    ----------
    Tonin, Patrinos and Suykens (2021), "Unsupervised learning of disentangled representations in deep restricted kernel
    machines with orthogonality constraints": equations 4, 5 and 7, sections 4.1 and 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import DeepRKM
    >>> X = load_iris().data
    >>> model = DeepRKM((3, 2)).fit(X)
    >>> model.transform(X[:5]).shape, model.transform(X[:5], layer=2).shape
    ((5, 5), (5, 2))
    >>> model.infeasibility_ < 1e-12
    True
    """

    layer_values_: list[np.ndarray]
    in_sample_defect_: np.ndarray
    ridge_: np.ndarray
    leave_one_out_error_: np.ndarray
    dual_coefs_: list[np.ndarray]
    intercepts_: list[np.ndarray]
    infeasibility_: float

    def __init__(
        self,
        n_components: Any = (4, 2),
        *,
        kernel: Any = "gaussian",
        decoder_kernel: Any = "gaussian",
        eta: Any = 1.0,
        columns: str = "raw",
        center: bool = True,
        code_scale: str = "sqrt_n",
        constraint: str = "joint",
        out_of_sample: str = "ridge",
        ridge: Any = "loo",
        multiplier: Any = 1.0,
        preimage: str = "ridge",
        bandwidths: str = "fixed",
        solver: Any = "subspace",
        init: str = "kpca",
        n_init: int = 1,
        canonical: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        storage: Any = "dense",
        psd: str = "clip",
        random_state: Any = None,
        device: str = "cpu",
        dtype: str = "float64",
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.decoder_kernel = decoder_kernel
        self.eta = eta
        self.columns = columns
        self.center = center
        self.code_scale = code_scale
        self.constraint = constraint
        self.out_of_sample = out_of_sample
        self.ridge = ridge
        self.multiplier = multiplier
        self.preimage = preimage
        self.bandwidths = bandwidths
        self.solver = solver
        self.init = init
        self.n_init = n_init
        self.canonical = canonical
        self.max_iter = max_iter
        self.tol = tol
        self.storage = storage
        self.psd = psd
        self.random_state = random_state
        self.device = device
        self.dtype = dtype
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.codes_.shape[1])

    def fit(self, X: Any, y: Any = None) -> DeepRKM:
        """Train all layers together.

        Parameters
        ----------
        X : array (n, d), Gram matrix (n, n), or list of n objects
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        InputError
            For parameters out of range, too few items for the components, and data that cannot be used.
        """
        self._check_parameters()
        kernel = self._input_kernel()
        settings = read_settings(self)
        storage = as_storage(self.storage, "DeepRKM", ("dense", "Nystroem", "RandomFeatures"))
        items = self._read_training(X, kernel)
        self._kept_rows, self._n_training = None, len(items)
        self.map_: FeatureMap | None = None
        if isinstance(storage, Storage):
            check_storage(self, storage, len(items))
            self.kernel_, self.map_ = build_features(storage, kernel, items)
            K = item_features(self.kernel_, self.map_, items)
        else:
            self.kernel_ = kernel.resolve(items)
            K = self._training_gram(self.kernel_, items)
        factored = self.map_ is not None
        problem, solution, self.kernel_ = solve_machine(self, settings, K, self.kernel_, items, factored=factored)
        if self.bandwidths == "joint":
            K = self._training_gram(self.kernel_, items)
        H = problem.canonical(solution.point) if self.canonical else solution.point
        self.infeasibility_ = problem.constraint.violation(H)
        self.decoder_kernels_, self.scale_ = problem.kernels, problem.scale
        self.codes_ = self._to_output(H)
        self.layer_codes_ = [np.ascontiguousarray(block.cpu().numpy()) for block in problem.split(H)]
        if isinstance(storage, Storage):
            store_features(self, storage, problem, K, H, items)
            found, self.code_maps_ = fit_feature_encoders(self, storage, problem, K, H)
        else:
            self.train_diag_ = K.diagonal().cpu().numpy().copy()
            self._store_support(items)
            self._store_layers(problem, K, H)
            found = fit_encoders(problem, settings, K, H, self.out_of_sample, self.ridge)
        self._store_encoders(found)
        diagonal = K.diagonal() if self.map_ is None else (K * K).sum(1)
        self._warn_of_rounding(float(diagonal.max()), found[0].dual, H)
        self._record(solution)
        self._warn_on_defect()
        return self

    def _store_layers(self, problem: ConstrainedDRKM, K: Tensor, H: Tensor) -> None:
        self.layer_values_, self.gram_means_, self.moments_ = [], [], []
        for layer, block in enumerate(problem.split(H)):
            raw = K if layer == 0 else self._code_rows(layer, problem.split(H)[layer - 1])
            gram = center_gram(raw) if self.center else raw
            moment = block.mT @ (gram @ block)
            self.layer_values_.append(moment.diagonal().cpu().numpy().copy())
            self.moments_.append(moment.cpu().numpy())
            self.gram_means_.append((raw.mean(dim=0) if self.center else raw.new_zeros(len(raw))).cpu().numpy())

    def _store_encoders(self, found: list[Encoder]) -> None:
        self.dual_coefs_ = [one.dual.cpu().numpy() for one in found]
        self.intercepts_ = [one.shift.cpu().numpy() for one in found]
        supports = [] if self.map_ is not None else [one.support.cpu().numpy() for one in found[:-1]]
        self.encoder_supports_ = supports
        self.in_sample_defect_ = np.array([one.defect for one in found])
        self.ridge_ = np.array([one.ridge for one in found])
        self.leave_one_out_error_ = np.array([one.error for one in found])

    def _warn_on_defect(self) -> None:
        worst = int(np.argmax(self.in_sample_defect_))
        limit = _LOO_DEFECT if self.out_of_sample == "ridge" and self.ridge == "loo" else _DEFECT
        if self.in_sample_defect_[worst] > limit and self.out_of_sample != "paper":
            warnings.warn(
                f"encoding the training items again misses the codes of layer {worst + 1} by a share of "
                f"{self.in_sample_defect_[worst]:.2f} (in_sample_defect_): they are not a smooth function of the "
                "inputs. Ask for fewer components or layers, use out_of_sample='ridge', or constraint='per_layer'",
                UserWarning,
                stacklevel=3,
            )

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
            codes = self._encode(self._cross_gram(items))
            return torch.cat(codes, 1) if index is None else codes[index]

        return give_back(encode_tiles(self, X, encode), X)

    def _encode(self, K: Tensor) -> list[Tensor]:
        """Codes of every layer from rows of kernel values with the training items."""
        codes: list[Tensor] = []
        for layer, (dual, shift) in enumerate(zip(self.dual_coefs_, self.intercepts_, strict=True)):
            rows = K if layer == 0 else self._encoder_rows(layer, codes[-1])
            codes.append(rows @ to_tensor(dual, **self._options) + to_tensor(shift, **self._options))
        return codes

    def _encoder_rows(self, layer: int, codes: Tensor) -> Tensor:
        """Kernel values of codes of layer ``layer`` with the supports of the next encoder, or raw features."""
        if self.map_ is not None:
            return self.code_maps_[layer - 1].raw(self.scale_ * codes)
        support = to_tensor(self.encoder_supports_[layer - 1], **self._options)
        return self.decoder_kernels_[layer - 1]._gram(self.scale_ * codes, self.scale_ * support)

    def _code_rows(self, layer: int, codes: Tensor) -> Tensor:
        """Kernel values of codes of layer ``layer`` with those of the training items, shape (m, n)."""
        return self.decoder_kernels_[layer - 1]._gram(self.scale_ * codes, self.scale_ * self._layer(layer))

    def _layer(self, layer: int) -> Tensor:
        """Training codes of a layer, from 1."""
        return to_tensor(self.layer_codes_[layer - 1], **self._options)

    def _layer_index(self, layer: Any) -> int:
        count = len(self.layer_codes_)
        try:
            return check_count(layer, "layer", at_most=count) - 1
        except InputError as error:
            raise InputError(f"{error}. This model has {count} layers") from None
