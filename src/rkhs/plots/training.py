"""How a fit went: the objective and the gap by iteration, errors by regulariser, variance by component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.errors import InputError
from rkhs.plots.display import COLORS, Display, name_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rkhs.estimators.base import KernelEstimator


class SelectionDisplay(Display):
    """Held-out errors of the settings that were compared, with the chosen one marked.

    Parameters
    ----------
    settings : sequence of (float or tuple of float)
        Regularisers, as compared.
    errors : array of shape (k,) or (k, folds)
        NaN where a setting was not tried.
    chosen : float or tuple of float, default=None
    """

    def __init__(self, settings: Sequence[Any], errors: Any, *, chosen: Any = None) -> None:
        self.errors: np.ndarray = np.asarray(errors, dtype=float)
        if self.errors.ndim not in (1, 2) or len(self.errors) != len(settings) or not len(settings):
            raise InputError(
                f"errors must have one row a setting, {len(settings)}; got shape {self.errors.shape}. Nothing was "
                "compared if reg was given"
            )
        self.settings: list[str] = [_words(setting) for setting in settings]
        self.chosen: str | None = None if chosen is None else _words(chosen)

    @classmethod
    def from_estimator(cls, model: KernelEstimator) -> Self:
        """What a fitted model compared: ``candidate_errors_`` of KernelAutoencoder, or ``errors_`` of a search."""
        if getattr(model, "errors_", None) is not None and hasattr(model, "regs_"):
            return cls([tuple(row) for row in model.regs_], model.errors_, chosen=tuple(model.reg_))
        if getattr(model, "candidate_errors_", None) is None:
            raise InputError("model compared no settings: reg was given, or there were too few rows; use reg='auto'")
        return cls([tuple(row) for row in model.candidates_], model.candidate_errors_, chosen=tuple(model.reg_))

    def _draw(self, ax: Axes) -> None:
        places = np.arange(len(self.settings))
        mean = self.errors if self.errors.ndim == 1 else np.nanmean(self.errors, axis=1)
        if self.errors.ndim == 2:
            error = np.nanstd(self.errors, axis=1) / max(1, self.errors.shape[1]) ** 0.5
            ax.errorbar(places, mean, error, color=COLORS[0], marker="o", capsize=3, label="mean and standard error")
        else:
            ax.plot(places, mean, color=COLORS[0], marker="o", label="held-out error")
        if self.chosen in self.settings:
            at = self.settings.index(self.chosen)
            ax.plot(at, mean[at], color=COLORS[1], marker="D", markersize=11, fillstyle="none", label="chosen")
        ax.set_xticks(places, self.settings, rotation=30, ha="right", fontsize="small")
        name_axes(ax, "regularisers, encoder first", "held-out error")


def _words(setting: Any) -> str:
    return ", ".join(f"{value:g}" for value in np.atleast_1d(np.asarray(setting, dtype=float)))
