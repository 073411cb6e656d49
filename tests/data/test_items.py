"""Readers of series, strings, curves and single graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.data import Dataset, read_items


def read_series(path: Path, **options: Any) -> Dataset:
    return read_items(path, kind="series", **options)


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_ucr_rows(tmp_path: Path) -> None:
    found = read_series(write(tmp_path, "x.tsv", "1\t0.5\t1.5\tNaN\n-1.0\t2\t3\t4\n\n"))
    assert [one[:, 0].tolist() for one in found.items] == [[0.5, 1.5], [2.0, 3.0, 4.0]]
    assert found.classes is not None
    assert found.classes.tolist() == ["1", "-1"]
    plain = read_series(write(tmp_path, "x.csv", "0.5,1.5,\n2,3,4\n"), read={"header": None})
    assert plain.classes is None
    for ours, theirs in zip(plain.items, found.items, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name, text, message in (
        ("x.tsv", "0.5\t1\n", "begins each row with its class, a whole number"),
        ("x.tsv", "a\tb\n1\t2\n", "has no names"),
        ("x.csv", "1,NaN,3\n", "row 1: expected finite numbers; got NaN or infinity at time 1"),
        ("x.csv", "1,2\n,\n", "row 2: expected finite numbers; got missing values only"),
    ):
        with pytest.raises(InputError, match=message):
            read_series(write(tmp_path, name, text))


def test_graphs_one_by_one(tmp_path: Path) -> None:
    write(tmp_path, "a.edgelist", "# comment\nx y\ny z # another\n")
    write(tmp_path, "b.edges", "1,2\n")
    found = read_items(tmp_path)
    assert found.row_names == ("a", "b")
    assert np.asarray(found.items[0][0]).tolist() == [[0, 1], [1, 2]]
    assert [nodes for _, nodes in found.items] == [3, 2]
    with pytest.raises(InputError, match="got an empty file"):
        read_items(write(tmp_path, "c.edges", ""))


def test_graphml(tmp_path: Path) -> None:
    nx = pytest.importorskip("networkx", reason="GraphML needs networkx (extra `graphs`)")
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: "C", 1: "O", 2: "C"}, "label")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    found = read_items(tmp_path / "a.graphml")
    from rkhs.kernels import WeisfeilerLehman

    K = WeisfeilerLehman()([*found.items, ([(0, 1), (1, 2)], ["C", "O", "C"])])
    np.testing.assert_allclose(K, np.full((2, 2), K[0, 0]))
    with pytest.raises(InputError, match="expected GraphML that networkx reads"):
        read_items(write(tmp_path, "b.graphml", "<graphml"))


def test_gml(tmp_path: Path) -> None:
    """Labels of GML are names of nodes, as networkx reads and writes them."""
    nx = pytest.importorskip("networkx", reason="GML needs networkx (extra `graphs`)")
    for name in ("a", "b"):
        nx.write_gml(nx.path_graph(["x", "y", "z"]), tmp_path / f"{name}.gml")
    found = read_items(tmp_path)
    assert found.row_names == ("a", "b")
    assert [sorted(graph.edges) for graph in found.items] == [[("x", "y"), ("y", "z")]] * 2
    assert [*found.items[0].nodes.values()] == [{}] * 3
    with pytest.raises(InputError, match="expected GML that networkx reads"):
        read_items(write(tmp_path, "c.gml", "graph ["))


def test_attributes_that_kernels_do_not_use_are_named(tmp_path: Path) -> None:
    nx = pytest.importorskip("networkx", reason="GraphML needs networkx (extra `graphs`)")
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "C", "atom")
    nx.set_edge_attributes(graph, 2, "bond")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    with pytest.warns(UserWarning, match="graph kernels do not use: 'atom' of nodes, 'bond' of edges"):
        found = read_items(tmp_path / "a.graphml")
    from rkhs.kernels import WeisfeilerLehman

    K = WeisfeilerLehman()([nx.path_graph(3), ([(0, 1), (1, 2)], 3)])
    np.testing.assert_allclose(K, np.ones((2, 2)))
    assert len(found.items) == 1
    text = (tmp_path / "a.graphml").read_text()
    graph_text = text[text.index("<graph ") : text.index("</graphml>")]
    write(tmp_path, "two.graphml", text.replace("</graphml>", f"{graph_text}</graphml>"))
    with pytest.raises(InputError, match="expected one <graph> in a GraphML file; got 2"):
        read_items(tmp_path / "two.graphml")


def test_advice_about_curves_names_no_other_reader(tmp_path: Path) -> None:
    for lines in ("name,0,1,2\na,1,x,3\nb,1,2,3\n", "name,2,1,0\na,1,,3\nb,1,2,3\n", "t0,t1,t2\n1,,2\n3,4,5\n"):
        with pytest.raises(InputError) as caught:
            read_items(write(tmp_path, "x.csv", lines), kind="curves")
        assert "mixed" not in str(caught.value)
