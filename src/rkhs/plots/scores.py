"""Outlier scores of rows, and what codes hold of each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError
from rkhs.plots.display import COLORS, Display, matrix, name_axes, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OutlierDisplay(Display):
    """Outlier scores of the items, with the threshold of 1.

    Parameters
    ----------
    scores : array of shape (n,)
        ``RobustFit.outlier_score``.
    inliers : array of shape (n,), bool
    limits : (float, float), default=None
        Scores below and above which an item stands apart, drawn as dotted lines.

    Examples
    --------
    >>> from rkhs.plots import OutlierDisplay
    >>> display = OutlierDisplay([0.2, 0.4, 7.0], [True, True, False])
    >>> display.plot().ax_.get_xlabel(), display.inliers
    ('item', array([ True,  True, False]))
    """

    def __init__(self, scores: Any, inliers: Any, limits: tuple[float, float] | None = None) -> None:
        self.limits = limits
        self.scores: np.ndarray = vector(scores, "scores")
        self.inliers: np.ndarray = np.asarray(inliers, dtype=bool)
        if self.inliers.shape != self.scores.shape:
            raise InputError(f"inliers must have shape {self.scores.shape}, one per score; got {self.inliers.shape}")

    @classmethod
    def from_robust_fit(cls, fit: Any) -> Self:
        """Build it from what :func:`rkhs.fit_robust` returned."""
        return cls(fit.outlier_score, fit.inliers, fit.limits)

    def _draw(self, ax: Axes) -> None:
        rows = np.arange(len(self.scores))
        for name, chosen, color, marker in (
            ("in the fit", self.inliers, COLORS[0], "o"),
            ("left out", ~self.inliers, COLORS[1], "^"),
        ):
            if chosen.any():
                label = f"{name}: {int(chosen.sum())}"
                ax.scatter(rows[chosen], self.scores[chosen], s=14, color=color, marker=marker, label=label)
        ax.axhline(1.0, color="#444444", linestyle="--", linewidth=0.8)
        for limit in self.limits or ():
            if 0.0 < limit < 1.0:
                ax.axhline(limit, color="#444444", linestyle=":", linewidth=0.8)
        name_axes(ax, "item", "outlier score")


class LoadingsDisplay(Display):
    """What codes keep of each column, and how they move with it.

    Parameters
    ----------
    found : Loadings
        What :func:`rkhs.evaluation.loadings` gave.
    names : sequence of str, default=None
        Of the columns; None: their numbers, from 0.
    n_columns : int, default=20
        How many are shown: those of which most is recovered.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> from rkhs.evaluation import loadings
    >>> from rkhs.plots import LoadingsDisplay
    >>> iris = load_iris()
    >>> display = LoadingsDisplay(loadings(KernelPCA(2).fit(iris.data), iris.data), iris.feature_names)
    >>> [label.get_text() for label in display.plot().ax_.get_yticklabels()][:2]
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(self, found: Any, names: Sequence[str] | None = None, *, n_columns: int = 20) -> None:
        self.recovered: np.ndarray = vector(found.recovered, "recovered")
        self.slopes: np.ndarray = matrix(found.slopes, "slopes")
        d = len(self.recovered)
        self.names: list[str] = list(map(str, range(d))) if names is None else list(map(str, names))
        if not d == self.slopes.shape[1] == len(self.names):
            raise InputError(f"names must be {d}, one per column; got {len(self.names)}")
        self.order: np.ndarray = self.recovered.argsort(kind="stable")[::-1][: check_count(n_columns, "n_columns")]

    def _draw(self, ax: Axes) -> None:
        places, total = np.arange(len(self.order)), self.slopes.sum(0)
        ax.barh(places - 0.2, self.recovered[self.order], 0.38, color=COLORS[0], label="recovered share")
        ax.barh(places + 0.2, (total / total.max())[self.order], 0.38, color=COLORS[1], label="slopes, largest 1")
        ax.set_yticks(places, [self.names[j] for j in self.order])
        ax.set_xlim(min(0.0, float(self.recovered[self.order].min())), 1.0)
        ax.invert_yaxis()
        name_axes(ax, "share of the variance of a column that the codes explain")
