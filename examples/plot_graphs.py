"""A map of graphs
===============

Two components of the Weisfeiler-Lehman kernel, with some of the graphs drawn on the map.

With ``RKHS_DATA`` the graphs are the 188 compounds of MUTAG (labels: atoms). Without it they are drawn at random, of
three kinds: rings with tails, trees and random graphs.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from gallery import far_apart, save, scatter_classes
from sklearn.neighbors import KNeighborsClassifier

import rkhs
from rkhs.data import read_items
from rkhs.kernels import WeisfeilerLehman

KINDS = ("ring with tails", "tree", "random")


def drawn(n: int) -> tuple[list[Any], np.ndarray]:
    """Graphs of three kinds, and their kinds."""
    rng, graphs, kinds = np.random.default_rng(0), [], np.arange(n) % 3
    for kind in kinds:
        size = int(rng.integers(8, 16))
        if kind == 0:
            graph = nx.cycle_graph(size)
            graph.add_edges_from((int(rng.integers(size)), size + i) for i in range(3))
        elif kind == 1:
            graph = nx.from_prufer_sequence(rng.integers(0, size, size - 2).tolist())
        else:
            graph = nx.gnp_random_graph(size, 0.3, seed=int(rng.integers(1 << 30)))
        graphs.append(graph)
    return graphs, kinds


def load(n: int) -> tuple[list[Any], np.ndarray, str]:
    """Graphs, classes and the name of the set."""
    root = os.environ.get("RKHS_DATA")
    if not root:
        return (*drawn(n), "drawn graphs")
    data = read_items(Path(root) / "graphs_mutag" / "graphs.npz")
    rows = np.random.default_rng(0).permutation(data.n_samples)[:n]
    return [data.items[i] for i in rows], np.asarray(data.classes)[rows], "MUTAG"


def main(n: int = 180) -> dict[str, float]:
    graphs, y, name = load(n)
    model = rkhs.KernelAutoencoder(2, kernel=WeisfeilerLehman(3), random_state=0).fit(graphs)
    Z = model.codes_
    figure, axes = plt.subplots(figsize=(9, 7), layout="constrained")
    scatter_classes(
        axes, Z, np.unique(y, return_inverse=True)[1], KINDS if name == "drawn graphs" else ("class 0", "class 1")
    )
    low, high = Z.min(0) - 0.15 * np.ptp(Z, axis=0), Z.max(0) + 0.15 * np.ptp(Z, axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="code 1", ylabel="code 2")
    axes.set_title(f"{name}: two codes of {len(y)} graphs; a ring marks the graphs that are drawn", fontsize=10)
    for row in far_apart(Z, 10):
        graph = graphs[row]
        if isinstance(graph, tuple):
            edges, labels = graph
            graph = nx.Graph()
            graph.add_nodes_from(range(len(labels)))
            graph.add_edges_from(map(tuple, edges.tolist()))
        x, y_place = (Z[row] - low) / (high - low)
        axes.plot(*Z[row], "o", markersize=8, markerfacecolor="none", markeredgecolor="black")
        inset = axes.inset_axes((x - 0.06, y_place + 0.01, 0.12, 0.12))
        nx.draw(graph, nx.kamada_kawai_layout(graph), ax=inset, node_size=8, width=0.7, node_color="#555555")
    save(figure, "graphs")
    half = len(y) // 2
    score = KNeighborsClassifier(5).fit(Z[:half], y[:half]).score(Z[half:], y[half:])
    result = {"5 nearest neighbours": float(score), "largest class": float(np.bincount(y).max() / len(y))}
    print(name, result)
    return result


if __name__ == "__main__":
    main()
