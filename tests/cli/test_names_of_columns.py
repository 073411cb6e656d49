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
