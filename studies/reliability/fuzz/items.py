"""Objects as users bring them for every object kernel, in the containers that hold objects, and hostile ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import torch

from rkhs.kernels import (
    DynamicTimeWarping,
    GlobalAlignment,
    Kernel,
    MeanEmbedding,
    Mismatch,
    MixedTable,
    MoleculeKernel,
    MoleculeTanimoto,
    ProbabilityProduct,
    ShiftInvariant,
    ShortestPath,
    Spectrum,
    Views,
    WeisfeilerLehman,
)
from studies.reliability.fuzz.case import Case

PARTS = ["C", "CC", "O", "N", "c1ccccc1", "C(=O)", "C(Cl)", "S", "C1CC1", "OC"]


def _text(case: Case, letters: str, low: int = 1, high: int = 10) -> str:
    return "".join(case.rng.choice(list(letters), size=int(case.rng.integers(low, high))))


def _graph(case: Case) -> Any:
    size = int(case.rng.integers(1, 6))
    pairs = case.rng.integers(0, size, (size, 2))
    edges = pairs[pairs[:, 0] != pairs[:, 1]]
    labels = case.rng.integers(0, 2, size)
    if case.chance(0.7):
        return edges, labels
    graph = nx.Graph()
    graph.add_nodes_from((i, {"label": int(labels[i])}) for i in range(size))
    graph.add_edges_from(edges.tolist())
    return graph


def _series(case: Case, length: int | None) -> np.ndarray:
    rows = int(case.rng.integers(1, 8)) if length is None else length
    return case.rng.standard_normal((rows, 2)) * case.one_of([1.0, 1.0, 1e-3, 1e3])


def _mixed_row(case: Case) -> tuple[Any, ...]:
    row = (
        float(case.rng.standard_normal()),
        int(case.rng.integers(0, 3)),
        str(case.one_of("abc")),
    )
    return tuple(None if case.chance(0.1) else cell for cell in row)


def _item(case: Case, kernel: Kernel, shape: int) -> Any:
    """One item; ``shape`` is what all items of a list share."""
    if isinstance(kernel, (Spectrum, Mismatch)):
        return _text(case, "acgt", 6 if shape % 2 else 3, 12)
    if isinstance(kernel, (WeisfeilerLehman, ShortestPath)):
        return _graph(case)
    if isinstance(kernel, (GlobalAlignment, DynamicTimeWarping)):
        return _series(case, None)
    if isinstance(kernel, ShiftInvariant):
        return _series(case, 4 + shape)
    if isinstance(kernel, (MoleculeKernel, MoleculeTanimoto)):
        return "C" + "".join(case.rng.choice(PARTS, size=int(case.rng.integers(1, 5))))
    if isinstance(kernel, ProbabilityProduct):
        peaks = int(case.rng.integers(1, 5))
        return case.rng.uniform(50.0, 53.0, peaks), case.rng.uniform(0.1, 1.0, peaks)
    if isinstance(kernel, MixedTable):
        return _mixed_row(case)
    if isinstance(kernel, MeanEmbedding):
        points = int(case.rng.integers(1, 5))
        if kernel.base is not None and kernel.base.domain == "objects":
            return [_text(case, "abcdef") for _ in range(points)]
        return case.rng.standard_normal((points, 3))
    return _text(case, "abcdefgh")


def raw_items(case: Case, kernel: Kernel, n: int) -> list[Any]:
    """``n`` items for an object kernel, some of them equal."""
    shape = int(case.rng.integers(4))
    if isinstance(kernel, Views):
        kinds = dict(kernel.kernels) if isinstance(kernel.kernels, dict) else dict(enumerate(kernel.kernels))
        columns = {
            name: list(case.rng.standard_normal((n, 3))) if one.domain == "vectors" else raw_items(case, one, n)
            for name, one in kinds.items()
        }
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return rows if isinstance(kernel.kernels, dict) else [tuple(row.values()) for row in rows]
    made = [_item(case, kernel, shape) for _ in range(n)]
    if case.chance(0.2):
        made[-1] = made[0]
    return made


def _object_array(items: list[Any]) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _shuffled_series(case: Case, items: list[Any]) -> Any:
    index = (
        [f"k{i}" for i in case.rng.permutation(len(items))] if case.chance(0.5) else case.rng.permutation(len(items))
    )
    return pd.Series(items, index=index, dtype=object)


def in_containers(case: Case, items: list[Any]) -> dict[str, Any]:
    """The same items in other containers."""
    held: dict[str, Any] = {"tuple": tuple(items), "object array": _object_array(items)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held["pandas Series"] = _shuffled_series(case, items)
        if all(isinstance(item, str) for item in items):
            held["text array"] = np.array(items)
            held["polars Series"] = pl.Series(items)
        if all(isinstance(item, tuple) and len(item) == 3 for item in items):
            held["pandas frame"] = pd.DataFrame(items, index=case.rng.permutation(len(items)), columns=list("abc"))
            held["polars frame"] = pl.DataFrame(items, schema=list("abc"), orient="row")
        if all(isinstance(item, np.ndarray) for item in items):
            held["tensors"] = [torch.from_numpy(item.copy()) for item in items]
            held["lists"] = [item.tolist() for item in items]
            held["Fortran order"] = [np.asfortranarray(item) for item in items]
            held["reversed twice"] = [item[::-1].copy()[::-1] for item in items]
    return held


def hostile_item(case: Case) -> Any:
    """Something that most kernels cannot read."""
    options: list[Callable[[], Any]] = [
        lambda: None,
        lambda: "",
        lambda: "?!é\x00",
        lambda: b"acgt",
        lambda: 3.0,
        lambda: np.nan,
        lambda: [],
        lambda: {},
        lambda: (),
        lambda: np.zeros((0, 2)),
        lambda: np.full((3, 2), np.nan),
        lambda: np.full((3, 2), 1e300),
        lambda: np.zeros((2, 2, 2)),
        lambda: np.array(["a", "b"]),
        lambda: np.array([[1 + 1j]]),
        lambda: ([[0, 9]], 2),
        lambda: ([[0, 0]], 1),
        lambda: ([], 0),
        lambda: ([[0.5, 1.0]], 3),
        lambda: nx.Graph(),
        lambda: nx.DiGraph([(0, 1)]),
        lambda: (np.array([-1.0]), np.array([-2.0])),
        lambda: (np.array([1.0, 2.0]), np.array([1.0])),
        lambda: "C" * 50 + "(",
        lambda: "[U]" * 3,
        lambda: ("a", "b"),
        lambda: (1.0, 2, "a", "b"),
        lambda: {"a": np.ones(3)},
        lambda: object(),
        lambda: (x for x in range(3)),
        lambda: [[1.0], [1.0, 2.0]],
        lambda: [np.inf, 1.0],
        lambda: "a" * 2000,
    ]
    return case.one_of(options)()
