"""Sets of graphs: the text format of the TU Dortmund collection, the same as one npz file, and one graph a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from rkhs._core.memory import available_bytes
from rkhs.data.arrays import load_arrays
from rkhs.data.dataset import Dataset, read_text
from rkhs.data.graph_lists import GRAPH_EXTENSIONS, distinct, label_nodes, read_graph_file

_ARRAYS = ("edges", "edge_ptr", "node_ptr")


def read_graphs(file: Path) -> Dataset:
    """Read a set of undirected graphs; see `read_items`."""
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


def _one_by_one(files: list[Path], source: str) -> Dataset:
    unused: set[str] = set()
    named = [pair for file in files for pair in read_graph_file(file, unused)]
    graphs = [graph for _, graph in named]
    guessed, names = label_nodes(graphs, unused), tuple(name for name, _ in named)
    return Dataset(np.fromiter(graphs, object), "graphs", names, None, source, guessed=guessed)


def _numbers(file: Path, columns: int) -> np.ndarray:
    try:
        lines = [line for line in read_text(file).split("\n") if line.split("#", 1)[0].strip()]
        if not lines:  # graphs without any edge; NumPy would warn
            return np.zeros((0, columns), dtype=np.int64)
        array = np.loadtxt(lines, delimiter=",", dtype=np.int64, ndmin=2)
    except ValueError as error:
        raise InputError(f"{file}: expected {columns} whole numbers per line, with commas between; {error}") from error
    if array.size and array.shape[1] != columns:
        raise InputError(f"{file}: expected {columns} whole numbers per line; got {array.shape[1]}")
    return array.reshape(-1, columns)


def _read_text(file: Path) -> Dataset:
    start = file.name.removesuffix("A.txt")
    found = {
        name: _numbers(attribute_file, 1)[:, 0]
        for name in ("graph_indicator", "node_labels", "graph_labels")
        if (attribute_file := file.with_name(f"{start}{name}.txt")).exists()
    }
    indicator = f"{start}graph_indicator.txt"
    if "graph_indicator" not in found:
        raise InputError(f"{file}: expected {indicator} next to it; the TU format needs both")
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
    crossing = owners[edges[:, 0]] != owners[edges[:, 1]]
    if crossing.any():
        raise InputError(f"{file}: expected edges within graphs; line {int(crossing.argmax()) + 1} joins two graphs")
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


def _read_npz(file: Path) -> Dataset:
    arrays = _stored(file)
    labels, y = arrays.get("node_label"), arrays.get("y")
    edges, edge_ptr, node_ptr = (arrays[name].astype(np.int64) for name in _ARRAYS)
    for pointer in (edge_ptr, node_ptr):
        if len(pointer) < 2 or pointer[0] != 0 or (np.diff(pointer) < 0).any():
            raise InputError(f"{file}: expected edge_ptr and node_ptr to begin with 0 and never to fall, one per graph")
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


def _graphs(edges: Any, edge_ptr: Any, node_ptr: Any, labels: Any, y: Any, source: str) -> Dataset:
    known = np.zeros(int(node_ptr[-1]), dtype=np.int64) if labels is None else labels.astype(np.int64)
    ends = zip(edge_ptr[:-1], edge_ptr[1:], node_ptr[:-1], node_ptr[1:], strict=True)
    graphs = ((distinct(edges[a:b]), known[c:d]) for a, b, c, d in ends)
    return Dataset(np.fromiter(graphs, object), "graphs", None, None, source, classes=y)
