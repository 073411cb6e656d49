"""Sets of graphs: the text format of the TU Dortmund collection, the same as one npz file, and one graph a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs._core.memory import available_bytes
from rkhs.data.arrays import load_arrays
from rkhs.data.dataset import existing, read_text
from rkhs.data.graph_lists import GRAPH_EXTENSIONS, label_nodes, read_graph_file

_ARRAYS = ("edges", "edge_ptr", "node_ptr")


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs of a file, ready for the graph kernels.

    Parameters
    ----------
    graphs : list
        n pairs ``(edges, labels)``: int64 arrays of shape (m, 2) and (number of nodes,); labels are zeros if the file
        has none, and only the number of nodes for lists of edges. GraphML gives networkx graphs.
    targets : ndarray of shape (n,) or None
        Class of each graph, if the file has them.
    labelled : bool
        Whether the file has labels of nodes.
    source : str
        The path that was read.
    names : tuple of str or None, default=None
        n names of files without their endings, numbered where a file holds several graphs.
    guessed : tuple of str, default=()
        Which attribute of GraphML is taken for labels of nodes, and which attributes are not used.
    """

    graphs: list[Any]
    targets: np.ndarray | None
    labelled: bool
    source: str
    names: tuple[str, ...] | None = None
    guessed: tuple[str, ...] = ()


def read_graphs(path: str | os.PathLike[str]) -> Graphs:
    """Read a set of undirected graphs.

    * A folder in the TU format, or its file ``DS_A.txt``. ``DS_A.txt`` has one edge a line, and
      ``DS_graph_indicator.txt`` the graph of each node; both count from 1. ``DS_node_labels.txt`` and
      ``DS_graph_labels.txt`` may be there.
    * A ``.npz`` file with ``edges`` of shape (m, 2), which are node numbers within each graph, ``edge_ptr`` and
      ``node_ptr`` of shape (n + 1,). ``node_label`` and ``y`` may be there.
    * One ``.graphml``, ``.edgelist`` or ``.edges`` file, or a folder of them, read in the order of their names. An edge
      list has the names of two nodes a line, with white space or a comma between, perhaps a weight or attributes that
      are not used, and comments after ``#``. Nodes of
      GraphML without the attribute ``label`` take one called atom, element, symbol, type or kind, or the only one whose
      texts or whole numbers repeat, for it.

    Parameters
    ----------
    path : str or path
        One of these files or folders.

    Returns
    -------
    Graphs

    Raises
    ------
    InputError
        If files are missing or damaged, or an edge joins two graphs.
    MissingExtraError
        If GraphML needs the extra ``graphs``.

    Notes
    -----
    Source: Morris et al., TUDataset: a collection of benchmark datasets for learning with graphs (2020), for the
    format.
    """
    file = existing(path)
    if file.suffix == ".npz":
        return _read_npz(file)
    if file.is_dir():
        found = sorted(file.glob("*_A.txt"))
        single = sorted(each for each in file.iterdir() if each.suffix.lower() in GRAPH_EXTENSIONS)
        if single and not found:
            return _one_by_one(single, str(file))
        if len(found) != 1:
            raise InputError(
                f"{file}: expected one file NAME_A.txt of the TU format; got {len(found)}, and no "
                f"{', '.join(GRAPH_EXTENSIONS)} files alone; name the file itself"
            )
        return _read_text(found[0])
    if file.suffix.lower() in GRAPH_EXTENSIONS:
        return _one_by_one([file], str(file))
    if file.name.endswith("_A.txt"):
        return _read_text(file)
    raise InputError(
        f"`path` must be a folder, a file NAME_A.txt or a {', '.join(('.npz', *GRAPH_EXTENSIONS))} file; got "
        f"{file.name!r}; convert it with networkx"
    )


def _one_by_one(files: list[Path], source: str) -> Graphs:
    unused: set[str] = set()
    named = [pair for file in files for pair in read_graph_file(file, unused)]
    graphs = [graph for _, graph in named]
    labelled, guessed = label_nodes(graphs, unused)
    return Graphs(graphs, None, labelled, source, tuple(name for name, _ in named), guessed)


def _numbers(file: Path, columns: int) -> np.ndarray:
    try:
        lines = [line for line in read_text(file).split("\n") if line.split("#", 1)[0].strip()]
        if not lines:  # graphs without any edge; NumPy would warn
            return np.zeros((0, columns), dtype=np.int64)
        array = np.loadtxt(lines, delimiter=",", dtype=np.int64, ndmin=2)
    except ValueError as error:
        raise InputError(f"{file}: expected {columns} whole numbers a line, with commas between; {error}") from error
    if array.size and array.shape[1] != columns:
        raise InputError(f"{file}: expected {columns} whole numbers a line; got {array.shape[1]}")
    return array.reshape(-1, columns)


def _read_text(file: Path) -> Graphs:
    start = file.name.removesuffix("A.txt")
    found = {
        name: _numbers(beside, 1)[:, 0]
        for name in ("graph_indicator", "node_labels", "graph_labels")
        if (beside := file.with_name(f"{start}{name}.txt")).exists()
    }
    indicator = f"{start}graph_indicator.txt"
    if "graph_indicator" not in found:
        raise InputError(f"{file}: expected {indicator} beside it; the TU format needs both")
    owners, edges = found["graph_indicator"] - 1, _numbers(file, 2) - 1
    labels, y = found.get("node_labels"), found.get("graph_labels")
    n = int(owners.max(initial=-1)) + 1 if y is None else len(y)
    if not _are_numbered(owners, n, alone=y is None):
        raise InputError(
            f"{file}: expected nodes graph by graph, with graphs numbered from 1 to {n}; {indicator} says otherwise"
        )
    if labels is not None and len(labels) != len(owners):
        raise InputError(
            f"{file}: expected a label for each of {len(owners)} nodes; {start}node_labels.txt has {len(labels)}"
        )
    if ((edges < 0) | (edges >= len(owners))).any():
        raise InputError(f"{file}: expected numbers of nodes from 1 to {len(owners)}; got {int(edges.max()) + 1}")
    apart = owners[edges[:, 0]] != owners[edges[:, 1]]
    if apart.any():
        raise InputError(f"{file}: expected edges within graphs; line {int(apart.argmax()) + 1} joins two graphs")
    node_ptr = np.searchsorted(owners, np.arange(n + 1))
    edges = edges[np.argsort(owners[edges[:, 0]], kind="stable")]
    edge_ptr = np.searchsorted(owners[edges[:, 0]], np.arange(n + 1))
    local = edges - node_ptr[owners[edges[:, 0]]][:, None]
    return _graphs(local, edge_ptr, node_ptr, labels, y, str(file))


def _are_numbered(owners: np.ndarray, n: int, *, alone: bool) -> bool:
    """Whether nodes stand graph by graph, in graphs from 0 to n - 1; without classes there is no empty graph."""
    if not len(owners) or owners.min() < 0 or owners.max() >= n or (alone and n > len(owners)):
        return False
    return bool((np.diff(owners) >= 0).all())


def _read_npz(file: Path) -> Graphs:
    arrays = _stored(file)
    labels, y = arrays.get("node_label"), arrays.get("y")
    edges, edge_ptr, node_ptr = (arrays[name].astype(np.int64) for name in _ARRAYS)
    for pointer in (edge_ptr, node_ptr):
        if len(pointer) < 2 or pointer[0] != 0 or (np.diff(pointer) < 0).any():
            raise InputError(f"{file}: expected edge_ptr and node_ptr to begin with 0 and never to fall, one a graph")
    n = len(node_ptr) - 1
    wanted = {"edges": (edge_ptr[-1], 2), "edge_ptr": (n + 1,), "node_label": (node_ptr[-1],), "y": (n,)}
    if any(arrays[name].shape[: len(shape)] != shape for name, shape in wanted.items() if name in arrays):
        raise InputError(f"{file}: expected edges, node_label and y of the lengths that edge_ptr and node_ptr say")
    if 8 * int(node_ptr[-1]) > available_bytes():
        raise InputError(f"{file}: expected nodes that fit into memory; got node_ptr for {int(node_ptr[-1])} of them")
    return _graphs(edges, edge_ptr, node_ptr, labels, y, str(file))


def _stored(file: Path) -> dict[str, Any]:
    """The arrays of a npz file, those of node numbers checked."""
    arrays: dict[str, Any] = load_arrays(file)
    missing = [name for name in _ARRAYS if name not in arrays]
    if missing:
        raise InputError(f"{file}: expected the arrays {', '.join(_ARRAYS)}; got none called {missing[0]!r}")
    for name in arrays.keys() & {*_ARRAYS, "node_label"}:
        if arrays[name].dtype.kind not in "iu" or arrays[name].ndim != (2 if name == "edges" else 1):
            raise InputError(
                f"{file}: expected rows of two whole numbers in edges, and one row of them in edge_ptr, node_ptr and "
                f"node_label; got {name} of {arrays[name].dtype} and shape {arrays[name].shape}"
            )
    return arrays


def _graphs(edges: Any, edge_ptr: Any, node_ptr: Any, labels: Any, y: Any, source: str) -> Graphs:
    known = np.zeros(int(node_ptr[-1]), dtype=np.int64) if labels is None else labels.astype(np.int64)
    graphs = [
        (edges[a:b], known[c:d])
        for a, b, c, d in zip(edge_ptr[:-1], edge_ptr[1:], node_ptr[:-1], node_ptr[1:], strict=True)
    ]
    return Graphs(graphs, y, labels is not None, source)
