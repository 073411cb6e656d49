"""Codes in one, two or three dimensions, training and new items beside each other, with pictures of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError, optional
from rkhs.kernels.objects.molecules import one_molecule
from rkhs.plots.display import Display, colour_ends, matrix, name_axes, new_axes
from rkhs.plots.maps import COLORS, MARKERS, check_labels, check_values, draw_plane, groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rkhs.estimators.base import KernelEstimator


class CodeMapDisplay(Display):
    """Codes as points: a line for one component, a plane for two, a space for three.

    Parameters
    ----------
    codes : array of shape (n, p)
        With p from 1 to 3.
    values : array of shape (n,), default=None
        Numbers shown by colour.
    labels : array of shape (n,), default=None
        Classes, at most 20, shown by marker and colour.
    new_codes : array of shape (m, p), default=None
        Codes of new items, drawn as open diamonds.
    thumbnails : sequence of n images or SMILES, default=None
        Images are arrays (h, w) or (h, w, 3). SMILES are drawn by RDKit. Two dimensions only.
    n_thumbnails : int, default=25
        How many are shown: those of items that lie far from each other.
    value_name, title : str, default=None

    See Also
    --------
    code_map : the function behind the plane.

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
    ) -> None:
        self.codes = matrix(codes, "codes")
        n, p = self.codes.shape
        if p > 3:
            raise InputError(f"codes must have one to three columns to be drawn; got {p}. Choose some by components=")
        self.values = None if values is None else check_values(values, n)
        self.labels = None if labels is None else check_labels(labels, n)
        self.new_codes = None if new_codes is None else matrix(new_codes, "new_codes")
        if self.new_codes is not None and self.new_codes.shape[1] != p:
            raise InputError(f"new_codes must have {p} columns, as codes have; got {self.new_codes.shape[1]}")
        if thumbnails is not None and (p != 2 or len(thumbnails) != n):
            raise InputError(f"thumbnails must be {n}, one a code, of two components; got {len(thumbnails)} and p={p}")
        self.thumbnails = thumbnails
        self.n_thumbnails = check_count(n_thumbnails, "n_thumbnails")
        self.value_name, self.title = value_name, title

    @classmethod
    def from_estimator(
        cls, model: KernelEstimator, X_new: Any = None, *, components: Sequence[int] | None = None, **options: Any
    ) -> Self:
        """Codes of the training items of a fitted model, and of new items beside them.

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
        return cls(codes[:, columns], new_codes=new, **options)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; three components need three-dimensional axes, which None makes."""
        if ax is None and self.codes.shape[1] == 3:
            ax = new_axes("3d")
        return super().plot(ax)

    def _draw(self, ax: Axes) -> None:
        drawn = {1: self._line, 2: self._plane, 3: self._space}[self.codes.shape[1]]
        drawn(ax)
        if self.title is not None:
            ax.set_title(self.title)

    def _plane(self, ax: Axes) -> None:
        draw_plane(ax, self.codes, self.values, self.labels, self.value_name)
        if self.new_codes is not None:
            ax.scatter(*self.new_codes.T, **_NEW)
            _mark_new(ax)
        if self.thumbnails is not None:
            self._pictures(ax)

    def _line(self, ax: Axes) -> None:
        """One histogram a class; values are heights."""
        z = self.codes[:, 0]
        if self.values is not None:
            ax.scatter(z, self.values, s=16, color=COLORS[0], edgecolors="#444444", linewidths=0.3)
            ax.set_ylabel(self.value_name or "value")
        else:
            edges = np.histogram_bin_edges(z, bins=min(40, max(8, len(z) // 10)))
            for i, (name, rows) in enumerate(groups_of(self.labels, len(z))):
                ax.hist(z[rows], edges.tolist(), alpha=0.6, color=COLORS[i % len(COLORS)], label=name or None)
            ax.set_ylabel("items")
        if self.new_codes is not None:
            bottom = np.full(len(self.new_codes), ax.get_ylim()[0])
            ax.scatter(self.new_codes[:, 0], bottom, clip_on=False, **_NEW)
        name_axes(ax, "code 1", legend=self.labels is not None or self.new_codes is not None)

    def _space(self, ax: Any) -> None:
        if not hasattr(ax, "set_zlabel"):
            raise InputError("ax must be three-dimensional for three components: subplot_kw={'projection': '3d'}")
        low, high, beyond = colour_ends(np.zeros(0) if self.values is None else self.values)
        for i, (name, rows) in enumerate(groups_of(self.labels, len(self.codes))):
            look: dict[str, Any] = {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)]}
            if self.values is not None:
                look = {"c": self.values[rows], "vmin": low, "vmax": high}
            points = ax.scatter(*self.codes[rows].T, s=14, label=name or None, **look)
        if self.values is not None:
            ax.figure.colorbar(points, ax=ax, label=self.value_name or "", extend=beyond, shrink=0.7, pad=0.1)
        if self.new_codes is not None:
            ax.scatter(*self.new_codes.T, **_NEW)
        if self.labels is not None or self.new_codes is not None:
            ax.legend(frameon=False, fontsize="small", loc="upper left")
        name_axes(ax, "code 1", "code 2", legend=False)
        ax.set_zlabel("code 3")

    def _pictures(self, ax: Axes) -> None:
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        assert self.thumbnails is not None
        for i in spread_out(self.codes, self.n_thumbnails):
            image = picture(self.thumbnails[i])
            zoom = 26.0 / max(image.shape[:2])
            box = OffsetImage(image, zoom=zoom, cmap="gray_r")
            ax.add_artist(AnnotationBbox(box, tuple(self.codes[i]), pad=0.1, bboxprops={"lw": 0.4}))
        ax.margins(0.12)


def code_map(
    codes: Any,
    values: Any = None,
    labels: Any = None,
    ax: Axes | None = None,
    title: str | None = None,
    *,
    value_name: str | None = None,
) -> Axes:
    """Draw codes as points in the plane, both axes on the same scale.

    Parameters
    ----------
    codes : array-like of shape (n, 2)
        Finite coordinates.
    values : array-like of shape (n,), default=None
        Numbers shown by colour, with a colour bar; a NaN is drawn in grey.
    labels : array-like of shape (n,), default=None
        Classes, at most 20, shown by marker and named in a legend; without `values` by colour too.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.
    title : str, default=None
        Title of the axes.
    value_name : str, default=None
        What `values` are, with their unit; written beside the colour bar.

    Returns
    -------
    matplotlib.axes.Axes
        The axes that were drawn on; ``ax.figure`` is their figure.

    Raises
    ------
    InputError
        If the shapes do not fit, a code is not finite, or there are too many classes.
    MissingExtraError
        If matplotlib is not installed.

    Notes
    -----
    Colours of classes: M. Okabe, K. Ito, Color Universal Design (2008); P. Tol, Colour Schemes (2021).
    """
    points = matrix(codes, "codes")
    if points.shape[1] != 2:
        raise InputError(
            f"`codes` must have shape (n, 2); got {points.shape}; choose two columns, for example codes[:, :2]"
        )
    return CodeMapDisplay(points, values=values, labels=labels, value_name=value_name, title=title).plot(ax).ax_


_NEW: dict[str, Any] = {
    "marker": "D",
    "s": 34,
    "facecolors": "none",
    "edgecolors": "#D55E00",
    "linewidths": 1.3,
    "label": "new items",
    "zorder": 3,
}


def _mark_new(ax: Axes) -> None:
    """A legend for the new items that keeps the one of the classes."""
    first = ax.get_legend()
    handles, names = ax.get_legend_handles_labels()
    new = names.index(_NEW["label"])
    ax.legend([handles[new]], [names[new]], loc="upper right", frameon=False, fontsize="small")
    if first is not None:
        ax.add_artist(first)
        first.set_clip_on(False)  # it lies below the axes


def spread_out(codes: np.ndarray, count: int) -> list[int]:
    """Rows that lie far from each other: each next one is the farthest from those chosen before."""
    scaled = codes / np.maximum(codes.std(0), 1e-300)
    distances = ((scaled - scaled.mean(0)) ** 2).sum(1)
    chosen: list[int] = []
    for _ in range(min(count, len(codes))):
        chosen.append(int(distances.argmax()))
        distances = np.minimum(distances, ((scaled - scaled[chosen[-1]]) ** 2).sum(1))
    return chosen


def picture(item: Any) -> np.ndarray:
    """An image as it is; a SMILES drawn by RDKit."""
    if isinstance(item, str):
        drawing = optional("rdkit.Chem.Draw")
        return np.asarray(drawing.MolToImage(one_molecule(item, "thumbnails"), size=(160, 160)))
    image = np.asarray(item)
    if image.ndim not in (2, 3) or image.dtype.kind not in "biuf":
        raise InputError(f"thumbnails must be images (h, w) or (h, w, 3), or SMILES; got shape {image.shape}")
    return image
