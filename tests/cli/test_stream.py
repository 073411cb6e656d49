"""Files that need not fit into memory, from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rkhs
from rkhs.cli import inputs
from rkhs.cli.main import main


def test_fit_and_transform_stream_the_same_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).standard_normal((300, 3))
    rows, model, codes = (str(tmp_path / name) for name in ("x.npy", "m.rkhs", "z.npy"))
    np.save(rows, X)
    fit = ["fit", rows, "--stream", "--estimator", "kpca", "--set", "storage=nystroem(40)", "-o", model]
    assert main(fit) == 0
    monkeypatch.setattr(inputs, "_LARGE", 1)  # in parts
    assert main(["transform", model, rows, "-o", codes]) == 0
    assert "300 codes of 2 components" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load(codes), rkhs.load(model).transform(X))
    assert main(["fit", rows, "--stream", "--gram", "-o", model]) != 0
    assert "leave out --gram" in capsys.readouterr().err
    np.save(rows, X[:, :2])
    assert main(["transform", model, rows, "-o", codes]) != 0
    assert "the model needs 3 columns; got 2" in capsys.readouterr().err


def test_parquet_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_LARGE", 1)
    pandas = pytest.importorskip("pandas", reason="the extra tables is not installed")
    pytest.importorskip("pyarrow", reason="the extra tables is not installed")
    X = np.random.default_rng(1).standard_normal((50, 2))
    pandas.DataFrame(X, columns=["a", "b"]).to_parquet(tmp_path / "x.parquet", row_group_size=16)
    fitted = rkhs.KernelPCA(1, storage=rkhs.features.Nystroem(10)).fit(X)
    rkhs.save(fitted, tmp_path / "m.rkhs")
    command = ["transform", str(tmp_path / "m.rkhs"), str(tmp_path / "x.parquet"), "-o"]
    assert main([*command, str(tmp_path / "z.npy")]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), fitted.transform(X), rtol=1e-12)
