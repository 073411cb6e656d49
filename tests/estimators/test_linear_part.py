"""KernelAutoencoder(linear_part="free")."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA

import rkhs
from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Matern


def curves(seed: int, n: int, d: int = 40) -> np.ndarray:
    """Smooth curves: nearly linear, and what a fully penalised model is bad at."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, d)[None, :] ** np.exp(0.1 * rng.normal(size=(n, 1)))
    return sum(rng.normal(size=(n, 1)) * np.cos(np.pi * k * t) / (k + 1.0) ** 1.5 for k in range(6))


def free(p: int = 3, **params: Any) -> KernelAutoencoder:
    return KernelAutoencoder(p, linear_part="free", **params)


@pytest.mark.usefixtures("all_candidates")
def test_never_far_from_principal_components_on_smooth_curves() -> None:
    X, new = curves(0, 50), curves(1, 200)
    pca = PCA(5).fit(X)
    theirs = ((pca.inverse_transform(pca.transform(new)) - new) ** 2).sum(1).mean()
    ours = free(5, reg=(1e-3, 1e-3)).fit(X).reconstruction_error(new).mean()
    penalised = KernelAutoencoder(5, reg=(1e-2, 1e-5)).fit(X).reconstruction_error(new).mean()
    assert ours < 1.1 * theirs < penalised


def test_strong_kernel_penalties_leave_principal_components_where_those_leave_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12)) * 10.0 ** -np.linspace(0.0, 5.5, 12)
    X, new = X[:50], X[50:]
    pca = PCA(6).fit(X)
    theirs = ((pca.inverse_transform(pca.transform(new)) - new) ** 2).sum(1).mean()
    assert theirs < 1e-5 * X.var(0).sum()
    assert free(6, reg=(1.0, 1.0)).fit(X).reconstruction_error(new).mean() < 1.05 * theirs


def test_methods_agree_with_each_other() -> None:
    X, new = curves(2, 40, 12), curves(3, 9, 12)
    model = free().fit(X)
    codes = model.transform(new)
    rebuilt = model.inverse_transform(codes)
    np.testing.assert_allclose(((rebuilt - new) ** 2).sum(1), model.reconstruction_error(new), rtol=1e-9)
    np.testing.assert_allclose(model.transform(X), model.codes_, rtol=1e-5, atol=1e-6)
    ranking = model.decode(codes, new, n_best=1)
    np.testing.assert_allclose(
        ranking.distances[:, 0], ((rebuilt[:, None] - new[None]) ** 2).sum(2).min(1), rtol=1e-6, atol=1e-12
    )
    unrefined = model.set_params(refine=False)
    Z = unrefined.transform(new)
    assert Z.shape == codes.shape
    # What the model says is the sum of its parts, written out.
    linear = model.model_.linear
    q = (new - linear.center) @ linear.directions - linear.offset
    import torch

    K = model.kernel_._gram(torch.as_tensor(new), torch.as_tensor(X)).numpy()
    layer = K @ model.encoder_coefs_[0] + q @ linear.coefficients
    np.testing.assert_allclose(Z, layer @ model.code_map_, rtol=1e-9, atol=1e-12)


def test_gram_and_object_inputs_are_the_vectors_of_a_linear_kernel() -> None:
    X, new = curves(4, 30, 8), curves(5, 6, 8)
    options: dict[str, Any] = {"reg": (1e-2, 1e-2), "decoder_kernel": Matern(1.5, 0.5), "center": True}
    vectors = free(2, kernel="linear", **options).fit(X)
    gram = free(2, kernel="precomputed", **options).fit(X @ X.T)
    assert gram.objective_ == pytest.approx(vectors.objective_, rel=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(gram.transform(new @ X.T), vectors.transform(new), rtol=0.05, atol=0.05)
    same = free(2, kernel=Gaussian(0.5), output_kernel="same", reg=(1e-2, 1e-2)).fit(X)
    K = Gaussian(0.5)(X)
    known = free(2, kernel="precomputed", reg=(1e-2, 1e-2)).fit(K)
    assert known.transform(Gaussian(0.5)(new, X)).shape == (6, 2)
    rows = Gaussian(0.5)(new, X)
    assert float(known.reconstruction_error(rows).mean()) < 0.9 * (1.0 - 2.0 * rows.mean() + K.mean())
    assert float(same.reconstruction_error(new).mean()) < 0.9 * (1.0 - 2.0 * rows.mean() + K.mean())


def test_weights_are_repetitions() -> None:
    X = curves(6, 14, 6)
    w = np.ones(14)
    w[[0, 3]] = 2.0
    rows = np.r_[np.arange(14), 0, 3]
    options: dict[str, Any] = {"kernel": Gaussian(0.4), "reg": (1e-2, 1e-2), "tol": 1e-6}
    weighted, repeated = free(2, **options).fit(X, sample_weight=w), free(2, **options).fit(X[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-4)


def test_fewer_rows_than_columns_and_more_components_than_rank() -> None:
    X = curves(7, 10, 60)
    assert free(4).fit(X).transform(X).shape == (10, 4)
    flat = np.outer(np.arange(12.0), np.ones(5))
    model = free(3).fit(flat)
    assert model.model_.linear.directions.shape == (5, 1)
    assert float(model.reconstruction_error(flat).max()) < 0.1 * flat.var(0).sum()


def test_single_precision_is_close() -> None:
    X = curves(8, 40, 10)
    double, single = free(2, reg=(1e-2, 1e-2)).fit(X), free(2, reg=(1e-2, 1e-2), dtype="float32").fit(X)
    assert single.objective_ == pytest.approx(double.objective_, rel=2e-2)


def test_files_and_copies_code_alike(tmp_path: Path) -> None:
    X, new = curves(9, 25, 8), curves(10, 5, 8)
    for model, given in ((free(2).fit(X), new), (free(2, kernel="precomputed").fit(X @ X.T), new @ X.T)):
        rkhs.save(model, tmp_path / "m.rkhs")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = model.transform(given)
            np.testing.assert_allclose(rkhs.load(tmp_path / "m.rkhs").transform(given), expected, rtol=1e-6)
            np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).transform(given), expected, rtol=1e-6)
    assert clone(model).linear_part == "free"


def test_refitting_without_forgets_the_linear_part() -> None:
    X = curves(11, 20, 6)
    model = free(2).fit(X)
    again = model.set_params(linear_part="kernel").fit(X)
    assert again.model_.linear is None
    assert again.model_.last.linear is None
    np.testing.assert_array_equal(again.transform(X), KernelAutoencoder(2, linear_part="kernel").fit(X).transform(X))


def test_a_warm_start_is_where_the_last_fit_ended() -> None:
    X = curves(12, 30, 8)
    model = free(2, warm_start=True, reg=(1e-2, 1e-2), tol=1e-8).fit(X)
    first = model.objective_
    model.fit(X)
    assert model.n_evaluations_ < 12
    assert model.objective_ == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize(
    "params",
    [
        {"loss": "huber"},
        {"constraint": "sphere"},
        {"operators": [np.eye(2), None]},
        {"solver": "alternating"},
        {"linear_part": "some"},
    ],
)
def test_refuses_what_does_not_go_together(params: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="linear_part"):
        KernelAutoencoder(**{"n_components": 2, "linear_part": "free", **params}).fit(curves(0, 12, 4))


@pytest.mark.slow
@pytest.mark.usefixtures("all_candidates")
def test_columns_of_unlike_units_do_no_harm() -> None:
    data = load_breast_cancer().data
    X, new = data[:200], data[200:400]
    pca = PCA(10).fit(X)
    theirs = ((pca.inverse_transform(pca.transform(new)) - new) ** 2).sum(1).mean()
    assert theirs < 1e-6 * X.var(0).sum()
    model = KernelAutoencoder(10).fit(X)
    assert model.reconstruction_error(new).mean() < 1.05 * theirs
    # A penalty is relative to what the linear parts leave, so the unit of the targets is much finer than their spread.
    assert model.output_.scale < 1e-2 * np.sqrt(X.var(0).sum())


@pytest.mark.filterwarnings("ignore::rkhs._core.errors.ColumnWarning")  # columns fall off by tens
@pytest.mark.parametrize("weighted", [False, True])
def test_finer_units_are_the_same_model_at_weaker_penalties(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * 10.0 ** -np.arange(6.0)
    new = rng.normal(size=(9, 6)) * 10.0 ** -np.arange(6.0)
    w = rng.uniform(0.5, 2.0, 40) if weighted else np.ones(40)
    v = w / w.sum()
    centred = X - v @ X
    variances = np.linalg.eigvalsh(centred.T @ (v[:, None] * centred))
    unit = 100.0 * variances[:-2].sum() / variances.sum()
    fitted = free(2, reg=(1e-1, 1e-2), refine=False).fit(X, sample_weight=w)
    assert fitted.output_.scale == pytest.approx(np.sqrt(unit * variances.sum()), rel=1e-9)
    # The same targets without a scale of the model, handed over in those units.
    twin = free(2, reg=(1e-1, 1e-2), refine=False, scale=False).fit(
        X, targets=X / fitted.output_.scale, sample_weight=w
    )
    assert twin.objective_ == pytest.approx(fitted.objective_, rel=1e-8)
    np.testing.assert_allclose(
        twin.inverse_transform(twin.transform(new)) * fitted.output_.scale,
        fitted.inverse_transform(fitted.transform(new)),
        atol=1e-7,
    )


@pytest.mark.parametrize("d", [3, 8])
def test_data_that_linear_parts_rebuild_keep_their_unit(d: int) -> None:
    X = np.random.default_rng(1).normal(size=(30, 3)) @ np.random.default_rng(2).normal(size=(3, d))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelAutoencoder(3).fit(X)
    assert model.output_.scale == pytest.approx(np.sqrt(X.var(0).sum()))


@pytest.mark.filterwarnings("ignore::rkhs._core.errors.ColumnWarning")  # columns fall off by tens
def test_features_are_in_units_of_what_linear_parts_leave_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * 10.0 ** -np.arange(6.0)
    options: dict[str, Any] = {"reg": (1e-2, 1e-2), "decoder_kernel": Matern(1.5, 0.5)}
    vectors = free(2, kernel="linear", **options).fit(X)
    gram = free(2, kernel="precomputed", **options).fit(X @ X.T)
    assert gram.output_.scale == pytest.approx(vectors.output_.scale, rel=1e-6)
    assert gram.objective_ == pytest.approx(vectors.objective_, rel=1e-4)
    rebuilt = gram.reconstruction_error(X @ X.T, diag=(X * X).sum(1))
    np.testing.assert_allclose(rebuilt, vectors.reconstruction_error(X), atol=1e-5 * X.var(0).sum())
