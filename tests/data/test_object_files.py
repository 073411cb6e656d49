"""Readers of graphs and sequences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from rkhs.data import read_items

FILES = {
    "A": "1, 2\n2, 1\n4, 5\n5, 4\n5, 3\n3, 5\n",
    "graph_indicator": "1\n1\n2\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
    "node_labels": "7\n8\n7\n7\n9\n0\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / f"SET_{name}.txt").write_text(text)
    return tmp_path


def test_tu_folders_and_their_npz_form_agree(folder: Path) -> None:
    found = read_items(folder)
    assert found.classes.tolist() == [1, -1, 1]
    assert [labels.tolist() for _, labels in found.items] == [[7, 8], [7, 7, 9], [0]]
    assert [sorted(map(tuple, np.asarray(e).tolist())) for e, _ in found.items] == [
        [(0, 1), (1, 0)],
        [(0, 2), (1, 2), (2, 0), (2, 1)],
        [],
    ]
    np.savez(
        folder / "graphs.npz",
        edges=np.array([[0, 1], [1, 2], [0, 2]], dtype=np.int16),
        edge_ptr=np.array([0, 1, 3, 3]),
        node_ptr=np.array([0, 2, 5, 6]),
        node_label=np.array([7, 8, 7, 7, 9, 0]),
    )
    packed = read_items(folder / "graphs.npz")
    assert packed.classes is None
    from rkhs.kernels import WeisfeilerLehman

    K = WeisfeilerLehman()(list(found.items))
    np.testing.assert_array_equal(WeisfeilerLehman()(list(packed.items)), K)
    assert read_items(folder / "SET_A.txt").source.endswith("SET_A.txt")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("A", "1, 4\n", "line 1 joins two graphs"),
        ("A", "1, 9\n", "numbers of nodes from 1 to 6; got 9"),
        ("A", "1, x\n", "expected 2 whole numbers per line"),
        ("A", "1\n", "expected 2 whole numbers per line; got 1"),
        ("graph_indicator", "1\n2\n1\n2\n2\n3\n", "nodes graph by graph"),
        ("graph_indicator", None, "expected SET_graph_indicator.txt next to it"),
        ("A", None, r"expected one file NAME_A.txt of the TU format, or .* files; got 0 and 0"),
    ],
)
def test_damaged_graphs_are_named(folder: Path, name: str, text: str | None, message: str) -> None:
    file = folder / f"SET_{name}.txt"
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_items(folder)


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", edges=np.zeros((0, 2)))
    (tmp_path / "b.txt").write_text("")
    for path, message in (
        (tmp_path / "nothing", "must name a file or folder that exists"),
        (tmp_path / "a.npz", "got none called 'edge_ptr'"),
        (tmp_path / "b.txt", "must be a folder, a file NAME_A.txt or a .npz"),
    ):
        with pytest.raises(InputError, match=message):
            read_items(path, kind="graphs")


def test_comments_and_encodings_of_text_files(tmp_path: Path) -> None:
    edges = tmp_path / "g.edgelist"
    edges.write_bytes("% made by Zürich\na b\nb c # near\n".encode("cp1252"))
    ((pairs, nodes),) = read_items(edges, encoding="cp1252").X
    assert (np.asarray(pairs).tolist(), nodes) == ([[0, 1], [1, 2]], 3)
    fasta = tmp_path / "s.fasta"
    fasta.write_bytes(">Zürich\nACGT\n".encode("cp1252"))
    assert read_items(fasta, encoding="cp1252").row_names == ("Zürich",)
