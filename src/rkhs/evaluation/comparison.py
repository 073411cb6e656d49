"""Compare codes, the raw input and other reductions as features of the same models, with standard errors."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import resample

from rkhs._core.arrays import as_numpy, read_values
from rkhs._core.checks import check_choice, check_count
from rkhs._core.copies import copies, warn_of_repeats
from rkhs._core.errors import InputError, filtering_warnings, unwarned
from rkhs._core.threads import within_limit
from rkhs.estimators import KernelAutoencoder, KernelPCA
from rkhs.estimators.options.arguments import Columns
from rkhs.evaluation.smooth_head import SmoothClassifier, SmoothRegressor
from rkhs.evaluation.targets import is_class, read_target
from rkhs.kernels import as_kernel
from rkhs.protocols import hide, show
from rkhs.spaces.features import FilledTable

OURS, RAW = "codes of rkhs", "raw input"
_TEST = 0.25  # share of the rows that a split tests on
_NEIGHBORS, _TREES = 5, 100
_MIN_KNOWN = 20  # rows with a known target
_SIGNIFICANT = 2.0  # standard errors beyond which a difference is significant

_KERNELS = {"gram": "precomputed", "fingerprints": "tanimoto"}

Rows = np.ndarray
Split = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class HeadScore:
    """Scores of one learner on the codes of one method.

    Parameters
    ----------
    method : str
    head : {"neighbours", "smooth", "forest"}
    scores : ndarray of shape (splits,)
        Accuracy of classes, ``R^2`` of numbers, on the rows that a split left out.
    seconds : float
        Mean time to make the codes of a split, without the learner.
    n_tested : int, default=0
        Number of distinct test rows over all splits, for classes; 0 for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.evaluation import HeadScore
    >>> score = HeadScore("PCA", "smooth", np.array([0.90, 0.94, 0.92]), seconds=0.1)
    >>> round(score.mean, 2), round(score.error, 3)
    (0.92, 0.016)
    """

    method: str
    head: str
    scores: np.ndarray
    seconds: float
    n_tested: int = 0

    @property
    def mean(self) -> float:
        """Mean score."""
        return float(self.scores.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean, for splits that share training rows (Nadeau and Bengio, 2003).

        At least that of counting hits among ``n_tested`` rows: equal scores of a few rows are no certainty.
        """
        return max(corrected_error(self.scores), counting_error(self.mean, self.n_tested))


@dataclass(frozen=True)
class CodeComparison:
    """What :func:`compare_codes` found.

    Parameters
    ----------
    rows : tuple of HeadScore
        By method and learner.
    measure : {"accuracy", "R^2"}
    n_components, n_columns : int
        Numbers per row in the codes, and columns of ``X`` (rows of the Gram matrix for ``kind="gram"``; before
        encoding for ``kind="mixed"``).
    verdict : str
        One or two sentences: use the codes, or do not, and why.
    sizes : Sizes
        Numbers of rows used.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.evaluation import CodeComparison, HeadScore, Sizes
    >>> rows = [HeadScore(name, "smooth", np.array([score]), 0.1) for name, score in (("PCA", 0.9), ("other", 0.7))]
    >>> found = CodeComparison(tuple(rows), "accuracy", 2, 4, "use the codes", Sizes(150, 150, 112, 112, 38, 65))
    >>> max(found.rows, key=lambda row: row.mean).method
    'PCA'
    """

    rows: tuple[HeadScore, ...]
    measure: str
    n_components: int
    n_columns: int
    verdict: str
    sizes: Sizes


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows of a comparison.

    Parameters
    ----------
    used, known : int
        Rows that took part, and those of them whose target is known.
    codes, learners, test : int
        Numbers of rows of the first split that codes are learned from, whose targets the learners see, and that are
        predicted; with groups other splits can differ.
    tested : int
        Different rows that all splits together predict.

    Examples
    --------
    >>> from rkhs.evaluation import Sizes
    >>> Sizes(used=150, known=150, codes=112, learners=112, test=38, tested=65).test
    38
    """

    used: int
    known: int
    codes: int
    learners: int
    test: int
    tested: int


@within_limit
def compare_codes(
    X: Any,
    y: Any,
    *,
    n_components: int = 10,
    kind: str = "table",
    kernel: Any = "auto",
    n_splits: int = 5,
    n_labels: int | None = None,
    groups: Any = None,
    at_most: int = 2000,
    seed: int = 0,
    progress: bool = False,
) -> CodeComparison:
    """Codes of :class:`~rkhs.KernelAutoencoder` against the raw input, PCA and kernel PCA.

    Every method makes its codes from the training rows of a split alone and without ``y``. Nearest neighbours, a
    smooth kernel regression and a random forest then learn ``y`` from them. Texts, truth values and categories of
    pandas are classes; numbers, whole ones too, are regressed. Rows without a known ``y`` help to make the codes of
    every split.

    Parameters
    ----------
    X : array of shape (n, d), or Gram matrix (n, n)
        Object array for ``kind="mixed"``: numbers, texts, and None where a cell is empty.
    y : array of shape (n,)
        Classes or numbers; NaN or None where it is not known.
    n_components : int, default=10
        Of all reductions; at most d.
    kind : {"table", "mixed", "fingerprints", "series", "gram"}, default="table"
        The columns of a table are standardised by the training rows, for all methods alike; series and
        fingerprints (0/1 columns) are not. Those of a mixed table become numbers as
        :class:`~rkhs.features.FilledTable` makes them. The raw input of a Gram matrix is all its kernel principal
        components.
    kernel : str or Kernel, default="auto"
        Of both kernel methods. ``"auto"``: the defaults of the estimators; Tanimoto for fingerprints.
    n_splits : int, default=5
        Random splits, a quarter of the rows held out.
    n_labels : int, optional
        Rows of a split whose ``y`` the learners see, with the class shares of all rows; None: of all training rows.
        Codes are made from all of them in any case.
    groups : array of shape (n,), optional
        Labels of rows that belong together, such as the measurements of one person: they are on one side of a split.
        None: copies, that is rows that the standardised columns or the Gram matrix cannot distinguish and whose targets
        are equal; a warning is given where rows look like repeats of measurements.
    at_most : int, default=2000
        Largest number of rows. Of more, a random part is used, rows with known ``y`` first, because kernel regression
        takes cubic time.
    seed : int, default=0
    progress : bool, default=False
        Show on standard error what is done, and the time left.

    Returns
    -------
    CodeComparison

    Raises
    ------
    InputError
        For too few rows, targets that are all equal, and shapes that do not fit.

    Notes
    -----
    Two standard errors of the paired differences separate better, level and worse. The error is corrected for
    splits that share training rows. For classes it is at least ``sqrt(d + 1) / n``, where ``n`` rows are tested and
    ``d`` is the absolute difference of the numbers of hits: a lower bound of the standard error by McNemar, which
    counts all rows on which the methods disagree.

    References
    ----------
    Nadeau and Bengio (2003), "Inference for the generalization error", equation 9. Agresti and Coull (1998),
    "Approximate is better than exact for interval estimation of binomial proportions".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs.evaluation import compare_codes
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare_codes(X[::5], y[::5].astype(str), n_components=2, n_splits=2)
    >>> sorted({row.head for row in found.rows}), bool(max(row.mean for row in found.rows) > 0.8)
    (['forest', 'neighbours', 'smooth'], True)
    """
    check_choice(kind, "kind", ("table", "mixed", "fingerprints", "series", "gram"))
    count, n_splits = check_count(n_components, "n_components"), check_count(n_splits, "n_splits", at_least=2)
    labels = None if groups is None else read_values(groups, "groups")
    if labels is not None and labels.shape != (len(y),):
        raise InputError(f"groups must have shape {(len(y),)}, one label per row of X; got {labels.shape}")
    most = check_count(at_most, "at_most", at_least=_MIN_KNOWN)
    items, targets, known, classes, chosen = _read(X, y, kind, most, seed)
    if kind != "gram" and count > items.shape[1]:
        raise InputError(f"n_components must be at most {items.shape[1]}, the columns of X; got {count}")
    group_ids = _copies(items, targets, known, kind) if labels is None else labels[chosen][known]
    splits = list(_splits(targets, known, group_ids, classes, n_splits, n_labels, seed))
    no_target = np.setdiff1d(np.arange(len(items)), known)
    scores: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    begun, done = time.perf_counter(), 0
    for number, (unlabelled, labelled, test) in enumerate(splits, 1):
        inside, outside = _parts(items, np.concatenate([no_target, unlabelled, labelled]), test, kind)
        methods = _methods(kind, kernel, inside, count, seed)
        for name, model in methods.items():
            start = time.perf_counter()
            if progress:
                show(f"split {number} of {n_splits}: {name}", start - begun, done / (n_splits * len(methods)))
            done += 1
            with unwarned():  # a warning of one fit of five splits is no news
                model.fit(inside)
                codes, new = model.transform(inside[-len(labelled) :]), model.transform(outside)
            seconds[name].append(time.perf_counter() - start)
            for head, learner in _heads(classes, len(labelled), seed).items():
                with filtering_warnings("ignore", ConvergenceWarning):
                    score = learner.fit(codes, targets[labelled]).score(new, targets[test])
                scores[name, head].append(float(score))
    if progress:
        hide()
    sizes = _sizes(splits, len(items), len(known))
    measure, tested = ("accuracy", sizes.tested) if classes else ("R^2", 0)
    rows = tuple(
        HeadScore(name, head, np.array(found), float(np.mean(seconds[name])), tested)
        for (name, head), found in scores.items()
    )
    columns = items.shape[1]
    return CodeComparison(rows, measure, count, columns, _verdict(rows, measure, count, columns), sizes)


def _splits(
    targets: np.ndarray,
    known: np.ndarray,
    group_ids: np.ndarray,
    classes: bool,
    n_splits: int,
    n_labels: int | None,
    seed: int,
) -> Iterator[Split]:
    """Rows of each split: training rows without labels, with labels, and test rows; groups stay on one side."""
    most = len(known) if n_labels is None else check_count(n_labels, "n_labels", at_least=2)
    cut = (StratifiedShuffleSplit if classes else ShuffleSplit)(n_splits, test_size=_TEST, random_state=seed)
    _, first, place = np.unique(group_ids, return_index=True, return_inverse=True)
    try:
        drawn = cut.split(first, targets[known][first])
        pairs = [
            tuple(known[np.concatenate([np.flatnonzero(place == i) for i in part])] for part in two) for two in drawn
        ]
    except ValueError as error:
        raise InputError(
            "the rows cannot be split into training and test rows; with classes each needs at least two rows (or "
            f"groups): {error}"
        ) from None
    for number, (train, test) in enumerate(pairs):
        labelled = train
        if most < len(train):
            shares = targets[train] if classes else None
            labelled = resample(train, replace=False, n_samples=most, stratify=shares, random_state=seed + number)
        yield np.setdiff1d(train, labelled), labelled, test


def _copies(items: Rows, targets: np.ndarray, known: np.ndarray, kind: str) -> np.ndarray:
    """Group of each row with a known target: copies are one group."""
    if kind == "gram":
        K = items[np.ix_(known, known)]
    else:
        rows = FilledTable().fit_transform(items[known]) if kind == "mixed" else items[known]
        rows = StandardScaler().fit_transform(rows) if kind in ("table", "mixed") else rows - rows.mean(0)
        K = rows @ rows.T
    gram, values = torch.from_numpy(np.ascontiguousarray(K)), torch.from_numpy(targets[known].astype(np.float64))
    numbers = copies([gram], values[:, None])
    warn_of_repeats(gram, values[:, None], numbers)
    return numbers


def _sizes(splits: Sequence[Split], used: int, known: int) -> Sizes:
    unlabelled, labelled, test = map(len, splits[0])
    tested = len(np.unique(np.concatenate([test for _, _, test in splits])))
    return Sizes(used, known, used - known + unlabelled + labelled, labelled, test, tested)


def counting_error(share: float, n: int) -> float:
    """Standard error of a share of hits among n rows, with two hits and two misses added (Agresti and Coull, 1998)."""
    if n == 0:
        return 0.0
    p = (share * n + 2.0) / (n + 4.0)
    return float(np.sqrt(p * (1.0 - p) / (n + 4.0)))


def _difference_error(differences: np.ndarray, n: int) -> float:
    """Standard error of a difference of scores; for accuracies that differ by d hits at least ``sqrt(d + 1) / n``."""
    counted = 0.0 if n == 0 else float(np.sqrt(abs(differences.mean()) * n + 1.0)) / n
    return max(corrected_error(differences), counted)


def corrected_error(differences: np.ndarray) -> float:
    """Standard error of a mean over random splits, which share training rows: variance times ``1/J + test/train``."""
    if len(differences) < 2:
        return float("inf")
    return float(differences.std(ddof=1)) * math.sqrt(1.0 / len(differences) + _TEST / (1.0 - _TEST))


def _read(X: Any, y: Any, kind: str, at_most: int, seed: int) -> tuple[Rows, np.ndarray, np.ndarray, bool, np.ndarray]:
    """Items, targets, indices of rows with a known target, whether targets are classes, and indices of rows used."""
    import pandas

    items = _items(X, kind)
    values = read_target(as_numpy(y, "y"), len(items), "y")
    known, classes = np.flatnonzero(pandas.notna(values)), is_class(values)
    if len(known) < _MIN_KNOWN:
        raise InputError(f"y must be known in at least {_MIN_KNOWN} rows; got {len(known)} of {len(items)}")
    different, places = np.unique(values[known], return_inverse=True)
    if len(different) < 2:
        raise InputError(f"y must have at least two different values; got {different[0]!r} only")
    targets = np.zeros(len(items), dtype=int if classes else np.float64)
    targets[known] = places if classes else values[known]
    chosen = np.arange(len(items))
    if len(items) > at_most:
        draw = np.random.default_rng(seed)
        first = known if len(known) <= at_most else draw.choice(known, at_most, replace=False)
        others = np.setdiff1d(np.arange(len(items)), known)
        rest = draw.choice(others, min(at_most - len(first), len(others)), replace=False)
        chosen = np.sort(np.concatenate([first, rest]))
        items = items[np.ix_(chosen, chosen)] if kind == "gram" else items[chosen]
        targets, known = targets[chosen], np.flatnonzero(np.isin(chosen, first))
    return items, targets, known, classes, chosen


def _items(X: Any, kind: str) -> Rows:
    """Rows or a Gram matrix of finite numbers; rows of a mixed table as they are."""
    items = np.asarray(X, dtype=object) if kind == "mixed" else np.asarray(as_numpy(X), dtype=np.float64)
    if items.ndim != 2:
        raise InputError(f"X must have shape (n, d); got {items.shape}")
    if kind == "gram" and items.shape[0] != items.shape[1]:
        raise InputError(f"X must be a square Gram matrix for kind='gram'; got shape {items.shape}")
    if kind != "mixed" and not np.isfinite(items).all():
        raise InputError("X must be finite; got NaN or infinity. Fill gaps first, or use kind='mixed'")
    return items


def _parts(items: Rows, train: np.ndarray, test: np.ndarray, kind: str) -> tuple[Rows, Rows]:
    if kind == "gram":
        return items[np.ix_(train, train)], items[np.ix_(test, train)]
    if kind != "table":
        return items[train], items[test]
    scaler = StandardScaler().fit(items[train])
    return scaler.transform(items[train]), scaler.transform(items[test])


def _methods(kind: str, kernel: Any, train: Rows, p: int, seed: int) -> dict[str, Any]:
    """Transformers to compare by name, each with p components."""
    asked = not (isinstance(kernel, str) and kernel == "auto")
    chosen: Any = kernel if asked else _KERNELS.get(kind, "auto")
    pca_kernel: Any = "gaussian" if isinstance(chosen, str) and chosen == "auto" else chosen
    same: Literal["same"] | None = "same" if kind == "fingerprints" else None
    columns: Columns = "filled" if kind == "mixed" and as_kernel(pca_kernel).domain == "vectors" else "raw"
    raws: dict[str, Any] = {"mixed": FilledTable(), "gram": KernelPCA(None, kernel="precomputed")}
    raw = raws.get(kind, FunctionTransformer())
    found = {
        RAW: raw,
        "kernel PCA": KernelPCA(p, kernel=pca_kernel, columns=columns),
        OURS: KernelAutoencoder(p, kernel=chosen, output_kernel=same, columns=columns, random_state=seed),
    }
    if kind != "gram":
        numbers = raw.fit(train).transform(train)
        found["PCA"] = make_pipeline(raw, PCA(min(p, *numbers.shape), random_state=seed))
    return found


def _heads(classes: bool, n: int, seed: int) -> dict[str, Any]:
    return {
        "neighbours": (KNeighborsClassifier if classes else KNeighborsRegressor)(min(_NEIGHBORS, n)),
        "smooth": SmoothClassifier() if classes else SmoothRegressor(),
        "forest": (RandomForestClassifier if classes else RandomForestRegressor)(_TREES, random_state=seed),
    }


def _outcomes(rows: Sequence[HeadScore], rival: str) -> tuple[dict[str, list[str]], float]:
    """Learners for which the codes are better, level or worse, and the smallest detectable difference."""
    by = {(row.method, row.head): row for row in rows}
    found: dict[str, list[str]] = {"better": [], "level": [], "worse": []}
    limits = []
    for head in [row.head for row in rows if row.method == rival]:
        mine = by[OURS, head]
        difference = mine.scores - by[rival, head].scores
        limits.append(_SIGNIFICANT * _difference_error(difference, mine.n_tested))
        mean = difference.mean()
        found["level" if abs(mean) <= limits[-1] else "better" if mean > 0.0 else "worse"].append(head)
    return found, max(limits, default=0.0)


def _verdict(rows: Sequence[HeadScore], measure: str, p: int, columns: int) -> str:
    tried = {row.method for row in rows}
    sentences = _against_raw(rows, measure, p, columns)
    for simpler in ("PCA", "kernel PCA"):
        if simpler in tried and not _outcomes(rows, simpler)[0]["better"]:
            return f"{sentences}. The codes are not significantly better than {simpler}, which is simpler."
    return f"{sentences}."


def _against_raw(rows: Sequence[HeadScore], measure: str, p: int, columns: int) -> str:
    """Whether learners do better with codes or with the raw input."""
    against, limit = _outcomes(rows, RAW)
    better, level, worse = against.values()
    ours, raw = (max(row.mean for row in rows if row.method == name) for name in (OURS, RAW))
    figures = f"best {measure} {ours:.3f} with {p} components, {raw:.3f} with the raw input of {columns} columns"
    if worse and not better and (not level or ours < raw):
        return f"Do not use the codes to predict this: the raw input is better with {_listed(worse)} ({figures})"
    if worse:
        return f"Use the codes with {_listed(better + level)}, not with {_listed(worse)} ({figures})"
    if better:
        return f"Use the codes: they are better than the raw input with {_listed(better)} ({figures})"
    return (
        f"The codes are as good as the raw input within the error ({figures}; differences below {limit:.2g} "
        "could not be detected)"
    )


def _listed(names: Sequence[str]) -> str:
    words = {"neighbours": "nearest neighbours", "smooth": "a smooth learner", "forest": "a random forest"}
    sentences = [word for name, word in words.items() if name in names]
    return sentences[0] if len(sentences) == 1 else f"{', '.join(sentences[:-1])} and {sentences[-1]}"
