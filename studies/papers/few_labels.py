"""The protocol of Esser et al. (2024): nearest neighbours on codes that no label has shaped, with few labels.

In each split every model is trained on half of the rows and the labelled twentieth, without labels. Three nearest
neighbours are fitted to the codes of the labelled rows and judged on the rest. The bandwidth of a kernel is chosen by
leave-one-out on the labelled rows only; among equals the one nearest to one over the median distance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit

from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs._core.errors import CollapseWarning, InputError, JitterWarning
from rkhs.kernels import ArcCosine, Gaussian, Kernel, Laplacian, Linear

__all__ = ["GAMMAS", "FewLabelRow", "choose_on_labels", "few_label_methods", "few_labels", "split_rows"]

GAMMAS = tuple(float(g) for g in np.logspace(-2.0, 2.0, 15))
"""Bandwidths that are tried: 15 logarithmic steps from 0.01 to 100."""
_UNLABELLED, _LABELLED, _NEIGHBORS = 0.5, 0.05, 3
_KERNELS: dict[str, Callable[[float], Kernel]] = {
    "Gaussian": lambda gamma: Gaussian(gamma),
    "Laplacian": lambda gamma: Laplacian("l1", gamma),
    "linear": lambda gamma: Linear(),
    "ReLU": lambda gamma: ArcCosine(1),
}
_WITH_BANDWIDTH = ("Gaussian", "Laplacian")


@dataclass(frozen=True)
class FewLabelRow:
    """Result of one method with one kernel.

    Parameters
    ----------
    method, kernel : str
    accuracies : tuple of float
        On the test rows, one per split.
    validation : tuple of float
        Leave-one-out accuracies on the labelled rows, one per split: what a choice between rows may look at.
    values : tuple of float or None
        What each split chose: the bandwidth of a kernel, or of a method without one the parameter that `grids` names.

    References
    ----------
    Esser et al. (2024), figure 1.
    """

    method: str
    kernel: str
    accuracies: tuple[float, ...]
    validation: tuple[float, ...]
    values: tuple[float, ...] | None = None

    @property
    def mean(self) -> float:
        """Mean accuracy over the splits."""
        return float(np.mean(self.accuracies))

    @property
    def std(self) -> float:
        """Standard deviation of the accuracy over the splits (of the sample, n - 1)."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else 0.0


def choose_on_labels(rows: Sequence[FewLabelRow], method: str = "chosen") -> FewLabelRow:
    """What a user gets who chooses among rows: in each split the one with the best leave-one-out accuracy.

    Few labels leave many equals; their test accuracies are averaged, which is what a toss between them gives.

    Parameters
    ----------
    rows : sequence of FewLabelRow
        Of the same splits.
    method : str, default="chosen"
        Name of the result.

    Returns
    -------
    FewLabelRow
        Its kernel is the one that was chosen most often.
    """
    scores = np.array([row.validation for row in rows])
    best = scores == scores.max(0)
    accuracies = (np.array([row.accuracies for row in rows]) * best).sum(0) / best.sum(0)
    kernel = rows[int((best / best.sum(0)).sum(1).argmax())].kernel
    return FewLabelRow(method, kernel, tuple(accuracies.tolist()), tuple(scores.max(0).tolist()))


def few_label_methods(n_components: int = 2, *, augment: Any = "gaussian_noise") -> dict[str, Any]:
    """Estimators of the comparison, before they are given a kernel.

    Parameters
    ----------
    n_components : int, default=2
    augment : str, Augmentation or callable, default="gaussian_noise"
        How positives are made, for every contrastive model.

    Returns
    -------
    dict of str to estimator
        Kernel PCA, simple and spectral contrastive learning (one view, one random negative, as in the paper; the
        spectral one also with the pool), the sphere-constrained autoencoder.
    """
    contrastive = {"pairs": "augment", "augment": augment, "random_state": 0}
    return {
        "kernel PCA": KernelPCA(n_components, preimage="nearest"),
        "simple": KernelContrastive(n_components, negatives="permutation", **contrastive),
        "spectral": KernelContrastive(n_components, loss="spectral", negatives="permutation", **contrastive),
        "spectral, pool": KernelContrastive(n_components, loss="spectral", **contrastive),
        "autoencoder": KernelAutoencoder(
            max(2, n_components), constraint="sphere", decoder_kernel=Gaussian(1.0), reg=(1e-4, 1e-3), max_iter=100
        ),
    }


def split_rows(y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers of one random split: unlabelled, labelled and test rows, each with the class shares of all rows.

    Parameters
    ----------
    y : array of shape (n,)
    split : int
        Number of the split.

    Returns
    -------
    tuple of three arrays of int
    """
    n = len(y)
    n_hidden, n_labelled = round(_UNLABELLED * n), max(round(_LABELLED * n), len(np.unique(y)))
    part = StratifiedShuffleSplit(1, train_size=n_labelled, test_size=n - n_labelled, random_state=split)
    chosen, rest = next(part.split(np.zeros(n), y))
    part = StratifiedShuffleSplit(1, train_size=n_hidden, test_size=len(rest) - n_hidden, random_state=split)
    hidden, test = next(part.split(np.zeros(len(rest)), y[rest]))
    return rest[hidden], chosen, rest[test]


def few_labels(
    X: np.ndarray,
    y: np.ndarray,
    *,
    methods: Mapping[str, Any],
    kernels: Sequence[str] = tuple(_KERNELS),
    gammas: Sequence[float] = GAMMAS,
    grids: Mapping[str, tuple[str, Sequence[float]]] | None = None,
    splits: Sequence[int] = range(5),
) -> list[FewLabelRow]:
    """Accuracy of nearest neighbours on codes learned without labels.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    methods : mapping of str to estimator
        Transformers with a parameter ``kernel``, or without one (used once, with no kernel).
    kernels : sequence of str
        Of "Gaussian", "Laplacian", "linear", "ReLU" (arc-cosine of order one). Each is a bar of its own.
    gammas : sequence of float
        Bandwidths to choose from.
    grids : mapping of str to (str, sequence of float), optional
        For methods without a kernel: the parameter that is chosen in place of a bandwidth, in the same way, and its
        positive values; among equals the one nearest (in logarithm) to that of the estimator.
    splits : sequence of int, default=range(5)
        Numbers of the splits to run: a long comparison can be done piece by piece.

    Returns
    -------
    list of FewLabelRow
        Raw features first.
    """
    parts = [split_rows(y, split) for split in splits]
    plain = [(*_judged(X[lab], y[lab], X[test], y[test]), None) for _, lab, test in parts]
    rows = [_row("raw features", "none", plain)]
    for method, estimator in methods.items():
        with_kernel = "kernel" in estimator.get_params(deep=False)
        for kernel in kernels if with_kernel else ("none",):
            grid = ("kernel", gammas) if kernel in _WITH_BANDWIDTH else (grids or {}).get(method)
            rows.append(_row(method, kernel, [_one_split(X, y, part, estimator, kernel, grid) for part in parts]))
    return rows


def _row(method: str, kernel: str, results: Sequence[tuple[float, float, float | None]]) -> FewLabelRow:
    accuracies, validation, values = zip(*results, strict=True)
    return FewLabelRow(method, kernel, accuracies, validation, None if values[0] is None else values)


def _one_split(
    X: np.ndarray,
    y: np.ndarray,
    split: tuple[np.ndarray, np.ndarray, np.ndarray],
    estimator: BaseEstimator,
    kernel: str,
    grid: tuple[str, Sequence[float]] | None,
) -> tuple[float, float, float | None]:
    """Test accuracy, leave-one-out accuracy on the labelled rows, and the value that this chose."""
    hidden, lab, test = split
    training = X[np.concatenate([hidden, lab])]
    parameter, values = grid or ("kernel", (1.0,))
    centre = 1.0
    if grid is not None:
        centre = _reference_gamma(training, kernel) if parameter == "kernel" else estimator.get_params()[parameter]
    tried = []
    for value in values:
        setting: dict[str, Any] = {parameter: value} if parameter != "kernel" else {}
        if kernel != "none":
            setting["kernel"] = _KERNELS[kernel](value)
        model = _fit(clone(estimator).set_params(**setting), training)
        if model is not None:
            tried.append((value, *_judged(model.transform(X[lab]), y[lab], model.transform(X[test]), y[test])))
    if not tried:
        raise InputError(f"{type(estimator).__name__} could not be fitted with the {kernel} kernel at any bandwidth")
    value, accuracy, validation = max(tried, key=lambda one: (one[2], -abs(np.log(one[0] / centre))))
    return accuracy, validation, None if grid is None else value


def _fit(model: Any, training: np.ndarray) -> Any:
    """A fitted model, or None where the loss has no minimum at this bandwidth; the score decides, not the warnings."""
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, CollapseWarning, JitterWarning):
            warnings.simplefilter("ignore", kind)
        try:
            return model.fit(training)
        except InputError as error:
            if "too small" in str(error):
                return None
            raise


def _reference_gamma(X: np.ndarray, kernel: str) -> float:
    probe: Any = Gaussian("median") if kernel == "Gaussian" else Laplacian("l1", "median")
    return float(probe.resolve(probe.read(X)).gamma)


def _judged(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray) -> tuple[float, float]:
    """Test accuracy and leave-one-out accuracy of nearest neighbours."""
    inside = cdist(Z, Z)
    np.fill_diagonal(inside, np.inf)
    left_out = _votes(inside, y, min(_NEIGHBORS, len(Z) - 1))
    return float((_votes(cdist(Z_test, Z), y, _NEIGHBORS) == y_test).mean()), float((left_out == y).mean())


def _votes(distances: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Most frequent label of the ``k`` nearest columns of each row; the first one among equals."""
    labels = np.unique(y)
    nearest = y[np.argsort(distances, axis=1, kind="stable")[:, :k]]
    return np.asarray(labels[(nearest[:, :, None] == labels).sum(1).argmax(1)])
