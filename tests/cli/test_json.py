"""``--json``: one object on standard output, with the numbers of the functions, and nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs._core.model_container import FORMAT, read_container, write_container
from rkhs.cli.main import main
from rkhs.cli.summaries import print_json
from rkhs.data import write_codes
from rkhs.evaluation import CodeComparison, HeadScore, Sizes, reconstruction

X = np.random.default_rng(0).normal(size=(14, 3))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_codes("in.csv", X, column_names=["a", "b", "c"])
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main([*words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_fit_info_and_errors_of_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = answer(capsys, "fit", "in.csv", "--estimator", "kpca", "-o", "m.rkhs")
    model = rkhs.load("m.rkhs")
    assert (fitted["class"], fitted["components"], fitted["model"]) == ("KernelPCA", 2, "m.rkhs")
    assert fitted["input"] == {"path": "in.csv", "kind": "vectors", "items": 14}
    assert fitted["explained variance"] == model.explained_variance_ratio_.sum()
    assert answer(capsys, "info", "m.rkhs")["class"] == "KernelPCA"
    found = answer(capsys, "compare", "in.csv", "--model", "m.rkhs")
    measured = reconstruction(model, X)
    (row,) = found["models"]  # type: ignore[misc]
    assert found["rows"] == 14
    assert (row["mean error"], row["variance rebuilt"]) == (measured.errors.mean(), measured.share)


def test_compare(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    rows, sizes = (HeadScore("PCA", "forest", np.array([0.5, 0.75]), 0.1),), Sizes(10, 10, 8, 8, 2, 4)
    monkeypatch.setattr(
        "rkhs.evaluation.compare_codes", lambda *_, **__: CodeComparison(rows, "accuracy", 2, 2, "Do not.", sizes)
    )
    found = answer(capsys, "compare", "in.csv", "--predict", "a")
    assert (found["verdict"], found["rows used"], found["components"]) == ("Do not.", 14, 2)
    (row,) = found["scores"]  # type: ignore[misc]
    assert (row["mean"], row["scores"]) == (0.625, [0.5, 0.75])


def test_what_is_not_finite_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": np.array([1.0, np.nan]), "b": np.int64(2), "c": rkhs.KernelPCA(2), "d": None})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": 2, "c": "KernelPCA()", "d": None}


def test_info_says_what_the_model_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = rkhs.KernelPCA(2, kernel=rkhs.kernels.Gaussian(0.5) + rkhs.kernels.Linear()).fit(X)
    rkhs.save(model, "m.rkhs", notes={"input": {"kind": "vectors", "source": "in.csv"}})
    facts = answer(capsys, "info", "m.rkhs")
    assert (facts["class"], facts["codes"], facts["input"]) == ("KernelPCA", "14 x 2", "in.csv (vectors)")
    assert str(facts["kernel"]).startswith("Sum(terms=(Gaussian(gamma=0.5), Linear(")
    assert "Gaussian(gamma=0.5)" in str(facts["parameters"])
    assert facts["sha256"] == hashlib.sha256(Path("m.rkhs").read_bytes()).hexdigest()


def test_info_is_a_line_for_each_fact(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = rkhs.KernelAutoencoder(2).fit(X)
    rkhs.save(model, "m.rkhs")
    facts = answer(capsys, "info", "m.rkhs")
    assert facts["objective"] == model.objective_
    assert main(["info", "m.rkhs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == list(facts)


def test_info_of_a_damaged_description_is_an_error_of_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rkhs.save(rkhs.KernelPCA(2).fit(X), "m.rkhs")
    found = read_container("m.rkhs", FORMAT, 2**30)
    write_container("bad.rkhs", found.content | {"notes": 3, "params": []}, found.arrays, FORMAT)
    assert main(["info", "bad.rkhs"]) == 2
