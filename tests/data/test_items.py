"""Readers of series, strings, curves and single graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.data import Dataset, read_items


def read_series(path: Path, **options: str) -> Dataset:
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
    plain = read_series(write(tmp_path, "x.csv", "0.5,1.5,\n2,3,4\n"))
    assert plain.classes is None
    for ours, theirs in zip(plain.items, found.items, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for name, text, message in (
        ("x.tsv", "0.5\t1\n", "begins each row with its class, a whole number.*got '0.5'"),
        ("x.csv", "1,NaN,3\n", "line 1: expected finite numbers; got 'NaN' at time 1"),
        ("x.csv", "1,2\n,\n", "line 2: expected finite numbers; got missing values only"),
    ):
        with pytest.raises(InputError, match=message):
            read_series(write(tmp_path, name, text))


def test_uea_files(tmp_path: Path) -> None:
    head = "#comment\n@problemName x\n@timeStamps false\n@classLabel true a b\n@data\n"
    found = read_series(write(tmp_path, "x.ts", head + "1,2,3:4,5,6:a\n7,8:9,10:b\n"))
    assert [one.shape for one in found.items] == [(3, 2), (2, 2)]
    assert found.items[1].tolist() == [[7, 9], [8, 10]]
    assert found.classes is not None
    assert found.classes.tolist() == ["a", "b"]
    for text, message in (
        (head + "1,2:3:a\n", r"channels of one length; got \[2, 1\]"),
        (head + "1,?,2:a\n", "expected"),
        (head.replace("timeStamps false", "timeStamps true"), "without stamps"),
        ("1,2\n", "start with '@' before '@data'"),
        (head, "expected one row of numbers per series; got none"),
    ):
        with pytest.raises(InputError, match=message):
            read_series(write(tmp_path, "x.ts", text))


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


@pytest.mark.parametrize("labels", ["COC", "CON"])
def test_gml(tmp_path: Path, labels: str) -> None:
    """Labels that differ in every graph are names of nodes, as networkx writes them."""
    nx = pytest.importorskip("networkx", reason="GML needs networkx (extra `graphs`)")
    for name, some in (("a", labels), ("b", "CON")):
        lines = [f'node [ id {i} label "{label}" ]' for i, label in enumerate(some)]
        write(
            tmp_path,
            f"{name}.gml",
            f"graph [ {' '.join(lines)} edge [ source 0 target 1 ] edge [ source 1 target 2 ] ]",
        )
    found = read_items(tmp_path)
    assert found.row_names == ("a", "b")
    assert [len(graph.edges) for graph in found.items] == [2, 2]
    expected = [{"label": label} for label in labels] if labels == "COC" else [{}] * 3
    assert [*found.items[0].nodes.values()] == expected
    with pytest.raises(InputError, match="expected GML that networkx reads"):
        read_items(write(tmp_path, "c.gml", "graph ["))
    assert nx.is_connected(found.items[1])


def test_advice_about_curves_names_no_other_reader(tmp_path: Path) -> None:
    for lines in ("name,0,1,2\na,1,x,3\nb,1,2,3\n", "name,2,1,0\na,1,,3\nb,1,2,3\n", "t0,t1,t2\n1,,2\n3,4,5\n"):
        with pytest.raises(InputError) as caught:
            read_items(write(tmp_path, "x.csv", lines), kind="curves")
        assert "mixed" not in str(caught.value)
