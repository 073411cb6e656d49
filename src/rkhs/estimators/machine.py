"""What regressors in spaces of operator-valued kernels share: fit by duality, paths, predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_array, check_consistent_length
from torch import Tensor

from rkhs._core.arrays import as_numpy, give_back, reading, tensor_like, to_tensor
from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.loss_choice import effective_gram, typical_residual
from rkhs.estimators.machine_parts import choose_solver, settings_of
from rkhs.estimators.regression_path import RegressionPath
from rkhs.kernels.operator_valued import OperatorKernel
from rkhs.losses import Loss, as_loss
from rkhs.outputs import Euclidean
from rkhs.problems.certificates import sample_report
from rkhs.problems.dual import DualProblem, dual_problem
from rkhs.protocols import Monitor

__all__ = ["DualRegressor", "all_weights", "read_targets"]


class DualRegressor(RegressorMixin, KernelEstimator):
    """Base of the regressors ``min 1/n sum_i loss(h(x_i) - y_i) + reg/2 ||h||^2`` that are solved by duality.

    A subclass says how inputs and targets become Gram matrices and coordinates.

    References
    ----------
    Laforgue et al. (2020), problem (1).
    """

    loss: Any
    reg: float
    center: bool
    solver: Any
    tol: float
    max_iter: Any
    verbose: int
    kernel_: OperatorKernel
    output_: Any
    dual_coef_: np.ndarray
    loss_: Loss
    gap_: float
    support_: np.ndarray
    saturated_: np.ndarray
    certificates_: np.ndarray
    kkt_residuals_: np.ndarray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DualRegressor:
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
        self._check_parameters()
        loss = as_loss(self.loss)
        U, weights = self._prepare(X, y, sample_weight)
        (self.loss_,), U = self._settled([loss], U, weights)
        problem = self._problem(U, weights, self.loss_, check_number(self.reg, "reg", above=0.0))
        solver = choose_solver(self.solver, problem, self.tol, self.max_iter)
        solution = solver.solve(problem, monitor=Monitor(verbose=self.verbose, label="fit"))
        self._record(solution)
        self.gap_ = float(solution.gap or 0.0)
        self.dual_coef_ = solution.point.cpu().numpy()
        points = problem.points(solution.point[None, None])
        report = sample_report(problem, points.permute(0, 3, 1, 2))
        self.certificates_ = (report.gaps * (len(U) / float(problem.totals[0])))[0, :, 0].cpu().numpy()
        self.kkt_residuals_ = report.kkt[0, :, 0].cpu().numpy()
        self.support_ = report.support[0, :, 0].nonzero()[:, 0].cpu().numpy()
        self.saturated_ = report.saturated[0, :, 0].nonzero()[:, 0].cpu().numpy()
        losses = problem.certificates(points)[0]
        self.training_loss_ = float(losses.sum() / problem.totals.sum())
        self.kernel_bound_, self.output_bound_ = self._bounds(U)
        largest = max(float(K.diagonal().max()) for K in self._grams)
        self._warn_of_rounding(largest, self.dual_coef_, self.output_bound_)
        del self._grams
        return self

    def _bounds(self, U: Tensor) -> tuple[float, float]:
        """Largest ``sum_t k_t(x, x) ||A_t||`` of the training inputs, and largest norm of their targets."""
        diagonal = U.new_zeros(len(U))
        for K, term in zip(self._grams, self.kernel_.pairs, strict=True):
            norm = 1.0 if term.operator is None else float(np.linalg.norm(np.asarray(term.operator), 2))
            diagonal += norm * K.diagonal()
        return float(diagonal.max()), float(torch.linalg.vector_norm(U, dim=1).max())

    def path(
        self, X: Any, y: Any, *, regs: Any = None, losses: Any = None, sample_weight: Any = None
    ) -> RegressionPath:
        """Fit every pair of a regulariser and a loss in one batch, sharing one eigendecomposition.

        The estimator itself gets no coefficients. Choose a setting, then fit it.

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
        self._check_parameters()
        settings = settings_of(regs, losses, self.reg, as_loss(self.loss))
        U, weights = self._prepare(X, y, sample_weight)
        losses, U = self._settled([s.loss for s in settings], U, weights)
        problem = self._problem(U, weights, losses, [s.reg for s in settings])
        solver = choose_solver(self.solver, problem, self.tol, self.max_iter)
        batch = solver.solve_batch(problem, monitor=Monitor(verbose=self.verbose, label="path"))
        report = sample_report(problem, batch.points)
        del self._grams
        return RegressionPath(
            self,
            [s.reg for s in settings],
            losses,
            problem.coefficients(batch.points)[0].cpu().numpy(),
            batch.values[0].cpu().numpy(),
            batch.gaps[0].cpu().numpy(),
            batch.n_iter[0].cpu().numpy(),
            report.support[0].sum(0).cpu().numpy(),
            report.saturated[0].sum(0).cpu().numpy(),
        )

    def _settled(self, losses: list[Loss], U: Tensor, weights: Tensor | None) -> tuple[list[Loss], Tensor]:
        """Losses with numbers for parameters that are ``"auto"``, and targets around the mean of those that fit."""
        if not any(loss.automatic for loss in losses):
            return losses, U
        K = effective_gram(self._grams, [term.operator for term in self.kernel_.pairs], U)
        size, shift = typical_residual(K, U, check_number(self.reg, "reg", above=0.0), weights, self._total_weight)
        if self.center and isinstance(self.output_, Euclidean):
            self.output_, U = self.output_.moved(shift), U - shift
        return [loss.resolve(size) for loss in losses], U

    @abstractmethod
    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> tuple[Tensor, Tensor | None]:
        """Read the data, resolve the kernel, and return targets in coordinates and weights that sum to one."""

    def _training_grams(self, kernel: OperatorKernel, items: Any) -> list[Tensor]:
        grams: list[Tensor] = []
        for index, term in enumerate(kernel.pairs):
            same = next((j for j, other in enumerate(kernel.pairs[:index]) if other.kernel == term.kernel), None)
            grams.append(self._training_gram(term.kernel, items) if same is None else grams[same])
        return grams

    def _problem(self, U: Tensor, weights: Tensor | None, losses: Any, regs: Any) -> DualProblem:
        operators = [None if term.operator is None else tensor_like(term.operator, U) for term in self.kernel_.pairs]
        terms = list(zip(self._grams, operators, strict=True))
        return dual_problem(terms, U, losses, regs, None if weights is None else weights * len(U))

    def _cross_grams(self, items: Any) -> list[Tensor]:
        features = getattr(self, "map_", None)
        return self.kernel_.grams(items, self._support()) if features is None else [features.raw(items)]

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
        predicted = np.asarray(as_numpy(self.predict(X)))
        given = read_targets(self, y, len(predicted))[0].cpu().numpy()
        return float(r2_score(given, predicted.reshape(len(predicted), -1), sample_weight=sample_weight))


def read_targets(estimator: KernelEstimator, y: Any, n: int) -> tuple[Tensor, bool]:
    """Targets as a matrix, and whether they came as a vector.

    Parameters
    ----------
    estimator : KernelEstimator
        Knows dtype and device.
    y : array of shape (n,) or (n, q)
    n : int
        Number of training items.

    Returns
    -------
    Y : Tensor of shape (n, q)
    one_output : bool

    Raises
    ------
    InputError
        If there are no targets or they have more axes; ValueError for other lengths, NaN or infinity.
    """
    if y is None:
        raise InputError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    y = as_numpy(y, "y")
    with reading(y, "y"):
        values = check_array(y, ensure_2d=False, allow_nd=True, dtype=np.float64, input_name="y")
    if values.ndim not in (1, 2):
        raise InputError(f"y must have shape (n,) or (n, q); got {values.shape}")
    check_consistent_length(np.empty(n), values)
    matrix = estimator._check_size(values.reshape(n, -1), "y")
    return to_tensor(matrix, **estimator._options), values.ndim == 1


def all_weights(estimator: KernelEstimator, sample_weight: Any, n: int) -> Tensor | None:
    """Weights of all rows, summing to one; rows of weight zero stay, and get zero coefficients.

    Parameters
    ----------
    estimator : KernelEstimator
        Knows dtype and device.
    sample_weight : array of shape (n,) or None
    n : int
        Number of training items.

    Returns
    -------
    Tensor of shape (n,) or None
        None: equal weights.

    Raises
    ------
    InputError
        For weights that are negative or all zero.
    """
    estimator._kept_rows = None
    kept, weights, estimator._total_weight = estimator._read_weights(sample_weight, n)
    if kept is None:
        return weights
    full = torch.zeros(n, **estimator._options)
    full[torch.as_tensor(kept)] = 1.0 / len(kept) if weights is None else weights
    return full
