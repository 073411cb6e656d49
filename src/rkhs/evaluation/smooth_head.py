"""Kernel ridge regression on codes with the Euclidean Laplacian kernel; settings by the leave-one-out error."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, softmax
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from rkhs._core.arrays import as_numpy, read_rows, read_values, reading, tile_rows, tiles
from rkhs._core.checks import check_labels, check_numbers, real_array
from rkhs._core.config import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from rkhs._core.errors import InputError
from rkhs._core.ownership import WholeFits
from rkhs._core.threads import LimitedThreads
from rkhs.estimators import KernelEstimator
from rkhs.persistence import read_model

_GAMMAS = (0.1, 0.3, 1.0, 3.0)
_REGS = tuple(10.0**k for k in range(-6, 1))
_LOG_SHARPNESS = (-4.0, 6.0)
_LARGEST = 1e140  # sums of squares stay finite
_TIE = 1e-12  # scores of classes are of order one


class _Smooth(LimitedThreads, WholeFits, BaseEstimator):
    """The kernel ridge regression of both estimators."""

    gamma_: float
    reg_: float
    coef_: np.ndarray
    leave_one_out_error_: float

    def __init__(self, gammas: Any = _GAMMAS, regs: Any = _REGS) -> None:
        self.gammas = gammas
        self.regs = regs

    def _fit_ridge(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Store the chosen setting and its coefficients; return its leave-one-out predictions (n, q)."""
        gammas, regs = (check_numbers(getattr(self, name), name, above=0.0) for name in ("gammas", "regs"))
        n = len(X)
        for name, values in (("X", X), ("y", Y)):
            if float(np.abs(values).max()) > _LARGEST:
                raise InputError(f"{name} must hold values of modulus under {_LARGEST:.0e}; rescale the data")
        self._mean = Y.mean(0)
        centred = Y - self._mean
        distances = cdist(X, X)
        self._unit = float(np.median(distances[np.triu_indices(n, 1)])) or float(distances.max()) or 1.0
        best, left_out = np.inf, Y
        for gamma in gammas:
            values, vectors = eigh(np.exp(-gamma * (distances / self._unit)), driver="evd", check_finite=False)
            turned = vectors.T @ centred
            squares = vectors**2
            for reg in regs:
                inverse = 1.0 / (values.clip(0.0) + n * reg)
                dual = vectors @ (inverse[:, None] * turned)
                residuals = dual / (squares @ inverse)[:, None]
                error = float((residuals**2).sum(1).mean())
                if error < best:
                    best, self.gamma_, self.reg_, self.coef_ = error, gamma, reg, dual
                    left_out = Y - residuals
        spread = float((centred**2).sum(1).mean())
        self.leave_one_out_error_ = best / spread if spread > 0.0 else 0.0
        self._rows = X.copy()
        return left_out

    def _predict_ridge(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = read_rows(self, X, reset=False, dtype=np.float64)
        parts = tiles(len(rows), tile_rows(len(self._rows)))
        return np.concatenate([self._predict_tile(rows[tile]) for tile in parts])

    def _predict_tile(self, rows: np.ndarray) -> np.ndarray:
        return self._mean + np.exp(-self.gamma_ * (cdist(rows, self._rows) / self._unit)) @ self.coef_


class SmoothRegressor(MultiOutputMixin, RegressorMixin, _Smooth):
    """Kernel ridge regression with ``exp(-gamma ||x - x'|| / median)``, gamma and reg by leave-one-out.

    The kernel is the Laplacian of the Euclidean distance, Matern 1/2; scikit-learn's ``laplacian_kernel`` takes the
    Manhattan distance.

    ``min_f 1/(2n) sum_i ||y_i - b - f(x_i)||^2 + reg/2 ||f||^2`` with ``b`` the mean of ``y``. The leave-one-out
    residual is ``(a_i) / (G^-1)_ii``, ``G = K + n reg I``, ``a = G^-1 (y - b)``: all regularisers of one bandwidth
    share an eigendecomposition. Meant for codes, whose scales are meaningful: columns are not standardised.

    Parameters
    ----------
    gammas : sequence of float, default=(0.1, 0.3, 1, 3)
        Values to compare, in units of the inverse median distance of the training rows.
    regs : sequence of float, default=(1e-6, 1e-5, ..., 1)
        Regularisers to compare.

    Attributes
    ----------
    gamma_, reg_ : float
        The chosen ones; ``gamma_`` in the units of ``gammas``.
    leave_one_out_error_ : float
        Mean squared leave-one-out residual of the chosen ones, as a share of the variance of ``y``.
    coef_ : ndarray of shape (n, q)
    n_features_in_ : int

    Raises
    ------
    InputError
        For empty grids and for numbers that are not positive.

    Notes
    -----
    ``fit`` costs ``O(len(gammas) n^3)``.

    References
    ----------
    Rifkin and Lippert (2007), "Notes on regularized least squares", section 4, for the closed form.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import SmoothRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bool(make_pipeline(KernelPCA(4), SmoothRegressor()).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.3)
    True
    """

    def fit(self, X: Any, y: Any) -> SmoothRegressor:
        """Choose gamma and reg and fit.

        Parameters
        ----------
        X : array of shape (n, p)
        y : array of shape (n,) or (n, q)

        Returns
        -------
        self
        """
        X, y = _read_both(self, X, y, multi_output=True, y_numeric=True)
        self._flat = y.ndim == 1
        self._fit_ridge(X, np.ascontiguousarray(real_array(y, "y").reshape(len(y), -1)))  # the same bits in any order
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict rows, shape (m,) or (m, q) as ``y`` was."""
        values = self._predict_ridge(X)
        return values[:, 0] if self._flat else values


class SmoothClassifier(ClassifierMixin, _Smooth):
    """The regression of :class:`SmoothRegressor` on indicators of the classes; the largest prediction wins.

    Probabilities are ``softmax(t f(x))`` of the predicted indicators ``f``, with the ``t`` of largest likelihood of the
    training labels under the leave-one-out predictions.

    Parameters
    ----------
    gammas : sequence of float, default=(0.1, 0.3, 1, 3)
    regs : sequence of float, default=(1e-6, 1e-5, ..., 1)

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    gamma_, reg_, leave_one_out_error_, coef_, n_features_in_
        As in :class:`SmoothRegressor`.
    leave_one_out_accuracy_ : float
        Share of the training rows whose leave-one-out prediction is right.
    sharpness_ : float
        Inverse temperature ``t`` of the probabilities.

    References
    ----------
    Rifkin and Lippert (2007), section 4; Rifkin and Klautau (2004), "In defense of one-vs-all classification"; Guo,
    Pleiss, Sun and Weinberger (2017), "On calibration of modern neural networks", for one parameter; Platt (1999),
    "Probabilistic outputs for support vector machines", section 2.2, for smoothed targets.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import SmoothClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(make_pipeline(KernelPCA(2), SmoothClassifier()).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.8)
    True
    """

    def fit(self, X: Any, y: Any) -> SmoothClassifier:
        """Choose gamma and reg and fit; ``X`` of shape (n, p), ``y`` of shape (n,)."""
        X, y = _read_both(self, X, _labels(y))
        check_classification_targets(y)
        binarizer = LabelBinarizer().fit(y)
        self.classes_: np.ndarray = binarizer.classes_
        indicators = binarizer.transform(y).astype(np.float64)
        left_out = self._fit_ridge(X, indicators)
        self.sharpness_: float = _sharpness(_both(left_out), _both(indicators))
        one = left_out if indicators.shape[1] > 1 else left_out[:, 0] - 0.5
        self.leave_one_out_accuracy_: float = float(np.mean(self._best(one) == y))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, shape (m, c); the largest is that of :meth:`predict`."""
        values = _both(self._predict_ridge(X))
        return np.ones((len(values), 1)) if len(self.classes_) == 1 else softmax(self.sharpness_ * values, axis=1)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes, shape (m, c), or of the second class less one half, shape (m,), for two classes."""
        values = self._predict_ridge(X)
        return values if len(self.classes_) > 2 else values[:, 0] - 0.5

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, shape (m,); ties within rounding go to the first class."""
        return self._best(self.decision_function(X))

    def _best(self, scores: np.ndarray) -> np.ndarray:
        """Classes of scores as :meth:`decision_function` gives them."""
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        if scores.ndim == 1:
            return self.classes_[(scores > _TIE).astype(int)]
        return self.classes_[(scores >= scores.max(1, keepdims=True) - _TIE).argmax(1)]


def _labels(y: Any) -> np.ndarray:
    """Read class labels; numbers in an object array become numbers."""
    labels = read_values(y, "y")
    if labels.dtype.kind == "V":
        raise InputError(f"y must hold labels, one per row; got records of dtype {labels.dtype}")
    plain = np.asarray(labels.tolist()) if labels.dtype == object and labels.ndim == 1 else labels
    return plain if plain.dtype.kind in "biuf" else check_labels(labels, "Leave out such rows")


def _read_both(model: BaseEstimator, X: Any, y: Any, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    X, y = as_numpy(X), as_numpy(y, "y")
    if hasattr(y, "toarray"):  # scikit-learn takes several sparse columns
        real_array(y, "y")
    with reading(X, "X"), reading(y, "y"):
        return validate_data(model, X, y, dtype=np.float64, order="C", ensure_min_samples=2, **options)


def _both(indicators: np.ndarray) -> np.ndarray:
    """Indicators of all classes, shape (n, c); two classes come as one column."""
    return np.hstack([1.0 - indicators, indicators]) if indicators.shape[1] == 1 else indicators


def _sharpness(values: np.ndarray, indicators: np.ndarray) -> float:
    """Inverse temperature that maximises the likelihood of Platt's smoothed targets."""
    others = 1.0 / (indicators.sum(0) + 2.0)  # probability that Platt's targets take from the class of a row
    share = (indicators @ others)[:, None] / max(indicators.shape[1] - 1, 1)
    target_shares = np.where(indicators > 0.5, 1.0 - (indicators @ others)[:, None], share)

    def loss(log: float) -> float:
        return -float((target_shares * log_softmax(np.exp(log) * values, axis=1)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SHARPNESS, method="bounded").x))


def classifier_of(model: KernelEstimator, notes: dict[str, Any]) -> SmoothClassifier | None:
    """The learner of a model file that predicts classes, refitted to its codes; None for other files."""
    saved = notes.get("predict", {})
    if "labels" not in saved:
        return None
    known = np.array([label is not None for label in saved["labels"]])
    classes = np.array([label for label in saved["labels"] if label is not None])
    return SmoothClassifier(gammas=(saved["gamma"],), regs=(saved["reg"],)).fit(model.codes_[known], classes)


def load_classifier(path: str | os.PathLike[str], **options: Any) -> Pipeline:
    """Read a model file that ``rkhs fit --predict CLASS`` wrote, as one fitted classifier.

    Parameters
    ----------
    path : str or path
    **options
        Those of :func:`rkhs.load`, which reads the model of the codes alone.

    Returns
    -------
    sklearn.pipeline.Pipeline
        The model of the codes and a :class:`SmoothClassifier`: ``predict(X)`` gives classes, ``predict_proba(X)`` their
        probabilities in the order of ``classes_``, of rows as the model takes them, without the column of the class.

    Raises
    ------
    InputError
        If the file predicts no class.
    ModelFileError
        As :func:`rkhs.load`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from rkhs.cli.main import main
    >>> from rkhs.evaluation import load_classifier
    >>> iris = load_iris(as_frame=True).frame[::3]
    >>> iris["target"] = iris["target"].map(lambda number: "abc"[number])
    >>> with TemporaryDirectory() as folder:
    ...     iris.to_csv(f"{folder}/iris.csv", index=False)
    ...     words = ["fit", f"{folder}/iris.csv", "--predict", "target", "-o", f"{folder}/m.rkhs", "--quiet"]
    ...     _ = main(words)  # as in a shell: rkhs fit iris.csv --predict target -o m.rkhs
    ...     model = load_classifier(f"{folder}/m.rkhs")
    >>> model.predict(iris.iloc[[0, 49], :4]).tolist()
    ['a', 'c']
    """
    file = read_model(path, **options)
    head = classifier_of(file.estimator, file.notes)
    if head is None:
        raise InputError(
            f"{path} must be a file of rkhs fit --predict with a column of classes; got "
            f"{type(file.estimator).__name__}; read it with rkhs.load"
        )
    return make_pipeline(file.estimator, head)
