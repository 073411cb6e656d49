"""Operator-valued kernel regression that chooses regulariser, loss parameter and bandwidth by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.checks import check_choice, check_folds, check_list, check_number, check_numbers
from rkhs._core.errors import ColumnWarning, InputError, NotPositiveSemidefiniteWarning, unwarned
from rkhs.estimators.choice_report import open_ends, warn_of_edges
from rkhs.estimators.operator_regressor import OperatorKernelRegressor
from rkhs.estimators.options.combinations import check_combination
from rkhs.estimators.regression.base import numbered_groups
from rkhs.estimators.regression.gapped_targets import check_gaps
from rkhs.estimators.regression.grid import MachineGrid
from rkhs.estimators.regression.operator_kernels import read_operator_kernel
from rkhs.estimators.regression.rule import ChoosingRegressor
from rkhs.estimators.regression.terms import term_grams
from rkhs.estimators.run import items_bytes
from rkhs.losses import EpsilonInsensitive, Huber, Loss, Squared, SquaredEpsilonInsensitive, as_loss
from rkhs.selection.loss_scale import copies as copies, merged_copies, warn_of_repeats
from rkhs.spaces.features import Leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike
    from sklearn.model_selection import BaseCrossValidator

    from rkhs.estimators.options.arguments import Columns, OperatorKernelLike, Seed
    from rkhs.estimators.training import RowWeights, Training
    from rkhs.kernels import OperatorKernel
    from rkhs.selection.input_metric import Choice


_REGS = tuple(10.0**k for k in range(-6, 2))
_BANDWIDTHS = ("0.25*median", "median")
FOLDS = 5
FEW_ROWS, _PARTS = 200, 10  # up to which a choice flatters its error by a hundredth or more; parts that do not choose
_LISTS = {Huber: "kappas", EpsilonInsensitive: "epsilons", SquaredEpsilonInsensitive: "epsilons"}
_SHARES = (0.03, 0.1, 0.3, 0.6, 1.0)
_COARSER, _COARSEST = 1e3, 1e-3  # duality gap of compared settings: multiple of the final one, and its limit
_MEASURED = ("cv_errors_", "best_score_", "criterion_", "at_edge_", "metric_errors_")
_CHOICE = ("regs_", "gamma_", "losses_", "_chosen_kernel", *_MEASURED)


@dataclass(eq=False, repr=False)
class OperatorKernelRegressorCV(ChoosingRegressor):
    """Operator-valued kernel regression whose settings are chosen: metric of the inputs, kernel, bandwidth, reg, loss.

    With ``kernel="auto"`` a metric of the inputs is learned from the gradients of the fit where rows that it has not
    seen are predicted at least 3 % better with it. Gaussian kernels and Matern kernels of smoothness 3/2, six
    bandwidths each, are compared on subsamples that grow while candidates go; the noise level ``n reg`` is kept for
    all rows. Beyond 8,000 rows exact machines are fitted in leaves of a tree. With a kernel, or settings to compare,
    every combination is fitted: one Gram matrix for each bandwidth and one eigendecomposition for each fold, or one
    for all rows that are left out in turn.

    Parameters
    ----------
    kernel : "auto", str, Kernel, OperatorKernel, or list of pairs, default="auto"
        ``"auto"``: chosen, with the squared loss, dense rows of numbers without gaps in ``y``, no operator, no settings
        to compare, and ``cv="auto"`` or ``"items"``; else as ``"gaussian"``. Others as in
        :class:`OperatorKernelRegressor`.
    metric : {"auto", "columns", "full"} or None, default="auto"
        With ``kernel="auto"``: ``"columns"`` learns weights of columns, ``"full"`` a matrix, ``"auto"`` compares both
        with the columns as they are and in units of their standard deviations; None compares nothing. It is learned
        from at most 1,000 rows.
    operator : None, "covariance" or array of shape (q, q), default=None
    loss : str or Loss, default="squared"
        The numbers of an object such as ``Huber(0.3)`` are kept. Those of a name are compared.
    regs : sequence of float, default=None
        None: 1e-6, 1e-5, ..., 10 times the variance of the features, the mean squared distance of ``phi(x_i)`` to their
        mean.
    epsilons, kappas : sequence of float, default=None
        Parameters of the epsilon-insensitive losses, or of the Huber loss. None: the root mean squared norm of the
        centred outputs times 0.03, 0.1, 0.3, 0.6 and 1.
    gammas : "auto", None or sequence of float or str, default="auto"
        Bandwidths of the kernel, which must have one. ``"auto"``: ``"0.25*median"``, a Gaussian
        twice as wide, and ``"median"`` for one kernel whose ``gamma`` is ``"median"``; else as None. None: the kernel
        as it is.
    cv : "auto", "items", int, splitter or iterable, default="auto"
        ``"auto"``: every row, with its copies, is left out in turn, in closed form, with the squared loss, one kernel,
        targets without gaps, and an operator that is None or a matrix; else 5. ``"items"`` leaves out all rows of
        an item, such as the measurements of a molecule, where copies have equal targets. A number means that many folds
        of shuffled rows, others as in scikit-learn; ``GroupKFold(5)`` gets ``fit(X, y, groups=groups)``.
    random_state : int, RandomState or None, default=0
        Seed of the shuffling.
    criterion : {"auto", "squared", "norm"}, default="auto"
        Held-out error that is minimised: the mean squared norm of the residuals, or their mean norm, which outliers
        change less. ``"auto"``: the squared norm for the squared loss, the norm for others.
    columns : {"raw", "scaled", "filled", "ranked"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean.
        ``"filled"`` reads tables with texts and gaps: :class:`~rkhs.features.FilledTable`; ``"ranked"`` too, with
        ``numbers="ranks"``.
    storage : {"auto", "dense"} or Leaves, default="auto"
        With ``kernel="auto"``: :class:`~rkhs.features.Leaves` beyond 8,000 rows, else one system.
    center : bool, default=True
    solver : str or GapSolver, default="auto"
    tol : float, default=1e-6
        Relative duality gap. Settings are compared at a thousand times this gap, at most at 1e-3.
    max_iter : int, default=None
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
    verbose : int or "auto", default="auto"
        These as in :class:`OperatorKernelRegressor`.

    Attributes
    ----------
    reg_ : float
    regs_ : ndarray of shape (gammas, regs)
        The regularisers that were compared.
    loss_ : Loss
    gamma_ : float, str or None
    metric_ : {"columns", "full", "scaled"} or None
        The chosen metric; None: the columns as they are.
    turns_ : int
        How often gradients were taken.
    importances_ : ndarray of shape (d,)
        Mean squared derivative by each column, times its variance; they sum to one.
    metric_errors_ : dict
        Share of the variance of held-out rows that is lost, by metric and turns. These four with ``kernel="auto"``.
    best_score_ : float
        Minus the smallest held-out error.
    cv_errors_ : ndarray of shape (gammas, regs, losses, folds)
        Held-out errors. With every row left out in turn, a fold is a row of positive weight with its copies, or a
        group; with ``kernel="auto"`` it is one of at most 1,000 rows.
    losses_ : list of Loss
        The losses that were compared: the third axis of ``cv_errors_``.
    criterion_ : {"squared", "norm"}
    at_edge_ : dict
        ``{"reg": "last"}`` and the like for a choice at the end of ``regs``, or of ``gammas`` that were given, towards
        which the error was still clearly falling, with an ``EdgeWarning``.
    estimator_ : OperatorKernelRegressor
        Fitted on all data with the chosen parameters.

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used.

    Notes
    -----
    ``kernel="auto"`` takes about 5 s of one core at 1,000 rows and 10 s at 50,000 (``./dev bench regression``). Sets
    and p-values of a learned metric come from machines of five folds, which are fitted when they are first asked for.

    References
    ----------
    Laforgue et al. (2020), section 4.1: hyper-parameters by cross-validation on the training part only. Radhakrishnan,
    Beaglehole, Pandit and Belkin (2024), Science 383, for the metric. Barber et al. (2021), theorem 4, for CV+.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from rkhs import OperatorKernelRegressorCV
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = OperatorKernelRegressorCV(loss="huber", regs=[1e-2, 1e-1, 1.0], cv=4).fit(X, Y)
    >>> model.predict(X).shape
    (20, 3)
    """

    kernel: OperatorKernelLike | Literal["auto"] = "auto"
    _: KW_ONLY
    metric: Literal["auto", "columns", "full"] | None = "auto"
    operator: ArrayLike | Literal["covariance"] | None = None
    regs: Sequence[float] | np.ndarray | None = None
    epsilons: Sequence[float] | None = None
    kappas: Sequence[float] | None = None
    gammas: Sequence[float | str] | Literal["auto"] | None = "auto"
    cv: Literal["auto", "items"] | int | Iterable[tuple[np.ndarray, np.ndarray]] | BaseCrossValidator = "auto"
    random_state: Seed = 0
    criterion: Literal["auto", "squared", "norm"] = "auto"
    columns: Columns = "raw"
    storage: Leaves | Literal["auto", "dense"] = "auto"

    _matrices = 17.0
    _reads_gaps = True
    _every_fit_has = ("reg_", "loss_", "_chosen_kernel")
    reg_: float = field(init=False)
    regs_: np.ndarray = field(init=False)
    gamma_: float | str | None = field(init=False)
    best_score_: float = field(init=False)
    cv_errors_: np.ndarray = field(init=False)
    losses_: list[Loss] = field(init=False)
    criterion_: Literal["squared", "norm"] = field(init=False)
    at_edge_: dict[str, str] = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Choose the parameters, then fit on all data.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : array of shape (n,) or (n, q)
        sample_weight : array of shape (n,), optional
            Weighs both the loss and the held-out errors. Rows of weight zero are dropped before anything is estimated;
            pairs of ``cv`` count them.
        groups : array of shape (n,), optional
            Labels. A splitter such as ``cv=GroupKFold(5)`` gets them. With ``cv="auto"`` all rows of a label are left
            out at once, as in :class:`OperatorKernelRegressor`; it needs what leaving rows out in closed form needs.

        Returns
        -------
        self
        """
        if self._fit_by_rule(X, y, sample_weight, groups):
            return self
        grids, training, closed = self._open(X, y, sample_weight)
        weights, (gammas, given) = grids[0].weights, self._kernels()
        of_splits = self._groups_of_splits(groups, training)
        together = None
        if of_splits is None:
            together = self._read_groups(groups, training, grids[0].kernel, closed=closed)
        if closed and together is None:
            together = self._repeated_items(grids, training.targets)
        y_kept = None if closed else training.given.of(y, "y")
        mean = self._compare(grids, training, y_kept, together, of_splits)
        g, r, j = map(int, np.unravel_index(int(np.argmin(mean)), mean.shape))
        self.reg_, self.gamma_, self._chosen_kernel = float(self.regs_[g, r]), gammas[g], given[g]
        self.best_score_ = -float(mean[g, r, j])
        self.at_edge_ = self._edges(mean, g, r, j)
        warn_of_edges(self)
        final = self._chosen(self.losses_[j])
        vars(final)["_known_grams"] = grids[g].kernel, grids[g].grams
        if self.criterion_ == "squared" and not bool(training.targets.isnan().any()):
            vars(final)["_held_out"] = float(mean[g, r, j]) / (self._spread(training.targets, weights) or 1.0)
        self._take(final, X, y, sample_weight)
        self._compared = self._compared_alone(grids, training) if closed and together is None else []
        return self

    def _fit_chosen(self, found: Choice, storage: Leaves | str, data: tuple[Any, ...]) -> None:
        """Fit the machine of a choice to the data, and store what was chosen."""
        self.losses_, self.criterion_, self.at_edge_ = [Squared()], "squared", {}
        self.regs_, self.gamma_ = np.array([[self.reg_]]), found.candidate.kernel.get_params(deep=False)["gamma"]
        final = self._chosen(Squared()).set_params(storage=storage)
        vars(final)["_held_out"] = float(found.residuals.square().mean())
        self._take(final, *data)

    def _resolved(self, X: Any, **data: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
        found: dict[str, Any] = {"loss": as_loss(self.loss), "storage": self.storage}
        if self._asks_for_rule():
            chosen = "by left-out rows of subsamples"
            found |= {"kernel": f"Gaussian or Matern(1.5), {chosen}", "reg": chosen}
            found |= {"metric": "by three folds" if self.metric == "auto" else self.metric}
        else:
            kernels = self._kernels()[1]
            found |= {"kernel": kernels[0], "gamma": f"of {len(kernels)}", "reg": "by held-out rows"}
        return found, ("min sum_i w_i loss(h(x_i) - y_i) + reg / 2 ||h||^2",)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_combination(type(self).__name__, self.get_params(deep=False))

    def _open(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[list[MachineGrid], Training, bool]:
        """Read the data; return the settings to compare, and whether rows are left out in closed form."""
        self._check_parameters()
        check_choice(self.criterion, "criterion", ("auto", "squared", "norm"))
        loss = as_loss(self.loss)
        self.criterion_ = self._read_criterion(loss)
        regs = check_numbers(_REGS if self.regs is None else self.regs, "regs", above=0.0)
        kernels = [read_operator_kernel(kernel, None, X, center=self.center) for kernel in self._kernels()[1]]
        training, _ = self._with_targets(X, y, kernels[0], sample_weight, at_least=2)
        n = len(training)
        with self._running() as run:
            width = training.items.shape[1] if kernels[0].domain == "vectors" else 0
            run.announce_dense(n, self._matrices, width, items_bytes(kernels[0], training.items))
        weights = torch.ones(n, **self._options) if training.weights is None else training.weights * n
        gaps = check_gaps(training, kernels[0], loss)
        if gaps and self.criterion_ != "squared":
            raise InputError("criterion must be 'squared' if y has gaps (NaN): the norm of such a row is not known")
        self.losses_ = self._losses(training.targets, weights)
        grids = [self._grid(kernel, training, weights, regs) for kernel in kernels]
        self.regs_ = np.array([grid.regs for grid in grids])
        return grids, training, self._leaves_out(kernels[0], loss, weights, gaps=gaps)

    @property
    def _by_items(self) -> bool:
        """Whether all rows of an item are left out together."""
        return isinstance(self.cv, str) and self.cv == "items"

    def _groups_of_splits(self, groups: ArrayLike | None, training: Training) -> np.ndarray | None:
        """Labels for a splitter; prediction sets leave out all rows of a label too."""
        splits = hasattr(self.cv, "split") and not isinstance(self.cv, str)  # a text has a split of its own
        if groups is None or not splits:
            return None
        labels, self.groups_ = numbered_groups(groups, training.given)
        return labels

    def _repeated_items(self, grids: list[MachineGrid], targets: Tensor) -> np.ndarray | None:
        """Number the item (n,) of each row where some of at least three have rows of several targets."""
        if not self._by_items:
            return None
        grams = [K for grid in grids for K in grid.grams]
        numbers = copies(grams)
        if not 2 < len(np.unique(numbers)) < len(np.unique(copies(grams, targets))):
            return None
        self.groups_ = numbers
        return numbers

    def nested_residuals(self, X: Any, y: Any) -> np.ndarray | None:
        """Residuals (n, q) of left-out rows, or groups, by settings that a tenth of these, with theirs, did not choose.

        None where rows are many, or not left out in closed form. No kernel value is computed for a part.
        """
        if hasattr(self, "metric_errors_"):  # chosen by the rule
            folds = self._folds_of_metric(few=FEW_ROWS)
            return None if folds is None else folds.residuals
        twin = self._twin()
        grids, training, closed = twin._open(X, y, None)
        if not closed or len(training) > FEW_ROWS:
            return None
        alike = self._alike(grids, training)
        rows, place, w = merged_copies(alike, grids[0].weights)
        together = np.arange(len(training)) if self.groups_ is None else self.groups_
        number = merged_copies(together[rows.cpu().numpy()], w)[1]
        residuals = torch.cat([torch.stack([*grid.left_out_residuals(rows, w, number)]) for grid in grids])
        found, order = torch.empty_like(residuals[0]), np.random.default_rng(0).permutation(int(number.max()) + 1)
        for part in np.array_split(order, min(_PARTS, len(order))):
            if len(order) < len(part) + 2:
                return None
            rest = torch.isin(number, torch.as_tensor(part).to(number), invert=True)
            _, left, mass = merged_copies(number[rest].cpu().numpy(), w[rest])
            errors = torch.cat([grid.left_out_errors(rows[rest], w[rest], left)[:, 0] @ mass for grid in grids])
            found[~rest] = residuals[int(errors.argmin()), ~rest]
        return found[place].cpu().numpy()

    def _compared_alone(
        self, grids: list[MachineGrid], training: Training
    ) -> list[tuple[OperatorKernel | None, np.ndarray]]:
        """Kernels and regularisers that were compared by left-out rows; none where rows have copies."""
        kernels = [grid.kernel for grid in grids] if len(grids) > 1 else [None]
        alone = len(np.unique(training.groups)) == len(training)
        return list(zip(kernels, self.regs_, strict=True)) if alone else []

    def _read_criterion(self, loss: Loss) -> Literal["squared", "norm"]:
        """The error by which settings are compared."""
        if self.criterion != "auto":
            return self.criterion
        return "squared" if isinstance(loss, Squared) else "norm"

    def _edges(self, mean: np.ndarray, g: int, r: int, j: int) -> Any:
        """Ends of the grid on which the best setting lies and beyond which errors may be smaller."""
        largest, ends = float(np.nanmax(mean)), ("first", "last")
        found = open_ends(mean[g, :, j], largest, ends=ends)
        if isinstance(self.gammas, str):  # the user has not chosen the ends of "auto"
            return found
        return found | open_ends(mean[:, r, j], largest, "gamma", ends)

    def _take(self, final: OperatorKernelRegressor, *data: Any) -> None:
        """Fit the chosen machine, and copy its fitted attributes."""
        with unwarned(ColumnWarning, NotPositiveSemidefiniteWarning):  # already given, for the same matrix
            final.fit(*data)
        params, announced = final.get_params(deep=False), getattr(self, "announced_bytes_", 0)
        self.__dict__.update({name: value for name, value in vars(final).items() if name not in params})
        self.announced_bytes_: int = max(announced, final.announced_bytes_)

    def _leaves_out(self, kernel: OperatorKernel, loss: Loss, weights: Tensor, *, gaps: bool) -> bool:
        """Whether every row is left out in turn: errors in closed form, so that there are no folds to draw."""
        asked = isinstance(self.cv, str) and self.cv in ("auto", "items")
        closed = isinstance(loss, Squared) and not gaps and len(kernel.pairs) == 1
        return asked and closed and not isinstance(kernel.pairs[0].operator, str) and len(weights) > 1

    def _compare(
        self, grids: list[MachineGrid], training: Training, y: Any, together: Any, groups_of_splits: Any
    ) -> np.ndarray:
        """Mean held-out errors (gammas, regs, losses): on folds of the targets, or of rows left out in turn (None)."""
        weights = grids[0].weights
        alike = None
        if together is None:
            alike = self._alike(grids, training, items=self._by_items and y is not None)
            if isinstance(self.cv, (str, int)) and not self._by_items and not training.has_few_items:
                warn_of_repeats(grids[0].grams[0], training.targets, alike)
        if y is None:
            first, _, w = merged_copies(alike, weights)
            _, number, mass = merged_copies(None if together is None else together[first.cpu().numpy()], w)
            groups = None if together is None else number
            errors = [self._finite(grid.left_out_errors(first, w, groups)) for grid in grids]
            shares = mass.cpu().numpy()
        else:
            assert alike is not None  # groups are left out in closed form, or given to a splitter
            folds = self._folds(y, alike, training.given, groups_of_splits)
            errors, shares = [self._finite(grid.errors(folds)) for grid in grids], np.ones(len(folds))
        self.cv_errors_ = np.stack(errors)
        return self.cv_errors_ @ (shares / shares.sum())

    def _alike(self, grids: list[MachineGrid], training: Training, *, items: bool = False) -> np.ndarray:
        """Group of each row of the fit, shape (n,), with its copies, or with all rows of its item."""
        if training.of_few_values and not items:
            return np.arange(len(training))
        return copies([K for grid in grids for K in grid.grams], None if items else training.targets)

    def _copies(self, X: Any) -> np.ndarray:
        """Group of each item of the fit: items that the kernel cannot distinguish share one."""
        return copies(self.model_.kernel.grams(self.estimator_._read_new(X)))

    def _folds(
        self, y: Any, alike: np.ndarray, given: RowWeights | None = None, groups: Any = None
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Folds of ``cv``; rows with equal entries of ``alike`` (n,) are on one side of those that are drawn."""
        asked = self.cv
        if isinstance(asked, str) and asked in ("auto", "items"):
            asked = min(FOLDS, len(np.unique(alike)))
        elif hasattr(asked, "test_fold") and hasattr(asked, "split"):  # scikit-learn's PredefinedSplit: given pairs
            asked = list(asked.split())
        pairs = not isinstance(asked, Integral) and not hasattr(asked, "split")
        if pairs and given is not None and given.kept is not None:
            asked = _on_kept_rows(check_folds(asked, given.n_given), given)
        targets = None if y is None else as_numpy(y, "y")
        return check_folds(asked, len(alike), targets, self.random_state, alike, groups)

    def _chosen(self, loss: Loss) -> OperatorKernelRegressor:
        names = ("columns", "center", "solver", "tol", "max_iter", "device", "dtype", "verbose")
        shared = {name: getattr(self, name) for name in names}
        return OperatorKernelRegressor(self._chosen_kernel, loss=loss, reg=self.reg_, **shared)

    @property
    def estimator_(self) -> OperatorKernelRegressor:
        """The regressor with the chosen parameters, fitted on all data."""
        check_is_fitted(self)
        model, names = self._chosen(self.loss_), self.get_params(deep=False)
        model.__dict__.update({k: v for k, v in vars(self).items() if k not in names and k not in _CHOICE})
        return model

    def _unresolved_kernel(self, X: Any) -> OperatorKernel:
        return read_operator_kernel(self._chosen_kernel, None, X, center=self.center)

    @property
    def _kernel_of_grid(self) -> Any:
        """The kernel that was given, or the default one."""
        return "gaussian" if isinstance(self.kernel, str) and self.kernel == "auto" else self.kernel

    def _kernels(self) -> tuple[list[Any], list[OperatorKernel]]:
        """The bandwidths, and one kernel for each."""
        base = read_operator_kernel(self._kernel_of_grid, self.operator, center=self.center)
        parameters = base.pairs[0].kernel.get_params(deep=False) if len(base.pairs) == 1 else {}
        automatic = isinstance(self.gammas, str) and self.gammas == "auto"
        if self.gammas is None or (automatic and parameters.get("gamma") != "median"):
            return [None], [base]
        many = list(_BANDWIDTHS) if automatic else check_list(self.gammas, "gammas")
        if "gamma" not in parameters:
            raise InputError("gammas must go with one kernel with a bandwidth, such as 'gaussian'")
        return many, [clone(base).set_params(kernel__gamma=gamma) for gamma in many]

    def _losses(self, Y: Tensor, weights: Tensor) -> list[Loss]:
        loss = as_loss(self.loss)
        name, given = self._numbers_of(loss)
        if name is None or not loss.automatic:
            if given is not None:
                raise InputError(
                    f"{name} must be None with loss={loss!r}, which has a number; got both. Give the loss by its "
                    "name to compare several"
                )
            return [loss]
        if given is None:
            size = self._spread(Y, weights) ** 0.5
            given = [share * size if size > 0.0 else share for share in _SHARES]
        assert isinstance(loss, (EpsilonInsensitive, SquaredEpsilonInsensitive, Huber))
        family = [type(loss)(value) for value in check_numbers(given, name, at_least=0.0)]
        for one in family:
            assert one.dual_parameters  # raises for invalid parameters
        return list(family)

    def _spread(self, Y: Tensor, weights: Tensor) -> float:
        """Mean squared length of targets, from their mean if they are centred."""
        centred = Y - (weights @ Y) / weights.sum() if self.center else Y
        return float(weights @ (centred * centred).sum(1) / weights.sum())

    def _numbers_of(self, loss: Loss) -> tuple[str | None, Sequence[float] | None]:
        """The list of numbers that a loss takes, by its name; None where it has none."""
        lists = {"epsilons": self.epsilons, "kappas": self.kappas}
        name = next((name for kind, name in _LISTS.items() if isinstance(loss, kind)), None)
        given = None if name is None else lists.pop(name)
        if any(values is not None for values in lists.values()):
            if name is None:
                raise InputError(f"epsilons and kappas must be None for loss={loss!r}, which has neither")
            raise InputError(f"{type(loss).__name__} takes {name} only; leave the other list out")
        return name, given

    def _grid(self, kernel: OperatorKernel, training: Training, weights: Tensor, regs: list[float]) -> MachineGrid:
        """The settings to compare with one kernel; its bandwidth is that of all training items."""
        resolved = kernel.resolve(training.items, weights / weights.sum(), training.targets.shape[1])
        grams = term_grams(self._run, resolved, training.items)
        if self.regs is None:
            regs = [reg * self._variance(grams, weights / weights.sum()) for reg in regs]
        tol = check_number(self.tol, "tol", at_least=0.0)
        tol = max(tol, min(_COARSER * tol, _COARSEST))
        options = replace(self._read_options(), loss=self.losses_[0], reg=regs[0], tol=tol)
        return MachineGrid(resolved, grams, training.targets, weights, self.losses_, regs, options, self.criterion_)

    def _variance(self, grams: list[Tensor], weights: Tensor) -> float:
        """Mean squared length of the features, from their mean if targets are centred; one where it is zero."""
        found = sum(float(weights @ K.diagonal()) for K in grams)
        if self.center:
            found -= sum(float(weights @ K @ weights) for K in grams)
        return found if 0.0 < found < np.inf else 1.0


def _on_kept_rows(folds: list[tuple[np.ndarray, np.ndarray]], given: RowWeights) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of the rows that were given as folds of those of positive weight, which are counted anew."""
    place = np.full(given.n_given, -1)
    place[given.kept] = np.arange(len(place[given.kept]))
    found = []
    for number, pair in enumerate(folds):
        train, test = (place[rows][place[rows] >= 0] for rows in pair)
        if not (len(train) and len(test)):
            raise InputError(
                f"sample_weight is zero for all training rows, or all held-out rows, of fold {number} of cv; give "
                "folds with some other rows there"
            )
        found.append((train, test))
    return found
