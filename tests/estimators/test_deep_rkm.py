"""DeepRKM: kernel PCA for one layer, starts, constraints, solvers, bandwidths, refusals.

Codes of new items are in ``test_deep_rkm_encoding.py``, the way back in ``test_deep_rkm_denoising.py``.
"""

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils.estimator_checks import check_estimator

from rkhs._core.errors import InputError
from rkhs.estimators import DeepRKM, KernelPCA
from rkhs.estimators.drkm.machine import layer_value
from rkhs.kernels import Gaussian, Matern, Polynomial
from rkhs.kernels.base import Kernel
from rkhs.solvers import ProjectedGradient
from rkhs.solvers.registry import STIEFEL_SOLVERS
from tests.estimators.unfinished_fits import fit_once

X = load_iris().data[::2]
NEW = load_iris().data[1::2]


class Text(Kernel):
    """Strings by the letters they share."""

    def _gram(self, X, Y=None):
        Y = X if Y is None else Y
        rows = [[float(len(set(a) & set(b))) for b in Y] for a in X]
        return torch.tensor(rows, dtype=torch.float64)

    def _diag(self, X):
        return torch.tensor([float(len(set(a))) for a in X], dtype=torch.float64)


def centre(K):
    return K - K.mean(0) - K.mean(1)[:, None] + K.mean()


@pytest.mark.parametrize("center", [True, False])
def test_one_layer_is_kernel_pca(center):
    model = DeepRKM(3, kernel=Gaussian(0.3), center=center, eta=0.5, out_of_sample="block").fit(X)
    pca = KernelPCA(3, kernel=Gaussian(0.3), center=center).fit(X)
    assert model.objective_ == pytest.approx(-pca.eigenvalues_.sum(), rel=1e-9)
    assert np.allclose(model.layer_values_[0], pca.eigenvalues_)
    roots = np.sqrt(pca.eigenvalues_)
    assert np.allclose(np.abs(model.codes_ * roots), np.abs(pca.codes_), atol=1e-6)
    assert np.allclose(np.abs(model.transform(NEW) * roots), np.abs(pca.transform(NEW)), atol=1e-5)


def test_top_layer_identity_at_a_stationary_point():
    """h_L = M_L^-1 (H_L^T k - (H_<L^T K H_L)^T h_<L) holds in sample at every stationary point."""
    model = DeepRKM((3, 2), kernel=Gaussian(0.3), tol=1e-10, max_iter=3000).fit(X)
    H1, H2 = model.layer_codes_
    K = centre(model.decoder_kernels_[0](model.model_.scale * H1))
    right = K @ H2 - H1 @ (H1.T @ K @ H2)
    assert np.allclose(np.linalg.solve(H2.T @ K @ H2, right.T).T, H2, atol=1e-4)


def test_fitted_codes_are_feasible_canonical_and_start_independent():
    kpca = DeepRKM((3, 2), tol=1e-9).fit(X)
    random = DeepRKM((3, 2), tol=1e-9, init="random", random_state=0, out_of_sample="paper").fit(X)
    assert kpca.infeasibility_ < 1e-12
    assert random.objective_ == pytest.approx(kpca.objective_, rel=3e-2)  # another local optimum, not a lower one
    assert kpca.objective_ <= random.objective_ + 1e-6
    for H in kpca.layer_codes_:
        assert (H[np.abs(H).argmax(0), np.arange(H.shape[1])] > 0).all()
    assert all((np.diff(values) <= 0).all() for values in kpca.layer_values_)


def test_deterministic_start_has_no_variance():
    fits = [DeepRKM((3, 2), random_state=seed, tol=1e-3).fit(X[::2]).codes_ for seed in range(3)]
    assert np.array_equal(fits[0], fits[1])
    assert np.array_equal(fits[0], fits[2])


def test_eta_scale_and_weight():
    a = DeepRKM((3, 2), eta=(1.0, 2.0)).fit(X)
    b = DeepRKM((3, 2), eta=(3.0, 6.0)).fit(X)
    assert a.objective_ == pytest.approx(3 * b.objective_, rel=1e-6)
    heavy = DeepRKM((3, 2), eta=(1.0, 0.1)).fit(X)  # the paper's gamma = 10: more weight on layer 2
    assert heavy.layer_values_[1].sum() > a.layer_values_[1].sum()
    assert heavy.layer_values_[0].sum() < a.layer_values_[0].sum()


LONG = ("cayley_adam", "penalty_adam", "penalty_lbfgs")


@pytest.mark.parametrize(
    "solver",
    [
        *(pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in STIEFEL_SOLVERS),
        ProjectedGradient(tol=1e-6),
    ],
)
def test_every_solver_by_name(solver):
    best = fit_once(DeepRKM((3, 2), kernel=Gaussian(0.3)), X).objective_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model = DeepRKM((3, 2), kernel=Gaussian(0.3), solver=solver, max_iter=200).fit(X)
    assert model.infeasibility_ < 1e-12
    # The rates of the first two are for long runs; the penalty method may end in another local optimum.
    rel = 0.5 if solver in ("cayley_adam", "penalty_adam") else 2e-2 if solver == "penalty_lbfgs" else 1e-3
    assert model.objective_ == pytest.approx(best, rel=rel)


def test_gram_matrix_and_vectors_agree():
    kernel = Gaussian(0.4)
    by_data = DeepRKM((3, 2), kernel=kernel).fit(X)
    by_gram = DeepRKM((3, 2), kernel="precomputed").fit(kernel(X))
    assert np.allclose(by_gram.codes_, by_data.codes_, atol=1e-7)
    assert np.allclose(by_gram.transform(kernel(NEW, X)), by_data.transform(NEW), atol=1e-4)
    weights = by_gram.inverse_transform(by_gram.transform(kernel(NEW, X)))
    assert weights.shape == (75, 75)
    assert np.allclose(weights.sum(1), 1.0)


def test_objects():
    words = ["abc", "abd", "bcd", "xyz", "xyw", "yzw", "ab", "xw", "abcd", "wxyz"]
    model = DeepRKM((2, 1), kernel=Text()).fit(words)
    assert model.transform(["abcz", "wx"]).shape == (2, 3)
    assert model.denoise(["abcz"]).shape == (1, 10)


@pytest.mark.slow
def test_joint_bandwidths_decrease_the_objective_in_the_box():
    kernels = {"kernel": Gaussian(0.3), "decoder_kernel": Matern(1.5, 0.5)}
    fixed = DeepRKM((3, 2), **kernels).fit(X)
    joint = DeepRKM((3, 2), bandwidths="joint", **kernels).fit(X)
    assert joint.objective_ < fixed.objective_
    for found, start in ((joint.kernel_.gamma, 0.3), (joint.decoder_kernels_[0].gamma, 0.5)):
        assert start / 10.001 <= found <= start * 10.001
    values = [
        layer_value(Gaussian(joint.kernel_.gamma * t), torch.tensor(X), torch.tensor(joint.layer_codes_[0]), 1.0, True)
        for t in (0.9, 1.0, 1.1)
    ]
    assert values[1] <= min(values) + 1e-6 * abs(values[1])
    # Uncentred, the spurious minimum: the bandwidth runs to the end of the box.
    spurious = DeepRKM(2, kernel=Gaussian(0.3), center=False, bandwidths="joint").fit(X)
    assert spurious.kernel_.gamma == pytest.approx(0.03, rel=1e-6)


def test_paper_setting_and_code_scale():
    literal = DeepRKM(
        (3, 2),
        kernel=Gaussian(0.01),
        decoder_kernel=Gaussian(0.01),
        center=False,
        code_scale="unit",
        out_of_sample="paper",
        canonical=False,
    ).fit(X)
    K1 = Gaussian(0.01)(literal.layer_codes_[0])
    assert K1.min() > 0.99  # the second layer sees almost a constant
    assert literal.layer_values_[1][0] > 65
    assert literal.infeasibility_ < 1e-12


def test_float32_and_tensors():
    model = DeepRKM((2, 1), dtype="float32", tol=1e-4).fit(X.astype(np.float32))
    assert model.codes_.dtype == np.float32
    wide = DeepRKM((2, 1)).fit(X)
    assert model.objective_ == pytest.approx(wide.objective_, rel=1e-3)
    assert isinstance(wide.transform(torch.tensor(NEW)), torch.Tensor)
    assert wide.get_feature_names_out().tolist() == ["deeprkm0", "deeprkm1", "deeprkm2"]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [DeepRKM(), DeepRKM(2, kernel="precomputed")])
def test_scikit_learn_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [(r["check_name"], str(r["exception"])) for r in results if r["status"] == "failed"]
    assert not failed


def test_clone_and_parameters():
    model = DeepRKM((3, 2), kernel=Gaussian(0.2), eta=(1.0, 0.5))
    assert clone(model).get_params(deep=False) == model.get_params(deep=False)
    for params in ParameterGrid({"kernel__gamma": [0.1, 0.5]}):
        assert clone(model).set_params(**params).fit(X).kernel_.gamma == params["kernel__gamma"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": (50, 30)}, "at most 74 orthogonal codes .*got 50 [+] 30 = 80"),
        ({"n_components": 75}, "at most 74 .*lost by centring"),
        ({"n_components": ()}, "non-empty tuple"),
        ({"n_components": (3, 0)}, "n_components must be an integer >= 1; got 0"),
        ({"n_components": 2.5}, "n_components must be an integer"),
        ({"eta": 0.0}, "eta must be > 0; got 0"),
        ({"eta": np.inf}, "eta must be > 0; got inf"),
        ({"decoder_kernel": "minmax"}, "decoder_kernel must be differentiable; MinMax is not"),
        ({"eta": (1.0,)}, "eta must be one positive number, or one for each of the 2 layers"),
        ({"decoder_kernel": (Gaussian(1.0), Gaussian(1.0))}, "decoder_kernel must be one kernel or a tuple of 1"),
        ({"decoder_kernel": Polynomial(3), "solver": "penalty_lbfgs"}, "unbounded below"),
        ({"code_scale": "n"}, "code_scale must be one of"),
        ({"out_of_sample": "best"}, "out_of_sample must be one of"),
        ({"bandwidths": True}, "bandwidths must be one of"),
        ({"bandwidths": "joint", "decoder_kernel": Polynomial(2)}, "needs kernels with a bandwidth"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"init": "zeros"}, "init must be one of"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"tol": -1.0}, "tol must be >= 0"),
        ({"kernel": Gaussian(-1.0)}, "Gaussian.gamma must be > 0"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(InputError, match=message):
        DeepRKM(**params).fit(X)


def test_bad_calls():
    model = DeepRKM((3, 2)).fit(X)
    for call, message in [
        (lambda: model.transform(X, layer=3), "layer must be an integer from 1 to 2; got 3. This model has 2 layers"),
        (lambda: model.transform(X, layer=0), "layer must be"),
        (lambda: model.denoise(X, components=[3]), "components must be an integer from 0 to 2"),
        (lambda: model.denoise(X, components=[]), "at least one"),
        (lambda: model.denoise(X, components=[1, 1]), "different numbers"),
        (lambda: model.denoise(X, weighting="none"), "weighting must be one of"),
        (lambda: model.inverse_transform(X[:, :3]), r"codes must be a finite array of shape \(m, 5\)"),
        (lambda: model.reconstruction_error(X, space="both"), "space must be one of"),
        (lambda: model.traverse(n_steps=0), "n_steps must be an integer >= 1"),
    ]:
        with pytest.raises(InputError, match=message):
            call()


def test_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="largest number of iterations"):
        DeepRKM((3, 2), max_iter=1, init="random", random_state=0, out_of_sample="paper").fit(X)
