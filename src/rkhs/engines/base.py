"""Base class of engines: map over blocks of rows, and sum over them along a fixed binary tree."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs._core.lazy import ByName
from rkhs._core.threads import count_threads, subnormals_flushed, thread_limit
from rkhs.engines.block_sums import Block, Node, TreeSum
from rkhs.engines.rows import Rows

BlockFunction = Callable[[Any, Block, Any], Any]
"""``function(items, block, shared)``: rows of the block as an array, the block, and an object that all blocks share."""

_MAX_BLOCKS_PER_TASK = 32  # consecutive blocks summed by one task: bounds the work lost with a worker


@dataclass(frozen=True, eq=False)
class Task:
    """Consecutive blocks that one worker computes; self-contained, so any worker can recompute it."""

    function: BlockFunction
    blocks: tuple[Block, ...]
    rows: Rows | None  # the rows of these blocks only, or where to read them
    reduce: bool  # return the nodes of the tree of sums, or the list of results

    def __str__(self) -> str:
        first, last = self.blocks[0], self.blocks[-1]
        if first is last:
            return str(first)
        return f"blocks {first.index} to {last.index} (rows {first.start} to {last.stop - 1})"

    def __call__(self, shared: Any) -> list[Any]:
        """Compute the blocks one after the other, with one thread."""
        base = self.blocks[0].start
        tree, results = TreeSum(), []
        with thread_limit(1), subnormals_flushed():
            for block in self.blocks:
                items = None if self.rows is None else self.rows.read(block.start - base, block.stop - base)
                value = self.function(items, block, shared)
                if self.reduce:
                    tree.push(Node(0, block.index, tuple(np.asarray(part) for part in value)))
                else:
                    results.append(value)
        return list(tree.nodes) if self.reduce else results


class Engine(Configurable):
    """Maps functions over blocks of rows, and yields the results in the order of the blocks.

    Every block is computed by one thread, from a copy of its rows, and sums follow the fixed tree of
    :class:`~rkhs.engines.TreeSum`: engines differ in time, never in bits (on machines of one kind: other processors may
    round matrix products differently).

    An engine is a context manager: its processes or threads stop at the end of the ``with`` block, or with
    :meth:`close`.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import Engine, Threads, as_rows, row_blocks
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> with Threads(2) as engine:
    ...     list(engine.map(lambda items, block, shared: float(items.sum()), row_blocks(3, 2), as_rows(X)))
    [6.0, 9.0]
    """

    def map(
        self, function: BlockFunction, blocks: Sequence[Block], rows: Rows | None = None, shared: Any = None
    ) -> Iterator[Any]:
        """Yield ``function(items, block, shared)`` of every block, in order; only a few results are in memory at once.

        Parameters
        ----------
        function : callable
            At the top level of a module, so that other processes find it. It must not change ``shared``.
        blocks : sequence of Block
            Consecutive.
        rows : Rows, optional
            Where the items come from; None: the function gets None.
        shared : object, optional
            The same for all blocks.

        Yields
        ------
        object

        Raises
        ------
        InputError
            What the function raises for unusable data.
        ClusterError
            If a cluster cannot compute a block.
        """
        for results in self._run((_task(function, (block,), rows, reduce=False) for block in blocks), shared):
            yield from results

    def sum(
        self,
        function: BlockFunction,
        blocks: Sequence[Block],
        rows: Rows | None = None,
        shared: Any = None,
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Sum the arrays that ``function`` returns over all blocks, by the fixed tree.

        Parameters
        ----------
        function : callable
            Returns a tuple of arrays, of the same shapes for all blocks.
        blocks : sequence of Block
            All blocks of the rows, as from :func:`~rkhs.engines.row_blocks`.
        rows, shared
            As for :meth:`map`.
        progress : callable, optional
            Called with the number of blocks done and of all blocks.

        Returns
        -------
        tuple of ndarray

        Raises
        ------
        InputError, ClusterError
            As :meth:`map`.
        """
        tree = TreeSum()
        groups = list(_groups(blocks, self._group(blocks, rows)))
        tasks = (_task(function, tuple(group), rows, reduce=True) for group in groups)
        for group, nodes in zip(groups, self._run(tasks, shared), strict=True):
            for node in nodes:
                tree.push(node)
            if progress is not None:
                progress(group[-1].index + 1, len(blocks))
        return tree.total()

    def close(self) -> None:
        """Stop the processes or threads of the engine; it may be used again."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many blocks are computed at the same time."""

    @abstractmethod
    def _run(self, tasks: Iterator[Task], shared: Any) -> Iterator[list[Any]]:
        """Yield the results of the tasks, in their order."""

    def place(self, rows: Rows) -> Rows:
        """Put rows where all workers can read them, instead of sending them in every pass; see each engine."""
        return rows

    def _group(self, blocks: Sequence[Block], rows: Rows | None) -> int:
        """Number of blocks per task of a sum, a power of two; it never changes the result."""
        share = len(blocks) // (4 * self.width)
        return min(_MAX_BLOCKS_PER_TASK, 1 << max(0, share.bit_length() - 1))

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _task(function: BlockFunction, blocks: tuple[Block, ...], rows: Rows | None, *, reduce: bool) -> Task:
    return Task(function, blocks, None if rows is None else rows.part(blocks[0].start, blocks[-1].stop), reduce)


def _groups(blocks: Sequence[Block], size: int) -> Iterator[list[Block]]:
    """Cut consecutive blocks where their index is a multiple of ``size``, so that groups are subtrees."""
    group: list[Block] = []
    for block in blocks:
        if group and block.index % size == 0:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


class Serial(Engine):
    """Computes one block after the other, in this thread.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import Serial, as_rows, row_blocks
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> total, = Serial().sum(lambda items, block, shared: (items.sum(0),), row_blocks(3, 2), as_rows(X))
    >>> total
    array([6., 9.])
    """

    @property
    def width(self) -> int:
        """One: blocks are computed one after the other."""
        return 1

    def _run(self, tasks: Iterator[Task], shared: Any) -> Iterator[list[Any]]:
        for task in tasks:
            yield task(shared)


class Threads(Engine):
    """Computes blocks in threads of this process; each of them computes its block alone.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads; None: as many as torch uses, -1: every core.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import Serial, Threads, as_rows, row_blocks
    >>> rows = as_rows(np.random.default_rng(0).normal(size=(1000, 3)))
    >>> def total(engine):
    ...     return engine.sum(lambda items, block, shared: (items.sum(0),), row_blocks(1000, 64), rows)[0]
    >>> bool((total(Serial()) == total(Threads(2))).all())  # the same bits
    True
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @property
    def width(self) -> int:
        """The number of threads."""
        return count_threads(self.n_jobs)

    def _run(self, tasks: Iterator[Task], shared: Any) -> Iterator[list[Any]]:
        n = self.width
        # The limit is set before the pool starts, so that its threads inherit it: n threads on n cores in all.
        with thread_limit(1), ThreadPoolExecutor(n, thread_name_prefix="rkhs") as pool:
            waiting: deque[Future[list[Any]]] = deque()
            try:
                for task in tasks:
                    waiting.append(pool.submit(task, shared))
                    if len(waiting) >= 2 * n:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


_NAMES = ByName("rkhs.engines", serial="Serial", threads="Threads", dask="Dask")


def make_engine(engine: Any = "serial") -> Engine:
    """Return an engine by its name, with the defaults of its class.

    Parameters
    ----------
    engine : {"serial", "threads", "dask"} or Engine, default="serial"
        An engine is returned as it is.

    Returns
    -------
    Engine

    Raises
    ------
    InputError
        For another name.

    Examples
    --------
    >>> from rkhs.engines import make_engine
    >>> make_engine("threads")
    Threads()
    """
    if isinstance(engine, Engine):
        return engine
    if isinstance(engine, str) and engine in _NAMES:
        return _NAMES[engine]()
    raise InputError(
        "engine must be 'serial', 'threads', 'dask' or an object of rkhs.engines such as Threads(2) or "
        f"Dask('tcp://host:8786'); got {engine!r}"
    )
