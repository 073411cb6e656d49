"""The neural baseline must be a fair one: it learns what is easy to learn."""

from __future__ import annotations

import numpy as np
import pytest

from rkhs._core.errors import InputError
from studies.networks import NetworkAutoencoder


@pytest.mark.slow
def test_it_reaches_the_error_of_pca_on_a_linear_subspace() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 8)) + 0.05 * rng.normal(size=(300, 8))
    model = NetworkAutoencoder(2, (), max_epochs=300, learning_rates=(1e-2,), batch_size=32).fit(X[:200])
    s = np.linalg.svd(X[:200] - X[:200].mean(0), compute_uv=False)
    assert model.reconstruction_error(X[200:]).mean() < 1.5 * (s[2:] ** 2).sum() / 200
    assert model.transform(X[200:]).shape == (100, 2)


@pytest.mark.slow
def test_it_folds_a_curve_that_pca_cannot() -> None:
    t = np.random.default_rng(1).uniform(-2, 2, 400)
    X = np.c_[t, t**2, np.sin(2 * t)]
    model = NetworkAutoencoder(1, (32, 32), learning_rates=(1e-2,), max_epochs=300).fit(X[:300])
    s = np.linalg.svd(X[:300] - X[:300].mean(0), compute_uv=False)
    assert model.reconstruction_error(X[300:]).mean() < 0.1 * (s[1:] ** 2).sum() / 300


@pytest.mark.sample(1)
@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
def test_codes_pass_the_activation_on_request(activation: str) -> None:
    X = np.random.default_rng(1).normal(size=(40, 5))
    plain, active = (
        NetworkAutoencoder(3, (), activation=activation, code_activation=c, max_epochs=5).fit(X) for c in (False, True)
    )
    codes = active.transform(X)
    assert codes.shape == (40, 3)
    assert codes.min() >= 0.0 > plain.transform(X).min()
    inputs = (X - active.mean_) / active.factor_
    layer = active.network_[0]
    raw = inputs @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    expected = np.maximum(raw, 0.0) if activation == "relu" else 1.0 / (1.0 + np.exp(-raw))
    np.testing.assert_allclose(codes, expected, atol=1e-6)


def test_the_best_of_several_activations_and_rates_is_kept() -> None:
    X = np.random.default_rng(3).normal(size=(80, 6))
    singles = {
        (activation, rate): NetworkAutoencoder(
            2, (8,), activation=activation, learning_rates=(rate,), max_epochs=20
        ).fit(X)
        for activation in ("sigmoid", "tanh", "relu")
        for rate in (1e-3, 1e-2)
    }
    best, single = min(singles.items(), key=lambda item: item[1].validation_error_)
    model = NetworkAutoencoder(
        2, (8,), activation=("sigmoid", "tanh", "relu"), learning_rates=(1e-3, 1e-2), max_epochs=20
    ).fit(X)
    assert (model.activation_, model.learning_rate_) == best
    np.testing.assert_array_equal(model.transform(X), single.transform(X))
    np.testing.assert_array_equal(model.reconstruction_error(X), single.reconstruction_error(X))


def test_same_seed_same_network() -> None:
    X = np.random.default_rng(2).normal(size=(60, 3))
    fits = [NetworkAutoencoder(1, (8,), max_epochs=5).fit(X).transform(X) for _ in range(2)]
    np.testing.assert_array_equal(*fits)


@pytest.mark.parametrize("activation", ["step", ("tanh", "step"), ()])
def test_unknown_activation(activation: str | tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="activation must be one or more of"):
        NetworkAutoencoder(activation=activation).fit(np.zeros((20, 2)))


def test_after_the_choice_a_network_is_trained_on_all_rows_if_asked_for() -> None:
    X = np.random.default_rng(0).normal(size=(40, 6))
    options = {"activation": "tanh", "learning_rates": (1e-2,), "max_epochs": 200}
    plain, again = (NetworkAutoencoder(4, (32,), refit=refit, **options).fit(X) for refit in (False, True))
    assert plain.best_epoch_ == again.best_epoch_ > 0
    held = np.random.default_rng(0).permutation(40)[:6]
    assert again.reconstruction_error(X[held]).mean() < 0.8 * plain.reconstruction_error(X[held]).mean()
