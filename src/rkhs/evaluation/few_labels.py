"""Many unlabelled rows, few labels: small learners on codes that no label has shaped."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from rkhs._core.arrays import read_numbers, read_values
from rkhs._core.checks import check_choice, check_count, check_list, check_number, check_numbers
from rkhs._core.errors import CollapseWarning, InputError, JitterWarning, shown, warn
from rkhs._core.threads import within_limit
from rkhs.data.columns import is_gap
from rkhs.estimators.kernel_autoencoder import KernelAutoencoder
from rkhs.estimators.kernel_contrastive import KernelContrastive
from rkhs.estimators.kernel_pca import KernelPCA
from rkhs.evaluation.comparison import counting_error
from rkhs.evaluation.smooth_head import SmoothClassifier
from rkhs.kernels import ArcCosine, Gaussian, Kernel, Laplacian, Linear, MinMax, MixedTable, Tanimoto

__all__ = ["GAMMAS", "FewLabelRow", "Learner", "choose_on_labels", "few_label_methods", "few_labels", "split_rows"]

GAMMAS = tuple(float(g) for g in np.logspace(-2.0, 2.0, 15))
"""Bandwidths that are tried: 15 logarithmic steps from 0.01 to 100."""
Learner = Literal["neighbours", "smooth"]
"""What learns classes from codes: nearest neighbours, or :class:`SmoothClassifier`."""
_MOST_SEEDS = 2**31 // 1000  # a seed begins a thousand states of scikit-learn's generator


@dataclass(frozen=True)
class FewLabelRow:
    """Result of one method with one kernel.

    Parameters
    ----------
    method, kernel : str
    accuracies : tuple of float
        On the test rows, one a split.
    gammas : tuple of float or None
        Bandwidth chosen in each split; None for kernels without one.
    values : tuple of float or None
        Value chosen in each split for the parameter that `grids` names; None for methods not in `grids`.
    validation : tuple of float
        Leave-one-out accuracies on the labelled rows, one a split: what a choice between rows may look at.
    n_test : int, default=0
        Rows that a split is judged on; 0 if that is not known.
    learner : {"neighbours", "smooth"}, default="neighbours"
        What learned the classes from the codes.

    References
    ----------
    Esser et al. (2024), figure 1.
    """

    method: str
    kernel: str
    accuracies: tuple[float, ...]
    gammas: tuple[float, ...] | None
    values: tuple[float, ...] | None = None
    validation: tuple[float, ...] = ()
    n_test: int = 0
    learner: Learner = "neighbours"

    @property
    def mean(self) -> float:
        """Mean accuracy over the splits."""
        return float(np.mean(self.accuracies))

    @property
    def std(self) -> float:
        """Standard deviation of the accuracy over the splits (of the sample, n - 1)."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else 0.0

    @property
    def error(self) -> float:
        """Standard error of counting hits among the test rows of one split: all splits may agree by chance."""
        return counting_error(self.mean, self.n_test)


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

    Raises
    ------
    InputError
        For no rows, or rows without leave-one-out accuracies or of different numbers of splits.

    Examples
    --------
    >>> from rkhs.evaluation import FewLabelRow, choose_on_labels
    >>> a = FewLabelRow("a", "linear", (0.75, 0.5), None, validation=(0.9, 0.5))
    >>> b = FewLabelRow("b", "ReLU", (0.5, 1.0), None, validation=(0.6, 0.5))
    >>> choose_on_labels([a, b]).accuracies
    (0.75, 0.75)
    """
    n_splits = {len(values) for row in rows for values in (row.accuracies, row.validation)}
    if len(n_splits) != 1 or n_splits == {0}:
        raise InputError(f"rows must hold rows with validation accuracies of the same splits; got lengths {n_splits}")
    scores = np.array([row.validation for row in rows])
    best = scores == scores.max(0)
    accuracies = (np.array([row.accuracies for row in rows]) * best).sum(0) / best.sum(0)
    kernel = rows[int((best / best.sum(0)).sum(1).argmax())].kernel
    chosen = tuple(float(v) for v in scores.max(0))
    found = tuple(float(v) for v in accuracies)
    return FewLabelRow(method, kernel, found, None, validation=chosen, n_test=rows[0].n_test)


@within_limit
def few_label_methods(
    n_components: int = 2, *, augment: Any = "gaussian_noise", random_state: int = 0
) -> dict[str, Any]:
    """Estimators of the comparison, before they are given a kernel.

    Parameters
    ----------
    n_components : int, default=2
    augment : str, Augmentation or callable, default="gaussian_noise"
        How positives are made, for every contrastive model.
    random_state : int, default=0

    Returns
    -------
    dict of str to estimator
        Kernel PCA, simple and spectral contrastive learning (one view, one random negative, as in the paper; the
        spectral one also with the pool), the sphere-constrained autoencoder.
    """
    contrastive = {"pairs": "augment", "augment": augment, "random_state": random_state}
    return {
        "kernel PCA": KernelPCA(n_components, preimage="nearest"),
        "simple": KernelContrastive(n_components, negatives="permutation", **contrastive),
        "spectral": KernelContrastive(n_components, loss="spectral", negatives="permutation", **contrastive),
        "spectral, pool": KernelContrastive(n_components, loss="spectral", **contrastive),
        "autoencoder": KernelAutoencoder(
            max(2, n_components), constraint="sphere", decoder_kernel=Gaussian(1.0), reg=(1e-4, 1e-3), max_iter=100
        ),
    }


_KERNELS: dict[str, Callable[[float], Kernel]] = {
    "Gaussian": lambda gamma: Gaussian(gamma),
    "Laplacian": lambda gamma: Laplacian("l1", gamma),
    "linear": lambda gamma: Linear(),
    "ReLU": lambda gamma: ArcCosine(1),
    "mixed table": lambda gamma: MixedTable(),
    "Tanimoto": lambda gamma: Tanimoto(),
    "MinMax": lambda gamma: MinMax(),
}
_WITH_BANDWIDTH = ("Gaussian", "Laplacian")


def split_rows(
    y: np.ndarray, split: int, *, unlabelled: float = 0.5, labelled: float = 0.05, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row numbers of one random split: unlabelled, labelled and test rows, each with the class shares of all rows.

    Parameters
    ----------
    y : array of shape (n,)
    split : int
        Number of the split.
    unlabelled, labelled : float
        Shares of the rows; the rest is the test set.
    seed : int, default=0

    Returns
    -------
    tuple of three arrays of int

    Raises
    ------
    InputError
        If a share is out of range or leaves fewer labelled rows than classes.
    """
    first = check_number(unlabelled, "unlabelled", above=0.0, at_most=0.95)
    second = check_number(labelled, "labelled", above=0.0, at_most=0.95)
    y = _labels(y)
    if y.dtype == object and len(_known(y)) < len(y):
        row = int(np.setdiff1d(np.arange(len(y)), _known(y))[0])
        raise InputError(f"y must hold a label in every row; got {y[row]!r} in row {row}. Leave such rows out")
    split = check_count(split, "split", at_least=0, at_most=2**31)
    seed = check_count(seed, "seed", at_least=0, at_most=_MOST_SEEDS)
    n, classes = len(y), len(np.unique(y))
    counts = round(first * n), max(round(second * n), classes)
    if sum(counts) + classes > n:
        raise InputError(f"unlabelled + labelled must leave at least {classes} test rows; got {first} + {second}")
    if counts[0] < classes:
        raise InputError(
            f"unlabelled must be a share of at least {classes} rows, one a class; got {unlabelled:g} of {n}"
        )
    state = 1000 * seed + split
    part = StratifiedShuffleSplit(1, train_size=counts[1], test_size=n - counts[1], random_state=state)
    chosen, rest = next(part.split(np.zeros(n), y))
    part = StratifiedShuffleSplit(1, train_size=counts[0], test_size=len(rest) - counts[0], random_state=state)
    hidden, test = next(part.split(np.zeros(len(rest)), y[rest]))
    return rest[hidden], chosen, rest[test]


def _labels(y: Any) -> np.ndarray:
    """One label a row, which can be sorted; or None in arrays of objects."""
    labels = read_values(y, "y")
    try:
        sortable = labels.ndim == 1
        np.unique(labels[_known(labels)] if sortable and labels.dtype == object else labels)
    except TypeError:  # labels of several kinds
        sortable = False
    if not sortable or labels.dtype.kind not in "biufUSO":
        raise InputError(f"y must hold one label a row, all of a kind; got {shown(y)}")
    return labels


def _known(y: np.ndarray) -> np.ndarray:
    """Numbers of the rows that have a label."""
    return np.flatnonzero([not is_gap(label) for label in y.tolist()])


def _split(
    y: np.ndarray, split: int, unlabelled: float, labelled: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows as :func:`split_rows` draws them; where labels are missing, half of the known ones are labelled."""
    known = _known(y)
    if len(known) == len(y):
        return split_rows(y, split, unlabelled=unlabelled, labelled=labelled, seed=seed)
    classes, counts = np.unique(y[known].tolist(), return_counts=True)
    if counts.min() < 2:
        rare = str(classes[counts.argmin()])
        raise InputError(f"y must have at least two rows of each class; got one of {shown(rare)}")
    part = StratifiedShuffleSplit(1, test_size=0.5, random_state=1000 * seed + split)
    lab, test = next(part.split(known, y[known].tolist()))
    return np.setdiff1d(np.arange(len(y)), known), known[lab], known[test]


@within_limit
def few_labels(
    X: Any,
    y: Any,
    *,
    raw: Any = None,
    methods: Mapping[str, Any] | None = None,
    kernels: Sequence[str] = ("Gaussian", "Laplacian", "linear", "ReLU"),
    gammas: Sequence[float] = GAMMAS,
    grids: Mapping[str, tuple[str, Sequence[float]]] | None = None,
    n_splits: int = 5,
    splits: Sequence[int] | None = None,
    n_neighbors: int = 3,
    unlabelled: float = 0.5,
    labelled: float = 0.05,
    seed: int = 0,
    learners: Sequence[Learner] = ("neighbours",),
) -> list[FewLabelRow]:
    """Accuracy of nearest neighbours, or a smooth learner, on codes learned without labels.

    In each split every model is trained on the unlabelled and labelled rows without their labels; a classifier is
    fitted on the codes of the labelled rows and judged on the test rows. The bandwidth of a kernel is
    chosen by leave-one-out on the labelled rows only; among equals the one nearest to one over the median distance.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers, or objects such as the cells of a mixed table if `raw` is given.
    y : array of shape (n,)
        Class labels; None or NaN where a row has none. Such rows are then the unlabelled ones of every split. Half of
        the others are labelled, half are test rows.
    raw : array of shape (n, q), optional
        Numbers that stand for the raw features of objects.
    methods : mapping of str to estimator, optional
        Transformers with a parameter ``kernel``, or without one (used once, with no kernel). Default:
        :func:`few_label_methods`.
    kernels : sequence of str
        Of "Gaussian", "Laplacian", "linear", "ReLU" (arc-cosine of order one), "mixed table" (for mixed tables, with
        its own scales), "Tanimoto" (bits) and "MinMax" (counts). Each is a bar of its own.
    gammas : sequence of float
        Bandwidths to choose from.
    grids : mapping of str to (str, sequence of float), optional
        For methods without a kernel: the parameter that is chosen in place of a bandwidth, in the same way, and its
        positive values; among equals the one nearest (in logarithm) to that of the estimator.
    n_splits : int, default=5
    splits : sequence of int, optional
        Numbers of the splits to run, in place of the first `n_splits`: a long comparison can be done piece by piece.
    n_neighbors : int, default=3
    unlabelled, labelled : float
        Shares of the rows.
    seed : int, default=0
    learners : sequence of {"neighbours", "smooth"}, default=("neighbours",)
        Each is judged on the codes of every method. The smooth one is :class:`SmoothClassifier`.

    Returns
    -------
    list of FewLabelRow
        Raw features first, and of each method and kernel one for each learner.

    Raises
    ------
    InputError
        For an unknown kernel, fewer than two classes, shares that do not fit, a grid that fits no method, or if every
        method fails. One that fails beside others is left out with a warning.

    References
    ----------
    Esser et al. (2024), section "Classification on embedding".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs.estimators.kernel_pca import KernelPCA
    >>> from rkhs.evaluation import few_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> rows = few_labels(X, y, methods={"kernel PCA": KernelPCA()}, kernels=("linear",), n_splits=2)
    >>> [(row.method, row.kernel) for row in rows]
    [('raw features', 'none'), ('kernel PCA', 'linear')]
    """
    features = read_numbers(X if raw is None else raw, "X" if raw is None else "raw", shape="(n, d)")
    X, y = (features if raw is None else np.asarray(X, dtype=object)), _labels(y)
    if not len(X) == len(y) == len(features) or len(np.unique(y[_known(y)].tolist())) < 2:
        raise InputError(
            f"X must be an array (n, d) and y hold n labels of at least two classes; got {X.shape}, {y.shape}"
        )
    unknown = [name for name in check_list(kernels, "kernels", "names") if name not in _KERNELS]
    if unknown:
        raise InputError(f"kernels must be of {', '.join(map(repr, _KERNELS))}; got {unknown[0]!r}")
    check_count(n_splits, "n_splits")
    seed = check_count(seed, "seed", at_least=0, at_most=_MOST_SEEDS)
    gammas = check_numbers(gammas, "gammas", above=0.0)
    methods = few_label_methods(random_state=seed) if methods is None else methods
    if not isinstance(methods, Mapping) or not all(hasattr(one, "get_params") for one in methods.values()):
        raise InputError(f"methods must be a dict of estimators by name; got {methods!r}")
    grids = _checked_grids({} if grids is None else grids, methods)
    parts = [_split(y, s, unlabelled, labelled, seed) for s in _numbers(splits, n_splits)]
    n_test = min((len(test) for _, _, test in parts), default=0)
    k = check_count(n_neighbors, "n_neighbors")
    y = np.array([str(label) for label in y]) if y.dtype == object else y  # those that are missing are never read
    judges = [(_learner(name), k) for name in check_list(learners, "learners", "names")]
    plain = [_judged(judges, features[lab], y[lab], features[test], y[test]) for _, lab, test in parts]
    rows = _rows("raw features", "none", judges, [[(*one, None) for one in found] for found in plain], n_test)
    failed: InputError | None = None
    for method, estimator in methods.items():
        with_kernel = "kernel" in estimator.get_params(deep=False)
        for kernel in kernels if with_kernel else ("none",):
            grid = ("kernel", tuple(gammas)) if kernel in _WITH_BANDWIDTH else grids.get(method)
            try:
                results = [_one_split(X, y, part, estimator, kernel, grid, judges) for part in parts]
            except InputError as error:
                failed = InputError(f"{method} with kernel {kernel} is left out: {error}")
                warn(str(failed), UserWarning)
                continue
            rows += _rows(method, kernel, judges, results, n_test)
    if failed is not None and len(rows) == len(judges):
        raise failed
    return rows


def _learner(name: str) -> Learner:
    return "smooth" if check_choice(name, "learners", ("neighbours", "smooth")) == "smooth" else "neighbours"


def _rows(
    method: str,
    kernel: str,
    judges: list[tuple[Learner, int]],
    results: list[list[tuple[float, float, float | None]]],
    n_test: int,
) -> list[FewLabelRow]:
    """A row for each learner, of what every split found."""
    rows = []
    for i, (learner, _) in enumerate(judges):
        accuracies, held, chosen = zip(*(found[i] for found in results), strict=True)
        values = None if chosen[0] is None else chosen
        fixed, values = (None, values) if kernel == "none" else (values, None)
        rows.append(FewLabelRow(method, kernel, accuracies, fixed, values, held, n_test, learner))
    return rows


def _numbers(splits: Sequence[int] | None, n_splits: int) -> Sequence[int]:
    """Numbers of the splits to run."""
    if splits is None:
        return range(n_splits)
    return [check_count(s, "splits", at_least=0) for s in check_list(splits, "splits")]


def _checked_grids(
    grids: Mapping[str, tuple[str, Sequence[float]]], methods: Mapping[str, Any]
) -> dict[str, tuple[str, tuple[float, ...]]]:
    result = {}
    if not isinstance(grids, Mapping) or any(
        not isinstance(pair, (tuple, list)) or len(pair) != 2 for pair in grids.values()
    ):
        raise InputError(
            f"grids must be a dict of pairs (parameter, values) by the name of a method; got {shown(grids)}"
        )
    for method, (parameter, values) in grids.items():
        known = methods[method].get_params(deep=False) if method in methods else {}
        if parameter not in known or "kernel" in known:
            raise InputError(
                f"grids must name methods without a kernel and a parameter of theirs; got {method!r}: {parameter!r}"
            )
        values = check_list(values, f"grids[{method!r}]")
        # Also the estimator's own value: it decides between equals, on a logarithmic scale.
        for value in (*values, known[parameter]):
            check_number(value, f"{parameter} of {method!r}", above=0.0)
        result[method] = (parameter, tuple(values))
    return result


def _one_split(
    X: np.ndarray,
    y: np.ndarray,
    split: tuple[np.ndarray, np.ndarray, np.ndarray],
    estimator: BaseEstimator,
    kernel: str,
    grid: tuple[str, tuple[float, ...]] | None,
    judges: list[tuple[Learner, int]],
) -> list[tuple[float, float, float | None]]:
    """Of each learner: test accuracy, leave-one-out accuracy on the labelled rows, and the value that this chose."""
    hidden, lab, test = split
    training = X[np.concatenate([hidden, lab])]
    parameter, values = grid or ("kernel", (1.0,))
    centre = 1.0
    if grid is not None:
        centre = _reference_gamma(training, kernel) if parameter == "kernel" else estimator.get_params()[parameter]
    tried: list[tuple[float, list[tuple[float, float]]]] = []
    for value in values:
        setting = {parameter: value} if parameter != "kernel" else {}
        model = _fit(clone(estimator).set_params(**setting), kernel, value, training)
        if model is not None:
            codes, new = model.transform(X[lab]), model.transform(X[test])
            tried.append((value, _judged(judges, codes, y[lab], new, y[test])))
    if not tried:
        raise InputError(
            f"{type(estimator).__name__} could not be fitted with the {kernel} kernel at any bandwidth; leave the "
            "kernel out, or look for constant or equal rows"
        )
    best: list[tuple[float, float, float | None]] = []
    for i in range(len(judges)):
        value, found = max(tried, key=lambda one: (one[1][i][1], -abs(np.log(one[0] / centre))))
        best.append((*found[i], None if grid is None else value))
    return best


def _fit(estimator: BaseEstimator, kernel: str, gamma: float, training: np.ndarray) -> Any:
    """A fitted model, or None where the loss has no minimum at this bandwidth; the score decides, not the warnings."""
    model = clone(estimator)
    if "kernel" in model.get_params(deep=False):
        model.set_params(kernel=_KERNELS[kernel](gamma))
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


def _judged(
    judges: list[tuple[Learner, int]], Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray
) -> list[tuple[float, float]]:
    """Test accuracy and leave-one-out accuracy of each learner."""
    found = []
    for learner, k in judges:
        if learner == "smooth":
            head = SmoothClassifier().fit(Z, y)
            found.append((float(head.score(Z_test, y_test)), head.leave_one_out_accuracy_))
        else:
            found.append((_accuracy(Z, y, Z_test, y_test, k), _leave_one_out(Z, y, k)))
    return found


def _accuracy(Z: np.ndarray, y: np.ndarray, Z_test: np.ndarray, y_test: np.ndarray, k: int) -> float:
    return float(KNeighborsClassifier(min(k, len(Z))).fit(Z, y).score(Z_test, y_test))


def _leave_one_out(Z: np.ndarray, y: np.ndarray, k: int) -> float:
    rows = np.arange(len(Z))
    hits = [_accuracy(Z[rows != i], y[rows != i], Z[i : i + 1], y[i : i + 1], k) for i in rows]
    return float(np.mean(hits))
