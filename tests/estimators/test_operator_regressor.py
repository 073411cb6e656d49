"""Vector-valued regression: equalities with known machines, certificates, paths, cross-validation, bad input."""

import warnings

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold

from rkhs import FunctionalKernelRegressor, OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs._core.errors import EdgeWarning, InputError, OverfitWarning
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian, Linear, Separable, Spectrum
from rkhs.losses import EpsilonInsensitive, Huber, MaximumMargin, Power, Squared, SquaredEpsilonInsensitive
from rkhs.solvers import FISTA

LOSSES = [Squared(), SquaredEpsilonInsensitive(0.2), EpsilonInsensitive(0.2), Huber(0.3)]


def data(seed, n=40, d=2, q=3):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, d))
    Y = np.sin(2 * X @ r.normal(size=(d, q))) + 0.1 * r.standard_t(2, size=(n, q)) + 1.0
    return X, Y


def test_squared_loss_is_kernel_ridge():
    X, Y = data(0)
    model = OperatorKernelRegressor(Gaussian(0.7), reg=0.01, center=False).fit(X, Y)
    ridge = KernelRidge(kernel="rbf", gamma=0.7, alpha=0.01 * len(X)).fit(X, Y)
    np.testing.assert_allclose(model.predict(X + 0.1), ridge.predict(X + 0.1), rtol=1e-9, atol=1e-11)
    assert model.gap_ <= 1e-14


def test_linear_kernel_without_regularisation_is_least_squares():
    X, Y = data(1)
    centred = X - X.mean(0)
    model = OperatorKernelRegressor(Linear(), reg=1e-7).fit(centred, Y)
    np.testing.assert_allclose(model.predict(centred), LinearRegression().fit(centred, Y).predict(centred), atol=1e-5)


def far_rows(n=300, d=4):
    r = np.random.default_rng(7)
    X, slopes = 100.0 + r.normal(size=(2 * n, d)), r.normal(size=d)
    y = 5.0 + X @ slopes
    return X[:n], y[:n] + 0.1 * r.normal(size=n), X[n:], y[n:] + 0.1 * r.normal(size=n)


@pytest.mark.parametrize(
    "options",
    [{}, {"storage": Nystroem(20)}, {"sparse": True}, {"weights": True}, {"kernel": 0.5 * (Linear() + Linear())}],
    ids=str,
)
def test_the_intercept_of_a_linear_kernel_is_not_penalised(options):
    """Ridge regression of scikit-learn has a free intercept, so it does not matter how far the rows are from zero."""
    X, y, X_new, _ = far_rows()
    options = dict(options)
    weights = np.random.default_rng(0).integers(0, 3, len(y)) if options.pop("weights", False) else None
    read = csr_array if options.pop("sparse", False) else np.asarray
    model = OperatorKernelRegressor(options.pop("kernel", Linear()), reg=0.01, **options)
    model.fit(read(X), y, sample_weight=weights)
    total = len(y) if weights is None else weights.sum()
    ridge = Ridge(alpha=0.01 * total).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(read(X_new)), ridge.predict(X_new), atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_it_does_not_matter_how_far_rows_of_a_linear_kernel_are_from_zero(loss):
    X, y, X_new, _ = far_rows(60)
    for make in (
        OperatorKernelRegressor(Linear(), loss=loss, reg=1e-3),
        OperatorKernelRegressorCV(Linear(), loss=loss),
    ):
        far = clone(make).fit(X, y).predict(X_new)
        np.testing.assert_allclose(far, clone(make).fit(X - 100.0, y).predict(X_new - 100.0), atol=2e-3)


def test_a_linear_kernel_with_an_origin_keeps_it():
    X, y, _, _ = far_rows()
    model = OperatorKernelRegressor(Linear(offset=np.zeros(4)), reg=1e-4).fit(X, y)
    ridge = KernelRidge(kernel="linear", alpha=1e-4 * len(y)).fit(X, y - y.mean())
    np.testing.assert_allclose(model.predict(X), ridge.predict(X) + y.mean(), rtol=1e-5)


def test_sets_around_a_free_intercept_hold_what_they_should():
    X, y, X_new, y_new = far_rows()
    sets = OperatorKernelRegressor(Linear(), reg=1e-4).fit(X, y).predict_set(X_new, coverage=0.9)
    assert sets.guarantee == "at least"
    assert 0.85 <= sets.contains(y_new).mean() <= 0.95
    near = OperatorKernelRegressor(Linear(), reg=1e-4).fit(X - 100.0, y).predict_set(X_new - 100.0, coverage=0.9)
    np.testing.assert_allclose(sets.upper - sets.lower, near.upper - near.lower, rtol=1e-6)


@pytest.mark.sample(6)
@pytest.mark.parametrize("loss", [*LOSSES, Power(1.5), MaximumMargin()], ids=repr)
@pytest.mark.parametrize("solver", ["auto", "fista"])
def test_results_carry_their_certificates(loss, solver):
    X, Y = data(2)
    if solver == "auto" or isinstance(loss, Power):
        model = OperatorKernelRegressor(loss=loss, reg=0.05, tol=1e-8).fit(X, Y)
    else:
        model = OperatorKernelRegressor(loss=loss, reg=0.05, tol=1e-8, solver=FISTA(tol=1e-8)).fit(X, Y)
    assert model.converged_
    np.testing.assert_allclose(model.certificates_.mean(), model.gap_, rtol=1e-6, atol=1e-16)
    assert model.certificates_.min() >= -1e-14
    H = torch.from_numpy(model.predict(X))
    value = float(loss.bind(torch.from_numpy(Y - model.output_.mean)).value(H - torch.from_numpy(Y)).mean())
    norm = float(np.sum(model.dual_coef_ * (H.numpy() - model.output_.mean)))
    np.testing.assert_allclose(value + 0.05 / 2 * norm, model.objective_, rtol=1e-9)
    assert set(model.saturated_) <= set(model.support_)
    assert len(model.kkt_residuals_) == len(X)


def test_robust_losses_resist_what_ridge_does_not():
    r = np.random.default_rng(3)
    X = np.linspace(0, 3, 60)[:, None]
    clean = np.hstack([np.sin(X), np.cos(X)])
    Y = clean + 0.02 * r.normal(size=clean.shape)
    Y[::8] += 6.0

    def errors(loss):
        return np.abs(OperatorKernelRegressor(Gaussian(1.0), loss=loss, reg=1e-3).fit(X, Y).predict(X) - clean).mean()

    ridge = errors("squared")
    assert errors(Huber(0.05)) < 0.35 * ridge
    assert errors(EpsilonInsensitive(0.02)) < 0.35 * ridge


@pytest.mark.sample(2)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_sums_operators_and_outputs_in_any_basis(loss):
    X, Y = data(4, q=2)
    A, B = np.array([[2.0, 0.5], [0.5, 1.0]]), np.diag([0.2, 3.0])
    pairs = OperatorKernelRegressor([("gaussian", A), (Linear(), B)], loss=loss, reg=0.1, tol=1e-10).fit(X, Y)
    summed = Separable(Gaussian(), A) + Separable(Linear(), B)
    same = OperatorKernelRegressor(summed, loss=loss, reg=0.1, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(pairs.predict(X), same.predict(X))
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    turned = OperatorKernelRegressor(
        [("gaussian", Q.T @ A @ Q), (Linear(), Q.T @ B @ Q)], loss=loss, reg=0.1, tol=1e-10
    )
    np.testing.assert_allclose(turned.fit(X, Y @ Q).predict(X), pairs.predict(X) @ Q, atol=2e-4)


def test_learned_operator_is_the_covariance():
    X, Y = data(5)
    C = np.cov(Y.T, bias=True)
    C /= np.linalg.eigvalsh(C).max()
    learned = OperatorKernelRegressor(operator="covariance", loss=Huber(0.4), reg=0.1, tol=1e-11).fit(X, Y)
    given = OperatorKernelRegressor(operator=C, loss=Huber(0.4), reg=0.1, tol=1e-11).fit(X, Y)
    np.testing.assert_allclose(learned.predict(X), given.predict(X), atol=1e-5)


def test_more_outputs_than_samples_cost_no_more_than_samples():
    r = np.random.default_rng(6)
    X, Y = r.normal(size=(12, 2)), r.normal(size=(12, 100))
    model = OperatorKernelRegressor(reg=0.01, center=False).fit(X, Y)
    assert model.dual_coef_.shape == (12, 12)
    ridge = KernelRidge(kernel="precomputed", alpha=0.12).fit(model.kernel_.kernel(X), Y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(model.kernel_.kernel(X)), atol=1e-10)
    wild = np.diag(np.arange(100.0))
    with pytest.raises(InputError, match="assumption 3"):
        OperatorKernelRegressor(operator=wild).fit(X, Y)
    OperatorKernelRegressor(operator="covariance").fit(X, Y)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weights_are_repetitions(loss):
    X, Y = data(7, n=15)
    counts = np.random.default_rng(1).integers(0, 4, size=15)
    weighted = OperatorKernelRegressor(Gaussian(0.5), loss=loss, reg=0.1, tol=1e-11).fit(X, Y, sample_weight=counts)
    rows = np.repeat(np.arange(15), counts)
    repeated = OperatorKernelRegressor(Gaussian(0.5), loss=loss, reg=0.1, tol=1e-11).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


def test_gram_objects_and_vectors_give_one_machine():
    X, Y = data(8)
    kernel = Gaussian(0.6)
    plain = OperatorKernelRegressor(kernel, loss=Huber(0.3)).fit(X, Y)
    gram = OperatorKernelRegressor("precomputed", loss=Huber(0.3)).fit(kernel(X), Y)
    new = X[:5] + 0.2
    np.testing.assert_allclose(gram.predict(kernel(new, X)), plain.predict(new), atol=1e-9)
    lists = OperatorKernelRegressor(lambda a, b: float(np.exp(-0.6 * np.sum((a - b) ** 2))), loss=Huber(0.3))
    np.testing.assert_allclose(lists.fit(list(X), Y).predict(list(new)), plain.predict(new), atol=1e-6)


def test_shapes_dtypes_and_tensors():
    X, Y = data(9)
    vector = OperatorKernelRegressor().fit(X, Y[:, 0])
    assert vector.predict(X).shape == (40,)
    assert OperatorKernelRegressor().fit(X, Y[:, :1]).predict(X).shape == (40, 1)
    single = OperatorKernelRegressor(dtype="float32", loss="huber", tol=1e-4).fit(X.astype(np.float32), Y)
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    assert isinstance(vector.predict(torch.from_numpy(X)), torch.Tensor)
    assert vector.score(X, Y[:, 0]) > 0.5


def test_path_equals_single_fits():
    X, Y = data(10)
    model = OperatorKernelRegressor(Gaussian(0.5), operator="covariance", tol=1e-10)
    path = model.path(X, Y, regs=[1e-1, 1e-3], losses=LOSSES)
    assert len(path) == 8
    predictions = path.predict(X[:7])
    assert predictions.shape == (8, 7, 3)
    assert bool((path.gaps <= 1e-9).all())
    for s, (reg, loss) in enumerate((reg, loss) for reg in (1e-1, 1e-3) for loss in LOSSES):
        alone = OperatorKernelRegressor(Gaussian(0.5), operator="covariance", loss=loss, reg=reg, tol=1e-10).fit(X, Y)
        np.testing.assert_allclose(predictions[s], alone.predict(X[:7]), atol=2e-3)
        np.testing.assert_allclose(path.objectives[s], alone.objective_, rtol=1e-8)
        assert abs(int(path.n_support[s]) - len(alone.support_)) <= 1
    errors = path.mean_squared_errors(X, Y)
    np.testing.assert_allclose(errors[0], ((path.predict(X)[0] - Y) ** 2).mean())


@pytest.mark.sample(2)
@pytest.mark.parametrize("loss", ["squared", "huber", "epsilon_insensitive"])
def test_cross_validation_is_what_it_says(loss):
    X, Y = data(11, n=24)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=24)
    extra = {"huber": {"kappas": [0.1, 1.0]}, "epsilon_insensitive": {"epsilons": [0.05, 0.5]}}.get(loss, {})
    cv = KFold(4, shuffle=True, random_state=0)
    model = OperatorKernelRegressorCV(
        Gaussian(1.0), loss=loss, regs=[1e-3, 1e-1], gammas=[0.2, 2.0], cv=cv, tol=1e-10, criterion="squared", **extra
    ).fit(X, Y, sample_weight=weights)
    assert model.cv_errors_.shape == (2, 2, len(model.losses_), 4)
    train, test = list(cv.split(X))[2]
    refit = OperatorKernelRegressor(Gaussian(2.0), loss=model.losses_[-1], reg=1e-3, tol=1e-10)
    left = Y[test] - refit.fit(X[train], Y[train], sample_weight=weights[train]).predict(X[test])
    expected = np.average((left**2).sum(1), weights=weights[test])
    np.testing.assert_allclose(model.cv_errors_[1, 0, -1, 2], expected, rtol=1e-3)
    best = np.unravel_index(model.cv_errors_.mean(-1).argmin(), (2, 2, len(model.losses_)))
    assert (model.gamma_, model.reg_) == ([0.2, 2.0][best[0]], [1e-3, 1e-1][best[1]])
    assert model.loss_ == model.losses_[best[2]]
    chosen = OperatorKernelRegressor(Gaussian(model.gamma_), loss=model.loss_, reg=model.reg_, tol=1e-10)
    np.testing.assert_allclose(model.predict(X), chosen.fit(X, Y, weights).predict(X), atol=1e-6)


def test_a_choice_at_an_open_end_is_warned_of():
    X, Y = data(12, n=24)
    with pytest.warns(EdgeWarning, match="reg=0.1 is the first that was compared.* compare values beyond it, in regs"):
        model = OperatorKernelRegressorCV(Gaussian(1.0), regs=[1e-1, 10.0, 1e3], cv=3).fit(X, Y)
    assert model.at_edge_ == {"reg": "first"}
    assert OperatorKernelRegressorCV(Gaussian(1.0), regs=[1e-6, 1e-1, 10.0], cv=3).fit(X, Y).at_edge_ == {}


@pytest.mark.usefixtures("all_candidates")
def test_the_norm_criterion_and_default_grids():
    X, Y = data(12, n=15)
    model = OperatorKernelRegressorCV(loss="huber", cv=KFold(3)).fit(X, Y)
    assert (model.criterion_, OperatorKernelRegressorCV(cv=3).fit(X, Y).criterion_) == ("norm", "squared")
    assert model.cv_errors_.shape == (2, 8, 5, 3)
    (train, test), g = list(KFold(3).split(X))[1], ["0.25*median", "median"].index(model.gamma_)
    bandwidth = Gaussian(model.gamma_).resolve(torch.from_numpy(X))  # that of all rows
    refit = OperatorKernelRegressor(bandwidth, loss=model.losses_[2], reg=float(model.regs_[g, 3])).fit(
        X[train], Y[train]
    )
    expected = np.linalg.norm(refit.predict(X[test]) - Y[test], axis=1).mean()
    np.testing.assert_allclose(model.cv_errors_[g, 3, 2, 1], expected, rtol=1e-2)
    assert model.gamma_ in ("0.25*median", "median")
    size = np.sqrt(((Y - Y.mean(0)) ** 2).sum(1).mean())
    np.testing.assert_allclose([loss.kappa for loss in model.losses_], size * np.array([0.03, 0.1, 0.3, 0.6, 1.0]))


@pytest.mark.usefixtures("all_candidates")
def test_default_regularisers_are_shares_of_the_variance_of_the_features():
    X, Y = data(12, n=24)
    default = OperatorKernelRegressorCV(cv=3).fit(X, Y)
    for gamma, regs in zip(("0.25*median", "median"), default.regs_, strict=True):
        K = Gaussian(gamma)(X)
        np.testing.assert_allclose(regs, (K.trace() / 24 - K.mean()) * 10.0 ** np.arange(-6.0, 2.0), rtol=1e-9)
    assert default.reg_ == default.regs_[np.unravel_index(default.cv_errors_.mean(-1).argmin(), (2, 8, 1))[:2]]
    assert default.estimator_.kernel_.kernel == Gaussian(default.gamma_).resolve(torch.from_numpy(X))
    far = OperatorKernelRegressorCV("linear", cv=3).fit(1e4 * X, Y)  # another unit
    near = OperatorKernelRegressorCV("linear", cv=3).fit(X, Y)
    np.testing.assert_allclose(far.predict(1e4 * X), near.predict(X), rtol=1e-6, atol=1e-6)
    whole = OperatorKernelRegressorCV("linear", cv=3, center=False).fit(X, Y)
    np.testing.assert_allclose(whole.regs_[0, -1], 10.0 * (X**2).sum(1).mean())
    assert OperatorKernelRegressorCV(Gaussian(0.3), cv=3).fit(X, Y).gamma_ is None
    assert OperatorKernelRegressorCV(gammas=None, cv=3).fit(X, Y).cv_errors_.shape[0] == 1
    with pytest.raises(InputError, match="gammas must be a sequence"):
        OperatorKernelRegressorCV(gammas="median").fit(X, Y)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_the_smallest_regularisers_have_certificates(loss):
    X, Y = data(5, n=10)
    model = OperatorKernelRegressor(loss=loss, reg=1e-300, max_iter=50).fit(X, Y)
    assert np.isfinite(model.kkt_residuals_).all()
    assert model.kkt_residuals_.max() < 1e-6


def test_targets_of_other_outputs_have_no_score():
    X, Y = data(5)
    for model in (OperatorKernelRegressor().fit(X, Y), OperatorKernelRegressorCV(cv=2).fit(X, Y)):
        with pytest.raises(InputError, match="y must have 3 columns, one per output of the model; got 1"):
            model.score(X, Y[:, 0])


def test_a_learned_operator_has_no_unit():
    X, Y = data(5)
    models = [OperatorKernelRegressor(operator="covariance", loss="huber", tol=1e-10) for _ in range(2)]
    near, far = (model.fit(X, unit * Y).predict(X) for model, unit in zip(models, (1.0, 64.0), strict=True))
    np.testing.assert_allclose(far, 64.0 * near, rtol=1e-4, atol=1e-3)


def test_running_out_of_iterations_warns():
    X, Y = data(13)
    with pytest.warns(ConvergenceWarning, match="largest number of iterations"):
        OperatorKernelRegressor(loss="epsilon_insensitive", reg=1e-6, max_iter=2, tol=1e-12).fit(X, Y)


BAD = [
    ({"reg": 0.0}, r"reg must be > 0 or 'auto'; got 0\.0"),
    ({"reg": "small"}, "reg must be > 0 or 'auto'; got 'small'"),
    ({"tol": -1.0, "loss": "huber"}, r"tol must be >= 0; got -1\.0"),
    ({"max_iter": 0, "loss": "huber"}, "max_iter must be an integer >= 1; got 0"),
    ({"loss": "absolute"}, "loss must be one of 'squared'"),
    ({"loss": Huber(-1.0)}, r"Huber.kappa must be > 0; got -1\.0"),
    ({"solver": "newton"}, "solver must be one of 'auto', 'admm'"),
    ({"solver": "direct", "loss": "huber"}, "Direct solves the squared loss only"),
    ({"operator": "identity"}, "operator must be None .the identity., 'covariance'"),
    ({"operator": np.eye(2)}, r"shape \(3, 3\); got \(2, 2\)"),
    ({"operator": -np.eye(3)}, "positive semi-definite"),
    ({"kernel": [("gaussian", None, 1)]}, "list of pairs"),
    ({"kernel": [("gaussian", None)], "operator": "covariance"}, "operator must be None with"),
    ({"kernel": [("gaussian", np.diag([1, 2, 3.0])), ("linear", None)], "solver": "admm"}, "no common eigenbasis"),
]


@pytest.mark.parametrize(("parameters", "match"), BAD, ids=str)
def test_bad_parameters_are_named(parameters, match):
    X, Y = data(14)
    with pytest.raises(InputError, match=match):
        OperatorKernelRegressor(**parameters).fit(X, Y)


def test_bad_data_are_refused():
    X, Y = data(15)
    model = OperatorKernelRegressor()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, Y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        OperatorKernelRegressor(loss="huber").fit(X, np.where(Y > 1.5, np.nan, Y))
    with pytest.raises(InputError, match=r"y must have shape \(n,\) or \(n, q\)"):
        model.fit(X, Y[:, :, None])
    with pytest.raises(InputError, match="sample_weight must not be negative"):
        model.fit(X, Y, sample_weight=-np.ones(40))
    with pytest.raises(InputError, match="square Gram matrix"):
        OperatorKernelRegressor("precomputed").fit(X, Y)
    with pytest.raises(InputError, match="losses must hold losses"):
        model.path(X, Y, losses=["huber"])
    with pytest.raises(InputError, match="regs must be > 0"):
        model.path(X, Y, regs=[0.1, -1.0])
    for parameters, match in [
        ({"regs": []}, "regs must be a sequence of"),
        ({"loss": "huber", "epsilons": [0.1]}, "takes kappas only"),
        ({"kappas": [0.1]}, "epsilons and kappas must be None"),
        ({"loss": "huber", "kappas": [0.0]}, "Huber.kappa must be > 0"),
        ({"kernel": "linear", "gammas": [1.0]}, "gammas must"),
        ({"criterion": "median"}, "criterion must be one of"),
    ]:
        with pytest.raises(InputError, match=match):
            OperatorKernelRegressorCV(**parameters).fit(X, Y)


def test_paths_and_leave_one_out_leave_a_fitted_machine_as_it_is() -> None:
    X, Y = data(20)
    other = 3.0 + 2.0 * X
    model = OperatorKernelRegressor(loss="huber", columns="scaled").fit(X, Y)
    before = model.predict(X)
    model.path(other, Y + 5.0, regs=[1e-2, 1e-1])
    np.testing.assert_array_equal(model.predict(X), before)
    curves = FunctionalKernelRegressor(n_basis=3).fit(X, Y)
    before = curves.predict(X)
    curves.loo_errors(other, Y + 5.0, regs=[1e-2])
    np.testing.assert_array_equal(curves.predict(X), before)


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore::rkhs.errors.OverfitWarning")  # of few rows
@pytest.mark.parametrize(("operator", "center"), [(None, True), (None, False), (np.diag([1.0, 0.4, 0.1]), True)])
def test_leaving_rows_out_in_turn_is_what_refits_give(operator, center):
    X, Y = data(11, n=16)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=16)
    weights[3] = 0.0
    options = {"operator": operator, "regs": [1e-3, 1e-1], "gammas": [0.2, 2.0], "center": center}
    model = OperatorKernelRegressorCV(Gaussian(1.0), **options).fit(X, Y, sample_weight=weights)
    given = np.delete(np.arange(16), 3)
    parts = [(np.delete(given, i), given[i : i + 1]) for i in range(15)]
    twin = OperatorKernelRegressorCV(Gaussian(1.0), cv=parts, **options).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(model.cv_errors_, twin.cv_errors_, rtol=1e-6)
    mean = model.cv_errors_ @ (weights[given] / weights.sum())
    assert model.best_score_ == pytest.approx(-mean.min())


@pytest.mark.parametrize("loss", ["squared", pytest.param("huber", marks=pytest.mark.slow)])
def test_the_order_of_the_rows_says_nothing(loss):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-3.0, 3.0, (80, 1)), axis=0)  # rows sorted by likeness
    Y = np.sin(4.0 * X) + 0.1 * rng.normal(size=X.shape)
    order = rng.permutation(80)
    regs = [
        OperatorKernelRegressorCV(Gaussian(4.0), loss=loss).fit(X[rows], Y[rows]).reg_
        for rows in (np.arange(80), order)
    ]
    assert max(regs) < 11 * min(regs)
    assert max(regs) < 1e-3  # contiguous folds take 0.05
    first, again, other = (
        OperatorKernelRegressorCV(Gaussian(4.0), cv=5, random_state=seed).fit(X, Y).cv_errors_ for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_number_of_a_loss_is_kept():
    X, Y = data(12, n=24)
    model = OperatorKernelRegressorCV(loss=Huber(0.3), cv=3).fit(X, Y)
    assert model.losses_ == [Huber(0.3)]
    assert model.loss_ == Huber(0.3)
    with pytest.raises(InputError, match=r"kappas must be None with loss=Huber\(kappa=0.3\), which has a number"):
        OperatorKernelRegressorCV(loss=Huber(0.3), kappas=[0.1]).fit(X, Y)


def test_the_chosen_machine_takes_the_gram_matrix_of_the_choice(monkeypatch) -> None:
    calls = []
    for name in ("_features", "_from_features"):
        original = getattr(Spectrum, name)
        monkeypatch.setattr(
            Spectrum, name, lambda *parts, name=name, original=original: (calls.append(name), original(*parts))[1]
        )
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), size=12)) for _ in range(20)]
    y = [text.count("A") for text in X]
    chosen = OperatorKernelRegressorCV(Spectrum(2)).fit(X, y)
    assert calls == ["_features", "_from_features"]
    np.testing.assert_array_equal(
        chosen.predict(X), OperatorKernelRegressor(Spectrum(2), reg=chosen.reg_).fit(X, y).predict(X)
    )


@pytest.mark.filterwarnings("ignore::rkhs.errors.EdgeWarning")
@pytest.mark.parametrize("model", [OperatorKernelRegressor(), OperatorKernelRegressorCV(regs=[1e-9, 1e-8])])
def test_a_fit_that_follows_its_rows_and_predicts_no_others_is_named(model):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    with pytest.warns(OverfitWarning, match=r"predicted hardly better than by the mean .* much better \(0.00\)"):
        model.set_params(kernel=Gaussian(30.0)).fit(X, y)
    assert "_held_out" not in vars(model)


def test_nested_residuals_are_of_settings_that_other_rows_choose() -> None:
    rng = np.random.default_rng(5)
    X, regs = rng.normal(size=(20, 2)), np.logspace(-3.0, 0.5, 15)
    Y = np.sin(2.0 * X) + 0.5 * rng.normal(size=(20, 2))
    K, i = Gaussian(1.0)(X, X), np.arange(20)
    model = OperatorKernelRegressorCV("precomputed", regs=regs).fit(K, Y)
    found, chosen = model.nested_residuals(K, Y), set()
    for part in np.array_split(np.random.default_rng(0).permutation(20), 10):
        rest = np.setdiff1d(i, part)
        reg = OperatorKernelRegressorCV("precomputed", regs=regs).fit(K[np.ix_(rest, rest)], Y[rest]).reg_
        chosen.add(reg)
        for row in part:
            others = np.delete(i, row)
            machine = OperatorKernelRegressor("precomputed", reg=reg).fit(K[np.ix_(others, others)], Y[others])
            np.testing.assert_allclose(found[row], Y[row] - machine.predict(K[[row]][:, others])[0], atol=1e-6)
    assert len(chosen) > 1
    twice = np.r_[i, i]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copied = OperatorKernelRegressorCV("precomputed", regs=regs).fit(K[np.ix_(twice, twice)], Y[twice])
    np.testing.assert_allclose(copied.nested_residuals(K[np.ix_(twice, twice)], Y[twice])[20:], found, atol=1e-6)


def test_the_choice_of_settings_does_not_flatter_nested_errors() -> None:
    """Against the errors on new rows: the smallest left-out error is too good, the nested one is right on average."""
    best, nested, true = [], [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(330, 6))
        y = np.sin(2.0 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=330)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = OperatorKernelRegressorCV("gaussian").fit(X[:30], y[:30])
        found = model.nested_residuals(X[:30], y[:30])
        assert found is not None
        best.append(-model.best_score_)
        nested.append((found**2).mean())
        true.append(((model.predict(X[30:]) - y[30:]) ** 2).mean())
    assert np.mean(best) < 0.85 * np.mean(true)
    assert np.mean(nested) == pytest.approx(np.mean(true), rel=0.1)
