"""What files of instruments, archives and statistics packages hold that made ones lack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rkhs.data.columns import column_remarks, wants_scaling
from rkhs.data.known_columns import labels_of
from rkhs.reports.answers import answer_in_columns

Run = Callable[..., tuple[int, str, str]]
RNG = np.random.default_rng(0)


def test_lines_without_a_key_in_msp_files_are_left_out_and_counted(tmp_path: Path) -> None:
    pytest.importorskip("matchms", reason="needs the extra spectra")
    from rkhs.data import read_items

    one = "Name: {}\nComment: [4TMS]\nQI=220.2\nRaw=090707-005.D\nNum Peaks: 2\n50 {}\n60 5\n\n"
    (path := tmp_path / "a.msp").write_text("".join(one.format(f"n{i}", i + 1) for i in range(3)))
    with pytest.warns(UserWarning, match="lines without a key, as of comments of several lines, left out: 6"):
        data = read_items(path)
    assert data.row_names == ("n0", "n1", "n2")
    assert [peaks[1].tolist() for peaks in data.items] == [[i + 1, 5.0] for i in range(3)]


def test_columns_with_a_value_for_each_class_are_named(run: Run) -> None:
    y = np.array([["a", "b", "c"][i % 3] for i in range(60)], dtype=object)
    copy = np.array([{"a": "u", "b": "v", "c": "w"}[value] for value in y.tolist()], dtype=object)
    near = np.where(np.arange(60) < 2, "v", copy)
    cells = np.stack([copy, near, RNG.integers(0, 3, 60).astype(object), np.full(60, "one", object)], axis=1)
    titles = ["gene", "near", "noise", "constant"]
    what, columns = answer_in_columns(cells, titles, y, "epitope")
    assert columns == ["gene"]
    assert what.startswith("gene has a value for each class of epitope in nearly all rows: if gene is known only")
    assert answer_in_columns(cells[:15], titles, y[:15], "epitope") == ("", [])
    rows = [f"{a},{RNG.normal():.3f},{b}" for a, b in zip(copy, y, strict=True)]
    Path("a.csv").write_text("\n".join(["gene,x,epitope", *rows]) + "\n")
    status, _, out = run("fit", "a.csv", "--predict", "epitope", "-o", "m.rkhs", "--estimator", "kernel-pca")
    assert status == 0
    assert "--estimator kernel-pca --drop-columns gene\n" in out


def test_the_mean_of_two_columns_is_named() -> None:
    low, high = RNG.normal(20.0, 5.0, (2, 50))
    X = np.stack([low, high, RNG.normal(size=50)], axis=1)
    what, columns = answer_in_columns(X, ["Min", "Max", "x"], (low + high) / 2, "Price")
    assert (what.partition(" in nearly")[0], columns) == ("the mean of Min and Max is Price", ["Min", "Max"])
    assert answer_in_columns(X, ["Min", "Max", "x"], low + RNG.normal(size=50), "Price")[1] == []


def test_logarithms_of_many_genes_share_a_unit() -> None:
    means = RNG.uniform(0.0, 12.0, 800)
    X = np.log2(1.0 + RNG.poisson(2.0**means, (7, 800)))
    assert not wants_scaling(X)
    X[:, 0] *= 40.0
    assert wants_scaling(X)


def test_letters_behind_numbers_that_all_names_end_in_may_be_lacking(tmp_path: Path) -> None:
    (path := tmp_path / "a.csv").write_text("file,y\ntreated1fb,a\ntreated2fb,b\nuntreated1fb,a\n")
    with pytest.warns(UserWarning, match="names of rows such as 'treated1fb' are matched as 'treated1'"):
        found = labels_of(path, "y", [["treated1", "untreated1", "treated2"]])
    assert found.tolist() == ["a", "a", "b"]


def test_amounts_of_rain_are_no_classes() -> None:
    rain = np.where(RNG.random(400) < 0.9, 0, RNG.choice([1, 2, 3, 6, 8, 25, 42], 400))
    X = np.stack([rain, *RNG.normal(size=(2, 400))], axis=1)
    assert "class" not in "".join(one.text for one in column_remarks(X, ["rain", "a", "b"]))
    X[:, 0] = RNG.integers(0, 3, 400)
    assert "rain looks like a class" in "".join(one.text for one in column_remarks(X, ["rain", "a", "b"]))


def test_a_class_that_has_one_row_is_left_out_by_the_command(run: Run) -> None:
    rows = [f"{RNG.normal():.3f},{i % 2}" for i in range(30)]
    Path("a.csv").write_text("\n".join(["x,stage", *rows, "0.5,7"]) + "\n")
    words = ("fit", "a.csv", "--predict", "stage", "-o", "m.rkhs", "--target-kind", "classes")
    status, said, _ = run(*words)
    assert status == 2
    assert "got 7 in one row; this command takes classes of one row for unknown, and keeps 2 classes:" in said
    assert said.rstrip().endswith(f"\n\n  rkhs {' '.join(words)} --drop-rare 2")


def test_a_category_none_is_noted_without_a_command_that_makes_it_a_gap(run: Run) -> None:
    rows = [f"{RNG.normal():.3f},{['none', 'driver', 'both'][i % 3]},{i % 7}.5" for i in range(60)]
    Path("a.csv").write_text("\n".join(["x,bags,y", *rows]) + "\n")
    status, said, out = run("fit", "a.csv", "--predict", "y", "-o", "m.rkhs")
    assert status == 0
    assert "read as a category: 20 cells 'none' of column 'bags'; --missing none takes them as gaps" in said
    assert "rkhs fit" not in said + out


def test_whole_numbers_that_hardly_can_be_predicted_have_the_way_to_classes_too(run: Run) -> None:
    rows = [f"{RNG.normal():.3f},{RNG.integers(1, 4)}" for _ in range(40)]
    Path("a.csv").write_text("\n".join(["x,stage", *rows]) + "\n")
    out = run("fit", "a.csv", "--predict", "stage", "-o", "m.rkhs")[2]
    assert "the model hardly predicts" in out
    assert "  rkhs fit a.csv --predict stage -o m.rkhs --target-kind classes\n" in out


def test_the_first_of_two_columns_of_sequences_is_proposed(run: Run) -> None:
    peptides = ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 14)) for _ in range(30)]
    bases = ["".join(RNG.choice(list("ACGT"), 42)) for _ in range(30)]
    rows = [f"{i % 7},{a},{b},{'uv'[i % 2]}" for i, (a, b) in enumerate(zip(peptides, bases, strict=True))]
    Path("a.csv").write_text("\n".join(["age,aa,nuc,epitope", *rows]) + "\n")
    status, said, _ = run("fit", "a.csv", "--predict", "epitope", "-o", "m.rkhs")
    assert status == 2
    assert "  rkhs fit a.csv --predict epitope -o m.rkhs --kind sequences --columns aa\n" in said
    assert "--drop-columns aa,nuc --mixed" in said
