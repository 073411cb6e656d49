"""``fit --predict`` of a class: the learner of Python on codes of all rows, its accuracy, and predictions for gaps."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pandas
import pytest

import rkhs
from rkhs.cli.classification import cross_validated
from rkhs.cli.kinds import choose_for_sequences
from rkhs.cli.main import main
from rkhs.errors import InputError
from rkhs.evaluation import SmoothClassifier, load_classifier
from rkhs.evaluation.comparison import counting_error

RNG = np.random.default_rng(3)
N = 48
SIDE = np.where(np.arange(N) % 2, 1.5, -1.5)
A, B = SIDE + RNG.normal(size=N), 100.0 * (SIDE + RNG.normal(size=N))
LABELS = [("yes" if SIDE[i] > 0 else "no") if i < 20 else "" for i in range(N)]
FAST = ["--estimator", "kernel-pca", "--predict", "churn", "-o", "m.rkhs"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"c{i},{A[i]},{B[i] if i != 7 else ''},{'ns'[i % 2]},{LABELS[i]}" for i in range(N)]
    Path("mixed.csv").write_text("\n".join(["name,a,b,zone,churn", *rows]) + "\n")
    rows = [f"c{i},{A[i]},{B[i]},{LABELS[i]}" for i in range(N)]
    Path("plain.csv").write_text("\n".join(["name,a,b,churn", *rows]) + "\n")
    return tmp_path


def table(path: str) -> list[dict[str, str]]:
    with open(path, newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.mark.usefixtures("all_candidates")
def test_copies_of_a_row_are_in_one_part() -> None:
    rng = np.random.default_rng(0)
    codes, y = rng.normal(size=(30, 2)), rng.choice(["a", "b"], 30)
    groups = np.arange(30)
    twice = [np.concatenate([v, v]) for v in (codes, y, groups)]
    honest = cross_validated(*twice, 0)
    flattered = cross_validated(twice[0], twice[1], np.arange(60), 0)
    assert honest["accuracy"] < 0.7 < flattered["accuracy"]  # the classes are noise
    assert honest["standard error"] == pytest.approx(cross_validated(codes, y, groups, 0)["standard error"], abs=0.04)
    assert honest["standard error"] > 1.2 * flattered["standard error"]


def test_labels_that_the_other_rows_contradict_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two swapped names, and no other."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(["salt", "acid", "base"], 12)
    rows = rng.normal(size=(36, 3)) + 6.0 * (kinds[:, None] == np.unique(kinds))
    kinds[[5, 20]] = kinds[[20, 5]]
    lines = [f"s{i},{kind},{','.join(map(str, row))}" for i, (kind, row) in enumerate(zip(kinds, rows, strict=True))]
    Path("kinds.csv").write_text("\n".join(["name,kind,a,b,c", *lines]) + "\n")
    words = ["fit", "kinds.csv", "--predict", "kind", "--estimator", "kernel-pca", "-o", "m.rkhs"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "suspicious labels, which the other rows contradict, 2: s" in said
    assert "; check them in the file" in said
    assert {"s5 (acid, by the others salt)", "s20 (salt, by the others acid)"} <= {*re.findall(r"s\d+ \([^)]*\)", said)}
    assert main([*words, "--json"]) == 0
    assert {row["row"] for row in json.loads(capsys.readouterr().out)["suspicious labels"]} == {"s5", "s20"}


CLASSES = ["leak"] * 7 + ["none"] * 5 + ["crack"] * 6


def test_classes_of_a_gram_matrix_are_found_by_the_names_of_its_rows(folder: Path) -> None:
    X, names = np.stack([A, B / 100.0], axis=1), [f"c{i}" for i in range(N)]
    K = pandas.DataFrame(X @ X.T, names, names)
    K.iloc[:20, :20].to_csv("K.csv")
    K.iloc[20:, 19::-1].to_csv("new.csv")
    pandas.Series(LABELS[:20], names[:20], name="churn")[::-1].to_csv("classes.csv")
    assert main(["fit", "K.csv", "--gram", "--labels", "classes.csv", *FAST]) == 0
    assert main(["predict", "m.rkhs", "new.csv", "-o", "p.csv"]) == 0
    model, new = load_classifier("m.rkhs"), K.iloc[20:, :20]
    assert [row["churn"] for row in table("p.csv")] == model.predict(new).tolist()
    head = SmoothClassifier().fit(rkhs.load("m.rkhs").codes_, LABELS[:20])
    assert model.predict(new).tolist() == head.predict(rkhs.load("m.rkhs").transform(new)).tolist()
    with pytest.raises(
        ValueError, match="same order"
    ):  # kernel values with other training items than their column says
        model.predict(new.iloc[:, ::-1])
    assert model.predict(new.iloc[:, ::-1].to_dict("records")).tolist() == model.predict(new).tolist()


def test_the_error_of_an_accuracy_is_that_of_its_parts_where_these_differ_more() -> None:
    codes, y = np.arange(30.0)[:, None], np.repeat(["a", "b"], 15)
    y[:6], y[24:] = "b", "a"
    found = cross_validated(codes, y, np.repeat(np.arange(10), 3), 0)
    assert found["standard error"] >= counting_error(found["accuracy"], 10)
    found = cross_validated(codes[:, [0, 0]] % 7.0, y, np.arange(30), 0)
    assert found["standard error"] > counting_error(found["accuracy"], 30)


def test_a_column_of_a_file_of_curves_is_predicted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = np.random.default_rng(0).normal(size=(18, 5)) + np.repeat([0.0, 5.0, 9.0], [7, 5, 6])[:, None]
    rows = [",".join([name, *map(str, row)]) for name, row in zip(CLASSES, values.round(3), strict=True)]
    Path("c.csv").write_text("\n".join(["defect,0.0,0.1,0.2,0.3,0.4", *rows]) + "\n")
    assert main(["fit", "c.csv", "--kind", "curves", "--predict", "defect", "-o", "c.rkhs"]) == 0
    assert "leak (7), crack (6), none (5)" in capsys.readouterr().out
    assert (
        main(["fit", "c.csv", "--kind", "curves", "--drop-columns", "defect", "--predict", "0.4", "-o", "c.rkhs"]) == 0
    )


def test_the_kernel_of_sequences_is_chosen_by_the_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    ancestors = rng.integers(0, 20, (3, 210))
    letters, lines, rows, short = np.array(list("ACDEFGHIKLMNPQRSTVWY")), [], ["name,family"], []
    for i in range(30):
        mutated = np.where(rng.random(210) < 0.4, rng.integers(0, 20, 210), ancestors[i % 3])
        lines += [f">s{i}", "".join(letters[mutated])]
        short.append("".join(letters[mutated[:60]]))
        rows.append(f"s{i},f{i % 3}")
    Path("s.fasta").write_text("\n".join(lines) + "\n")
    Path("f.csv").write_text("\n".join(rows) + "\n")
    words = ["fit", "s.fasta", "--labels", "f.csv", "--predict", "family", "-o", "m.rkhs", "--set", "max_iter=5"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "kernel: Spectrum(k=2), chosen by the classes" in said
    assert "Spectrum(k=5)" in said
    assert "Positions" not in said
    assert main([*words, "--kernel", "spectrum(k=4)"]) == 0
    assert "chosen by the classes" not in capsys.readouterr().out
    assert repr(rkhs.load("m.rkhs").kernel_) == "Spectrum(k=4)"
    Path("p.csv").write_text("\n".join([f"{rows[0]},peptide", *map(",".join, zip(rows[1:], short, strict=True))]))
    words = ["fit", "p.csv", "--kind", "sequences", "--columns", "peptide", "--predict", "family", "-o", "m.rkhs"]
    assert main([*words, "--set", "max_iter=5"]) == 0
    assert "kernel: Positions(), chosen by the classes" in capsys.readouterr().out


def test_a_mixed_table_and_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "mixed.csv", "--index-column", "name", "--drop-columns", "zone", *FAST, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["classes"], facts["rows without a class"]) == ({"no": 10, "yes": 10}, 28)
    assert 0.6 < facts["accuracy"] <= 1.0
    assert facts["standard error"] > 0.02
    assert facts["accuracy of the most common class"] == 0.5
    Path("new.csv").write_text("a,b\n3,\n-3,-300\n")
    assert main(["predict", "m.rkhs", "new.csv", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["predictions"] == ["yes", "no"]
    np.testing.assert_allclose(np.sum([*facts["probabilities"].values()], axis=0), 1.0)
    assert main(["info", "m.rkhs"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--loss", "huber"], "--loss does not go with --predict of a class"),
        (["--codes", "z.csv"], "--codes does not go with --predict; leave"),
        (["--columns", "a,churn"], "--columns must not contain the column of --predict; got churn in both"),
    ],
)
def test_wrong_use_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["fit", "plain.csv", *FAST, *words]) == 2
    assert said in capsys.readouterr().err


def test_columns_that_are_no_classes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{i},{i % 7},{'x' if i else 'y'},n{i},{'' if i == 3 else i}" for i in range(60)]
    Path("odd.csv").write_text("\n".join(["a,b,rare,name,gap", *rows]) + "\n")
    words = ["fit", "odd.csv", "--columns", "a,b", "-o", "m.rkhs", "--predict"]
    assert main([*words, "rare"]) == 2
    assert "needs two classes, and two rows of each; got y in one row; " in capsys.readouterr().err
    assert main([*words, "name"]) == 2
    assert "needs two classes, and two rows of each" in capsys.readouterr().err
    assert main([*words, "gap"]) == 0
    assert "59 items, predicts gap" in capsys.readouterr().out
    assert main(["fit", "plain.csv", *FAST]) == 0
    assert main(["predict", "m.rkhs", "plain.csv", "-o", "p.npy"]) == 2
    assert "classes are written as .csv" in capsys.readouterr().err


def test_fewer_groups_than_folds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{i % 7},{i % 5},{'uv'[i % 2]},{'pq'[i // 12]},one" for i in range(24)]
    Path("g.csv").write_text("\n".join(["a,b,cls,batch,site", *rows]) + "\n")
    assert (
        main(["fit", "g.csv", "--predict", "cls", "--groups", "batch", "--drop-columns", "site", "-o", "m.rkhs"]) == 0
    )
    assert (
        main(["fit", "g.csv", "--predict", "cls", "--groups", "site", "--drop-columns", "batch", "-o", "m.rkhs"]) == 2
    )
    assert "expects two groups in --groups site" in capsys.readouterr().err


def test_the_choice_of_the_width_does_not_flatter_the_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Classes that have nothing to do with the sequences: each part chooses the width without its rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    texts, labels = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(24)], rng.permutation(["p"] * 12 + ["q"] * 12)
    Path("s.fasta").write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(texts)))
    Path("c.csv").write_text("name,side\n" + "".join(f"s{i},{label}\n" for i, label in enumerate(labels)))
    words = ["fit", "s.fasta", "--labels", "c.csv", "--predict", "side", "-o", "m.rkhs", "--estimator", "kernel-pca"]
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    items = np.array(texts, dtype=object)

    def codes_of_part(rows: np.ndarray) -> np.ndarray:
        return rkhs.KernelPCA(10, kernel=choose_for_sequences(items[rows], labels[rows])[0]).fit(items).codes_

    by_parts = cross_validated(items, labels, np.arange(24), 0, codes_of_part)
    flattered = cross_validated(rkhs.load("m.rkhs").codes_, labels, np.arange(24), 0)
    assert facts["accuracy"] == by_parts["accuracy"] != flattered["accuracy"]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_classes_are_predicted_by_the_learner_of_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "plain.csv", *FAST]) == 0
    said = capsys.readouterr().out
    assert "predicts churn: no (10), yes (10); 28 of 48 rows have no class" in said
    assert main(["predict", "m.rkhs", "plain.csv", "-o", "p.csv"]) == 0
    found = table("p.csv")
    assert main(["compare", "plain.csv", "--model", "m.rkhs"]) == 2
    assert "that predicts; use rkhs predict" in capsys.readouterr().err
    assert list(found[0]) == ["name", "churn", "p(no)", "p(yes)"]
    assert [row["name"] for row in found] == [f"c{i}" for i in range(N)]
    model = rkhs.load("m.rkhs")
    assert model.codes_.shape == (N, 2)  # all rows, and no column of classes
    head = SmoothClassifier().fit(model.codes_[:20], LABELS[:20])
    codes = model.transform(np.stack([A, B], axis=1))
    assert [row["churn"] for row in found] == head.predict(codes).tolist()
    shares = [[float(row["p(no)"]), float(row["p(yes)"])] for row in found]
    np.testing.assert_allclose(shares, head.predict_proba(codes), rtol=5e-6)
    classifier = load_classifier("m.rkhs")
    assert classifier.predict(np.stack([A, B], axis=1)).tolist() == head.predict(codes).tolist()
    rows = [{"b": b, "a": a} for a, b in zip(A, B, strict=True)]  # as a service gets them
    assert classifier.predict(rows).tolist() == head.predict(codes).tolist()
    with pytest.raises(InputError, match=r"X must have the columns of fit .*; it lacks \['a'\], and \['A'\] are not"):
        classifier.predict([{"A": 1.0, "b": 2.0}])
    with pytest.raises(AttributeError, match="has no predict: it makes codes; rkhs.evaluation.load_classifier reads"):
        model.predict(rows)
    with pytest.raises(AttributeError, match="^'OperatorKernelRegressor' object has no attribute 'predict_proba'$"):
        rkhs.OperatorKernelRegressor().predict_proba  # noqa: B018
    np.testing.assert_allclose(classifier.predict_proba(np.stack([A, B], axis=1)), shares, rtol=5e-6)
    truth = np.where(SIDE > 0, "yes", "no")[20:]
    assert np.mean([row["churn"] for row in found[20:]] == truth) > 0.8


def test_truth_values_are_classes(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    frame = pandas.DataFrame(X, columns=["a", "b"]).assign(flag=X[:, 0] > 0)
    frame.to_csv("t.csv", index=False)
    frame.astype({"flag": object}).assign(flag=frame["flag"].where(frame.index > 2)).to_csv("gaps.csv", index=False)
    for name in ("t.csv", "gaps.csv"):
        assert main(["fit", name, "--predict", "flag", "-o", "m.rkhs"]) == 0
        assert main(["predict", "m.rkhs", "t.csv", "-o", "p.csv"]) == 0
        found = pandas.read_csv("p.csv")
        assert (found["flag"] == frame["flag"]).mean() > 0.9
        assert {"p(False)", "p(True)"} <= set(found.columns)
