"""Files of new items: columns belong to training items, or to columns of the fit, by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rkhs
from rkhs import KernelPCA
from rkhs.cli.main import main

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(20, 2)), RNG.normal(size=(5, 2))
NAMES = [f"item{i}" for i in range(20)]
ORDER = RNG.permutation(20)


def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(2))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kernel values in the order of the training items, in another one, and with those of another item."""
    monkeypatch.chdir(tmp_path)
    cross = pd.DataFrame(kernel(NEW, X), [f"new{i}" for i in range(5)], NAMES)
    pd.DataFrame(kernel(X, X), NAMES, NAMES).to_csv("gram.csv")
    cross.to_csv("same.csv")
    cross.iloc[:, ORDER].assign(more=0.0).to_csv("moved.csv")
    cross.rename(columns={"item3": "other"}).to_csv("others.csv")
    cross.to_csv("bare.csv", header=False, index=False)
    pd.DataFrame(X[:, :1], columns=["size"]).to_csv("size.csv", index=False)
    assert main(["fit", "gram.csv", "--gram", "--estimator", "kernel-pca", "-o", "m.rkhs", "--codes", "z.csv"]) == 0
    assert main(["fit", "gram.csv", "--gram", "--predict", "size", "--targets", "size.csv", "-o", "p.rkhs"]) == 0
    return tmp_path


def test_models_of_python_know_the_columns_of_their_frame(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gram = pd.DataFrame(kernel(X, X), columns=NAMES)
    rkhs.save(KernelPCA(kernel="precomputed").fit(gram), "python.rkhs")
    rkhs.save(KernelPCA().fit(pd.DataFrame(X, columns=["a", "b"])), "rows.rkhs")
    pd.DataFrame(NEW[:, ::-1], columns=["b", "a"]).to_csv("new.csv", index=False)
    for model, file, items in (("python", "moved.csv", kernel(NEW, X)), ("rows", "new.csv", NEW)):
        assert main(["transform", f"{model}.rkhs", file, "-o", "codes.npy"]) == 0
        twin = rkhs.load(f"{model}.rkhs")
        del twin.feature_names_in_
        np.testing.assert_allclose(np.load("codes.npy"), twin.transform(items), atol=1e-12)
    capsys.readouterr()
    assert main(["compare", "others.csv", "--model", "python.rkhs", "--json"]) == 2
    assert "lacks 'item3'" in capsys.readouterr().err


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "command",
    [
        ["transform", "m.rkhs", "FILE", "-o", "out.csv"],
        ["transform", "m.rkhs", "FILE", "-o", "out/"],
        ["predict", "p.rkhs", "FILE", "-o", "out.csv"],
        ["compare", "FILE", "--model", "m.rkhs", "--diag", "1", "--errors", "out.csv"],
        ["decode", "m.rkhs", "z.csv", "--candidates", "FILE", "-o", "out.csv"],
        ["report", "m.rkhs", "FILE", "-o", "out.html"],
    ],
    ids=lambda command: command[0] + command[-1][3:],
)
def test_kernel_values_follow_the_names_of_the_training_items(
    folder: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    found = []
    for file in ("same", "moved"):
        written = [file + word if word.startswith("out") else word for word in command]
        assert main([f"{file}.csv" if word == "FILE" else word for word in written]) == 0, capsys.readouterr().err
        path = Path(written[-1])
        found.append(pd.read_parquet(path).to_csv() if path.is_dir() else path.read_text().replace(file, ""))
    assert found[0] == found[1] or command[0] == "report"  # which holds more than results
    capsys.readouterr()
    assert main(["others.csv" if word == "FILE" else word for word in command]) == 2
    what = "of the kernel values or distances with the items of the fit, all of which are needed; it has 'other'"
    assert f"lacks 'item3', {what}" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_items_that_were_left_out_are_no_columns(folder: Path) -> None:
    fit = ["fit", "gram.csv", "--gram", "--estimator", "kernel-pca", "--leave-out", "item3,item9", "-o", "l.rkhs"]
    assert main(fit) == 0
    assert main(["transform", "m.rkhs", "bare.csv", "-o", "bare.npy"]) == 0  # without names: by position
    np.testing.assert_allclose(np.load("bare.npy"), rkhs.load("m.rkhs").transform(kernel(NEW, X)), atol=1e-12)
    for file in ("same", "moved", "others"):
        assert main(["transform", "l.rkhs", f"{file}.csv", "-o", f"{file}.npy"]) == 0
    kept = [i for i in range(20) if i not in (3, 9)]
    twin = KernelPCA(kernel="precomputed").fit(kernel(X[kept], X[kept]))
    for file in ("same", "moved", "others"):
        np.testing.assert_allclose(np.load(f"{file}.npy"), twin.transform(kernel(NEW, X[kept])), atol=1e-12)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # arrays, not frames
def test_names_may_be_numbers_and_may_not_repeat(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers = [str(7 * i % 23) for i in range(20)]
    pd.DataFrame(kernel(X, X), columns=numbers).to_csv("numbers.csv", index=False)
    pd.DataFrame(kernel(NEW, X), columns=numbers).iloc[:, ORDER].to_csv("new.csv", index=False)
    assert main(["fit", "numbers.csv", "--gram", "--header", "yes", "--estimator", "kernel-pca", "-o", "n.rkhs"]) == 0
    assert main(["transform", "n.rkhs", "new.csv", "-o", "n.npy"]) == 0
    np.testing.assert_allclose(np.load("n.npy"), rkhs.load("m.rkhs").transform(kernel(NEW, X)), atol=1e-12)
    twice = ["item0", *NAMES[:-1]]
    pd.DataFrame(kernel(X, X), twice).to_csv("twice.csv", header=False)
    reading = ["--gram", "--header", "no", "--index-column", "0"]
    assert main(["fit", "twice.csv", *reading, "--estimator", "kernel-pca", "-o", "t.rkhs"]) == 0
    capsys.readouterr()
    assert main(["transform", "t.rkhs", "same.csv", "-o", "t.npy"]) == 2
    assert "names of training items repeat" in capsys.readouterr().err
