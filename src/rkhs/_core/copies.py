"""Copies: items that a kernel cannot distinguish; and repeats: items as near to each other as repeated measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy, tile_rows, tiles
from rkhs._core.errors import RepeatWarning, warn

_SAME = 1e-12  # squared distance below which two items are copies, relative to their squared norms
_SAME_TARGETS = 1e-6  # the same of targets, a distance relative to their range
_GAP = 3.0  # distances within groups of repeats are smaller than those between by this factor
_MIN_GROUPS, _MIN_SHARE, _MAX_MEAN_SIZE = 5, 0.5, 20  # groups, rows in groups, and mean size of a group, of repeats
_MIN_ITEMS, _MIN_REPEATED = 20, 0.05  # of equal rows: items, and share of the rows that repeat one
_MEASURED, _MEASURED_SHARE = 20, 0.1  # different values of a measured column, and as a share of the rows
_MAX_WITHIN_VARIANCE = 0.5  # variance of the targets within groups of repeats, relative to that of all

_TOO_SMALL = (
    "Leave-one-out errors and prediction sets are then too small for new items: pass groups=, one label for each item"
)


def same_items(K: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Whether ``k(x, x) + k(y, y) - 2 k(x, y)`` is zero up to rounding, for items of rows and of columns."""
    norms = rows[:, None] + columns
    return norms - 2.0 * K <= max(_SAME, 16.0 * float(torch.finfo(K.dtype).eps)) * norms


def copies(grams: Sequence[Tensor], targets: Tensor | None = None) -> np.ndarray:
    """Index of the first copy of each item (n,): equal under all kernels and with equal targets (n, q)."""
    n = len(grams[0])
    places = torch.arange(n, device=grams[0].device)
    found = torch.cat([_copies_of(grams, targets, places[tile]).argmax(1) for tile in tiles(n, tile_rows(n))])
    for i in (found[found] != found).nonzero()[:, 0]:  # near the tolerance the match may be a copy of an earlier item
        alike = _copies_of(grams, targets, i[None])[0] & (found == places).to(torch.uint8)
        found[i] = alike.argmax() if bool(alike[:i].any()) else i
    return found.cpu().numpy()


def are_measured(X: Any) -> bool:
    """Whether some column of a table (n, d) has many different values, so that equal rows are one row given again.

    Else rows are combinations of a few values, such as yes and no, or the levels of categories. New rows of the same
    law have the same combinations, and their errors are those of rows left out one by one, though equal ones stay.
    """
    rows = as_numpy(X)
    least = max(_MEASURED, _MEASURED_SHARE * len(rows))
    if len(rows) < 4 * _MEASURED:  # of few rows a measured column may tell all different ones apart
        least = min(least, max(len(np.unique(rows, axis=0)), len(rows) / 4))
    return any(len(np.unique(column)) >= least for column in rows.T)


def copies_last(X: Tensor, order: np.ndarray) -> tuple[np.ndarray, int]:
    """Move copies of earlier rows (n, d) in an order to its end, and count the other rows."""
    # Rows are compared with their neighbours along one random direction, where copies lie next to each other.
    mean, seed = X.mean(0), torch.Generator().manual_seed(0)
    direction = torch.randn(X.shape[1], generator=seed, dtype=torch.float64).to(X)
    along = torch.argsort(X @ direction, stable=True)
    starts = torch.ones(len(X), dtype=torch.int64, device=X.device)
    for tile in tiles(len(X) - 1, tile_rows(X.shape[1])):
        Y = X[along[tile.start : tile.stop + 1]] - mean
        norms = (Y * Y).sum(1)
        starts[tile.start + 1 : tile.stop + 1] = (Y[1:] - Y[:-1]).square().sum(1) > _SAME * (norms[1:] + norms[:-1])
    group = torch.empty_like(along)
    group[along] = starts.cumsum(0)
    drawn = group.cpu().numpy()[order]
    first = np.zeros(len(X), dtype=bool)
    first[np.unique(drawn, return_index=True)[1]] = True
    return np.concatenate([order[first], order[~first]]), int(first.sum())


def _copies_of(grams: Sequence[Tensor], targets: Tensor | None, rows: Tensor) -> Tensor:
    """Whether each item is a copy of each row, shape (b, n), as 0 and 1."""
    same = torch.stack([same_items(K[rows], K.diagonal()[rows], K.diagonal()) for K in grams]).all(0)
    same[torch.arange(len(rows)), rows] = True
    some = (same.sum(1) > 1).nonzero()[:, 0]
    if targets is not None and len(some):
        bound = torch.finfo(targets.dtype).max
        lowest = targets.nan_to_num(nan=bound).min(dim=0).values
        highest = targets.nan_to_num(nan=-bound).max(dim=0).values
        limit = _SAME_TARGETS * float((highest - lowest).clamp_min(0.0).max())
        Y = targets.nan_to_num(nan=bound)
        same[some] &= torch.cdist(Y[rows[some]], Y, p=float("inf")) <= limit
    return same.to(torch.uint8)


def repeats(K: Tensor, targets: Tensor) -> np.ndarray | None:
    """Number the groups (n,) of items much nearer to each other than to others, with like targets; None: no groups.

    Single linkage in the distance of the kernel. Repeats of a measurement make many small groups with a gap between the
    distances within and between them.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    d = K.diagonal()
    D = (d[:, None] + d - 2.0 * K).cpu().numpy().astype(np.float64)
    floor = max(_SAME, 16.0 * float(torch.finfo(K.dtype).eps)) * float(d.mean())
    tree = linkage(squareform(np.sqrt(D.clip(floor)), checks=False), "single")
    n, heights = len(K), tree[:, 2]
    for place in np.flatnonzero((heights[1:] / heights[:-1]) >= _GAP):
        groups = fcluster(tree, heights[place], "distance")
        sizes = np.bincount(groups)
        many = sizes[sizes > 1]
        if len(many) >= _MIN_GROUPS and _MIN_SHARE * n <= many.sum() <= _MAX_MEAN_SIZE * len(many):
            inside = sizes[groups] > 1
            if _within(targets.cpu().numpy()[inside], groups[inside]) < _MAX_WITHIN_VARIANCE * float(
                targets.var(0).sum()
            ):
                return groups
    return None


def warn_of_repeats(K: Tensor, targets: Tensor, numbers: np.ndarray) -> None:
    """Warn if rows (without copies, which have one number) are, or look like, repeats of measurements."""
    first = torch.from_numpy(np.unique(numbers)).to(K.device)
    items = len(np.unique(copies([K[first][:, first]])))
    if items >= _MIN_ITEMS and (repeated := len(first) - items) >= _MIN_REPEATED * len(first):
        warn(
            f"{repeated} of {len(first)} different rows have the item of an earlier row, and another target. "
            f"{_TOO_SMALL}, or cv='items' to OperatorKernelRegressorCV",
            RepeatWarning,
        )
        return
    groups = repeats(K[first][:, first], targets[first]) if len(first) > _MIN_GROUPS else None
    if groups is None:
        return
    sizes = np.bincount(groups)
    many = sizes[sizes > 1]
    warn(
        f"{many.sum()} of {len(first)} different rows look like repeats of {len(many)} items: they are nearer to each "
        f"other than to all other rows by a factor of {_GAP:.0f}, with similar targets. {_TOO_SMALL}",
        RepeatWarning,
    )


def _within(targets: np.ndarray, groups: np.ndarray) -> float:
    """Variance (sum over columns) of targets within their groups."""
    _, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), targets.shape[1]))
    np.add.at(sums, number, targets)
    residuals = targets - (sums / sizes[:, None])[number]
    return float((residuals**2).sum() / (len(targets) - len(sizes)))
