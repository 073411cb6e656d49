"""What a long fit needs around it: an engine that is closed in the end, a journal to go on from, a limit of threads."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import metadata
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from rkhs._core.arrays import as_numpy
from rkhs._core.codec import encode
from rkhs._core.errors import InputError, shown
from rkhs.engines import Checkpoint, Engine, Journal, Rows, as_rows, fingerprint, make_engine, thread_limit

__all__ = ["data_fingerprint", "long_fit", "recorded"]

_FREE = ("address", "checkpoint", "engine", "n_jobs", "verbose")  # parameters that change no bit of a model
_SAMPLED = 1024  # rows of a file that its fingerprint reads

P = TypeVar("P")


@contextmanager
def long_fit(model: Any, *data: Any) -> Iterator[None]:
    """Run a fit with the engine, threads and checkpoint that an estimator's parameters ask for.

    Within the block the estimator has the attributes ``_engine`` (None unless asked for) and ``_journal`` (None without
    a checkpoint). A fit that ends well deletes its checkpoint, unless it is a ``Checkpoint``, which its owner deletes;
    one that is cut off leaves it.

    Parameters
    ----------
    model : estimator
        With the parameters ``engine``, ``address``, ``n_jobs`` and ``checkpoint``.
    *data : Rows, Tensor, array, list or None
        What the fit depends on besides the parameters.

    Yields
    ------
    None

    Raises
    ------
    InputError
        For an engine that does not exist.
    ClusterError
        If the cluster cannot be reached.
    CheckpointError
        If the checkpoint belongs to another fit, or cannot be written.
    """
    with ExitStack() as stack:
        # An engine computes blocks with threads of its own; what is left for this process does not depend on its cores.
        stack.enter_context(thread_limit(model.n_jobs if model.engine is None else 1))
        journal = _open_journal(model, data)
        if journal is not None:
            stack.callback(journal.close)
        engine = _open_engine(model, stack)
        model._engine, model._journal = engine, journal
        stack.callback(_forget, model)
        yield
        if journal is not None and not isinstance(model.checkpoint, Checkpoint):  # nor its checkpoint
            journal.remove()


def _forget(model: Any) -> None:
    del model._engine, model._journal


def _open_engine(model: Any, stack: ExitStack) -> Engine | None:
    if model.engine is None:
        if model.address is not None:
            raise InputError(f"address is for engine='dask'; got engine=None and address={model.address!r}")
        return None
    if isinstance(model.storage, str) and model.storage == "dense":
        raise InputError(
            f"engine={shown(model.engine)} computes blocks of rows, and storage='dense' has none: use another storage, "
            "such as Nystroem(1000) of rkhs.features, or engine=None"
        )
    engine = make_engine(model.engine, address=model.address, n_jobs=model.n_jobs)
    if engine is not model.engine:  # what the user made, the user ends
        stack.callback(engine.close)
    return engine


def _open_journal(model: Any, data: tuple[Any, ...]) -> Journal | None:
    if model.checkpoint is None:
        return None
    parameters = {name: value for name, value in model.get_params(deep=False).items() if name not in _FREE}
    arrays: dict[str, np.ndarray] = {}
    try:
        described = encode(parameters, arrays)
    except InputError:  # functions of the user: their text has to do
        described = {name: repr(value) for name, value in parameters.items()}
    parts = [part for name in sorted(arrays) for part in (name, arrays[name])]
    task = fingerprint(type(model).__name__, _version(), described, *parts, *map(data_fingerprint, data))
    return Journal(model.checkpoint, task)


def _version() -> str:
    """Version of the library; the root package cannot be imported from here."""
    try:
        return metadata.version("rkhs")
    except metadata.PackageNotFoundError:  # run from its sources
        return "sources"


def data_fingerprint(X: Any) -> str:
    """Fingerprint of data: of all numbers in memory; of the shape and 1024 rows of a file.

    Parameters
    ----------
    X : Rows, array, tensor, frame, list or None

    Returns
    -------
    str
    """
    if isinstance(X, (np.memmap, Rows)) or type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        rows = as_rows(X)
        n = rows.shape[0]
        chosen = np.unique(np.linspace(0, n - 1, min(n, _SAMPLED)).astype(np.int64))
        runs = np.array_split(chosen, min(len(chosen), 16))
        # Sixteen stretches: a file is opened a few times, not a thousand.
        return fingerprint(
            [n, rows.shape[1]], *(rows.read(int(run[0]), min(int(run[0]) + len(run), n)) for run in runs)
        )
    try:
        array = np.asarray(as_numpy(X))
    except ValueError:  # lists of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biufUS":
        return fingerprint(array)
    return fingerprint(hashlib.sha256(pickle.dumps(X)).hexdigest())


def recorded(problem: P, journal: Journal | None, stage: str = "evaluation") -> P:
    """Return a problem whose evaluations are kept in a journal: a solver that runs again meets the same numbers.

    A deterministic solver then takes the same steps, so a fit that was cut off goes on where it was, with the same
    bits, whatever the solver keeps in its memory.

    Parameters
    ----------
    problem : HasValueAndGrad
    journal : Journal or None
        None: the problem itself is returned.
    stage : str, default="evaluation"
        Keeps problems of one fit apart.

    Returns
    -------
    HasValueAndGrad
    """
    if journal is None:
        return problem
    inner: Any = problem
    kept: Any = copy.copy(problem)

    def key(what: str, point: Tensor) -> str:
        array = point.detach().cpu().contiguous().numpy()
        return f"{stage} {what} {hashlib.sha256(array.tobytes()).hexdigest()}"

    def value(point: Tensor) -> float:
        name = key("value", point)
        entry = journal.last(name)
        if entry is None:
            result = float(inner.value(point))
            journal.add(name, {}, {"value": np.array(result)})
            return result
        return float(entry[1]["value"])

    def value_and_grad(point: Tensor) -> tuple[float, Tensor]:
        name = key("gradient", point)
        entry = journal.last(name)
        if entry is None:
            result, grad = inner.value_and_grad(point)
            arrays = {"value": np.array(float(result)), "grad": grad.detach().cpu().contiguous().numpy()}
            journal.add(name, {"strides": list(grad.stride())}, arrays)
            return float(result), grad
        # The order of the numbers in memory is part of the answer: sums over them are rounded in that order.
        kept_grad = torch.from_numpy(entry[1]["grad"])
        again = torch.empty_strided(kept_grad.shape, entry[0]["strides"], dtype=point.dtype, device=point.device)
        return float(entry[1]["value"]), again.copy_(kept_grad)

    # Methods of this one object: it stays an instance of its class, with all else that solvers ask of it.
    for name, function in (("value", value), ("value_and_grad", value_and_grad)):
        if hasattr(problem, name):
            object.__setattr__(kept, name, function)
    return kept
