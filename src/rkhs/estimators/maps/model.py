"""From training items to a fitted map: distinct items in an order of their own, codes, decoder, quality."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.spatial
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs.estimators.maps.decoder import fit_decoder
from rkhs.estimators.maps.fit import EXACT, MapRows, fit_codes
from rkhs.estimators.training import Training, equal_rows
from rkhs.kernels.base import Kernel
from rkhs.models import MapQuality, NeighbourMapModel
from rkhs.models.neighbour_map import fixed_sums, placed
from rkhs.outputs import Euclidean
from rkhs.problems.neighbour_map import Neighbours, Placing
from rkhs.problems.neighbours import Distances
from rkhs.protocols import Reason, Solution
from rkhs.spaces.features import WholeMap
from rkhs.spaces.source import Options
from rkhs.spaces.whole import training_gram

_NEAREST, _CHECKED = 10, 1000  # neighbours that a recall counts, and rows that are placed as if they were new


def fit_map(
    kernel: Kernel,
    training: Training,
    options: Options,
    *,
    n_components: int,
    n_neighbors: int,
    weight: float,
    init: Tensor | None = None,
    stay: Tensor | None = None,
) -> tuple[NeighbourMapModel, Solution]:
    """The map of training items; ``init`` (N, p) are codes to start from, ``stay`` (N,) ones for rows that stay near."""
    items, vectors = training.items, kernel.domain == "vectors"
    weights = torch.ones(len(training)) if training.weights is None else training.weights * training.total
    kernel = kernel if vectors else kernel.resolve(items, training.weights)
    table = items if vectors else training_gram(kernel, items, options)
    distinct, kind = distinct_rows(table, gram=not vectors)
    mass = torch.zeros(len(distinct), dtype=torch.float64).index_add_(0, kind, weights.double())
    mass = (mass / mass.sum()).float().double()  # rounding of sums must not tell copies of a row from its weight
    mass = mass / mass.sum()
    if vectors:
        table = items[distinct]
        kernel = kernel.resolve(table, None if training.weights is None and len(mass) == len(items) else mass.to(items))
        distances, diagonal = vector_distances(kernel, table.float() if len(mass) > EXACT else table)
    else:
        table = table[distinct][:, distinct].double()
        diagonal = table.diagonal()
        distances = gram_distances(table)
    precision = torch.float32 if len(mass) > EXACT else torch.float64
    rows = MapRows(distances, mass.to(precision), n_neighbors, n_components, weight)
    neighbours = rows.neighbours()
    first = None if init is None else init[distinct].to(precision)
    solution = fit_codes(rows, neighbours, first, None if stay is None else stay[distinct].to(precision))
    Z, back, lost = solution.point.double(), None, None
    if vectors:
        output, targets = Euclidean.fit(table, mass.to(table), center=True, scale=True)
        back, lost = fit_decoder(Z, targets.double(), mass, output)
    quality = replace(map_quality(rows, neighbours, Z), row_recall=row_recall(neighbours, Z)[kind], lost=lost)
    parts = (one.numpy() for one in (distinct, kind, Z, mass, diagonal.double()))
    features = WholeMap(kernel, None if kernel.domain == "gram" else as_numpy(items), len(items))
    model = NeighbourMapModel(kernel, features, *parts, n_neighbors, quality, back)
    planned = solution.reason is Reason.MAX_ITER
    return model, replace(solution, reason=Reason.SCHEDULE) if planned else solution


def distinct_rows(table: Tensor, *, gram: bool) -> tuple[Tensor, Tensor]:
    """One of each kind of equal rows, in an order that depends on their contents alone, and the kind of each row.

    They are ordered by their distance to the mean, to nine digits; where it is equal by their values. Those of a row of a
    Gram matrix are sorted first, so that the order of the columns does not matter.
    """
    kinds = equal_rows(table)
    _, first = np.unique(kinds, return_index=True)
    content = table[first].double()
    if gram:
        content = content[:, first].sort(1).values
        far = table.diagonal()[first].double() - 2.0 * content.mean(1)
    else:
        far = (content - content.sort(0).values.mean(0)).square().sum(1)
    rounded = (far / far.abs().max().clamp_min(1e-300)).numpy().round(9)
    keys = [(key, row.tobytes()) for key, row in zip(rounded.tolist(), content.numpy() + 0.0, strict=True)]
    order = sorted(range(len(first)), key=keys.__getitem__)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return torch.as_tensor(first[order]), torch.as_tensor(rank[kinds])


def vector_distances(kernel: Kernel, X: Tensor) -> tuple[Distances, Tensor]:
    """Squared distances of rows of vectors by number, and ``k(x, x)``."""
    diagonal = kernel._diag(X)
    return lambda a, b: kernel._gram(X[a], X[b]).mul_(-2.0).add_(diagonal[a, None]).add_(diagonal[b]), diagonal


def gram_distances(K: Tensor) -> Distances:
    """Squared distances of items by number."""
    diagonal = K.diagonal()
    return lambda a, b: diagonal[a, None] + diagonal[b] - 2.0 * K[a[:, None], b]


def row_recall(neighbours: Neighbours, Z: Tensor) -> np.ndarray:
    """Share of the ten nearest neighbours of each row that are its ten nearest in the map, shape (n,)."""
    count = min(_NEAREST, neighbours.columns.shape[1])
    near = scipy.spatial.cKDTree(Z.numpy()).query(Z.numpy(), count + 1)[1]
    every = np.arange(len(Z))[:, None]
    found = torch.as_tensor(np.where(near == every, -1, near))
    return _shared(found, neighbours.columns[:, :count])


def map_quality(rows: MapRows, neighbours: Neighbours, Z: Tensor) -> MapQuality:
    """Of some rows that are placed as if they were new, and of the distances to some rows."""
    n = len(Z)
    some = torch.linspace(0, n - 1, min(n, _CHECKED)).long()
    mass, columns = neighbours.mass.double(), neighbours.columns[some]
    out = (Z[some], mass[some])
    new = placed(Placing(Z, fixed_sums(Z, mass), columns, neighbours.shares[some].double(), left_out=out)).numpy()
    count = min(_NEAREST, columns.shape[1])
    near = scipy.spatial.cKDTree(Z.numpy()).query(new, count + 1)[1]
    near = np.where(near == some.numpy()[:, None], n, near)
    kept = np.take_along_axis(near, np.argsort(near == n, axis=1, kind="stable")[:, :count], 1)
    recall = float(np.average(_shared(torch.as_tensor(kept), columns[:, :count]), weights=mass[some].numpy()))
    return MapQuality(recall, np.zeros(0), 1.0 - rows.correlation(1.0)(Z.to(rows.mass))[0], None)


def _shared(found: Tensor, wanted: Tensor) -> np.ndarray:
    """Share of the wanted numbers that were found, a row each."""
    return (found[:, :, None] == wanted[:, None]).any(1).double().mean(1).numpy()
