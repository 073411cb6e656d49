"""Starts that are given: codes as an array, and uniform coefficients as figures of the papers have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rkhs import DeepRKM, KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian
from rkhs.solvers import Alternating, QuadraticPenalty

X = np.random.default_rng(0).normal(size=(40, 2))
PAPER: dict[str, Any] = {
    "kernel": Gaussian(1.0), "decoder_kernel": Gaussian(1.0), "reg": (1e-3, 1e-3), "center": False, "scale": False,
    "linear_part": "kernel", "refine": False, "code_metric": 0.0, "random_state": 3,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_uniform_coefficients_are_the_codes_that_they_give() -> None:
    one_step = {"solver": Alternating(learning_rate=1e-9, max_iter=1, tol=0.0), **PAPER}
    codes = np.asarray(Gaussian(1.0)(X)) @ np.random.RandomState(3).uniform(size=(40, 1))
    drawn = KernelAutoencoder(1, init="uniform", **one_step).fit(X).codes_
    given = KernelAutoencoder(1, init=codes, **one_step).fit(X).codes_
    np.testing.assert_allclose(drawn, given, rtol=1e-6)
    np.testing.assert_allclose(given, codes, rtol=1e-4)


@pytest.mark.usefixtures("long_fits")
def test_other_starts_are_still_random() -> None:
    codes = np.zeros((40, 2)) + np.arange(40)[:, None] / 40
    alone = KernelAutoencoder(2, init=codes, **PAPER).fit(X).objective_
    assert KernelAutoencoder(2, init=codes, n_init=3, **PAPER).fit(X).objective_ <= alone


def test_a_start_that_cannot_be_used_says_why() -> None:
    for init, message in (
        (np.zeros((40, 2)), r"init must be codes: a finite array of shape \(n, 1\); got one of shape \(40, 2\)"),
        (np.full((40, 1), np.nan), "init must be codes: a finite array"),
        (np.zeros((30, 1)), "init must hold codes of the 40 rows of this fit; got 30"),
        ("ones", "init must be one of 'kpca', 'random', 'uniform'; got 'ones'"),
    ):
        with pytest.raises(InputError, match=message):
            KernelAutoencoder(1, init=init, **PAPER).fit(X)
    with pytest.raises(InputError, match="need one hidden layer and storage='dense'"):
        KernelAutoencoder((3, 1), init="uniform", **{**PAPER, "reg": 1e-3}).fit(X)


@pytest.mark.filterwarnings("ignore:.*")
def test_the_deep_machine_starts_at_given_codes() -> None:
    H = np.random.default_rng(1).normal(size=(40, 3))  # infeasible
    options: dict[str, Any] = {"kernel": Gaussian(0.5), "decoder_kernel": Gaussian(0.5)}
    feasible = np.linalg.svd(H, full_matrices=False)
    nearest = feasible[0] @ feasible[2]
    a = DeepRKM((2, 1), init=H, **options).fit(X).objective_
    b = DeepRKM((2, 1), init=nearest, **options).fit(X).objective_
    assert a == pytest.approx(b, abs=1e-9)
    short = QuadraticPenalty("adam", max_outer=1, max_iter=1, learning_rate=1e-12)
    kept = DeepRKM((2, 1), init=H, solver=short, canonical=False, center=False, **options)
    codes = np.hstack(kept.fit(X).layer_codes_)
    assert kept.history_[-1]["infeasibility"] > 1.0
    np.testing.assert_allclose(codes, nearest, atol=1e-6)  # only the last step takes the nearest feasible point
    with pytest.raises(InputError, match=r"finite, of shape \(40, 3\); got \(40, 2\)"):
        DeepRKM((2, 1), init=H[:, :2], **options).fit(X)
