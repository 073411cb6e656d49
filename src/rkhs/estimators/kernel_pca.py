"""Kernel principal component analysis, with pre-images and explained variance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import give_back, to_tensor
from rkhs._core.checks import check_choice, check_count, check_number, choice, naming
from rkhs._core.copies import are_measured
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate, check_memory
from rkhs._core.threads import within_limit
from rkhs.engines import Rows
from rkhs.estimators.bounded_preimages import PreimageMixin
from rkhs.estimators.choice_report import open_ends, warn_of_edges
from rkhs.estimators.components.partial import RowSums, add_rows, components_of
from rkhs.estimators.components.robust import robust_components
from rkhs.estimators.fitted import Fitted, FittedComponents
from rkhs.estimators.options.combinations import check_combination
from rkhs.estimators.ranked_candidates import Ranking, rank_by_codes, rank_codes, ranks_by_codes
from rkhs.estimators.run import Run, items_bytes
from rkhs.estimators.storage import announce_blocked, announce_features, open_space
from rkhs.estimators.training import Training, equal_rows
from rkhs.kernels import Kernel, Linear, Matern, as_kernel
from rkhs.losses import Loss, Squared, as_loss
from rkhs.models import CodeRegression, ComponentsModel, RobustFacts
from rkhs.outputs import Euclidean
from rkhs.selection import ridge_path
from rkhs.selection.loss_scale import merged_copies
from rkhs.spaces import Components, Space, WholeSpace, open_source
from rkhs.spaces.features import Storage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs._core.arrays import Items
    from rkhs.estimators.options.arguments import (
        Columns,
        Device,
        Dtype,
        EngineLike,
        KernelLike,
        LossLike,
        StorageLike,
    )


_REGS = tuple(10.0 ** (k / 2) for k in range(-16, 1))  # candidates of reg="auto"


def _takes_more_rows(model: KernelPCA) -> bool:
    """Whether ``partial_fit`` is available; the AttributeError names what is missing."""
    if not isinstance(model.storage, Storage):
        raise AttributeError(
            f"partial_fit of KernelPCA needs storage=Nystroem(m) or RandomFeatures(m) of rkhs.features, whose moments "
            f"take more rows; got storage={model.storage!r}"
        )
    if model.__sklearn_tags__().input_tags.pairwise:
        raise AttributeError("partial_fit needs inputs of fixed width; a Gram matrix grows with its rows. Use fit")
    return True


@dataclass(eq=False, repr=False)
class KernelPCA(FittedComponents, PreimageMixin):
    """Principal components of the features ``phi(x)`` of a kernel.

    The codes are ``z_j(x) = <phi(x) - mean, u_j>`` with the leading eigenvectors ``u_j`` of the covariance of the
    features. A Lanczos iteration finds the largest eigenpairs, whatever their number.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Number of components. A number in (0, 1): as many components as explain that share of the variance. None: all
        with positive variance.
    kernel : str, Kernel or callable, default="gaussian"
        Kernel of the inputs. With ``"precomputed"``, ``fit`` takes the Gram matrix (n, n) and every other method kernel
        values with the training items (m, n).
    columns : {"raw", "scaled", "integral", "filled", "ranked"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean; ``inverse_transform``
        gives the units of the data back.
        ``"filled"`` reads tables with texts and gaps: :class:`~rkhs.features.FilledTable`; ``"ranked"`` too, with
        ``numbers="ranks"``.
    center : bool, default=True
        Centre the features. Without it, the components are eigenvectors of the second moment.
    loss : str or Loss, default="squared"
        Maximise ``sum_i w_i loss(z(x_i))`` in place of the variance, starting from kernel PCA; not convex.
        ``Huber(kappa)`` is robust to outliers and ``EpsilonInsensitive(epsilon)`` is sparse, with parameters in units
        of the features. For a name such as ``"huber"``, kappa is the median norm of the codes of the squared loss, and
        epsilon half of it.
    preimage : {"ridge", "fixed_point", "nearest"}, default="ridge"
        How ``inverse_transform`` returns to vectors. ``"ridge"``: kernel ridge regression from codes to inputs;
        ``"nearest"``: the nearest training vector. ``"fixed_point"``: the vector whose feature is nearest to the
        projection, by a fixed point for the Gaussian kernel and by gradient descent for others.
    decoder_kernel : str, Kernel or "auto", default="auto"
        Kernel of the ridge regression, on codes. ``"auto"``: ``Matern(1.5, "median") + 0.1 Linear("mean_norm")``.
    reg : float or "auto", default=1e-4
        Regulariser of the ridge regression, relative to the variance of the inputs. ``"auto"`` takes the value of least
        leave-one-out error among 1e-8, 10^-7.5, ..., 1; copies of a row are left out together. It costs one
        eigendecomposition and needs dense storage.
    storage : {"dense", "blocked"}, Nystroem or RandomFeatures, default="dense"
        How the Gram matrix is kept. ``"dense"`` keeps it whole; ``"blocked"`` recomputes it tile by tile, exactly
        and in O(n) memory. Landmarks and random features (:mod:`rkhs.features`) make the cost linear in n and read
        files block by block.
    engine : {None, "serial", "threads", "dask"} or Engine, default=None
        Who computes, as in :class:`KernelAutoencoder`.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. Results have the dtype of the training data.

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
        With landmarks or random features, the raw features of ``x`` stand in place of ``k(x, X)``.
    n_components_ : int
    reg_ : float
        Regulariser of the ridge regression, if there is one.
    at_edge_ : dict or None
        ``{"reg": "weakest"}`` or ``"strongest"`` if ``reg="auto"`` chose an end of its path and the error was still
        falling there. An ``EdgeWarning`` says it too.
    announced_bytes_ : int
        Memory in bytes that the fit was expected to take.
    kernel_ : Kernel
        The kernel with a number for every bandwidth.
    n_iter_ : int
        1 for the squared loss, which has a closed form.
    loss_, support_, objective_, stationarity_
        For other losses: the loss with numbers for its parameters; rows with a non-zero dual variable; minus the mean
        loss; a number that is zero at a stationary point.

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used. The message names the argument.

    Notes
    -----
    Fit costs ``O(n^2 (d + 10 p))``, and ``n^3 / 3`` more for the ridge pre-image. ``fit`` ignores ``y``.

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

    n_components: int | float | None = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    columns: Columns = "raw"
    center: bool = True
    loss: LossLike = "squared"
    preimage: Literal["ridge", "fixed_point", "nearest"] = "ridge"
    decoder_kernel: KernelLike | Literal["auto"] = "auto"
    reg: float | Literal["auto"] = 1e-4
    storage: StorageLike | Literal["blocked"] = "dense"
    engine: EngineLike = None
    device: Device = "cpu"
    dtype: Dtype = "float64"

    model_: ComponentsModel = field(init=False)
    _needs_differences = True
    _declared = {"preimage": choice(choices=("ridge", "fixed_point", "nearest"))}

    codes_: ClassVar[Fitted[np.ndarray]] = Fitted("codes")
    n_components_: ClassVar[Fitted[int]] = Fitted("width")
    explained_variance_: ClassVar[Fitted[np.ndarray]] = Fitted("variances")
    explained_variance_ratio_: ClassVar[Fitted[np.ndarray]] = Fitted("shares")
    eigenvalues_: ClassVar[Fitted[np.ndarray]] = Fitted("eigenvalues")
    dual_coef_: ClassVar[Fitted[np.ndarray]] = Fitted("encoder.coefficients")
    intercept_: ClassVar[Fitted[np.ndarray]] = Fitted("encoder.shift")
    train_diag_: ClassVar[Fitted[np.ndarray]] = Fitted("diagonal")
    decoder_kernel_: ClassVar[Fitted[Kernel]] = Fitted("back.kernel")
    decoder_coef_: ClassVar[Fitted[np.ndarray]] = Fitted("back.coefficients", optional=True)
    output_: ClassVar[Fitted[Euclidean]] = Fitted("back.output", optional=True)
    reg_: ClassVar[Fitted[float]] = Fitted("back.reg")
    moments_: ClassVar[Fitted[RowSums]] = Fitted("moments", optional=True)
    at_edge_: ClassVar[Fitted[dict[str, str]]] = Fitted("open_ends", optional=True)
    loss_: ClassVar[Fitted[Loss]] = Fitted("robust.loss")
    support_: ClassVar[Fitted[np.ndarray]] = Fitted("robust.support")
    stationarity_: ClassVar[Fitted[float]] = Fitted("robust.stationarity")

    def fit(self, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> KernelPCA:
        """Find the components.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
            With landmarks or random features also a memory map, or rows opened by :func:`rkhs.engines.as_rows`.
        y : ignored
        sample_weight : array of shape (n,), optional
            Not negative. Rows of weight zero are dropped before anything is estimated, so that ``codes_`` has no rows
            of them; those of a file, or of a memory map, have no influence and still get codes.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._running() as run:
            kernel = self._kernel_for(X)
            training = self._training(X, kernel, sample_weight, at_least=1, storage=self.storage)
            self._announce(run, kernel, training)
            space = open_space(run, self.storage, kernel, training)
            self.model_ = self._model(space, *self._components(space))
        warn_of_edges(self)
        return self

    def _resolved(self, X: Any, **data: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
        reg = f"least leave-one-out error of {len(_REGS)}" if isinstance(self.reg, str) else self.reg
        back = {"decoder_kernel": self._decoder_kernel(), "reg": reg} if self.preimage == "ridge" else {}
        found = {"kernel": self._kernel_for(X), **back, "loss": as_loss(self.loss), "storage": self.storage}
        return found, ("max sum_i w_i loss(z(x_i)), z_j(x) = <phi(x) - mean, u_j> of orthonormal u_j",)

    def _announce(self, run: Run, kernel: Kernel, training: Training, *, parts: bool = False) -> None:
        """Announce the memory of the fit, and refuse more components than rows."""
        n, count, data = len(training), self.n_components, training.items
        columns = data.shape[1] if isinstance(data, (Rows, Tensor)) and not training.gram else 0
        if isinstance(self.storage, Storage):
            codes, layers = count if isinstance(count, int) else self.storage.m, 2 - (parts or self.preimage != "ridge")
            return announce_features(run, self.storage, n, columns, columns, codes, layers=layers)
        if not isinstance(count, float) and count is not None:
            check_count(count, "n_components", at_most=n, why=" (the number of samples)")
        if self.storage == "blocked":
            return announce_blocked(run, kernel, n)
        return run.announce_dense(n, 2.6, columns, items_bytes(kernel, data))

    def _components(self, space: Space) -> tuple[Components, RobustFacts | None]:
        """The components, and their diagnostics for losses other than the squared one."""
        found, loss = space.principal(self.n_components, center=self.center), as_loss(self.loss)
        self.n_iter_: int = 1
        if isinstance(loss, Squared):
            self._warn_of_rounding(space.size, found.coefficients, float(found.variances[0]) ** 0.5)
            return found, None
        assert isinstance(space, WholeSpace)
        found, robust, solution = robust_components(space, found, loss, center=self.center)
        self._record(solution)
        return found, robust

    def _model(self, space: Space, found: Components, robust: RobustFacts | None) -> ComponentsModel:
        """Build the model from a space and its components."""
        diagonal, codes = space.diagonal, self._to_output(found.scores)
        host_diagonal = None if diagonal is None else diagonal.cpu().numpy().copy()
        regresses = space.kernel.domain == "vectors" and self.preimage == "ridge"
        back, ends = self._ridge_preimage(space, found, codes) if regresses else (None, None)
        facts: dict[str, Any] = {"open_ends": ends, "robust": robust}
        return ComponentsModel.of(
            space.kernel, space.map, found, codes, space.n, diagonal=host_diagonal, back=back, **facts
        )

    def _ridge_preimage(
        self, space: Space, found: Components, codes: np.ndarray
    ) -> tuple[CodeRegression, dict[str, str] | None]:
        """Kernel ridge regression from the stored codes to the inputs, and the open end of its path, if any."""
        found = replace(found, scores=to_tensor(codes, **self._options))
        with naming("decoder_kernel"):
            kernel = space.resolve_on_codes(self._decoder_kernel(), found)
        targets, reg, ends = space.targets(), self.reg, None
        if isinstance(reg, str):
            assert isinstance(space, WholeSpace)
            groups = equal_rows(space.items) if are_measured(space.items) else None  # copies are left out together
            first, _, weights = merged_copies(groups, space.mean_weights)
            assert targets.coordinates is not None
            path = ridge_path(kernel._gram(found.scores[first]), targets.coordinates[first], _REGS, weights)
            reg, ends = path.best(), open_ends(path.leave_one_out, 1.0, ends=("weakest", "strongest"))
        anchors, coefficients = space.regress(kernel, found, targets, float(reg))
        kept = codes if anchors is found.scores else anchors.cpu().numpy()
        return CodeRegression(kernel, kept, coefficients.cpu().numpy(), output=targets.output, reg=float(reg)), ends

    @available_if(_takes_more_rows)
    @within_limit
    def partial_fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Add rows to the moments of the features; the components are those of all rows so far.

        Needs ``storage=Nystroem(m)`` or ``RandomFeatures(m)``. The first rows, at least ``m`` for landmarks, determine
        bandwidths and landmarks. If these are given, the result is exactly that of one fit. Only moments are kept:
        ``codes_`` are those of the last rows, and there is no ridge pre-image.

        Parameters
        ----------
        X : array (n, d), or list of n objects
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        InputError
            After ``fit``, which keeps no moments; for fewer first rows than landmarks.
        """
        self._check_parameters()
        assert isinstance(self.storage, Storage)
        run, before = self._run, getattr(self, "moments_", None)
        if before is None:
            self._refuse_parts_of_a_fit()
            training = self._training(X, kernel := self._kernel_for(X), at_least=1)
            self._check_first_part(len(training))
            self._announce(run, kernel, training, parts=True)
            self.announced_bytes_: int = run.announced_bytes
            source = open_source(run.options, self.storage, kernel, training.items, None)
            kernel, features, rows, n = source.kernel, source.features, training.items, 0
        else:
            kernel, features, rows, n = self.kernel_, self.map_, self._read_new(X), self.model_.n
        sums, n = add_rows(run.options, kernel, features, rows, before), n + len(rows)
        found = components_of(features, sums, n, rows, self.n_components, center=self.center)
        self._warn_of_rounding(sums[2] / n, found.coefficients, float(found.variances[0]) ** 0.5)
        self.model_ = ComponentsModel.of(kernel, features, found, self._to_output(found.scores), n, moments=sums)
        self.n_iter_ = 1
        return self

    def _check_first_part(self, n: int) -> None:
        """Refuse fewer first rows than landmarks: more would never come."""
        assert isinstance(self.storage, Storage)
        if self.storage.keeps_items and n < self.storage.m:
            raise InputError(
                f"the first rows of partial_fit must be at least as many as the landmarks that are chosen among them, "
                f"{self.storage.m}; got {n}. Give more rows first, or take fewer landmarks: Nystroem({n})"
            )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_combination("KernelPCA", self.get_params(deep=False))
        if isinstance(self.reg, str):
            check_choice(self.reg, "reg", ("auto",))
        else:
            check_number(self.reg, "reg", above=0.0)
        if isinstance(self.n_components, float) and not 0.0 < self.n_components < 1.0:
            raise InputError(
                f"n_components must be an integer >= 1, a share in (0, 1) or None; got {self.n_components!r}"
            )
        if self.n_components is not None and not isinstance(self.n_components, float):
            check_count(self.n_components, "n_components")

    def _decoder_kernel(self) -> Kernel:
        given = self.decoder_kernel
        if isinstance(given, str) and given == "auto":
            return Matern(1.5, "median") + 0.1 * Linear("mean_norm")
        kernel = as_kernel(given)
        if kernel.domain != "vectors":
            raise InputError(f"decoder_kernel must be a kernel on vectors; got {kernel!r}")
        return kernel

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
        check_is_fitted(self)
        return give_back(self._in_tiles(X, self.model_.encode), X)

    def _feature_weights(self, codes: Tensor) -> Tensor:
        return self.model_.weights(codes)

    def inverse_transform(self, codes: ArrayLike) -> Any:
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
            return give_back(self._to_rows(self._of_codes(Z, self._vectors)), codes)
        return give_back(self._to_output(self._of_codes(Z, self.model_.weights)), codes)

    def _vectors(self, Z: Tensor) -> Tensor:
        """Pre-images of codes by the method ``preimage``."""
        if self.preimage != "ridge":
            return self.model_.nearest_features(Z, descend=self.preimage == "fixed_point")
        if self.model_.back is None:
            raise InputError(
                "this model has no ridge pre-image: partial_fit keeps no training items to fit it on, and fit with "
                "another preimage= computes none; use preimage='nearest' or 'fixed_point', or fit with preimage='ridge'"
            )
        return self.model_.back.targets(Z)

    def decode(
        self,
        codes: ArrayLike,
        candidates: Items | None = None,
        *,
        by: str = "auto",
        diag: ArrayLike | None = None,
        n_best: int | None = None,
    ) -> Ranking:
        """Rank candidates by the distance of their features to the projections with the given codes, or by codes.

        Parameters
        ----------
        codes : array of shape (m, p)
        candidates : items, default=None
            Vectors (c, d), objects, or for ``kernel="precomputed"`` kernel values (c, n) with the training items. None:
            the training items themselves (not for ``kernel="precomputed"`` by features).
        by : {"auto", "codes", "features"}, default="auto"
            ``"features"``: distances in the feature space, which favour training items.
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
            K = self._cross_gram(self._candidate_rows(candidates))
            diagonal = self._gram_diagonal(diag, K)
        else:
            items = self._training_items() if candidates is None else self._read_new(candidates)
            self._announce_candidates(len(items))
            K = self._cross_gram(items)
            diagonal = self.kernel_._diag(items).to(K)
        return rank_codes(Z, lambda part: self.model_.distances(part, K, diagonal), len(K), n_best)

    def _announce_candidates(self, count: int) -> None:
        """Refuse more candidates than have room for their kernel values with the training items."""
        n = self.map_.width
        what, parts = f"KernelPCA.decode with {count} candidates", f"3 matrices of {count} x {n}"
        check_memory(Estimate(what, 24 * count * n, parts), "Give fewer candidates, or rank by their codes: by='codes'")

    def _rebuilt(self, raw: Tensor) -> Tensor:
        return self._vectors(self.model_.encoder.of(raw))
