"""DeepRKM: denoising as projection, errors of reconstruction, and the way back from codes."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris, make_moons

from rkhs._core.errors import InputError
from rkhs.estimators import DeepRKM, KernelPCA
from rkhs.kernels import Gaussian, Linear
from tests.estimators.unfinished_fits import fit_once

X = load_iris().data[::2]
NEW = load_iris().data[1::2]


@pytest.mark.sample(3)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kept", [None, [0], [2, 1]])
def test_denoising_weights_are_an_orthogonal_projection(center, kept):
    K = Gaussian(0.3)(X)
    cross = Gaussian(0.3)(NEW, X)
    model = fit_once(DeepRKM((3, 2), kernel="precomputed", center=center), K)
    weights = model.denoise(cross, components=kept)
    H = model.layer_codes_[0][:, kept or slice(None)]
    F = np.linalg.cholesky(Gaussian(0.3)(np.vstack([X, NEW])) + 1e-12 * np.eye(150))
    mean = F[:75].mean(0) * center
    basis, _ = np.linalg.qr((F[:75] - mean).T @ (H - H.mean(0) * center))
    projected = mean + (F[75:] - mean) @ basis @ basis.T
    assert np.allclose(weights @ F[:75], projected, atol=1e-6)
    paper = model.denoise(cross, components=kept, weighting="paper")
    assert not np.allclose(paper, weights)
    if not center:
        assert np.allclose(paper, cross @ H @ H.T)


def test_linear_kernel_denoises_like_pca():
    model = DeepRKM(2, kernel=Linear()).fit(X)
    centred = X - X.mean(0)
    V = np.linalg.svd(centred)[2][:2].T
    assert np.allclose(model.denoise(NEW), (NEW - X.mean(0)) @ V @ V.T + X.mean(0), atol=1e-5)


def test_all_components_keep_every_feature():
    points = np.random.default_rng(0).normal(size=(8, 3))
    K = Gaussian(0.5)(points)
    weights = DeepRKM(8, kernel="precomputed", center=False, out_of_sample="block").fit(K).denoise(K)
    assert np.allclose(weights @ K, K, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_denoising_helps_on_curves(layer):
    clean, _ = make_moons(200, noise=0.0, random_state=0)
    noisy = clean + np.random.default_rng(0).normal(scale=0.15, size=clean.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the third layer is hard to predict
        model = DeepRKM((6, 4, 3), kernel=Gaussian(2.0), decoder_kernel=Gaussian("median")).fit(noisy)
    back = model.denoise(noisy, layer=layer)
    errors = ((back - clean) ** 2).mean(1)
    if layer == 1:
        assert errors.mean() < 0.9 * ((noisy - clean) ** 2).mean()
    else:  # few codes of a deep layer keep the trend only
        assert np.median(errors) < 0.6 * clean.var(0).mean()
    one = model.denoise(noisy, layer=layer, components=[0])
    assert not np.allclose(one, back)


@pytest.mark.slow
def test_deep_layers_denoise_better_by_regression_than_by_a_chain_of_pre_images():
    clean, _ = make_moons(150, noise=0.0, random_state=0)
    noisy = clean + np.random.default_rng(0).normal(scale=0.1, size=clean.shape)
    model = DeepRKM((8, 4), kernel=Gaussian(2.0)).fit(noisy)
    chain = model.denoise(noisy, layer=2, weighting="paper")
    assert np.abs(chain).max() < 3.0 * np.abs(noisy).max()  # and never runs away
    one = model.denoise(noisy, layer=2, components=[1])  # a function of that component alone
    close = np.argsort(model.transform(noisy, layer=2)[:, 1])
    assert np.median(np.abs(np.diff(one[close], axis=0)).max(1)) < 0.05 * clean.std()
    assert ((model.denoise(noisy, layer=2) - clean) ** 2).mean() < 0.5 * ((chain - clean) ** 2).mean()


@pytest.mark.sample(2)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("widths", [3, (3, 2)])
def test_feature_error_is_the_distance_from_the_projection(center, widths):
    kernel = Gaussian(0.3)
    K, cross = kernel(X), kernel(NEW, X)
    model = fit_once(DeepRKM(widths, kernel=kernel, center=center), X)
    found = model.reconstruction_error(NEW, space="feature")
    b = model.model_.projected(0, torch.as_tensor(cross), [0, 1, 2], whitened=True)  # the weights of denoise
    b = b.numpy()
    assert np.allclose(found, 1.0 - 2.0 * (b * cross).sum(1) + (b @ K * b).sum(1), atol=1e-9)
    by_gram = fit_once(DeepRKM(widths, kernel="precomputed", center=center), K)
    assert np.allclose(by_gram.reconstruction_error(cross), found, atol=1e-6)
    assert by_gram.score(cross) == pytest.approx(-found.mean(), rel=1e-5)
    if widths == 3:
        pca = KernelPCA(3, kernel=kernel, center=center).fit(X)
        assert np.allclose(found, pca.reconstruction_error(NEW, space="feature"), atol=1e-8)


def test_score_is_minus_the_mean_error_of_the_way_back():
    model = DeepRKM((4, 3)).fit(X)
    errors = ((model.inverse_transform(model.transform(NEW)) - NEW) ** 2).sum(1)
    assert np.allclose(model.reconstruction_error(NEW), errors)
    assert model.score(NEW) == model.score(NEW, y=np.ones(len(NEW))) == pytest.approx(-errors.mean())
    few = DeepRKM((1, 1)).fit(X)
    assert few.score(NEW) < model.score(NEW) < 0.0


def test_gram_errors_need_the_diagonal():
    K = Linear()(X)
    model = DeepRKM(2, kernel="precomputed").fit(K)
    expected = KernelPCA(2, kernel=Linear()).fit(X).reconstruction_error(NEW, space="feature")
    assert np.allclose(model.reconstruction_error(Linear()(NEW, X), diag=(NEW**2).sum(1)), expected, atol=1e-8)
    with pytest.raises(InputError, match="pass diag="):
        model.reconstruction_error(Linear()(NEW, X))
    known = model.reconstruction_error(K, diag=(X**2).sum(1))
    np.testing.assert_allclose(model.reconstruction_error(K), known, atol=1e-12)  # training items: diag is known
    with pytest.raises(InputError, match="pass diag="):
        model.reconstruction_error(K[::-1].copy())
    with pytest.raises(InputError, match="space='input' needs vector inputs"):
        model.reconstruction_error(K, space="input")


def test_inverse_transform_comes_back():
    model = DeepRKM((4, 3)).fit(X)
    back = model.inverse_transform(model.transform(NEW))
    assert ((back - NEW) ** 2).sum() < 0.15 * ((NEW - NEW.mean(0)) ** 2).sum()
    for layer in (1, 2):
        part = model.inverse_transform(model.transform(NEW, layer=layer), layer=layer)
        assert part.shape == NEW.shape
        assert ((part - NEW) ** 2).sum() < 0.95 * ((NEW - NEW.mean(0)) ** 2).sum()


def test_traversal_moves_one_code():
    model = DeepRKM((3, 2)).fit(X)
    path = model.traverse(1, layer=2, n_steps=5, start=model.codes_[3])
    codes = np.repeat(model.codes_[3:4], 5, axis=0)
    codes[:, 4] = np.linspace(*np.quantile(model.codes_[:, 4], [0.05, 0.95]), 5)
    assert np.array_equal(path, model.inverse_transform(codes))
    assert np.abs(np.diff(path, axis=0)).max() > 0.01
    assert model.traverse().shape == (7, 4)
