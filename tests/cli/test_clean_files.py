"""What a user gets from clean files: the same bits whole and in parts, old outputs kept, refusals by name."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rkhs
from rkhs.cli import decode, inputs
from rkhs.cli.classification import suspicious_labels, suspicious_sentence
from rkhs.cli.main import main
from rkhs.data import Dataset, load_molecules

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2)) @ RNG.normal(size=(2, 3)) + 0.2 * RNG.normal(size=(300, 3))
FRAME = pd.DataFrame(X.round(4), columns=["a", "b", "c"]).assign(y=(X[:, 0] - X[:, 1]).round(4))
MODELS = {"predict": "p.rkhs", "transform": "m.rkhs"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    FRAME[:60].to_csv("train.csv", index=False)
    FRAME[:60].drop(columns="y").to_csv("known.csv", index=False)
    new = FRAME[60:].drop(columns="y")
    new.to_csv("new.csv", index=False)
    new.to_csv("new.tsv", index=False, sep="\t")
    new.to_parquet("new.parquet")
    np.save("new.npy", new.to_numpy())
    assert main(["fit", "train.csv", "--predict", "y", "--set", "regs=[0.01]", "-o", "p.rkhs", "--quiet"]) == 0
    assert main(["fit", "known.csv", "--estimator", "kpca", "-o", "m.rkhs", "--quiet"]) == 0
    return tmp_path


def words(command: str, new: str, output: str) -> list[str]:
    return [command, MODELS.get(command, "known.csv"), new, "-o", output]


@pytest.mark.parametrize("command", ["predict", "transform", "novelty", "nearest"])
def test_a_file_gives_the_same_bits_whole_and_in_parts(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["new.csv", "new.tsv", "new.parquet", "new.npy"]
    for name in names:
        assert main(words(command, name, "whole.csv")) == 0
        os.replace("whole.csv", f"{name}.whole")
    monkeypatch.setattr(inputs, "_LARGE", 1)
    monkeypatch.setattr(inputs, "_PART", 64)
    for name in names:
        assert main(words(command, name, "parts.csv")) == 0
        assert (
            Path("parts.csv").read_bytes() == Path(f"{name}.whole").read_bytes() == Path("new.csv.whole").read_bytes()
        )


def test_rows_left_out_of_a_part_have_their_numbers_in_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Path("new.csv").read_text().splitlines()
    Path("gap.csv").write_text("\n".join([*lines[:100], ",,", *lines[100:]]) + "\n")
    assert main(["transform", "m.rkhs", "known.csv", "-o", "z.csv"]) == 0
    decoding = ["decode", "m.rkhs", "z.csv", "--candidates", "gap.csv", "--n-best", "2", "-o"]
    for command in ("predict", "novelty"):
        assert main(words(command, "gap.csv", f"{command}.csv")) == 0
    assert main([*decoding, "best.csv"]) == 0
    monkeypatch.setattr(inputs, "_LARGE", 1)
    monkeypatch.setattr(inputs, "_PART", 64)
    monkeypatch.setattr(decode, "_CANDIDATES", 64)
    capsys.readouterr()
    for command in ("predict", "novelty"):
        assert main(words(command, "gap.csv", "parts.csv")) == 0
        pd.testing.assert_frame_equal(pd.read_csv("parts.csv"), pd.read_csv(f"{command}.csv"))
        assert "left out (no known cell): rows 100\n" in capsys.readouterr().err
    assert main([*decoding, "parts.csv"]) == 0
    found, whole = pd.read_csv("parts.csv"), pd.read_csv("best.csv")
    assert found["candidate"].tolist() == whole["candidate"].tolist()
    assert (whole["candidate"] > 100).any()
    assert not (whole["candidate"] == 100).any()
    Path("bad.csv").write_text("\n".join([*lines[:100], "1,2,inf", *lines[100:]]) + "\n")
    assert main(words("predict", "bad.csv", "parts.csv")) == 2
    assert "bad.csv (rows from 65)" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["out.csv", "out.xlsx", "out.parquet", "out.npy"])
def test_a_part_that_cannot_be_read_leaves_the_old_output(
    output: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(inputs, "_LARGE", 1)
    monkeypatch.setattr(inputs, "_PART", 64)
    text = Path("new.csv").read_text().splitlines()
    Path("bad.csv").write_text("\n".join([*text[:200], "1,2,oops", *text[201:]]) + "\n")
    for command in ("predict", "transform", "novelty"):
        assert main(words(command, "new.csv", output)) == 0
        before, files = Path(output).read_bytes(), sorted(os.listdir())
        capsys.readouterr()
        assert main(words(command, "bad.csv", output)) == 2
        assert "column 'c': expected numbers; got 'oops'" in capsys.readouterr().err
        assert (Path(output).read_bytes(), sorted(os.listdir())) == (before, files)


@pytest.mark.parametrize("end", ["csv", "parquet", "xlsx"])
def test_columns_are_found_by_name_and_a_missing_one_is_named(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    new = FRAME[60:90].drop(columns="y")
    for name, frame in (("other", new[["c", "a", "b"]].assign(more=1.0)), ("lacks", new.drop(columns="b"))):
        path = f"{name}.{end}"
        if end == "csv":
            frame.to_csv(path, index=False)
        elif end == "parquet":
            frame.to_parquet(path)
        else:
            frame.to_excel(path, index=False)
    for command in ("predict", "transform", "novelty", "nearest"):
        new.to_csv("plain.csv", index=False)
        assert main(words(command, "plain.csv", "plain_out.csv")) == 0
        assert main(words(command, f"other.{end}", "other_out.csv")) == 0
        assert Path("other_out.csv").read_bytes() == Path("plain_out.csv").read_bytes()
        capsys.readouterr()
        assert main(words(command, f"lacks.{end}", "no.csv")) == 2
        assert f"lacks.{end} lacks 'b', of the columns of the training file" in capsys.readouterr().err
        assert not Path("no.csv").exists()


def test_arrays_and_tables_without_names_are_read_by_position(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words("transform", "new.npy", "by_position.npy")) == 0
    assert main(words("transform", "new.csv", "by_name.npy")) == 0
    np.testing.assert_array_equal(np.load("by_position.npy"), np.load("by_name.npy"))
    np.save("narrow.npy", X[:5, :2])
    assert main(words("transform", "narrow.npy", "no.csv")) == 2
    assert "narrow.npy: the model needs 3 columns; got 2" in capsys.readouterr().err
    np.save("K.npy", X[:20] @ X[:20].T)
    assert main(["fit", "K.npy", "--gram", "--estimator", "kpca", "-o", "g.rkhs", "--quiet"]) == 0
    assert main(["transform", "g.rkhs", "narrow.npy", "-o", "no.csv"]) == 2
    assert "20" in capsys.readouterr().err


def test_info_says_what_was_fitted(capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", "known.csv", "-o", "a.rkhs", "--quiet", "--n-components", "3,1,3", "--set", "max_iter=30"]
    assert main(fit) == 0
    capsys.readouterr()
    assert main(["info", "a.rkhs", "--json"]) == 0
    facts, model = json.loads(capsys.readouterr().out), rkhs.load("a.rkhs")
    assert (facts["class"], facts["input"]) == ("KernelAutoencoder", "known.csv (vectors)")
    assert facts["converged"] == model.converged_
    assert "max_iter=30" in facts["parameters"]
    assert "n_components=(3, 1, 3)" in facts["parameters"]
    assert "engine" not in facts["parameters"]


def test_smiles_of_a_file_and_of_a_column_are_compared_either_way() -> None:
    pytest.importorskip("rdkit", reason="needs the extra chem")
    smiles = load_molecules().smiles
    Path("known.smi").write_text("".join(f"{one} n{i}\n" for i, one in enumerate(smiles[:20])))
    Path("new_molecules.csv").write_text(
        "id,smiles\n" + "".join(f"c{i},{one}\n" for i, one in enumerate(smiles[20:24]))
    )
    for known, new, rows in (("known.smi", "new_molecules.csv", 4), ("new_molecules.csv", "known.smi", 20)):
        assert main(["nearest", known, new, "--smiles", "smiles", "--top", "1", "-o", "near.csv"]) == 0
        assert len(pd.read_csv("near.csv")) == rows
    assert main(["novelty", "known.smi", "new_molecules.csv", "--smiles", "smiles"]) == 0


def test_targets_in_another_order_are_refused_and_labels_are_found_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"r{i}" for i in range(40)]
    K = pd.DataFrame(X[:40] @ X[:40].T, index=names, columns=names)
    K.to_csv("named.csv")
    family = np.where(X[:40, 0] > 0.0, "big", "small")
    pd.DataFrame({"name": names, "family": family})[::-1].to_csv("families.csv", index=False)
    compare = ["compare", "named.csv", "--gram", "--predict", "family", "--n-components", "2"]
    assert main([*compare, "--targets", "families.csv"]) == 2
    assert "in the same order; got 'r39' in row 1, where the input has 'r0'" in capsys.readouterr().err
    assert main(["fit", "named.csv", "--gram", "--labels", "families.csv", "--predict", "family", "-o", "f.rkhs"]) == 0
    assert rkhs.load("f.rkhs").codes_.shape[0] == 40
    assert main(["predict", "f.rkhs", "named.csv", "-o", "found.csv"]) == 0
    assert (pd.read_csv("found.csv")["family"].to_numpy() == family).mean() > 0.8


def test_views_of_other_shapes_need_the_name_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("odd.npz", first=X[:20] @ X[:20].T, second=X[:10] @ X[:10].T)
    assert main(["fit", "odd.npz", "--gram", "-o", "odd.rkhs"]) == 2
    assert (
        "or the name of one with --read key=NAME; got None and the arrays 'first', 'second'" in capsys.readouterr().err
    )
    assert main(["fit", "odd.npz", "--gram", "--read", "key=first", "--estimator", "kpca", "-o", "odd.rkhs"]) == 0


def test_columns_left_out_by_position_are_left_out_of_new_files_too() -> None:
    lines = [f"r{i}," + ",".join(map(str, row)) for i, row in enumerate(FRAME.to_numpy()[:60].tolist())]
    Path("named.csv").write_text("\n".join(lines) + "\n")  # names of rows in the first column, none of columns
    FRAME[["a", "y"]][:60].to_csv("inputs.csv", index=False, header=False)
    flags = ["--predict", "2", "--drop-columns", "1", "--read", "header=None", "--set", "regs=[0.01]"]
    assert main(["fit", "named.csv", *flags, "-o", "q.rkhs", "--quiet"]) == 0
    for name in ("named.csv", "inputs.csv"):
        assert main(["predict", "q.rkhs", name, "-o", f"{name}.npy"]) == 0
    np.testing.assert_array_equal(np.load("named.csv.npy"), np.load("inputs.csv.npy"))


def test_labels_of_classes_that_overlap_are_not_called_wrong() -> None:
    """As many rows are contradicted as the probabilities say, until labels are changed."""
    rng = np.random.default_rng(0)
    share = rng.beta(0.7, 0.7, 400)
    shares, y = np.stack([1.0 - share, share], 1), (rng.uniform(size=400) < share).astype(str)
    data, rows = Dataset(shares, "vectors", None, None, "t.csv"), np.arange(400)
    contradicted = (np.abs(share - (y == "True")) > 0.75).sum()
    assert contradicted > 10
    assert len(suspicious_labels(data, rows, y, shares)) < 0.2 * contradicted
    changed = np.argsort(-share)[:12]
    y[changed] = "False"
    found = suspicious_labels(data, rows, y, shares)
    assert {one["row"] for one in found} >= {f"row {i + 1}" for i in changed}
    assert len(found) <= 24
    (sentence,) = suspicious_sentence(data, found)
    assert f"contradict, the 10 strongest of {len(found)} (all with --json): row " in sentence
    assert sentence.count(", by the others ") == 10


def test_peptides_are_compared_place_by_place_and_empty_cells_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """A number that depends on the letter of each place; rows without a text, in the fit and in a new file."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, 20, (160, 9))
    y = rng.normal(size=(9, 20))[np.arange(9), places].sum(1)
    texts = ["".join(row) for row in np.array(list("ACDEFGHIKLMNPQRSTVWY"))[places]]
    texts[3] = texts[8] = texts[150] = ""
    frame = pd.DataFrame({"id": [f"i{i}" for i in range(160)], "peptide": texts, "y": y})
    frame[:140].to_csv("peptides.csv", index=False)
    frame[140:].to_csv("others.csv", index=False)
    flags = ["--kind", "sequences", "--columns", "peptide", "--index-column", "id"]
    assert main(["fit", "peptides.csv", *flags, "--predict", "y", "-o", "s.rkhs"]) == 0
    printed = capsys.readouterr()
    assert "left out (no known cell): rows 4, 9" in printed.err
    assert "138 items" in printed.out
    assert (
        "kernel: Positions(), chosen by the numbers; leave-one-out errors (1: the mean alone): Spectrum" in printed.out
    )
    assert main(["predict", "s.rkhs", "others.csv", "-o", "found.csv"]) == 0
    assert "left out (no known cell): rows 11" in capsys.readouterr().err
    found = pd.read_csv("found.csv", index_col=0)["y"]
    assert [*found.index] == [f"i{i}" for i in range(140, 160) if i != 150]
    assert np.corrcoef(found, np.delete(y[140:], 10))[0, 1] ** 2 > 0.4
