"""Function-to-function regression with robust losses: curves in, curves out."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import torch

from rkhs._core.arrays import as_numpy, is_curves, read_curves
from rkhs._core.checks import check_number, naming, real_array
from rkhs._core.errors import InputError, OutlierWarning, some_rows, unwarned, warn
from rkhs.estimators.regression.base import DualRegressor
from rkhs.estimators.regression.curve_choice import (
    BASES,
    candidate_kernels,
    choose_for_curves,
    median_error,
)
from rkhs.estimators.regression.gapped_curves import (
    check_loss_with_gaps,
    choose_with_gaps,
    filled_with_means,
    fit_curves_with_gaps,
)
from rkhs.estimators.regression.operator_kernels import read_operator_kernel
from rkhs.estimators.regression.terms import FIXED_REG, Regression
from rkhs.kernels.vectors.functional import FunctionalGaussian, FunctionalLaplacian, quadrature_weights
from rkhs.losses import Squared, as_loss
from rkhs.outputs import Functional
from rkhs.solvers import leave_one_out_residuals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike
    from torch import Tensor

    from rkhs.estimators.options.arguments import KernelLike, LossLike
    from rkhs.estimators.reader import Reader
    from rkhs.estimators.training import Training
    from rkhs.kernels import Kernel
    from rkhs.losses import Loss
    from rkhs.models import MachineModel


@dataclass(eq=False, repr=False)
class FunctionalKernelRegressor(DualRegressor):
    """Regression of curves on curves, ``K(x, x') = k(x, x') A`` with a compact operator ``A`` on ``L2``.

    It minimises ``1/n sum_i loss(P y_i - h(x_i)) + reg/2 ||h||^2``. ``P`` is the projection on the ``n_basis`` leading
    eigenfunctions of ``A`` (the approximate dual problem). The minimum is exact and has a duality gap. The loss reads
    the ``L2`` norm of a whole curve, so a wrong curve is one outlier. By default kernel and regulariser are chosen by
    leave-one-out errors, and curves that do not belong to the others are left out of the fit, with a warning.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        Kernel of the input curves: ``"functional_laplacian"``, ``"functional_gaussian"`` (median bandwidth, quadrature
        on ``input_times``), any kernel on vectors, or ``"precomputed"``. ``"auto"`` chooses among these two and two
        sums of a Gaussian and a linear kernel; with a number as ``reg`` it is ``"functional_laplacian"``.
    input_times, output_times : array of shape (T,), default=None
        Strictly increasing times of the columns of X and of Y. None: the grid of the data if they have one
        (scikit-fda's FDataGrid), otherwise equally spaced times on [0, 1].
    basis : str or Kernel, default="auto"
        ``"fourier"``, ``"empirical"`` (eigenfunctions of the covariance of y), ``"cosine_sine"`` (that of the published
        figure, with plain means over the grid in place of quadrature) or a kernel on times; see
        :func:`rkhs.outputs.basis_functions`. ``"auto"`` takes the one of the first two with the smaller leave-one-out
        error (Notes), and Fourier functions where y has gaps.
    n_basis : int, default=None
        Number of functions (of pairs for ``"cosine_sine"``). None: 15, or the number of times if that is smaller.
    loss : str or Loss, default="huber"
        As in :class:`OperatorKernelRegressor`, in units of the L2 norm of curves.
    reg : float or "auto", default="auto"
        ``"auto"`` takes the value from 1 to 1e-8 of the least leave-one-out error of the squared loss. A number depends
        on the unit of time with some kernels and losses: see the Notes.
    trim : float or None, default=3
        With ``reg="auto"``: a curve is left out of the fit if the root of its error by a machine without it is above
        ``trim`` times the upper quartile of these roots. All curves stay if the others are predicted as well with them.
        None: every curve is fitted.
    center : bool, default=True
        Subtract the mean output curve and add it back.
    solver : str or GapSolver, default="auto"
    tol : float, default=1e-6
        Relative duality gap.
    max_iter : int, default=None
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
    verbose : int or "auto", default="auto"
        These as in :class:`OperatorKernelRegressor`.

    Attributes
    ----------
    output_ : Functional
        Mean, functions, eigenvalues and quadrature weights.
    reg_ : float
        The regulariser that was used.
    basis_ : str or Kernel
        The basis that was used.
    inliers_ : ndarray of shape (n,), bool
        Curves in the fit.
    outlier_score_ : ndarray of shape (n,) or None
        Root of the error of each curve by a machine without it, over the largest that an inlier may have. None if no
        curve was judged: ``reg`` was given, ``trim=None``, or fewer than eight curves. Curves of weight zero are judged
        like new ones; NaN where one has gaps.
    leave_one_out_error_ : float or None
        Of the choice: mean squared L2 distance, with the squared loss. None if ``reg`` was given.
    dual_coef_ : ndarray of shape (n_inliers, m)
    kernel_, objective_, gap_, support_, saturated_, certificates_, kkt_residuals_, n_iter_, converged_
        As in :class:`OperatorKernelRegressor`.

    Raises
    ------
    InputError
        If a parameter is out of range, a grid does not fit, or the data cannot be used.

    Warns
    -----
    OutlierWarning
        Curves were left out of the fit.

    Notes
    -----
    The choice takes some twenty eigendecompositions of n x n matrices, five times the time of the fit that follows.
    ``./dev bench wrong_curves`` measures the errors.

    With ``basis="auto"`` kernel, ``reg`` and inliers are chosen with Fourier functions, which wrong curves do not turn.
    Then ``reg`` is chosen for empirical functions too, on the same curves, in one more eigendecomposition. They stay if
    ``1/n sum_i ||y_i - h_i(x_i)||^2`` is smaller, with ``h_i`` the fit without curve i and the norm of the whole curve:
    so what lies outside the span of a basis counts. With a number as ``reg`` the median over the curves, which wrong
    ones do not decide, is compared in place of the mean, in two eigendecompositions.

    *Unit of time.* Where a unit is ``c`` times as small (hours to seconds: ``c = 3600``), integrals are ``c`` times as
    large. Values of ``"functional_laplacian"`` are integrals over ``input_times``: ``c reg`` there gives the
    predictions that ``reg`` gave. ``"functional_gaussian"`` with ``gamma="median"`` has the same values in any unit.
    Norms of output curves are ``c^(1/2)`` times as large, as are ``epsilon`` and ``kappa`` that are numbers:
    predictions stay with the squared loss and Huber's, and with ``"epsilon_insensitive"``, which grows as a norm, for
    ``c^(-1/2) reg``.

    Output curves may have gaps (NaN) with the squared loss and a basis other than ``"empirical"``. The loss of a curve
    is then ``1/2 sum_t q_t (y_i(t) - h(x_i)(t))^2`` over the times where it is known, with the quadrature weights
    ``q_t`` of the grid; a curve with few known values counts less. The mean curve is that of the curves whose gaps have
    the predicted values. With ``reg="auto"`` the default loss is then the squared one, kernel and regulariser have the
    least leave-one-out error over the known values, and no curve is left out. The system has ``n m`` unknowns for ``m``
    functions, ``(n m)^3 / 3`` operations; a choice takes some thirty times as long for each kernel.

    References
    ----------
    Laforgue et al. (2020), sections 2.2, 3.2 and 4.3, theorems 5 and 7.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs import FunctionalKernelRegressor
    >>> t = np.linspace(0.0, 1.0, 50)
    >>> phases = np.linspace(0.0, 3.0, 20)[:, None]
    >>> X, Y = np.sin(2 * np.pi * t + phases), np.cos(2 * np.pi * t + phases)
    >>> model = FunctionalKernelRegressor(n_basis=5, reg=1e-6).fit(X, Y)
    >>> bool(np.abs(model.predict(X) - Y).max() < 0.05)
    True
    """

    kernel: KernelLike | Literal["auto"] = "auto"
    _: KW_ONLY
    input_times: ArrayLike | None = None
    output_times: ArrayLike | None = None
    basis: Kernel | Literal["auto", "fourier", "cosine_sine", "empirical"] = "auto"
    n_basis: int | None = None
    loss: LossLike = "huber"
    reg: float | Literal["auto"] = "auto"
    trim: float | None = 3.0

    _matrices = 22.0
    _reads_gaps = True

    basis_: Kernel | str = field(init=False)
    inliers_: np.ndarray = field(init=False)
    outlier_score_: np.ndarray | None = field(init=False)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose what is ``"auto"``, and fit.

        Parameters
        ----------
        X : array (n, T_in), FDataGrid, or Gram matrix (n, n)
        y : array (n, T_out) or FDataGrid
            NaN marks a value that is not known (see Notes).
        sample_weight : array of shape (n,), optional
            Not negative; the loss is the weighted mean. Curves of weight zero are dropped before anything is estimated.

        Returns
        -------
        self
        """
        self._check_parameters()
        return (self._fit_chosen if self._chooses else self._fit_given)(X, y, sample_weight)

    def _fit_given(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        regression = self._prepare(X, y, sample_weight, gaps=True)
        self.inliers_ = _given_weights(regression.training) > 0.0
        self.outlier_score_, self.leave_one_out_error_ = None, None
        fitted = self._fit_gaps(regression) if _has_gaps(regression) else self._solve(regression)
        self.reg_: float = float(self.reg)
        return fitted

    def _fit_chosen(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        trim = None if self.trim is None else check_number(self.trim, "trim", above=1.0)
        reader, kernels = self._twin(), self._candidates(X)

        bases = self._bases

        def opened(kernel: Kernel | None, row_weights: ArrayLike | None, basis: Kernel | str = bases[0]) -> Regression:
            with unwarned():  # the fit itself warns
                return reader._prepare(X, y, row_weights, kernel, gaps=True, basis=basis)

        given = opened(None, sample_weight)
        weights = _given_weights(given.training)
        if _has_gaps(given):
            check_loss_with_gaps(self._loss_with_gaps(), default=False)
            found = choose_with_gaps(lambda kernel: opened(kernel, sample_weight), kernels, center=bool(self.center))
            chosen, self.reg_, self.leave_one_out_error_ = found
            self.inliers_, self.outlier_score_ = weights > 0.0, None
            return self._fit_gaps(self._prepare(X, y, sample_weight, chosen, gaps=True))
        whole = _without_gaps(X, y, weights > 0.0)
        choice = choose_for_curves(opened, kernels, weights, whole, trim, bases)
        self.reg_, self.inliers_, self.outlier_score_ = choice.reg, choice.inliers, choice.score
        self._compared = []
        self.leave_one_out_error_ = choice.error
        left_out = np.flatnonzero((weights > 0.0) & ~choice.inliers)
        even = sample_weight is None and not len(left_out)
        fitted_weights = None if even else weights * choice.inliers
        self._solve(self._prepare(X, y, fitted_weights, choice.kernel, basis=choice.basis))
        if len(left_out):
            what = f"FunctionalKernelRegressor left {len(left_out)} of {len(weights)} curves out of the fit"
            warn(
                f"{what}, rows {some_rows(left_out.tolist())}: their errors by fits without them are far above those "
                "of the others. outlier_score_ has the ratios; trim=None keeps all curves",
                OutlierWarning,
            )
        return self

    @property
    def _bases(self) -> tuple[Kernel | str, ...]:
        return BASES if isinstance(self.basis, str) and self.basis == "auto" else (self.basis,)

    @property
    def _rule(self) -> str:
        return "mean" if isinstance(self.basis, str) and self.basis == "cosine_sine" else "trapezoid"

    def _fit_gaps(self, regression: Regression) -> Self:
        loss = self._loss_with_gaps()
        check_loss_with_gaps(loss, default=self.loss == "huber")
        options = replace(self._read_options(), loss=loss)
        self.model_: MachineModel
        self.model_, solution = fit_curves_with_gaps(regression, options, chosen=self._chooses)
        self._record(solution)
        return self

    def _loss_with_gaps(self) -> Loss:
        """The loss; with ``reg="auto"`` the default becomes the squared loss, by which ``reg`` is chosen."""
        return Squared() if self._chooses and self.loss == "huber" else as_loss(self.loss)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _candidates(self, X: Any) -> list[Kernel | None]:
        """Kernels to choose among; None: the one that was given."""
        if not (isinstance(self.kernel, str) and self.kernel == "auto"):
            return [None]
        return list(candidate_kernels(_times("input_times", X, self.input_times), self._rule))

    def _keep_times(self, **grids: Any) -> None:
        unknown = {k: t for k, t in grids.items() if t is not None and getattr(self.reader_, k) is None}
        times: dict[str, Any] = {k: real_array(t, k) for k, t in unknown.items()}
        self.reader_: Reader = replace(self.reader_, **times)

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        chosen: Kernel | None = None,
        *,
        gaps: bool = False,
        basis: Kernel | str | None = None,
    ) -> Regression:
        input_times = _times("input_times", X, self.input_times)
        output_times = _times("output_times", y, self.output_times)
        kernel = read_operator_kernel(
            self._curve_kernel(input_times) if chosen is None else chosen, None, center=self.center
        )
        training, one_output = self._with_targets(X, y, kernel, sample_weight)
        self._keep_times(grid=input_times, target_grid=output_times)
        Y, weights = training.targets, training.weights
        if bool(torch.isnan(Y).any()):
            if not gaps:
                raise InputError(
                    "y has gaps (NaN), and loo_errors and path need whole curves. fit chooses with reg='auto'; or fill "
                    "the gaps: rkhs.data.curves_on_grid(y) joins known values by straight lines"
                )
            Y = filled_with_means(Y, weights, self.basis)
        as_loss(self.loss).check_isotropic()
        asked = {"n_basis": min(15, Y.shape[1]) if self.n_basis is None else self.n_basis, "times": output_times}
        asked |= {"rule": self._rule, "center": bool(self.center)}
        resolved = kernel.resolve(training.items, weights)

        def projected(basis: Kernel | str, known: Sequence[tuple[Kernel, Tensor]] = ()) -> Regression:
            output, U = Functional.fit(Y, weights, basis=basis, **asked)
            fitted = resolved.with_operators([np.diag(output.eigenvalues)])
            return Regression.of(self._run, fitted, training, output, U, one_output, known)

        return self._of_bases(projected, self._bases if basis is None else (basis,))

    def _of_bases(self, projected: Callable[..., Regression], bases: tuple[Kernel | str, ...]) -> Regression:
        """The regression on the basis of the smaller median left-out error; on the first if outputs have gaps."""
        self.basis_, found = copy.deepcopy(bases[0]), projected(bases[0])
        if len(bases) > 1 and not _has_gaps(found):
            reg = FIXED_REG if self._chooses else check_number(self.reg, "reg", above=0.0)
            other = projected(bases[1], [(found.kernel.pairs[0].kernel, found.grams[0])])
            if median_error(other, reg) < median_error(found, reg):
                self.basis_, found = bases[1], other
        return found

    def _curve_kernel(self, times: ArrayLike | None) -> Any:
        rough = FunctionalLaplacian
        named = {"auto": rough, "functional_laplacian": rough, "functional_gaussian": FunctionalGaussian}
        if isinstance(self.kernel, str) and self.kernel in named:
            return named[self.kernel](times=times, rule=self._rule)
        return self.kernel

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict output curves.

        Parameters
        ----------
        X : array (m, T_in) or FDataGrid, kernel values (m, n) for ``kernel="precomputed"``
        return_std : bool, default=False
            Not for this estimator, whose outputs have an operator: an error.

        Returns
        -------
        ndarray of shape (m, T_out)
            On the grid of the training outputs; shape (m,) if they were one column given as a vector.
        """
        return super().predict(X, return_std)

    def loo_errors(self, X: Any, y: Any, *, regs: Sequence[float]) -> np.ndarray:
        """Leave-one-out errors of the squared loss, in closed form.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        regs : sequence of S float

        Returns
        -------
        ndarray of shape (S,)
            Mean over curves of the squared L2 distance between ``y_i`` and the machine fitted without curve ``i``; the
            mean curve and an empirical basis are those of all curves.
        """
        regression = self._twin()._prepare(X, y, None)
        U, output = regression.targets, regression.output
        problem = regression.problem(Squared(), list(np.atleast_1d(regs)))
        predicted = U - leave_one_out_residuals(problem)
        assert isinstance(output, Functional)
        Y = regression.training.targets
        out = [output.squared_distances(Y, output.decode(h)).mean() for h in predicted]
        return self._finite(torch.stack(out))


def _has_gaps(regression: Regression) -> bool:
    """Whether a curve has gaps."""
    return bool(torch.isnan(regression.training.targets).any())


def _without_gaps(X: Any, y: Any, given: np.ndarray) -> np.ndarray:
    """Which curves, of shape (n,), have no gaps; those of positive weight (``given``) have none."""
    if given.all():
        return given
    finite = np.ones(len(given), dtype=bool)
    for curves in (X, y):
        values = read_curves(curves)[0] if is_curves(curves) else np.asarray(as_numpy(curves), dtype=np.float64)
        by_curve = values.swapaxes(0, 1) if values.ndim == 3 else values  # several Gram matrices
        finite &= np.isfinite(by_curve.reshape(len(given), -1)).all(1)
    return given | finite


def _given_weights(training: Training) -> np.ndarray:
    """Weights of all curves that were given, shape (n,)."""
    weights = np.zeros(training.given.n_given)
    kept = slice(None) if training.kept is None else training.kept
    weights[kept] = 1.0 if training.row_weights is None else training.row_weights * training.total
    return weights


def _times(name: str, X: Any, times: ArrayLike | None) -> Any:
    """Times of curves: the given ones, else those of the data; None without either."""
    values, grid = read_curves(X, "curves") if is_curves(X) else (X, None)
    found = grid if times is None else times
    if found is not None and getattr(values, "ndim", 0) == 2:
        with naming(name):
            quadrature_weights(found, values.shape[1])
    return found
