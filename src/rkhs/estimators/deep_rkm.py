"""The constrained deep restricted kernel machine: several kernel PCA layers trained together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import Items, as_numpy, give_back
from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError, warn
from rkhs.estimators.drkm.encoders import machine_model
from rkhs.estimators.drkm.machine import read_settings, solve_machine
from rkhs.estimators.fitted import Fitted, FittedComponents
from rkhs.estimators.options.arguments import Columns, Device, Dtype, KernelLike, Seed, StiefelSolverLike, StorageLike
from rkhs.estimators.storage import announce_layers
from rkhs.kernels import Kernel
from rkhs.models import DeepRKMModel
from rkhs.spaces import InMemoryItems

_DEFECT = 0.1
_LOO_DEFECT = 0.5  # a ridge shrinks the codes


@dataclass(eq=False, repr=False)
class DeepRKM(FittedComponents):
    """Layers of kernel PCA, each on the codes of the one below, trained end to end with orthogonal codes.

    It minimises ``-sum_l 1/(2 eta_l) Tr(H_l^T K_(l-1) H_l)`` over the codes ``H = [H_1, .., H_L]`` of the training
    items, with ``H^T H = I``. ``K_0`` is the Gram matrix of the data, ``K_l`` that of the codes ``H_l``. With one layer
    this is kernel PCA. Its paper calls it Constr-DRKM; codes of one layer are orthogonal (intraorthogonality), and
    those of different layers (interorthogonality).

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
        Inverse weight of each layer. A common factor, such as the paper's ``lambda``, changes only
        ``out_of_sample="paper"``; the paper's ``gamma`` is ``eta[0] / eta[1]``.
    columns : {"raw", "scaled", "integral", "filled", "ranked"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean; ``inverse_transform``
        gives the units of the data back.
        ``"filled"`` reads tables with texts and gaps: :class:`~rkhs.features.FilledTable`; ``"ranked"`` too, with
        ``numbers="ranks"``.
    center : bool, default=True
        Centre every Gram matrix. The paper does not; one code is then the constant vector.
    code_scale : {"sqrt_n", "unit"}, default="sqrt_n"
        What the kernels of codes read. ``"sqrt_n"``: ``sqrt(n) H_l``, whose entries are of order one. ``"unit"``:
        ``H_l`` as in the paper; with its bandwidths all kernel values are then nearly equal.
    out_of_sample : {"ridge", "block", "paper"}, default="ridge"
        How new items are encoded. ``"ridge"``: kernel ridge regression of the training codes, for each layer with the
        one of seven ridges of least leave-one-out error; ``"block"``: ``M_l^-1 H_l^T k`` with ``M_l = H_l^T K H_l``,
        exact for one layer. ``"paper"``: ``H_l^T k / eta``, which is wrong by a factor in each component and serves
        to reproduce the paper.
    bandwidths : {"fixed", "joint"}, default="fixed"
        ``"joint"`` minimises the objective over the bandwidths too, each within a factor ten of its start. Without this
        limit, and without centring, an infinite bandwidth would be optimal for any data. ``"fixed"`` keeps the
        bandwidths.
    solver : str or Solver, default="subspace"
        ``"subspace"``, ``"riemannian_lbfgs"``, ``"projected_gradient"``, ``"cayley_adam"``,
        ``"penalty_lbfgs"``, ``"penalty_adam"``, or an object of :mod:`rkhs.solvers` that keeps orthonormal columns.
    init : {"kpca", "random"} or ndarray of shape (n, sum of n_components), default="kpca"
        Start from layer-wise kernel PCA, each layer orthogonal to those below; from random codes; or from given codes
        of all layers, which the penalty method takes as they are, and others at the nearest feasible point.
    canonical : bool, default=True
        Rotate the codes of each layer onto its principal axes, by decreasing eigenvalue, with fixed signs. The
        objective does not change (for code kernels that are invariant to rotation). Metrics that compare single axes do
        change.
    max_iter : int, default=1000
        Largest number of iterations of a solver that has no limit of its own.
    tol : float, default=1e-6
        A solver without a ``tol`` of its own stops when the norm of the Riemannian gradient is at most ``tol * max(1,
        |objective|)``.
    storage : "dense", Nystroem or RandomFeatures, default="dense"
        How Gram matrices are kept. ``"dense"`` keeps them whole; the others keep features of the items
        (:mod:`rkhs.features`) and compute the exact Gram matrices of codes tile by tile, in ``O(n)`` memory and ``O(n^2
        S)`` time. They need ``out_of_sample="ridge"`` and ``bandwidths="fixed"``.
    random_state : int, RandomState or None, default=None
        Seed of a random start.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. Results have the dtype of the training data.
    verbose : int or "auto", default="auto"
        Above 0, show progress on standard error; "auto": after ten seconds, in a terminal or notebook.

    Attributes
    ----------
    codes_ : ndarray of shape (n, S)
        Codes of the training items, all layers side by side. The columns are orthonormal.
    layer_codes_ : list of ndarray of shape (n, s_l)
        Codes of every layer.
    layer_values_ : list of ndarray of shape (s_l,)
        Diagonal of ``H_l^T K_(l-1) H_l``: the variance that each code carries.
    in_sample_defect_ : ndarray of shape (L,)
        ``||H_l(X) - H_l|| / ||H_l||``: how far the codes are off if the training items are encoded as new items.
        ``fit`` warns above 0.1, or above 0.5 for ``out_of_sample="ridge"``, which shrinks the codes.
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

    n_components: int | tuple[int, ...] = (4, 2)
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    decoder_kernel: KernelLike | tuple[KernelLike, ...] = "gaussian"
    eta: float | tuple[float, ...] = 1.0
    columns: Columns = "raw"
    center: bool = True
    code_scale: Literal["unit", "sqrt_n"] = "sqrt_n"
    out_of_sample: Literal["ridge", "block", "paper"] = "ridge"
    bandwidths: Literal["fixed", "joint"] = "fixed"
    solver: StiefelSolverLike = "subspace"
    init: Literal["kpca", "random"] | np.ndarray = "kpca"
    canonical: bool = True
    max_iter: int = 1000
    tol: float = 1e-6
    storage: StorageLike = "dense"
    random_state: Seed = None
    device: Device = "cpu"
    dtype: Dtype = "float64"
    verbose: int | Literal["auto"] = "auto"

    model_: DeepRKMModel = field(init=False)
    _matrices = 8.0
    _needs_differences = True

    support_items_: ClassVar[Fitted[Any]] = Fitted("items", optional=True)
    codes_: ClassVar[Fitted[np.ndarray]] = Fitted("codes")
    layer_codes_: ClassVar[Fitted[list[np.ndarray]]] = Fitted("layer_codes")
    layer_values_: ClassVar[Fitted[list[np.ndarray]]] = Fitted("values")
    decoder_kernels_: ClassVar[Fitted[tuple[Kernel, ...]]] = Fitted("kernels")
    dual_coefs_: ClassVar[Fitted[list[np.ndarray]]] = Fitted("coefficients")
    intercepts_: ClassVar[Fitted[list[np.ndarray]]] = Fitted("shifts")
    train_diag_: ClassVar[Fitted[np.ndarray]] = Fitted("diagonal")
    in_sample_defect_: ClassVar[Fitted[np.ndarray]] = Fitted("quality.defects")
    ridge_: ClassVar[Fitted[np.ndarray]] = Fitted("quality.ridges")
    leave_one_out_error_: ClassVar[Fitted[np.ndarray]] = Fitted("quality.errors")
    infeasibility_: ClassVar[Fitted[float]] = Fitted("quality.infeasibility")

    def fit(self, X: Any, y: Any = None) -> DeepRKM:
        """Train all layers together.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
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
        settings, kernel = read_settings(self.get_params(deep=False)), self._kernel_for(X)
        with self._running() as run:
            training = self._training(X, kernel)
            announce_layers(run, settings.storage, len(training), sum(settings.widths))
            in_memory = InMemoryItems.open(run.options, settings.storage, kernel, training.items)
            problem, solution, resolved = solve_machine(in_memory, settings)
            if resolved is not in_memory.kernel:
                in_memory = replace(in_memory, kernel=resolved).of(in_memory.items, run.options)
            H = problem.canonical(solution.point) if self.canonical else solution.point
            self.model_ = machine_model(in_memory, problem, settings, H, self._to_output(H))
        self._warn_of_rounding(float(in_memory.diagonal.max()), self.model_.encoder.coefficients, H)
        self._record(solution)
        self._warn_on_defect()
        return self

    def _warn_on_defect(self) -> None:
        worst = int(np.argmax(self.in_sample_defect_))
        limit = _LOO_DEFECT if self.out_of_sample == "ridge" else _DEFECT
        if self.in_sample_defect_[worst] > limit and self.out_of_sample != "paper":
            warn(
                f"the encoder reproduces the training codes of layer {worst + 1} with a relative error of "
                f"{self.in_sample_defect_[worst]:.2f} (in_sample_defect_): they are not a smooth function of the "
                "inputs. Ask for fewer components or layers, or use out_of_sample='ridge'",
                UserWarning,
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

        def encode(items: Items) -> Tensor:
            codes = self.model_.encode(self._cross_gram(items))
            return torch.cat(codes, 1) if index is None else codes[index]

        return give_back(self._in_tiles(X, encode), X)

    def denoise(
        self, X: Any, layer: int = 1, components: Sequence[int] | None = None, *, weighting: str = "projection"
    ) -> Any:
        """Replace each item by its reconstruction from components of a layer.

        Layer 1: ``phi(x)`` is projected on the span of ``sum_i H_ik phi(x_i)``, ``k`` in ``components``, with the
        weights ``b = H (H^T K H)^-1 H^T k(., x)``, and the vector nearest to it in the feature space is sought from
        ``x``.

        Deeper layers of vectors: kernel ridge regression from these components alone to the
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
        check_is_fitted(self)
        check_choice(weighting, "weighting", ("projection", "paper"))
        index = self._layer_index(layer)
        kept, whitened = self._check_components(components, index), weighting == "projection"
        vectors, regresses = self.kernel_.domain == "vectors", index > 0 and self._regresses(weighting)

        def kept_part(items: Any) -> np.ndarray:
            K = self._cross_gram(items)
            if regresses:
                return self._to_rows(self.model_.regressed(self.model_.encode(K)[index][:, kept], layer, kept))
            if index == 0:
                weights = self.model_.projected(0, K, kept, whitened=whitened)
            else:
                codes = self.model_.encode(K)
                rows = self.model_.code_rows(index, codes[index - 1])
                block = self.model_.projected(index, rows, kept, whitened=whitened)
                weights = self.model_.descend(index, self.model_.nearest_codes(index, block, codes[index - 1]), codes)
            return self._to_rows(self.model_.vectors(weights, items)) if vectors else self._to_output(weights)

        return give_back(self._in_tiles(X, kept_part), X)

    def _rebuilt(self, raw: Tensor) -> Tensor:
        return self.model_.regressed(torch.cat(self.model_.encode(raw), 1), None)

    def inverse_transform(self, codes: ArrayLike, layer: int | None = None) -> Any:
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
        Vectors are those of a kernel ridge regression on the codes that are given: seven systems of size n at each
        call. Weights descend from the given layer (all layers: from the first, which alone determines the feature).
        """
        check_is_fitted(self)
        index = 0 if layer is None else self._layer_index(layer)
        Z = self._check_codes(codes, (self.codes_ if layer is None else self.layer_codes_[index]).shape[1])
        if self.kernel_.domain == "vectors":
            return give_back(self._to_rows(self.model_.regressed(Z, layer)), codes)
        weights = self.model_.descend(index + 1, Z[:, : self.layer_codes_[index].shape[1]], None)
        return give_back(self._to_output(weights), codes)

    def traverse(
        self, component: int = 0, *, layer: int = 1, start: ArrayLike | None = None, n_steps: int = 7
    ) -> np.ndarray:
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
        return self.kernel_.domain == "vectors" and not literal

    def _check_components(self, components: Sequence[int] | None, index: int) -> list[int]:
        width = self.layer_codes_[index].shape[1]
        if components is None:
            return list(range(width))
        chosen = [check_count(c, "components", at_least=0, at_most=width - 1) for c in components]
        if not chosen or len(set(chosen)) < len(chosen):
            raise InputError(
                f"components must be different numbers from 0 to {width - 1}, at least one; got {components!r}"
            )
        return chosen

    def _check_codes(self, codes: ArrayLike, width: int) -> Tensor:
        return self._read_matrix(codes, "codes", width, "(m, {q}), as transform returns")

    def _layer_index(self, layer: int) -> int:
        count = len(self.layer_codes_)
        try:
            return check_count(layer, "layer", at_most=count) - 1
        except InputError as error:
            raise InputError(f"{error}. This model has {count} layers") from None
