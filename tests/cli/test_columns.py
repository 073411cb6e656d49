"""``--scale-columns``: tables in different units are standardised, said, kept in the model file and undone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli.main import main
from rkhs.data import write_codes
from tests.tables import read_table

RNG = np.random.default_rng(0)
UNITS = np.array([1.0, 1e-2, 1e4])
X = RNG.normal(size=(24, 2)) @ RNG.normal(size=(2, 3)) * UNITS + 5.0 * UNITS
TIMES = np.linspace(0.0, 3.0, 20)
CURVES = RNG.normal(size=(30, 3)) @ np.stack([np.sin(k * TIMES) for k in (1.0, 1.5, 2.0)]) * np.exp(TIMES)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_codes("table.csv", X, column_names=["age", "rate", "income"])
    write_codes("curves.csv", CURVES, column_names=[f"t{j}" for j in range(20)])
    np.save("table.npy", X)
    return tmp_path


def columns(path: str) -> str:
    return str(rkhs.load(path).columns)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["table.csv"], "scaled"),
        (["table.csv", "--scale-columns", "no"], "raw"),
        (["table.csv", "--set", "columns=raw"], "raw"),
        (["table.csv", "--kernel", "minmax"], "raw"),
        (["table.csv", "--kernel", "minmax + 0.1 * gaussian"], "raw"),
        (["table.csv", "--kernel", "matern + 0.1 * linear"], "scaled"),
        (["table.csv", "--kernel", "fromsklearn(rbf)"], "scaled"),
        (["table.csv", "--kernel", "fromsklearn(chi2)"], "raw"),
        (["table.csv", "--kernel", "functionalgaussian"], "raw"),
        (["table.csv", "--estimator", "kernel-pca"], "scaled"),
        (["table.npy"], "raw"),
        (["table.npy", "--scale-columns", "yes"], "scaled"),
        (["curves.csv"], "raw"),
        (["curves.csv", "--scale-columns", "yes"], "scaled"),
    ],
    ids=" ".join,
)
def test_which_columns_are_scaled(folder: Path, words: list[str], expected: str) -> None:
    short = [] if "kernel-pca" in words else ["--set", "max_iter=3", "--set", "reg=0.001"]
    assert main(["fit", *words, *short, "-o", "m.rkhs", "--quiet"]) == 0
    assert columns("m.rkhs") == expected


def test_predictions_read_the_same_columns(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["fit", "table.csv", "--predict", "age", "-o", "p.rkhs", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["columns"]["scaled"] is True
    assert columns("p.rkhs") == "scaled"
    assert main(["predict", "p.rkhs", "table.csv", "-o", "y.npy"]) == 0
    assert np.abs(np.load("y.npy")[:, 0] - X[:, 0]).mean() < 0.2 * X[:, 0].std()


def test_raw_columns_are_said_too(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["fit", "table.csv", "-o", "m.rkhs", "--scale-columns", "no"]) == 0
    text = capsys.readouterr()
    assert "columns: not standardised, so wide columns count most" in text.out
    assert "pass --scale-columns yes to standardise them all" in text.err


def test_yes_without_columns_in_memory_is_refused(folder: Path, capsys: pytest.CaptureFixture) -> None:
    Path("words.txt").write_text("abcd\nbcde\ncdea\n")
    assert main(["fit", "words.txt", "-o", "m.rkhs", "--scale-columns", "yes"]) == 2
    assert "--scale-columns yes is for rows of numbers in memory; got sequences" in capsys.readouterr().err
    stream = ["fit", "table.npy", "--stream", "--set", "storage=nystroem(5)", "-o", "m.rkhs"]
    assert main([*stream, "--scale-columns", "yes"]) == 2
    assert "--engine dask and --stream read a file block by block" in capsys.readouterr().err


def test_a_map_standardises_too(folder: Path, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plots'")
    assert main(["map", "table.csv", "-o", "map.svg"]) == 0
    assert "columns: standardised" in capsys.readouterr().out


TABLES = {
    "numbers": "age,income\n" + "".join(f"{20 + i},{1000 * (i * 7 % 31)}\n" for i in range(40)),
    "texts": "age,town\n" + "".join(f"{20 + i * 7 % 31},{'uv'[i % 2]}\n" for i in range(40)),
}


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", TABLES)
def test_python_finds_other_columns_in_the_frame_of_a_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLES[kind])
    main(["fit", "t.csv", "--quiet", "-o", "m.rkhs", "--codes", "c.npy"])
    model, frame = rkhs.load("m.rkhs"), pandas.read_csv("t.csv")
    np.testing.assert_allclose(model.transform(frame), np.load("c.npy"), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="order|names"):
        model.transform(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"cells|names"):
        model.transform(frame.assign(more=1.0))
    main(["transform", "m.rkhs", "t.csv", "-o", "again.npy"])  # without a warning, as warnings are errors here
    np.testing.assert_allclose(np.load("again.npy"), np.load("c.npy"), rtol=1e-9, atol=1e-9)


def test_the_frame_of_a_predictor_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b,y\n" + "".join(f"{i},{i * 7 % 31},{i * i % 17}\n" for i in range(40)))
    main(["fit", "t.csv", "--quiet", "--predict", "y", "-o", "m.rkhs"])
    frame, model = pandas.read_csv("t.csv")[["a", "b"]], rkhs.load("m.rkhs")
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="order"):
        model.predict(frame[["b", "a"]])
    main(["predict", "m.rkhs", "t.csv", "-o", "y.npy"])
    np.testing.assert_allclose(np.load("y.npy").ravel(), model.predict(frame), rtol=1e-9)


def test_salts_copies_and_what_cannot_be_read_are_counted(folder: Path, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("rdkit", reason="SMILES need the extra 'chem'")
    molecules = ["CCO", "CCN", "CCCl", "c1ccccc1", "CC(=O)O", "OCC", "[Na+].[Cl-]", "C("]
    Path("m.csv").write_text("\n".join(["smiles", *molecules]) + "\n")
    assert main(["fit", "m.csv", "--smiles", "smiles", "--fingerprint", "morgan(on_error=skip)", "-o", "m.rkhs"]) == 0
    said = capsys.readouterr().out
    assert "note: 1 SMILES has more than one part, as salts and mixtures have, such as [Na+].[Cl-]." in said
    assert "note: 1 SMILES could not be read and was left out; the first is C( in row 8." in said
    assert "note: 1 molecule has the fingerprint of an earlier one" in said


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_a_table_in_different_units_is_standardised_and_says_so(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["fit", "table.csv", "-o", "m.rkhs", "--codes", "z.csv"]) == 0
    said = capsys.readouterr().out
    assert "columns: " in said
    assert "The spread of income is" in said
    assert columns("m.rkhs") == "scaled"
    assert main(["decode", "m.rkhs", "z.csv", "-o", "back.csv"]) == 0
    back = read_table("back.csv").X
    assert (np.abs(back - X) < 0.2 * X.std(0)).all()
    assert main(["transform", "m.rkhs", "table.csv", "-o", "again.csv"]) == 0
    np.testing.assert_allclose(read_table("again.csv").X, rkhs.load("m.rkhs").transform(X), rtol=1e-12, atol=1e-12)


def test_threads_standardise_as_one_process_does(folder: Path) -> None:
    for name, words in (("a", ["--jobs", "1"]), ("b", ["--engine", "threads"])):
        assert main(["fit", "table.csv", "--estimator", "kpca", "-o", f"{name}.rkhs", *words]) == 0
    one, other = rkhs.load("a.rkhs"), rkhs.load("b.rkhs")
    assert one.columns == other.columns == "scaled"
    np.testing.assert_allclose(one.codes_, other.codes_, atol=1e-12)


def test_columns_to_use_and_to_leave_out_are_not_given_together(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["fit", "table.csv", "--columns", "0,1", "--drop-columns", "1", "-o", "m.rkhs"]) == 2
    assert "--columns leaves all others out; got --drop-columns too" in capsys.readouterr().err
