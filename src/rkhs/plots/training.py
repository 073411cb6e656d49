"""How a fit went: the objective and the gap by iteration, errors by regulariser, variance by component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rkhs._core.errors import InputError
from rkhs.plots.display import COLORS, Display, name_axes, vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rkhs.estimators.base import KernelEstimator


class TrainingDisplay(Display):
    """The objective by iteration, and beside it the duality gap or the norm of the gradient.

    Parameters
    ----------
    history : sequence of dict
        As in ``history_``: rows with ``iteration``, ``value``, ``measure``.
    gap : float, default=None
        Duality gap in the end, written into the picture.
    measure_name : str, default="stopping measure"
    """

    def __init__(
        self, history: Sequence[dict[str, Any]], *, gap: float | None = None, measure_name: str = "stopping measure"
    ) -> None:
        if not history:
            raise InputError("history must hold at least one iteration; a closed form has none to show")
        self.values = vector([row["value"] for row in history], "history values")
        self.measures = np.asarray([row.get("measure", np.nan) for row in history], dtype=float)
        self.gap, self.measure_name = gap, measure_name

    @classmethod
    def from_estimator(cls, model: KernelEstimator, **options: Any) -> Self:
        """The ``history_`` of a fitted model."""
        return cls(model.history_, **{"gap": getattr(model, "gap_", None), **options})

    def _draw(self, ax: Axes) -> None:
        steps = np.arange(1, len(self.values) + 1)
        marker = "o" if len(steps) <= 20 else None  # one iteration alone is a point, no line
        (line,) = ax.plot(steps, self.values, color=COLORS[0], marker=marker, label="objective")
        name_axes(ax, "iteration", "objective", legend=False)
        handles = [line]
        if np.isfinite(self.measures).any() and (self.measures[np.isfinite(self.measures)] > 0.0).any():
            other = ax.twinx()
            handles += other.plot(
                steps, self.measures, color=COLORS[1], linestyle="--", marker=marker, label=self.measure_name
            )
            other.set_yscale("log")
            other.set_ylabel(self.measure_name)
        said = None if self.gap is None else f"duality gap in the end: {self.gap:.1e}"
        ax.legend(handles=handles, frameon=False, fontsize="small", title=said, loc="upper right")


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
        self.errors = np.asarray(errors, dtype=float)
        if self.errors.ndim not in (1, 2) or len(self.errors) != len(settings) or not len(settings):
            raise InputError(
                f"errors must have one row a setting, {len(settings)}; got shape {self.errors.shape}. Nothing was "
                "compared if reg was given"
            )
        self.settings = [_words(setting) for setting in settings]
        self.chosen = None if chosen is None else _words(chosen)

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


class SpectrumDisplay(Display):
    """Variance by component, and its sum.

    Parameters
    ----------
    shares : array of shape (p,)
        ``explained_variance_ratio_``.

    Examples
    --------
    >>> from rkhs import KernelPCA
    >>> from rkhs.plots import SpectrumDisplay
    >>> from sklearn.datasets import load_iris
    >>> SpectrumDisplay.from_estimator(KernelPCA(4).fit(load_iris().data)).shares.shape
    (4,)
    """

    def __init__(self, shares: Any) -> None:
        self.shares = vector(shares, "shares")

    @classmethod
    def from_estimator(cls, model: KernelEstimator) -> Self:
        """The ``explained_variance_ratio_`` of a fitted kernel PCA; of other models the variances of ``codes_``."""
        shares = getattr(model, "explained_variance_ratio_", None)
        if shares is None:
            variances = np.asarray(model.codes_).var(0)
            shares = np.sort(variances)[::-1] / max(float(variances.sum()), 1e-300)
        return cls(shares)

    def _draw(self, ax: Axes) -> None:
        places = np.arange(1, len(self.shares) + 1)
        ax.bar(places, self.shares, color=COLORS[0], label="each")
        ax.plot(places, np.cumsum(self.shares), color=COLORS[1], marker="o", label="all up to here")
        ax.set_ylim(0.0, max(1.0, float(np.cumsum(self.shares)[-1])) * 1.02)
        ax.set_xticks(places if len(places) <= 12 else places[:: -(-len(places) // 12)])
        name_axes(ax, "component", "share of the variance", legend=False)
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.12), frameon=False, ncols=2, fontsize="small")
