"""The ``storage=`` of the estimators: which there are, what they read, and how much memory they take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate, check_memory, readable
from rkhs.engines import Block, Engine, Rows, Serial, Threads, as_rows
from rkhs.estimators.base import KernelEstimator, take
from rkhs.estimators.tiles import is_stream, note_columns
from rkhs.features import FeatureMap, Storage
from rkhs.features.base import check_room, resolve_thinned, sample_rows
from rkhs.kernels.base import Kernel
from rkhs.spaces.digits import check_row_digits
from rkhs.spaces.source import BLOCK

if TYPE_CHECKING:
    from rkhs.estimators.kernel_pca import KernelPCA

__all__ = [
    "announce",
    "announce_dense",
    "announce_features",
    "as_storage",
    "build_features",
    "check_blocked",
    "item_features",
    "make_data_engine",
    "read_row_weights",
    "read_rows",
]


def as_storage(storage: Any, name: str, allowed: tuple[str, ...], why: str = "") -> Storage | str:
    """Check the ``storage`` of an estimator.

    Parameters
    ----------
    storage : str or Storage
    name : str
        Of the estimator.
    allowed : tuple of str
        Among ``"dense"``, ``"blocked"``, ``"Nystroem"`` and ``"RandomFeatures"``.
    why : str
        Why the others do not fit, for messages.

    Returns
    -------
    Storage or str
    """
    options = ", ".join(repr(a) if a in ("dense", "blocked") else f"rkhs.features.{a}(m)" for a in allowed)
    if isinstance(storage, Storage) and not isinstance(storage, type):
        storage.check()
        if getattr(storage, "kernel", None) is not None:
            raise InputError(f"storage={storage!r} must leave kernel=None: the kernel is that of {name}")
        return storage
    elif isinstance(storage, str) and storage in allowed:
        return storage
    raise InputError(f"storage of {name} must be one of {options}; got {storage!r}{why}")


def build_features(storage: Storage, kernel: Kernel, items: Any) -> tuple[Kernel, FeatureMap]:
    """Resolve a kernel and choose the features of a storage; landmarks are training items."""
    check_room(storage, items)
    rng, n = check_seed(storage.random_state), len(items)
    sampled = None if kernel.domain == "gram" else sample_rows(n, storage.sample_size(n), rng)
    sample = take(items, sampled)
    resolved = resolve_thinned(kernel, sample, None)
    check_row_digits(resolved, sample, squared=True)
    return resolved, storage.build(resolved, sample, rng)


def item_features(kernel: Kernel, features: FeatureMap, items: Any) -> Tensor:
    """Features of all items, shape (n, r)."""
    F = torch.cat([features.features(items[i : i + BLOCK]) for i in range(0, len(items), BLOCK)])
    if not bool(torch.isfinite(F.sum())):
        raise InputError(f"the kernel {kernel!r} gives values that are not finite on these data; rescale the data")
    return F


def check_blocked(estimator: KernelPCA, kernel: Kernel, n: int) -> None:
    """Refuse what recomputed tiles cannot do, and announce their memory."""
    if kernel.domain == "gram":
        raise InputError("storage='blocked' recomputes kernel values; a Gram matrix is there already: use 'dense'")
    if not kernel.known_psd:
        raise InputError(
            f"storage='blocked' needs a kernel that is known to be positive semi-definite; got {kernel!r}. Use 'dense'"
        )
    if not (isinstance(estimator.loss, str) and estimator.loss == "squared"):
        raise InputError(f"loss={estimator.loss!r} needs storage='dense'; use loss='squared' with 'blocked'")
    columns = 1000  # of Krylov bases, or of a preconditioner
    n_bytes = 3 * 2**28 + 8 * n * 3 * columns
    what = f"{type(estimator).__name__} on n={n} rows with storage='blocked'"
    announce(estimator, Estimate(what, n_bytes, "tiles and bases of n x 1000"), "Use storage=Nystroem(m)")


def make_data_engine(estimator: KernelEstimator, blocks: tuple[Block, ...]) -> Engine:
    """Who computes the blocks: the engine that was asked for, or threads where there are several blocks and cores."""
    if getattr(estimator, "_engine", None) is not None:
        return estimator._engine
    device = estimator._options["device"].type
    return Serial() if len(blocks) == 1 or device != "cpu" else Threads(torch.get_num_threads())


def announce(estimator: KernelEstimator, estimate: Estimate, advice: str) -> None:
    """Say how much memory a fit will take, and refuse one that cannot fit.

    Parameters
    ----------
    estimator : estimator
        Gets the attribute ``announced_bytes_``.
    estimate : Estimate
    advice : str
        What to do instead.

    Raises
    ------
    InputError
        Above 60 % of what there is.
    """
    estimator.announced_bytes_ = int(estimate.n_bytes)
    check_memory(estimate, advice)
    if getattr(estimator, "verbose", 0):
        sys.stderr.write(f"{estimate.what}: about {readable(estimate.n_bytes)} ({estimate.parts})\n")


def announce_dense(estimator: KernelEstimator, n: int, matrices: float, advice: str | None = None) -> None:
    """Announce a fit that holds so many n x n matrices.

    Parameters
    ----------
    estimator : estimator
    n : int
    matrices : float
    advice : str, optional
    """
    size = 8 if estimator.dtype == "float64" else 4
    what = f"{type(estimator).__name__} on n={n} rows"
    if hasattr(estimator, "storage"):
        what += " with storage='dense'"
    if advice is None:
        m = 1000
        advice = f"Use storage=Nystroem({m}) of rkhs.features, which needs about {readable(16.0 * m * (n / 20 + m))}"
        if not hasattr(estimator, "storage"):
            advice = "Use fewer rows, or an estimator with a storage"
    n_bytes = int(matrices * size * n * n) + 2**25
    announce(estimator, Estimate(what, n_bytes, f"{matrices:g} matrices of n x n"), advice)


def announce_features(
    estimator: KernelEstimator, storage: Storage, n: int, columns: int, outputs: int, codes: int, *, layers: int
) -> None:
    """Announce a fit in finite features.

    Parameters
    ----------
    estimator : estimator
    storage : Storage
    n, columns, outputs, codes : int
        Rows; columns of inputs, of targets and of codes.
    layers : int
        1: features alone; 2: a decoder on landmarks too.
    """
    size = 8 if estimator.dtype == "float64" else 4
    m = min(n, storage.m) if storage.keeps_items else storage.m + columns
    anchors = min(n, storage.m) if layers == 2 else 0
    block, workers = min(n, BLOCK), min(torch.get_num_threads(), -(-n // BLOCK))
    levels = max(1, (-(-n // BLOCK)).bit_length())
    tiles = workers * block * (size * (2 * m + 3 * anchors + 2 * outputs + columns) + 16 * columns)
    largest = max(m, anchors)
    squares = 8 * largest * largest * (levels + 4 * workers + 6)
    sample = storage.sample_size(n)
    small = 8 * sample * columns * 3 + 12 * min(n, 3000) ** 2 + 8 * min(n, 16 * BLOCK) * columns * 2
    n_bytes = tiles + squares + small + n * codes * 24 + 2**25
    what = f"{type(estimator).__name__} on n={n} rows with storage={storage!r}"
    advice = "Use fewer landmarks or features, or fewer components"
    announce(estimator, Estimate(what, int(n_bytes), "tiles, m x m matrices and codes"), advice)


def read_rows(model: KernelEstimator, X: Any, kernel: Kernel) -> Any:
    """Training data: rows that are read from where they are, a tensor, or a list."""
    if kernel.domain == "vectors" and is_stream(X):
        model._check_columns("stream")
        rows = as_rows(X)
        note_columns(model, rows, X, reset=True)
        return rows
    return model._read_training(X, kernel, at_least=1)


def read_row_weights(
    model: KernelEstimator, sample_weight: Any, data: Any, kernel: Kernel, goal: Any = None
) -> tuple[Any, Any, np.ndarray | None, float]:
    """Rows of positive weight, their targets if any are given, their weights in float64, and the sum of all weights.

    Rows of a file all stay, zero ones count nothing.
    """
    n = data.shape[0] if isinstance(data, Rows) else len(data)
    kept, weights, total = model._read_weights(sample_weight, n)
    w = None if weights is None else weights.to("cpu", torch.float64).numpy()
    model._kept_rows, model._n_training = None, n
    if kept is None or not isinstance(data, Rows):
        model._kept_rows = kept
        return take(data, kept, square=kernel.domain == "gram"), take(goal, kept), w, total
    full = np.zeros(n)
    full[kept] = 1.0 / len(kept) if w is None else w
    return data, goal, full, total
