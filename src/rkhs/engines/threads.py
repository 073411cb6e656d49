"""How threads compute: limits that reach BLAS, OpenMP and torch, and rounding; all taken back afterwards."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rkhs._core.checks import check_count
from rkhs._core.errors import InputError

__all__ = ["count_threads", "subnormals_flushed", "thread_limit"]


def count_threads(n_jobs: Any = None) -> int:
    """Number of threads that ``n_jobs`` means.

    Parameters
    ----------
    n_jobs : int or None, default=None
        None: as many as torch uses now. -1: every core that this process may use (CPU affinity and cgroup quotas
        count); -2: all but one, and so on.

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
        import torch

        return torch.get_num_threads()
    if n_jobs == 0 or isinstance(n_jobs, bool):
        raise InputError(f"n_jobs must be a positive integer, -1 for all cores, or None; got {n_jobs!r}")
    if isinstance(n_jobs, int) and n_jobs < 0:
        import joblib

        return max(1, joblib.cpu_count() + 1 + n_jobs)
    return check_count(n_jobs, "n_jobs")


class _Setting:
    """The thread counts of this process, changed by the first limit and put back by it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._active: list[int] = []
        self._pools: Any = None

    def enter(self, n: int) -> tuple[int, bool]:
        """Limit every pool to the smallest active limit; return this thread's count before, and whether it is first."""
        import threadpoolctl
        import torch

        with self._lock:
            mine, first = torch.get_num_threads(), self._pools is None
            lowest = min([n, *self._active])
            if first:
                self._pools = threadpoolctl.threadpool_limits(lowest)
            elif mine != lowest or lowest < min(self._active):
                threadpoolctl.threadpool_limits(lowest)
            torch.set_num_threads(lowest)
            self._active.append(n)
            return mine, first

    def leave(self, n: int, mine: int, first: bool) -> None:
        """End one limit; the first one puts everything back."""
        import threadpoolctl
        import torch

        with self._lock:
            self._active.remove(n)
            if first:
                self._pools.restore_original_limits()
                self._pools = None
            torch.set_num_threads(min([*self._active, mine]))  # that of MKL, also where the others are back already
            if torch.get_num_threads() != mine:
                for pool in threadpoolctl.ThreadpoolController().select(internal_api="openmp").lib_controllers:
                    pool.set_num_threads(mine)


_SETTING = _Setting()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SETTING._forget)


@contextmanager
def thread_limit(n_jobs: Any) -> Iterator[int]:
    """Let BLAS, OpenMP and torch use at most so many threads within a block.

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
    Most counts are the process's: a limit in one thread holds in all of them. Of limits that overlap the smallest holds
    until the first that began ends; OpenMP and torch count for each thread, and keep to it until the thread's own ends.

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
    mine, first = _SETTING.enter(n)
    try:
        yield n
    finally:
        _SETTING.leave(n, mine, first)


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
