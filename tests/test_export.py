"""ONNX files give what the models give, in onnxruntime."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import rkhs
from rkhs import KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs._core.errors import InputError, MissingExtraError
from rkhs.cli.main import main
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Tanimoto

KERNELS = [
    Gaussian(),
    Laplacian("l2"),
    Matern(0.5),
    Matern(1.5),
    Matern(2.5),
    Linear(),
    Linear("mean_norm", "mean"),
    Polynomial(3),
    Gaussian(0.1) * Polynomial(2) + 0.3 * Matern(),
]


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 4)) + 5.0, rng.normal(size=(15, 4)) + 5.0


def run(path: Path, rows: np.ndarray) -> np.ndarray:
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra 'onnx'")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: rows})[0]


def export(model: Any, path: Path, **options: Any) -> Path:
    pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    rkhs.to_onnx(model, path, **options)
    return path


@pytest.mark.sample(4)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_encoders_agree(kernel: Any, data: Any, tmp_path: Path) -> None:
    X, new = data
    model = KernelPCA(3, kernel=kernel).fit(X)
    got = run(export(model, tmp_path / "model.onnx"), new)
    expected = model.transform(new)
    np.testing.assert_allclose(got, expected, atol=1e-9 * np.abs(expected).max())


def test_scaled_columns_go_in_and_out_in_their_own_units(data: Any, tmp_path: Path) -> None:
    X, new = (part * [1e-3, 1.0, 50.0, 1e4] for part in data)
    for model in (KernelPCA(3, columns="scaled"), KernelAutoencoder(3, columns="scaled", refine=False)):
        model.fit(X)
        codes = model.transform(new)
        np.testing.assert_allclose(run(export(model, tmp_path / "encoder.onnx"), new), codes, rtol=1e-6, atol=1e-9)
        back = run(export(model, tmp_path / "decoder.onnx", part="decoder"), codes)
        np.testing.assert_allclose(back, model.inverse_transform(codes), rtol=1e-7)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("widths", "dtype"), [(2, "float64"), ((3, 2), "float32"), ((4, 2, 3), "float64")], ids=str)
def test_autoencoders_agree_there_and_back(widths: Any, dtype: str, data: Any, tmp_path: Path) -> None:
    X, new = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KernelAutoencoder(widths, refine=False, max_iter=5, reg=1e-2).fit(X)
    codes = model.transform(new)
    got = run(export(model, tmp_path / "model.onnx", dtype=dtype), new.astype(dtype))
    tolerance = 1e-9 if dtype == "float64" else 2e-3
    assert got.dtype == dtype
    np.testing.assert_allclose(got, codes, atol=tolerance * np.abs(codes).max())
    back = run(export(model, tmp_path / "back.onnx", part="decoder", dtype=dtype), codes.astype(dtype))
    np.testing.assert_allclose(back, model.inverse_transform(codes), atol=tolerance * 10)


def test_free_linear_parts(data: Any, tmp_path: Path) -> None:
    X, new = data
    model = KernelAutoencoder(2, linear_part="free", refine=False).fit(X)
    codes = model.transform(new)
    np.testing.assert_allclose(run(export(model, tmp_path / "model.onnx"), new), codes, atol=1e-8 * np.abs(codes).max())
    back = run(export(model, tmp_path / "back.onnx", part="decoder"), codes)
    np.testing.assert_allclose(back, model.inverse_transform(codes), atol=1e-8)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(2, storage=Nystroem(10)),
        KernelContrastive(2, storage=Nystroem(10)),
        KernelAutoencoder(2, storage=Nystroem(10), refine=False),
        KernelAutoencoder((3, 2), storage=Nystroem(10), columns="scaled", refine=False),
        KernelAutoencoder(2, storage=Nystroem(10), output_kernel="same", refine=False),
        pytest.param(
            KernelAutoencoder(2, storage=Nystroem(10), linear_part="kernel", max_iter=3, refine=False),
            marks=pytest.mark.slow,
        ),
        KernelAutoencoder(2, storage=Nystroem(10), constraint="sphere", reg=1e-2, max_iter=3, refine=False),
        pytest.param(
            KernelAutoencoder(2, storage=Nystroem(10), constraint="ball", reg=1e-2, max_iter=3, refine=False),
            marks=pytest.mark.slow,
        ),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")
def test_landmarks_agree_there_and_back(model: Any, data: Any, tmp_path: Path) -> None:
    X, new = data
    model.fit(X)
    codes = model.transform(new)
    np.testing.assert_allclose(run(export(model, tmp_path / "model.onnx"), new), codes, atol=1e-8 * np.abs(codes).max())
    if not isinstance(model, KernelContrastive) and getattr(model, "output_kernel", None) is None:
        back = run(export(model, tmp_path / "back.onnx", part="decoder"), codes)
        np.testing.assert_allclose(back, model.inverse_transform(codes), atol=1e-7)


def test_the_decoder_of_kernel_pca_and_wide_data(data: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 30))  # more columns than rows: targets are coordinates in their span
    for model in (KernelPCA(2).fit(X), KernelAutoencoder(2, refine=False).fit(X)):
        codes = model.transform(X)
        back = run(export(model, tmp_path / "back.onnx", part="decoder"), codes)
        # at a training code the distance is a root of rounding
        np.testing.assert_allclose(back, model.inverse_transform(codes), atol=1e-6)


def test_contrastive_codes_and_fingerprints(data: Any, tmp_path: Path) -> None:
    X, new = data
    model = KernelContrastive(2).fit(X)
    np.testing.assert_allclose(run(export(model, tmp_path / "c.onnx"), new), model.transform(new), atol=1e-9)
    bits = (np.random.default_rng(0).random((30, 16)) < 0.3).astype(float)
    bits[3] = 0.0
    prints = KernelPCA(3, kernel=Tanimoto()).fit(bits)
    np.testing.assert_allclose(run(export(prints, tmp_path / "t.onnx"), bits), prints.transform(bits), atol=1e-9)


def test_it_says_what_it_cannot_write(data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = data
    path = tmp_path / "model.onnx"
    with pytest.raises(NotFittedError):
        rkhs.to_onnx(KernelPCA(2), path)
    with pytest.raises(InputError, match="got a Gaussian"):
        rkhs.to_onnx(Gaussian(), path)
    with pytest.raises(InputError, match="models of vectors; got one that reads gram"):
        rkhs.to_onnx(KernelPCA(2, kernel="precomputed").fit(Gaussian()(X)), path)
    refined = KernelAutoencoder(2).fit(X)
    pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    with pytest.raises(InputError, match=r"model.set_params\(refine=False\) first"):
        rkhs.to_onnx(refined, path)
    rkhs.to_onnx(refined.set_params(refine=False), path)
    with pytest.raises(InputError, match=r"ONNX export knows .*; got ArcCosine\(\)"):
        rkhs.to_onnx(KernelPCA(2, kernel="arccosine").fit(X), path)
    with pytest.raises(InputError, match="training items or landmarks; got storage=RandomFeatures"):
        rkhs.to_onnx(KernelPCA(2, storage=RandomFeatures(10)).fit(X), path)
    with pytest.raises(InputError, match="decoders to vectors are written; this KernelContrastive has none"):
        rkhs.to_onnx(KernelContrastive(2).fit(X), path, part="decoder")
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rkhs\[onnx\]"'):
        rkhs.to_onnx(KernelPCA(2).fit(X), path)


def test_the_command(data: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    X, new = data
    model = KernelAutoencoder(2).fit(X)
    rkhs.save(model, tmp_path / "model.rkhs")
    words = [str(tmp_path / "model.rkhs"), "-o", str(tmp_path / "model.onnx")]
    assert main(["export", *words]) == 2
    assert "use --plain first" in capsys.readouterr().err
    assert main(["export", *words, "--plain"]) == 0
    assert "X (rows, 4) -> codes (rows, 2)" in capsys.readouterr().out
    expected = model.set_params(refine=False).transform(new)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", new), expected, atol=1e-9)
    rkhs.save(rkhs.OperatorKernelRegressor().fit(X, X[:, :1]), tmp_path / "model.rkhs")
    assert main(["export", *words]) == 0  # of a predictor there is one part
