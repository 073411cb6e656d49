"""Graphs: reading them, and the Weisfeiler-Lehman and shortest-path kernels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import shortest_path
from torch import Tensor

from rkhs._core.arrays import as_numpy, is_frame
from rkhs._core.checks import Declared, check_flag, count
from rkhs._core.errors import InputError, warn
from rkhs.kernels.objects.parts import Counts, ObjectKernel, PartsKernel, count_parts, in_unary, mix, stack

_FORMS = (
    "a networkx graph, or a pair (edges, labels): pairs of node numbers, and one label per node or the number of nodes"
)
_PAIRS = 2**19  # pairs of nodes whose distances are in memory at once
_SALT = np.uint64(0x632BE59BD9B4E019)  # keeps hashes of neighbourhoods and lengths distinct from those of labels


def read_graph(item: Any, node_label: str, where: str) -> dict[str, np.ndarray]:
    """Convert one graph to the dict of edges and labels that kernels and model files hold."""
    if isinstance(item, dict) and item.keys() == {"edges", "labels"}:
        edges, labels = item["edges"], item["labels"]
    elif hasattr(item, "is_directed") and hasattr(item, "nodes") and hasattr(item, "edges"):
        edges, labels = _of_networkx(item, node_label, where)
    elif isinstance(item, (tuple, list)) and len(item) == 2:
        edges, labels = item
        _refuse_transposed(edges, where)
    else:
        raise InputError(f"{where} is a {type(item).__name__}; expected {_FORMS}")
    codes = _labels(labels, where)
    return {"edges": _edges(edges, len(codes), where), "labels": codes}


def _of_networkx(item: Any, node_label: str, where: str) -> tuple[list[tuple[int, int]], Any]:
    """Edges as pairs of node numbers, and the labels of the nodes, or how many nodes there are."""
    if item.is_directed():
        raise InputError(f"{where} is directed; graphs must be undirected. Pass its to_undirected()")
    if not isinstance(node_label, Hashable):
        raise InputError(f"{where.partition(':')[0]}.node_label must be the name of an attribute; got {node_label!r}")
    numbers = {node: i for i, node in enumerate(item.nodes)}
    edges = [(numbers[edge[0]], numbers[edge[1]]) for edge in item.edges]
    _warn_of_attributes({name for _, _, data in item.edges(data=True) for name in data})
    found = [data.get(node_label) for _, data in item.nodes(data=True)]
    missing = sum(label is None for label in found)
    if 0 < missing < len(found):
        raise InputError(
            f"{where} has {len(found)} nodes, {missing} of them without {node_label!r}; label all of them or none"
        )
    return edges, len(found) if missing or not found else found


def _warn_of_attributes(names: set[str]) -> None:
    """Warn that graph kernels do not use attributes of edges."""
    if names:
        listed = ", ".join(map(repr, sorted(map(str, names))))
        warn(f"edges have {listed}, which graph kernels do not use: they compare labels of nodes and who is adjacent")


def _refuse_transposed(edges: Any, where: str) -> None:
    """Refuse edges of shape (2, 2) that are another graph if read as an edge_index of PyTorch Geometric."""
    array = np.asarray(as_numpy(edges)) if isinstance(edges, (np.ndarray, Tensor)) else np.empty(0)
    if array.shape == (2, 2) and not np.array_equal(np.sort(array, 1), np.sort(array.T, 1)):
        raise InputError(
            f"{where} has edges of shape (2, 2), which may be two edges or an edge_index of two rows; pass a list of "
            "pairs: edges.tolist(), or edge_index.T.tolist()"
        )


def _labels(labels: Any, where: str) -> np.ndarray:
    if isinstance(labels, (int, np.integer)) and not isinstance(labels, bool):
        labels = np.zeros(max(int(labels), 0), dtype=np.int64)
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__") or getattr(labels, "ndim", 1) == 0:
        raise InputError(
            f"{where} must be a pair of edges and labels, or of edges and a number of nodes; got {labels!r:.40}"
        )
    values = labels if isinstance(labels, np.ndarray) else list(labels)
    if len(values) == 0:
        raise InputError(f"{where} has no nodes; leave empty graphs out")
    array = np.asarray(values)
    if array.ndim == 1 and array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.ndim == 1 and all(isinstance(label, str) for label in values):
        known = {text: _hash(str(text)) for text in set(values)}
        return np.array([known[text] for text in values], dtype=np.int64)
    raise InputError(
        f"{where} must have one label per node, whole numbers or texts; got labels such as {values[0]!r:.40}. "
        "Turn other attributes into such labels, for example by rounding"
    )


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)


def _pairs(edges: Any) -> np.ndarray:
    """Convert edges to an array; entries of listed edges after the two nodes are dropped with a warning."""
    edges = as_numpy(edges)
    if isinstance(edges, np.ndarray) or is_frame(edges):
        return np.asarray(edges)
    listed = [tuple(edge) for edge in edges]
    if any(len(edge) > 2 for edge in listed):
        _warn_of_attributes({"a third entry"})
    return np.asarray([edge[:2] for edge in listed])


def _edges(edges: Any, n: int, where: str) -> np.ndarray:
    array = _pairs(edges)
    if array.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(
            f"{where} must have edges of shape (m, 2), whole numbers of nodes; got shape {array.shape}, "
            f"dtype {array.dtype}{'; pass edge_index.T' if array.ndim == 2 and len(array) == 2 else ''}"
        )
    if array.min() < 0 or array.max() >= n:
        bad = int(array.min() if array.min() < 0 else array.max())
        raise InputError(f"{where} has {n} nodes, numbered from 0 to {n - 1}; got an edge to node {bad}")
    return np.unique(np.sort(array.astype(np.int64), axis=1), axis=0)


class _Union:
    """Disjoint union of graphs: nodes of graph g are numbered from ``starts[g]``."""

    def __init__(self, graphs: list[dict[str, np.ndarray]]) -> None:
        sizes = [len(graph["labels"]) for graph in graphs]
        self.n = len(graphs)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.owners = np.repeat(np.arange(self.n), sizes)
        self.labels = np.concatenate([graph["labels"] for graph in graphs])
        edges = np.concatenate([graph["edges"] + start for graph, start in zip(graphs, self.starts, strict=False)])
        loops = edges[:, 0] == edges[:, 1]
        self.sources = np.concatenate([edges[:, 0], edges[~loops, 1]])
        self.targets = np.concatenate([edges[:, 1], edges[~loops, 0]])


class _GraphKernel(ObjectKernel):
    """Base class of the graph kernels: reads graphs."""

    node_label: str

    def _read_item(self, item: Any, row: int) -> dict[str, np.ndarray]:
        return read_graph(item, self.node_label, f"{self._name}: item {row}")


@dataclass(eq=False, repr=False)
class WeisfeilerLehman(_GraphKernel, PartsKernel):
    """Weisfeiler-Lehman subtree kernel: graphs share neighbourhoods of nodes up to depth ``n_iter``.

    ``k(x, y) = sum_{h = 0}^{n_iter} sum_s c_s^h(x) c_s^h(y)``, where ``c_s^h`` counts the nodes with label s at
    depth h. The label of a node at depth h stands for its label at depth h - 1 and the multiset of those of its
    neighbours. With ``optimal_assignment`` minima take the place of the products: the value of the best matching of
    the nodes one to one, where a pair counts the depths up to which its labels agree.

    Parameters
    ----------
    n_iter : int, default=5
        Depth of the neighbourhoods, 0 to 1000; 0 counts the labels alone.
    normalize : bool, default=True
        Divide by ``sqrt(k(x, x) k(y, y))``.
    node_label : str, default="label"
        Attribute of the nodes of a networkx graph that holds the label; nodes without are all alike.
    optimal_assignment : bool, default=False
        Minima in place of products.

    Notes
    -----
    Items are networkx graphs or pairs ``(edges, labels)``. Labels are 64-bit hashes, the sum over neighbours stands
    for their multiset, and all graphs are done at once: O(n_iter (nodes + edges)), and one sparse product. Two
    different neighbourhoods among N share a hash with a probability of about ``N^2 / 4e19``.

    References
    ----------
    Shervashidze et al. (2011), section 3.2; Kriege, Giscard and Wilson (2016), section 4.2, for the assignment.

    Examples
    --------
    >>> from rkhs.kernels import WeisfeilerLehman
    >>> path, triangle = ([(0, 1), (1, 2)], 3), ([(0, 1), (1, 2), (0, 2)], 3)
    >>> WeisfeilerLehman(1, normalize=False)([path, triangle])
    array([[14., 12.],
           [12., 18.]])
    >>> WeisfeilerLehman(1, normalize=False, optimal_assignment=True)([path, triangle])
    array([[6., 4.],
           [4., 6.]])
    """

    n_iter: int = 5
    normalize: bool = True
    node_label: str = "label"
    optimal_assignment: bool = False

    _declared: ClassVar[Declared] = {
        "n_iter": count(at_least=0, at_most=1000),
        "normalize": check_flag,
        "optimal_assignment": check_flag,
    }

    def _memory(self, X: list[dict[str, np.ndarray]]) -> float:
        return 90.0 * (self.n_iter + 1) * sum(len(graph["labels"]) for graph in X)

    def _features(self, items: list[dict[str, np.ndarray]]) -> Counts:
        union = _Union(items)
        order = np.argsort(union.sources, kind="stable")
        sources, targets = union.sources[order], union.targets[order]
        heads = np.flatnonzero(np.concatenate([[True], sources[1:] != sources[:-1]])) if len(sources) else sources
        label = mix(union.labels.astype(np.uint64))
        layers = [label]
        for depth in range(1, self.n_iter + 1):
            neighbour_sums = np.zeros(len(label), dtype=np.uint64)
            if len(sources):
                neighbour_sums[sources[heads]] = np.add.reduceat(mix(label)[targets], heads)
            # The depth keeps the labels of different layers apart.
            label = mix(mix(label + np.uint64(depth)) ^ mix(neighbour_sums + _SALT))
            layers.append(label)
        counts = count_parts(np.tile(union.owners, len(layers)), np.concatenate(layers), union.n)
        if not self.optimal_assignment:
            return counts
        found = counts.matrix.tocoo()
        return in_unary(found.coords[0], counts.hashes[found.coords[1]], found.data.astype(np.int64), union.n)


@dataclass(eq=False, repr=False)
class ShortestPath(_GraphKernel, PartsKernel):
    """Shortest-path kernel: graphs are compared by the lengths of shortest paths and the labels of their ends.

    ``k(x, y) = sum_s c_s(x) c_s(y)`` over triples of two labels and a length; ``c_s`` counts ordered pairs of different
    nodes that are connected.

    Parameters
    ----------
    normalize, node_label : bool and str, default=True and "label"
        As in :class:`WeisfeilerLehman`.

    Notes
    -----
    O(v (v + e)) per graph of v nodes and e edges. A graph without edges has no path: its kernel values are zero.

    References
    ----------
    Borgwardt and Kriegel (2005).

    Examples
    --------
    >>> from rkhs.kernels import ShortestPath
    >>> path, triangle = ([(0, 1), (1, 2)], 3), ([(0, 1), (1, 2), (0, 2)], 3)
    >>> ShortestPath(normalize=False)([path, triangle])  # four paths of length 1 and two of length 2; six of length 1
    array([[20., 24.],
           [24., 36.]])
    """

    normalize: bool = True
    node_label: str = "label"

    _declared: ClassVar[Declared] = {"normalize": check_flag}

    def _features(self, items: list[dict[str, np.ndarray]]) -> Counts:
        return stack([_path_counts(graph) for graph in items])

    def _memory(self, X: list[dict[str, np.ndarray]]) -> float:
        counts = [(len(graph["labels"]), len(np.unique(graph["labels"]))) for graph in X]
        n_triples = sum(min(n * n, labels * labels * n) for n, labels in counts)  # different triples, at most
        return 64.0 * min(_PAIRS, max(n for n, _ in counts) ** 2) + 24.0 * n_triples


def _path_counts(graph: dict[str, np.ndarray]) -> Counts:
    """Count the shortest paths of one graph, from a block of its nodes at a time."""
    n, edges = len(graph["labels"]), graph["edges"]
    A = scipy.sparse.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
    label, step = mix(graph["labels"].astype(np.uint64)), max(1, _PAIRS // n)
    known: np.ndarray = np.zeros(0, dtype=np.uint64)
    counts: np.ndarray = np.zeros(0)
    for start in range(0, n, step):
        D = shortest_path(A, directed=False, unweighted=True, indices=np.arange(start, min(start + step, n)))
        rows, columns = np.nonzero(np.isfinite(D) & (D > 0.0))
        length = D[rows, columns].astype(np.uint64)
        # Both (a, b) and (b, a) are counted, so the ends need no order.
        codes, number = np.unique(
            mix(mix(label[rows + start] ^ mix(length + _SALT)) + label[columns]), return_counts=True
        )
        known, place = np.unique(np.concatenate([known, codes]), return_inverse=True)
        counts = np.bincount(place.ravel(), np.concatenate([counts, number]), len(known)).astype(float)
    return Counts(known, scipy.sparse.csr_array(counts[None]))
