"""Items next to what a model makes of them: reconstructions, traversals, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError, quote
from rkhs.plots.display import COLORS, Display, matrix, new_grid, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rkhs.estimators.base import KernelEstimator


class ReconstructionDisplay(Display):
    """Items above what they are rebuilt to: images, curves, or the cells of a table.

    Parameters
    ----------
    originals, rebuilt : array of shape (m, d)
        NaN in ``originals`` is a gap: nothing is drawn there.
    kind : {"auto", "images", "curves", "table"}, default="auto"
        ``"auto"``: images if ``shape`` is given, curves from 20 columns on, else a table.
    shape : tuple of int, default=None
        ``(height, width)`` or ``(height, width, channels)`` of an image; their product is d.
    times : array of shape (d,), default=None
        Where the curves were measured.
    names : sequence of d str, default=None
        Columns of a table.
    titles : sequence of m str, default=None
        What stands above the items.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.plots import ReconstructionDisplay
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> ReconstructionDisplay.from_estimator(KernelPCA(2).fit(X), X[:5]).kind
    'table'
    """

    def __init__(
        self,
        originals: Any,
        rebuilt: Any,
        *,
        kind: str = "auto",
        shape: Sequence[int] | None = None,
        times: Any = None,
        names: Sequence[str] | None = None,
        titles: Sequence[str] | None = None,
    ) -> None:
        self.originals: np.ndarray = matrix(originals, "originals", gaps=True)
        self.rebuilt: np.ndarray = matrix(rebuilt, "rebuilt")
        if self.originals.shape != self.rebuilt.shape:
            raise InputError(
                f"rebuilt must have the shape {self.originals.shape} of originals; got {self.rebuilt.shape}"
            )
        d = self.originals.shape[1]
        check_choice(kind, "kind", ("auto", "images", "curves", "table"))
        self.shape: tuple[int, ...] | None = _image_shape(shape, d)
        guess = "images" if self.shape is not None else "curves" if d >= 20 else "table"
        self.kind: str = guess if kind == "auto" else kind
        if self.kind == "images" and self.shape is None:
            raise InputError("shape must be given for images: (height, width)")
        self.times: np.ndarray = np.arange(d, dtype=float) if times is None else vector(times, "times", d)
        self.names: list[str] = _texts([f"column {j + 1}" for j in range(d)], names, "names", "column")
        self.titles: list[str] = _texts([""] * len(self.originals), titles, "titles", "item")

    @classmethod
    def from_estimator(
        cls, model: KernelEstimator, X: Any, *, n_items: int = 8, rows: Sequence[int] | None = None, **options: Any
    ) -> Self:
        """Items and what a fitted model rebuilds of them, with the number of the row of each above it.

        Parameters
        ----------
        model : estimator with ``transform`` and ``inverse_transform`` to vectors
        X : array of shape (m, d), or curves with their times
        n_items : int, default=8
            Evenly spaced among ``X``.
        rows : sequence of int, default=None
            Rows to draw, counted from 0, in place of ``n_items``.
        """
        if hasattr(X, "data_matrix"):
            options = {"times": X.grid_points[0], "kind": "curves"} | options
            X = np.asarray(X.data_matrix)[:, :, 0]
        items = matrix(X, "X", gaps=True)
        count = min(check_count(n_items, "n_items"), len(items))
        drawn = np.linspace(0, len(items) - 1, count).round().astype(int) if rows is None else np.asarray(rows)
        if drawn.ndim != 1 or drawn.dtype.kind not in "iu" or not len(drawn):
            raise InputError(f"rows must be a list of whole numbers, not empty; got {quote(rows)}")
        if not 0 <= drawn.min() <= drawn.max() < len(items):
            raise InputError(f"rows must be from 0 to {len(items) - 1}; got {quote(rows)}")
        options.setdefault("titles", [f"row {i}" for i in drawn.tolist()])
        chosen = items[drawn]
        rebuilt = np.asarray(model.inverse_transform(model.transform(_safe_indexing(X, drawn))))  # frames stay frames
        if rebuilt.shape != chosen.shape:
            raise InputError(
                f"model must rebuild vectors; {type(model).__name__} gives weights on its training items. Use decode"
            )
        return cls(chosen, rebuilt, **options)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw; images and curves make a figure of their own, tables take axes."""
        if self.kind == "table":
            return super().plot(ax)
        if ax is not None:
            raise InputError("ax must be None for images and curves: they make a figure with a panel per item")
        draw = self._images if self.kind == "images" else self._curves
        self.figure_: Figure
        self.figure_, panels = new_grid(2 if self.kind == "images" else 1, len(self.originals), 1.3)
        draw(panels)
        for panel, title in zip(panels[0], self.titles, strict=True):
            panel.set_title(title, fontsize="small")
        self.ax_: Any = panels.flat[0]
        return self

    def _images(self, panels: np.ndarray) -> None:
        assert self.shape is not None
        low, high = float(np.nanmin(self.originals)), float(np.nanmax(self.originals))
        for column, pair in enumerate(zip(self.originals, self.rebuilt, strict=True)):
            for panel, item in zip(panels[:, column], pair, strict=True):
                panel.imshow(np.clip(item, low, high).reshape(self.shape), cmap="gray_r", vmin=low, vmax=high)
        for panel, name in zip(panels[:, 0], ("original", "rebuilt"), strict=True):
            panel.set_ylabel(name, fontsize="small")

    def _curves(self, panels: np.ndarray) -> None:
        both = np.concatenate([self.originals, self.rebuilt])
        low, high = float(np.nanmin(both)), float(np.nanmax(both))
        for panel, old, new in zip(panels[0], self.originals, self.rebuilt, strict=True):
            panel.plot(self.times, old, color="#aaaaaa", linewidth=0.8, label="original")
            panel.plot(self.times, new, color=COLORS[1], linewidth=1.2, label="rebuilt")
            panel.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
            panel.set_xticks([self.times[0], self.times[-1]])
            panel.tick_params(labelsize="x-small")
        panels[0, 0].set_yticks([low, high])
        panels[0, 0].yaxis.set_major_formatter("{x:.3g}")
        handles, names = panels[0, 0].get_legend_handles_labels()
        self.figure_.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize="small")

    def _draw(self, ax: Axes) -> None:
        """A table: the share of the variance of each column that is rebuilt wrongly."""
        spread = np.nansum((self.originals - np.nanmean(self.originals, axis=0)) ** 2, axis=0)
        lost = np.nansum((self.originals - self.rebuilt) ** 2, axis=0) / np.where(spread > 0.0, spread, np.nan)
        places = np.arange(len(lost))
        ax.barh(places, np.nan_to_num(lost), color=COLORS[0])
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.set_xlabel("error, as a share of the variance of the column")


def _image_shape(shape: Sequence[int] | None, d: int) -> tuple[int, ...] | None:
    sides = None if shape is None else tuple(int(side) for side in shape)
    if sides is not None and (len(sides) not in (2, 3) or int(np.prod(sides)) != d):
        raise InputError(f"shape must be (height, width) with a product of {d}, the columns; got {sides}")
    return sides


def _texts(default: list[str], given: Sequence[Any] | None, what: str, each: str) -> list[str]:
    """Texts that are given, as many as there are by default."""
    texts = default if given is None else [str(text) for text in given]
    if len(texts) != len(default):
        raise InputError(f"{what} must be {len(default)}, one per {each}; got {len(texts)}")
    return texts
