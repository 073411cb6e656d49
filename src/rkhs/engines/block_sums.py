"""Deterministic sums over rows: fixed blocks, and a fixed binary tree of their sums.

Floating-point sums depend on their order. Here the order depends on the number of rows and the block size alone, never
on how many threads or machines take part, so that every engine gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rkhs._core.checks import check_count


@dataclass(frozen=True)
class Block:
    """Rows ``start:stop``, the ``index``-th block.

    Parameters
    ----------
    index : int
    start, stop : int

    Examples
    --------
    >>> from rkhs.engines import row_blocks
    >>> first, last = row_blocks(10, 6)
    >>> str(last), len(last)
    ('block 1 (rows 6 to 9)', 4)
    """

    index: int
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    def __str__(self) -> str:
        return f"block {self.index} (rows {self.start} to {self.stop - 1})"


def row_blocks(n_rows: int, block_size: int) -> tuple[Block, ...]:
    """Cut rows into blocks of one size; the last may be shorter.

    Parameters
    ----------
    n_rows : int
    block_size : int
        Part of the result: another size gives other rounding. It never depends on the number of
        workers.

    Returns
    -------
    tuple of Block

    Raises
    ------
    InputError
        If either is not a positive integer.

    Examples
    --------
    >>> from rkhs.engines import row_blocks
    >>> [(block.start, block.stop) for block in row_blocks(10, 4)]
    [(0, 4), (4, 8), (8, 10)]
    """
    n = check_count(n_rows, "n_rows")
    size = check_count(block_size, "block_size")
    return tuple(Block(i, start, min(start + size, n)) for i, start in enumerate(range(0, n, size)))


@dataclass(frozen=True, eq=False)
class Node:
    """The sum below one node of the tree: blocks ``position * 2^level`` up to the next multiple.

    Parameters
    ----------
    level, position : int
    value : tuple of ndarray of shape (...)
        One or several sums, taken together.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import Node, TreeSum
    >>> tree = TreeSum([Node(1, 0, (np.array(3.0),))])
    >>> tree.push(Node(0, 2, (np.array(4.0),)))
    >>> tree.total()
    (array(7.),)
    """

    level: int
    position: int
    value: tuple[np.ndarray, ...]


class TreeSum:
    """Sums over blocks by a fixed binary tree, holding O(log n) partial sums.

    Node ``(l, i)`` is the sum of nodes ``(l - 1, 2 i)`` and ``(l - 1, 2 i + 1)``; what has no sibling in the end is
    added from the right to the left. Blocks are pushed in order; any stretch of them may be summed elsewhere by a tree
    of its own, whose :attr:`nodes` are pushed here: the result has the same bits.

    Parameters
    ----------
    nodes : sequence of Node, default=()
        Partial sums to continue from.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.engines import Node, TreeSum
    >>> tree = TreeSum()
    >>> for i in range(5):
    ...     tree.push(Node(0, i, (np.array(float(i)),)))
    >>> [node.level for node in tree.nodes], float(tree.total()[0])
    ([2, 0], 10.0)
    """

    def __init__(self, nodes: Sequence[Node] = ()) -> None:
        self._nodes = list(nodes)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The partial sums: at most one per level at each end of the stretch of blocks."""
        return tuple(self._nodes)

    def push(self, node: Node) -> None:
        """Add the next node, and every sum that it completes."""
        while self._nodes and node.position % 2:
            left = self._nodes[-1]
            if (left.level, left.position) != (node.level, node.position - 1):
                break
            self._nodes.pop()
            node = Node(node.level + 1, node.position // 2, _add(left.value, node.value))
        self._nodes.append(node)

    def total(self) -> tuple[np.ndarray, ...]:
        """Sum of all blocks pushed so far; raises ValueError if there are none."""
        if not self._nodes:
            raise ValueError("a sum over no blocks has no value")
        total = self._nodes[-1].value
        for node in reversed(self._nodes[:-1]):
            total = _add(node.value, total)
        return total


def _add(left: tuple[np.ndarray, ...], right: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(a + b) for a, b in zip(left, right, strict=True))
