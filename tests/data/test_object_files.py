"""Readers of graphs and sequences."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from rkhs.data.known_columns import labels_of

from rkhs._core.errors import InputError
from rkhs.data import read_items
from rkhs.data.dataset import keep_rows

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
        ("A", None, r"expected one file NAME_A.txt of the TU format; got 0"),
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


def test_fasta(tmp_path: Path) -> None:
    file = tmp_path / "x.fasta"
    file.write_text(">one  first\nACGT\n\nacg t\n;comment\n>two\nGG\n")
    found = read_items(file)
    assert found.items.tolist() == ["ACGTACGT", "GG"]
    assert found.row_names == ("one", "two")
    file.write_text(">Apis mellifera\nACGT\n>Apis cerana\nGG\n")
    assert read_items(file).row_names == ("Apis mellifera", "Apis cerana")  # first words alone are equal
    for text, message in (
        ("ACGT\n", "header line that starts with '>' first; got 'ACGT' in line 1"),
        ("\n", "expected sequences; got an empty file"),
        (">a\n>b\nAC\n", "got none for 'a'"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            read_items(file)
    with pytest.raises(InputError, match="a file or folder that exists"):
        read_items(tmp_path / "none.fasta")


def test_the_command_line_fits_a_fasta_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import rkhs
    from rkhs.cli.main import main
    from tests.tables import read_table

    rng = np.random.default_rng(0)
    file, model = tmp_path / "x.fasta", tmp_path / "m.rkhs"
    texts = ["".join(rng.choice(list("ACGT"), size=20)) for _ in range(12)]
    file.write_text("".join(f">s{i} drawn\n{text}\n" for i, text in enumerate(texts)))
    data = read_table(file)
    assert (data.kind, data.n_samples, data.row_names[1]) == ("sequences", 12, "s1")
    fit = ["fit", str(file), "-o", str(model), "--n-components", "2", "--codes", str(tmp_path / "codes.csv")]
    assert main([*fit, "--kernel", "mismatch(k=3, m=1)"]) == 0
    assert "12 sequences, codes of 2 components" in capsys.readouterr().out
    codes = read_table(tmp_path / "codes.csv")
    np.testing.assert_array_equal(codes.X, rkhs.load(model).codes_)
    assert codes.row_names == data.row_names
    assert main(["transform", str(model), str(file), "-o", str(tmp_path / "again.npy")]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "again.npy"), rkhs.load(model).transform(texts))
    with pytest.raises(InputError, match="takes the arguments none; got `gram`"):
        read_table(file, gram=True)


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k0" for="node" attr.name="{name}" attr.type="string"/><key id="k1" for="node" attr.name="id" attr.type="int"/>
<key id="k2" for="edge" attr.name="bond" attr.type="int"/>
<graph edgedefault="undirected">
<node id="a"><data key="k0">C</data><data key="k1">0</data></node>
<node id="b"><data key="k0">C</data><data key="k1">1</data></node>
<node id="c"><data key="k0">{last}</data><data key="k1">2</data></node>
<edge source="a" target="b"><data key="k2">1</data></edge><edge source="b" target="c"><data key="k2">2</data></edge>
</graph></graphml>
"""


@pytest.mark.parametrize(("name", "taken"), [("atom", True), ("Element", True), ("other", True), ("label", False)])
def test_labels_of_nodes_under_another_name(tmp_path, name, taken):
    pytest.importorskip("networkx", reason="GraphML needs networkx (extra `graphs`)")
    (tmp_path / "g.graphml").write_text(GRAPHML.format(name=name, last="O"))
    found = read_items(tmp_path / "g.graphml")
    assert [data["label"] for _, data in found.items[0].nodes(data=True)] == ["C", "C", "O"]
    assert (f"labels of nodes are their attribute {name!r}" in found.guessed) == taken
    assert found.guessed[-1] == "attributes that graph kernels do not use: 'id' of nodes, 'bond' of edges"


def test_names_of_nodes_are_no_labels(tmp_path):
    pytest.importorskip("networkx", reason="GraphML needs networkx (extra `graphs`)")
    text = GRAPHML.format(name="other", last="O").replace(">C<", ">N1<", 1)  # all differ: these are names
    (tmp_path / "g.graphml").write_text(text)
    found = read_items(tmp_path / "g.graphml")
    assert "label" not in found.items[0].nodes["a"]
    assert "'other' of nodes" in found.guessed[-1]


def test_small_letters_of_fasta_are_the_same_letters(tmp_path):
    (tmp_path / "s.fasta").write_text(">a\nacgT\n>b\nACGT\n")
    data = read_items(tmp_path / "s.fasta")
    assert data.items.tolist() == ["ACGT", "ACGT"]
    assert data.guessed == ("small letters are read as capital ones, in 1 sequences",)


@pytest.mark.parametrize("columns", [2, int, 1e-300])
def test_columns_of_texts_are_a_list(columns: object, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("one two\nthree\n", encoding="utf-8")
    with pytest.raises(InputError, match="`columns` must be a list of column names or positions"):
        read_items(tmp_path / "texts.txt", kind="texts", columns=columns)


@pytest.mark.parametrize("end", [".fa", ".faa", ".fna", ".faa.gz", ".fasta.gz"])
def test_fasta_files_by_other_names(end: str, tmp_path: Path) -> None:
    text = b">sp|P12345|ONE_HUMAN Some protein OS=Homo sapiens\nMKV\n>tr|Q00001|TWO_HUMAN Another\nMKVV\n"
    file = tmp_path / f"x{end}"
    file.write_bytes(gzip.compress(text) if end.endswith(".gz") else text)
    data = read_items(file)
    assert (data.kind, data.items.tolist()) == ("sequences", ["MKV", "MKVV"])
    assert data.row_names == ("sp|P12345|ONE_HUMAN", "tr|Q00001|TWO_HUMAN")
    for names in (("P12345", "Q00001"), ("ONE_HUMAN", "TWO_HUMAN"), data.row_names):
        (tmp_path / "labels.csv").write_text(f"entry,y\n{names[1]},2.5\n{names[0]},1.5\n")
        assert labels_of(tmp_path / "labels.csv", "y", data.namings).tolist() == [1.5, 2.5]
    assert keep_rows(data, np.array([False, True]), "for a test").namings[1:] == [("tr",), ("Q00001",), ("TWO_HUMAN",)]
