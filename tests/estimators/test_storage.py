"""Storage of the estimators: exact where it should be, bounded memory, files, weights, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rkhs
from rkhs import KernelAutoencoder, KernelPCA, OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs._core.memory import Estimate, available_bytes, check_memory, readable
from rkhs.augment import GaussianNoise
from rkhs.features import Nystroem, RandomFeatures
from rkhs.kernels import FromFunction, Gaussian, Kernel, Laplacian, Linear, Matern, Tanimoto
from rkhs.losses import Power


@pytest.fixture
def X() -> np.ndarray:
    r = np.random.default_rng(4)
    U = r.standard_normal((240, 2))
    return np.sin(U @ r.standard_normal((2, 6))) + 0.05 * r.standard_normal((240, 6))


def weights(n: int = 240) -> np.ndarray:
    w = np.random.default_rng(0).random(n)
    w[::17] = 0.0
    return w


# ---------------------------------------------------------------- kernel PCA


@pytest.mark.sample(2)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", ["blocked", Nystroem(240)], ids=repr)
def test_kernel_pca_is_exact_with_tiles_and_with_all_landmarks(storage: Any, weighted: bool, X: np.ndarray) -> None:
    w = weights() if weighted else None
    exact, other = (KernelPCA(3, storage=s, reg=1e-3).fit(X, sample_weight=w) for s in ("dense", storage))
    new = X[:20] + 0.1
    np.testing.assert_allclose(other.transform(new), exact.transform(new), atol=1e-9)
    np.testing.assert_allclose(other.explained_variance_, exact.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(other.inverse_transform(exact.codes_), exact.inverse_transform(exact.codes_), atol=1e-5)
    np.testing.assert_allclose(other.reconstruction_error(new), exact.reconstruction_error(new), rtol=1e-3, atol=1e-6)
    if not weighted:  # a sampled bandwidth would differ where rows of weight zero count
        np.testing.assert_allclose(other.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-6)


@pytest.mark.parametrize("kind", [Nystroem, RandomFeatures])
def test_the_error_of_kernel_pca_falls(kind: Any, X: np.ndarray) -> None:
    exact = KernelPCA(2, kernel=Gaussian(0.05)).fit(X)

    def error(m: int) -> float:
        codes = KernelPCA(2, kernel=Gaussian(0.05), storage=kind(m)).fit(X).codes_
        return float(np.abs(codes - exact.codes_).max())

    errors = [error(m) for m in ((10, 60, 200) if kind is Nystroem else (30, 200, 1500))]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1 * float(np.abs(exact.codes_).max())


def test_blocked_components_need_no_large_tile(X: np.ndarray) -> None:
    from rkhs.spaces.grams import Blocked

    items = torch.from_numpy(X)
    gram = Blocked(Gaussian(0.1), items, max_bytes=8 * 240 * 7)
    K = Gaussian(0.1)._gram(items)
    values, vectors = gram.top_eigenpairs(6, center=False)
    expected = torch.linalg.eigvalsh(K / 240).flip(0)[:6]
    torch.testing.assert_close(values, expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(K / 240 @ vectors, vectors * values, rtol=1e-7, atol=1e-9)
    B = torch.randn(240, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    ridge = torch.linspace(0.1, 1.0, 240, dtype=torch.float64)
    solution, sweeps = gram.conjugate_gradients(B, ridge, rank=100)
    torch.testing.assert_close(solution, torch.linalg.solve(K + torch.diag(ridge), B), rtol=1e-7, atol=1e-8)
    assert sweeps < 15
    assert gram.conjugate_gradients(B, 0.1, rank=1)[1] > 2 * sweeps  # what the preconditioner is for


def test_partial_fit_is_fit(X: np.ndarray) -> None:
    for storage in (RandomFeatures(80), Nystroem(240)):
        whole = KernelPCA(
            3, kernel=Gaussian(0.1), storage=storage, preimage="nearest" if "N" in repr(storage) else "ridge"
        )
        parts: Any = rkhs.KernelPCA(**whole.get_params(deep=False))
        whole.fit(X)
        if isinstance(storage, RandomFeatures):
            for start in range(0, 240, 100):
                parts.partial_fit(X[start : start + 100])
        else:
            parts.partial_fit(X)
        assert parts.model_.n == 240
        np.testing.assert_allclose(np.abs(parts.transform(X)), np.abs(whole.transform(X)), atol=1e-9)
        np.testing.assert_allclose(parts.explained_variance_ratio_, whole.explained_variance_ratio_, rtol=1e-6)
    assert not hasattr(KernelPCA(), "partial_fit")
    with pytest.raises(AttributeError, match="a Gram matrix grows with its rows"):
        KernelPCA(kernel="precomputed", storage=Nystroem(5)).partial_fit  # noqa: B018
    with pytest.raises(InputError, match="no ridge pre-image"):
        KernelPCA(2, storage=RandomFeatures(20)).partial_fit(X).inverse_transform(np.zeros((1, 2)))


# ---------------------------------------------------------------- autoencoders


@pytest.mark.parametrize("storage", [Nystroem(30), RandomFeatures(30)], ids=repr)
def test_the_start_is_that_of_repeated_rows(X: np.ndarray, storage: Any) -> None:
    X, counts = X[:20], np.arange(20) % 4
    model = KernelAutoencoder(storage=storage, linear_part="kernel", reg=(1e-2, 1e-4), max_iter=1)
    with pytest.warns(ConvergenceWarning):
        weighted = model.fit(X, sample_weight=counts).transform(X)
    with pytest.warns(ConvergenceWarning):
        repeated = model.fit(X.repeat(counts, axis=0)).transform(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


DECODERS = [Gaussian(0.5), Matern(1.5, 0.7) + 0.1 * Linear(), Laplacian("l1", 0.5)]


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decoder", DECODERS, ids=repr)
def test_all_landmarks_are_the_exact_autoencoder(decoder: Kernel, weighted: bool, X: np.ndarray) -> None:
    X, w = X[:100], weights(100) if weighted else None
    options: dict[str, Any] = {"kernel": Gaussian(0.2) + Linear(), "decoder_kernel": decoder, "reg": 1e-2, "tol": 1e-7}
    exact, other = (
        KernelAutoencoder(2, storage=s, refine=False, **options).fit(X, sample_weight=w)
        for s in ("dense", Nystroem(100))
    )
    smooth = not isinstance(decoder, Laplacian)
    assert other.objective_ == pytest.approx(exact.objective_, rel=1e-4 if smooth else 1e-2)
    if smooth:  # a kinked landscape has many ends
        scale = np.abs(exact.codes_).max()
        np.testing.assert_allclose(other.transform(X), exact.transform(X), atol=2e-2 * scale)


def test_landmarks_of_an_autoencoder_come_near_the_exact_one(X: np.ndarray) -> None:
    options: dict[str, Any] = {"kernel": Gaussian(0.1), "decoder_kernel": Gaussian(0.5), "reg": 1e-3}
    exact = KernelAutoencoder(2, refine=False, **options).fit(X[:200])
    errors = {}
    for m in (20, 100):
        model = KernelAutoencoder(2, storage=Nystroem(m, "kmeans++"), **options).fit(X[:200])
        assert model.layer_codes_[0].shape[0] <= 3 * m
        assert model.codes_.shape == (200, 2)
        errors[m] = float(model.reconstruction_error(X[200:]).mean())
    assert errors[100] < 1.1 * float(exact.reconstruction_error(X[200:]).mean())
    assert errors[100] < errors[20]


@pytest.mark.slow
@pytest.mark.parametrize("storage", [Nystroem(40), RandomFeatures(60)], ids=repr)
@pytest.mark.parametrize("estimator", [KernelPCA, KernelAutoencoder])
def test_files_models_and_dtypes(estimator: Any, storage: Any, X: np.ndarray, tmp_path: Path) -> None:
    model = estimator(2, kernel=Gaussian(0.2), storage=storage).fit(X)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    streamed = estimator(2, kernel=Gaussian(0.2), storage=storage).fit(mapped)
    np.testing.assert_array_equal(streamed.codes_, model.codes_)
    np.testing.assert_array_equal(streamed.transform(mapped), model.transform(X))
    with pytest.raises(ValueError, match="is expecting 6 features"):
        model.transform(np.load(tmp_path / "x.npy", mmap_mode="r")[:, :5])
    rkhs.save(model, tmp_path / "m.rkhs")
    again = rkhs.load(tmp_path / "m.rkhs")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.inverse_transform(model.codes_[:5]), model.inverse_transform(model.codes_[:5]))
    # At a small reg two paths of the solver part by rounding.
    double = estimator(2, kernel=Gaussian(0.2), storage=storage, reg=1e-2).fit(X)
    single = estimator(2, kernel=Gaussian(0.2), storage=storage, reg=1e-2, dtype="float32").fit(X)
    assert single.codes_.dtype == np.float64
    spread = np.abs(double.codes_).max()
    assert np.median(np.abs(np.abs(single.codes_) - np.abs(double.codes_))) < 0.1 * spread


@pytest.mark.slow
def test_many_rows_descend_on_a_sample_first() -> None:
    r = np.random.default_rng(0)
    X = np.sin(r.standard_normal((50_000, 2)) @ r.standard_normal((2, 4)))
    model = KernelAutoencoder(
        1, storage=Nystroem(20), kernel=Gaussian(0.2), reg=(1e-2, 1e-4), max_iter=30, tol=1e-3
    ).fit(X)
    rows = [row["rows"] for row in model.history_]
    assert rows[0] == 1000
    assert rows[-1] == 32_768
    assert model.objective_ < 0.25
    assert model.transform(X[:3]).shape == (3, 1)
    w = np.zeros(len(X))
    w[:30_000] = 1.0
    half = KernelAutoencoder(1, storage=Nystroem(20), kernel=Gaussian(0.2), reg=1e-3, max_iter=2, tol=1e-3)
    with pytest.warns(ConvergenceWarning, match="largest number of iterations"):
        half.fit(X, sample_weight=w)
    assert half.codes_.shape == (30_000, 1)


def test_objects_gram_matrices_and_features_as_outputs(X: np.ndarray) -> None:
    K = Gaussian(0.1)(X[:80])
    exact, near = (
        KernelAutoencoder(2, kernel="precomputed", storage=s, reg=(1e-3, 1e-3), refine=False, tol=1e-6).fit(K)
        for s in ("dense", Nystroem(80))
    )
    assert near.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    np.testing.assert_allclose(near.reconstruction_error(K[:5]), exact.reconstruction_error(K[:5]), rtol=1e-3)
    ranked = near.decode(near.codes_[:4], K, n_best=1).indices[:, 0]
    np.testing.assert_array_equal(ranked, exact.decode(exact.codes_[:4], K, n_best=1).indices[:, 0])
    words = [a + b for a in "abcdef" for b in "uvwxyz"]
    overlap = FromFunction(lambda a, b: float(len(set(a) & set(b))))
    model = KernelAutoencoder(2, kernel=overlap, storage=Nystroem(36)).fit(words)
    assert model.reconstruction_error(words).mean() < 2.0
    assert model.inverse_transform(model.codes_[:2]).shape == (2, len(model.support_items_))
    bits = (X[:60] > 0).astype(float)
    same = KernelAutoencoder(2, kernel=Tanimoto(), output_kernel="same", storage=Nystroem(60), tol=1e-4).fit(bits)
    assert np.isfinite(same.reconstruction_error(bits)).all()


def test_denoising_and_targets(X: np.ndarray) -> None:
    model = KernelAutoencoder(
        2, storage=Nystroem(60), noise=GaussianNoise(0.1, relative=False, copies=2), random_state=0
    ).fit(X)
    assert model.codes_.shape == (240, 2)
    other = KernelAutoencoder(2, storage=Nystroem(60)).fit(X, targets=X[:, :2])
    assert other.inverse_transform(other.codes_).shape == (240, 2)
    options: dict[str, Any] = {"reg": 1e-3, "linear_part": "kernel", "decoder_kernel": Gaussian(0.5)}
    exact = KernelAutoencoder(2, **options).fit(X[:80], targets=X[:80, :2])
    near = KernelAutoencoder(2, storage=Nystroem(80), **options).fit(X[:80], targets=X[:80, :2])
    assert near.objective_ == pytest.approx(exact.objective_, rel=2e-2)


@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_regression_is_exact_with_all_landmarks(weighted: bool, X: np.ndarray) -> None:
    w, y = weights() if weighted else None, np.stack([X[:, 0] * X[:, 1], X[:, 2]], 1)
    options: dict[str, Any] = {"kernel": Gaussian(0.3), "reg": 1e-3}
    exact, near, coarse, random = (
        OperatorKernelRegressor(storage=s, **options).fit(X, y, sample_weight=w)
        for s in ("dense", Nystroem(240), Nystroem(60), RandomFeatures(800))
    )
    assert near.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    np.testing.assert_allclose(near.predict(X), exact.predict(X), atol=1e-7)
    assert coarse.score(X, y) > exact.score(X, y) - 0.05
    assert random.score(X, y) > exact.score(X, y) - 0.05
    for refused in ({"solver": "fista"}, {"kernel": [(Gaussian(0.3), None), (Linear(), np.eye(2))]}):
        with pytest.raises(InputError, match="storage='dense'"):
            OperatorKernelRegressor(storage=Nystroem(5), **(options | refused)).fit(X, y)


def test_landmarks_that_nearly_repeat_lose_no_digits_of_a_ridge_regression() -> None:
    X = np.random.default_rng(0).standard_normal((120, 2))
    models = [OperatorKernelRegressor(kernel=Gaussian(0.01), storage=s, reg=1e-6) for s in ("dense", Nystroem(120))]
    exact, near = (model.fit(X, X[:, 0] * X[:, 1]).predict(X) for model in models)
    np.testing.assert_allclose(near, exact, atol=1e-6)


STORED = [Nystroem(200), RandomFeatures(50)]


@pytest.mark.sample(1)
@pytest.mark.parametrize("storage", STORED, ids=["landmarks", "random"])
def test_integer_weights_are_repeated_rows(storage: Any, X: np.ndarray) -> None:
    w = np.arange(40) % 3
    model = KernelAutoencoder(2, storage=storage, kernel=Gaussian(0.1) + Linear(), reg=(1e-2, 1e-4), tol=1e-7)
    weighted = clone(model).fit(X[:40], sample_weight=w)
    repeated = clone(model).fit(X[np.repeat(np.arange(40), w)])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-5)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-2 * np.abs(weighted.codes_).max())


# ---------------------------------------------------------------- refusals and memory


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            KernelPCA(2, storage="disk"),
            r"storage of KernelPCA must be one of 'dense', 'blocked', rkhs",
        ),
        (KernelPCA(2, storage=Nystroem(5, kernel="linear")), r"must leave kernel=None"),
        (KernelPCA(2, storage=Nystroem(0)), r"Nystroem.m must be an integer >= 1"),
        (KernelPCA(2, storage=Nystroem(5), loss="huber"), r"loss='huber' needs storage='dense'"),
        (KernelPCA(2, storage="blocked", loss="huber"), r"loss='huber' needs storage='dense'"),
        (KernelPCA(2, storage=RandomFeatures(5), preimage="nearest"), r"storage=Nystroem\(m\)"),
        (KernelPCA(2, storage="blocked", kernel=FromFunction(lambda a, b: 1.0)), r"known to be positive"),
        (KernelPCA(90, storage=Nystroem(5)), r"n_components must be an integer from 1 to 5 \(the number of features\)"),
        (KernelAutoencoder(2, storage="blocked"), r"storage of KernelAutoencoder must be one of 'auto', 'dense', rkhs"),
        (
            KernelAutoencoder(2, storage=Nystroem(5), linear_part="kernel", constraint="whiten"),
            r"constraint='whiten' beside linear_part='kernel' needs storage='dense'",
        ),
        (KernelAutoencoder(2, storage=Nystroem(5), loss=Power(3.0)), r"Power\(.*\), needs storage='dense'"),
        (KernelAutoencoder(2, storage=Nystroem(5), solver="adam"), r"solver='adam' needs storage='dense'"),
        (KernelAutoencoder(2, storage=RandomFeatures(5), output_kernel="same"), r"use storage=Nystroem\(m\)"),
        (KernelAutoencoder(2, storage=RandomFeatures(5), kernel="ntk"), r"Use Nystroem"),
    ],
)
def test_what_a_storage_cannot_do_is_refused(model: Any, message: str, X: np.ndarray) -> None:
    data: Any = ["a", "b", "c"] if "FromFunction" in repr(model) else X
    with pytest.raises(InputError, match=message):
        model.fit(data)


class OwnLandmarks(Nystroem):
    """A choice of landmarks that is not the library's."""


class OwnFeatures(RandomFeatures):
    """Random features that are not the library's."""


def test_storages_of_ones_own_are_those_that_they_extend(X: np.ndarray) -> None:
    mine = KernelPCA(2, storage=OwnLandmarks(60)).fit(X)
    np.testing.assert_array_equal(mine.codes_, KernelPCA(2, storage=Nystroem(60)).fit(X).codes_)
    with pytest.raises(InputError, match="random features do not keep"):
        KernelPCA(2, storage=OwnFeatures(60), preimage="nearest").fit(X)
    with pytest.raises(InputError, match="need landmarks"):
        KernelAutoencoder(2, kernel=Gaussian(0.1), output_kernel="same", storage=OwnFeatures(60)).fit(X)


def test_memory_is_announced_and_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch, X: np.ndarray) -> None:
    model = KernelPCA(2).fit(X)
    assert model.announced_bytes_ >= 8 * 240**2
    there = available_bytes()
    assert there > 2**20
    check_memory(Estimate("a fit", 60, "a share"), "Never.", available=100)
    with pytest.raises(InputError, match=r"a fit needs about .* \(more\); .* are available, .*at most 60%. Use less."):
        check_memory(Estimate("a fit", 61, "more"), "Use less.", available=100)
    monkeypatch.setattr("rkhs._core.memory._SMALL", 0)  # small fits ask too
    monkeypatch.setattr("rkhs._core.memory.available_bytes", lambda: 2**25)
    for estimator in (KernelPCA(2), KernelAutoencoder(2)):
        with pytest.raises(InputError, match=r"n=240 rows with storage='dense' needs about .* Use storage=Nystroem"):
            estimator.fit(X)
    assert readable(3 * 2**30) == "3.0 GiB"
    assert readable(12) == "12 B"


@pytest.mark.usefixtures("all_candidates")
def test_progress_says_what_is_left(capsys: pytest.CaptureFixture[str], X: np.ndarray) -> None:
    KernelAutoencoder(2, storage=Nystroem(30), verbose=1).fit(X)
    said = capsys.readouterr().err
    assert "KernelAutoencoder on n=240 rows with storage=Nystroem(m=30): about" in said
    assert "iteration" in said
    assert "KernelAutoencoder: setting 1 of at most" in said
    KernelAutoencoder(2, verbose=1).fit(X[:60])
    said = capsys.readouterr().err
    assert "KernelAutoencoder: setting 2 of at most" in said
    assert "\r\x1b[K\r" in said  # the line is cleared
