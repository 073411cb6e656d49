"""The ``storage=`` of the estimators: which there are, what they read, and how much memory they take."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import to_tensor
from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate, check_memory, readable
from rkhs.engines import ArrayRows, Block, Engine, Rows, Serial, Threads, as_rows, row_blocks
from rkhs.estimators.base import take
from rkhs.estimators.digits import check_row_digits
from rkhs.features import FeatureMap, Features, RandomFeatures
from rkhs.features.base import EvaluatedMap, sample_rows, thinned
from rkhs.kernels.base import Kernel
from rkhs.problems.feature_sums import Sweep

__all__ = [
    "BLOCK",
    "Source",
    "announce",
    "announce_dense",
    "announce_features",
    "as_storage",
    "build_features",
    "check_blocked",
    "is_stream",
    "item_features",
    "make_data_engine",
    "note_columns",
    "open_source",
    "positive_rows",
    "read_row_weights",
    "read_rows",
    "resolve_thinned",
]

BLOCK = 4096
"""Rows of a block: part of the result as a seed is."""


def as_storage(storage: Any, name: str, allowed: tuple[str, ...], why: str = "") -> Features | str:
    """Check the ``storage`` of an estimator.

    Parameters
    ----------
    storage : str or Features
    name : str
        Of the estimator.
    allowed : tuple of str
        Among ``"dense"``, ``"blocked"``, ``"Nystroem"`` and ``"RandomFeatures"``.
    why : str
        Why the others do not fit, for messages.

    Returns
    -------
    Features or str
    """
    options = ", ".join(repr(a) if a in ("dense", "blocked") else f"rkhs.features.{a}(m)" for a in allowed)
    if isinstance(storage, Features):
        if any(cls.__name__ in allowed for cls in type(storage).__mro__):  # subclasses are storages too
            storage.check()
            if storage.kernel is not None:
                raise InputError(f"storage={storage!r} must leave kernel=None: the kernel is that of {name}")
            return storage
    elif isinstance(storage, str) and storage in allowed:
        return storage
    raise InputError(f"storage of {name} must be one of {options}; got {storage!r}{why}")


def is_stream(X: Any) -> bool:
    """Whether data are read block by block: memory maps, open rows, paths and Dask collections."""
    library = type(X).__module__.partition(".")[0]
    return isinstance(X, (Rows, np.memmap)) or library in ("dask", "dask_expr")


@dataclass(frozen=True)
class Source:
    """Training data of a model in finite features.

    Parameters
    ----------
    rows : Rows
        What blocks are read from: inputs, then targets unless these are the inputs.
    n, columns : int
        Rows, and columns that are inputs.
    weights : ndarray of shape (n,) or None
        Sum to one; None: equal.
    kernel : Kernel
        Resolved.
    features : FeatureMap
        Of the model.
    evaluated : FeatureMap
        The same on ``rows``, which hold raw features where the kernel is evaluated once.
    diag : float
        Mean of ``k(x, x)`` over (a sample of) the rows.
    sample : Tensor
        Inputs of the rows that were sampled, as ``rows`` has them.
    sampled : ndarray of shape (s,) or None
        Their numbers; None: all.
    blocks : tuple of Block
    """

    rows: Rows
    n: int
    columns: int
    weights: np.ndarray | None
    kernel: Kernel
    features: FeatureMap
    evaluated: FeatureMap
    diag: float
    sampled: np.ndarray | None
    blocks: tuple[Block, ...]

    def sweep(self, estimator: Any) -> Sweep:
        """What blocks need to know of these data."""
        options = estimator._options
        return Sweep(self.evaluated, options["dtype"], str(options["device"]), self.columns, self.weights, self.n)


def open_source(
    estimator: Any, storage: Features, kernel: Kernel, X: Any, weights: np.ndarray | None, goal: Tensor | None = None
) -> Source:
    """Choose the features of a storage and arrange the data in blocks.

    Parameters
    ----------
    estimator : estimator
    storage : Features
    kernel : Kernel
        Not resolved.
    X : Rows, Tensor or list
        Checked.
    weights : ndarray of shape (n,), optional
        Sum to one.
    goal : Tensor of shape (n, q), optional
        Targets beside the inputs.

    Returns
    -------
    Source
    """
    rng = check_seed(storage.random_state)
    n = X.shape[0] if isinstance(X, Rows) else len(X)
    if kernel.domain == "gram":
        sampled, sample = None, X
    else:
        sampled = positive_rows(n, storage.sample_size(n), weights, rng)
        sample = _gather(X, sampled, estimator._options)
    w = None if weights is None else torch.from_numpy(_part(weights, sampled))
    resolved = resolve_thinned(kernel, sample, w if w is None or isinstance(sample, list) else w.to(sample))
    check_row_digits(resolved, sample, squared=True)
    features = storage.build(resolved, sample, rng)
    diag = resolved._diag(sample).to(torch.float64)
    mean_diag = float(diag.mean()) if w is None else float(w @ diag.cpu())
    evaluated: FeatureMap = features
    if isinstance(X, Rows):
        rows, columns = X, X.shape[1]
    else:
        inputs = X
        if kernel.domain != "vectors":
            tiles = [features.raw(X[i : i + BLOCK]) for i in range(0, n, BLOCK)]
            inputs, evaluated = torch.cat(tiles), EvaluatedMap(features)
        columns = inputs.shape[1]
        joined = inputs if goal is None else torch.cat([inputs, goal.to(inputs)], 1)
        rows = ArrayRows(joined.cpu().numpy())
    return Source(rows, n, columns, weights, resolved, features, evaluated, mean_diag, sampled, row_blocks(n, BLOCK))


def build_features(model: Any, storage: Features, kernel: Kernel, items: Any) -> FeatureMap:
    """Resolve the kernel of a model and choose the features of its storage; landmarks are training items."""
    rng, n = check_seed(storage.random_state), len(items)
    sampled = None if kernel.domain == "gram" else sample_rows(n, storage.sample_size(n), rng)
    sample = take(items, sampled)
    model.kernel_ = resolve_thinned(kernel, sample, None)
    check_row_digits(model.kernel_, sample, squared=True)
    return storage.build(model.kernel_, sample, rng)


def item_features(model: Any, features: FeatureMap, items: Any) -> Tensor:
    """Features of all items, shape (n, r)."""
    F = torch.cat([features.features(items[i : i + BLOCK]) for i in range(0, len(items), BLOCK)])
    if not bool(torch.isfinite(F.sum())):
        raise InputError(
            f"the kernel {model.kernel_!r} gives values that are not finite on these data; rescale the data"
        )
    return F


def _part(weights: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    part = weights if rows is None else weights[rows]
    return part / part.sum()


def positive_rows(n: int, size: int, weights: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray | None:
    """Rows that the features are chosen from; rows of weight zero are none."""
    if weights is None or (weights > 0.0).all():
        return sample_rows(n, size, rng)
    positive = np.flatnonzero(weights > 0.0)
    chosen = sample_rows(len(positive), min(size, len(positive)), rng)
    return positive if chosen is None else positive[chosen]


def _gather(X: Any, numbers: np.ndarray | None, options: dict[str, Any]) -> Any:
    """Some rows in the form that kernels read; a file is read once, forwards."""
    if isinstance(X, list):
        return X if numbers is None else [X[i] for i in numbers]
    if isinstance(X, Tensor):
        return X if numbers is None else X[torch.as_tensor(numbers)]
    return to_tensor(gather_rows(X, numbers), **options)


def gather_rows(rows: Rows, numbers: np.ndarray | None) -> np.ndarray:
    """Rows of ascending numbers, None for all, block by block."""
    n = rows.shape[0]
    if numbers is None:
        return rows.read(0, n)
    parts = []
    for block in row_blocks(n, 16 * BLOCK):
        low, high = np.searchsorted(numbers, (block.start, block.stop))
        if low < high:
            parts.append(rows.read(block.start, block.stop)[numbers[low:high] - block.start])
    return np.concatenate(parts)


def resolve_thinned(kernel: Kernel, items: Any, weights: Tensor | None) -> Kernel:
    """Turn data-dependent parameters into numbers, on 3000 rows at most: a median takes all pairs."""
    if kernel.domain != "vectors":
        return kernel.resolve(items, weights)
    kept = thinned(torch.arange(len(items)))
    if len(kept) < len(items):
        items = items[kept]
        weights = None if weights is None else weights[kept] / weights[kept].sum()
    return kernel.resolve(items, weights)


def check_blocked(estimator: Any, kernel: Kernel, n: int) -> None:
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


def make_data_engine(estimator: Any, blocks: tuple[Block, ...]) -> Engine:
    """Who computes the blocks: the engine that was asked for, or threads where there are several blocks and cores."""
    if getattr(estimator, "_engine", None) is not None:
        return estimator._engine
    device = estimator._options["device"].type
    return Serial() if len(blocks) == 1 or device != "cpu" else Threads(torch.get_num_threads())


def announce(estimator: Any, estimate: Estimate, advice: str) -> None:
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


def announce_dense(estimator: Any, n: int, matrices: float, advice: str | None = None) -> None:
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
    estimator: Any, storage: Features, n: int, columns: int, outputs: int, codes: int, *, layers: int
) -> None:
    """Announce a fit in finite features.

    Parameters
    ----------
    estimator : estimator
    storage : Features
    n, columns, outputs, codes : int
        Rows; columns of inputs, of targets and of codes.
    layers : int
        1: features alone; 2: a decoder on landmarks too.
    """
    size = 8 if estimator.dtype == "float64" else 4
    m = min(n, storage.m) if not isinstance(storage, RandomFeatures) else storage.m + columns
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


def read_rows(model: Any, X: Any, kernel: Kernel) -> Any:
    """Training data: rows that are read from where they are, a tensor, or a list."""
    if kernel.domain == "vectors" and is_stream(X):
        rows = as_rows(X)
        note_columns(model, rows, X, reset=True)
        return rows
    return model._read_training(X, kernel, at_least=1)


def note_columns(model: Any, rows: Rows, X: Any, *, reset: bool) -> None:
    """Remember, or check, the number of columns of rows that are not in memory."""
    if reset:
        model._forget_features()
        model.n_features_in_ = rows.shape[1]
        dtype = np.dtype(getattr(X, "dtype", np.float64))
        model._input_dtype = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float64)
    elif rows.shape[1] != model.n_features_in_:
        raise InputError(
            f"X has {rows.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features "
            "as input"
        )


def read_row_weights(model: Any, sample_weight: Any, data: Any, kernel: Kernel) -> tuple[Any, np.ndarray | None]:
    """Rows of positive weight, and their weights in float64; rows of a file all stay, zero ones count nothing."""
    n = data.shape[0] if isinstance(data, Rows) else len(data)
    kept, weights = model._read_weights(sample_weight, n)
    w = None if weights is None else weights.to("cpu", torch.float64).numpy()
    model._kept_rows, model._n_training = None, n
    if kept is None or not isinstance(data, Rows):
        model._kept_rows = kept
        return take(data, kept, square=kernel.domain == "gram"), w
    full = np.zeros(n)
    full[kept] = 1.0 / len(kept) if w is None else w
    return data, full
