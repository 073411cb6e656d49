"""Sets of graphs: the text format of the TU Dortmund collection, the same as one npz file, and one graph a file."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional, warn
from rkhs._core.files import UNREADABLE, check_readable
from rkhs._core.memory import available_bytes
from rkhs.data.arrays import load_arrays
from rkhs.data.dataset import Dataset, read_text, refuse_empty
from rkhs.data.formats import advice, can_convert
from rkhs.data.text import number_in

GRAPH_EXTENSIONS = (".graphml", ".gml", ".edgelist", ".edges")
_LABELS = ("labels", "atom", "element", "symbol", "type", "node_type", "atom_type", "kind")
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
            others = map(advice, filter(can_convert, sorted(file.iterdir())))
            raise InputError(
                f"{file}: expected one file NAME_A.txt of the TU format; got {len(found)}, and no "
                f"{', '.join(GRAPH_EXTENSIONS)} files alone, nor tables of a curve each; "
                f"{[*others, 'name the file itself'][0]}"
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
    named = [pair for file in files for pair in _graphs_of(file, unused)]
    graphs = [graph for _, graph in named]
    _drop_names([graph for graph in graphs if files[0].suffix.lower() == ".gml" and hasattr(graph, "nodes")])
    for note in _label_nodes(graphs, unused):
        warn(f"{source}: {note}")
    return Dataset(np.fromiter(graphs, object), "graphs", tuple(name for name, _ in named), None, source)


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
    return _graphs(edges - node_ptr[owners[edges[:, 0]]][:, None], edge_ptr, node_ptr, labels, y, str(file))


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
    graphs = ((_distinct(edges[a:b]), known[c:d]) for a, b, c, d in ends)
    return Dataset(np.fromiter(graphs, object), "graphs", None, None, source, classes=y)


def _graphs_of(file: Path, unused: set[str]) -> list[tuple[str, Any]]:
    """Read the graphs of one file, and note what a list of edges holds next to nodes."""
    if file.suffix.lower() in (".graphml", ".gml"):
        graphs = _graphml(file)
        return [(file.stem if len(graphs) == 1 else f"{file.stem}:{i}", graph) for i, graph in enumerate(graphs)]
    return [(file.stem, _edge_list(file, unused))]


def _distinct(edges: np.ndarray) -> np.ndarray | list[list[int]]:
    """Edges of a file; two of them as a list of pairs, which no edge_index is."""
    return edges.tolist() if len(edges) == 2 else edges


def _edge_list(file: Path, unused: set[str]) -> tuple[Any, int]:
    """Two names of nodes a line, with white space or a comma between; what stands behind is named and not used."""
    numbers: dict[str, int] = {}
    edges: list[tuple[int, int]] = []
    for i, line in enumerate(read_text(file).splitlines(), 1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        cells = _nodes(text, unused)
        if len(cells) != 2 or not all(cells):
            raise InputError(
                f"{file}: line {i}: expected an edge, the names of two nodes; got {text[:40]!r}; leave out what is no "
                "name and no weight"
            )
        a, b = (numbers.setdefault(name, len(numbers)) for name in cells)
        edges.append((a, b))
    refuse_empty(edges, file, "an edge per line")
    return _distinct(np.array(edges, dtype=np.int64)), len(numbers)


def _nodes(text: str, unused: set[str]) -> list[str]:
    head, _, attributes = text.partition("{")  # as networkx writes them
    unused.update(re.findall(r"['\"](\w+)['\"]\s*:", attributes))
    cells = [cell.strip() for cell in head.split(",")] if "," in head else head.split()
    if len(cells) != 3 or number_in(cells[2]) is None:
        return cells
    unused.add("weight")
    return cells[:2]


def _graphml(file: Path) -> list[Any]:
    networkx = optional("networkx")
    check_readable(file)
    try:
        if file.suffix.lower() == ".gml":
            return [networkx.read_gml(file, label="id")]
        graphs = list(networkx.readwrite.graphml.GraphMLReader()(path=str(file)))
    except (networkx.NetworkXError, TypeError, *UNREADABLE) as error:
        what = file.suffix[1:].upper().replace("GRAPHML", "GraphML")
        raise InputError(f"{file}: expected {what} that networkx reads; got {error}; write it again") from error
    refuse_empty(graphs, file, "GraphML with a <graph>", "none")
    return graphs


def _drop_names(graphs: list[Any]) -> None:
    """Remove labels of the nodes of graphs of GML which differ within each graph: these are their names."""
    if all(len({str(node.get("label")) for node in graph.nodes.values()}) == len(graph) for graph in graphs):
        for node in chain.from_iterable(graph.nodes.values() for graph in graphs):
            node.pop("label", None)


def _label_nodes(graphs: list[Any], unused: set[str]) -> tuple[str, ...]:
    """Take an attribute of nodes for their labels, if only one can be; what is said of it and of the others."""
    drawn = [graph for graph in graphs if hasattr(graph, "nodes")]
    nodes = [list(graph.nodes.values()) for graph in drawn]
    names = set().union(*chain.from_iterable(nodes))
    edges = unused.union(*chain.from_iterable(graph.edges.values() for graph in drawn))
    label, notes = _label(nodes, sorted(names)), []
    if label not in (None, "label"):
        notes.append(f"labels of nodes are their attribute {label!r}")
        for data in chain.from_iterable(nodes):
            data["label"] = data[label]
    others = [f"{name!r} of nodes" for name in sorted(names - {"label", label})]
    others += [f"{name!r} of edges" for name in sorted(edges)]
    if others:
        notes.append(f"attributes that graph kernels do not use: {', '.join(others)}")
    return tuple(notes)


def _label(nodes: list[list[Any]], names: list[str]) -> str | None:
    """The attribute that labels the nodes of each graph: the one of that name, or the only one that can."""
    if "label" in names:
        return "label"
    fit = [name for name in names if _may_label([[data.get(name) for data in some] for some in nodes])]
    known = [name for name in fit if name.lower() in _LABELS] or fit
    return known[0] if len(known) == 1 else None


def _may_label(values: list[list[Any]]) -> bool:
    """Whether all are texts or whole numbers, and nodes of one graph share one, as labels do and names do not."""
    plain = {*map(type, chain.from_iterable(values))} <= {str, int}
    return plain and any(len(set(some)) < len(some) for some in values)
