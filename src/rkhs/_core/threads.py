"""Limits on the threads of BLAS, OpenMP and torch, and flushing of subnormals; all undone afterwards."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from rkhs._core.checks import check_count
from rkhs._core.devices import on_named_devices
from rkhs._core.errors import InputError, in_range

P = ParamSpec("P")
R = TypeVar("R")


def count_threads(n_jobs: Any = None) -> int:
    """Number of threads for ``n_jobs``.

    Parameters
    ----------
    n_jobs : int or None, default=None
        None: as many as torch uses outside of calls of this library. -1: every core that this process may use (CPU
        affinity and cgroup quotas count); -2: all but one, and so on.

    Returns
    -------
    int
        At least one.

    Raises
    ------
    InputError
        For zero and what is not an integer.

    Examples
    --------
    >>> from rkhs.engines import count_threads
    >>> count_threads(3)
    3
    """
    if n_jobs is None:
        return _COUNTS.outside()
    if n_jobs == 0 or isinstance(n_jobs, bool):
        raise InputError(f"n_jobs must be a positive integer, -1 for all cores, or None; got {n_jobs!r}")
    if isinstance(n_jobs, int) and n_jobs < 0:
        import joblib

        return max(1, joblib.cpu_count() + 1 + n_jobs)
    return check_count(n_jobs, "n_jobs")


@dataclass(frozen=True)
class _Before:
    """Thread counts before a limit, if the limit changed any."""

    limit: int | None
    torch: int = 0  # and the MKL in it
    pools: tuple[tuple[Any, int], ...] | None = None  # those that count for each thread


class _Counts:
    """The thread counts of this process within limits: saved by the first of them, restored by the last."""

    def __init__(self) -> None:
        self._known = threading.local()  # whether this thread was ever within a limit
        self._modules = 0
        self._pools: tuple[Any, ...] = ()
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._asked: list[int] = []  # by callers
        self._calls = 0  # of the library: one thread where nobody asked for another number
        self._outside, self._now = 0, 0
        self._kept: list[tuple[Any, int]] = []  # counts of the process

    def outside(self) -> int:
        """Number of threads without calls of the library."""
        import torch

        with self._lock:
            return self._outside if self._calls and not self._asked else torch.get_num_threads()

    def enter(self, n: int | None) -> _Before:
        """Begin a limit, None for a call of the library."""
        import torch

        with self._lock:
            mine, active, new = torch.get_num_threads(), bool(self._calls or self._asked), self._find_pools()
            self._count(n, 1)
            if mine == self._now == self._limit and not new and hasattr(self._known, "yes"):
                return _Before(n)
            if not active:
                self._outside = mine
            elif not hasattr(self._known, "yes"):  # a new thread takes the limits of others for its own count
                mine = self._outside
            self._known.yes = True
            fresh = new if active else self._pools
            self._kept += [(pool, pool.num_threads) for pool in fresh if not _of_thread(pool)]
            counts = tuple((pool, pool.num_threads) for pool in self._pools if _of_thread(pool))
            self._spread(force=bool(new))
            torch.set_num_threads(self._now)
            for pool, _ in counts:
                pool.set_num_threads(self._now)
            return _Before(n, mine, counts)

    def leave(self, before: _Before) -> None:
        """End a limit; the last one restores all counts."""
        import torch

        with self._lock:
            self._count(before.limit, -1)
            if self._calls or self._asked:
                self._spread()
            else:
                for pool, count in self._kept:
                    _set_pool(pool, count)
                self._kept, self._now = [], 0
            if before.pools is not None:
                for pool, count in before.pools:
                    pool.set_num_threads(count)
                torch.set_num_threads(before.torch)

    @property
    def _limit(self) -> int:
        """The smallest number that was asked for, or one."""
        return min(self._asked, default=1)

    def _count(self, n: int | None, step: int) -> None:
        if n is None:
            self._calls += step
        elif step > 0:
            self._asked.append(n)
        else:
            self._asked.remove(n)

    def _spread(self, *, force: bool = False) -> None:
        """Set the pools of the process to the limit."""
        if self._limit == self._now and not force:
            return
        self._now = self._limit
        for pool, _ in self._kept:
            _set_pool(pool, self._now)

    def _find_pools(self) -> list[Any]:
        """Look for libraries if modules were imported since the last look, which takes milliseconds; the new ones."""
        import threadpoolctl

        if len(sys.modules) == self._modules:
            return []
        known = {pool.filepath for pool in self._pools}
        found = threadpoolctl.ThreadpoolController().lib_controllers
        new = [pool for pool in found if pool.filepath not in known]
        self._modules, self._pools = len(sys.modules), (*self._pools, *new)
        return new


def _of_thread(pool: Any) -> bool:
    """Whether a library counts for each thread, as OpenMP does, and not for the process."""
    return "openmp" in (pool.user_api, getattr(pool, "threading_layer", ""))


def _set_pool(pool: Any, n: int) -> None:
    """Set the count of a library, so that other threads may set it too."""
    pool.set_num_threads(n)
    if hasattr(pool, "clear_controlling_thread"):
        pool.clear_controlling_thread()


_COUNTS = _Counts()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_COUNTS._forget)


@contextmanager
def thread_limit(n_jobs: Any) -> Iterator[int]:
    """Let BLAS, OpenMP and torch use at most ``n_jobs`` threads within a block.

    Parameters
    ----------
    n_jobs : int or None
        As in :func:`count_threads`; None changes nothing.

    Yields
    ------
    int
        The number of threads.

    Raises
    ------
    InputError
        As :func:`count_threads`.

    Notes
    -----
    Calls of this library use one thread, except for blocks of rows: two pools of threads that take turns (BLAS under
    NumPy, OpenMP under torch) cost more than they bring. A limit around a call is what it uses instead. Most counts are
    the process's: a limit in one thread holds in all of them, and of limits that overlap the smallest holds.

    Examples
    --------
    >>> import torch
    >>> from rkhs.engines import thread_limit
    >>> with thread_limit(1):
    ...     torch.get_num_threads()
    1
    """
    n = count_threads(n_jobs)
    if n_jobs is None:
        yield n
        return
    before = _COUNTS.enter(n)
    try:
        yield n
    finally:
        _COUNTS.leave(before)


def within_limit(function: Callable[P, R], asked: Callable[P, int | None] | None = None) -> Callable[P, R]:
    """Let a public function compute with one thread, or as many as ``asked`` or a limit around the call allows.

    Tensors without a named device lie on the CPU.
    """

    @functools.wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        n = None if asked is None else asked(*args, **kwargs)
        before = _COUNTS.enter(n)
        try:
            with on_named_devices():
                return function(*args, **kwargs)
        except RuntimeError:
            with in_range(next(iter(args), None)):
                raise
        finally:
            _COUNTS.leave(before)

    return limited


class LimitedThreads:
    """Base of classes whose public methods compute :func:`within_limit`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and not name.startswith(("_", "get_", "set_")):
                setattr(cls, name, within_limit(method, _asked_threads))
        super().__init_subclass__(**kwargs)

    def _threads(self) -> int | None:
        """How many threads the user asked for."""
        return None


def _asked_threads(owner: LimitedThreads, *_: Any, **__: Any) -> int | None:
    return owner._threads()


@contextmanager
def subnormals_flushed() -> Iterator[None]:
    """Let this thread round numbers below the normal range (1e-38 in float32, 1e-308 in float64) to zero."""
    import torch

    before = float(torch.tensor(1e-310, dtype=torch.float64) * 0.5) == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
