"""Graphs one by one in files: lists of edges, and GraphML through networkx."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, optional
from rkhs._core.files import UNREADABLE
from rkhs.data.dataset import read_text
from rkhs.data.text import number_in

GRAPH_EXTENSIONS = (".graphml", ".edgelist", ".edges")
_LABELS = ("labels", "atom", "element", "symbol", "type", "node_type", "atom_type", "kind")


def read_graph_file(file: Path, unused: set[str]) -> list[tuple[str, Any]]:
    """Read the graphs of one file, and note what a list of edges holds next to nodes."""
    if file.suffix.lower() == ".graphml":
        graphs = _graphml(file)
        return [(file.stem if len(graphs) == 1 else f"{file.stem}:{i}", graph) for i, graph in enumerate(graphs)]
    return [(file.stem, _edge_list(file, unused))]


def distinct(edges: np.ndarray) -> np.ndarray | list[list[int]]:
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
    if not edges:
        raise InputError(f"{file}: expected an edge per line; got an empty file; check that it was written to the end")
    return distinct(np.array(edges, dtype=np.int64)), len(numbers)


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
    try:
        graphs = list(networkx.readwrite.graphml.GraphMLReader()(path=str(file)))
    except (networkx.NetworkXError, TypeError, *UNREADABLE) as error:
        raise InputError(f"{file}: expected GraphML that networkx reads; got {error}; write it again") from error
    if not graphs:
        raise InputError(f"{file}: expected GraphML with a <graph>; got none; check that it was written to the end")
    return graphs


def label_nodes(graphs: list[Any], unused: set[str]) -> tuple[str, ...]:
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
