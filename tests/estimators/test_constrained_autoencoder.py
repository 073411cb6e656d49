"""KernelAutoencoder(constraint=, noise=)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

from rkhs import KernelAutoencoder
from rkhs._core.errors import CollapseWarning, InputError
from rkhs.augment import Augmentation, GaussianNoise
from rkhs.constraints import Ball, SoftSphere, Sphere, Stiefel, Whitened
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Linear
from rkhs.solvers import LBFGS
from tests.contracts.estimator_examples import refuses_parts

X = load_iris().data
KERNEL, DECODER = Gaussian(0.3), Gaussian(1.0)


def model(constraint: Any, **params: Any) -> KernelAutoencoder:
    return KernelAutoencoder(
        2, kernel=KERNEL, decoder_kernel=DECODER, reg=(1e-4, 1e-4), constraint=constraint, **params
    )


@pytest.mark.parametrize("constraint", ["sphere", "ball", "whiten", "soft"])
def test_codes_keep_the_constraint_and_rebuild(constraint: str) -> None:
    fitted = model(constraint).fit(X)
    Z = fitted.codes_
    norms = np.linalg.norm(Z, axis=1)
    if constraint == "sphere":
        np.testing.assert_allclose(norms, 1.0, atol=1e-12)
    elif constraint == "ball":
        assert norms.max() <= 1 + 1e-12
        assert norms.min() < 0.999
    elif constraint == "whiten":
        np.testing.assert_allclose(Z.T @ Z / 150, np.eye(2), atol=1e-10)
    else:
        assert abs(np.median(norms) - 1) < 0.3
    np.testing.assert_allclose(fitted.transform(X), Z, atol=1e-4)
    assert fitted.reconstruction_error(X).mean() < 0.1 * X.var(0).sum()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_kernel_of_too_few_ranks_is_named() -> None:
    with pytest.warns(CollapseWarning, match=r"the objective .* is above 0\.5, .* hardly satisfy the constr"):
        KernelAutoencoder(2, kernel=Linear(), reg=1e-3, constraint="sphere", max_iter=20, tol=0.1).fit(X)


@pytest.mark.slow
def test_the_ball_is_between_the_sphere_and_no_constraint() -> None:
    free, ball, sphere = (model(c, tol=1e-7, max_iter=2000).fit(X).objective_ for c in ("none", "ball", "sphere"))
    assert free < ball * 1.001 < sphere * 1.002


@pytest.mark.parametrize(
    ("name", "same"), [("sphere", Sphere()), ("ball", Ball()), ("whiten", Whitened()), ("soft", SoftSphere(1.0))]
)
def test_a_name_is_the_object_with_its_defaults(name: str, same: Any) -> None:
    one, other = model(name, max_iter=5), model(same, max_iter=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(one.fit(X[::5]).codes_, other.fit(X[::5]).codes_)
    with pytest.raises(InputError, match=rf"constraint__b is .* got constraint='{name}'.* \(for '{name}': .*\(\)\)"):
        one.set_params(constraint__b=1)


def test_zero_noise_is_the_plain_model_and_copies_of_zero_noise_too() -> None:
    plain = model("none", tol=1e-8, refine=False).fit(X[:60])
    zero = model("none", tol=1e-8, noise=GaussianNoise(0.0)).fit(X[:60])
    np.testing.assert_allclose(plain.codes_, zero.codes_, atol=1e-10)
    twice = model("none", tol=1e-8, noise=GaussianNoise(0.0, copies=2)).fit(X[:60])
    assert twice.objective_ == pytest.approx(plain.objective_, rel=1e-4)
    assert twice.codes_.shape == (60, 2)
    assert twice.layer_codes_[0].shape == (120, 2)


@pytest.mark.parametrize("constraint", [pytest.param("none", marks=pytest.mark.slow), "sphere"])
def test_denoising_is_seeded_and_helps(constraint: str) -> None:
    rng = np.random.default_rng(0)
    rows = X if constraint == "none" else X[::2]
    noisy = rows + rng.normal(0, 0.5, rows.shape)
    options = {"noise": GaussianNoise(0.5, relative=False, copies=4), "random_state": 0}
    denoiser = model(constraint, **options).fit(rows)
    twice = [model(constraint, **options).fit(X[:40]).codes_ for _ in range(2)]
    np.testing.assert_array_equal(twice[0], twice[1])
    plain = model(constraint).fit(rows)
    error = denoiser.reconstruction_error(noisy, targets=rows).mean()
    assert error < plain.reconstruction_error(noisy, targets=rows).mean()
    assert error < ((noisy - rows) ** 2).sum(1).mean()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"constraint": "cube"}, "constraint must be one of"),
        ({"constraint": "sphere", "n_components": 1}, "n_components must be >= 2 for constraint='sphere'"),
        (
            {"constraint": "ball", "n_components": (3, 2, 3), "storage": Nystroem(4)},
            "several layers needs storage='dense'",
        ),
        ({"constraint": SoftSphere(0.0)}, "SoftSphere.softness must be > 0"),
        ({"constraint": Stiefel()}, r"constraint must be one of .* or an object of rkhs.constraints: .* got Stiefel"),
        (
            {"constraint": Sphere(), "loss": "huber", "storage": Nystroem(4)},
            r"loss='huber' needs constraint='none'; got Sphere\(\)",
        ),
        ({"noise": GaussianNoise(-0.1)}, "GaussianNoise.std must be >= 0"),
        ({"noise": GaussianNoise(copies=0)}, "GaussianNoise.copies must be an integer >= 1"),
        ({"noise": 0.1}, r"noise must be None or an object of rkhs.augment, such as GaussianNoise\(0.1.*; got 0.1"),
        ({"noise": GaussianNoise(), "output_kernel": "same"}, r"noise=GaussianNoise\(\) needs vectors"),
        ({"constraint": "sphere", "operators": (np.eye(2), None)}, "operators must be None"),
    ],
)
def test_errors(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        KernelAutoencoder(**params).fit(X)


class Holes(Augmentation):
    """Zeros in place of some entries."""

    def __call__(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(X.shape) < 0.3, 0.0, X)


def test_any_augmentation_is_noise() -> None:
    fitted = model("none", noise=Holes(), random_state=0).fit(X)
    holed = Holes()(X, np.random.default_rng(1))
    plain = model("none").fit(X)
    assert fitted.reconstruction_error(holed, targets=X).mean() < plain.reconstruction_error(holed, targets=X).mean()


def test_white_codes_want_equal_weights() -> None:
    with pytest.raises(InputError, match="sample_weight must be equal"):
        model("whiten").fit(X, sample_weight=np.arange(1.0, 151.0))


@pytest.mark.slow
@pytest.mark.parametrize("params", [{"constraint": "ball"}, {"noise": GaussianNoise(0.01), "random_state": 0}], ids=str)
def test_check_estimator(params: dict[str, Any]) -> None:
    # A repeated row is not a row of double weight: each copy has its own noise, and its own delta on the diagonal.
    other = "check_sample_weight_equivalence"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(KernelAutoencoder(max_iter=30, **params), on_fail=None, on_skip=None)
    failed = [r for r in results if r["status"] == "failed" and not r["check_name"].startswith(other)]
    assert [r for r in failed if not refuses_parts(r)] == []


@pytest.mark.parametrize("constraint", ["sphere", "whiten"])
def test_the_best_of_several_starts_is_kept(constraint: str) -> None:
    found: list[float] = []

    class Watched(LBFGS):
        def solve(self, *args: Any, **options: Any) -> Any:
            solution = super().solve(*args, **options)
            found.append(solution.value)
            return solution

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model(constraint, solver=Watched(), init="random", n_init=4, random_state=0, max_iter=8).fit(X[::5])
    assert len(found) == 4
    assert max(found) > min(found) * (1.0 + 1e-6)
    assert fitted.objective_ == min(found)


@pytest.mark.filterwarnings("ignore::rkhs.errors.CollapseWarning")
@pytest.mark.parametrize("constraint", ["sphere", "ball"])
def test_an_encoder_that_does_not_reach_the_constraint_has_not_converged(constraint: Any) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(ConvergenceWarning, match="the encoder does not reach the constraint"):
        model = KernelAutoencoder(2, kernel="linear", constraint=constraint).fit(X)
    assert not model.converged_
    np.testing.assert_allclose(model.codes_, model.transform(X), rtol=1e-6, atol=1e-9)
