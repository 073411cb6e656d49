"""What commands and readers say in place of a guess without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from rkhs import KernelPCA
from rkhs.cli.main import main
from rkhs.data import read_items
from rkhs.kernels import GlobalAlignment, Linear, ShortestPath, Views, WeisfeilerLehman, kernels_for


def _table(folder: Path, cells: list[str]) -> list[str]:
    rows = [f"{i * i % 17},{i * 7 % 11},{cell}" for i, cell in enumerate(cells)]
    (folder / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return ["fit", str(folder / "t.csv"), "--predict", "y", "-o", str(folder / "m.rkhs")]


def test_a_constant_target_is_fitted_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_table(tmp_path, ["3.0"] * 30)) == 0
    assert "all values of y are equal" in capsys.readouterr().out


@pytest.mark.parametrize("words", ["novelty x --top 3", "fit x --gpu", "fit x --coverage .9"])
def test_no_flag_is_better_than_a_wrong_one(capsys: pytest.CaptureFixture[str], words: str) -> None:
    with pytest.raises(SystemExit):
        main(words.split())
    said = capsys.readouterr().err
    assert "did you mean" not in said
    assert said.index("error:") < said.index("usage:")


def test_edges_series_and_texts_are_said() -> None:
    kernel = WeisfeilerLehman()
    with pytest.warns(UserWarning, match="a third entry"):
        kernel([([(0, 1, 2.0), (1, 2, 1.0)], 3)])
    with pytest.raises(ValueError, match="edge_index of two rows"):
        kernel([(np.array([[0, 1], [0, 2]]), 3)])
    with pytest.warns(UserWarning, match="2 times of 50 channels"):
        GlobalAlignment()(np.random.default_rng(0).normal(size=(3, 2, 50)))
    with pytest.raises(ValueError, match="the text 'mpfi' in column 'sym'.*columns='filled'"):
        KernelPCA(1).fit(pd.DataFrame({"a": [1.0, 2.0], "sym": ["mpfi", "x"]}))


def test_neighbours_are_named_by_their_distance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(12, 3)))
    assert main(["nearest", str(tmp_path / "x.npy"), "--top", "2"]) == 0
    assert "by the Euclidean distance" in capsys.readouterr().err


WIDE = np.array([[0, 1, 7], [0, 2, 7]])


@pytest.mark.parametrize(
    "edges", [WIDE[:, :2].copy(), WIDE[:, :2], torch.tensor(WIDE)[:, :2], torch.tensor(WIDE[:, :2])]
)
def test_two_edges_are_no_edge_index(edges: object) -> None:
    path = ([(0, 1), (1, 2)], 3)
    graphs = [(edges, 3), path, path]
    doors = (
        WeisfeilerLehman(),
        ShortestPath(),
        WeisfeilerLehman() + ShortestPath(),
        lambda items: kernels_for("graphs", items),
        lambda items: KernelPCA(1, kernel=WeisfeilerLehman()).fit(items),
        lambda items: Views((WeisfeilerLehman(), Linear()), "equal")([(graph, [1.0]) for graph in items]),
    )
    for door in doors:
        with pytest.raises(ValueError, match="two edges or an edge_index"):
            door(graphs)
    both = (np.array([[0, 1], [1, 2]]), 3)  # the same graph either way
    np.testing.assert_array_equal(WeisfeilerLehman()([both, path]), WeisfeilerLehman()([path, path]))
    with pytest.raises(ValueError, match="pass edge_index.T"):
        WeisfeilerLehman()([(np.array([[0, 1, 1], [1, 2, 0]]), 3)])


def test_files_of_two_edges_are_read(tmp_path: Path) -> None:
    (tmp_path / "one.edgelist").write_text("a b\na c\n")
    arrays = {"edges": np.array([[0, 1], [0, 2]]), "edge_ptr": np.array([0, 2]), "node_ptr": np.array([0, 3])}
    np.savez(tmp_path / "one.npz", **arrays)
    expected = WeisfeilerLehman(normalize=False)([([(0, 1), (0, 2)], 3)])
    for name in ("one.edgelist", "one.npz"):
        items = read_items(tmp_path / name, kind="graphs").items
        np.testing.assert_array_equal(WeisfeilerLehman(normalize=False)(items), expected)


def test_what_edges_have_besides_nodes_is_named() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge(0, 1, weight=2.0, label="double")
    with pytest.warns(UserWarning, match="edges have 'label', 'weight', which graph kernels do not use"):
        WeisfeilerLehman()([graph])


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.tsv", "t.smi"])
def test_nul_characters_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / name).write_bytes(b"CCO\t1\n" + b"C\0C\t2\n" * 20)
    words = ["fit", str(tmp_path / name), "--read", "encoding=latin-1", "-o", str(tmp_path / "m.rkhs")]
    assert main(words) == 2


def test_texts_that_the_fit_has_not_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write(name: str, colours: str) -> str:
        rows = "".join(f"{i * i % 17},{i * 7 % 11},{colours[i % len(colours)] * 3}\n" for i in range(40))
        (tmp_path / name).write_text("a,b,c\n" + rows)
        return str(tmp_path / name)

    known, model = write("t.csv", "rgb"), str(tmp_path / "m.rkhs")
    assert main(["fit", known, "-o", model]) == 0
    assert main(["transform", model, known, "-o", str(tmp_path / "c.csv")]) == 0
    assert "not seen" not in capsys.readouterr().err
    assert main(["transform", model, write("n.csv", "rgbz"), "-o", str(tmp_path / "c.csv")]) == 0
    assert "texts that the fit has not seen, or only rarely, such as 'zzz'" in capsys.readouterr().err
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "c": ["r", "g"] * 20})
    fitted = KernelPCA(1, columns="filled").fit(frame)
    with pytest.warns(UserWarning, match="10 of 40 cells are texts that the fit has not seen.*'z'"):
        fitted.transform(frame.assign(c=["r", "g", "g", "z"] * 10))
