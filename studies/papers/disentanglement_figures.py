"""Figures of the disentanglement study: scores by depth, widths, weights and number of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["draw"]

_SCORES = ("IRS", "MIG", "SAP", "DCI")
Row = dict[str, Any]


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """One file a data set and figure of the paper, a panel a score.

    Figures 4 and B.1 (``widths``), 5 and B.3 (``depth``: means by number of images), 6, B.2, B.4 and B.5 (``images``:
    machine beside beta-VAE by number of images), 7 and B.6 to B.8 (``weights``: by gamma and by beta), 8 and B.9
    (``lines``: means by gamma, a line a number of images).

    Parameters
    ----------
    rows : sequence of dict
        Finished cells.
    folder : Path

    Returns
    -------
    list of Path
        Files that were written.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    painters: dict[str, Callable[[Any, str, list[Row]], None]] = {
        "widths": _widths,
        "depth": _depth,
        "images": _images,
        "weights": _weights,
        "lines": _lines,
    }
    written = []
    for name in sorted({row["data"] for row in rows}):
        mine = [row for row in rows if row["data"] == name]
        for kind, paint in painters.items():
            figure, axes = plt.subplots(1, len(_SCORES), figsize=(4.5 * len(_SCORES), 4.0))
            for panel, score in zip(axes, _SCORES, strict=True):
                paint(panel, score, mine)
                panel.set_title(score)
            if any(panel.has_data() for panel in axes):
                figure.suptitle(name)
                figure.tight_layout()
                written.append(folder / f"{name.replace(' ', '_')}_{kind}.png")
                figure.savefig(written[-1], dpi=110)
            plt.close(figure)
    return written


def _boxes(panel: Any, groups: dict[str, list[float]], colours: dict[str, str] | None = None) -> None:
    """A box a group, its points over it."""
    groups = {label: values for label, values in groups.items() if values}
    if not groups:
        return
    drawn = panel.boxplot(list(groups.values()), patch_artist=True, showfliers=False, medianprops={"color": "black"})
    for place, (label, box) in enumerate(zip(groups, drawn["boxes"], strict=True), start=1):
        box.set_facecolor((colours or {}).get(label.split()[0], "lightsteelblue"))
        panel.plot([place] * len(groups[label]), groups[label], "k.", markersize=4)
    panel.set_xticks(range(1, len(groups) + 1), list(groups), rotation=60, fontsize=8)


def _of(rows: list[Row], figure: str, score: str, **settings: Any) -> list[float]:
    """Scores of the cells of a figure with given settings."""
    return [
        row[score]
        for row in rows
        if row["figure"] == figure and all(row.get(key) == value for key, value in settings.items())
    ]


def _values(rows: list[Row], figure: str, field: str) -> list[Any]:
    """Values of a field in the cells of a figure, in order."""
    return sorted({_plain(row[field]) for row in rows if row["figure"] == figure})


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _widths(panel: Any, score: str, rows: list[Row]) -> None:
    rows = [{**row, "widths": _plain(row["widths"])} for row in rows if row["figure"] == "widths"]
    groups = {
        f"{widths}{' joint' if bandwidths == 'joint' else ''}": _of(
            rows, "widths", score, widths=widths, bandwidths=bandwidths
        )
        for widths in _values(rows, "widths", "widths")
        for bandwidths in ("fixed", "joint")
    }
    _boxes(panel, groups)


def _depth(panel: Any, score: str, rows: list[Row]) -> None:
    for depth in _values(rows, "depth", "depth"):
        for bandwidths, style in (("fixed", "-o"), ("joint", "--s")):
            _mean_line(panel, score, rows, "depth", "n", style, f"{depth} layers, {bandwidths}", depth, bandwidths)
    _finish_lines(panel, "training images")


def _mean_line(
    panel: Any, score: str, rows: list[Row], figure: str, by: str, style: str, label: str, depth: int, bandwidths: str
) -> None:
    places = _values(rows, figure, by)
    groups = [_of(rows, figure, score, n=n, depth=depth, bandwidths=bandwidths) for n in places]
    if all(groups) and groups:
        spread = [np.std(g) / np.sqrt(len(g)) for g in groups]
        panel.errorbar(places, [np.mean(g) for g in groups], spread, fmt=style, label=label, capsize=2)


def _images(panel: Any, score: str, rows: list[Row]) -> None:
    colours = {"DRKM": "lightsteelblue", "VAE": "wheat"}
    groups = {}
    for n in sorted({row["n"] for row in rows}):
        groups[f"DRKM {n}"] = _of(rows, "gamma", score, n=n)
        groups[f"VAE {n}"] = _of(rows, "beta-VAE", score, n=n)
    _boxes(panel, groups, colours)


def _weights(panel: Any, score: str, rows: list[Row]) -> None:
    colours = {"gamma": "lightsteelblue", "beta": "wheat"}
    groups = {f"gamma {v:g}": _of(rows, "gamma", score, gamma=v) for v in _values(rows, "gamma", "gamma")}
    groups |= {f"beta {v:g}": _of(rows, "beta-VAE", score, beta=v) for v in _values(rows, "beta-VAE", "beta")}
    _boxes(panel, groups, colours)


def _lines(panel: Any, score: str, rows: list[Row]) -> None:
    gammas = _values(rows, "gamma", "gamma")
    for n in _values(rows, "gamma", "n"):
        groups = [_of(rows, "gamma", score, n=n, gamma=gamma) for gamma in gammas]
        if all(groups):
            spread = [np.std(g) / np.sqrt(len(g)) for g in groups]
            panel.errorbar(gammas, [np.mean(g) for g in groups], spread, marker="o", label=f"{n} images", capsize=2)
    if gammas:
        panel.set_xscale("log")
    _finish_lines(panel, "gamma = eta_1 / eta_2")


def _finish_lines(panel: Any, label: str) -> None:
    panel.set_xlabel(label)
    if panel.has_data():
        panel.legend(fontsize=7)
