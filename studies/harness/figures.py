"""Figures of the reproductions that are drawn the same way for several experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import optional

__all__ = ["bar_figure", "curve_figure", "new_figure", "path_figure", "save_figure"]


def new_figure(columns: int = 1, lines: int = 1, size: tuple[float, float] = (5.2, 3.9)) -> tuple[Any, np.ndarray]:
    """A figure without a window and its axes, an array of shape (lines, columns)."""
    figure = optional("matplotlib.figure").Figure(figsize=(size[0] * columns, size[1] * lines), layout="constrained")
    optional("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    return figure, figure.subplots(lines, columns, squeeze=False)


def save_figure(figure: Any, path: Path) -> Path:
    """Write a figure, making its folder, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return path


def _colors(n: int) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](np.linspace(0.0, 0.92, n))


def path_figure(grid: dict[str, Any], ridge: dict[str, Any], name: str, symbol: str, path: Path) -> Path:
    """Error and sparsity (for Huber also saturation) against reg, one curve for each loss parameter, ridge dashed.

    Parameters
    ----------
    grid, ridge : dict
        ``error``, ``sparsity``, ``saturated`` of shape (folds, regs, parameters), ``parameters`` and ``regs``.
    name, symbol : str
        Of the loss and of its parameter.
    path : Path

    Returns
    -------
    Path
    """
    kinds = ["error", "sparsity" if symbol == "epsilon" else "saturated"]
    labels = {
        "error": "held-out mean squared error",
        "sparsity": "share of samples without weight",
        "saturated": "share of saturated samples",
    }
    figure, axes = new_figure(2)
    for ax, kind in zip(axes[0], kinds, strict=True):
        mean = np.mean(grid[kind], axis=0)
        for j, color in enumerate(_colors(mean.shape[1])):
            ax.semilogx(grid["regs"], mean[:, j], color=color, label=f"{symbol} = {grid['parameters'][j]:g}")
        if kind == "error":
            base = np.mean(ridge["error"], axis=0)[:, 0]
            ax.semilogx(ridge["regs"], base, "k--", label="ridge", linewidth=1.2)
            ax.set_ylim(0.97 * min(mean.min(), base.min()), 1.02 * float(np.quantile(mean, 0.97)))
        ax.set_xlabel("reg")
        ax.set_ylabel(labels[kind])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), fontsize=8, frameon=False, loc="outside right center")
    figure.suptitle(f"yeast, {name}")
    return save_figure(figure, path)


def curve_figure(
    x: Any, curves: dict[str, Any], baselines: dict[str, float], labels: tuple[str, str, str], path: Path
) -> Path:
    """Curves over one axis with a dashed level beside each, as figure 8 of the paper.

    Parameters
    ----------
    x : array of shape (n,)
    curves : dict of str to array of shape (n,)
    baselines : dict of str to float
        Dashed levels, in the colour of the curve of the same name.
    labels : tuple of str
        Title and names of the axes.
    path : Path

    Returns
    -------
    Path
    """
    figure, axes = new_figure(size=(6.4, 4.4))
    ax = axes[0, 0]
    for (name, values), color in zip(curves.items(), _colors(len(curves)), strict=True):
        ax.plot(x, values, color=color, label=name)
        if name in baselines:
            ax.axhline(baselines[name], color=color, linestyle="--", linewidth=0.9)
    ax.set(title=labels[0], xlabel=labels[1], ylabel=labels[2])
    ax.legend(fontsize=8, frameon=False)
    return save_figure(figure, path)


def bar_figure(groups: dict[str, dict[str, tuple[float, float]]], labels: tuple[str, str], path: Path) -> Path:
    """Groups of bars with standard deviations, one colour per kernel, as figures 1 to 3 of Esser et al. (2024).

    Parameters
    ----------
    groups : dict of str to dict of str to (float, float)
        Mean and deviation by method and kernel; the kernel "none" is drawn grey.
    labels : tuple of str
        Title and name of the vertical axis.
    path : Path

    Returns
    -------
    Path
    """
    kernels = list(dict.fromkeys(k for bars in groups.values() for k in bars if k != "none"))
    colors = dict(zip(kernels, _colors(len(kernels)), strict=True)) | {"none": "0.6"}
    figure, axes = new_figure(size=(9.5, 4.2))
    ax, left, ticks = axes[0, 0], 0.0, []
    for bars in groups.values():
        ticks.append(left + (len(bars) - 1) / 2)
        for kernel, (mean, std) in bars.items():
            seen = kernel in ax.get_legend_handles_labels()[1] or kernel == "none"
            ax.bar(left, mean, 0.9, yerr=std, capsize=2, color=colors[kernel], label=None if seen else kernel)
            left += 1.0
        left += max(0.8, 3.0 - len(bars))  # room for the name under a single bar
    ax.set_xticks(ticks, [name.replace(", ", ",\n").replace(" ", "\n") for name in groups], fontsize=8)
    ax.set(title=labels[0], ylabel=labels[1])
    figure.legend(*ax.get_legend_handles_labels(), fontsize=8, frameon=False, loc="outside right upper")
    return save_figure(figure, path)
