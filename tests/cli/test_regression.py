"""``fit --predict`` and ``predict``: the numbers of the Python classes, and rows that do not fit named."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import rkhs
from rkhs.cli.main import main
from rkhs.cli.wording import in_flags
from rkhs.data import molecular_fingerprints, write_codes
from rkhs.estimators.choice_report import overfit_sentence
from rkhs.kernels import Tanimoto

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = np.stack([X[:, 0] + 0.1 * RNG.normal(size=30), X.sum(1)], axis=1)
Y[7, 0] += 20.0
ROWS = [f"r{i}" for i in range(30)]
FEW = ["--set", "regs=[0.01, 1.0]"]
REGS = [0.01, 1.0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_codes("all.csv", np.hstack([X, Y]), ROWS, ["a", "b", "price", "size"])
    write_codes("new.csv", X[:5] + 0.1, [f"n{i}" for i in range(5)], ["a", "b"])
    write_codes("y.csv", Y, ROWS, ["price", "size"])
    return tmp_path


def folds(seed: int = 0) -> KFold:
    return KFold(5, shuffle=True, random_state=seed)


def table(path: str) -> tuple[list[str], list[str], np.ndarray]:
    """Names of the columns, names of the rows, numbers."""
    with open(path, newline="") as handle:
        head, *rows = list(csv.reader(handle))
    return head[1:], [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)


def fit(*words: str) -> int:
    return main(["fit", *words, "-o", "m.rkhs", *FEW])


PERSONS = [f"p{i % 7}" for i in range(30)]


def grouped(folder: Path) -> None:
    rows = [f"{ROWS[i]},{PERSONS[i]},{','.join(map(repr, [*X[i].tolist(), *Y[i].tolist()]))}" for i in range(30)]
    rows[4] = rows[4].rpartition(",")[0] + ","  # a row without a size
    (folder / "persons.csv").write_text("\n".join(["row,person,a,b,price,size", *rows]) + "\n")


def test_groups_by_position_are_no_input_of_the_model(folder: Path) -> None:
    np.savetxt("plain.csv", np.c_[np.arange(30) % 7, X, Y], delimiter=",")
    assert fit("plain.csv", "--groups", "0", "--predict", "3,4") == 0
    assert main(["predict", "m.rkhs", "plain.csv", "-o", "p.npy"]) == 0
    search = rkhs.OperatorKernelRegressorCV(regs=REGS).fit(X, Y, groups=np.arange(30) % 7)
    np.testing.assert_array_equal(np.load("p.npy"), search.predict(X))


def test_groups_of_classes_are_in_one_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The class is that of the group, and its rows are copies up to noise: only their neighbours of the group know it.
    rng = np.random.default_rng(0)
    centres, kinds = 10.0 * rng.normal(size=(12, 3)), ["dog" if i % 2 else "cat" for i in range(12)]
    rows = [
        [*(centres[i] + 0.01 * rng.normal(size=3)).tolist(), kinds[i], f"g{i}"] for i in range(12) for _ in range(3)
    ]
    Path("kinds.csv").write_text("\n".join(["a,b,c,kind,litter", *(",".join(map(str, row)) for row in rows)]) + "\n")
    said = []
    for flags in ([], ["--groups", "litter"]):
        more = [] if flags else ["--drop-columns", "litter"]
        assert main(["fit", "kinds.csv", "--predict", "kind", *flags, *more, "-o", "m.rkhs", "--json"]) == 0
        said.append(json.loads(capsys.readouterr().out)["accuracy"])
    assert said[0] > 0.95
    assert said[1] < 0.8


def test_groups_go_with_predict_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("all.csv", "--groups", "a") == 2
    assert "--groups needs --predict COLUMN" in capsys.readouterr().err


def test_predictions_are_printed_as_csv_or_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("all.csv", "--predict", "size", "--columns", "a,b", "--quiet") == 0
    expected = rkhs.OperatorKernelRegressorCV(regs=REGS).fit(X, Y[:, 1]).predict(X[:5] + 0.1)
    assert capsys.readouterr().out == ""
    assert main(["predict", "m.rkhs", "new.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ",size,size_low,size_high,size_sd,novelty_p"
    assert [float(line.split(",")[1]) for line in lines[1:]] == pytest.approx(expected.tolist(), rel=5e-6)
    assert main(["predict", "m.rkhs", "new.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["predictions"] == expected[:, None].tolist()
    assert (found["predicts"], found["row names"][0]) == (["size"], "n0")
    width = np.subtract(found["high"], found["low"])
    assert main(["predict", "m.rkhs", "new.csv", "--json", "--coverage", "0.7"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (np.subtract(found["high"], found["low"]) < width).all()
    assert main(["predict", "m.rkhs", "new.csv", "--coverage", "2"]) == 2
    assert "--coverage must be > 0 and <= 1; got 2.0" in capsys.readouterr().err


def test_a_robust_loss(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("all.csv", "--predict", "price", "--loss", "huber", "--set", "kappas=[0.2]", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    model = rkhs.OperatorKernelRegressorCV(loss="huber", regs=REGS, kappas=[0.2], cv=folds(), criterion="norm")
    model.fit(np.hstack([X, Y[:, 1:]]), Y[:, 0])
    assert found["held-out error"] == -model.best_score_
    assert found["loss"] == "Huber(kappa=0.2)"
    assert (found["suspicious rows"], found["suspicious above"]) == ([], None)
    assert fit("all.csv", "--predict", "price", "--loss", "huber", "--set", "tol=1e-3") == 0
    said = capsys.readouterr().out
    assert "loss Huber(kappa=" in said
    assert "(mean norm, 5 folds)" in said
    assert "suspicious rows are not looked for with this model: --robust finds rows that look wrong" in said


def test_gram_matrices_and_rows_without_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    K = X @ X.T + 1.0
    np.save("K.npy", K)
    np.save("new.npy", K[:4])
    np.save("plain.npy", np.hstack([Y[:, 1:], X]))
    assert fit("K.npy", "--gram", "--predict", "size", "--targets", "y.csv") == 0
    assert main(["predict", "m.rkhs", "new.npy", "-o", "p.npy"]) == 0
    model = rkhs.OperatorKernelRegressorCV("precomputed", regs=REGS).fit(K, Y[:, 1])
    np.testing.assert_array_equal(np.load("p.npy")[:, 0], model.predict(K[:4]))
    capsys.readouterr()
    assert fit("plain.npy", "--predict", "0", "--json") == 0
    plain = rkhs.OperatorKernelRegressorCV(regs=REGS).fit(X, Y[:, 1])
    assert json.loads(capsys.readouterr().out)["held-out error"] == pytest.approx((-plain.best_score_) ** 0.5)


def test_only_regressors_predict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rkhs.save(rkhs.KernelPCA(1).fit(X), "pca.rkhs")
    assert main(["predict", "pca.rkhs", "new.csv"]) == 2
    assert "a KernelPCA predicts nothing; fit one that does" in capsys.readouterr().err
    assert main(["fit", "all.csv", "--predict", "size"]) == 2
    assert "--predict writes a model; name it with -o MODEL" in capsys.readouterr().err


@pytest.mark.parametrize("cell", ["inf", "much"])
def test_no_number_is_no_gap(folder: Path, capsys: pytest.CaptureFixture[str], cell: str) -> None:
    Path("odd.csv").write_text("a,y\n" + "".join(f"{i},{cell if i == 5 else i}\n" for i in range(12)) + "12,\n")
    assert fit("odd.csv", "--predict", "y,a") == 2
    assert cell in capsys.readouterr().err


@pytest.mark.parametrize("extension", ["csv", "xlsx", "parquet"])
def test_ends_that_hold_everything_are_written(tmp_path: Path, extension: str) -> None:
    if extension != "csv":
        pytest.importorskip("pyarrow" if extension == "parquet" else "openpyxl", reason="needs the extra tables")
    table, model, written = (str(tmp_path / name) for name in ("six.csv", "m.rkhs", f"p.{extension}"))
    Path(table).write_text("a,b,y\n1,2,3\n2,1,4\n3,5,1\n4,4,2\n6,1,3\n")
    assert main(["fit", table, "--predict", "y", "-o", model]) == 0
    assert main(["predict", model, table, "-o", written]) == 0
    found = getattr(pd, f"read_{'excel' if extension == 'xlsx' else extension}")(written)
    assert found["y_low"].astype(float).tolist() == 5 * [-np.inf]  # five rows are too few for 0.9
    assert found.reset_index()["row_from_1"].astype(int).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.slow
def test_novelty_of_few_rows_in_columns_of_other_units_takes_the_new_row_into_the_scales(folder: Path) -> None:
    shares = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, names = rng.normal(size=(39, 60)) * np.logspace(-2.0, 2.0, 60), [f"c{j}" for j in range(60)]
        write_codes("known.csv", np.c_[X[:19], rng.normal(size=19)], column_names=[*names, "y"])
        write_codes("new.csv", X[19:], column_names=names)
        assert fit("known.csv", "--predict", "y", "-o", "m.rkhs") == 0
        assert main(["predict", "m.rkhs", "new.csv", "-o", "p.csv"]) == 0
        found = pd.read_csv("p.csv")["novelty_p"].to_numpy()
        shares.append((found <= 0.05).mean())
    np.testing.assert_array_equal(found, rkhs.load("m.rkhs").p_values(pd.DataFrame(X[19:], columns=names)))
    assert np.mean(shares) < 0.05 + 2.0 * np.std(shares) / 8**0.5


def test_how_far_the_objective_is_from_its_minimum_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("all.csv", "--predict", "price", "--loss", "huber", "--set", "kappas=[0.2]") == 0
    model = rkhs.load("m.rkhs")
    said = f"duality gap {model.gap_:.2g}: the objective, {model.objective_:.4g}, is at most this far above its minimum"
    assert said in capsys.readouterr().out.splitlines()
    assert main(["info", "m.rkhs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["duality gap"] == model.gap_


def test_the_advice_on_an_overfit_model_goes_with_a_class() -> None:
    """--robust is refused where a class is predicted."""
    said = in_flags(overfit_sentence(1.0, 0.01, vectors=True) or "")
    assert "look for wrong rows (rkhs fit --robust, without --predict of a class), fit more items" in said
    assert "lower --n-components" in said


def test_columns_of_a_table_are_predicted_as_in_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("all.csv", "--predict", "size,price", "--seed", "3") == 0
    model = rkhs.OperatorKernelRegressorCV(regs=REGS).fit(X, Y[:, ::-1])
    said = capsys.readouterr().out
    errors = (model.nested_residuals(X, Y[:, ::-1]) ** 2).mean(1)  # of one column
    root = errors.mean() ** 0.5
    spread = np.std(errors, ddof=1) / 30**0.5 / (2.0 * root) * (1 / 25 + 1 / 4) ** 0.5 * 5**0.5  # to first order
    explained = 1.0 - errors.mean() / Y.var(axis=0).mean()
    assert f"held-out error: {root:.4g} +- {spread:.2g} (root mean square, each of 30 left out in turn, s" in said
    assert f", R^2 {explained:.3f}; the mean in place of a model: {Y.var(axis=0).mean() ** 0.5:.4g}\n" in said
    assert f"reg {model.reg_:.3g}, loss Squared()" in said
    assert "times the median: r7 (" in said
    assert main(["predict", "m.rkhs", "new.csv", "-o", "p.csv"]) == 0
    columns, rows, values = table("p.csv")
    beside = ("", "_low", "_high", "_sd")
    assert columns == [f"{name}{one}" for name in ("size", "price") for one in beside] + ["novelty_p"]
    assert rows == [f"n{i}" for i in range(5)]
    np.testing.assert_allclose(values[:, [0, 4]], model.predict(X[:5] + 0.1), rtol=5e-6)
    sets = model.predict_set(X[:5] + 0.1)
    np.testing.assert_allclose(values[:, [1, 5]], sets.lower, rtol=5e-6)
    np.testing.assert_allclose(values[:, [2, 6]], sets.upper, rtol=5e-6)
    np.testing.assert_allclose(values[:, [3, 7]], model.predict(X[:5] + 0.1, return_std=True)[1], rtol=5e-6)
    np.testing.assert_allclose(values[:, 8], model.p_values(X[:5] + 0.1), rtol=5e-6)
    assert main(["info", "m.rkhs"]) == 0


def test_groups_are_left_out_together_and_predict_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grouped(folder)
    assert fit("persons.csv", "--groups", "person", "--drop-columns", "price", "--predict", "size") == 0
    known = np.arange(30) != 4
    search = rkhs.OperatorKernelRegressorCV(regs=REGS)
    search.fit(X[known], Y[known, 1], groups=np.array(PERSONS)[known])
    said, model = capsys.readouterr().out, rkhs.load("m.rkhs")
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X, columns=["a", "b"])), search.predict(X))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    errors = search.nested_residuals(X[known], Y[known, 1]) ** 2
    assert f"held-out error: {errors.mean() ** 0.5:.4g} +- " in said
    assert ", each of 7 groups of person left out in turn, settings chosen without it)" in said
    found = model.model_.calibrated().in_groups(np.arange(30)[known] % 7).residuals
    far = float(found.abs().max() / found.abs().median())
    assert f"({far * float(found.abs().median()):.3g}" in said or "none has a held-out residual" in said
    assert main(["predict", "m.rkhs", "persons.csv", "-o", "p.csv"]) == 0


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--groups", "one"], "--groups must hold at least 2 groups of rows of positive weight; got 1"),
        (
            ["--groups", "person", "--loss", "huber"],
            "--groups must not be given here: leave-one-group-out needs the squared loss",
        ),
        (["--groups", "person", "--robust"], "--groups does not go with --robust"),
    ],
)
def test_groups_that_cannot_be_left_out_are_refused(
    folder: Path, words: list[str], match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.DataFrame({"person": PERSONS, "one": 1, "a": X[:, 0], "price": Y[:, 0]}).to_csv("some.csv", index=False)
    assert fit("some.csv", "--predict", "price", *words) == 2
    assert re.search(match, capsys.readouterr().err)
    assert not Path("m.rkhs").exists()


def test_a_robust_loss_predicts_without_ends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit("all.csv", "--predict", "size", "--columns", "a,b", "--loss", "huber") == 0
    assert main(["predict", "m.rkhs", "new.csv"]) == 0
    assert main(["predict", "m.rkhs", "new.csv", "--coverage", "0.9"]) == 2
    assert "--coverage needs a model of the squared loss" in capsys.readouterr().err


def test_a_column_beside_smiles(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--kernel", "tanimoto", "--set", "center=True")
    pytest.importorskip("rdkit", reason="fingerprints need the extra 'chem'")
    smiles = ["C" * i + end for i in range(1, 8) for end in ("O", "N")]
    lines = [f"{s},{len(s)}.5,m{i}" for i, s in enumerate(smiles)]
    Path("mol.csv").write_text("\n".join(["s,size,id", *lines[:5], "C(,3,bad", *lines[5:]]) + "\n")
    assert (
        fit(
            "mol.csv",
            "--smiles",
            "s",
            "--index-column",
            "id",
            "--predict",
            "size",
            "--fingerprint",
            "morgan(on_error=skip)",
            *words,
        )
        == 0
    )
    assert (
        main(
            [
                "predict",
                "m.rkhs",
                "mol.csv",
                "--index-column",
                "id",
                "--fingerprint",
                "morgan(on_error=skip)",
                "-o",
                "p.csv",
            ]
        )
        == 0
    )
    bits = bool(words) and words[0] != "--robust"  # else the kernel of molecules, which reads SMILES
    items = molecular_fingerprints(smiles).bits if bits else smiles
    kernel = Tanimoto() if bits else "molecules"
    model = rkhs.OperatorKernelRegressorCV(kernel, regs=REGS).fit(items, [len(s) + 0.5 for s in smiles])
    _, rows, values = table("p.csv")
    assert rows == [f"m{i}" for i in range(14)]
    np.testing.assert_allclose(values[:, 0], model.predict(items), rtol=5e-6)
    if not bits:
        assert (
            main(
                [
                    "predict",
                    "m.rkhs",
                    "mol.csv",
                    "--fingerprint",
                    "morgan(on_error=skip)",
                    "--fingerprint",
                    "morgan(radius=3)",
                ]
            )
            == 2
        )
        assert "--fingerprint is for fingerprints; this model reads SMILES" in capsys.readouterr().err


def test_a_mixed_table_keeps_its_other_columns(folder: Path) -> None:
    rows = [f"{name},{'xy'[i % 2]},{a},{y}" for i, (name, a, y) in enumerate(zip(ROWS, X[:, 0], Y[:, 1], strict=True))]
    Path("mixed.csv").write_text("\n".join(["id,kind,a,size", *rows]) + "\n")
    assert fit("mixed.csv", "--index-column", "id", "--predict", "size", "--quiet") == 0
    assert main(["predict", "m.rkhs", "mixed.csv", "--index-column", "id", "-o", "p.csv"]) == 0
    cells = [["xy"[i % 2], float(a)] for i, a in enumerate(X[:, 0])]
    model = rkhs.OperatorKernelRegressorCV(columns="filled", regs=REGS).fit(cells, Y[:, 1])
    np.testing.assert_allclose(table("p.csv")[2][:, 0], model.predict(cells), rtol=5e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--predict", "price", "--codes", "z.csv"], "--codes does not go with --predict"),
        (["--predict", "price", "--n-components", "2"], "--n-components does not go with --predict"),
        (
            ["--predict", "price", "--columns", "a,b", "--targets", "mixed.csv"],
            "must have the rows of the input in the same order",
        ),
        (
            ["--predict", "price", "--set", "n_components=2"],
            "OperatorKernelRegressorCV has no parameter 'n_components'",
        ),
        (["--loss", "huber"], "--loss needs --predict COLUMN"),
    ],
)
def test_wrong_use_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    write_codes("mixed.csv", Y[::-1], ROWS[::-1], ["price", "size"])
    assert fit("all.csv", *words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.replace("\n\n  rkhs", "").count("\n") == 1
    assert not Path("m.rkhs").exists()


def test_empty_cells_of_what_is_predicted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [list(map(repr, row)) for row in np.hstack([X, Y]).tolist()]
    for i in (3, 4):
        cells[i][2] = cells[i][3] = ""
    cells[10][2] = "NA"
    Path("gaps.csv").write_text("a,b,price,size\n" + "".join(",".join(row) + "\n" for row in cells))
    known = np.delete(np.arange(30), [3, 4])
    assert fit("gaps.csv", "--drop-columns", "price", "--predict", "size") == 0
    assert "28 items, predicts size" in (said := capsys.readouterr().out)
    model = rkhs.OperatorKernelRegressorCV(regs=REGS).fit(X[known], Y[known, 1])
    assert f"held-out error: {(-model.best_score_) ** 0.5:.4g} " in said
    assert main(["predict", "m.rkhs", "new.csv", "-o", "p.csv"]) == 0
    np.testing.assert_allclose(table("p.csv")[2][:, 0], model.predict(X[:5] + 0.1), rtol=5e-6)
    assert fit("gaps.csv", "--predict", "price,size") == 0
    said, warned = capsys.readouterr()
    assert "y has 1 gaps" in warned
    with pytest.warns(rkhs.errors.GapWarning):
        model = rkhs.OperatorKernelRegressorCV(regs=REGS).fit(
            X[known], np.where(known[:, None] == [10, -1], np.nan, Y[known])
        )
    assert f"held-out error: {(-model.best_score_ * 28 / 55) ** 0.5:.4g} " in said
    assert main(["predict", "m.rkhs", "new.csv", "-o", "p.csv"]) == 0
    np.testing.assert_allclose(table("p.csv")[2], model.predict(X[:5] + 0.1), rtol=5e-6)


def test_all_columns_of_a_table_beside_the_items_are_predicted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fit("all.csv", "--columns", "a,b", "--targets", "y.csv") == 0
    assert "predicts price, size" in capsys.readouterr().out
    beside = rkhs.load("m.rkhs")
    assert fit("all.csv", "--predict", "price,size") == 0
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(beside.predict(frame), rkhs.load("m.rkhs").predict(frame))
    np.save("y.npy", Y)
    assert fit("all.csv", "--columns", "a,b", "--targets", "y.npy") == 0
    assert fit("all.csv", "--targets", "new.csv") == 2
    assert "all.csv has the column a too, which would be the answer" in capsys.readouterr().err
    write_codes("mixed.csv", Y[::-1], ROWS[::-1], ["price", "size"])
    assert fit("all.csv", "--columns", "a,b", "--targets", "mixed.csv") == 2
    assert "must have the rows of the input in the same order" in capsys.readouterr().err
    assert fit("all.csv", "--targets", "y.csv", "--codes", "z.csv") == 2
    assert "--codes does not go with --targets" in capsys.readouterr().err
    assert main(["fit", "all.csv", "--targets", "y.csv"]) == 2
    assert "--targets writes a model; name it with -o MODEL" in capsys.readouterr().err


def test_rows_of_equal_items_are_left_out_together(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = np.append(np.arange(30), np.arange(12))
    y = Y[again, 0] + 0.01 * RNG.normal(size=42)
    pd.DataFrame(np.c_[X[again], y], columns=["a", "b", "price"]).to_csv("twice.csv", index=False)
    assert fit("twice.csv", "--predict", "price", "--scale-columns", "no") == 0
    said, model = capsys.readouterr().out, rkhs.load("m.rkhs")
    search = rkhs.OperatorKernelRegressorCV(regs=REGS, cv="items").fit(X[again], y)
    error = float((search.nested_residuals(X[again], y) ** 2).mean() ** 0.5)
    assert f"held-out error: {error:.4g} +- " in said
    assert "each of 30 left out in turn" in said
    np.testing.assert_array_equal(model.groups_, again)
    assert main(["report", "twice.csv", "--predict", "price", "-o", "p.html", "--set", "max_iter=2"]) == 0
    page = Path("p.html").read_text(encoding="utf-8")
    assert "30 different items, 12 rows repeat one" in page


def test_many_columns_are_said_in_short(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(5)
    curves = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 16)) + 0.1 * rng.normal(size=(60, 16))
    np.savetxt("curves.csv", curves, delimiter=",")
    wanted = ",".join(map(str, range(8, 16)))
    flags = ["--predict", wanted, "--loss", "huber", "--set", "regs=[1.0]", "-o", "m.rkhs"]
    assert main(["fit", "curves.csv", *flags]) == 0
    said = capsys.readouterr().out
    assert "60 items, predicts 8, 9, ..., 15 (8 columns) (" in said
    norm = float(said.partition("held-out error: ")[2].split()[0])
    assert "(mean norm, 5 folds); the mean in place of a model: " in said
    model, left_out = rkhs.load("m.rkhs"), np.empty((60, 8))
    for train, test in folds().split(curves):
        fitted = clone(model).fit(curves[train, :8], curves[train, 8:])
        left_out[test] = fitted.predict(curves[test, :8])
    assert norm == pytest.approx(np.linalg.norm(left_out - curves[:, 8:], axis=1).mean(), rel=1e-3)
    # A file as wide as the training file is read like it: what is predicted is no input.
    np.savetxt("inputs.csv", curves[:, :8], delimiter=",")
    outputs = []
    for name in ("curves.csv", "inputs.csv"):
        assert main(["predict", "m.rkhs", name, "-o", "p.csv"]) == 0
        assert capsys.readouterr().out == "60 predictions of 8, 9, ..., 15 (8 columns): p.csv\n"
        outputs.append(np.loadtxt("p.csv", delimiter=",", skiprows=1))
    np.testing.assert_array_equal(*outputs)
    np.savetxt("wide.csv", np.c_[curves, curves[:, :1]], delimiter=",")
    assert main(["predict", "m.rkhs", "wide.csv"]) == 2
    assert "the model needs 8 columns; got 17" in capsys.readouterr().err


def test_rows_without_names_count_from_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savetxt("plain.csv", np.hstack([X, Y]), delimiter=",")
    assert fit("plain.csv", "--predict", "2,3") == 0
    said = capsys.readouterr().out
    assert re.search(r"times the median: row 8 \(.*\(rows count from 1\); --robust", said)


def test_rows_that_the_others_do_not_predict_are_left_out(folder: Path, all_candidates: None, capsys) -> None:
    assert fit("all.csv", "--predict", "price", "--robust", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["row"] for row in found["suspicious rows"]] == ["r7"]
    assert found["rows left out"] == 1
    Z = np.hstack([X, Y[:, 1:]])
    good = np.array([row != "r7" for row in ROWS])
    model = rkhs.OperatorKernelRegressorCV(regs=REGS).fit(Z[good], Y[good, 0])
    assert found["held-out error"] == pytest.approx((-model.best_score_) ** 0.5)
    assert main(["predict", "m.rkhs", "all.csv", "-o", "p.npy"]) == 0
    np.testing.assert_allclose(np.load("p.npy")[:, 0], model.predict(Z), rtol=1e-6)
    assert fit("all.csv", "--predict", "price", "--robust") == 0
    printed = capsys.readouterr().out
    assert "rows look wrong and were left out of the fit: r7" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [([], "name it with -o MODEL")],
)
def test_wrong_flags_are_said_before_a_file_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    Path("broken.csv").write_text("")
    assert main(["fit", "broken.csv", "--predict", "price", *words]) == 2
    assert message in capsys.readouterr().err


def test_curves_are_predicted_from_curves_without_naming_columns(
    all_candidates: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    times = np.linspace(0.0, 1.0, 24)
    curves = RNG.normal(size=(40, 2)) @ np.stack([np.sin(5 * times), np.cos(5 * times)])
    names = [f"{time:g}" for time in times]
    future = curves[:, 12:].copy()
    future[3, 5] = np.nan
    for name, part, titles in (("past", curves[:, :12], names[:12]), ("future", future, names[12:])):
        pd.DataFrame(part[:30], columns=titles).to_csv(f"{name}.csv", index=False)
    pd.DataFrame(curves[30:, :12], columns=names[:12]).to_csv("new.csv", index=False)
    words = ["past.csv", "--kind", "curves", "--targets", "future.csv"]
    assert fit(*words, "--read", "header=0") == 0
    assert f"predicts {names[12]}, {names[13]}, ..., 1 (12 columns)" in capsys.readouterr().out
    for output in ("p.csv", "p.npy"):
        assert main(["predict", "m.rkhs", "new.csv", "-o", output]) == 0
    found = pd.read_csv("p.csv", index_col=0)[names[12:]].to_numpy()
    np.testing.assert_allclose(found, np.load("p.npy"), rtol=5e-6)
    assert ((found - curves[30:, 12:]) ** 2).mean() < 0.1 * curves[30:, 12:].var()
