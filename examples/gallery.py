"""What the gallery scripts share: toy data of the papers, colours, and where figures go."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
sys.path.append(str(Path(__file__).resolve().parents[1]))  # for the networks and figures of ``studies``
import matplotlib.pyplot as plt


def save(figure: Any, name: str) -> None:
    """Write a figure to the folder ``RKHS_OUTPUT`` (default ``output`` where you are) and print where.

    With an empty ``RKHS_OUTPUT`` the figure stays open: the site collects it.
    """
    output = os.environ.get("RKHS_OUTPUT")
    if output == "":
        return
    folder = Path(output or "output")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    print(f"figure: {path.resolve()}")


def scatter(axes: Any, X: np.ndarray, values: np.ndarray, title: str, cmap: str = "viridis") -> None:
    """Scatter plot of 2-D points with equal axes."""
    axes.scatter(X[:, 0], X[:, 1], c=values, cmap=cmap, s=14)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title(title, fontsize=10)


def scatter_classes(axes: Any, X: np.ndarray, label: np.ndarray, names: Sequence[str], **options: Any) -> None:
    """Scatter plot of 2-D points, one colour and one line of the legend a class."""
    for k, name in enumerate(names):
        axes.scatter(*X[label == k].T, color=f"C{k}", s=14, label=name)
    axes.legend(fontsize=8, **{"loc": "best", **options})


def write_names(axes: Any, X: np.ndarray, label: np.ndarray) -> None:
    """Write each label at the median of its points."""
    for k in np.unique(label):
        place = np.median(X[label == k], axis=0)
        axes.text(*place, str(k), ha="center", va="center", weight="bold").set_bbox(
            {"boxstyle": "circle,pad=0.15", "facecolor": "white", "alpha": 0.8, "edgecolor": "none"}
        )


def strip(axes: Any, images: np.ndarray, title: str, **options: Any) -> None:
    """Draw images of shape (m, h, w) side by side."""
    framed = np.pad(images, ((0, 0), (0, 0), (0, 1)), constant_values=np.nan)
    axes.imshow(np.hstack(list(framed))[:, :-1], **options)
    axes.set_axis_off()
    axes.set_title(title, fontsize=9, loc="left")


def far_apart(points: np.ndarray, count: int) -> list[int]:
    """Rows far from each other: each is the farthest from those before."""
    chosen = [int(np.argmax(((points - points.mean(0)) ** 2).sum(1)))]
    while len(chosen) < count:
        distance = ((points[:, None] - points[chosen]) ** 2).sum(-1).min(1)
        chosen.append(int(distance.argmax()))
    return chosen
