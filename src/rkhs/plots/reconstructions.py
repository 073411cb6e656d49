"""Items next to what a model rebuilds of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError, quote
from rkhs.plots.display import COLORS, matrix, pyplot, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rkhs.estimators.base import KernelEstimator


class ReconstructionDisplay:
    """Images above what they are rebuilt to, or rows as curves with what is rebuilt of them.

    Parameters
    ----------
    originals, rebuilt : array of shape (m, d)
        NaN in ``originals`` is a gap: nothing is drawn there.
    shape : tuple of int, default=None
        ``(height, width)`` or ``(height, width, channels)`` of an image, with a product of d; None: curves.
    times : array of shape (d,), default=None
        Where the curves were measured; None: 0, 1, ..., d - 1.
    rows : sequence of m int, default=None
        Numbers that stand above the items; None: those of the rows.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        What was drawn last.
    ax_ : matplotlib.axes.Axes
        Its first panel.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.plots import ReconstructionDisplay
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> ReconstructionDisplay.from_estimator(KernelPCA(2).fit(X), X, rows=[3, 90]).rebuilt.shape
    (2, 4)
    """

    def __init__(
        self,
        originals: Any,
        rebuilt: Any,
        *,
        shape: Sequence[int] | None = None,
        times: Any = None,
        rows: Sequence[int] | None = None,
    ) -> None:
        self.originals: np.ndarray = matrix(originals, "originals", gaps=True)
        self.rebuilt: np.ndarray = matrix(rebuilt, "rebuilt")
        m, d = self.originals.shape
        if self.originals.shape != self.rebuilt.shape:
            raise InputError(f"rebuilt must have the shape {(m, d)} of originals; got {self.rebuilt.shape}")
        self.shape: tuple[int, ...] | None = None if shape is None else tuple(int(side) for side in shape)
        if self.shape is not None and (len(self.shape) not in (2, 3) or np.prod(self.shape) != d):
            raise InputError(f"shape must be (height, width) with a product of {d}, the columns; got {self.shape}")
        self.times: np.ndarray = vector(np.arange(d) if times is None else times, "times", d)
        self.rows: list[int] = check_rows(range(m) if rows is None else rows)
        if len(self.rows) != m:
            raise InputError(f"rows must be {m}, one per item; got {len(self.rows)}")

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
            options.setdefault("times", X.grid_points[0])
            X = np.asarray(X.data_matrix)[:, :, 0]
        items = matrix(X, "X", gaps=True)
        if rows is None:
            count = min(check_count(n_items, "n_items"), len(items))
            rows = np.linspace(0, len(items) - 1, count).round().astype(int).tolist()
        drawn = check_rows(rows)
        if not 0 <= min(drawn) <= max(drawn) < len(items):
            raise InputError(f"rows must be from 0 to {len(items) - 1}; got {quote(rows)}")
        rebuilt = np.asarray(model.inverse_transform(model.transform(_safe_indexing(X, drawn))))  # frames stay frames
        if rebuilt.shape != items[drawn].shape:
            raise InputError(
                f"model must rebuild vectors; {type(model).__name__} gives weights on its training items. Use decode"
            )
        return cls(items[drawn], rebuilt, rows=drawn, **options)

    def plot(self) -> Self:
        """Draw a new figure with a panel per item, which is kept as ``figure_``, and its first panel as ``ax_``.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        lines, count = 1 if self.shape is None else 2, len(self.rows)
        self.figure_: Figure
        self.figure_, panels = pyplot().subplots(
            lines, count, figsize=(1.3 * count + 1.0, 1.3 * lines + 0.4), squeeze=False, layout="constrained"
        )
        self.ax_: Axes = panels[0, 0]
        for panel in panels.flat:
            panel.set(xticks=[], yticks=[])
        for panel, row in zip(panels[0], self.rows, strict=True):
            panel.set_title(f"row {row}", fontsize="small")
        if self.shape is None:
            self._curves(panels[0])
        else:
            self._images(panels, self.shape)
        return self

    def _images(self, panels: np.ndarray, shape: tuple[int, ...]) -> None:
        low, high = float(np.nanmin(self.originals)), float(np.nanmax(self.originals))
        for name, line, items in zip(("original", "rebuilt"), panels, (self.originals, self.rebuilt), strict=True):
            line[0].set_ylabel(name, fontsize="small")
            for panel, item in zip(line, items, strict=True):
                panel.imshow(np.clip(item, low, high).reshape(shape), cmap="gray_r", vmin=low, vmax=high)

    def _curves(self, panels: np.ndarray) -> None:
        both = np.concatenate([self.originals, self.rebuilt])
        low, high = float(np.nanmin(both)), float(np.nanmax(both))
        for panel, old, new in zip(panels, self.originals, self.rebuilt, strict=True):
            panel.plot(self.times, old, color="#aaaaaa", linewidth=0.8, label="original")
            panel.plot(self.times, new, color=COLORS[1], linewidth=1.2, label="rebuilt")
            panel.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
            panel.set_xticks([self.times[0], self.times[-1]])
            panel.tick_params(labelsize="x-small")
        panels[0].set_yticks([low, high])
        panels[0].yaxis.set_major_formatter("{x:.3g}")
        handles, names = panels[0].get_legend_handles_labels()
        self.figure_.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize="small")


def check_rows(rows: Any) -> list[int]:
    """Read numbers of rows."""
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not len(numbers):
        raise InputError(f"rows must be a list of whole numbers, not empty; got {quote(rows)}")
    return numbers.tolist()
