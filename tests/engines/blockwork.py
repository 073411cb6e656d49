"""Functions of blocks for the tests, where worker processes find them."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np

from rkhs.engines import Block


def moments(items: np.ndarray, block: Block, shared: Any) -> tuple[np.ndarray, ...]:
    """Sums whose last bits depend on the order: products with wild scales, and random numbers of the block."""
    weights = np.random.default_rng([7, block.index]).normal(size=len(items))
    scaled = np.exp(3 * items) * weights[:, None]
    return scaled.T @ items @ shared, np.asarray(scaled.sum())


def describe(items: np.ndarray, block: Block, shared: Any) -> tuple[int, float]:
    return block.index, float(items.sum() + shared)


def deadly_once(items: np.ndarray, block: Block, folder: str) -> tuple[np.ndarray, ...]:
    """Kill the worker the first time that each fourth block is computed."""
    mark = Path(folder) / f"{block.index}"
    if block.index % 4 == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return moments(items, block, np.eye(items.shape[1]))


def greedy(items: np.ndarray, block: Block, shared: Any) -> tuple[np.ndarray, ...]:
    """Take memory without end in block 3."""
    if block.index == 3:
        import time

        hoard = []
        while True:
            hoard.append(np.ones(2**21))
            time.sleep(0.02)
    return (items.sum(0),)


def slow_moments(items: np.ndarray, block: Block, shared: Any) -> tuple[np.ndarray, ...]:
    """Take a while: blocks that are under way when a worker dies."""
    import time

    time.sleep(0.1)
    return moments(items, block, shared)


def refusing(items: np.ndarray, block: Block, shared: Any) -> tuple[np.ndarray, ...]:
    from rkhs._core.errors import InputError

    raise InputError(f"no good: {block}")


def failing(items: np.ndarray, block: Block, shared: Any) -> tuple[np.ndarray, ...]:
    raise KeyError("broken")


def bits(values: tuple[np.ndarray, ...]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(v).tobytes() for v in values)).hexdigest()
