"""Profiles and maps of losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rkhs._core.checks import check_number
from rkhs._core.errors import InputError
from rkhs.losses import Loss
from rkhs.plots.display import pyplot
from rkhs.plots.maps import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["loss_maps", "loss_profiles"]

_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))


def loss_profiles(losses: Mapping[str, Loss], limit: float = 3.0, ax: Axes | None = None) -> Axes:
    """Draw losses of scalar residuals as curves.

    Parameters
    ----------
    losses : mapping of str to Loss
        Names for the legend, at most 6.
    limit : float, default=3.0
        Residuals from ``-limit`` to ``limit``, > 0.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        For no loss, more than six, or a limit that is not positive.

    References
    ----------
    Laforgue et al. (2020), appendix B.
    """
    _check(losses, limit)
    if len(losses) > len(_DASHES):
        raise InputError(f"losses must hold at most {len(_DASHES)} losses to stay readable; got {len(losses)}")
    ax = pyplot().subplots()[1] if ax is None else ax
    r = np.linspace(-limit, limit, 601)
    for (name, loss), color, dash in zip(losses.items(), COLORS, _DASHES, strict=False):
        values = _values(loss, r[:, None])
        ax.plot(r, np.where(np.isfinite(values), values, np.nan), color=color, linestyle=dash, label=name)
    ax.set_xlabel("residual $r$")
    ax.set_ylabel("loss $f(r)$")
    ax.set_xlim(-limit, limit)
    ax.set_ylim(bottom=0.0)
    ax.legend(frameon=False)
    return ax


def loss_maps(losses: Mapping[str, Loss], limit: float = 3.0) -> Figure:
    """Draw losses of residuals in the plane, one panel each, as filled level sets on a common scale.

    Parameters
    ----------
    losses : mapping of str to Loss
        Titles of the panels.
    limit : float, default=3.0
        Both coordinates run from ``-limit`` to ``limit``, > 0.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    InputError
        For no loss, or a limit that is not positive.

    References
    ----------
    Laforgue et al. (2020), appendix B.
    """
    _check(losses, limit)
    columns = min(3, len(losses))
    lines = -(-len(losses) // columns)
    figure, axes = pyplot().subplots(
        lines, columns, figsize=(3.2 * columns + 0.8, 3.1 * lines), squeeze=False, layout="constrained"
    )
    axis = np.linspace(-limit, limit, 161)
    grid = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    maps = [_values(loss, grid).reshape(161, 161) for loss in losses.values()]
    top = max(float(values[np.isfinite(values)].max()) for values in maps)
    levels = np.linspace(0.0, top if top > 0.0 else 1.0, 13)
    for ax, name, values in zip(axes.flat, losses, maps, strict=False):
        shown = ax.contourf(axis, axis, np.where(np.isfinite(values), values, np.nan), levels=levels, cmap="viridis")
        if np.count_nonzero(values == 0.0) > 1:  # where residuals cost nothing
            ax.contour(axis, axis, values, levels=[1e-4 * levels[-1]], colors="white", linewidths=1.0)
        ax.set_title(name)
        ax.set_aspect("equal")
        ax.set_xlabel("$r_1$")
        ax.set_ylabel("$r_2$")
    for ax in axes.flat[len(losses) :]:
        ax.set_visible(False)
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(7)
    figure.colorbar(shown, ax=list(axes.flat[: len(losses)]), label="loss $f(r)$", shrink=0.8, ticks=ticks)
    return figure


def _check(losses: Any, limit: Any) -> None:
    check_number(limit, "limit", above=0.0)
    if not isinstance(losses, Mapping) or not losses:
        raise InputError(f"losses must be a non-empty mapping of names to losses; got {losses!r}")
    for name, loss in losses.items():
        if not isinstance(loss, Loss):
            raise InputError(f"losses[{name!r}] must be a loss such as Huber(1.0); got {loss!r}")


def _values(loss: Loss, R: np.ndarray) -> np.ndarray:
    # Losses that depend on targets are shown for the first coordinate vector.
    first = torch.zeros(R.shape, dtype=torch.float64)
    first[:, 0] = 1.0
    return loss.bind(first).value(torch.from_numpy(R)).numpy()
