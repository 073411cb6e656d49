"""From training items to a fitted map: codes, decoder, quality."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.memory import Estimate
from rkhs.estimators.maps.decoder import Checked, fit_decoder, left_out, new_recall, placed_rows, row_recall
from rkhs.estimators.maps.distinct_items import DistinctItems
from rkhs.estimators.maps.fit import MapRows, fit_codes
from rkhs.models import CodeRegression, MapQuality, NeighbourMapModel
from rkhs.outputs import Euclidean
from rkhs.problems.cauchy_grid import MAX_ALL_PAIRS
from rkhs.protocols import Reason, Solution
from rkhs.spaces.features import WholeMap
from rkhs.spaces.source import Options

if TYPE_CHECKING:
    from rkhs.estimators.training import Training
    from rkhs.kernels.base import Kernel
    from rkhs.problems.neighbour_map import OutOfSample


def map_memory(n: int, columns: int) -> Estimate:
    """Memory of a fit, as measured from 1,000 rows of 4 columns to 4,000 of 300."""
    some = 2**25 + 56 * min(n, 1500) ** 2 + (2**27 if n > 1500 else 0)
    return Estimate(
        f"KernelMap on n={n} rows",
        some + n * (44 * columns + 10_000),
        "a map of some rows, neighbours of all",
    )


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
    """Fit the map of training items from codes ``init`` (N, p); rows with ``stay`` (N,) one are held near them."""
    items = DistinctItems.of(kernel, training, options)
    precision = torch.float32 if len(items.weights) > MAX_ALL_PAIRS else torch.float64
    rows = MapRows(items.distances(precision), items.weights.to(precision), n_neighbors, n_components, weight)
    neighbours = rows.neighbours()
    start, near = (None if one is None else one[items.distinct].to(precision) for one in (init, stay))
    solution = fit_codes(rows, neighbours, start, near)
    if solution.reason is Reason.MAX_ITER:  # the planned number of steps
        solution = replace(solution, reason=Reason.SCHEDULE)
    Z = solution.point.double().contiguous()
    placing = left_out(neighbours, Z, items.weights)
    back, checked = _decoder(items, placing)
    quality = MapQuality(
        recall=new_recall(neighbours, Z, checked.rows, checked.places),
        row_recall=row_recall(neighbours, Z)[items.kind],
        correlation=1.0 - rows.correlation(1.0)(solution.point)[0],
        lost=checked.lost,
    )
    items_kept = None if items.kernel.domain == "gram" else as_numpy(training.items)
    model = NeighbourMapModel(
        kernel=items.kernel,
        map=items.landmarks or WholeMap(items.kernel, items_kept, len(training)),
        distinct=items.distinct.numpy(),
        kind=items.kind.numpy(),
        places=Z.numpy(),
        weights=items.weights.numpy(),
        diagonal=items.diagonal.double().contiguous().numpy(),
        n_neighbors=n_neighbors,
        quality=quality,
        back=back,
        features=None if items.landmarks is None else items.table.numpy(),
        misfit=checked.misfit,
    )
    vars(model)["sums"] = placing.sums  # reused: recomputing them takes as long as some steps
    return model, solution


def _decoder(items: DistinctItems, placing: OutOfSample) -> tuple[CodeRegression | None, Checked]:
    """The decoder from codes to vectors (None for other items), and rows placed as if they were new."""
    if items.kernel.domain != "vectors":
        return None, Checked(*placed_rows(placing))
    output, targets = Euclidean.fit(items.table, items.weights.to(items.table), center=True, scale=True)
    return fit_decoder(placing, targets.double(), items.weights, output)
