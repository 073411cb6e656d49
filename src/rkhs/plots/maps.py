"""Maps: scatter plots of two-dimensional codes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs._core.files import atomic_path
from rkhs.plots.display import colour_ends, name_axes, pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The palette of Okabe and Ito without its yellow, which vanishes on white, then three of Tol's muted scheme: ten
# colours that stay apart for colour-blind readers.
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#882255", "#999933", "#888888",
)  # fmt: skip
# With eight markers the pairs only repeat after 40 classes, and neighbours in the legend differ in shape as well as in
# colour: the map can be read in grey.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_MAX_CLASSES = 20
_EXTENSIONS = (".png", ".svg", ".pdf")


def save_figure(fig: Figure, path: str | os.PathLike[str], *, dpi: int = 150) -> None:
    """Save a figure; the same figure gives the same bytes, and a crash leaves the old file or none.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        The figure.
    path : str or path
        Ends in ``.png``, ``.svg`` or ``.pdf``.
    dpi : int, default=150
        Dots per inch of a png, and of rasterized parts.

    Raises
    ------
    InputError
        If the extension is another one or the folder does not exist.
    MissingExtraError
        If matplotlib is not installed.
    """
    target = Path(path)
    extension = target.suffix.lower()
    if extension not in _EXTENSIONS:
        raise InputError(f"`path` must end in {', '.join(_EXTENSIONS)}; got {target.name!r}; change the file name")
    # Without a date and with a fixed salt for svg identifiers two runs can be compared byte by byte.
    metadata: dict[str, Any] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[extension]
    with atomic_path(target) as temporary, pyplot().rc_context({"svg.hashsalt": "rkhs"}):
        fig.savefig(temporary, dpi=dpi, bbox_inches="tight", facecolor="white", metadata=metadata)


def check_values(values: Any, n: int) -> np.ndarray:
    """Numbers, one a code, of which at least one is finite."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"`values` must be numbers; got others ({error}); pass classes as labels=") from error
    if numbers.shape != (n,):
        raise InputError(f"`values` must have shape ({n},), one a code; got {numbers.shape}; check their order")
    if not np.isfinite(numbers).any():
        raise InputError("`values` must hold a finite number; got none; leave them out")
    return numbers


def check_labels(labels: Any, n: int) -> np.ndarray:
    """Classes, one a code, as many as a legend can show."""
    classes = np.asarray(labels)
    if classes.shape != (n,):
        raise InputError(f"`labels` must have shape ({n},), one a code; got {classes.shape}; check their order")
    n_classes = len({str(item) for item in classes.tolist()})
    if n_classes > _MAX_CLASSES:
        raise InputError(
            f"`labels` must hold at most {_MAX_CLASSES} classes, which a legend can show; got {n_classes}; "
            "pass numbers as values=, or join rare classes"
        )
    return classes


def groups_of(classes: np.ndarray | None, n: int) -> list[tuple[str, np.ndarray]]:
    """Names of the classes and their rows; all rows under an empty name without classes."""
    if classes is None:
        return [("", np.ones(n, dtype=bool))]
    items = np.unique(classes) if classes.dtype.kind != "O" else sorted(set(classes.tolist()), key=str)
    return [(str(item), classes == item) for item in items]


def draw_plane(
    ax: Axes, points: np.ndarray, numbers: np.ndarray | None, classes: np.ndarray | None, value_name: str | None
) -> None:
    """Points in the plane, both axes on the same scale, with a colour bar of numbers and a legend of classes."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    n, groups = len(points), groups_of(classes, len(points))
    # Smaller, fainter marks as they get more: about a constant share of ink. A thin edge keeps light colours visible.
    style: dict[str, Any] = {
        "s": float(np.clip(10000 / n, 9, 36)),
        "alpha": 0.85 if n <= 2000 else 0.5,
        "linewidths": 0.3 if n <= 2000 else 0.0,
        "edgecolors": "#444444",
        "rasterized": n > 5000,
    }
    scale = None
    if numbers is not None:
        low, high, beyond = colour_ends(numbers)
        colormap = colormaps["viridis"].with_extremes(bad="#BBBBBB")
        scale = ScalarMappable(Normalize(low, high), colormap)
    # Few points lie over many, and values in random order, for files are sorted by them.
    order = np.arange(n) if numbers is None else np.random.RandomState(0).permutation(n)
    sizes = [int(rows.sum()) for _, rows in groups]
    for i, (name, chosen) in enumerate(groups):
        rows = order[chosen[order]]
        color: Any = COLORS[i % len(COLORS)]
        if scale is not None and numbers is not None:
            color = scale.to_rgba(np.ma.masked_invalid(numbers[rows]))
        marker, above = MARKERS[i % len(MARKERS)], 2.0 - sizes[i] / n
        ax.scatter(points[rows, 0], points[rows, 1], c=color, marker=marker, label=name or None, zorder=above, **style)
    if scale is not None:
        figure: Any = ax.figure  # a Figure or a SubFigure: both draw colour bars
        figure.colorbar(scale, ax=ax, label=value_name or "", extend=beyond)
    if classes is not None:
        _legend(ax, numbers is not None)
    ax.set_aspect("equal", adjustable="datalim")
    name_axes(ax, "code 1", "code 2", legend=False)
    ax.margins(0.05)


def _legend(ax: Axes, grey: bool) -> None:
    legend = ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12), frameon=False, ncols=4, fontsize="small")
    handles: list[Any] = list(legend.legend_handles)  # one collection of marks a class
    for handle in handles:
        handle.set_alpha(1.0)
        handle.set_sizes([36.0])
        if grey:  # the colour shows a value there; only the shape tells the class
            handle.set_facecolor("#555555")
