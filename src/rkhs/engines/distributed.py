"""The engine of Dask clusters: it starts one on this machine, or uses one that is running."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs._core.checks import check_count
from rkhs._core.errors import ClusterError, InputError, RkhsError, optional
from rkhs.engines.base import Engine, Task
from rkhs.engines.block_sums import Block
from rkhs.engines.rows import ArrayRows, Rows

_POLL = 1.0  # seconds between two looks at the cluster while a result is awaited
_MAX_TASK_BYTES = 2**22  # bytes of rows within one task
_MEMORY_TOPIC = "worker-restart-memory"  # under which a nanny reports the workers that it ends for their memory


@dataclass(eq=False, repr=False)
class Dask(Engine):
    """Computes blocks on the workers of a Dask cluster.

    Rows and functions travel within tasks, which the scheduler keeps, so that results of a worker that dies can be
    recomputed; nothing is scattered. Workers compute a block with one thread.

    Parameters
    ----------
    address : str, distributed.Client or None, default=None
        None starts worker processes on this machine and ends them with the engine. An address such as
        ``"tcp://10.0.0.1:8786"`` or a client is used, and the cluster stays when the engine ends (a client stays open).
    n_workers : int, default=None
        Processes to start without an address; None: one per core.
    memory_limit : str or int, default="auto"
        Memory of each process started, above 95 % of which it is ended: ``"2GB"``, bytes, or a fair share.
    retries : int, default=3
        How often a task is tried again that failed or whose worker died; Dask itself moves a task to another worker
        three times before that counts as one failure.
    timeout : float, default=3.0
        Seconds to wait for the scheduler to answer.
    patience : float, default=50.0
        Seconds to go on without any worker before the wait is given up; a worker that died is back in a few seconds on
        a machine that is not overloaded.

    Raises
    ------
    ClusterError
        If no scheduler answers, the scheduler goes away, no worker is left for too long, or a block ends its
        workers again and again; the message names the block, and memory if that was why.
    MissingExtraError
        Without the packages of the extra ``cluster``.

    Notes
    -----
    Scripts that start worker processes need ``if __name__ == "__main__":`` around what they run.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import Dask, as_rows, row_blocks
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> with Dask(n_workers=2) as engine:  # doctest: +SKIP
    ...     total, = engine.sum(lambda items, block, shared: (items.sum(0),), row_blocks(3, 2), as_rows(X))
    >>> total  # doctest: +SKIP
    """

    address: Any = None
    n_workers: int | None = None
    memory_limit: Any = "auto"
    retries: int = 3
    timeout: float = 3.0
    patience: float = 50.0

    @property
    def width(self) -> int:
        """Threads of all workers, at least one."""
        return max(1, sum(self._connect().client.ncores().values()))

    def place(self, rows: Rows) -> Rows:
        """Write rows in memory to a temporary file if the workers run on this machine because we started them.

        Other clusters get such rows with every task: rows in files that all workers read are better there.
        """
        session = self._connect()
        return session.spill(rows) if isinstance(rows, ArrayRows) and session.cluster is not None else rows

    def close(self) -> None:
        """Let go of the cluster, and end the processes that this engine started."""
        session = self.__dict__.pop("_session", None)
        if session is not None:
            session.close()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_session"}

    def __sklearn_clone__(self) -> Dask:
        return Dask(**self.get_params(deep=False))  # a client is used as it is, never copied

    def _connect(self) -> _Session:
        if "_session" not in self.__dict__:
            self._session = _open_session(self)
        return self._session

    def _group(self, blocks: Sequence[Block], rows: Rows | None) -> int:
        group = super()._group(blocks, rows)
        if isinstance(rows, ArrayRows):
            size = max(1, len(blocks[0]) * rows.shape[1] * 8)
            group = min(group, 1 << max(0, (_MAX_TASK_BYTES // size).bit_length() - 1))
        return group

    def _run(self, tasks: Iterator[Task], shared: Any) -> Iterator[list[Any]]:
        session = self._connect()
        run = _Run(session, shared, self.retries, self.patience)
        # No more tasks under way than threads: a worker that dies took one task with it. Finished ones may wait.
        width, waiting = self.width, deque[_Running]()
        try:
            for task in tasks:
                waiting.append(run.submit(task))
                while sum(not each.future.done() for each in waiting) >= width or len(waiting) >= 2 * width + 2:
                    if waiting[0].future.done():
                        yield run.collect(waiting.popleft())
                    else:
                        run.wait(waiting)
            while waiting:
                yield run.collect(waiting.popleft())
        finally:
            run.end([each.future for each in waiting])


@dataclass(eq=False)
class _Running:
    """A task on the cluster, and how often it was sent."""

    task: Task
    future: Any
    attempts: int = 1


class _Session:
    """A client, and the cluster and files that the engine created."""

    def __init__(self, client: Any, cluster: Any = None, ending: ExitStack | None = None) -> None:
        self.client, self.cluster = client, cluster
        self._ending = ExitStack() if ending is None else ending
        self._folder = ""

    def spill(self, rows: ArrayRows) -> Rows:
        """Write rows to a temporary file."""
        from rkhs.engines.sources import as_rows

        if not self._folder:  # Windows removes no file that a worker still reads
            self._folder = self._ending.enter_context(
                tempfile.TemporaryDirectory(prefix="rkhs-", ignore_cleanup_errors=True)
            )
        path = os.path.join(self._folder, f"{uuid.uuid4().hex}.npy")
        n, d = rows.shape
        table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
        for start in range(0, n, 65536):
            table[start : start + 65536] = rows.read(start, min(start + 65536, n))
        table.flush()
        del table
        return as_rows(path)

    def close(self) -> None:
        self._ending.close()


def _open_session(engine: Dask) -> _Session:
    dask, distributed = optional("dask"), optional("distributed")
    address = engine.address
    if isinstance(address, distributed.Client):
        if address.asynchronous or address.status != "running":
            raise InputError(f"address must be a running, synchronous Client; got {address!r}")
        return _Session(address)
    if address is None:
        with ExitStack() as stack:
            # A worker that comes back later than after 15 s, as on a busy machine, would be given up for good.
            stack.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}))
            cluster = stack.enter_context(_start_cluster(engine))
            client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
            return _Session(client, cluster, stack.pop_all())
    if not isinstance(address, str):
        raise InputError(f"address must be None, a scheduler's address or a Client; got {address!r}")
    try:
        client = distributed.Client(address, timeout=engine.timeout, set_as_default=False)
    except (OSError, TimeoutError, distributed.comm.CommClosedError) as error:
        raise ClusterError(
            f"no Dask scheduler answered at {address!r} within {engine.timeout:g} s ({type(error).__name__}); start "
            "one with `dask scheduler` and workers with `dask worker ADDRESS`, check the address, or leave it out to "
            "start workers on this machine"
        ) from None
    except ValueError as error:
        raise InputError(f"address must read like 'tcp://host:8786'; got {address!r} ({error})") from None
    ending = ExitStack()
    ending.callback(client.close)
    return _Session(client, None, ending)


def _start_cluster(engine: Dask) -> Any:
    from distributed import LocalCluster

    if engine.n_workers is not None:
        check_count(engine.n_workers, "Dask.n_workers")

    try:
        return LocalCluster(
            n_workers=engine.n_workers,
            processes=True,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # None means the fixed port 8787
            memory_limit=engine.memory_limit,
        )
    except RuntimeError as error:
        raise ClusterError(
            f"the worker processes did not start ({error}); in a script, put what runs under "
            '`if __name__ == "__main__":` (a program read from standard input cannot start processes)'
        ) from error


def _store_shared(shared: Any) -> Any:
    """Store what all blocks share on the cluster, as a task that can be recomputed."""
    return shared


def _compute(task: Task, shared: Any) -> tuple[str, Any]:
    """Compute a task; errors that a retry would only repeat are returned."""
    try:
        return "value", task(shared)
    except (RkhsError, MemoryError) as error:
        return "error", error


class _Run:
    """One map or sum on the cluster."""

    def __init__(self, session: _Session, shared: Any, retries: int, patience: float) -> None:
        self._client, self._retries, self._patience = session.client, retries, patience
        self._name = f"rkhs-{uuid.uuid4().hex[:12]}"
        self._without_worker_since: float | None = None
        self._memory_deaths = self._count_memory_deaths()
        self._shared = self._send(f"{self._name}-shared", _store_shared, shared)

    def _send(self, key: str, function: Any, *args: Any) -> Any:
        import dask

        try:
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
                return self._client.submit(function, *args, key=key, pure=False, retries=self._retries)
        except Exception as error:  # a client that lost its scheduler raises plain Exception
            if self._client.status != "running":
                raise self._lost() from error
            raise

    def submit(self, task: Task) -> _Running:
        return _Running(task, self._send(self._key(task, 1), _compute, task, self._shared))

    def _key(self, task: Task, attempt: int) -> str:
        return f"{self._name}-{task.blocks[0].index}-{task.blocks[-1].index}-{attempt}"

    def collect(self, running: _Running) -> list[Any]:
        """Wait for a task; raise if the cluster cannot finish it."""
        while True:
            self.wait([running])
            future, task = running.future, running.task
            if not future.done():
                continue
            if future.status == "finished":
                result = self._fetch(future, task)
                if result is None:
                    continue
                kind, value = result
                if kind == "value":
                    return list(value)
                if isinstance(value, MemoryError):
                    raise ClusterError(self._memory_message(task)) from value
                raise value
            if future.status != "error":
                raise self._lost()
            self._resend(running, future.exception())

    def _resend(self, running: _Running, error: Exception) -> None:
        """Resubmit a task whose workers died; raise if retrying cannot help."""
        from distributed import KilledWorker

        task = running.task
        if not isinstance(error, KilledWorker):
            raise ClusterError(
                f"{task} failed on the cluster: {type(error).__name__}: {error}; see the log of the workers. They "
                "need the same versions of Python and rkhs, and the files that the rows come from"
            ) from error
        if self._count_memory_deaths() > self._memory_deaths:
            raise ClusterError(self._memory_message(task)) from error
        if running.attempts > self._retries:
            raise ClusterError(
                f"{task} could not be computed: every worker that tried died, at last {error.last_worker.address}; "
                "if the system ended them for their memory, use smaller blocks or give workers more memory"
            ) from error
        running.attempts += 1
        running.future = self._send(self._key(task, running.attempts), _compute, task, self._shared)

    def wait(self, waiting: Iterable[_Running]) -> None:
        """Wait until one task is done, a second at most, and check the cluster."""
        from distributed import wait

        pending = [each for each in waiting if not each.future.done()]
        if not pending:
            return
        try:
            with self._client.as_current():
                wait([each.future for each in pending], timeout=_POLL, return_when="FIRST_COMPLETED")
        except TimeoutError:
            self._check_workers(pending[0].task)
        except Exception:  # a future that was cancelled; its status is read next
            if not any(each.future.done() for each in pending):
                raise self._lost() from None

    def _fetch(self, future: Any, task: Task) -> tuple[str, Any] | None:
        """Bring a result here; None if it was lost on the way and is recomputed."""
        try:
            return future.result(timeout=10.0)
        except TimeoutError:
            self._check_workers(task)
        except Exception:  # the future's status tells more
            if future.status not in ("pending", "error"):
                raise self._lost() from None
        return None

    def _check_workers(self, task: Task) -> None:
        """Raise if the cluster can no longer finish the task."""
        if self._client.status != "running":
            raise self._lost()
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        except Exception:
            raise self._lost() from None
        if any(w.get("status", "running") == "running" for w in workers.values()):
            self._without_worker_since = None
            return
        now = time.monotonic()
        self._without_worker_since = now if self._without_worker_since is None else self._without_worker_since
        if now - self._without_worker_since > self._patience:
            state = "all of them paused, which they do when their memory is nearly full" if workers else "none left"
            raise ClusterError(
                f"{task} waits for a worker, with {state}; start workers with "
                f"`dask worker {self._client.scheduler.address}`, with more memory if they died for lack of it"
            )

    def _lost(self) -> ClusterError:
        return ClusterError("the Dask scheduler went away, or its client was closed; start it again and fit again")

    def _count_memory_deaths(self) -> int:
        try:
            return len(self._client.get_events(_MEMORY_TOPIC))
        except Exception:  # a scheduler that is gone is reported elsewhere
            return 0

    def _memory_message(self, task: Task) -> str:
        return (
            f"{task} needs more memory than a worker has: each worker that computed it ran full and was ended; use "
            "fewer landmarks or smaller blocks, or start workers with more memory (--memory-limit)"
        )

    def end(self, futures: list[Any]) -> None:
        """Release what is no longer needed on the cluster."""
        for future in [*futures, self._shared]:
            future.release()
        if self._client.status == "running" and futures:
            try:
                self._client.cancel(futures, force=True)
            except Exception:  # the scheduler is gone and its tasks with it
                return
