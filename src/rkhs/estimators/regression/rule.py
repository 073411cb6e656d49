"""The fit of a regressor that chooses metric, kernel, bandwidth and regulariser by rows that did not see them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError
from rkhs.estimators.regression.base import VectorRegressor, numbered_groups
from rkhs.estimators.regression.choice import choose_machine, warn_of_repeated_items
from rkhs.estimators.regression.gapped_targets import check_gaps
from rkhs.estimators.regression.machine_in_leaves import MOST_DENSE_ROWS, rows_of
from rkhs.estimators.regression.operator_kernels import read_operator_kernel
from rkhs.estimators.training import equal_rows
from rkhs.kernels import Separable
from rkhs.losses import Loss, Squared, as_loss
from rkhs.selection.input_metric import KINDS, Kind
from rkhs.spaces.features import Leaves

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs.estimators.training import Training
    from rkhs.kernels import OperatorKernel
    from rkhs.selection.halving import Rows
    from rkhs.selection.input_metric import Choice

_DENSE_MATRICES = 5.0  # n x n, of the fit that follows a choice


class ChoosingRegressor(VectorRegressor):
    """Base of a regressor that applies the rule where its parameters and the data let it."""

    metric: Literal["auto", "columns", "full"] | None
    cv: Any
    gammas: Any
    regs: Any
    epsilons: Any
    kappas: Any
    criterion: Any
    best_score_: float
    cv_errors_: np.ndarray
    _chosen_kernel: OperatorKernel
    metric_: Kind | None
    turns_: int
    importances_: np.ndarray
    metric_errors_: dict[str, float]

    @abstractmethod
    def _fit_chosen(self, found: Choice, storage: Leaves | str, data: tuple[Any, ...]) -> None:
        """Fit the machine of a choice to the data, and store what was chosen."""

    def _fit_by_rule(self, X: Any, y: Any, sample_weight: ArrayLike | None, groups: ArrayLike | None) -> bool:
        """Fit what the rule chooses; False where the parameters or the data ask for a grid."""
        self._check_parameters()
        if not self._asks_for_rule():
            return False
        kernel = read_operator_kernel("gaussian", None, X, center=self.center)
        training, _ = self._with_targets(X, y, kernel, sample_weight, at_least=2)
        if check_gaps(training, kernel, Squared()) or kernel.row_width is not None:
            return False
        numbers = self._groups_of_rule(groups, training)
        rows, scale = rows_of(training, training.targets, numbers, center=self.center).standardised()
        leaves = self._leaves_of_rule(len(rows))
        self._announce_rule(rows, leaves)
        if numbers is None and not training.has_few_items:
            warn_of_repeated_items(rows)
        found, self.importances_ = choose_machine(rows, self._kinds, leaves)
        self.metric_, self.turns_, self.metric_errors_ = found.metric.kind, found.metric.turns, found.errors
        self.reg_, self._chosen_kernel = found.candidate.reg, Separable(found.kernel)
        squares = (found.residuals * scale).square().sum(1)
        self.cv_errors_ = squares.cpu().numpy()[None, None, None]
        self.best_score_ = -float(squares @ found.v / found.v.sum())
        data = X, y, sample_weight
        if leaves is None:
            self._fit_chosen(found, "dense", data)
        else:  # rows of a group are left out of their leaves together
            self._fit_chosen(found, leaves, (*data, _of_given_rows(numbers, training)))
        self._compared = []
        return True

    def _asks_for_rule(self) -> bool:
        """Whether kernel, bandwidth and regulariser are to be chosen, by the squared loss and left-out rows."""
        if self.metric is not None:
            check_choice(self.metric, "metric", ("auto", *KINDS))
        automatic = _is(self.kernel, "auto") and _is(self.gammas, "auto")
        settings = (self.regs, self.epsilons, self.kappas, self.operator)
        given = not automatic or any(one is not None for one in settings)
        by_rows = _is(self.cv, "auto", "items") and _is(self.criterion, "auto", "squared")
        loss: Loss = as_loss(self.loss)
        if not given and by_rows and isinstance(loss, Squared):
            return True
        for name, asked in (("metric", self.metric in KINDS), ("storage", isinstance(self.storage, Leaves))):
            if asked:
                raise InputError(
                    f"{name}={getattr(self, name)!r} needs kernel='auto', loss='squared', cv='auto' or 'items', and no "
                    f"settings to compare; leave those parameters out, or use {name}='auto'"
                )
        return False

    @property
    def _kinds(self) -> tuple[Kind, ...]:
        """Metrics that are compared with the columns as they are."""
        if self.metric is None:
            return ()
        return KINDS if self.metric == "auto" else (self.metric,)

    def _leaves_of_rule(self, n: int) -> Leaves | None:
        """The leaves of ``n`` rows; None for one system."""
        if isinstance(self.storage, Leaves):
            return self.storage
        return Leaves() if self.storage == "auto" and n > MOST_DENSE_ROWS else None

    def _announce_rule(self, rows: Rows, leaves: Leaves | None) -> None:
        """Announce the memory of the fit that follows the choice."""
        (n, d), q = rows.X.shape, rows.Y.shape[1]
        with self._running() as run:
            if leaves is None:
                run.announce_dense(n, _DENSE_MATRICES + 20.0 * q / n, d)
            else:
                run.announce(leaves.need(n, d, q), "Use fewer rows")

    def _groups_of_rule(self, groups: ArrayLike | None, training: Training) -> np.ndarray | None:
        """Number (n,) of the group of each row that stays together: as given, or of equal items."""
        if groups is not None:
            numbers = numbered_groups(groups, training.given)[1]
            if numbers.max() == 0:
                raise InputError("groups must hold at least 2 groups of rows of positive weight; got 1")
        elif _is(self.cv, "items"):
            numbers = equal_rows(training.items)
            if not 2 < numbers.max() + 1 < equal_rows(training.items, training.targets).max() + 1:
                return None
        else:
            return None
        self.groups_ = numbers
        return numbers


def _of_given_rows(numbers: np.ndarray | None, training: Training) -> np.ndarray | None:
    """Numbers of groups of all rows that were given, from those of the rows of positive weight."""
    if numbers is None or training.kept is None:
        return numbers
    every = np.zeros(training.given.n_given, dtype=numbers.dtype)
    every[training.kept] = numbers
    return every


def _is(given: object, *values: str | None) -> bool:
    """Whether a parameter, which may be an array, is one of some texts, or None."""
    return (given is None or isinstance(given, str)) and given in values
