"""Labelled graphs: Weisfeiler-Lehman subtree kernel of three rounds, scaled to a unit diagonal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from studies.bench.usefulness.sets import DataSet


def subtree_features(stored: np.lib.npyio.NpzFile, rows: np.ndarray, rounds: int = 3) -> csr_matrix:
    """Counts of the labels of all rounds (Shervashidze et al. 2011), shape (n, number of labels)."""
    names: dict[object, int] = {}
    entries: list[tuple[int, int]] = []
    for place, g in enumerate(rows):
        nodes = stored["node_label"][stored["node_ptr"][g] : stored["node_ptr"][g + 1]].tolist()
        edges = stored["edges"][stored["edge_ptr"][g] : stored["edge_ptr"][g + 1]].tolist()
        near: list[list[int]] = [[] for _ in nodes]
        for a, b in edges:
            near[a].append(b)
            near[b].append(a)
        labels = [names.setdefault((0, label), len(names)) for label in nodes]
        entries += [(place, label) for label in labels]
        for step in range(1, rounds + 1):
            grown = [(step, own, tuple(sorted(labels[j] for j in near[i]))) for i, own in enumerate(labels)]
            labels = [names.setdefault(label, len(names)) for label in grown]
            entries += [(place, label) for label in labels]
    where = np.array(entries).T
    return csr_matrix((np.ones(where.shape[1]), where), shape=(len(rows), len(names)))


def sets(folder: Path | None) -> list[DataSet]:
    """None of them was used while defaults were chosen."""
    if folder is None:
        return []

    def sample_of(name: str):
        def sample(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            stored = dict(np.load(folder / f"graphs_{name}" / "graphs.npz").items())
            V = subtree_features(stored, rows)
            K = np.asarray((V @ V.T).todense())
            root = np.sqrt(K.diagonal())
            return K / root[:, None] / root[None, :], stored["y"][rows]

        return sample

    sizes = {"mutag": 188, "ptc": 344, "nci1": 4110, "imdbbinary": 1000}
    return [
        DataSet(name, "graphs", lambda n=n: (np.empty(n), None), gram=True, sample=sample_of(name))
        for name, n in sizes.items()
    ]
