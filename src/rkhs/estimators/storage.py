"""The ``storage=`` of the estimators: the space that each opens, and how much memory it takes."""

from __future__ import annotations

from collections.abc import Sized

import torch

from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate
from rkhs.engines import Threads, count_threads
from rkhs.estimators.run import Run
from rkhs.estimators.training import Training
from rkhs.kernels.base import Kernel
from rkhs.spaces import BLOCK, Data, MappedSpace, Space, WholeSpace, open_source, training_gram
from rkhs.spaces.features import Storage
from rkhs.spaces.features.base import most_features, resolve_subsampled
from rkhs.spaces.grams import Blocked, Dense
from rkhs.spaces.rounding import check_row_digits


def open_space(run: Run, storage: Storage | str, kernel: Kernel, training: Training) -> Space:
    """The space of a storage on the training items."""
    if isinstance(storage, Storage):
        data = training.items
        source = open_source(run.options, storage, kernel, data, training.row_weights)
        engine = run.engine_for(source.blocks)
        passes = Data(engine.place(source.rows), source.blocks, engine)
        diagonal = source.kernel._diag(data) if kernel.domain == "gram" else None
        return MappedSpace(source, passes, source.block_pass(run.options), storage.m, diagonal)
    items, weights = training.items, training.weights
    if storage == "dense":
        resolved = kernel.resolve(items, weights)
        return WholeSpace(Dense(training_gram(resolved, items, run.options)), resolved, items, weights)
    resolved = resolve_subsampled(kernel, items, weights)
    check_row_digits(resolved, items)
    threads = Threads(count_threads()) if run.options["device"].type == "cpu" else None
    gram = Blocked(resolved, items, engine=run.engine or threads)
    weights = None if weights is None else weights.to(gram.diag())  # kernel values of objects are in double precision
    return WholeSpace(gram, resolved, items, weights)


def announce_blocked(run: Run, kernel: Kernel, n: int) -> None:
    """Refuse kernels that may be indefinite, and announce the memory of a blocked fit."""
    if not kernel.known_psd:
        raise InputError(
            f"storage='blocked' needs a kernel that is known to be positive semi-definite; got {kernel!r}. Use 'dense'"
        )
    columns = 1000  # of Krylov bases, or of a preconditioner
    n_bytes = 3 * 2**28 + 8 * n * 3 * columns
    run.announce(_estimate(run, "blocked", n, n_bytes, "tiles and bases of n x 1000"), "Use storage=Nystroem(m)")


def announce_features(
    run: Run, storage: Storage, n: int, columns: int, outputs: int, codes: int, *, layers: int, resident: int = 0
) -> None:
    """Announce a fit in finite features."""
    size = 8 if run.options["dtype"] == torch.float64 else 4
    m = min(n, storage.m) if storage.keeps_items else storage.m + columns
    anchors = min(n, storage.m) if layers == 2 else 0
    block, workers = min(n, BLOCK), min(count_threads(), -(-n // BLOCK))
    levels = max(1, (-(-n // BLOCK)).bit_length())
    tiles = workers * block * (size * (2 * m + 3 * anchors + 2 * outputs + columns) + 16 * columns)
    largest = max(m, anchors)
    squares = 8 * largest * largest * (levels + 4 * workers + 6)
    sample = storage.sample_size(n)
    small = 8 * sample * columns * 3 + 12 * min(n, 3000) ** 2 + 8 * min(n, 16 * BLOCK) * columns * 2
    kept = 8 * n * m
    n_bytes = tiles + squares + small + n * codes * 24 + 2**25 + (kept if kept <= resident else 0)
    advice = "Use fewer landmarks or features, or fewer components"
    run.announce(_estimate(run, storage, n, n_bytes, "tiles, m x m matrices and codes"), advice)


def announce_points(run: Run, storage: Storage | str, items: Sized, n: int, width: int | None) -> None:
    """Announce a contrastive fit on ``n`` points, of which ``items`` are the first."""
    if not isinstance(storage, Storage):
        return run.announce_dense(n, 3.0) if n > len(items) else None
    m = most_features(storage, items) if width is None else width
    n_bytes = 4 * (8 if run.options["dtype"] == torch.float64 else 4) * n * m + 40 * m**2 + 2**28
    estimate = _estimate(run, storage, len(items), n_bytes, "features of all points")
    return run.announce(estimate, "Use fewer landmarks or features, or rows")


def announce_layers(run: Run, storage: Storage | str, n: int, codes: int) -> None:
    """Announce a deep machine with ``codes`` columns of codes in all, on finite features."""
    if isinstance(storage, Storage):
        size, m = 8 if run.options["dtype"] == torch.float64 else 4, storage.m
        n_bytes = size * n * (5 * m + 60 * (codes + 8)) + 40 * m**2 + 2**29
        run.announce(
            _estimate(run, storage, n, n_bytes, "features, bases and tiles"), "Use fewer landmarks or features"
        )


def _estimate(run: Run, storage: Storage | str, n: int, n_bytes: float, parts: str) -> Estimate:
    return Estimate(f"{run.name} on n={n} rows with storage={storage!r}", int(n_bytes), parts)
