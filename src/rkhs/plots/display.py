"""What displays share: colours, files, and arrays that are checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rkhs._core.arrays import as_numpy, read_numbers
from rkhs._core.checks import real_array
from rkhs._core.errors import InputError, optional
from rkhs._core.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The palette of Okabe and Ito without its yellow, which vanishes on white, then three of Tol's muted scheme: ten
# colours that stay apart for colour-blind readers.
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#882255", "#999933", "#888888",
)  # fmt: skip
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

    Examples
    --------
    >>> import os, tempfile
    >>> from matplotlib.figure import Figure
    >>> from rkhs.plots import save_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(Figure(), f"{folder}/empty.png")
    ...     os.listdir(folder)
    ['empty.png']
    """
    target = Path(path)
    extension = target.suffix.lower()
    if extension not in _EXTENSIONS:
        raise InputError(f"`path` must end in {', '.join(_EXTENSIONS)}; got {target.name!r}; change the file name")
    # Without a date and with a fixed salt for svg identifiers two runs can be compared byte by byte.
    metadata: dict[str, Any] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[extension]
    look: dict[str, Any] = {"dpi": dpi, "bbox_inches": "tight", "facecolor": "white", "metadata": metadata}
    with atomic_file(target) as handle, pyplot().rc_context({"svg.hashsalt": "rkhs"}):
        fig.savefig(handle, format=extension[1:], **look)


def colour_ends(values: np.ndarray) -> tuple[float, float, str]:
    """Numbers at the ends of a scale of colours, so that few far numbers do not take all of it."""
    known = values[np.isfinite(values)]
    if not len(known):
        return 0.0, 1.0, "neither"
    first, last = np.quantile(known, (0.02, 0.98))
    usual = known
    if last > first:
        usual = known[np.abs(known - (first + last) / 2) <= last - first]
    low, high = float(usual.min()), float(usual.max())
    return (
        low,
        high,
        {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[low > known.min(), high < known.max()],
    )


def pyplot() -> Any:
    """The module of matplotlib that makes figures."""
    return optional("matplotlib.pyplot")


def matrix(X: Any, name: str, *, gaps: bool = False) -> np.ndarray:
    """A finite matrix of numbers, with NaN for ``gaps`` where these may be."""
    array = real_array(as_numpy(X, name), name)
    read_numbers(np.where(np.isnan(array), 0.0, array) if gaps else array, name, shape="(n, d)")
    return array


def vector(x: Any, name: str, n: int | None = None) -> np.ndarray:
    """A vector of finite numbers, of ``n`` entries if that is given."""
    array = real_array(as_numpy(x, name), name)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all() or (n is not None and len(array) != n):
        raise InputError(f"{name} must be finite numbers of shape ({n or 'n'},); got shape {array.shape}")
    return array
