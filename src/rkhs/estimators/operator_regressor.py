"""Vector-valued regression with any operator-valued kernel and any convex loss, certified by a duality gap."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from rkhs._core.errors import InputError
from rkhs.estimators.options.combinations import check_combination
from rkhs.estimators.regression.base import DualRegressor, numbered_groups
from rkhs.estimators.regression.gapped_targets import check_gaps, fit_with_gaps
from rkhs.estimators.regression.machine_in_features import fit_in_features
from rkhs.estimators.regression.machine_in_leaves import MOST_DENSE_ROWS, fit_in_leaves, takes_leaves
from rkhs.estimators.regression.operator_kernels import in_coordinates, read_operator_kernel
from rkhs.estimators.regression.terms import REGS, Regression
from rkhs.estimators.run import items_bytes
from rkhs.losses import Squared, as_loss
from rkhs.outputs import Euclidean
from rkhs.spaces.features import Leaves, Storage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs.estimators.options.arguments import Columns, OperatorKernelLike, StorageLike
    from rkhs.estimators.run import Run
    from rkhs.estimators.training import Training
    from rkhs.kernels import OperatorKernel
    from rkhs.losses import Loss
    from rkhs.models import MachineModel


@dataclass(eq=False, repr=False)
class OperatorKernelRegressor(DualRegressor):
    """Regression of vectors in the space of an operator-valued kernel ``K(x, x') = sum_t k_t(x, x') A_t``.

    It minimises ``1/n sum_i loss(h(x_i) - y_i) + reg/2 ||h||^2`` by its dual problem. The losses include ridge,
    epsilon-insensitive ridge, vector-valued support vector regression, Huber regression, and any other convex loss.
    ``gap_`` bounds how far ``objective_`` is from the optimum. Its paper speaks of OVK machines in a vv-RKHS, and of
    the Double Representer Theorem where coefficients are sums over outputs.

    Parameters
    ----------
    kernel : str, Kernel, OperatorKernel, or list of pairs (kernel, operator), default="gaussian"
        Kernel of the inputs. With ``"precomputed"``, ``fit`` takes the Gram matrix (n, n) and ``predict`` kernel values
        (m, n). A list of pairs, or ``Separable(k1, A1) + Separable(k2, A2)``, is a sum.
    operator : None, "covariance" or array of shape (q, q), default=None
        ``A`` of a single kernel. None is the identity; ``"covariance"`` is the empirical covariance of the outputs, in
        units of its largest eigenvalue; a matrix must be positive semi-definite.
    loss : str or Loss, default="squared"
        ``"squared"``, ``"squared_epsilon_insensitive"``, ``"epsilon_insensitive"``, ``"huber"``, or an object such as
        ``Huber(0.5)``, with parameters in units of the outputs. For a name, kappa is the median norm of the
        leave-one-out residuals of the squared loss, and epsilon half of it. Rows whose residual is above three times
        that median are left out, and the residuals computed again, until the median falls by less than a tenth;
        ``center`` leaves them out too.
    reg : float or "auto", default="auto"
        Regulariser; scikit-learn's ``KernelRidge`` has ``alpha = n reg``, its ``SVR`` ``C = 1 / (n reg)``. ``"auto"``
        compares seventeen by the error of every row, with its copies, left out in closed form; beyond 2,000 rows, of
        subsamples or of a leaf. It needs the squared loss, one kernel, no landmarks and no gaps, and is 1e-3 elsewhere.
    columns : {"raw", "scaled", "integral", "filled", "ranked"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean.
        ``"filled"`` reads tables with texts and gaps: :class:`~rkhs.features.FilledTable`; ``"ranked"`` too, with
        ``numbers="ranks"``.
    center : bool, default=True
        Subtract the mean of the outputs and add it back; the machine of the paper does not. ``Linear()``, alone or in a
        sum, is then ``Linear(offset="mean")``, so that its intercept is not penalised, as in scikit-learn's ``Ridge``.
        Features of other kernels and Gram matrices are used as they are.
    solver : str or GapSolver, default="auto"
        ``"auto"`` is the closed form for the squared loss, otherwise ``"admm"`` (one kernel) or ``"fista"`` (sums).
        ``"proximal_gradient"`` is the algorithm of the paper; :mod:`rkhs.solvers` has objects for dual problems, such
        as ``ADMM(check_every=8)``.
    tol : float, default=1e-6
        A solver without a ``tol`` of its own stops when the duality gap is at most ``tol`` times the objective of ``h =
        0``.
    max_iter : int, default=None
        Largest number of iterations of a solver that has no limit of its own; None: the solver's default.
    storage : {"auto", "dense"}, Leaves, Nystroem or RandomFeatures, default="auto"
        ``"auto"``: one system up to 8,000 rows, then :class:`~rkhs.features.Leaves` where these are possible. Landmarks
        and random features (:mod:`rkhs.features`) need one kernel; their ``gap_`` is that of the machine on the
        features, and ridge regression there has no certificates of single samples.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. Predictions have the dtype of the training inputs.
    verbose : int or "auto", default="auto"
        Above 0, show progress on standard error; "auto": after ten seconds, in a terminal or notebook.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n, r)
        ``h(x) = sum_t k_t(x, X) dual_coef_ A_t`` in the coordinates of ``output_``.
    kernel_ : OperatorKernel
        The kernel with a number for every bandwidth, and a matrix in these coordinates for every operator.
    loss_ : Loss
        The loss with numbers for its parameters.
    reg_ : float
    leave_one_out_error_ : float or None
        Of ``reg="auto"``, of rows or groups left out: the share of the variance of the outputs that is lost.
    objective_, gap_ : float
        Objective, and a bound on its distance from the optimum.
    support_, saturated_ : ndarray of shape (n_support,) and (n_saturated,)
        Samples with a non-zero dual variable; samples where the loss is linear.
    certificates_, kkt_residuals_ : ndarray of shape (n,)
        The part of the gap of each sample (their mean is ``gap_``), and its distance from the optimality conditions.
    n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.
    n_features_in_, feature_names_in_
        As in scikit-learn (not for objects).

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used. The message names the argument.

    Warns
    -----
    GapWarning
        Targets have gaps.
    OverfitWarning
        ``reg="auto"`` finds none that predicts rows left out better than their mean, and the fit follows its rows.

    Notes
    -----
    Fit costs one eigendecomposition, ``O(n^3)``, and ``O(n^2 r)`` for each iteration. Memory is about three n x n
    matrices.

    **Gaps.** Where ``y`` of several outputs is NaN, each output is fitted to the rows where it is known, as if it were
    alone: its mean, its weights and its share of the loss are those of these rows. This needs the squared loss, one
    kernel without operator, and dense storage; it costs one factorisation for each set of rows. ``certificates_`` and
    ``kkt_residuals_`` are then missing.

    References
    ----------
    Laforgue et al. (2020), "Duality in RKHSs with infinite dimensional outputs: application to robust losses": problem
    (1), theorems 3, 4 and 6.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from rkhs import OperatorKernelRegressor
    >>> from rkhs.losses import Huber
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = OperatorKernelRegressor(kernel="gaussian", loss=Huber(10.0), reg=0.05).fit(X, Y)
    >>> model.predict(X[:2]).shape
    (2, 3)
    >>> bool(model.gap_ <= 1e-6 * model.objective_ * 10)
    True
    """

    kernel: OperatorKernelLike = "gaussian"
    _: KW_ONLY
    operator: ArrayLike | Literal["covariance"] | None = None
    reg: float | Literal["auto"] = "auto"
    columns: Columns = "raw"
    storage: StorageLike | Leaves | Literal["auto"] = "auto"

    _matrices = 5.0
    _reads_gaps = True

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : array of shape (n,) or (n, q)
            With several outputs, NaN marks a target that is not known (see Notes).
        sample_weight : array of shape (n,), optional
            Not negative; the loss is the weighted mean. Rows of weight zero are dropped before anything is estimated:
            ``dual_coef_`` has no rows of them, and attributes of samples count all rows that were given.
        groups : array of shape (n,), optional
            Labels. ``reg="auto"`` then leaves out all rows of a label at once, in closed form, so that rows that belong
            together, such as the measurements of one person, are not predicted from each other. It needs what "auto"
            needs for a choice.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._choose_reg()
        kernel, options = read_operator_kernel(self.kernel, self.operator, X, center=self.center), self._read_options()
        features = self.storage if isinstance(self.storage, Storage) else None
        with self._running() as run:
            training, one_output = self._with_targets(X, y, kernel, sample_weight)
            leaves = self._leaves(training, kernel, options.loss)
            dense = features is None and leaves is None
            if dense:
                self._announce(run, training, kernel, options.loss)
            elif leaves is not None:
                need = leaves.need(len(training), training.items.shape[1], training.targets.shape[1])
                run.announce(need, "Use fewer rows")
            gapped = check_gaps(training, kernel, options.loss, dense=dense)
            if leaves is None:
                group_ids = self._read_groups(groups, training, kernel, closed=dense and not gapped)
            elif groups is not None:
                self.groups_ = numbered_groups(groups, training.given)[1]
            if gapped:
                model, solution = fit_with_gaps(run, kernel, training, options)
            elif leaves is not None:
                chooses = self._chooses
                model, solution, self.reg_ = fit_in_leaves(
                    run, kernel, training, options, leaves, self.groups_, chooses=chooses
                )
                self._compared = [] if chooses else None
            elif features is None:
                regression = self._regression(kernel, training, one_output)
                self._choose_reg(regression, group_ids)
                self._solve(regression)
                self._warn_of_overfit(regression)
                return self
            else:
                model, solution = fit_in_features(run, features, kernel, training, options)
        self.model_: MachineModel = replace(model, one_output=one_output)
        self._record(solution)
        return self

    def _announce(self, run: Run, training: Training, kernel: OperatorKernel, loss: Loss) -> None:
        """Announce the memory of a dense fit."""
        columns = training.items.shape[1] if kernel.domain == "vectors" else 0
        outputs = training.targets.shape[1] / len(training)
        solved = self._matrices if isinstance(loss, Squared) and not self._chooses else 9.5
        matrices = solved + 18.0 * min(1.0, outputs) + 2.0 * outputs
        run.announce_dense(len(training), matrices, columns, items_bytes(kernel, training.items))

    def _leaves(self, training: Training, kernel: OperatorKernel, loss: Loss) -> Leaves | None:
        """The leaves of the fit; None for one system."""
        fits = takes_leaves(kernel) and isinstance(loss, Squared)
        if isinstance(self.storage, Leaves):
            if not fits:
                raise InputError(
                    "storage=Leaves() needs the squared loss and one kernel of dense vectors, without operator; "
                    "storage=Nystroem(m) takes others"
                )
            return self.storage
        many = len(training) > MOST_DENSE_ROWS and isinstance(self.storage, str) and self.storage == "auto"
        if many and fits and not bool(training.targets.isnan().any()):
            return Leaves()
        return None

    def _resolved(self, X: Any, **data: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
        kernel, options = read_operator_kernel(self.kernel, self.operator, X, center=self.center), self._read_options()
        closed = isinstance(options.loss, Squared) and len(kernel.pairs) == 1 and not isinstance(self.storage, Storage)
        reg = f"least error of rows left out, of {len(REGS)}" if self._chooses and closed else options.reg
        found = {"kernel": kernel, "loss": options.loss, "reg": reg, "storage": self.storage}
        return found, ("min sum_i w_i loss(h(x_i) - y_i) + reg / 2 ||h||^2",)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        pairs = read_operator_kernel(self.kernel, self.operator, center=self.center).pairs
        terms = "one" if len(pairs) == 1 else "several"
        check_combination("OperatorKernelRegressor", self.get_params(deep=False), terms=terms)

    def _unresolved_kernel(self, X: Any) -> OperatorKernel:
        return read_operator_kernel(self.kernel, self.operator, X, center=self.center)

    def _prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Regression:
        if isinstance(self.storage, Storage):
            raise InputError(f"path needs storage='dense'; got {self.storage!r}. Fit one setting after the other")
        kernel = read_operator_kernel(self.kernel, self.operator, X, center=self.center)
        training, one_output = self._with_targets(X, y, kernel, sample_weight)
        if bool(training.targets.isnan().any()):
            raise InputError("y must have no gaps (NaN) for a path; fit one setting, or use OperatorKernelRegressorCV")
        return self._regression(kernel, training, one_output)

    def _regression(self, kernel: OperatorKernel, training: Training, one_output: bool) -> Regression:
        Y, weights = training.targets, training.weights
        resolved = kernel.resolve(training.items, weights, Y.shape[1])
        known, grams = vars(self).pop("_known_grams", (None, ()))
        resolved = known if known == resolved else resolved  # whose cached features are reused
        rotate = as_loss(self.loss).isotropic
        output, U = Euclidean.fit(Y, weights, center=self.center, scale=False, rotate=rotate)
        fitted = in_coordinates(resolved, output, U, weights)
        pairs = [(term.kernel, K) for term, K in zip(resolved.pairs, grams, strict=False)] if known is resolved else []
        return Regression.of(self._run, fitted, training, output, U, one_output, pairs)
