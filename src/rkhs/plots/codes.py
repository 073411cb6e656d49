"""Codes in one, two or three dimensions, training and new items next to each other, with pictures of items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError, optional
from rkhs.kernels.objects.molecules import one_molecule
from rkhs.plots.display import COLORS, Display, colour_ends, matrix, name_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rkhs.estimators.base import KernelEstimator


# With eight markers the pairs only repeat after 40 classes, and neighbours in the legend differ in shape as well as in
# colour: the map can be read in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_MAX_CLASSES = 20
_MISSING = "#BBBBBB"  # where a number or a label is missing
_REACH, _FEW_FAR = 1.0, 3  # 5-95 % ranges, of the wider axis, outside that range; outliers, or else 1 % of the rows
_SHAPE = (4 / 3, 3.0)  # least and greatest width of a map over its height, where outliers are moved


class CodeMapDisplay(Display):
    """Codes of one to three components: histograms (or values against codes), a scatter plot, or a 3-d scatter plot.

    In the plane, where no new items are given, up to three rows (or 1 %) far outside are drawn at the edge in a ring,
    named "(outside)" unless thumbnails are shown.

    Parameters
    ----------
    codes : array of shape (n, p)
        With p from 1 to 3.
    values : array of shape (n,), default=None
        Numbers shown by colour.
    labels : array of shape (n,), default=None
        Classes, at most 20, shown by marker and colour; rows of an empty label, None or NaN are grey. With ``values``
        classes are shown by marker alone in two dimensions, and not at all in one or three.
    new_codes : array of shape (m, p), default=None
        Codes of new items, drawn as open diamonds.
    thumbnails : sequence of n images or SMILES, default=None
        Images are arrays (h, w) or (h, w, 3). SMILES are drawn by RDKit. Two dimensions only.
    n_thumbnails : int, default=25
        How many are shown: those of items that lie far from each other.
    value_name, title : str, default=None
    names : sequence of n str, default=None
        Of the items: those that lie far from each other are labelled. Two dimensions only, without thumbnails. Class
        names are written at the medians of at most ten classes, or at the nearest row of the class that is free.

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

    axis_names: Sequence[str] = ("code 1", "code 2", "code 3")

    def __init__(
        self,
        codes: Any,
        *,
        values: Any = None,
        labels: Any = None,
        new_codes: Any = None,
        thumbnails: Sequence[Any] | None = None,
        n_thumbnails: int = 25,
        value_name: str | None = None,
        title: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.codes: np.ndarray = matrix(codes, "codes")
        n, p = self.codes.shape
        if p > 3:
            raise InputError(
                f"codes must have one to three columns to be drawn; got {p}. Pass codes[:, :2], or components= to "
                "from_estimator"
            )
        self.values: np.ndarray | None = None if values is None else check_values(values, n)
        self.labels: np.ndarray | None = None if labels is None else check_labels(labels, n)
        self.new_codes: np.ndarray | None = None if new_codes is None else matrix(new_codes, "new_codes")
        if self.new_codes is not None and self.new_codes.shape[1] != p:
            raise InputError(f"new_codes must have {p} columns, as codes have; got {self.new_codes.shape[1]}")
        if thumbnails is not None and (p != 2 or len(thumbnails) != n):
            raise InputError(
                f"thumbnails must be {n}, one per code, of two components; got {len(thumbnails)} and p={p}"
            )
        self.thumbnails: Sequence[Any] | None = thumbnails
        self.names: Sequence[str] = check_names(names, n)
        self.n_thumbnails: int = check_count(n_thumbnails, "n_thumbnails")
        self.value_name: str | None = value_name
        self.title: str | None = title

    @classmethod
    def from_estimator(
        cls, model: KernelEstimator, X_new: Any = None, *, components: Sequence[int] | None = None, **options: Any
    ) -> Self:
        """Codes of the training items of a fitted model, and of new items next to them.

        Parameters
        ----------
        model : estimator with ``codes_``
            KernelPCA, KernelAutoencoder, KernelContrastive, DeepRKM.
        X_new : items, default=None
            As ``model.transform`` takes them.
        components : sequence of int, default=None
            Columns of the codes, from 0; None: the first two, or the only one.
        """
        codes = matrix(model.codes_, "model.codes_")
        columns = list(range(min(2, codes.shape[1]))) if components is None else [int(c) for c in components]
        if not columns or min(columns) < 0 or max(columns) >= codes.shape[1]:
            raise InputError(f"components must be columns from 0 to {codes.shape[1] - 1}; got {components!r}")
        new = None if X_new is None else matrix(model.transform(X_new), "model.transform(X_new)")[:, columns]
        display = cls(codes[:, columns], new_codes=new, **options)
        display.axis_names = [f"code {i + 1}" for i in columns]
        return display

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; three components need three-dimensional axes, which None makes."""
        if ax is None and self.codes.shape[1] == 3:
            ax = new_axes("3d")
        return super().plot(ax)

    def _draw(self, ax: Axes) -> None:
        {1: self._line, 2: self._plane, 3: self._space}[self.codes.shape[1]](ax)
        if self.title is not None:
            ax.set_title(self.title)

    def _plane(self, ax: Axes) -> None:
        self.places: np.ndarray
        self.far: list[int]
        self.places, self.far = within_view(self.codes) if self.new_codes is None else (self.codes, [])
        self._points(ax)
        if self.new_codes is not None:
            ax.scatter(*self.new_codes.T, **_NEW)
        if self.new_codes is not None or self.labels is not None:
            _legend(ax, self.values is not None and self.labels is not None)
        if self.far:
            x, y = self.places[self.far].T
            ax.scatter(x, y, s=110, facecolors="none", edgecolors="#444444", linewidths=1.0)
            ax.set_aspect("equal", adjustable="box")  # whose frame is that of the places, at most twice as wide as high
            low, span = self.places.min(axis=0), np.ptp(self.places, axis=0)
            pad = np.maximum(0.5 * span.max() - span, 0.0) / 2.0 + 0.06 * span.max()
            ax.set(xlim=(low[0] - pad[0], low[0] + span[0] + pad[0]), ylim=(low[1] - pad[1], low[1] + span[1] + pad[1]))
        if self.thumbnails is not None:
            self._pictures(ax, self.thumbnails)
        else:
            self._texts(ax)

    def _named_places(self) -> list[tuple[str, np.ndarray, str]]:
        """Texts with places to choose from and weights: rows outside, classes, and items that lie far apart."""
        groups = [group for group in groups_of(self.labels, len(self.codes)) if group[0]]
        centres = [(name[:_LONGEST], from_median(self.places[rows]), "bold") for name, rows in groups]
        names = brief_names(self.names or [f"row {i + 1}" for i in range(len(self.codes))])
        items = [(f"{names[i]} (outside)", self.places[[i]], "normal") for i in self.far]
        distant = spread_out(self.places, _NAMES * bool(self.names))  # those outside are written already
        spread = [(names[i], self.places[[i]], "normal") for i in distant] or self._ends(names)
        return [*items, *(centres if len(centres) <= len(COLORS) else []), *spread]

    def _ends(self, names: Sequence[str]) -> list[tuple[str, np.ndarray, str]]:
        values = np.zeros(0) if self.values is None else self.values
        rows = [int(find(values)) for find in (np.nanargmin, np.nanargmax) if values.size]
        return [(f"{names[i]}: {values[i]:,.10g}", self.places[[i]], "normal") for i in rows]

    def _texts(self, ax: Axes) -> None:
        """Names of classes and items, none over another."""
        from matplotlib.patheffects import withStroke

        placed: list[np.ndarray] = []
        low, span = self.places.min(axis=0), np.ptp(self.places, axis=0)
        for text, places, weight in self._named_places():
            reach = span.max() * np.array([max(0.16, 0.012 * len(text)), 0.045])
            free = (place for place in places if all((np.abs(place - other) > reach).any() for other in placed))
            if (place := next(free, None)) is not None:
                placed.append(place)
                shift = (0, 0) if weight == "bold" else (0, 8)
                ax.annotate(
                    text,
                    tuple(place),
                    shift,
                    textcoords="offset points",
                    zorder=4,
                    fontsize=8,
                    ha=("left", "center", "right")[int(np.digitize(place[0] - low[0], span[0] * _ENDS))],
                    va="center",
                    weight=weight,
                    path_effects=[withStroke(linewidth=2.5, foreground="white")],
                )

    def _points(self, ax: Axes) -> None:
        """Points in the plane, both axes on the same scale, with a colour bar of numbers and a legend of classes."""
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        n = len(self.codes)
        # Smaller marks as they get more: about a constant share of ink. A thin edge keeps light ones visible.
        style: dict[str, Any] = {
            "s": float(np.clip(10000 / n, 9, 36)),
            "linewidths": 0.3 if n <= 2000 else 0.0,
            "edgecolors": "#444444",
            "rasterized": n > 5000,
        }
        scale = None
        if self.values is not None:
            low, high, beyond = colour_ends(self.values)
            scale = ScalarMappable(Normalize(low, high), colormaps["viridis"].with_extremes(bad=_MISSING))
        # Few points lie over many, and values in random order, for files are sorted by them.
        order = np.arange(n) if self.values is None else np.random.RandomState(0).permutation(n)
        for name, chosen, color, marker in looks_of(self.labels, n):
            rows = order[chosen[order]]
            if scale is not None and self.values is not None:
                color = scale.to_rgba(np.ma.masked_invalid(self.values[rows]))
            x, y = self.places[rows].T
            ax.scatter(x, y, c=color, marker=marker, label=name, zorder=2.0 - len(rows) / n, **style)
        if scale is not None:
            figure: Any = ax.figure  # a Figure or a SubFigure: both draw colour bars
            bar = ax.inset_axes((1.03, 0.0, 0.04, 1.0))  # as high as the map
            figure.colorbar(scale, cax=bar, label=self.value_name or "", extend=beyond, format="{x:,.10g}")
        ax.set_aspect("equal", adjustable="datalim")
        name_axes(ax, *self.axis_names[:2], legend=False)
        ax.margins(0.05)

    def _line(self, ax: Axes) -> None:
        z = self.codes[:, 0]
        if self.values is not None:
            ax.scatter(z, self.values, s=16, color=COLORS[0], edgecolors="#444444", linewidths=0.3)
            ax.set_ylabel(self.value_name or "value")
        else:
            edges = np.histogram_bin_edges(z, bins=min(40, max(8, len(z) // 10)))
            for name, rows, color, _ in looks_of(self.labels, len(z)):
                ax.hist(z[rows], edges.tolist(), alpha=0.6, color=color, label=name)
            ax.set_ylabel("items")
        if self.new_codes is not None:
            bottom = np.full(len(self.new_codes), ax.get_ylim()[0])
            ax.scatter(self.new_codes[:, 0], bottom, clip_on=False, **_NEW)
        name_axes(ax, self.axis_names[0], legend=self.labels is not None or self.new_codes is not None)

    def _space(self, ax: Any) -> None:
        if not hasattr(ax, "set_zlabel"):
            raise InputError("ax must be three-dimensional for three components: subplot_kw={'projection': '3d'}")
        low, high, beyond = colour_ends(np.zeros(0) if self.values is None else self.values)
        for name, rows, color, marker in looks_of(self.labels, len(self.codes)):
            look: dict[str, Any] = {"color": color, "marker": marker}
            if self.values is not None:
                look = {"c": self.values[rows], "vmin": low, "vmax": high}
            points = ax.scatter(*self.codes[rows].T, s=14, label=name, **look)
        if self.values is not None:
            ax.figure.colorbar(points, ax=ax, label=self.value_name or "", extend=beyond, shrink=0.7, pad=0.1)
        if self.new_codes is not None:
            ax.scatter(*self.new_codes.T, **_NEW)
        if self.labels is not None or self.new_codes is not None:
            ax.legend(frameon=False, fontsize="small", loc="upper left")
        name_axes(ax, *self.axis_names[:2], legend=False)
        ax.set_zlabel(self.axis_names[2])

    def _pictures(self, ax: Axes, thumbnails: Sequence[Any]) -> None:
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        for i in spread_out(self.places, self.n_thumbnails):
            image = picture(thumbnails[i])
            box = OffsetImage(image, zoom=26.0 / max(image.shape[:2]), cmap="gray_r")
            ax.add_artist(AnnotationBbox(box, tuple(self.places[i]), pad=0.1, bboxprops={"lw": 0.4}))
        ax.margins(0.12)


_NAMES, _LONGEST, _KEPT = 12, 22, 5  # labels, their letters, and letters that all may begin with, at most
_ENDS = np.array([0.1, 0.9])  # of the width, beyond which names begin, or end, at their rows
_NEW: dict[str, Any] = {
    "marker": "D",
    "s": 34,
    "facecolors": "none",
    "edgecolors": "#D55E00",
    "linewidths": 1.3,
    "label": "new items",
    "zorder": 3,
}


def within_view(codes: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Places (n, 2) in which a few rows far outside lie at the edge of the others, so that these fill the map."""
    low, high = np.quantile(codes, (0.05, 0.95), axis=0)
    reach = _REACH * (high - low).max()  # both axes have one scale
    far = ((codes < low - reach) | (codes > high + reach)).any(axis=1)
    if not 0 < far.sum() <= max(_FEW_FAR, len(codes) // 100) or not np.ptp(codes[~far]):
        return codes, []
    left, right = codes[~far].min(axis=0), codes[~far].max(axis=0)
    width, height = sides = 1.2 * (right - left)
    sides = np.maximum(sides, [_SHAPE[0] * height, width / _SHAPE[1]])
    middle = (left + right) / 2
    return np.clip(codes, middle - sides / 2, middle + sides / 2), np.flatnonzero(far).tolist()


def from_median(places: np.ndarray) -> np.ndarray:
    """The median of some places (m, 2), then these, the nearest to it first."""
    median = np.median(places, axis=0)
    return np.vstack([median, places[((places - median) ** 2).sum(1).argsort(kind="stable")]])


def spread_out(codes: np.ndarray, count: int) -> list[int]:
    """Rows that lie far from each other: each next one is the farthest from those chosen before."""
    scaled = codes / np.maximum(codes.std(0), 1e-300)
    distances = ((scaled - scaled.mean(0)) ** 2).sum(1)
    chosen: list[int] = []
    for _ in range(min(count, len(codes))):
        chosen.append(int(distances.argmax()))
        distances = np.minimum(distances, ((scaled - scaled[chosen[-1]]) ** 2).sum(1))
    return chosen


def brief_names(names: Sequence[str]) -> list[str]:
    """Names without what all begin with, and without the middle of long ones."""
    ends = min(map(str, names)), max(map(str, names))  # all names begin as these two do
    shared = re.sub(
        r"\w*$", "", "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(*ends, strict=False)))
    )
    rest = [str(name)[len(shared) * (len(shared) > _KEPT) :] for name in names]
    return [name if len(name) <= _LONGEST else f"{name[:9]}…{name[9 + 1 - _LONGEST :]}" for name in rest]


def picture(item: Any) -> np.ndarray:
    """An image as it is; a SMILES drawn by RDKit."""
    if isinstance(item, str):
        drawing = optional("rdkit.Chem.Draw")
        return np.asarray(drawing.MolToImage(one_molecule(item, "thumbnails"), size=(160, 160)))
    image = np.asarray(item)
    if image.ndim not in (2, 3) or image.dtype.kind not in "biuf":
        raise InputError(f"thumbnails must be images (h, w) or (h, w, 3), or SMILES; got shape {image.shape}")
    return image


def check_values(values: Any, n: int) -> np.ndarray:
    """Numbers, one per code, of which at least one is finite."""
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
    """Classes, one per code, as many as a legend can show."""
    classes = np.asarray(labels)
    if classes.shape != (n,):
        raise InputError(f"`labels` must have shape ({n},), one per code; got {classes.shape}; check their order")
    n_classes = len({str(item) for item in classes.tolist()} - {""})
    if n_classes > _MAX_CLASSES:
        raise InputError(
            f"`labels` must hold at most {_MAX_CLASSES} classes, which a legend can show; got {n_classes}; "
            "pass numbers as values=, or join rare classes"
        )
    return classes


def check_names(names: Sequence[str] | None, n: int) -> Sequence[str]:
    """Texts, one per code; none without names."""
    if names is not None and len(names) != n:
        raise InputError(f"names must be {n}, one per code; got {len(names)}; check their order")
    return names or ()


def groups_of(classes: np.ndarray | None, n: int) -> list[tuple[str, np.ndarray]]:
    """Names of the classes and their rows; last, and all without classes, those without a label, of an empty name."""
    if classes is None:
        return [("", np.ones(n, dtype=bool))]
    items = np.unique(classes) if classes.dtype.kind != "O" else sorted(set(classes.tolist()), key=str)
    bare = np.array([item is None or item != item or item == "" for item in classes.tolist()])
    groups = [*((str(item), (classes == item) & ~bare) for item in items), ("", bare)]
    return [(name, rows) for name, rows in groups if rows.any()]


def looks_of(classes: np.ndarray | None, n: int) -> Iterator[tuple[str | None, np.ndarray, Any, str]]:
    """Texts of the legend, with rows, colours and markers; grey where a label is missing."""
    for i, (name, rows) in enumerate(groups_of(classes, n)):
        known = name != "" or classes is None
        color, text = (COLORS[i % len(COLORS)], name or None) if known else (_MISSING, "no label")
        yield text, rows, color, MARKERS[i % len(MARKERS)]


def _legend(ax: Axes, grey: bool) -> None:
    legend = ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12), frameon=False, ncols=4, fontsize="small")
    handles: list[Any] = list(legend.legend_handles)  # one collection of marks a class
    for handle in handles:
        handle.set_alpha(1.0)
        handle.set_sizes([36.0])
        if grey:  # the colour shows a value there; only the shape tells the class
            handle.set_facecolor("#555555")
