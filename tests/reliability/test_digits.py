"""Rounding: answers do not depend on the batch, or a word is said; numbers too large to square; results are finite."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from rkhs import (
    DeepRKM,
    FunctionalKernelRegressor,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelContrastive,
    KernelPCA,
    OperatorKernelRegressor,
    OperatorKernelRegressorCV,
)
from rkhs._core.errors import InputError, RoundingWarning
from rkhs.estimators.ranked_candidates import rank
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Linear, Polynomial, Precomputed
from rkhs.problems.code_ridge import encoder_coefs, ridge_coefs, ridge_features
from rkhs.protocols import Reason
from rkhs.solvers import Subspace
from rkhs.spaces.rounding import check_digits
from tests.solvers.test_stiefel_solvers import problem

RNG = np.random.default_rng(3)
X, NEW = RNG.standard_normal((30, 4)), RNG.standard_normal((5, 4))
MODELS = [
    KernelPCA(2),
    KernelPCA(2, storage="blocked"),
    KernelPCA(2, storage=Nystroem(12)),
    DeepRKM(2),
    DeepRKM(2, out_of_sample="block"),
    KernelContrastive(2),
    KernelAutoencoder(2, max_iter=5),
]


def say(model: Any, shift: float) -> str:
    """What becomes of data this far from the origin: "refused", "warned", or codes that do not depend on the batch."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X + shift)
        except InputError as error:
            assert "on different items have relative differences of" in str(error)
            return "refused"
        if any(issubclass(w.category, RoundingWarning) for w in caught):
            return "warned"
    codes = model.transform(NEW + shift)
    rows = np.concatenate([model.transform(NEW[i : i + 1] + shift) for i in range(len(NEW))])
    assert np.abs(rows - codes).max() <= (1e-2 if model.dtype == "float32" else 1e-5) * np.abs(codes).max()
    assert np.abs(codes).max() > 0.0
    return "right"


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3)], ids=repr)
def test_codes_do_not_depend_on_the_batch_or_the_loss_of_digits_is_said(model: Any, kernel: Any) -> None:
    model.set_params(kernel=kernel, dtype="float64")
    outcomes = [say(model, shift) for shift in (0.0, 1e2, 1e6, 1e9)]
    assert outcomes[0] == "right"
    assert outcomes[1] == "right" or (isinstance(kernel, Polynomial) and outcomes[1] == "warned")
    assert outcomes[2] in ("warned", "refused")
    assert outcomes[3] == "refused"
    if not isinstance(model, KernelContrastive) and isinstance(model.storage, str):
        assert say(model.set_params(dtype="float32"), 1e3) == "refused" or model.storage == "blocked"


def test_eight_rows_of_three_hundred_columns_near_a_thousand() -> None:
    near = 1000 + RNG.standard_normal((8, 300))
    with pytest.raises(
        InputError,
        match=r"the values of the kernel Linear\(\) on different items have relative differences of 1e-06 only",
    ):
        DeepRKM((2, 1), kernel="linear", dtype="float32").fit(near)
    with pytest.warns(RoundingWarning, match=r"DeepRKM: results .* rounding leaves them some 3 digits"):
        DeepRKM(2, kernel="linear").fit(1000 + 1e-3 * near)


def test_what_is_the_same_loses_nothing() -> None:
    """Equal items, and Gram matrices of them; and what a matrix holds beside a constant."""
    same = torch.ones(5, 2, dtype=torch.float64) * 1e6 / 3
    check_digits(Linear(), same @ same.mT, same)
    K = torch.from_numpy(Gaussian(0.3)(X))
    check_digits(Precomputed(), K.new_full((5, 5), 0.1), None)
    check_digits(Precomputed(), K + 1e9, None)
    with pytest.raises(InputError, match=r"the values of X \(kernel='precomputed'\) .* Subtract a constant"):
        check_digits(Precomputed(), K + 1e15, None)


@pytest.mark.parametrize("options", [{}, {"storage": Nystroem(5)}, {"out_of_sample": "block"}, {"kernel": "linear"}])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e3 / 3, 1e150])
def test_a_machine_of_equal_rows_is_refused(options: dict[str, Any], value: float) -> None:
    with pytest.raises(InputError, match="X must hold at least two different items|not finite|is zero on all"):
        DeepRKM((2, 1), **options).fit(np.full((10, 3), value))


@pytest.mark.parametrize("center", [True, False])
def test_encoders_of_rounding_are_zero(center: bool) -> None:
    """A matrix of rounding only, or one beside a far larger constant, does not make large coefficients."""
    noise = 1e-15 * RNG.standard_normal((20, 20))
    K, T = torch.from_numpy(noise @ noise.T), torch.from_numpy(np.linalg.qr(RNG.standard_normal((20, 2)))[0])
    assert not ridge_coefs(K, T, center, noise=1e-12)[0].any()
    assert not ridge_features(torch.from_numpy(noise), T, center, noise=1e-12)[0].any()
    assert not encoder_coefs(K, T, "block", 1.0, 1e-12).any()
    assert not ridge_coefs(torch.zeros_like(K), T, center)[0].any()
    big = torch.from_numpy(Gaussian(0.2)(X[:20]))
    exact = ridge_coefs(big, T, center, ridges=(1e-8,))[0]
    held = ridge_coefs(big, T, center, 1e-3, (1e-8,))[0]
    assert held.norm() < 20.0 < exact.norm()


Y = np.stack([X[:, 0], X[:, 1]], 1)
READERS = {
    "y": [
        OperatorKernelRegressor(),
        OperatorKernelRegressor(storage=Nystroem(5)),
        OperatorKernelRegressorCV(cv=2),
        InputOutputKernelRegressor(output_kernel="linear"),
        FunctionalKernelRegressor("gaussian"),
    ],
    "targets": [KernelAutoencoder(2)],
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "model"), [(n, m) for n, many in READERS.items() for m in many], ids=repr)
def test_numbers_too_large_to_square_are_refused_by_name(name: str, model: Any, dtype: str) -> None:
    large = 1e200 if dtype == "float64" else 1e25
    model.set_params(dtype=dtype)
    with pytest.raises(InputError, match=f"^{name} must hold values of modulus under"):
        model.fit(X, **{name: Y * large})
    if name == "y":
        model.fit(X, Y)
        if hasattr(model, "score"):
            with pytest.raises(InputError, match="^y must hold values of modulus under"):
                model.score(X, Y * large)


def test_distances_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InputError, match="distances to candidates are not finite"):
        rank(torch.tensor([[0.0, float("inf")]]), None)


def test_an_objective_that_is_not_finite_is_no_fit() -> None:
    P = problem()
    machine = {"kernels": P.kernels, "n_components": (3, 2), "eta": P.eta, "center": True}
    huge = P.from_gram(1e30 * P.gram.float(), **machine)  # finite, and its square is not
    done = Subspace().solve(huge, P.random_start(torch.Generator().manual_seed(0)).float())
    assert done.reason is Reason.DIVERGED
    with pytest.raises(InputError, match="the objective of KernelPCA is not finite"):
        KernelPCA()._record(replace(done, value=float("inf")))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predictions_that_are_nothing_but_rounding_are_refused() -> None:
    X, y = np.full((3, 6), -1e9), np.array([-1.1465, -0.9682, -0.9177])
    with pytest.raises(InputError, match="rounding leaves them no digit"):
        OperatorKernelRegressor(0.5 * Gaussian() + Linear(), reg=1e-3, center=False).fit(X, y)
