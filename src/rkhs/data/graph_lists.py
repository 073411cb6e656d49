"""Graphs one by one in files: lists of edges, and GraphML through networkx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, missing_extra
from rkhs.data.dataset import read_text

__all__ = ["GRAPH_EXTENSIONS", "label_nodes", "read_graph_file"]

GRAPH_EXTENSIONS = (".graphml", ".edgelist", ".edges")
_LABELS = ("labels", "atom", "element", "symbol", "type", "node_type", "atom_type", "kind")


def read_graph_file(file: Path) -> list[tuple[str, Any]]:
    """Read the graphs of one file."""
    if file.suffix.lower() == ".graphml":
        graphs = _graphml(file)
        return [(file.stem if len(graphs) == 1 else f"{file.stem}:{i}", graph) for i, graph in enumerate(graphs)]
    return [(file.stem, _edge_list(file))]


def _edge_list(file: Path) -> tuple[np.ndarray, int]:
    """Two names of nodes a line, with white space or a comma between; more is refused."""
    numbers: dict[str, int] = {}
    edges: list[tuple[int, int]] = []
    for i, line in enumerate(read_text(file).splitlines(), 1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        cells = [cell.strip() for cell in text.split(",")] if "," in text else text.split()
        if len(cells) != 2 or not all(cells):
            raise InputError(
                f"{file}: line {i}: expected an edge, the names of two nodes; got {text[:40]!r}; weights are not used: "
                "leave them out"
            )
        a, b = (numbers.setdefault(name, len(numbers)) for name in cells)
        edges.append((a, b))
    if not edges:
        raise InputError(f"{file}: expected an edge a line; got an empty file; check that it was written to the end")
    return np.array(edges, dtype=np.int64), len(numbers)


def _graphml(file: Path) -> list[Any]:
    try:
        from networkx import NetworkXError
        from networkx.readwrite.graphml import GraphMLReader
    except ImportError as error:
        raise missing_extra("networkx", "graphs") from error
    try:
        graphs = list(GraphMLReader()(path=str(file)))
    except (NetworkXError, SyntaxError, ValueError, KeyError, TypeError) as error:  # a ParseError is a SyntaxError
        raise InputError(f"{file}: expected GraphML that networkx reads; got {error}; write it again") from error
    if not graphs:
        raise InputError(f"{file}: expected GraphML with a <graph>; got none; check that it was written to the end")
    return graphs


def label_nodes(graphs: list[Any]) -> tuple[bool, tuple[str, ...]]:
    """Whether nodes have labels, after one attribute was taken for them if only one can be; what is said of others."""
    nodes = [data for graph in graphs if hasattr(graph, "nodes") for _, data in graph.nodes(data=True)]
    names = sorted({name for data in nodes for name in data})
    edges = sorted(
        {name for graph in graphs if hasattr(graph, "nodes") for *_, data in graph.edges(data=True) for name in data}
    )
    fit = [name for name in names if all(_is_label(data.get(name)) for data in nodes) and _repeats(graphs, name)]
    known = [name for name in fit if name.lower() in _LABELS] or fit
    taken, said = known[0] if len(known) == 1 and "label" not in names else None, []
    if taken is not None:
        said.append(f"labels of nodes are their attribute {taken!r}")
        for data in nodes:
            data["label"] = data[taken]
    unused = [f"{name!r} of nodes" for name in names if name not in ("label", taken)]
    unused += [f"{name!r} of edges" for name in edges]
    if unused:
        said.append(f"attributes that graph kernels do not use: {', '.join(unused)}")
    return "label" in names or taken is not None, tuple(said)


def _repeats(graphs: list[Any], name: str) -> bool:
    """Whether nodes of one graph share a value, as labels do and names do not."""
    values = ([data[name] for _, data in graph.nodes(data=True)] for graph in graphs if hasattr(graph, "nodes"))
    return any(len(set(some)) < len(some) for some in values)


def _is_label(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)
