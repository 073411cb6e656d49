"""Graphs one by one in files: lists of edges, and GraphML through networkx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.errors import InputError, missing_extra
from rkhs.data.dataset import read_text

__all__ = ["GRAPH_EXTENSIONS", "read_graph_file"]

GRAPH_EXTENSIONS = (".graphml", ".edgelist", ".edges")


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
