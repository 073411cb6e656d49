"""Vector-valued regression with any operator-valued kernel and any convex loss, certified by a duality gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d
from torch import Tensor

from rkhs._core.arrays import as_numpy, give_back, to_tensor
from rkhs._core.checks import check_choice
from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.machine_parts import choose_solver, operators_in_coordinates, read_operator_kernel, settings_of
from rkhs.estimators.regression_path import RegressionPath
from rkhs.kernels.operator_valued import OperatorKernel
from rkhs.losses import as_loss
from rkhs.outputs import Euclidean
from rkhs.problems.certificates import sample_report
from rkhs.problems.dual import DualProblem, dual_problem
from rkhs.protocols import Monitor

__all__ = ["OperatorKernelRegressor"]


class OperatorKernelRegressor(RegressorMixin, KernelEstimator):
    """Regression of vectors in the space of an operator-valued kernel ``K(x, x') = sum_t k_t(x, x') A_t``.

    Minimises ``1/n sum_i loss(h(x_i) - y_i) + reg/2 ||h||^2`` by its dual: ridge, epsilon-insensitive ridge, vector-valued
    support vector regression, Huber regression, and any other convex loss of the residual. ``gap_`` bounds how far
    ``objective_`` is from the optimum.

    Parameters
    ----------
    kernel : str, Kernel, OperatorKernel, or list of pairs (kernel, operator), default="gaussian"
        Acts on the inputs. ``"precomputed"``: fit takes the Gram matrix (n, n), predict rows of kernel values (m, n). A list
        of pairs, or ``Separable(k1, A1) + Separable(k2, A2)``, is a sum.
    operator : None, "covariance" or array of shape (q, q), default=None
        ``A`` for one kernel: the identity; the empirical covariance of the outputs, learned in fit; a positive
        semi-definite matrix.
    loss : str or Loss, default="squared"
        ``"squared"``, ``"squared_epsilon_insensitive"``, ``"epsilon_insensitive"``, ``"huber"``, or an object such as
        ``Huber(0.5)``. Its parameters are in units of the outputs.
    reg : float, default=1e-3
        Regulariser. scikit-learn's ``KernelRidge`` has ``alpha = n reg``, its ``SVR`` ``C = 1 / (n reg)``.
    center : bool, default=True
        Subtract the mean of the outputs and add it back. Off is literally the machine of the paper.
    solver : str or GapSolver, default="auto"
        ``"auto"``: closed forms for the squared loss, else ``"admm"`` (one kernel) or ``"fista"`` (sums). Also
        ``"block_coordinate"`` and ``"proximal_gradient"``, the algorithm of the paper.
    tol : float, default=1e-6
        Relative duality gap: stop at ``tol`` times the objective of ``h = 0``.
    max_iter : int, default=None
        Largest number of iterations; None: the solver's own.
    psd : {"clip", "raise"}, default="clip"
        What to do with a Gram matrix that has negative eigenvalues: set them to zero and warn, or refuse.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Of the computation. Predictions have the dtype of the training inputs.
    verbose : int, default=0
        Above 0, show progress on standard error.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n, r)
        ``h(x) = sum_t k_t(x, X) dual_coef_ A_t`` in the coordinates of ``output_``.
    kernel_ : OperatorKernel
        Resolved: every bandwidth a number, every operator a matrix in these coordinates.
    objective_, gap_ : float
        Objective, and a bound of its distance from the optimum.
    support_, saturated_ : ndarray of int
        Samples with a non-zero dual variable; samples where the loss is linear.
    certificates_, kkt_residuals_ : ndarray of shape (n,)
        Parts of the gap sample by sample (their weighted mean is ``gap_``), and distances from the optimality conditions.
    n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.
    n_features_in_, feature_names_in_
        As in scikit-learn (not for objects).

    Raises
    ------
    InputError
        For parameters out of range and data that cannot be used; the message names the argument.

    Notes
    -----
    Fit costs one eigendecomposition, ``O(n^3)``, and ``O(n^2 r)`` an iteration; memory is about three n x n matrices.

    References
    ----------
    Laforgue et al. (2020), "Duality in RKHSs with infinite dimensional outputs: application to robust losses": problem (1),
    theorems 3, 4 and 6.

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

    def __init__(
        self,
        kernel: Any = "gaussian",
        *,
        operator: Any = None,
        loss: Any = "squared",
        reg: float = 1e-3,
        center: bool = True,
        solver: Any = "auto",
        tol: float = 1e-6,
        max_iter: Any = None,
        psd: str = "clip",
        device: str = "cpu",
        dtype: str = "float64",
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.operator = operator
        self.loss = loss
        self.reg = reg
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.psd = psd
        self.device = device
        self.dtype = dtype
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OperatorKernelRegressor:
        """Fit the machine.

        Parameters
        ----------
        X : array (n, d), Gram matrix (n, n), or list of n objects
        y : array of shape (n,) or (n, q)
        sample_weight : array of shape (n,), optional
            Not negative; the loss is the weighted mean.

        Returns
        -------
        self
        """
        loss = as_loss(self.loss)
        U, weights = self._prepare(X, y, sample_weight)
        problem = self._problem(U, weights, loss, self.reg)
        solver = choose_solver(self.solver, problem, self.tol, self.max_iter)
        solution = solver.solve(problem, monitor=Monitor(verbose=self.verbose, label="fit"))
        self._record(solution)
        self.gap_ = float(solution.gap or 0.0)
        self.dual_coef_ = solution.point.cpu().numpy()
        report = sample_report(problem, problem.points(solution.point[None, None]).permute(0, 3, 1, 2))
        self.certificates_ = (report.gaps * (len(U) / float(problem.totals[0])))[0, :, 0].cpu().numpy()
        self.kkt_residuals_ = report.kkt[0, :, 0].cpu().numpy()
        self.support_ = report.support[0, :, 0].nonzero()[:, 0].cpu().numpy()
        self.saturated_ = report.saturated[0, :, 0].nonzero()[:, 0].cpu().numpy()
        del self._grams
        return self

    def path(
        self, X: Any, y: Any, *, regs: Any = None, losses: Any = None, sample_weight: Any = None
    ) -> RegressionPath:
        """Fit every pair of a regulariser and a loss in one batch, sharing one eigendecomposition.

        The estimator itself is prepared for prediction by the path but gets no coefficients: choose a setting, then fit.

        Parameters
        ----------
        X : array (n, d), Gram matrix (n, n), or list of n objects
        y : array of shape (n,) or (n, q)
        regs : sequence of float, optional
            Default: ``reg``.
        losses : sequence of Loss, optional
            Default: ``loss``. The four named losses may be mixed.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        RegressionPath
            Its ``predict(X)`` has shape (settings, m, q); settings are ordered with the losses fastest.
        """
        settings = settings_of(regs, losses, self.reg, as_loss(self.loss))
        U, weights = self._prepare(X, y, sample_weight)
        problem = self._problem(U, weights, [s.loss for s in settings], [s.reg for s in settings])
        solver = choose_solver(self.solver, problem, self.tol, self.max_iter)
        batch = solver.solve_batch(problem, monitor=Monitor(verbose=self.verbose, label="path"))
        report = sample_report(problem, batch.points)
        del self._grams
        return RegressionPath(
            self,
            [s.reg for s in settings],
            [s.loss for s in settings],
            problem.coefficients(batch.points)[0].cpu().numpy(),
            batch.values[0].cpu().numpy(),
            batch.gaps[0].cpu().numpy(),
            batch.n_iter[0].cpu().numpy(),
            report.support[0].sum(0).cpu().numpy(),
            report.saturated[0].sum(0).cpu().numpy(),
        )

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Tensor, Tensor | None]:
        """Read the data, resolve the kernel, and return targets in coordinates and weights that sum to one."""
        check_choice(self.psd, "psd", ("clip", "raise"))
        kernel = read_operator_kernel(self.kernel, self.operator)
        items = self._read_training(X, kernel, at_least=1)  # type: ignore[arg-type]
        Y = self._read_targets(y, len(items))
        _, weights = self._read_all_weights(sample_weight, len(items))
        resolved = kernel.resolve(items, weights, Y.shape[1])
        self.output_, U = Euclidean.fit(Y, weights, center=self.center, scale=False)
        basis = None if self.output_.basis is None else torch.as_tensor(self.output_.basis).to(U)
        operators = operators_in_coordinates(resolved, U, weights, Y.shape[1], basis)
        self.kernel_ = resolved.with_operators([None if A is None else A.cpu().numpy() for A in operators])
        self._grams = self._training_grams(self.kernel_, items)
        self._store_support(items)
        return U, weights

    def _read_all_weights(self, sample_weight: Any, n: int) -> tuple[None, Tensor | None]:
        """Weights of all rows, summing to one; rows of weight zero stay, with zero coefficients."""
        kept, weights = self._read_weights(sample_weight, n)
        if kept is None:
            return None, weights
        full = torch.zeros(n, **self._options)
        full[torch.as_tensor(kept)] = 1.0 / len(kept) if weights is None else weights
        return None, full

    def _read_targets(self, y: Any, n: int) -> Tensor:
        if y is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        values = check_array(as_numpy(y, "y"), ensure_2d=False, dtype=np.float64, input_name="y")
        if values.ndim == 2 and values.shape[1] == 1 and type(self) is OperatorKernelRegressor:
            column_or_1d(values, warn=False)
        if values.ndim not in (1, 2):
            raise InputError(f"y must have shape (n,) or (n, q); got {values.shape}")
        check_consistent_length(np.empty(n), values)
        self._one_output = values.ndim == 1
        return to_tensor(values.reshape(n, -1), **self._options)

    def _training_grams(self, kernel: OperatorKernel, items: Any) -> list[Tensor]:
        grams: list[Tensor] = []
        for index, term in enumerate(kernel.pairs):
            same = next((j for j, other in enumerate(kernel.pairs[:index]) if other.kernel == term.kernel), None)
            grams.append(self._training_gram(term.kernel, items) if same is None else grams[same])
        return grams

    def _problem(self, U: Tensor, weights: Tensor | None, losses: Any, regs: Any) -> DualProblem:
        operators = [
            None if term.operator is None else torch.as_tensor(np.asarray(term.operator)).to(U)
            for term in self.kernel_.pairs
        ]
        terms = list(zip(self._grams, operators, strict=True))
        return dual_problem(terms, U, losses, regs, None if weights is None else weights * len(U))

    def _cross_grams(self, items: Any) -> list[Tensor]:
        return self.kernel_.grams(items, self._support())

    def predict(self, X: Any) -> Any:
        """Predict the outputs of new items.

        Parameters
        ----------
        X : array (m, d), kernel values (m, n) for ``kernel="precomputed"``, or list of m objects

        Returns
        -------
        ndarray of shape (m,) or (m, q)
            As ``y`` was in fit; a tensor if ``X`` is one.
        """
        items = self._read_new(X)
        values = self.kernel_.apply(self._cross_grams(items), to_tensor(self.dual_coef_, **self._options))
        return give_back(self._decode(values), X)

    def _decode(self, values: Tensor) -> np.ndarray:
        decoded = self._to_output(self.output_.decode(values))
        return decoded[:, 0] if self._one_output else decoded

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination, the mean over outputs (larger is better, at most 1)."""
        return float(r2_score(as_numpy(y, "y"), as_numpy(self.predict(X)), sample_weight=sample_weight))
