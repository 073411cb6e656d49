"""KernelAutoencoder with losses other than the squared one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from rkhs import KernelAutoencoder
from rkhs._core.errors import CollapseWarning, InputError
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.losses import EpsilonInsensitive, Huber, Loss, MaximumMargin, SquaredEpsilonInsensitive


def curve(n: int = 60, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.5, 1.5, n)
    return np.stack([t, np.sin(2 * t), t**2, np.cos(3 * t)], 1) + 0.02 * rng.standard_normal((n, 4))


@pytest.mark.parametrize("loss", [Huber(1e6), SquaredEpsilonInsensitive(0.0)], ids=repr)
def test_no_cut_is_the_squared_loss(loss: Loss) -> None:
    X = curve()
    plain = KernelAutoencoder(linear_part="kernel").fit(X)
    other = KernelAutoencoder(loss=loss).fit(X)
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    np.testing.assert_allclose(other.transform(X), plain.transform(X), rtol=1e-4, atol=1e-5)
    assert len(other.saturated_) == 0


@pytest.mark.sample(2)
@pytest.mark.usefixtures("all_candidates")
@pytest.mark.parametrize("loss", [Huber(0.1), SquaredEpsilonInsensitive(0.1), EpsilonInsensitive(0.1)], ids=repr)
def test_objective_is_a_lower_bound_within_the_gap_of_the_model_it_describes(loss: Loss) -> None:
    X = curve(40)
    model = KernelAutoencoder(loss=loss, reg=(1e-3, 1e-2), kernel=Gaussian(0.5), decoder_kernel=Gaussian(1.0)).fit(X)
    Z = model.layer_codes_[0]
    U = (X - X.mean(0)) / np.sqrt(X.var(0).sum())
    K2 = Gaussian(1.0)(Z)
    C, E = model.decoder_coef_, model.encoder_coefs_[0]
    J = float(loss.value(_tensor(U - K2 @ C)).mean())
    J += 5e-3 * float((C * (K2 @ C)).sum()) + 5e-4 * float((E * (Gaussian(0.5)(X) @ E)).sum())
    assert model.objective_ <= J + 1e-10
    assert model.objective_ + model.gap_ == pytest.approx(J, rel=1e-7)
    assert model.gap_ <= 1e-6
    residuals = np.linalg.norm(U - K2 @ C, axis=1)
    if isinstance(loss, Huber):
        assert 0 < len(model.saturated_) < len(X)
        np.testing.assert_array_equal(model.saturated_, (residuals >= 0.1 * (1 - 1e-9)).nonzero()[0])
    else:
        assert 0 < len(model.support_) < len(X)
        assert residuals[np.setdiff1d(np.arange(len(X)), model.support_)].max() <= 0.1 * (1 + 1e-3)


def _tensor(A: np.ndarray) -> Any:
    import torch

    return torch.as_tensor(A)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(50.0), SquaredEpsilonInsensitive(50.0)], ids=repr)
def test_collapse_is_announced(loss: Loss) -> None:
    with pytest.warns(CollapseWarning, match="Lower epsilon"):
        model = KernelAutoencoder(loss=loss).fit(curve(20))
    assert len(model.support_) == 0


def test_gram_inputs_are_explicit_features() -> None:
    X, new = curve(30), curve(7, seed=1)
    options: dict[str, Any] = {"loss": Huber(0.2), "reg": 1e-2, "tol": 1e-8, "refine": False}
    vectors = KernelAutoencoder(kernel="linear", **options).fit(X)
    gram = KernelAutoencoder(kernel="precomputed", **options).fit(X @ X.T)
    assert gram.objective_ == pytest.approx(vectors.objective_, rel=1e-7)
    np.testing.assert_allclose(gram.transform(new @ X.T), vectors.transform(new), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(gram.saturated_, vectors.saturated_)
    errors = gram.reconstruction_error(new @ X.T, diag=(new * new).sum(1))
    np.testing.assert_allclose(errors, vectors.reconstruction_error(new), rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_outliers_move_the_huber_model_less(seed: int) -> None:
    X = curve(seed=seed)
    rng = np.random.default_rng(seed)
    bad = rng.choice(len(X), 6, replace=False)
    targets = X.copy()
    targets[bad] += 10.0 * rng.standard_normal((6, 4))
    options: dict[str, Any] = {"reg": 1e-2, "center": False, "scale": False, "kernel": Gaussian(0.5)}
    clean = KernelAutoencoder(**options).fit(X)
    goal = clean.inverse_transform(clean.codes_)

    def distance(loss: Any) -> float:
        model = KernelAutoencoder(loss=loss, **options).fit(X, targets=targets)
        return float(((model.inverse_transform(model.codes_) - goal) ** 2).sum(1).mean())

    assert distance(Huber(0.3)) < 0.5 * distance("squared")


def test_sample_weights_are_repeated_rows() -> None:
    X = curve(24)
    weights = np.r_[np.zeros(4), np.full(10, 2.0), np.ones(10)]
    rows = np.repeat(np.arange(24), weights.astype(int))
    options: dict[str, Any] = {"loss": Huber(0.2), "tol": 1e-8, "reg": 1e-2, "kernel": Gaussian(0.5)}
    weighted = KernelAutoencoder(**options).fit(X, sample_weight=weights)
    repeated = KernelAutoencoder(**options).fit(X[rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    assert len(weighted.saturated_) > 0


def test_single_precision() -> None:
    X = curve(30)
    model = KernelAutoencoder(loss=Huber(0.2), dtype="float32").fit(X)
    assert model.objective_ == pytest.approx(KernelAutoencoder(loss=Huber(0.2)).fit(X).objective_, rel=2e-2)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"loss": "hubert"}, "loss must be one of"),
        ({"loss": Huber(-1.0)}, "Huber.kappa"),
        ({"loss": "huber", "solver": "adam"}, "needs solver='lbfgs'"),
        ({"loss": "huber", "constraint": "sphere", "storage": Nystroem(4)}, "needs constraint='none'"),
        ({"loss": MaximumMargin()}, "residual alone"),
    ],
)
def test_what_does_not_fit_is_refused(params: dict[str, Any], match: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=match):
            KernelAutoencoder(**params).fit(curve(10))


def test_a_decoder_that_is_not_finite_is_refused() -> None:
    X = np.array(
        [
            [-6.190075613513955e101, -2.2956838587336794e102, -2.5606991044030767e100, 3.0505131189902345e100],
            [-6.475113777628393e101, 1.8392604100924326e101, 6.081258162128513e95, -6.952498783247284e99],
            [8.094320096012929e98, 2.860800564234637e99, 4.817535452536333e99, 2.630211497314117e99],
            [3.579177986950983e97, -3.596842173989385e100, -3.2463892948711275e99, -4.790616542463714e96],
        ]
    )
    model = KernelAutoencoder(2, kernel="linear", loss=SquaredEpsilonInsensitive(), max_iter=8, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(InputError, match="coefficients that are not finite; rescale the data"):
            model.fit(X)
        assert np.isfinite(model.fit(X * 1e-100).decoder_coef_).all()
