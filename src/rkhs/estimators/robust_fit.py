"""Robust fits: rounds of fits, each without the items of large held-out error in the round before.

The first fit has the items nearest to the middle. Then every item gets an error of a model that has not seen it: in
closed form (leave-one-out) for those in the fit, as a new item for the others. Items whose root error is within
``trim`` times the upper quartile of these roots are in the next fit, until they stay the same. Once, the nearer ones of
the others are added to the fit, and stay if the model predicts them from the rest: but no items far outside the data,
which as a group would fit each other. Errors are those of refined codes if the model refines. In the end, if only a few
are left out and do no harm in the fit, nothing is left out. Regressors have the same rounds: their first fit has the
items that are predicted best from others, and errors are those of predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, get_tags
from torch import Tensor

from rkhs._core.arrays import as_numpy, pick_rows, to_tensor
from rkhs._core.checks import check_choice, check_count, check_folds, check_number
from rkhs._core.eigen import positive_part
from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning, keeping_warnings, unwarned, warn
from rkhs._core.threads import within_limit
from rkhs.estimators.given_matrices import has_views
from rkhs.estimators.io_regressor import InputOutputKernelRegressor
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.estimators.operator_regressor_cv import FOLDS, OperatorKernelRegressorCV, copies
from rkhs.estimators.options.combinations import check_combination
from rkhs.kernels import Kernel, MixedTable
from rkhs.selection.trimmed import CORE, HARM, trimmed_fit

_RARE = 0.05  # largest share of outliers that may stay in the fit
# Larger shares of outliers are items that the model does not fit rather than mistakes, and none is left out. In mixed
# tables a rare text is as far from all others as a wrong number.
_MOST, _MOST_OF_CELLS = 0.2, 0.05  # see docs/results/defaults.md
# Items get a second look if their distance to the middle is at most so many times its upper quartile. Of 14 development
# sets (two splits, two and ten components) good items that needed the look were within 4.4; tight groups that it took
# in at 4 to 8.
_FAR_OUT = 5.0
# A score stands apart if its logarithm is so many robust standard deviations, of its side of the median, from it.
# The least multiple of 1/2 that marks at most 2 % of the rows of clean development sets (./dev bench outlier_sign).
_APART = 3.0
_FEWEST = 20  # rows; with fewer the spread of the scores is unknown
_NORMAL = 1.4826  # standard deviation of a normal distribution, in median absolute deviations


M = TypeVar("M", bound=BaseEstimator)


@dataclass(frozen=True, repr=False)
class RobustFit(Generic[M]):
    """A model of the items that belong together, and how far each item is from it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder, fit_robust
    >>> X = load_iris().data[::3]
    >>> X[:5] = np.random.default_rng(0).uniform(-20.0, 20.0, (5, 4))
    >>> found = fit_robust(KernelAutoencoder(2, reg=1e-3), X)
    >>> found.inliers[:5], type(found.model).__name__, found.settled
    (array([False, False, False, False, False]), 'KernelAutoencoder', True)
    """

    model: M  # fitted to the inliers alone, which may be all items
    inliers: np.ndarray  # (n,): items in the fit: all, or those with a score of at most one
    outlier_score: np.ndarray  # (n,): root of the held-out error over the threshold
    threshold: float  # largest root error of an inlier, in the units of the data
    n_rounds: int
    settled: bool  # whether the last two rounds had the same inliers, or came back to earlier ones
    too_many: bool = False  # whether so many scores are above one that no item was left out

    @property
    def limits(self) -> tuple[float, float]:
        """Scores below and above which an item stands apart, new ones too."""
        return spread_limits(self.outlier_score)

    @property
    def outlier_sign(self) -> np.ndarray:
        """Compare scores with the limits, shape (n,): 1 above the upper one, -1 below the lower one, else 0."""
        low, high = self.limits
        return (self.outlier_score > high).astype(int) - (self.outlier_score < low).astype(int)

    def __repr__(self) -> str:
        out, wrong, outlier_sign = ~self.inliers, self.outlier_score > 1.0, self.outlier_sign
        return (
            f"RobustFit({len(outlier_sign)} items, {out.sum()} left out; {wrong.sum()} with an outlier_score above 1; "
            f"{(outlier_sign > 0).sum()} stand apart above the others and {(outlier_sign < 0).sum()} below; "
            f"threshold={self.threshold:.6g}, n_rounds={self.n_rounds}, settled={self.settled})"
        )

    @within_limit
    def score_items(self, X: Any, y: Any = None, *, diag: ArrayLike | None = None) -> np.ndarray:
        """Outlier scores of new items, shape (m,). Scores above 1 are as large as those of outliers."""
        if isinstance(self.model, KernelAutoencoder):
            return np.sqrt(_errors_of(self.model, X, diag)) / self.threshold
        if y is None:
            raise InputError("y must hold the targets of the items, which a regressor is scored on; got None")
        return np.sqrt(pair_errors(self.model, as_numpy(X), as_numpy(y, "y"))) / self.threshold


def spread_limits(score: np.ndarray, k: float = _APART) -> tuple[float, float]:
    """Scores below and above which one stands apart from the others; see :class:`RobustFit`."""
    logs = np.log(np.maximum(score, 1e-300))
    middle = float(np.median(logs))
    low, high = (
        k * _NORMAL * float(np.median(np.abs(logs[side] - middle))) for side in (logs <= middle, logs >= middle)
    )
    known = len(logs) >= _FEWEST
    lower = float(np.exp(middle - low)) if known and low > 0.0 else 0.0
    return lower, min(float(np.exp(middle + high)), 1.0) if known and high > 0.0 else 1.0


@within_limit
def fit_robust(
    model: M,
    X: Any,
    y: Any = None,
    *,
    trim: float = 4.0,
    max_rounds: int = 20,
    leave_out: Literal["wrong", "apart"] = "wrong",
) -> RobustFit[M]:
    """Fit an autoencoder or a regressor without the items whose errors are large when the model has not seen them.

    Parameters
    ----------
    model : KernelAutoencoder or regressor
        Not changed. An autoencoder has one hidden layer, the squared loss, dense storage, no constraint, noise or
        operators. A regressor is one of this library, or any of scikit-learn's.
    X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
    y : array of shape (n,) or (n, q), or outputs of an InputOutputKernelRegressor, default=None
        Targets of a regressor, whose X is no Gram matrix.
    trim : float, default=4
        An item is an outlier if the root of its error is above ``trim`` times the upper quartile of these roots.
    max_rounds : int, default=20
        Largest number of fits; two to eight are usual.
    leave_out : {"wrong", "apart"}, default="wrong"
        ``"apart"`` also leaves out all items that stand apart after the rounds, however few. Scores are then those of
        the model without them, by which others may stand apart.

    Returns
    -------
    RobustFit

    Raises
    ------
    InputError
        If the model has no closed form of the leave-one-out error, ``trim`` is not above 1, ``leave_out`` is another
        word, or the items nearest to the middle are all equal.

    Notes
    -----
    Where more than 20 in a hundred rows look wrong (5 in a mixed table), none is left out, and ``too_many`` is true:
    they are of a kind that the model does not code, or the bad rows are too many. A tight group of bad items
    near the middle is not found. The time is that of two to eight fits, of a regressor six times that; kernel values of
    objects are computed once by an OperatorKernelRegressorCV. ``./dev bench
    robust`` and ``./dev bench wrong_curves --regressors`` measure the errors, and ``docs/user/outliers.md`` shows them.

    References
    ----------
    Rousseeuw and Van Driessen (1999), for rounds; Laforgue et al. (2020), section 4.2, for robust losses.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder, fit_robust
    >>> X = load_iris().data[::3]
    >>> X[:5] = np.random.default_rng(0).uniform(-20.0, 20.0, (5, 4))
    >>> found = fit_robust(KernelAutoencoder(2), X)
    >>> bool(found.inliers[:5].any())
    False
    >>> bool((found.outlier_sign[:5] == 1).all())
    True
    """
    trim = check_number(trim, "trim", above=1.0)
    rounds = check_count(max_rounds, "max_rounds")
    check_choice(leave_out, "leave_out", ("wrong", "apart"))
    case: Any = _AutoencoderRounds(model, X) if y is None else RegressorRounds(model, X, y)

    def fit(kept: np.ndarray) -> tuple[tuple[M, list[Warning]], np.ndarray]:
        fitted, warned = case.fit(kept)
        return (fitted, warned), np.sqrt(case.errors(fitted, kept))

    def limit(roots: np.ndarray) -> float:
        return trim * float(np.quantile(roots, 0.75))

    found = trimmed_fit(fit, limit, case.distances <= 1.0, case.near, rounds)
    if not found.settled:
        warn(
            f"fit_robust: the inliers still changed in round {found.rounds}; raise max_rounds or trim",
            ConvergenceWarning,
        )
    (fitted, warned), inliers, roots, threshold = found.fitted, found.kept, found.roots, found.threshold
    too_many = leave_out == "wrong" and (~inliers).sum() > case.most * len(inliers)
    if leave_out == "apart":
        score = roots / max(threshold, 1e-300)
        low, high = spread_limits(score)
        inliers = (score >= low) & (score <= high)
        (fitted, warned), roots = fit(inliers)
        threshold = limit(roots)
    elif too_many or 0 < (~inliers).sum() <= case.rare * len(inliers):
        every = np.ones_like(inliers)
        whole, whole_warnings = case.fit(every)
        if too_many or case.errors(whole, every)[inliers].mean() <= HARM * (roots[inliers] ** 2).mean():
            fitted, warned, inliers = whole, whole_warnings, every
    if case.gram:
        fitted, warned = case.fit_items(inliers)
    _report(fitted, warned)
    score = roots / max(threshold, 1e-300)
    return RobustFit(fitted, inliers, score, threshold, found.rounds, found.settled, too_many)


def _report(fitted: Any, warned: list[Warning]) -> None:
    for warning in warned:
        warn(warning)
    if not getattr(fitted, "converged_", True):
        why = getattr(fitted, "reason_", "")
        warn(f"fit_robust: the fit to the inliers did not converge: {why}", ConvergenceWarning)


class _AutoencoderRounds:
    """Fits of an autoencoder to some of the items, with weight zero for the others, which are coded as new ones."""

    gram = False
    rare = _RARE  # up to this share of outliers may stay in the fit if they do no harm

    def __init__(self, model: BaseEstimator, X: Any) -> None:
        if not isinstance(model, KernelAutoencoder):
            raise InputError(f"model must be a KernelAutoencoder, or a regressor with y; got a {type(model).__name__}")
        check_combination("fit_robust", model.get_params(deep=False))
        self.model, self.X = model, X
        self.distances, self.K = _distances(model, X)  # items up to one are in the first fit
        self.near = self.distances <= _FAR_OUT  # items that may get a second look
        cells = getattr(model, "columns", "raw") in ("filled", "ranked") or isinstance(model._kernel_for(X), MixedTable)
        self.most = _MOST_OF_CELLS if cells else _MOST  # beyond this share all stay

    def fit(self, kept: np.ndarray) -> tuple[KernelAutoencoder, list[Warning]]:
        """Fit to the kept items; return the model and its warnings, which only the last fit passes on."""
        with keeping_warnings() as kept_warnings:
            fitted = _fresh(self.model).fit(self.X, sample_weight=kept.astype(np.float64))
        return fitted, [one for one in kept_warnings if not isinstance(one, ConvergenceWarning)]

    def errors(self, fitted: KernelAutoencoder, kept: np.ndarray) -> np.ndarray:
        """Squared errors of all items by models that have not seen them, in the units of the data."""
        errors, K = np.empty(len(kept)), self.K
        inside = fitted._left_out(None if K is None else _gram_of(fitted, K[np.ix_(kept, kept)]))[1]
        if inside is None:
            raise InputError(
                f"X must hold items that differ: the {kept.sum()} of {len(kept)} that fit_robust takes for inliers are "
                "all equal, so there is nothing to rebuild. Leave out copies"
            )
        errors[kept] = inside.cpu().numpy() * fitted.output_.scale**2
        if not kept.all():
            rows = np.flatnonzero(~kept)
            views = fitted.kernel_.domain == "gram" and has_views(self.X)
            others = [pick_rows(one, rows) for one in self.X] if views else pick_rows(self.X, rows)
            with unwarned():  # that outliers are far away
                errors[rows] = _errors_of(fitted, others, None if K is None else K.diagonal()[rows])
        return errors


def _fresh(model: KernelAutoencoder) -> KernelAutoencoder:
    """An unfitted copy with dense storage."""
    return clone(model).set_params(storage="dense")


def _distances(model: KernelAutoencoder, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Distances of the items to the middle, over their quantile CORE; and the Gram matrix, if X is one."""
    copy = _fresh(model)
    kernel = copy._kernel_for(X)
    items = copy._training(X, kernel).items
    if kernel.domain == "vectors":
        rows, K = items.cpu().numpy().astype(np.float64), None
        distances = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
    else:
        precomputed = kernel.domain == "gram"
        K = (items if precomputed else kernel.resolve(items)._gram(items)).cpu().numpy().astype(np.float64)
        diagonal = K.diagonal()
        typical = np.median(diagonal[:, None] + diagonal[None, :] - 2.0 * K, axis=1)
        inner = typical <= np.quantile(typical, CORE)
        means = K[:, inner].mean(1)
        distances = np.sqrt((diagonal - 2.0 * means + means[inner].mean()).clip(0.0))
        K = K if precomputed else None
    return distances / max(float(np.quantile(distances, CORE)), 1e-300), K


def _gram_of(model: KernelAutoencoder, K: np.ndarray) -> Tensor:
    """The Gram matrix of the items in a fit, as the fit had it."""
    with unwarned(NotPositiveSemidefiniteWarning):  # the fit has warned
        return positive_part(to_tensor(K, **model._options), name="the Gram matrix of the training items")


def _errors_of(model: KernelAutoencoder, X: Any, diag: ArrayLike | None) -> np.ndarray:
    return model.reconstruction_error(X, diag=diag).clip(0.0)


class RegressorRounds:
    """Fits of a regressor to some of the rows."""

    rare = most = 1.0  # however many, rows stay in the fit if they do no harm

    def __init__(self, model: BaseEstimator, X: Any, y: Any) -> None:
        if not is_regressor(model) and not isinstance(model, InputOutputKernelRegressor):
            raise InputError(f"model must be a regressor where y is given; got a {type(model).__name__}; leave y out")
        if get_tags(model).input_tags.pairwise:
            raise InputError(
                "model must read items, since a regressor of fewer rows needs a smaller Gram matrix; got "
                "kernel='precomputed'; leave the wrong rows and columns out of the matrix yourself"
            )
        self.model, self.X, self.y = model, as_numpy(X), as_numpy(y, "y")
        n = self.X.shape[0] if hasattr(self.X, "shape") else len(self.X)
        if len(self.y) != n:
            raise InputError(f"y must have one row per item of X, {n}; got {len(self.y)}")
        if n < 2 * FOLDS:
            raise InputError(f"X must hold at least {2 * FOLDS} items, to predict each from others; got {n}")
        self.given, self.gram = (model, self.X), _has_one_gram(model, X)
        if self.gram:
            self.model, self.X = clone(model).set_params(kernel="precomputed"), clone(model.kernel)(X)
        self.near = np.zeros(n, dtype=bool)  # no second look: in a fit, neighbouring bad rows hide each other
        every, self.item_of_row = np.ones(n, dtype=bool), np.arange(n)
        if isinstance(model, OperatorKernelRegressorCV) and model._by_items:
            self.item_of_row = _item_of_row(self.X, gram=self.gram)
        roots = np.sqrt(self.errors(self.fit(every)[0], every))
        self.distances = roots / max(float(np.quantile(roots, 0.75)), 1e-300)

    def fit(self, kept: np.ndarray) -> tuple[Any, list[Warning]]:
        """Fit to the kept rows; return the model and its warnings."""
        with keeping_warnings() as kept_warnings:
            fitted = clone(self.model).fit(*self._rows(rows := np.flatnonzero(kept), rows))
        return fitted, kept_warnings

    def fit_items(self, kept: np.ndarray) -> tuple[Any, list[Warning]]:
        """Fit to the kept items themselves, after rounds on their kernel values."""
        (self.model, self.X), self.gram = self.given, False
        return self.fit(kept)

    def errors(self, fitted: Any, kept: np.ndarray) -> np.ndarray:
        """Squared errors of all rows by machines that have not seen them, shape (n,)."""
        errors, inside, outside = np.zeros(len(kept)), np.flatnonzero(kept), np.flatnonzero(~kept)
        chosen = fitted.estimator_ if isinstance(fitted, OperatorKernelRegressorCV) else self.model
        with unwarned():  # the last fit warns
            for train, test in check_folds(FOLDS, len(inside), None, 0, self.item_of_row[inside]):
                one = clone(chosen).fit(*self._rows(inside[train], inside[train]))
                errors[inside[test]] = pair_errors(one, *self._rows(inside[test], inside[train]))
            if len(outside):
                errors[outside] = pair_errors(fitted, *self._rows(outside, inside))
        return errors

    def _rows(self, rows: np.ndarray, known: np.ndarray) -> tuple[Any, Any]:
        X = self.X[np.ix_(rows, known)] if self.gram else _safe_indexing(self.X, rows)
        return X, _safe_indexing(self.y, rows)


def _item_of_row(X: Any, *, gram: bool) -> np.ndarray:
    """Number the items of rows (n,) of an array, or of a Gram matrix; of others each row is an item."""
    if gram:
        return copies([torch.as_tensor(X)])
    if getattr(X, "ndim", 0) != 2 or not isinstance(X, np.ndarray):
        return np.arange(X.shape[0] if hasattr(X, "shape") else len(X))
    _, first, place = np.unique([repr(row) for row in X.tolist()], return_index=True, return_inverse=True)
    return first[place]


def _has_one_gram(model: BaseEstimator, X: Any) -> bool:
    """Whether Gram matrices of some objects are parts of that of all: their kernel has nothing to estimate."""
    kernel = getattr(model, "kernel", None)
    if not isinstance(model, OperatorKernelRegressorCV) or not isinstance(kernel, Kernel):
        return False
    return kernel.domain == "objects" and isinstance(model.gammas, str) and kernel.resolve(kernel.read(X)) is kernel


def pair_errors(model: BaseEstimator, X: Any, y: Any) -> np.ndarray:
    """Squared errors of the predictions, in the space of the outputs; unknown targets (NaN) have none."""
    if isinstance(model, InputOutputKernelRegressor):
        pairs = [_safe_indexing(y, [i]) for i in range(len(y))]
        return np.concatenate([-np.asarray(one) for one in model.scores(X, pairs, per_sample=True)]).clip(0.0)
    given, found = np.asarray(y, dtype=np.float64), np.asarray(as_numpy(model.predict(X)), dtype=np.float64)
    if given.shape != found.shape:
        raise InputError(f"y must have the shape of the predictions, {found.shape}; got {given.shape}")
    squares = ((given - found) ** 2).reshape(len(given), -1)
    return np.asarray(np.nansum(squares, axis=1))
