"""Quality of a map: recall of neighbours, for training codes and for rows placed as if they were new."""

from __future__ import annotations

import numpy as np
import scipy.spatial
import torch
from torch import Tensor

from rkhs.models.neighbour_map import embedded, fixed_sums
from rkhs.problems.neighbour_map import Neighbours, OutOfSample

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
