"""Learned kernels: gradients by Taylor slope, the criterion by refits, and whether learning finds what is there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rkhs import KernelAutoencoder
from rkhs._core.errors import InputError
from rkhs.kernels import FromFunction, Gaussian, Kernel, Laplacian, Linear, Matern, OnColumns, ScaledInputs
from rkhs.selection import learn_kernel, learned_kernel, leave_one_out_gradient, ridge_path


def data(n: int = 40, d: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    T = np.stack([np.sin(2.0 * X[:, 0]), X[:, 0] ** 2 + 0.3 * X[:, 1]], 1) + 0.1 * rng.normal(size=(n, 2))
    return torch.as_tensor(X), torch.as_tensor(T - T.mean(0))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_that_of_the_ridge_path_and_its_derivatives_are_right(weighted: bool) -> None:
    X, T = data(15)
    K = Gaussian(0.5)._gram(X)
    w = torch.linspace(1.0, 2.0, 15, dtype=torch.float64) if weighted else None
    w = None if w is None else w / w.sum()
    error, S, slope = leave_one_out_gradient(K, T, 1e-2, w)
    assert error == pytest.approx(ridge_path(K, T, [1e-2], w).leave_one_out[0], rel=1e-10)
    rng = np.random.default_rng(0)
    D = torch.as_tensor(rng.normal(size=(15, 15)))
    D = D + D.T
    h = 1e-6
    ahead, behind = (leave_one_out_gradient(K + s * h * D, T, 1e-2, w)[0] for s in (1.0, -1.0))
    assert float((S * D).sum()) == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)
    ahead, behind = (leave_one_out_gradient(K, T, 1e-2 + s * h, w)[0] for s in (1.0, -1.0))
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.3),
        0.5 * Matern(1.5, 0.7) + 2.0 * Linear(),
        ScaledInputs(Gaussian(0.2) + 0.1 * Linear(), (1.0, 0.5, 2.0)),
        ScaledInputs(Laplacian("l1", 0.4), (1.0, 0.5, 2.0)),
        OnColumns(Matern(2.5, 0.5), [2, 0]) * Gaussian(0.1) + 0.3 * Gaussian(2.0),
    ],
    ids=repr,
)
def test_gradients_in_the_logarithms_have_taylor_slope_two(kernel: Kernel) -> None:
    X, T = data()
    start = np.log(learned_kernel._values(kernel))

    def value(logs: np.ndarray) -> float:
        return leave_one_out_gradient(learned_kernel._rebuilt(kernel, iter(np.exp(logs)))._gram(X), T, 1e-2)[0]

    S = leave_one_out_gradient(kernel._gram(X), T, 1e-2)[1]
    gradient = np.array(learned_kernel._gradient(kernel, X, S))
    step = np.random.default_rng(1).normal(size=len(start))
    rests = [abs(value(start + h * step) - value(start) - h * gradient @ step) for h in (1e-3, 1e-4)]
    assert np.log10(rests[0] / rests[1]) == pytest.approx(2.0, abs=0.1)


def test_relevance_is_found_and_helps_on_rows_kept_apart() -> None:
    X, T = data(300, 8, 1)
    found = learn_kernel("gaussian", X[:80].numpy(), T[:80].numpy(), ard=True)
    assert isinstance(found.kernel, ScaledInputs)
    assert min(found.kernel.scales[:1]) > 3.0 * max(found.kernel.scales[2:])
    assert found.leave_one_out < 0.5 * found.before

    def error(kernel: Kernel, reg: float) -> float:
        resolved = kernel.resolve(X[:80])
        K = resolved._gram(X[:80])
        K.diagonal().add_(80 * reg)
        said = resolved._gram(X[80:], X[:80]) @ torch.linalg.solve(K, T[:80])
        return float(((said - T[80:]) ** 2).sum(1).mean())

    plain = min(error(Gaussian(), reg) for reg in (1e-4, 1e-3, 1e-2, 1e-1))
    assert error(found.kernel, found.reg) < 0.6 * plain


def test_a_learned_kernel_of_codes_is_a_decoder_kernel() -> None:
    t = np.random.default_rng(0).uniform(-1.5, 1.5, 45)
    X = np.stack([t, np.sin(3 * t), t**2, np.cos(4 * t)], 1)
    model = KernelAutoencoder(1, linear_part="kernel", reg=(1e-2, 1e-4)).fit(X)
    found = learn_kernel(model.decoder_kernels_[0], model.codes_, X, max_iter=20)
    assert found.leave_one_out <= found.before
    again = KernelAutoencoder(1, linear_part="kernel", decoder_kernel=found.kernel, reg=(1e-2, found.reg)).fit(X)
    assert again.codes_.shape == (45, 1)


def test_rows_are_drawn_and_what_cannot_be_learned_is_refused() -> None:
    X, T = data(50)
    few = learn_kernel(Gaussian("median"), X.numpy(), T.numpy(), max_rows=20)
    assert few.kernel == learn_kernel(Gaussian("median"), X.numpy(), T.numpy(), max_rows=20).kernel
    assert few.kernel.gamma != learn_kernel(Gaussian("median"), X.numpy(), T.numpy()).kernel.gamma
    for kernel, Y, word in [
        (Linear(), T, "to learn"),
        (FromFunction(lambda x, y: 1.0), T, "on vectors"),
        (Gaussian(), torch.zeros(50, 1), "must vary"),
        (Gaussian(), T[:9], "one row"),
    ]:
        with pytest.raises(InputError, match=word):
            learn_kernel(kernel, X.numpy(), Y.numpy())
    for X_bad, Y, word in [
        (1e200 * X.numpy(), T.numpy(), "Linear.scale='mean_norm' needs data with finite squares"),
        (X.numpy(), 1e200 * T.numpy(), "targets must have finite squares"),
        (X.numpy(), [], "one row"),
        (X.numpy(), [["a"]] * 50, "targets must hold real numbers"),
        (X.numpy(), np.zeros((50, 1, 1)), r"targets must have shape \(n,\) or \(n, q\)"),
    ]:
        with pytest.raises(InputError, match=word):
            learn_kernel(Linear("mean_norm") + 0.5 * Gaussian(), X_bad, Y)
    with pytest.raises(InputError, match="values that are not finite on these data"):
        learn_kernel(0.5 * Linear(), 1e200 * X.numpy(), T.numpy())
    with pytest.raises(InputError, match="ard must be True or False"):
        learn_kernel(Gaussian(), X.numpy(), T.numpy(), ard=None)
    with pytest.raises(InputError, match="pull-back|differentiable"):
        learn_kernel(FromFunction(np.dot, inputs="vectors"), X.numpy(), T.numpy(), ard=True)
