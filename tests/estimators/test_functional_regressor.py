"""Curves on curves: bases, quadrature, conventions, leave-one-out, robustness, FDataGrid by duck typing."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from rkhs import FunctionalKernelRegressor, OperatorKernelRegressor
from rkhs._core.errors import InputError, OutlierWarning
from rkhs.kernels import FunctionalGaussian, FunctionalLaplacian, Gaussian, quadrature_weights
from rkhs.losses import EpsilonInsensitive, Huber, Squared
from rkhs.outputs import basis_functions
from rkhs.selection.operator_path import left_out_path


def curves(seed, n=25, T=60, grid=None):
    r = np.random.default_rng(seed)
    t = np.linspace(0, 1, T) if grid is None else grid
    a = r.normal(size=(n, 3))
    X = a[:, :1] * np.sin(2 * np.pi * t) + a[:, 1:2] * np.cos(2 * np.pi * t) + 0.3 * a[:, 2:]
    Y = a[:, :1] * np.cos(2 * np.pi * t) + (a[:, 1:2] ** 2) * np.sin(4 * np.pi * t) + 0.5
    return t, X, Y


@pytest.mark.parametrize("basis", ["fourier", "empirical", Gaussian(20.0)])
def test_bases_are_orthonormal_on_regular_and_irregular_grids(basis):
    r = np.random.default_rng(0)
    for t in (np.linspace(0, 1, 400), np.sort(np.concatenate([[0.0, 1.0], r.random(800)]))):
        w = quadrature_weights(t, len(t))
        functions, values = basis_functions(basis, 5, t, w, r.normal(size=(30, len(t))).cumsum(1))
        np.testing.assert_allclose((functions * w) @ functions.T, np.eye(5), atol=2e-4)
        assert (np.diff(values) <= 1e-12).all()


def test_fourier_keeps_unit_norm_on_any_interval():
    t = np.linspace(3.0, 7.0, 300)
    w = quadrature_weights(t, 300)
    functions, _ = basis_functions("fourier", 5, t, w)
    np.testing.assert_allclose((functions * w) @ functions.T, np.eye(5), atol=1e-4)


def test_the_published_basis_counts_the_constant_twice():
    t = np.linspace(0, 1, 641)
    functions, values = basis_functions("cosine_sine", 4, t, np.full(641, 1 / 641))
    assert functions.shape == (8, 641)
    np.testing.assert_allclose(functions[0], np.sqrt(2.0))
    np.testing.assert_allclose(functions[1], 0.0, atol=1e-12)
    np.testing.assert_allclose(values, np.repeat(1.0 / np.arange(1, 5) ** 2, 2))


@pytest.mark.parametrize("loss", [Squared(), Huber(0.2)], ids=repr)
def test_equals_vector_regression_of_the_coordinates(loss):
    t, X, Y = curves(1)
    model = FunctionalKernelRegressor(
        basis="fourier", n_basis=7, output_times=t, input_times=t, loss=loss, reg=1e-3, tol=1e-11
    )
    model.fit(X, Y)
    w = quadrature_weights(t, 60)
    functions, values = basis_functions("fourier", 7, t, w)
    R = (Y - Y.mean(0)) @ (functions * w).T
    kernel = FunctionalLaplacian("median", t)
    twin = OperatorKernelRegressor(kernel, operator=np.diag(values), loss=loss, reg=1e-3, center=False, tol=1e-11).fit(
        X, R
    )
    np.testing.assert_allclose(model.predict(X), twin.predict(X) @ functions + Y.mean(0), atol=1e-5)
    np.testing.assert_allclose(model.objective_, twin.objective_, rtol=1e-9)


def test_a_full_basis_is_the_exact_machine():
    """With as many eigenfunctions as times, the approximate dual is vector regression with the whole operator."""
    t, X, Y = curves(2, T=12)
    C = Gaussian(10.0)(t[:, None])
    w = quadrature_weights(t, 12)
    model = FunctionalKernelRegressor(basis=Gaussian(10.0), n_basis=12, loss="squared", reg=0.01).fit(X, Y)
    root = np.sqrt(w)
    exact = OperatorKernelRegressor(FunctionalLaplacian(), operator=root[:, None] * C * root, reg=0.01)
    exact.fit(X, Y * root)
    np.testing.assert_allclose(model.predict(X), exact.predict(X) / root, atol=1e-6)


def test_the_published_basis_has_plain_means():
    _, X, Y = curves(3)
    model = FunctionalKernelRegressor(
        basis="cosine_sine", center=False, n_basis=3, loss=Huber(0.3), reg=0.01, tol=1e-11
    ).fit(X, Y)
    functions, values = basis_functions("cosine_sine", 3, np.linspace(0, 1, 60), np.full(60, 1 / 60))
    R = Y @ functions.T / 60
    kernel = FunctionalLaplacian("median", None, "mean")
    twin = OperatorKernelRegressor(kernel, operator=np.diag(values), loss=Huber(0.3), reg=0.01, center=False, tol=1e-11)
    np.testing.assert_allclose(model.predict(X), twin.fit(X, R).predict(X) @ functions, atol=1e-5)


def test_leave_one_out_equals_refitting():
    _, X, Y = curves(4, n=8)
    kernel = FunctionalGaussian(2.0)
    model = FunctionalKernelRegressor(kernel, basis="fourier", n_basis=5, center=False, loss="squared")
    errors = model.loo_errors(X, Y, regs=[1e-1, 1e-3])
    w = quadrature_weights(None, 60)
    for reg, error in zip([1e-1, 1e-3], errors, strict=True):
        total = 0.0
        for i in range(8):
            kept = np.arange(8) != i
            model.set_params(reg=reg).fit(X[kept], Y[kept])
            total += ((Y[i] - model.predict(X[i : i + 1])[0]) ** 2) @ w
        np.testing.assert_allclose(error, total / 8, rtol=1e-8)


def test_huber_resists_spoilt_curves():
    _, X, Y = curves(5, n=40)
    clean = Y.copy()
    Y[::6] *= -4.0

    def error(loss):
        model = FunctionalKernelRegressor(FunctionalGaussian(1.0), n_basis=7, loss=loss, reg=1e-2).fit(X, Y)
        return ((model.predict(X) - clean) ** 2).mean()

    assert error(Huber(0.1)) < 0.7 * error("squared")


def test_irregular_times_and_fdatagrid():
    t = np.sort(np.random.default_rng(6).random(50))
    _, X, Y = curves(6, grid=t)
    fourier: dict[str, Any] = {"basis": "fourier", "n_basis": 5}
    given = FunctionalKernelRegressor(input_times=t, output_times=t, **fourier).fit(X, Y)

    def grid(values):
        return SimpleNamespace(data_matrix=values[:, :, None], grid_points=(t,))

    carried = FunctionalKernelRegressor(**fourier).fit(grid(X), grid(Y))
    np.testing.assert_array_equal(carried.predict(grid(X)), given.predict(X))
    even = FunctionalKernelRegressor(**fourier).fit(X, Y)
    assert np.abs(even.predict(X) - given.predict(X)).max() > 1e-3
    surface = SimpleNamespace(data_matrix=np.zeros((3, 4, 4, 1)), grid_points=(t, t))
    with pytest.raises(InputError, match="real functions of one variable"):
        FunctionalKernelRegressor().fit(surface, Y)


def test_path_of_curves():
    _, X, Y = curves(7)
    path = FunctionalKernelRegressor(n_basis=5).path(X, Y, losses=[Huber(0.1), Huber(1.0), Squared()])
    assert path.predict(X[:4]).shape == (3, 4, 60)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"basis": "wavelets"}, "basis must be one of 'fourier'"),
        ({"n_basis": 61}, "n_basis must be at most the number of times 60; got 61"),
        ({"n_basis": 0}, "n_basis must be an integer >= 1"),
        ({"output_times": np.arange(5.0)}, "times must be 60 finite, strictly increasing"),
        ({"input_times": np.zeros(60)}, "strictly increasing"),
        ({"kernel": FunctionalLaplacian(-1.0)}, r"FunctionalLaplacian.gamma must be > 0 or 'median'; got -1\.0"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, match):
    _, X, Y = curves(8)
    with pytest.raises(InputError, match=match):
        FunctionalKernelRegressor(**parameters).fit(X, Y)


def bent(seed: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    t, a = np.linspace(0.0, 1.0, 30), rng.normal(size=(n, 3))
    X = a @ np.stack([np.cos(np.pi * k * t) for k in (1, 2, 3)])
    Y = np.tanh(a) @ np.stack([np.sin(np.pi * k * t) for k in (1, 2, 3)])
    return X, Y + 0.05 * rng.normal(size=Y.shape)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_path_is_what_refits_give(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    A, U = rng.normal(size=(7, 5)), rng.normal(size=(7, 2))
    K, a, reg = A @ A.T, np.array([1.0, 0.3]), 0.2
    w = np.array([1, 3, 1, 1, 2, 1, 1]) / 10 if weighted else np.full(7, 1 / 7)
    given = torch.as_tensor(w) if weighted else None
    found, duals = next(left_out_path(*(torch.as_tensor(b) for b in (K, U, a)), [reg, 1.0], given))
    for j in range(2):
        G = a[j] * K + reg * np.diag(1 / w)
        np.testing.assert_allclose(duals[:, j].numpy(), np.linalg.solve(G, U[:, j]), rtol=1e-9)
        for i in range(7):
            rest = np.delete(np.arange(7), i)
            left = U[i, j] - a[j] * K[i, rest] @ np.linalg.solve(G[np.ix_(rest, rest)], U[rest, j])
            assert found[i, j].item() == pytest.approx(left, rel=1e-8)


@pytest.mark.sample(2)
@pytest.mark.parametrize("kernel", ["auto", "precomputed", Gaussian("median")], ids=str)
def test_wrong_curves_are_left_out_and_cost_nothing(kernel: Any) -> None:
    X, Y = bent(0)
    new, truth = bent(1)
    rows = np.vstack([X, new])
    K = Gaussian("median").resolve(torch.as_tensor(X))(rows, X) if kernel == "precomputed" else rows
    bad, wrong = np.array([3, 11, 40, 41, 50]), Y.copy()
    wrong[bad] += 20.0
    with pytest.warns(OutlierWarning, match="left 5 of 60 curves out of the fit, rows 3, 11, 40, 41, 50"):
        model = FunctionalKernelRegressor(kernel).fit(K[:60], wrong)
    assert np.flatnonzero(~model.inliers_).tolist() == bad.tolist()
    assert model.outlier_score_[bad].min() > 1.0 > model.outlier_score_[model.inliers_].max()
    weights = np.ones(60)
    weights[bad] = 0.0
    right = FunctionalKernelRegressor(kernel).fit(K[:60], wrong, sample_weight=weights)
    assert right.inliers_.sum() == 55
    assert right.outlier_score_[bad].min() > 1.0  # rows of weight zero are judged too
    np.testing.assert_allclose(model.predict(K[60:]), right.predict(K[60:]), atol=1e-8)
    error = ((model.predict(K[60:]) - truth) ** 2).mean()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = FunctionalKernelRegressor(kernel, trim=None).fit(K[:60], wrong)
    assert kept.inliers_.all()
    assert error < 0.05 * ((kept.predict(K[60:]) - truth) ** 2).mean()
    assert error < 0.1 * truth.var()


def test_right_curves_all_stay_and_the_choice_has_the_least_error() -> None:
    X, Y = bent(2)
    model = FunctionalKernelRegressor().fit(X, Y)
    assert model.inliers_.all()
    for name in ("functional_laplacian", "functional_gaussian"):
        other = FunctionalKernelRegressor(name).fit(X, Y)
        assert model.leave_one_out_error_ <= other.leave_one_out_error_
        fixed = FunctionalKernelRegressor(name, reg=1e-3).fit(X, Y)
        assert other.leave_one_out_error_ <= fixed.loo_errors(X, Y, regs=[1e-3])[0] * 1.02
        assert fixed.reg_ == 1e-3
        assert fixed.leave_one_out_error_ is None
        assert fixed.outlier_score_ is None


def test_a_few_far_curves_stay_where_the_others_lose_nothing_by_them() -> None:
    X, Y = bent(3)
    X[:2], Y[:2] = 4.0 * X[:2], 4.0 * Y[:2]  # far away, and right: a linear map has them
    Y = X @ np.linalg.lstsq(X, Y, rcond=1e-8)[0]
    assert FunctionalKernelRegressor().fit(X, Y).inliers_.all()


def test_weights_count_as_copies_in_the_choice() -> None:
    X, Y = bent(4, 30)
    Y[7] += 30.0
    weights = np.ones(30)
    weights[[3, 5]] = 2.0, 0.0
    order = np.array([i for i in range(30) if i != 5] + [3])
    with pytest.warns(OutlierWarning):
        weighted = FunctionalKernelRegressor().fit(X, Y, sample_weight=weights)
    with pytest.warns(OutlierWarning):
        copied = FunctionalKernelRegressor().fit(X[order], Y[order])
    assert weighted.reg_ == copied.reg_
    assert weighted.leave_one_out_error_ == pytest.approx(copied.leave_one_out_error_, rel=1e-9)
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), atol=1e-8)


@pytest.mark.parametrize("bad", [{"trim": 1.0}, {"trim": "far"}, {"reg": "best"}, {"reg": -1.0}])
def test_bad_options_of_the_choice(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        FunctionalKernelRegressor(**bad).fit(*bent(0, 10))


def integrals(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Smooth curves and their running integrals, which end elsewhere than they begin, with noise of variance 1e-4."""
    rng = np.random.default_rng(seed)
    t, a = np.linspace(0.0, 1.0, 40), rng.normal(size=(n, 4)) / np.arange(1, 5)
    X = a @ np.stack([np.cos(np.pi * k * t + k) for k in range(4)])
    Y = np.cumsum(X, axis=1) / 40
    return X, Y + 0.01 * rng.normal(size=Y.shape)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "given", [{}, {"trim": None}, {"reg": 1e-6, "loss": "squared", "kernel": "precomputed"}], ids=str
)
def test_the_default_basis_is_the_one_of_the_smaller_left_out_error(given: dict[str, Any]) -> None:
    X, Y = integrals(0)
    new, truth = integrals(1)
    if "kernel" in given:
        X, new = X @ X.T, new @ X.T
    found = {
        basis: FunctionalKernelRegressor(basis=basis, **given).fit(X, Y) for basis in ("auto", "fourier", "empirical")
    }
    errors = {basis: ((model.predict(new) - truth) ** 2).mean() for basis, model in found.items()}
    assert found["auto"].basis_ == "empirical"
    assert errors["auto"] < 1.2 * errors["empirical"] + 1e-12
    assert errors["auto"] < 0.3 * errors["fourier"]  # their span lacks 2 % of the variance


def test_fourier_functions_stay_where_empirical_ones_follow_wrong_curves() -> None:
    X, Y = curves(9, 40)[1:]
    Y[:4] += 50.0 * np.random.default_rng(0).normal(size=(4, 60))
    model = FunctionalKernelRegressor(reg=1e-3).fit(X, Y)
    assert model.basis_ == "fourier"
    regs = [1e-3, 1e-2]
    plain = FunctionalKernelRegressor(reg=1e-3, basis="fourier")
    np.testing.assert_array_equal(model.predict(X), plain.fit(X, Y).predict(X))
    np.testing.assert_array_equal(model.loo_errors(X, Y, regs=regs), plain.loo_errors(X, Y, regs=regs))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("kernel", "loss", "factor_in", "factor_out"),
    [
        ("functional_laplacian", "huber", 3600.0, 1.0),
        ("auto", "squared", 3600.0, 1.0),
        ("functional_gaussian", "huber", 1.0, 1.0),
        ("functional_gaussian", "epsilon_insensitive", 1.0, 3600.0**-0.5),
    ],
)
def test_a_given_reg_follows_the_unit_of_time_as_the_notes_say(
    kernel: str, loss: str, factor_in: float, factor_out: float
) -> None:
    rng, hours = np.random.default_rng(0), np.linspace(0.0, 2.0, 30)
    phases = rng.uniform(0.0, 3.0, (25, 1))
    X, Y = np.sin(2.0 * hours + phases), np.cos(2.0 * hours + phases) + 0.1 * rng.normal(size=(25, 30))

    def predicted(unit_in: float, unit_out: float, reg: float) -> np.ndarray:
        times = {"input_times": unit_in * hours, "output_times": unit_out * hours}
        in_units = EpsilonInsensitive(0.1 * unit_out**0.5) if loss == "epsilon_insensitive" else loss
        options = {"kernel": kernel, "loss": in_units, "basis": "fourier", "n_basis": 7, "tol": 1e-12, "max_iter": 5000}
        return np.asarray(FunctionalKernelRegressor(reg=reg, **options, **times).fit(X, Y).predict(X))

    expected = predicted(1.0, 1.0, 1e-2)
    np.testing.assert_allclose(predicted(3600.0, 1.0, factor_in * 1e-2), expected, atol=1e-5)
    np.testing.assert_allclose(predicted(1.0, 3600.0, factor_out * 1e-2), expected, atol=1e-5)
    other = predicted(3600.0, 3600.0, 1e-2)
    assert (np.abs(other - expected).max() > 1e-3) == (factor_in * factor_out != 1.0)
