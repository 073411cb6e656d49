"""Kernel contrastive learning: codes that bring positives together and keep negatives apart."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rkhs._core.arrays import give_back
from rkhs._core.checks import check_number, check_seed, choice, count, number
from rkhs._core.errors import InputError
from rkhs.estimators.contrastive.losses import fit_contrast
from rkhs.estimators.contrastive.pairs import PairBuilder
from rkhs.estimators.fitted import Fitted, FittedKernel
from rkhs.estimators.options.arguments import AugmentLike, Columns, Device, Dtype, KernelLike, Seed, StorageLike
from rkhs.estimators.options.combinations import check_combination
from rkhs.estimators.storage import announce_points
from rkhs.models import ContrastiveModel
from rkhs.problems.pairs import Pairs
from rkhs.spaces import InMemoryItems


@dataclass(eq=False, repr=False)
class KernelContrastive(FittedKernel):
    """Codes ``z(x) = W* phi(x)``, learned from pairs of similar and of different items.

    ``loss="simple"``: ``sum_i <z_i, z_i^- - z_i^+>`` subject to ``W* W = I``; ``loss="spectral"``: ``-2 z_i . z_i^+ +
    (z_i . z_i^-)^2`` plus ``reg ||W||^2``. An anchor is one item of the sum, a positive an item that is similar to
    it, a negative one that is not. The terms of several positives or negatives are averaged. Both losses have closed
    forms, except the spectral loss with one negative for each anchor. The paper has the names Contrastive Kernel
    Learning and Spectral Kernel Learning.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the codes.
    kernel : str, Kernel or callable, default="gaussian"
        Kernel of the inputs. With ``"precomputed"``, ``fit`` takes the Gram matrix (n, n) and ``transform`` kernel
        values with the training items (m, n).
    columns : {"raw", "scaled", "integral", "filled", "ranked"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean; ``augment`` then changes such
        rows. ``"filled"`` reads tables with texts and gaps: :class:`~rkhs.features.FilledTable`;
        ``"ranked"`` too, with ``numbers="ranks"``.
    loss : {"simple", "spectral"}, default="simple"
    pairs : {"neighbors", "augment", "class"}, default="neighbors"
        Where positives come from. ``"neighbors"``: the nearest other items in the feature space; ``"augment"``: one
        random view of each item, made by ``augment``, not for Gram matrices. ``"class"``: other items of the same class
        in ``y`` (-1 means unlabelled; a class of one row is skipped with a warning).
    n_neighbors : int, default=5
        Positives of each anchor for ``pairs="neighbors"``; at most n - 1 are used.
    augment : str, Augmentation or callable, default=None
        For ``pairs="augment"``: a name or object of :mod:`rkhs.augment`, or a function ``f(X, rng)``.
    negatives : {"pool", "permutation"}, default="pool"
        ``"pool"``: all training items (simple loss) or all anchors and positives (spectral loss).
        ``"permutation"``: one negative for each anchor as in the paper, from a random cycle. ``fit(negatives=)``
        overrides both.
    reg : float or "auto", default="auto"
        Regulariser of the spectral loss. ``"auto"`` takes a value inside ``lambda_bounds_``: for the pool one hundredth
        of the value at which the last component vanishes. Otherwise it is half way from the lower bound to that value,
        or higher if the loss is unbounded there.
    strict : bool, default=False
        Simple loss: take the leading components whatever the sign of their eigenvalues, as the theorem of the paper
        says. If False, components without a positive eigenvalue are zero columns, with a warning.
    max_iter : int, default=1000
        Largest number of iterations, for the one case without a closed form.
    tol : float, default=1e-7
        Relative tolerance of these iterations.
    storage : "dense", Nystroem or RandomFeatures, default="dense"
        How the Gram matrix is kept: whole, or as features of the points (:mod:`rkhs.features`), which cost ``O(N
        m^2)``. Finding neighbours still takes ``O(n^2)`` time, but no n x n matrix. ``strict=True`` needs ``"dense"``.
    random_state : int, RandomState or None, default=None
        Seed of the views and of the permutation.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. Results have the dtype of the training data.
    verbose : int or "auto", default="auto"
        Above 0, show progress on standard error; "auto": after ten seconds, in a terminal or notebook.

    Attributes
    ----------
    codes_ : ndarray of shape (n, n_components)
        Codes of the training items.
    n_components_ : int
        Components that are not zero.
    eigenvalues_ : ndarray of shape (n_components,) or None
        Eigenvalues of the closed form; None without one. For the simple loss, ``objective_`` is minus the sum of the
        positive ones.
    lambda_bounds_ : tuple of float, or None
        For the spectral loss, two values of ``reg``. Below the first one the loss is unbounded; from the second one on,
        zero is its minimum.
    reg_ : float or None
        The regulariser that was used.
    representer_holds_ : bool
        Whether every optimum lies in the span of the data, by theorem 1 (penalty) or by the condition of theorem 2 (as
        many positive eigenvalues as components).
    dual_coef_ : ndarray of shape (N, n_components)
        Codes are ``k(x, points) dual_coef_``. The points are the training items and all views and given vectors. With
        landmarks or random features, the raw features of ``x`` stand in place of ``k(x, points)``.
    map_norm_ : float
        Hilbert-Schmidt norm of ``W``, for :mod:`rkhs.metrics.bounds`.
    kernel_ : Kernel
        The kernel with a number for every bandwidth.
    announced_bytes_ : int
        Memory in bytes that a fit with landmarks or random features was expected to take.
    objective_ : float
        The loss: a sum over anchors, except a mean for the spectral loss with the pool.
    n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.

    Raises
    ------
    InputError
        If a parameter is out of range, data or pairs cannot be used, or the loss is unbounded at ``reg``.

    Notes
    -----
    ``fit`` ignores ``y`` unless ``pairs="class"``, so the estimator works in pipelines that pass labels. With ``N``
    points fit costs ``O(N^3)`` and transform ``O(m N (d + n_components))``.

    References
    ----------
    Esser, Fleissner and Ghoshdastidar (2024), "Non-parametric representation learning with kernels": definitions 1 and
    2, theorems 1 to 4; HaoChen et al. (2021) for the pool.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelContrastive
    >>> X = load_iris().data
    >>> model = KernelContrastive(n_components=2).fit(X)
    >>> model.transform(X[:3]).shape
    (3, 2)
    >>> model.n_components_
    2
    """

    n_components: int = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    columns: Columns = "raw"
    loss: Literal["simple", "spectral"] = "simple"
    pairs: Literal["neighbors", "augment", "class"] = "neighbors"
    n_neighbors: int = 5
    augment: AugmentLike | None = None
    negatives: Literal["pool", "permutation"] = "pool"
    reg: float | Literal["auto"] = "auto"
    strict: bool = False
    max_iter: int = 1000
    tol: float = 1e-7
    storage: StorageLike = "dense"
    random_state: Seed = None
    device: Device = "cpu"
    dtype: Dtype = "float64"
    verbose: int | Literal["auto"] = "auto"

    model_: ContrastiveModel = field(init=False)
    _matrices = 5.0
    _declared = {
        "n_components": count(),
        "loss": choice(choices=("simple", "spectral")),
        "pairs": choice(choices=("neighbors", "augment", "class")),
        "negatives": choice(choices=("pool", "permutation")),
        "n_neighbors": count(),
        "max_iter": count(),
        "tol": number(at_least=0.0),
    }
    _needs_differences = True

    codes_: ClassVar[Fitted[np.ndarray]] = Fitted("codes")
    dual_coef_: ClassVar[Fitted[np.ndarray]] = Fitted("encoder.coefficients")
    map_norm_: ClassVar[Fitted[float]] = Fitted("norm")
    n_components_: ClassVar[Fitted[int]] = Fitted("facts.n_components")
    eigenvalues_: ClassVar[Fitted[np.ndarray | None]] = Fitted("facts.eigenvalues", optional=True)
    lambda_bounds_: ClassVar[Fitted[tuple[float, float] | None]] = Fitted("facts.bounds", optional=True)
    reg_: ClassVar[Fitted[float | None]] = Fitted("facts.reg", optional=True)
    representer_holds_: ClassVar[Fitted[bool]] = Fitted("facts.representer_holds")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.pairs == "class"
        tags.input_tags.sparse &= self.pairs != "augment"  # augmentations of rows read numbers, not sparse rows
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_combination("KernelContrastive", self.get_params(deep=False))
        if not (isinstance(self.reg, str) and self.reg == "auto"):
            check_number(self.reg, "reg", at_least=0.0, names=("auto",))

    def fit(
        self, X: Any, y: Any = None, *, positives: ArrayLike | None = None, negatives: ArrayLike | None = None
    ) -> KernelContrastive:
        """Learn the codes.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
            The anchors.
        y : array of shape (n,), optional
            Labels, read only with ``pairs="class"``.
        positives, negatives : array, optional
            Override ``pairs`` and the parameter ``negatives``: vectors (n, d) or (n, m, d) as floats, or integer row
            numbers of ``X``, shape (n,) or (n, m), the only form for Gram matrices and objects.

        Returns
        -------
        self
        """
        self._check_parameters()
        kernel = self._kernel_for(X)
        with self._running() as run:
            training = self._training(X, kernel)
            builder = PairBuilder(training.items, kernel.domain, int(check_seed(self.random_state).randint(2**31)))
            announce_points(run, self.storage, builder.items, builder.n, None)
            in_memory = InMemoryItems.open(run.options, self.storage, kernel, training.items)
            pairs = self._pairs(builder, in_memory, y, positives, negatives)
            if builder.extra:
                announce_points(run, self.storage, builder.items, builder.n_points, in_memory.map.width)
                in_memory = in_memory.of(builder.points, run.options)
        found = fit_contrast(in_memory, pairs, self.get_params(deep=False))
        fitted = in_memory.values @ found.coefficients
        codes = self._to_output(fitted[: builder.n])
        self.model_ = ContrastiveModel.of(in_memory, found.coefficients, fitted, codes, found.facts)
        self._warn_of_rounding(float(in_memory.diagonal.max()), self.dual_coef_, fitted)
        self._record(found.solution)
        return self

    def _pairs(
        self,
        builder: PairBuilder,
        in_memory: InMemoryItems,
        y: Any,
        positives: ArrayLike | None,
        negatives: ArrayLike | None,
    ) -> Pairs:
        """Pairs of the requested kind; views and given vectors are added to the points."""
        if positives is not None:
            alike = builder.given(positives, "positives")
        elif self.pairs == "class":
            alike = builder.classes(y)
        elif self.pairs == "augment":
            if self.augment is None:
                raise InputError("augment must be given for pairs='augment': a name, an augmentation or f(X, rng)")
            alike = builder.views(self.augment)
        else:
            alike = builder.neighbors(in_memory, self.n_neighbors)
        unlike = None
        if negatives is not None:
            unlike = builder.given(negatives, "negatives")
        elif self.negatives == "permutation":
            unlike = builder.permuted()
        return builder.pairs(alike, unlike, in_memory.values.device)

    def transform(self, X: Any) -> Any:
        """Encode items.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects

        Returns
        -------
        ndarray of shape (m, n_components)
            A tensor if ``X`` is one.
        """
        check_is_fitted(self)
        return give_back(self._in_tiles(X, self.model_.encode), X)

    def fit_transform(
        self, X: Any, y: Any = None, *, positives: ArrayLike | None = None, negatives: ArrayLike | None = None
    ) -> Any:
        """``fit(X, y, positives=, negatives=).transform(X)``, shape (n, n_components)."""
        return self.fit(X, y, positives=positives, negatives=negatives).transform(X)
