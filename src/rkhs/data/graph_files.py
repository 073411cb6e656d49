"""Sets of graphs: the text format of the TU Dortmund collection, the same as one npz file, and one graph a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional, warn
from rkhs._core.files import UNREADABLE, check_readable
from rkhs._core.memory import available_bytes
from rkhs.data.arrays import load_arrays
from rkhs.data.dataset import Dataset, read_text, refuse_empty

GRAPH_EXTENSIONS = (".graphml", ".gml", ".edgelist", ".edges")
_ARRAYS = ("edges", "edge_ptr", "node_ptr")


def read_graphs(file: Path, encoding: str = "utf-8") -> Dataset:
    """Read a set of undirected graphs; see `read_items`."""
    if file.is_dir():
        single = sorted(each for each in file.iterdir() if each.suffix.lower() in GRAPH_EXTENSIONS)
        found = sorted(file.glob("*_A.txt"))
        if single and not found:
            return _one_by_one(single, str(file), encoding)
        if len(found) != 1:
            raise InputError(
                f"{file}: expected one file NAME_A.txt of the TU format, or {', '.join(GRAPH_EXTENSIONS)} files; got "
                f"{len(found)} and {len(single)}; name the file itself"
            )
        return _read_text(found[0], encoding)
    if file.suffix == ".npz":
        return _read_npz(file)
    if file.suffix.lower() in GRAPH_EXTENSIONS:
        return _one_by_one([file], str(file), encoding)
    if file.name.endswith("_A.txt"):
        return _read_text(file, encoding)
    raise InputError(
        f"`path` must be a folder, a file NAME_A.txt or a {', '.join(('.npz', *GRAPH_EXTENSIONS))} file; got "
        f"{file.name!r}; convert it with networkx"
    )


def _one_by_one(files: list[Path], source: str, encoding: str) -> Dataset:
    """Graphs of files that hold one each, and what kernels do not use of them."""
    named: list[tuple[str, Any]] = []
    unused: set[str] = set()
    for file in files:
        if file.suffix.lower() in (".graphml", ".gml"):
            graph = _of_networkx(file)
            unused |= {f"{key!r} of nodes" for node in graph.nodes.values() for key in node if key != "label"}
            unused |= {f"{key!r} of edges" for edge in graph.edges.values() for key in edge}
            named.append((file.stem, graph))
        else:
            named.append((file.stem, _edge_list(file, unused, encoding)))
    if unused:
        warn(f"{source}: attributes that graph kernels do not use: {', '.join(sorted(unused))}")
    names, graphs = zip(*named, strict=True)
    return Dataset(np.fromiter(graphs, object), "graphs", names, None, source)


def _numbers(file: Path, columns: int, encoding: str) -> np.ndarray:
    try:
        lines = [line for line in read_text(file, encoding).split("\n") if line.split("#", 1)[0].strip()]
        if not lines:  # graphs without any edge; NumPy would warn
            return np.zeros((0, columns), dtype=np.int64)
        array = np.loadtxt(lines, delimiter=",", dtype=np.int64, ndmin=2)
    except ValueError as error:
        raise InputError(f"{file}: expected {columns} whole numbers per line, with commas between; {error}") from error
    if array.size and array.shape[1] != columns:
        raise InputError(f"{file}: expected {columns} whole numbers per line; got {array.shape[1]}")
    return array.reshape(-1, columns)


def _read_text(file: Path, encoding: str) -> Dataset:
    start = file.name.removesuffix("A.txt")
    found = {
        name: _numbers(attribute_file, 1, encoding)[:, 0]
        for name in ("graph_indicator", "node_labels", "graph_labels")
        if (attribute_file := file.with_name(f"{start}{name}.txt")).exists()
    }
    indicator = f"{start}graph_indicator.txt"
    if "graph_indicator" not in found:
        raise InputError(f"{file}: expected {indicator} next to it; the TU format needs both")
    owners, edges = found["graph_indicator"] - 1, _numbers(file, 2, encoding) - 1
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
    return _graphs(edges - node_ptr[owners[edges[:, 0]]][:, None], edge_ptr, node_ptr, labels, y, str(file))


def _are_numbered(owners: np.ndarray, n: int, *, alone: bool) -> bool:
    """Whether nodes stand graph by graph, in graphs from 0 to n - 1; without classes there is no empty graph."""
    if not len(owners) or owners.min() < 0 or owners.max() >= n or (alone and n > len(owners)):
        return False
    return bool((np.diff(owners) >= 0).all())


def _read_npz(file: Path) -> Dataset:
    arrays = load_arrays(file)
    missing = [name for name in _ARRAYS if name not in arrays]
    if missing:
        raise InputError(f"{file}: expected the arrays {', '.join(_ARRAYS)}; got none called {missing[0]!r}")
    for name in arrays.keys() & {*_ARRAYS, "node_label"}:
        if arrays[name].dtype.kind not in "iu" or arrays[name].ndim != (2 if name == "edges" else 1):
            raise InputError(
                f"{file}: expected rows of two whole numbers in edges, and one row of them in edge_ptr, node_ptr and "
                f"node_label; got {name} of {arrays[name].dtype} and shape {arrays[name].shape}"
            )
    edges, edge_ptr, node_ptr = (arrays[name].astype(np.int64) for name in _ARRAYS)
    _check_pointers(arrays, edge_ptr, node_ptr, file)
    return _graphs(edges, edge_ptr, node_ptr, arrays.get("node_label"), arrays.get("y"), str(file))


def _check_pointers(arrays: dict[str, np.ndarray], edge_ptr: np.ndarray, node_ptr: np.ndarray, file: Path) -> None:
    """Refuse pointers that fall, arrays of other lengths than they say, and nodes beyond the memory."""
    for pointer in (edge_ptr, node_ptr):
        if len(pointer) < 2 or pointer[0] != 0 or (np.diff(pointer) < 0).any():
            raise InputError(f"{file}: expected edge_ptr and node_ptr to begin with 0 and never to fall, one per graph")
    n = len(node_ptr) - 1
    wanted = {"edges": (edge_ptr[-1], 2), "edge_ptr": (n + 1,), "node_label": (node_ptr[-1],), "y": (n,)}
    if any(arrays[name].shape[: len(shape)] != shape for name, shape in wanted.items() if name in arrays):
        raise InputError(f"{file}: expected edges, node_label and y of the lengths that edge_ptr and node_ptr say")
    if 8 * int(node_ptr[-1]) > available_bytes():
        raise InputError(f"{file}: expected nodes that fit into memory; got node_ptr for {int(node_ptr[-1])} of them")


def _graphs(edges: Any, edge_ptr: Any, node_ptr: Any, labels: Any, y: Any, source: str) -> Dataset:
    known = np.zeros(int(node_ptr[-1]), dtype=np.int64) if labels is None else labels.astype(np.int64)
    ends = zip(edge_ptr[:-1], edge_ptr[1:], node_ptr[:-1], node_ptr[1:], strict=True)
    graphs = ((_distinct(edges[a:b]), known[c:d]) for a, b, c, d in ends)
    return Dataset(np.fromiter(graphs, object), "graphs", None, None, source, classes=y)


def _distinct(edges: np.ndarray) -> np.ndarray | list[list[int]]:
    """Edges of a file; two of them as a list of pairs, which no edge_index is."""
    return edges.tolist() if len(edges) == 2 else edges


def _edge_list(file: Path, unused: set[str], encoding: str) -> tuple[Any, int]:
    """Two names of nodes a line, with white space or a comma between; what stands behind is not used.

    Lines that begin with % are comments, and what stands behind #.
    """
    numbers: dict[str, int] = {}
    edges: list[tuple[int, int]] = []
    for i, line in enumerate(read_text(file, encoding).splitlines(), 1):
        cells = [] if line.startswith("%") else line.split("#", 1)[0].replace(",", " ").split()
        if len(cells) == 1:
            raise InputError(f"{file}: line {i}: expected an edge, the names of two nodes; got {cells[0][:40]!r}")
        if cells:
            a, b = (numbers.setdefault(name, len(numbers)) for name in cells[:2])
            edges.append((a, b))
        if len(cells) > 2:
            unused.add("what stands behind two nodes")
    refuse_empty(edges, file, "an edge per line")
    return _distinct(np.array(edges, dtype=np.int64)), len(numbers)


def _of_networkx(file: Path) -> Any:
    """The graph of a GraphML file, or of a GML file, whose labels are names of nodes."""
    networkx = optional("networkx")
    check_readable(file)
    is_gml = file.suffix.lower() == ".gml"
    try:
        if is_gml:
            return networkx.read_gml(file)
        graphs = list(networkx.readwrite.graphml.GraphMLReader()(path=str(file)))
    except (networkx.NetworkXError, TypeError, *UNREADABLE) as error:
        what = "GML" if is_gml else "GraphML"
        raise InputError(f"{file}: expected {what} that networkx reads; got {error}; write it again") from error
    if len(graphs) != 1:
        raise InputError(f"{file}: expected one <graph> in a GraphML file; got {len(graphs)}; write a file for each")
    return graphs[0]
