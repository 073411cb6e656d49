"""Context of a fit: precision, engine and announced memory; and plans, the dry runs of fits."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from torch import Tensor

from rkhs._core.arrays import TILE_BYTES, resolve_device, resolve_dtype
from rkhs._core.checks import check_choice, check_count, check_flag, check_seed
from rkhs._core.errors import InputError, quote
from rkhs._core.memory import Estimate, check_memory, readable
from rkhs._core.threads import LimitedThreads
from rkhs.engines import (
    Block,
    Engine,
    Serial,
    Threads,
    count_threads,
    make_engine,
    thread_limit,
)
from rkhs.estimators.given_matrices import scalar_kernels
from rkhs.estimators.options.memory_needs import dense_advice
from rkhs.spaces.features import Storage
from rkhs.spaces.source import Options

Parameters = Mapping[str, Any]
"""Parameters of an estimator by name."""

# Copies of the rows that a fit takes, as measured on 20 rows of 400,000 columns: by estimator, and of others at most.
_COPIES, _MOST_COPIES = {"KernelAutoencoder": 8.0, "KernelNovelty": 9.5}, 5.3
_FLAGS = ("canonical", "center", "refine", "scale", "strict", "warm_start")
_LISTS = (
    *("cv", "decoder_kernel", "decoder_kernels", "epsilons", "eta", "gammas", "init", "input_times"),
    *("kappas", "kernels", "n_components", "operator", "operators", "output_times", "reg", "regs"),
)


class Planned(Exception):
    """Raised to stop a dry run after the announcement of its memory."""


@dataclass(frozen=True, repr=False)
class Plan:
    """What a fit would do; it prints one line per option.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> plan = KernelPCA(2).plan(load_iris().data)
    >>> plan.storage, plan.options["kernel"], plan.equations[0]
    ('dense', 'Gaussian()', 'max sum_i w_i loss(z(x_i)), z_j(x) = <phi(x) - mean, u_j> of orthonormal u_j')
    """

    options: dict[str, str]  # what parameters become, or the rule that chooses them from the data
    storage: str
    bytes: int  # of memory in addition to the data
    equations: tuple[str, ...]  # the problem that would be solved
    summary: str  # the line on its memory that the fit prints with verbose=1

    def __repr__(self) -> str:
        options = (f"  {name} = {now}" for name, now in self.options.items())
        return "\n".join([self.summary, *self.equations, *options])


@dataclass(eq=False)
class Run:
    """Context of one fit."""

    name: str  # of the estimator, for messages
    options: Options  # ``dtype`` and ``device``, as torch takes them
    verbose: int | Literal["auto"]
    engine: Engine | None = None  # none unless one was asked for
    announced_bytes: int = 0  # memory that the fit announced
    parameters: Parameters = field(default_factory=dict)  # of the estimator by name, for messages
    plans: bool = False  # whether this is a dry run, which stops after the announcement

    def quiet(self) -> Run:
        """Return a run that prints nothing."""
        return replace(self, verbose=0, engine=None)

    def announce(self, estimate: Estimate, advice: str | Callable[[], str]) -> None:
        """Announce the memory of the fit; refuse more than 60 % of the available memory."""
        self.announced_bytes = int(estimate.n_bytes)
        check_memory(estimate, advice)
        if self.verbose not in (0, "auto"):
            if self.plans:
                raise Planned(estimate)
            sys.stderr.write(f"{estimate}\n")

    def announce_dense(self, n: int, matrices: float, columns: int = 0, taken: float = 0.0) -> None:
        """Announce a fit with so many n x n matrices; ``columns`` of the data, ``taken``: bytes of object features."""
        self.announce(*_dense_need(self.name, self.parameters, (n, columns), matrices, taken))

    def engine_for(self, blocks: tuple[Block, ...]) -> Engine:
        """Engine for blocks: the one that was asked for, else threads if there are several blocks on a CPU."""
        if self.engine is not None:
            return self.engine
        return Serial() if len(blocks) == 1 or self.options["device"].type != "cpu" else Threads(count_threads())


class EngineThreads(LimitedThreads):
    """Base of estimators: public methods use the threads of the engine, or one thread without an engine."""

    def _threads(self) -> int | None:
        engine = getattr(self, "engine", None)
        if isinstance(engine, Threads) or (isinstance(engine, str) and engine == "threads"):
            return make_engine(engine).width
        return None


def check_parameters(parameters: Parameters) -> None:
    """Refuse values of the wrong kind for parameters that several estimators have."""
    for name, value in parameters.items():
        if name in _FLAGS:
            check_flag(value, name)
        elif isinstance(value, (np.ndarray, Tensor)) and (name not in _LISTS or value.ndim == 0):
            raise InputError(f"{name} must be one value, not an array; got {quote(value)}")
        elif name in _CHECKS:
            _CHECKS[name](value)


def _check_operators(given: Any) -> None:
    if not (given is None or isinstance(given, (tuple, list))):
        raise InputError(f"operators must be a list with one per layer, or None; got {quote(given)}")


def _check_columns(given: Any) -> None:
    check_choice(given, "columns", ("raw", "scaled", "integral", "filled", "ranked"))


def _check_verbose(given: Any) -> None:
    if not isinstance(given, (bool, np.bool_)) and given != "auto":
        check_count(given, "verbose", at_least=0)


_CHECKS: dict[str, Callable[[Any], object]] = {
    "columns": _check_columns,
    "device": resolve_device,
    "dtype": resolve_dtype,
    "operators": _check_operators,
    "random_state": check_seed,
    "verbose": _check_verbose,
}


def items_bytes(kernel: Any, items: Any) -> float:
    """Bytes of the features of objects by the estimates of their kernels; 0 for rows of numbers."""
    return sum(one._memory(items) for one in scalar_kernels(kernel)) if kernel.domain == "objects" else 0.0


def _code_columns(asked: Any) -> int:
    """Total number of code columns that ``n_components`` asks for; entries that are not integers are ignored."""
    widths = [w for w in (asked if isinstance(asked, (tuple, list)) else [asked]) if isinstance(w, numbers.Integral)]
    return min(sum(max(int(w), 0) for w in widths), 10**15)


def _dense_need(
    name: str,
    parameters: Parameters,
    shape: tuple[int, int],
    matrices: float,
    taken: float = 0.0,
    bound: str = "",
) -> tuple[Estimate, Callable[[], str]]:
    """Memory of a fit that holds n x n matrices, and the advice if it does not fit."""
    n, codes = shape[0], _code_columns(parameters.get("n_components"))
    size, copies = 8 if parameters["dtype"] == "float64" else 4, _COPIES.get(name, _MOST_COPIES)
    what = f"{name} on n={n} rows" + (" with storage='dense'" if "storage" in parameters else "")
    parts, advice = (
        f"{matrices:.2g} matrices of n x n{bound}",
        partial(dense_advice, name, parameters, *shape, matrices),
    )
    if codes > n:
        parts, advice = f"{parts}, codes of {codes} columns", partial(str, "Use fewer components (n_components)")
    if shape[1] > n:
        parts = f"{parts}, {copies:g} copies of n x {shape[1]}"
        advice = partial(str, "Use fewer columns: choose some, or take principal components of the rows first")
    if taken > 8 * matrices * n * n:
        parts = f"{parts}, features of the items {readable(taken)}"
        advice = partial(str, "Use fewer or smaller items, or a kernel that is cheaper, or shorter features")
    n_bytes = size * n * (matrices * n + 4 * codes) + copies * 8 * n * shape[1] + taken + 2**25
    return Estimate(what, int(n_bytes), parts), advice


def check_dense(name: str, parameters: Parameters, shape: tuple[int, int], matrices: float, taken: float) -> int:
    """Bytes of a dense fit, 0 for another storage; refused before anything of that size is allocated."""
    storage = parameters.get("storage", "dense")
    if not (isinstance(storage, str) and storage == "dense"):
        return 0
    estimate, advice = _dense_need(name, parameters, shape, matrices, taken, " at least")
    check_memory(estimate, advice)
    return estimate.n_bytes


def check_values(what: str, n: int, given: int, squares: float, tiles: float) -> None:
    """Refuse what holds ``squares`` matrices (n, n) and, of new items, ``tiles`` tiles of kernel values (given, n)."""
    n_bytes = 8.0 * squares * n * n + tiles * min(8.0 * given * n, TILE_BYTES)
    parts = f"{squares:.2g} matrices of n x n, and tiles of kernel values"
    check_memory(Estimate(f"{what} on n={n} rows", int(n_bytes), parts), "Fit fewer rows")


@contextmanager
def open_run(name: str, parameters: Parameters, plans: bool = False) -> Iterator[Run]:
    """Run a fit with the precision, engine and threads that an estimator's parameters ask for."""
    options = {"dtype": resolve_dtype(parameters["dtype"]), "device": resolve_device(parameters["device"])}
    run = Run(name, options, 1 if plans else parameters.get("verbose", 0), parameters=parameters, plans=plans)
    with ExitStack() as stack:
        if "engine" in parameters:
            run.engine = _open_engine(parameters, stack)
        yield run


def _open_engine(parameters: Parameters, stack: ExitStack) -> Engine | None:
    """Open the engine, and limit the threads of this process."""
    wanted, storage = parameters["engine"], parameters["storage"]
    if wanted is None:
        return None
    engine = make_engine(wanted)
    if engine is not wanted:  # an engine of the user is closed by the user
        stack.callback(engine.close)
    if type(engine) is Threads:
        engine = Threads(engine.width)  # counted here: within the fit torch uses fewer threads
    # Blocks are computed by workers; the number of threads of this process then does not depend on its cores.
    blocks = isinstance(storage, Storage) or storage == "blocked" or not isinstance(engine, (Serial, Threads))
    stack.enter_context(thread_limit(1 if blocks else engine.width))
    return engine
