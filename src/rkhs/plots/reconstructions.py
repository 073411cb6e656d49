"""Items beside what a model makes of them: reconstructions, traversals, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from rkhs._core.checks import check_choice, check_count
from rkhs._core.errors import InputError, shown
from rkhs.plots.display import COLORS, Display, matrix, name_axes, new_grid, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        self.originals, self.rebuilt = matrix(originals, "originals", gaps=True), matrix(rebuilt, "rebuilt")
        if self.originals.shape != self.rebuilt.shape:
            raise InputError(
                f"rebuilt must have the shape {self.originals.shape} of originals; got {self.rebuilt.shape}"
            )
        d = self.originals.shape[1]
        check_choice(kind, "kind", ("auto", "images", "curves", "table"))
        self.shape = _image_shape(shape, d)
        guess = "images" if self.shape is not None else "curves" if d >= 20 else "table"
        self.kind = guess if kind == "auto" else kind
        if self.kind == "images" and self.shape is None:
            raise InputError("shape must be given for images: (height, width)")
        self.times = np.arange(d, dtype=float) if times is None else vector(times, "times", d)
        self.names = _texts([f"column {j + 1}" for j in range(d)], names, "names", "a column")
        self.titles = _texts([""] * len(self.originals), titles, "titles", "an item")

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
            raise InputError(f"rows must be a list of whole numbers, not empty; got {shown(rows)}")
        if not 0 <= drawn.min() <= drawn.max() < len(items):
            raise InputError(f"rows must be from 0 to {len(items) - 1}; got {shown(rows)}")
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
            raise InputError("ax must be None for images and curves: they make a figure with a panel an item")
        draw = self._images if self.kind == "images" else self._curves
        self.figure_, panels = new_grid(2 if self.kind == "images" else 1, len(self.originals), 1.3)
        draw(panels)
        for panel, title in zip(panels[0], self.titles, strict=True):
            panel.set_title(title, fontsize="small")
        self.ax_ = panels.flat[0]
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


class TraversalDisplay(Display):
    """A walk along each code: one row a code, from low to high.

    Parameters
    ----------
    walks : array of shape (p, n_steps, d)
        What the codes decode to along each walk.
    names : sequence of p str, default=None
        Of the codes.
    shape : tuple of int, default=None
        Of an image; None draws curves.
    """

    def __init__(self, walks: Any, *, names: Sequence[str] | None = None, shape: Sequence[int] | None = None) -> None:
        self.walks = np.asarray(walks, dtype=np.float64)
        if self.walks.ndim != 3 or not self.walks.size or not np.isfinite(self.walks).all():
            raise InputError(f"walks must be finite numbers of shape (p, n_steps, d); got shape {self.walks.shape}")
        self.names = [f"code {i + 1}" for i in range(len(self.walks))] if names is None else list(names)
        self.shape = _image_shape(shape, self.walks.shape[2])

    @classmethod
    def from_estimator(
        cls, model: KernelEstimator, *, n_steps: int = 7, quantiles: tuple[float, float] = (0.05, 0.95), **options: Any
    ) -> Self:
        """Walks from a low to a high quantile of each of ``codes_``, the others at their means.

        The ``inverse_transform`` of the model must give vectors.
        """
        codes, steps = matrix(model.codes_, "model.codes_"), check_count(n_steps, "n_steps", at_least=2)
        walks = []
        for j in range(codes.shape[1]):
            Z = np.tile(codes.mean(0), (steps, 1))
            low, high = (float(np.quantile(codes[:, j], share)) for share in quantiles)
            Z[:, j] = np.linspace(low, high, steps)
            walks.append(np.asarray(model.inverse_transform(Z)))
        return cls(np.stack(walks), **options)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw in a figure of its own."""
        if ax is not None:
            raise InputError("ax must be None: a traversal makes a figure with a row a code")
        p, steps, _ = self.walks.shape
        if self.shape is not None:
            self.figure_, panels = new_grid(p, steps, 0.9)
            low, high = float(self.walks.min()), float(self.walks.max())
            for row, walk, name in zip(panels, self.walks, self.names, strict=True):
                row[0].set_ylabel(name, fontsize="small", rotation=0, ha="right", va="center")
                for panel, item in zip(row, walk, strict=True):
                    panel.imshow(item.reshape(self.shape), cmap="gray_r", vmin=low, vmax=high)
        else:
            from matplotlib import colormaps

            self.figure_, panels = new_grid(1, p, 2.2)
            shades = colormaps["viridis"](np.linspace(0.0, 0.9, steps))
            for panel, walk, name in zip(panels[0], self.walks, self.names, strict=True):
                panel.set_title(name, fontsize="small")
                for item, shade in zip(walk, shades, strict=True):
                    panel.plot(item, color=shade, linewidth=1.1)
        self.ax_ = panels.flat[0]
        return self

    def _draw(self, ax: Axes) -> None:
        raise InputError("a traversal makes a figure of its own; call plot()")


class ErrorDisplay(Display):
    """Histograms of reconstruction errors, of training and of new items.

    Parameters
    ----------
    errors : array of shape (n,)
        Squared errors, not negative.
    new_errors : array of shape (m,), default=None
    threshold : float, default=None
        Drawn as a line, such as that of an outlier.
    """

    def __init__(self, errors: Any, new_errors: Any = None, *, threshold: float | None = None) -> None:
        self.errors = vector(errors, "errors")
        self.new_errors = None if new_errors is None else vector(new_errors, "new_errors")
        self.threshold = threshold
        if min(self.errors.min(), 0.0 if self.new_errors is None else self.new_errors.min()) < 0.0:
            raise InputError("errors must not be negative: they are squared distances")

    @classmethod
    def from_estimator(cls, model: KernelEstimator, X: Any, X_new: Any = None, **options: Any) -> Self:
        """The ``reconstruction_error`` of items, and of new items beside them."""
        new = None if X_new is None else model.reconstruction_error(X_new)
        return cls(model.reconstruction_error(X), new, **options)

    def _draw(self, ax: Axes) -> None:
        everything = self.errors if self.new_errors is None else np.concatenate([self.errors, self.new_errors])
        positive = everything[everything > 0.0]
        low = float(positive.min()) if positive.size else 1.0
        edges = np.geomspace(max(low, float(everything.max()) * 1e-12), max(float(everything.max()), low * 2), 31)
        for name, errors, color in (("items", self.errors, COLORS[0]), ("new items", self.new_errors, COLORS[1])):
            if errors is not None:
                shown, weights = np.maximum(errors, edges[0]), np.full(len(errors), 1.0 / len(errors))
                ax.hist(shown, edges.tolist(), weights=weights, alpha=0.6, color=color, label=name)
        if self.threshold is not None:
            ax.axvline(self.threshold, color="#444444", linestyle="--", label="threshold")
        ax.set_xscale("log")
        name_axes(ax, "squared reconstruction error", "share of the items")


def _image_shape(shape: Sequence[int] | None, d: int) -> tuple[int, ...] | None:
    sides = None if shape is None else tuple(int(side) for side in shape)
    if sides is not None and (len(sides) not in (2, 3) or int(np.prod(sides)) != d):
        raise InputError(f"shape must be (height, width) with a product of {d}, the columns; got {sides}")
    return sides


def _texts(default: list[str], given: Sequence[Any] | None, what: str, each: str) -> list[str]:
    """Texts that are given, as many as there are by default."""
    texts = default if given is None else [str(text) for text in given]
    if len(texts) != len(default):
        raise InputError(f"{what} must be {len(default)}, one {each}; got {len(texts)}")
    return texts
