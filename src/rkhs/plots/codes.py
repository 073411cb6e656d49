"""Codes of two components as a map, training and new items next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.errors import InputError
from rkhs.plots.display import COLORS, colour_ends, matrix, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rkhs.estimators.base import KernelEstimator


# With eight markers the pairs only repeat after 40 classes, and neighbours in the legend differ in shape as well as in
# colour: the map can be read in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_MISSING = "#BBBBBB"  # where a number or a label is missing
_LEGEND_CLASSES = 20
_MAX_NAMES = 12  # names of rows that are written
_MAX_LETTERS = 22  # of a name
_MAX_FAR = 3  # rows drawn at the edge, or else 1 % of all
_NEW: dict[str, Any] = {
    "marker": "D",
    "s": 34,
    "facecolors": "none",
    "edgecolors": "#D55E00",
    "linewidths": 1.3,
    "label": "new items",
    "zorder": 3,
}


class CodeMapDisplay:
    """Codes of two components as a scatter plot, with the same scale on both axes.

    Where no new items are given, up to three rows (or 1 %) far outside are drawn at the edge in a ring, named
    "(outside)".

    Parameters
    ----------
    codes : array of shape (n, 2)
    values : array of shape (n,), default=None
        Numbers shown by colour.
    labels : array of shape (n,), default=None
        Classes, at most 20, shown by marker and colour, in place of ``values``; rows of an empty label, None or NaN are
        grey.
    new_codes : array of shape (m, 2), default=None
        Codes of new items, drawn as open diamonds.
    value_name, title : str, default=None
    names : sequence of n str, default=None
        Of the items: those that lie far from each other are labelled. Class names are written at the medians of at
        most ten classes. No name is written over another.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        What was drawn on last.
    figure_ : matplotlib.figure.Figure

    Notes
    -----
    Colours of classes: M. Okabe, K. Ito, Color Universal Design (2008); P. Tol, Colour Schemes (2021).

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.plots import CodeMapDisplay
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> display = CodeMapDisplay.from_estimator(KernelPCA(3).fit(X), labels=y, components=(0, 2))
    >>> display.codes.shape
    (150, 2)
    """

    axis_names: Sequence[str] = ("code 1", "code 2")

    def __init__(
        self,
        codes: Any,
        *,
        values: Any = None,
        labels: Any = None,
        new_codes: Any = None,
        value_name: str | None = None,
        title: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if values is not None and labels is not None:
            raise InputError("values and labels both choose the colours; leave one of them out")
        self.codes: np.ndarray = check_plane(codes, "codes")
        n = len(self.codes)
        self.values: np.ndarray | None = None if values is None else check_values(values, n)
        self.labels: np.ndarray | None = None if labels is None else check_labels(labels, n)
        self.new_codes: np.ndarray | None = None if new_codes is None else check_plane(new_codes, "new_codes")
        self.names: Sequence[str] = check_names(names, n)
        self.value_name: str = value_name or ""
        self.title: str = title or ""

    @classmethod
    def from_estimator(
        cls, model: KernelEstimator, X_new: Any = None, *, components: Sequence[int] = (0, 1), **options: Any
    ) -> Self:
        """Codes of the training items of a fitted model, and of new items next to them.

        Parameters
        ----------
        model : estimator with ``codes_``
            KernelPCA, KernelAutoencoder, KernelContrastive, DeepRKM.
        X_new : items, default=None
            As ``model.transform`` takes them.
        components : two int, default=(0, 1)
            Columns of the codes, from 0.
        """
        codes = matrix(model.codes_, "model.codes_")
        columns = [int(c) for c in components]
        if len(columns) != 2 or min(columns) < 0 or max(columns) >= codes.shape[1]:
            raise InputError(f"components must be two columns from 0 to {codes.shape[1] - 1}; got {components!r}")
        if X_new is not None:
            options["new_codes"] = matrix(model.transform(X_new), "model.transform(X_new)")[:, columns]
        display = cls(codes[:, columns], **options)
        display.axis_names = [f"code {i + 1}" for i in columns]
        return display

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on axes, those of a new figure by default, which are kept as ``ax_`` and ``figure_``.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        if ax is None:
            ax = pyplot().subplots(figsize=(6.4, 5.2), layout="constrained")[1]
        self.ax_: Axes = ax
        self.figure_: Any = ax.get_figure(root=True)
        self.places: np.ndarray = self.codes
        self.far: list[int] = []
        if self.new_codes is None:
            self.places, self.far = within_view(self.codes)
        if self.values is None:
            self._draw_classes(ax)
        else:
            self._draw_values(ax, self.values)
        if self.new_codes is not None:
            ax.scatter(*self.new_codes.T, **_NEW)
        if self.new_codes is not None or self.labels is not None:
            ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12), frameon=False, ncols=4, fontsize="small")
        ax.set_aspect("equal", adjustable="datalim")
        if self.far:
            x, y = self.places[self.far].T
            ax.scatter(x, y, s=110, facecolors="none", edgecolors="#444444", linewidths=1.0)
            ax.set_aspect("equal", adjustable="box")  # the frame is that of the places
        ax.margins(0.08)
        ax.set(title=self.title, xlabel=self.axis_names[0], ylabel=self.axis_names[1])
        self._write_names(ax)
        return self

    def _style(self) -> dict[str, Any]:
        """Marks that are smaller the more they are, with a thin edge that keeps light ones visible."""
        n = len(self.codes)
        size = float(np.clip(10000 / n, 9, 36))  # about a constant share of ink
        return {"s": size, "linewidths": size / 120, "edgecolors": "#444444", "rasterized": n > 5000}

    def _draw_classes(self, ax: Axes) -> None:
        n = len(self.codes)
        for i, (name, rows) in enumerate(class_rows(self.labels, n)):
            color, text = COLORS[i % len(COLORS)], name
            if self.labels is not None and not name:
                color, text = _MISSING, "no label"
            above = 2.0 - rows.sum() / n  # few points lie over many
            x, y = self.places[rows].T
            marker = MARKERS[i % len(MARKERS)]
            ax.scatter(x, y, c=color, marker=marker, label=text or None, zorder=above, **self._style())

    def _draw_values(self, ax: Axes, values: np.ndarray) -> None:
        from matplotlib import colormaps

        low, high, beyond = colour_ends(values)
        order = np.random.default_rng(0).permutation(len(values))  # files are sorted by their values
        colors = colormaps["viridis"].with_extremes(bad=_MISSING)
        x, y = self.places[order].T
        numbers = np.ma.masked_invalid(values[order])
        points = ax.scatter(x, y, c=numbers, cmap=colors, vmin=low, vmax=high, plotnonfinite=True, **self._style())
        bar = ax.inset_axes((1.03, 0.0, 0.04, 1.0))  # as high as the map
        figure: Any = ax.figure  # a Figure or a SubFigure: both draw colour bars
        figure.colorbar(points, cax=bar, label=self.value_name, extend=beyond, format="{x:,.10g}")

    def _named_places(self) -> list[tuple[str, np.ndarray]]:
        """Names with their places: rows outside, classes, and items that lie far apart."""
        names = self.names or [f"row {i + 1}" for i in range(len(self.codes))]
        found = [(f"{names[i][:_MAX_LETTERS]} (outside)", self.places[i]) for i in self.far]
        classes = [(name, rows) for name, rows in class_rows(self.labels, len(self.codes)) if name]
        if len(classes) <= len(COLORS):
            found += [(name[:_MAX_LETTERS], np.median(self.places[rows], axis=0)) for name, rows in classes]
        if self.names:
            found += [(names[i][:_MAX_LETTERS], self.places[i]) for i in spread_out(self.places, _MAX_NAMES)]
        return found

    def _write_names(self, ax: Axes) -> None:
        from matplotlib.patheffects import withStroke

        reach = np.ptp(self.places, axis=0).max() * np.array([0.16, 0.045])
        placed: list[np.ndarray] = []
        for text, place in self._named_places():
            if any((np.abs(place - other) <= reach).all() for other in placed):
                continue
            placed.append(place)
            label = ax.annotate(
                text, tuple(place), (0, 8), textcoords="offset points", fontsize=8, ha="center", zorder=4
            )
            label.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def within_view(codes: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Places (n, 2) in which a few rows far outside lie at the edge of the others, so that these fill the map."""
    # Far outside are those beyond the 5-95 % range of an axis by more than the wider of the two ranges.
    low, high = np.quantile(codes, (0.05, 0.95), axis=0)
    reach = (high - low).max()  # both axes have one scale
    far = ((codes < low - reach) | (codes > high + reach)).any(axis=1)
    if not 0 < far.sum() <= max(_MAX_FAR, len(codes) // 100) or not np.ptp(codes[~far]):
        return codes, []
    left, right = codes[~far].min(axis=0), codes[~far].max(axis=0)
    sides = np.maximum(1.2 * (right - left), 0.5 * (right - left).max())
    middle = (left + right) / 2
    return np.clip(codes, middle - sides / 2, middle + sides / 2), np.flatnonzero(far).tolist()


def spread_out(codes: np.ndarray, count: int) -> list[int]:
    """Choose rows that lie far from each other: each next one is the farthest from those chosen before."""
    scaled = codes / np.maximum(codes.std(0), 1e-300)
    distances = ((scaled - scaled.mean(0)) ** 2).sum(1)
    chosen: list[int] = []
    for _ in range(min(count, len(codes))):
        chosen.append(int(distances.argmax()))
        distances = np.minimum(distances, ((scaled - scaled[chosen[-1]]) ** 2).sum(1))
    return chosen


def check_plane(codes: Any, name: str) -> np.ndarray:
    """Read codes of two components."""
    found = matrix(codes, name)
    if found.shape[1] != 2:
        raise InputError(
            f"{name} must have two columns to be drawn; got {found.shape[1]}. Pass codes[:, :2], or components= to "
            "from_estimator"
        )
    return found


def check_values(values: Any, n: int) -> np.ndarray:
    """Read numbers, one per code, of which at least one is finite."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"`values` must be numbers; got others ({error}); pass classes as labels=") from error
    if numbers.shape != (n,):
        raise InputError(f"`values` must have shape ({n},), one per code; got {numbers.shape}; check their order")
    if not np.isfinite(numbers).any():
        raise InputError("`values` must hold a finite number; got none; leave them out")
    return numbers


def check_labels(labels: Any, n: int) -> np.ndarray:
    """Read classes, one per code, as many as a legend can show."""
    classes = np.asarray(labels)
    if classes.shape != (n,):
        raise InputError(f"`labels` must have shape ({n},), one per code; got {classes.shape}; check their order")
    n_classes = len({str(item) for item in classes.tolist()} - {""})
    if n_classes > _LEGEND_CLASSES:
        raise InputError(
            f"`labels` must hold at most {_LEGEND_CLASSES} classes, which a legend can show; got {n_classes}; "
            "pass numbers as values=, or join rare classes"
        )
    return classes


def check_names(names: Sequence[str] | None, n: int) -> Sequence[str]:
    """Read texts, one per code; none without names."""
    if names is not None and len(names) != n:
        raise InputError(f"names must be {n}, one per code; got {len(names)}; check their order")
    return [str(name) for name in names or ()]


def class_rows(classes: np.ndarray | None, n: int) -> list[tuple[str, np.ndarray]]:
    """Find the rows of each class; last, and all without classes, those without a label, of an empty name."""
    if classes is None:
        return [("", np.ones(n, dtype=bool))]
    bare = np.array([item is None or item != item or item == "" for item in classes.tolist()])
    different = set(classes[~bare].tolist())
    numbers = all(isinstance(item, (int, float)) for item in different)
    items = sorted(different) if numbers else sorted(different, key=str)
    groups = [*((str(item), (classes == item) & ~bare) for item in items), ("", bare)]
    return [(name, rows) for name, rows in groups if rows.any()]
