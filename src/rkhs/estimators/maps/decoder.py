"""The decoder of a map, kernel ridge regression with a free linear part, and the recall of neighbours.

Leave-one-out errors at fixed codes mislead: held-out rows are placed in the map as new ones with each candidate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.spatial
import torch
from torch import Tensor

from rkhs.kernels import Matern
from rkhs.models import CodeRegression
from rkhs.models.neighbour_map import embedded, fixed_sums, projected_decoder
from rkhs.outputs import Euclidean
from rkhs.problems.last_layers import AnchorsLayer
from rkhs.problems.neighbour_map import Neighbours, OutOfSample

_ANCHORS, _COMPARED = 2000, 1500  # anchors of the decoder, and of the candidates
_FOLDS, _LEFT_OUT = 4, 200  # folds, and largest number of rows of a fold that are held out
_WIDTHS_AND_REGS = ((1.0, 1e-3), (0.5, 1e-4), (0.25, 1e-5), (0.12, 1e-5))  # in units of the spread of the codes
_NEARLY = 1.02  # a smoother decoder within this factor of the error is preferred: it moves rows less from neighbours
_LEAST, _POWER = 0.01, -0.5  # weight of the decoder in a placement: its error, at least 0.01, to this power


class Checked(NamedTuple):
    """Rows that were placed as if they were new, and the held-out error of the decoder."""

    rows: Tensor  # (m,)
    places: Tensor  # (m, p)
    lost: float | None = None  # as a share of the variance
    misfit: float = 1.0  # weight of the decoder with which they were placed


def fit_decoder(
    placing: OutOfSample, targets: Tensor, weights: Tensor, output: Euclidean
) -> tuple[CodeRegression, Checked]:
    """The decoder from the codes of a map to targets (n, r) of variance one, and its held-out error."""
    Z = placing.codes
    spread = float((weights @ (Z - weights @ Z) ** 2).mean().sqrt())
    tried = [(Matern(1.5, 1.0 / (width * spread)), reg) for width, reg in _WIDTHS_AND_REGS]
    best, chosen = tried[0], _check(*tried[0], placing, targets, weights, output)
    for each in tried[1:]:  # from smooth to rough, until the error rises
        placing = replace(placing, misfit=max(chosen.lost or 0.0, _LEAST) ** _POWER)
        found = _check(*each, placing, targets, weights, output)
        if (found.lost or 0.0) < (chosen.lost or 0.0) / _NEARLY:
            best, chosen = each, found
        elif (found.lost or 0.0) > (chosen.lost or 0.0):
            break
    return _regression(*best, Z, targets, weights, output, torch.arange(len(Z)), _ANCHORS), chosen


def _check(
    kernel: Matern, reg: float, placing: OutOfSample, targets: Tensor, weights: Tensor, output: Euclidean
) -> Checked:
    """Place the rows of each fold with the decoder of the others."""
    Z, n = placing.codes, len(placing.codes)
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for part in range(min(_FOLDS, n, max(1, 1000 // n))):
        left_out = torch.arange(part, n, _FOLDS)
        left_out = left_out[torch.linspace(0, len(left_out) - 1, min(len(left_out), _LEFT_OUT)).long()]
        others = torch.ones(n, dtype=torch.bool).index_fill_(0, left_out, False).nonzero()[:, 0]
        back = _regression(kernel, reg, Z, targets, weights, output, others, _COMPARED)
        decoder, directions = projected_decoder(back)
        found = embedded(replace(placing.rows(left_out), decoder=decoder, targets=targets[left_out] @ directions))
        parts.append((left_out, found, (back.of(found) - targets[left_out]).square().sum(1)))
    rows, places, errors = (torch.cat(each) for each in zip(*parts, strict=True))
    return Checked(rows, places, float(weights[rows] @ errors / weights[rows].sum()), placing.misfit)


def _regression(
    kernel: Matern, reg: float, Z: Tensor, targets: Tensor, weights: Tensor, output: Euclidean, rows: Tensor, most: int
) -> CodeRegression:
    """The decoder fitted to ``rows``, with at most ``most`` anchors."""
    n = len(rows)
    anchors = torch.linspace(0, n - 1, min(n, most)).long()
    others = torch.ones(n, dtype=torch.bool).index_fill_(0, anchors, False).nonzero()[:, 0]
    order = rows[torch.cat([anchors, others])]
    weights = weights[order] / weights[order].sum()
    layer = AnchorsLayer.of(targets[order], kernel, len(anchors), reg, weights, None)
    found = layer.solve(Z[order], layer.sums(Z[order]))
    assert found.linear is not None
    parts = (found.anchors, found.coefficients, found.linear)
    return CodeRegression(kernel, *(part.contiguous().numpy() for part in parts), output=output, reg=reg)


_NEAREST, _CHECKED = 10, 1000  # neighbours that a recall counts, and rows that are placed as if they were new


def row_recall(neighbours: Neighbours, Z: Tensor) -> np.ndarray:
    """Share of the ten nearest neighbours of each row that are its ten nearest in the map, shape (n,)."""
    return _recall(neighbours, Z, torch.arange(len(Z)), Z)


def left_out(neighbours: Neighbours, Z: Tensor, weights: Tensor) -> OutOfSample:
    """The problem of placing all rows of a map as if they were new."""
    return OutOfSample(Z, fixed_sums(Z, weights), neighbours.columns, neighbours.affinities.double(), (Z, weights))


def placed_rows(problem: OutOfSample) -> tuple[Tensor, Tensor]:
    """Some rows, and their codes if they are placed by their neighbours alone."""
    some = torch.linspace(0, len(problem.codes) - 1, min(len(problem.codes), _CHECKED)).long()
    return some, embedded(problem.rows(some))


def new_recall(neighbours: Neighbours, Z: Tensor, rows: Tensor, places: Tensor) -> float:
    """Mean recall of rows that were placed as if they were new."""
    return float(np.average(_recall(neighbours, Z, rows, places), weights=neighbours.weights[rows].double().numpy()))


def _recall(neighbours: Neighbours, Z: Tensor, rows: Tensor, places: Tensor) -> np.ndarray:
    """Compute the recall of some rows with given codes; a row is no neighbour of itself."""
    wanted = neighbours.columns[rows, :_NEAREST]
    near = scipy.spatial.cKDTree(Z.numpy()).query(places.numpy(), wanted.shape[1] + 1)[1]
    last = np.argsort(near == rows.numpy()[:, None], axis=1, kind="stable")  # the row itself, or the farthest
    found = torch.as_tensor(np.take_along_axis(near, last, 1)[:, :-1])
    return np.asarray((found[:, :, None] == wanted[:, None]).any(1).double().mean(1).numpy())
