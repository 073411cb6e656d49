"""Graph kernels against GraKeL and against definitions spelled out with networkx."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

import rkhs
from rkhs._core.errors import InputError
from rkhs.kernels import ShortestPath, WeisfeilerLehman
from rkhs.kernels.objects.graphs import read_graph

nx = pytest.importorskip("networkx", reason="graphs are made with networkx (extra `graphs`)")


def graphs(n: int, seed: int = 0, labels: int = 3) -> list:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        size = int(rng.integers(2, 10))
        graph = nx.gnp_random_graph(size, 0.35, seed=int(rng.integers(1 << 30)))
        nx.set_node_attributes(graph, {i: int(rng.integers(labels)) for i in graph}, "label")
        made.append(graph)
    return made


def pairs(made: list) -> list:
    return [(list(g.edges), [data["label"] for _, data in g.nodes(data=True)]) for g in made]


def subtree_labels(graph, depth: int) -> list[dict]:
    """Labels of all nodes at each depth as nested texts: no hash, no compression."""
    found = [{node: str(data["label"]) for node, data in graph.nodes(data=True)}]
    for _ in range(depth):
        label = found[-1]
        found.append({v: f"({label[v]}:{','.join(sorted(label[u] for u in graph[v]))})" for v in graph})
    return found


def subtree_counts(graph, depth: int) -> Counter:
    layers = enumerate(subtree_labels(graph, depth))
    return Counter((level, text) for level, label in layers for text in label.values())


def path_counts(graph) -> Counter:
    label = {node: data["label"] for node, data in graph.nodes(data=True)}
    lengths = nx.all_pairs_shortest_path_length(graph)
    return Counter((label[a], label[b], d) for a, row in lengths for b, d in row.items() if a != b)


def dot(A: list[Counter], B: list[Counter]) -> np.ndarray:
    return np.array([[sum(a[s] * b[s] for s in a) for b in B] for a in A], dtype=float)


@pytest.mark.parametrize("depth", [0, 1, 4])
def test_subtrees_are_those_of_the_definition(depth: int) -> None:
    X, Y = graphs(12), graphs(5, 1)
    kernel = WeisfeilerLehman(depth, normalize=False)
    left, right = [subtree_counts(g, depth) for g in X], [subtree_counts(g, depth) for g in Y]
    np.testing.assert_array_equal(kernel(X), dot(left, left))
    np.testing.assert_array_equal(kernel(X, Y), dot(left, right))
    np.testing.assert_array_equal(kernel.diag(X), np.diag(dot(left, left)))


def test_the_best_matching_of_nodes_is_found() -> None:
    X, Y = graphs(9), graphs(5, 1)
    for A in (X, Y):
        for x in X:
            K = WeisfeilerLehman(3, normalize=False, optimal_assignment=True)([x], A)[0]
            for value, y in zip(K, A, strict=True):
                layers = zip(subtree_labels(x, 3), subtree_labels(y, 3), strict=True)
                agree = sum(
                    np.equal.outer(*(np.array(list(one.values())) for one in pair)).astype(int) for pair in layers
                )
                assert value == agree[linear_sum_assignment(-agree)].sum()
    np.testing.assert_array_equal(WeisfeilerLehman(3, optimal_assignment=True).diag(X), np.ones(len(X)))


def test_paths_are_those_of_the_definition() -> None:
    X, Y = graphs(12, labels=7), graphs(5, 1, labels=7)
    left, right = [path_counts(g) for g in X], [path_counts(g) for g in Y]
    kernel = ShortestPath(normalize=False)
    np.testing.assert_array_equal(kernel(X), dot(left, left))
    np.testing.assert_array_equal(kernel(X, Y), dot(left, right))


def test_grakel_gives_the_same() -> None:
    grakel = pytest.importorskip("grakel", reason="the other implementation is GraKeL (extra `graphs`)")
    X = [g for g in graphs(20) if g.number_of_edges()]
    theirs = [
        grakel.Graph(
            {(int(a), int(b)): 1 for e in g.edges for a, b in (e, e[::-1])},
            node_labels={i: g.nodes[i]["label"] for i in g},
        )
        for g in X
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wl = grakel.WeisfeilerLehman(n_iter=3).fit_transform(theirs)
    connected = [i for i, g in enumerate(X) if nx.number_of_isolates(g) == 0]  # GraKeL drops isolated nodes
    rows = np.ix_(connected, connected)
    np.testing.assert_allclose(WeisfeilerLehman(3, normalize=False)(X)[rows], wl[rows])


def test_all_forms_of_a_graph_are_one() -> None:
    X = graphs(6)
    expected = WeisfeilerLehman()(X)
    np.testing.assert_array_equal(WeisfeilerLehman()(pairs(X)), expected)
    named = [nx.relabel_nodes(g, {i: f"atom {i}" for i in g}) for g in X]
    np.testing.assert_array_equal(WeisfeilerLehman()(named), expected)
    shuffled = [(np.array(e)[::-1, ::-1] if len(e) else e, labels) for e, labels in pairs(X)]
    np.testing.assert_array_equal(WeisfeilerLehman()(shuffled), expected)
    texts = [(e, ["abc"[v] for v in labels]) for e, labels in pairs(X)]
    np.testing.assert_allclose(WeisfeilerLehman()(texts), expected)
    for g in X:
        nx.set_node_attributes(g, {i: g.nodes[i]["label"] for i in g}, "kind")
    np.testing.assert_array_equal(WeisfeilerLehman(node_label="kind")(X), expected)
    bare = [nx.Graph(list(g.edges)) for g in X if g.number_of_edges()]
    assert WeisfeilerLehman()(bare).shape == (len(bare), len(bare))


def test_the_number_of_a_node_does_not_matter() -> None:
    X = graphs(10)
    rng = np.random.default_rng(0)
    moved = [nx.relabel_nodes(g, dict(zip(g, rng.permutation(len(g)).tolist(), strict=True))) for g in X]
    for kernel in (WeisfeilerLehman(), ShortestPath()):
        np.testing.assert_allclose(kernel(X, moved), kernel(X), rtol=1e-13)


def test_graphs_go_through_a_model(tmp_path) -> None:
    X = graphs(24)
    model = rkhs.KernelAutoencoder(3, kernel=WeisfeilerLehman(2), max_iter=20, tol=1e-2).fit(X[:20])
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs")
    np.testing.assert_array_equal(again.transform(X[20:]), model.transform(pairs(X[20:])))
    assert model.decode(model.codes_[:2], X).indices.shape == (2, 24)


def test_isolated_nodes_and_graphs_without_edges_count() -> None:
    one = ([], 1)
    assert WeisfeilerLehman(1, normalize=False)([one]) == [[2.0]]
    assert ShortestPath()([one]) == [[0.0]]
    assert WeisfeilerLehman(1, normalize=False)([([], 3), ([(0, 1)], 3)]).tolist() == [[18.0, 12.0], [12.0, 14.0]]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (nx.Graph(), "item 1 has no nodes"),
        (([], 0), "item 1 has no nodes"),
        (nx.DiGraph([(0, 1)]), "item 1 is directed.*to_undirected"),
        ("graph", "item 1 is a str; expected a networkx graph, or a pair"),
        (([(0, 5)], 2), r"has 2 nodes, numbered from 0 to 1; got an edge to node 5"),
        (([(0, -1)], 2), "got an edge to node -1"),
        (([(0.5, 1.0)], 2), "whole numbers of nodes"),
        (([(0, 1)], [0.5, 1.5]), "one label per node, whole numbers or texts; got labels such as 0.5"),
        (([(0, 1)], ["a", 1]), "one label per node"),
    ],
)
@pytest.mark.parametrize("kernel", [WeisfeilerLehman(), ShortestPath()])
def test_bad_graphs_are_named(kernel, item, message: str) -> None:
    with pytest.raises(InputError, match=message):
        kernel([([(0, 1)], 2), item])


def test_bad_labels_and_parameters_are_named() -> None:
    half = nx.path_graph(3)
    half.nodes[0]["label"] = 1
    with pytest.raises(InputError, match="nodes, 2 of them without 'label'"):
        WeisfeilerLehman()([half])
    with pytest.raises(InputError, match="WeisfeilerLehman.n_iter must be an integer from 0 to 1000"):
        WeisfeilerLehman(-1)([([], 1)])
    with pytest.raises(InputError, match="ShortestPath.normalize must be True or False"):
        ShortestPath(normalize=2)([([], 1)])


def test_labels_of_texts_keep_apart_and_plain_form_stays() -> None:
    form = read_graph(([(1, 0), (0, 1)], ["C", "O"]), "label", "test")
    assert form["edges"].tolist() == [[0, 1]]
    assert len(set(form["labels"].tolist())) == 2
    again = read_graph(form, "label", "test")
    assert all(torch.equal(torch.from_numpy(form[k]), torch.from_numpy(again[k])) for k in form)


def test_what_names_no_attribute_of_a_node_is_refused() -> None:
    nx = pytest.importorskip("networkx", reason="graphs of networkx need the extra `graphs`")
    with pytest.raises(InputError, match=r"WeisfeilerLehman\.node_label must be"):
        WeisfeilerLehman(node_label=[])([nx.path_graph(3)])


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(), ShortestPath()])
@pytest.mark.parametrize("labels", [2.0, None, "CC", np.array(3.0), object()])
def test_labels_that_are_no_list_are_refused(kernel: Any, labels: Any) -> None:
    with pytest.raises(InputError, match="item 1 must be a pair of edges and labels"):
        kernel([([[0, 1]], 2), ([[0, 1]], labels)])
    with pytest.raises(InputError, match="n_iter must be an integer from 0 to 1000"):
        WeisfeilerLehman(n_iter=10**9)([([[0, 1]], 2)])
