"""KernelAutoencoderCV: the curve against plain fits, warm starts or not, and every kind of input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import KFold

from rkhs import KernelAutoencoder, KernelAutoencoderCV, diagnose, load, save
from rkhs._core.errors import ComparisonWarning, EdgeWarning, InputError
from rkhs.cli.main import main
from rkhs.kernels import FromFunction, Gaussian, Spectrum

REGS = [1e-1, 1e-2, 1e-3, 1e-4]


def curve(n: int = 45, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.5, 1.5, n)
    return np.stack([t, np.sin(2 * t), t**2, np.cos(3 * t)], 1) + 0.1 * rng.standard_normal((n, 4))


def test_errors_are_those_of_plain_fits_and_the_model_is_that_of_the_best() -> None:
    X = curve()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = KernelAutoencoderCV(2, regs=REGS, cv=3, linear_part="kernel").fit(X, sample_weight=weights)
    assert model.errors_.shape == (4, 3)
    train, test = list(KFold(3, shuffle=True, random_state=0).split(X))[1]
    for k, reg in enumerate(REGS):
        plain = KernelAutoencoder(2, reg=reg, linear_part="kernel", tol=1e-3 if k == 0 else 1e-4)
        plain.fit(X[train], sample_weight=weights[train])
        error = np.average(plain.reconstruction_error(X[test]), weights=weights[test])
        assert model.errors_[k, 1] == pytest.approx(error, rel=1e-9 if k == 0 else 0.25)  # then starts differ
    assert model.best_index_ == model.errors_.mean(1).argmin()
    assert model.reg_ == (REGS[model.best_index_],) * 2 == tuple(model.regs_[model.best_index_])
    twin = KernelAutoencoder(2, reg=model.reg_, linear_part="kernel").fit(X, sample_weight=weights)
    new = curve(9, 1)
    np.testing.assert_array_equal(model.transform(new), twin.transform(new))
    np.testing.assert_array_equal(model.estimator_.transform(new), twin.transform(new))
    np.testing.assert_array_equal(model.inverse_transform(model.codes_), twin.inverse_transform(twin.codes_))
    assert model.score(new) == twin.score(new)
    spread = ((X - np.average(X, axis=0, weights=weights)) ** 2).sum(1)
    assert model.held_out_error_ == pytest.approx(model.errors_.mean(1).min() / np.average(spread, weights=weights))


def test_kernels_are_compared_too() -> None:
    X = curve()
    kernels, decoders = [Gaussian(100.0), Gaussian("median")], [Gaussian(1.0), Gaussian(0.5)]
    model = KernelAutoencoderCV(1, kernels=kernels, decoder_kernels=decoders, regs=REGS[1:3], cv=2).fit(X)
    assert model.errors_.shape == (8, 2)
    chosen = model.settings_[model.best_index_]
    assert chosen["kernel"] == Gaussian("median")
    assert model.decoder_kernels_ == (chosen["decoder_kernel"],)
    assert isinstance(model.kernel_, Gaussian)
    assert model.kernel_.gamma < 10.0


def test_features_of_several_kernels_are_not_compared_in_silence() -> None:
    words = ["anna", "bella", "carla", "dora", "emma", "flora", "gerda", "hanna"]
    kernels = [Spectrum(1), Spectrum(2)]
    options = {"regs": [1e-2], "cv": 2, "refine": False}
    for rebuilt in (None, "same"):
        with pytest.warns(ComparisonWarning, match="fix output_kernel"):
            KernelAutoencoderCV(1, kernels=kernels, output_kernel=rebuilt, **options).fit(words)
    KernelAutoencoderCV(1, kernels=kernels, output_kernel=kernels[0], **options).fit(words)  # warnings are errors
    KernelAutoencoderCV(1, kernels=kernels[:1], **options).fit(words)


def test_the_default_path_is_that_of_auto_and_open_ends_are_said() -> None:
    X = curve(40)
    model = KernelAutoencoderCV(2, cv=2).fit(X)
    np.testing.assert_array_equal(model.regs_, KernelAutoencoder(2).fit(X).candidates_)
    assert model.at_edge_ == {}
    options = {"regs": [10.0, 1e-2, 1e-8], "cv": 2, "linear_part": "kernel", "refine": False}
    with pytest.warns(EdgeWarning, match="weakest"):  # of the second kernel: the first can do nothing
        short = KernelAutoencoderCV(2, kernels=[Gaussian(1e3), Gaussian(0.3)], **options).fit(X)
    assert (short.best_index_, short.at_edge_) == (5, {"reg": "weakest"})
    assert any("weakest" in sentence for sentence in diagnose(short).warnings)


def test_gram_objects_targets_and_files(tmp_path: Path) -> None:
    X, new = curve(30), curve(5, 2)
    K = Gaussian(0.5)
    options: dict[str, Any] = {"regs": [1e-2, 1e-3], "cv": 2}
    gram = KernelAutoencoderCV(2, kernel="precomputed", **options).fit(np.asarray(K(X)))
    same = KernelAutoencoderCV(2, kernel=K, output_kernel="same", **options).fit(X)
    objects = KernelAutoencoderCV(
        2, kernel=FromFunction(lambda a, b: float(np.exp(-0.5 * ((a - b) ** 2).sum()))), **options
    ).fit(list(X))
    np.testing.assert_allclose(gram.errors_, same.errors_, rtol=1e-3)
    np.testing.assert_allclose(objects.errors_, same.errors_, rtol=1e-3)
    aimed = KernelAutoencoderCV(2, **options).fit(X, targets=X[:, :2])
    assert aimed.inverse_transform(aimed.codes_).shape == (30, 2)
    save(same, tmp_path / "model.rkhs")
    again = load(tmp_path / "model.rkhs")
    np.testing.assert_array_equal(again.transform(new), same.transform(new))
    np.testing.assert_array_equal(again.estimator_.transform(new), same.transform(new))
    assert again.settings_ == same.settings_


def test_command_line_and_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", curve(30))
    path = str(tmp_path / "m.rkhs")
    asked = ["fit", str(tmp_path / "x.npy"), "--estimator", "kernel-autoencoder-cv", "--set", "cv=2", "-o", path]
    assert main(asked) == 0
    assert main(["info", path]) == 0
    assert "held-out error" in capsys.readouterr().out
    for params, match in [
        ({"regs": []}, "regs must be a sequence of"),
        ({"regs": [0.0]}, "reg of the last layer"),
        ({"regs": [np.nan]}, "regs: reg must be >= 0"),
        ({"kernels": []}, "kernels must be a sequence"),
        ({"decoder_kernels": "gaussian"}, "decoder_kernels must be a sequence"),
        ({"regs": [(1e-2, 1e-2, 1e-2)]}, "one a layer"),
    ]:
        with pytest.raises(InputError, match=match):
            KernelAutoencoderCV(**params).fit(curve(20))
