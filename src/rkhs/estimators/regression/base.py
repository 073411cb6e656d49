"""Base classes of the operator-valued kernel regressors: fit by duality, paths, predictions, sets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted
from torch import Tensor

from rkhs._core.arrays import Items, as_numpy, give_back, read_values, reading, to_tensor
from rkhs._core.checks import check_number, check_spread, check_squares
from rkhs._core.config import RegressorMixin
from rkhs._core.errors import InputError, OverfitWarning, warn
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.choice_report import overfit_sentence
from rkhs.estimators.fitted import Fitted
from rkhs.estimators.joint_items import JointItems
from rkhs.estimators.options.arguments import Device, Dtype, LossLike, MachineSolverLike
from rkhs.estimators.regression.cross_sets import (
    deviations_of_leaves,
    machines_of_folds,
    p_values_of_folds,
    sets_of_folds,
    sets_of_leaves,
)
from rkhs.estimators.regression.options import MachineOptions
from rkhs.estimators.regression.sets import LeftOutMachine, SetShape, left_out_sets, read_coverage, split_sets
from rkhs.estimators.regression.terms import FIXED_REG, Regression
from rkhs.estimators.training import RowWeights, Training
from rkhs.kernels import OperatorKernel
from rkhs.losses import Loss, Squared, as_loss
from rkhs.models import FoldMachines, MachineModel, PredictionSets, path_values
from rkhs.outputs import OutputSpace
from rkhs.problems.certificates import sample_report
from rkhs.selection.input_metric import KINDS
from rkhs.spaces.features import FeatureMap


def mean_r2(given: np.ndarray, predicted: np.ndarray, sample_weight: ArrayLike | None) -> float:
    """Mean over outputs of the coefficient of determination, each on the rows where the target is known."""
    from sklearn.metrics import r2_score

    known = ~np.isnan(given)
    if known.all():
        return float(r2_score(given, predicted, sample_weight=sample_weight))
    if not known.any(0).all():
        output = int(np.flatnonzero(~known.any(0))[0])
        raise InputError(f"output {output} of y is NaN in every row; leave it out of both fit and score")
    w = np.ones(len(given)) if sample_weight is None else np.asarray(sample_weight)
    columns = zip(given.T, predicted.T, known.T, strict=True)
    return float(np.mean([r2_score(t[rows], p[rows], sample_weight=w[rows]) for t, p, rows in columns]))


def numbered_groups(groups: ArrayLike, given: RowWeights) -> tuple[np.ndarray, np.ndarray]:
    """Labels of groups and their numbers, of the rows of positive weight."""
    import pandas as pd

    labels = read_values(groups, "groups")
    if labels.shape != (given.n_given,):
        raise InputError(f"groups must have shape {(given.n_given,)}, one label per row of X; got {labels.shape}")
    labels = given.of(labels, "groups")
    return labels, pd.factorize(labels, use_na_sentinel=False)[0]


@dataclass(frozen=True)
class RegressionPath:
    """Machines for S settings that share data and kernel."""

    predictions: Callable[[Any, np.ndarray], np.ndarray]  # of items, from dual coefficients of several machines
    regs: list[float]
    losses: list[Loss]
    dual_coefs: np.ndarray  # (S, n, r)
    objectives: np.ndarray  # (S,)
    gaps: np.ndarray  # (S,): duality gaps, bounds on the distances of the objectives from the optima
    n_iter: np.ndarray  # (S,)
    n_support: np.ndarray  # (S,): numbers of samples with a non-zero dual variable
    n_saturated: np.ndarray  # (S,): numbers of samples where the loss is linear

    def __len__(self) -> int:
        return len(self.regs)

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of every machine."""
        return self.predictions(X, self.dual_coefs)

    def mean_squared_errors(self, X: Any, Y: ArrayLike) -> np.ndarray:
        """Mean over all entries of the squared errors of every machine, shape (S,)."""
        errors = self.predict(X) - np.asarray(Y, dtype=float)
        return (errors**2).reshape(len(self), -1).mean(1)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMachine(KernelEstimator):
    """Base of the regressors with a machine as model: fitted attributes, and predicted coordinates of outputs."""

    # Fields with init=False are parameters of some subclasses only; declared here, they keep their order.
    kernel: Any = field(init=False)
    operator: Any = field(init=False)
    loss: LossLike = "squared"
    reg: Any = field(init=False)
    columns: Any = field(init=False)
    center: bool = True
    solver: MachineSolverLike = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    storage: Any = field(init=False)
    device: Device = "cpu"
    dtype: Dtype = "float64"
    verbose: int | Literal["auto"] = "auto"

    model_: MachineModel = field(init=False)
    _reads_gaps = False
    """Whether targets may be NaN."""
    _table_options: ClassVar[dict[str, int]] = {"max_levels": 500, "min_rows": 1}

    kernel_: ClassVar[Fitted[OperatorKernel]] = Fitted("kernel")
    map_: ClassVar[Fitted[FeatureMap]] = Fitted("map")
    support_items_: ClassVar[Fitted[Any]] = Fitted("map.kept", optional=True)
    dual_coef_: ClassVar[Fitted[np.ndarray]] = Fitted("coefficients")
    output_: ClassVar[Fitted[OutputSpace]] = Fitted("output")
    loss_: ClassVar[Fitted[Loss]] = Fitted("loss")
    gap_: ClassVar[Fitted[float]] = Fitted("certificates.gap")
    support_: ClassVar[Fitted[np.ndarray]] = Fitted("certificates.support")
    saturated_: ClassVar[Fitted[np.ndarray]] = Fitted("certificates.saturated")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _read_options(self) -> MachineOptions:
        loss, reg = as_loss(self.loss), check_number(self._regulariser, "reg", above=0.0, names=("auto",))
        return MachineOptions(loss, reg, bool(self.center), self.solver, self.tol, self.max_iter, self.verbose)

    reg_: float = field(init=False)
    leave_one_out_error_: float | None = field(init=False)

    @property
    def _chooses(self) -> bool:
        # Whether ``reg="auto"``.
        given = getattr(self, "reg", "auto")
        return isinstance(given, str) and given == "auto"

    @property
    def _regulariser(self) -> Any:
        """``reg`` as given or chosen; FIXED_REG before a choice, or where none is possible."""
        return vars(self).get("reg_", FIXED_REG) if self._chooses else self.reg

    def _choose_reg(self, regression: Regression | None = None, group_ids: np.ndarray | None = None) -> None:
        """Choose ``reg`` by leave-one-out (or leave-one-group-out) errors; FIXED_REG where they have no closed form."""
        self.reg_, self.leave_one_out_error_, self._compared = FIXED_REG, None, None
        if not self._chooses:
            self.reg_ = check_number(self.reg, "reg", above=0.0, names=("auto",))
        elif regression is not None:
            loss = as_loss(self.loss)
            self.reg_, self.leave_one_out_error_, self._compared = regression.chosen_reg(loss, group_ids)

    def _read_groups(
        self, groups: ArrayLike | None, training: Training, kernel: OperatorKernel, *, closed: bool = True
    ) -> np.ndarray | None:
        """Check the groups; return the index of the group of each row, shape (n,), or None without groups."""
        if groups is None:
            return None
        numbers = numbered_groups(groups, training.given)[1]
        count = int(numbers.max()) + 1
        if count < 2:
            raise InputError(f"groups must hold at least 2 groups of rows of positive weight; got {count}")
        if not (closed and self._chooses and isinstance(as_loss(self.loss), Squared) and len(kernel.pairs) == 1):
            raise InputError(
                "groups must not be given here: leave-one-group-out needs the squared loss, one kernel, dense storage, "
                "targets without gaps, and reg='auto' (or cv='auto'); got groups. OperatorKernelRegressorCV takes them "
                "with a splitter too, such as cv=GroupKFold(5)"
            )
        self.groups_ = numbers
        return numbers

    def _solve(self, regression: Regression) -> Self:
        self.model_, solution = regression.solve(self._read_options())
        self._record(solution)
        bound = self.model_.certificates.output_bound
        assert bound is not None
        self._warn_of_rounding(regression.largest, self.dual_coef_, bound)
        return self

    def _warn_of_overfit(self, regression: Regression) -> None:
        """Warn where rows left out are predicted hardly better than by their mean, and those of the fit well."""
        held_out, weights = vars(self).pop("_held_out", self.leave_one_out_error_), regression.training.weights
        if held_out is None or not isinstance(self.loss_, Squared):
            return
        values = self.loss_.value(regression.targets)
        of_the_mean = float(values.mean() if weights is None else weights @ values) or 1.0
        if text := overfit_sentence(held_out, self.objective_ / of_the_mean, predicted=True):
            warn(f"{type(self).__name__}: {text}", OverfitWarning)

    def _with_targets(
        self,
        X: Any,
        y: Any,
        kernel: OperatorKernel,
        sample_weight: ArrayLike | None,
        *,
        at_least: int = 1,
    ) -> tuple[Training, bool]:
        """Items, weights and the matrix of targets, and whether these came as a vector."""
        training = self._training(X, kernel, sample_weight, targets=y, at_least=at_least)
        Y, one_output = self._read_targets(training.given.of(y, "y"), len(training))
        known = Y.nan_to_num().numpy(force=True)
        check_spread(known if self.center else np.vstack([known, np.zeros_like(known[:1])]), "y", self.dtype)
        return replace(training, targets=Y, self_targets=False), one_output

    def _read_targets(self, y: Any, n: int) -> tuple[Tensor, bool]:
        """Targets as a matrix of shape (n, q), and whether they came as a vector."""
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = as_numpy(y, "y")
        with reading(y, "y"):
            gaps: Any = "allow-nan" if self._reads_gaps else True
            values = check_array(
                y, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="y", ensure_all_finite=gaps
            )
        if values.ndim not in (1, 2):
            raise InputError(f"y must have shape (n,) or (n, q); got {values.shape}")
        check_consistent_length(np.empty(n), values)
        matrix = check_squares(values.reshape(n, -1), "y", self.dtype)
        return to_tensor(matrix, **self._options), values.ndim == 1

    def _coordinates(self, items: Items) -> Tensor:
        """Coordinates (m, r) of the predicted outputs of items in the form that the kernel reads."""
        return self.model_.values(items, to_tensor(self.model_.coefficients, **self._options))

    @property
    def _width(self) -> int:
        """Numbers per item that a prediction holds in addition to kernel values."""
        check_is_fitted(self)
        return int(self.model_.output.dim)


class VectorRegressor(RegressorMixin, KernelMachine):
    """Base of the regressors whose outputs are vectors: predictions, conformal sets, p-values and the score."""

    fold_machines_: FoldMachines | None = None  # of a learned metric, once sets or p-values were asked for

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the outputs of new items.

        Parameters
        ----------
        X : items as in ``fit``, or kernel values (m, n)
        return_std : bool, default=False
            Also return the standard deviation of each output of a new item, noise included. Its square is ``a v + b``
            with the posterior variance ``v`` of the Gaussian process (without noise); ``a`` and ``b`` maximise the
            likelihood of the leave-one-out residuals, of which only five robust standard deviations count. It needs
            what exact sets need: see :meth:`predict_set`.

        Returns
        -------
        ndarray of shape (m,) or (m, q), or two of them
        """
        check_is_fitted(self)
        predicted = self._in_tiles(X, lambda items: self.model_.outputs(self._coordinates(items)), width=self._width)
        values = give_back(predicted, X)
        if not return_std:
            return values
        if self.model_.left_out is not None:
            return values, deviations_of_leaves(self, X).reshape(np.shape(values))
        found = LeftOutMachine(self, self.model_, X)
        return values, found.each(found.deviations).reshape(np.shape(values))

    def predict_set(
        self,
        X: Any,
        *,
        coverage: float = 0.9,
        shape: SetShape = "auto",
        held_out: tuple[Any, Any] | None = None,
        diag: ArrayLike | None = None,
        gram: ArrayLike | None = None,
    ) -> PredictionSets:
        """Sets that hold the outputs of new items with a guaranteed probability.

        Each training row is left out in turn, in closed form. An interval, a ball or an ellipsoid holds the exact full
        conformal set of the score ``||y - h|| / sd``: the truth is inside with probability at least ``coverage``, if
        new items are like the training items and neither kernel nor ``reg`` was chosen from them. Where ``reg``, or one
        of several bandwidths, was chosen by leave-one-out, an interval repeats the choice with the new row included:
        for each candidate output, the setting is chosen symmetrically in the n + 1 rows (the largest likelihood of n of
        them, over which row is left out), so that the guarantee holds too. This is done for at most 500 rows, without
        groups and copies. For balls and ellipsoids, and elsewhere, the guarantee of chosen settings is "about":
        measured, not proved. For boxes, and where some rows have more copies than others, it is always "about"; equal
        rows of a table whose columns and outputs all have few values (below 20) are no copies. The
        mean is unpenalised here, so the centre can differ from :meth:`predict`.

        Parameters
        ----------
        X : items as in ``fit``, or kernel values (m, n)
        coverage : float, default=0.9
        shape : {"auto", "box", "ball", "ellipsoid"}, default="auto"
            ``"auto"``: intervals for one output, boxes for several. Ellipsoids follow errors that go together.
        held_out : pair (X, y), default=None
            Rows that the fit did not see. Then the sets are split conformal, for every loss, storage and kernel, with a
            proof and all of one size. If some of these rows equal training items that the model stores, it warns, and
            the guarantee is "about". Rows with a gap (NaN) in ``y`` are left out: the guarantee is for new items like
            the rows whose outputs are all known.
        diag : float or array of shape (m,), optional
            ``k(x, x)`` of the new items with ``kernel="precomputed"``; None: that of the training items if all agree.
        gram : array of shape (n, n), optional
            The Gram matrix of the fit, with ``kernel="precomputed"``.

        Returns
        -------
        PredictionSets

        Raises
        ------
        InputError
            Without ``held_out``, where rows cannot be left out in closed form, and where ``reg`` is below ``1.1e-14``
            times the mean of ``k(x, x)`` (float64), so that answers would be rounding errors; for ellipsoids of
            dependent outputs.

        Notes
        -----
        O(n^3) once for a model, then O(n^2) an item, for each of the compared settings (17 by default). With fewer than
        ``1 / (1 - coverage) - 1`` rows sets hold all outputs.

        References
        ----------
        Vovk, Gammerman and Shafer (2005), full conformal prediction; Barber et al. (2021), jackknife+.
        """
        check_is_fitted(self)
        coverage = read_coverage(coverage, shape)
        if held_out is None and self.model_.left_out is not None:
            return sets_of_leaves(self, X, coverage, shape)
        if held_out is None and (folds := self._folds_of_metric()) is not None:
            return sets_of_folds(self, folds, X, coverage, shape)
        if held_out is None:
            return left_out_sets(LeftOutMachine(self, self.model_, X, diag, gram), coverage, shape)
        other, y = held_out
        center, known = (np.asarray(as_numpy(self.predict(items)), dtype=np.float64) for items in (X, other))
        given = self._read_targets(y, len(known))[0].cpu().numpy()
        if given.size != known.size:
            raise InputError(f"held_out must hold outputs of shape {known.shape}; got {given.shape}")
        residuals = given - known.reshape(given.shape)
        whole = ~np.isnan(residuals).any(1)
        if not whole.any():
            raise InputError(
                f"held_out must have rows whose outputs are all known; each of its {len(given)} rows has a NaN in y"
            )
        sets = split_sets(self.model_, center, residuals[whole], coverage, shape)
        return replace(sets, guarantee=self._guarantee_of(other))

    def p_values(self, X: Any, *, diag: ArrayLike | None = None, gram: ArrayLike | None = None) -> np.ndarray:
        """Conformal p-values of new items, shape (m,): small where an item is unlike the training items.

        For items like the training ones it is at most ``alpha`` with probability at most ``alpha``. It compares
        posterior variances with each row left out, as :class:`~rkhs.KernelNovelty`, with the kernel and ``reg`` of the
        machine, and as there a new row takes part in the scales of columns, in O(n^2 d + n^3), where these were
        estimated from few rows. Parameters and errors as in :meth:`predict_set`.
        """
        if self.model_.left_out is not None:
            raise InputError(
                "p_values compares a row with all others, which leaves do not; fit KernelNovelty to some of the rows"
            )
        if (folds := self._folds_of_metric()) is not None:
            return p_values_of_folds(self, folds, X)
        found = LeftOutMachine(self, self.model_, X, diag, gram)
        joint = self._joint_p_values(found)
        return found.each(found.calibration.p_values) if joint is None else joint

    def left_out_residuals(self, *, gram: ArrayLike | None = None) -> np.ndarray:
        """Residuals of the training rows, each by the fit without it, and without the rows of its group.

        The settings stay as they are, a learned metric too: compare
        :meth:`OperatorKernelRegressorCV.nested_residuals`.

        Parameters
        ----------
        gram : array of shape (n, n), optional
            The Gram matrix of the fit, with ``kernel="precomputed"``.

        Returns
        -------
        ndarray of shape (n, q)
            ``y_i`` less the prediction. O(n^3); of leaves they are known.

        Raises
        ------
        InputError
            Where rows cannot be left out in closed form.
        """
        check_is_fitted(self)
        if self.model_.left_out is not None:
            return np.asarray(self.model_.left_out)
        K = None if gram is None else torch.as_tensor(np.asarray(gram, dtype=np.float64))
        return self.model_.in_units(self.model_.calibrated(K).in_groups(self.groups_).residuals)

    def _folds_of_metric(self, few: int = 0) -> FoldMachines | None:
        """Machines of folds of few rows, or where their metric was learned from them; fitted when first asked for."""
        learned = getattr(self, "metric_", None) in KINDS or self.model_.map.width <= few
        if not (learned and self.model_.leaves_out):
            return None
        if self.fold_machines_ is None:
            self.fold_machines_ = machines_of_folds(self.model_, self.groups_)
        return self.fold_machines_

    def _joint_p_values(self, found: LeftOutMachine) -> np.ndarray | None:
        """P-values, scales and bandwidths re-estimated with each new item; None where that changes (almost) nothing."""
        joint = JointItems.of(self, [term.kernel for term in self._unresolved_kernel(found.items).pairs])
        if joint is None:
            return None
        places = range(self._count_new(found.items))
        return np.array([found.joint_p_value(*one) for _, one in joint.with_each(found.items, places)])

    def _unresolved_kernel(self, X: Any) -> OperatorKernel:
        """The kernel with unresolved parameters (``gamma='median'``); here the fitted one, as none is left."""
        return self.kernel_

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination, the mean over outputs (larger is better, at most 1)."""
        predicted = np.asarray(as_numpy(self.predict(X)))
        self.reader_.check_times(self, y, "y", targets=True)
        given = self._read_targets(y, len(predicted))[0].cpu().numpy()
        if predicted.size != given.size:
            outputs = predicted.size // len(predicted)
            raise InputError(f"y must have {outputs} columns, one per output of the model; got {given.shape[1]}")
        return mean_r2(given, predicted.reshape(given.shape), sample_weight)


class DualRegressor(VectorRegressor):
    """Base of the regressors ``min 1/n sum_i loss(h(x_i) - y_i) + reg/2 ||h||^2`` that are solved by duality."""

    certificates_: ClassVar[Fitted[np.ndarray]] = Fitted("certificates.shares")
    kkt_residuals_: ClassVar[Fitted[np.ndarray]] = Fitted("certificates.residuals")
    training_loss_: ClassVar[Fitted[float]] = Fitted("certificates.training_loss")
    kernel_bound_: ClassVar[Fitted[float]] = Fitted("certificates.kernel_bound")
    output_bound_: ClassVar[Fitted[float]] = Fitted("certificates.output_bound")

    def path(
        self,
        X: Any,
        y: Any,
        *,
        regs: Sequence[float] | np.ndarray | None = None,
        losses: Sequence[Loss] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> RegressionPath:
        """Fit every pair of a regulariser and a loss in one batch, sharing one eigendecomposition."""
        self._check_parameters()
        options = self._read_options()
        many_regs, many_losses = zip(*options.grid(regs, losses), strict=True)
        reader = self._twin()  # an unfitted copy reads the data, so that a fitted estimator stays unchanged
        regression = reader._prepare(X, y, sample_weight)
        losses, regression = regression.settled(list(many_losses), options.reg, center=options.center)
        problem = regression.problem(losses, list(many_regs))
        batch = options.solver_for(problem).solve_batch(problem, monitor=options.monitor("path"))
        report = sample_report(problem, batch.points)
        reader.model_ = regression.unsolved()
        return RegressionPath(
            reader._path_predictions,
            list(many_regs),
            losses,
            problem.coefficients(batch.points).cpu().numpy(),
            batch.values.cpu().numpy(),
            batch.gaps.cpu().numpy(),
            batch.n_iter.cpu().numpy(),
            report.support.sum(0).cpu().numpy(),
            report.saturated.sum(0).cpu().numpy(),
        )

    def _path_predictions(self, X: Any, dual_coefs: np.ndarray) -> np.ndarray:
        """Predictions of machines with this kernel and these dual coefficients (S, n, r)."""
        coefs = to_tensor(dual_coefs, **self._options)

        def outputs(items: Items) -> np.ndarray:
            values = path_values(self.kernel_, self.model_.raw(items), coefs)
            return np.stack([self._to_output(self.model_.outputs(values[:, s])) for s in range(len(coefs))], 1)

        return np.ascontiguousarray(self._in_tiles(X, outputs, width=coefs[:, 0].numel()).swapaxes(0, 1))

    @abstractmethod
    def _prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Regression:
        """Read the data, resolve the kernel, and put the targets in coordinates."""
