"""The constrained deep restricted kernel machine: several kernel PCA layers trained together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rkhs._core.arrays import as_numpy
from rkhs.estimators.drkm_decode import FittedDeepRKM
from rkhs.estimators.drkm_encoders import fit_encoders, whole_model
from rkhs.estimators.drkm_features import check_storage, feature_model
from rkhs.estimators.drkm_parts import read_settings, solve_machine
from rkhs.estimators.storage import as_storage, build_features, item_features
from rkhs.features import FeatureMap, Storage, WholeMap

__all__ = ["DeepRKM"]

_DEFECT = 0.1
_LOO_DEFECT = 0.5  # with a chosen ridge the codes are shrunk on purpose


class DeepRKM(FittedDeepRKM):
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
        features: FeatureMap | None = None
        if isinstance(storage, Storage):
            check_storage(self, storage, len(items))
            resolved, features = build_features(storage, kernel, items)
            K = item_features(resolved, features, items)
        else:
            resolved = kernel.resolve(items)
            K = self._training_gram(resolved, items)
        factored = features is not None
        problem, solution, resolved = solve_machine(self, settings, K, resolved, items, factored=factored)
        if self.bandwidths == "joint":
            K = self._training_gram(resolved, items)
        H = problem.canonical(solution.point) if self.canonical else solution.point
        codes = self._to_output(H)
        self._kept_rows, self._n_training = None, len(items)
        if isinstance(storage, Storage) and features is not None:
            self.model_ = feature_model(storage, resolved, features, problem, K, H, items, codes, self.ridge)
        else:
            found = fit_encoders(problem, settings, K, H, self.out_of_sample, self.ridge)
            kept = None if kernel.domain == "gram" else as_numpy(items)
            self.model_ = whole_model(WholeMap(resolved, kept, len(items)), problem, K, H, codes, found)
        diagonal = (K * K).sum(1) if factored else K.diagonal()
        self._warn_of_rounding(float(diagonal.max()), self.model_.encoder.coefficients, H)
        self._record(solution)
        self._warn_on_defect()
        return self

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
