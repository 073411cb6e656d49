"""DeepRKM: kernel PCA for one layer, encoding laws, denoising as projection, decoding, bandwidths, refusals."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils.estimator_checks import check_estimator

from rkhs._core.errors import InputError
from rkhs.estimators import DeepRKM, KernelPCA
from rkhs.estimators.drkm_parts import SOLVERS, layer_value, ridge_coefs
from rkhs.kernels import Gaussian, Linear, Matern, Polynomial
from rkhs.kernels.base import Kernel
from rkhs.solvers import ProjectedGradient

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
    model = DeepRKM(3, kernel=Gaussian(0.3), center=center, eta=0.5, ridge=1e-8).fit(X)
    pca = KernelPCA(3, kernel=Gaussian(0.3), center=center).fit(X)
    assert model.objective_ == pytest.approx(-pca.eigenvalues_.sum(), rel=1e-9)
    assert np.allclose(model.layer_values_[0], pca.eigenvalues_)
    roots = np.sqrt(pca.eigenvalues_)
    assert np.allclose(np.abs(model.codes_ * roots), np.abs(pca.codes_), atol=1e-6)
    assert np.allclose(np.abs(model.transform(NEW) * roots), np.abs(pca.transform(NEW)), atol=1e-5)


def test_modes_of_encoding_for_one_layer():
    """Ridge and block are exact in sample; the paper's formula is off by eigenvalue / (multiplier eta)."""
    settings = {"kernel": Gaussian(0.3), "center": False, "eta": 0.7, "tol": 1e-10, "ridge": 1e-8}
    exact = {mode: DeepRKM(3, out_of_sample=mode, **settings).fit(X) for mode in ("ridge", "block")}
    for model in exact.values():
        assert model.in_sample_defect_[0] < 1e-5
        assert np.allclose(model.transform(X), model.codes_, atol=1e-6)
    assert np.allclose(exact["ridge"].transform(NEW), exact["block"].transform(NEW), atol=1e-5)
    paper = DeepRKM(3, out_of_sample="paper", multiplier=2.0, **settings).fit(X)
    assert np.allclose(paper.transform(X), paper.codes_ * paper.layer_values_[0] / (2.0 * 0.7), atol=1e-7)


@pytest.mark.parametrize("center", [True, False])
def test_ridge_interpolates_deep_codes(center):
    model = DeepRKM((3, 2), kernel=Gaussian(2.0), decoder_kernel=Gaussian(2.0), center=center, ridge=1e-8).fit(X)
    assert (model.in_sample_defect_ < 0.1).all()
    assert np.allclose(model.transform(X), model.codes_, atol=0.1)
    assert np.array_equal(
        np.hstack([model.transform(NEW, layer=1), model.transform(NEW, layer=2)]), model.transform(NEW)
    )
    first = Gaussian(2.0)(NEW, X)
    by_hand = first @ model.dual_coefs_[0] + model.intercepts_[0]
    assert np.allclose(by_hand, model.transform(NEW, layer=1), atol=1e-12)


@pytest.mark.parametrize("center", [True, False])
def test_leave_one_out_is_what_refits_give(center):
    """The closed form equals n refits with an intercept (centred) or without."""
    K, T = torch.tensor(Gaussian(0.3)(X[::3])), torch.randn(25, 2, generator=torch.Generator().manual_seed(0)).double()
    if center:
        T = T - T.mean(0)
    C = torch.eye(25, dtype=torch.float64) - (1.0 / 25 if center else 0.0)
    gram = C @ K @ C
    B, ridge, error = ridge_coefs(gram, T, 1e-2, center)
    assert ridge == 1e-2
    delta = 1e-2 * float(gram.diagonal().mean())
    assert torch.allclose(gram @ B + delta * B, T, atol=1e-8)
    missed = []
    for i in range(25):
        rest = [j for j in range(25) if j != i]
        system = torch.zeros(25, 25, dtype=torch.float64)  # bordered by the intercept
        system[:24, :24] = gram[rest][:, rest] + delta * torch.eye(24, dtype=torch.float64)
        system[:24, 24] = system[24, :24] = 1.0 if center else 0.0
        system[24, 24] = 0.0 if center else 1.0
        solved = torch.linalg.solve(system, torch.cat([T[rest], T.new_zeros(1, 2)]))
        missed.append(T[i] - gram[i, rest] @ solved[:24] - (solved[24] if center else 0.0))
    assert error == pytest.approx(float(torch.stack(missed).norm() / T.norm()), rel=1e-6)
    errors = {r: ridge_coefs(gram, T, r, center)[2] for r in (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)}
    assert ridge_coefs(gram, T, "loo", center)[1] == min(errors, key=errors.__getitem__)


def test_chosen_ridge_keeps_new_codes_tame():
    """Interpolation explodes from the third layer on; the chosen ridge does not."""
    wild = DeepRKM((4, 3, 2), ridge=1e-8).fit(X).transform(NEW, layer=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tame = DeepRKM((4, 3, 2)).fit(X)
    assert np.abs(wild).mean() > 5 * np.abs(tame.transform(NEW, layer=3)).mean()
    assert (tame.leave_one_out_error_ < 1.0).all()


def test_large_defect_warns():
    with pytest.warns(UserWarning, match="misses the codes of layer 2 by a share of"):
        DeepRKM((3, 2), out_of_sample="block").fit(X)


def test_top_layer_identity_at_a_stationary_point():
    """h_L = M_L^-1 (H_L^T k - (H_<L^T K H_L)^T h_<L) holds in sample at every stationary point."""
    model = DeepRKM((3, 2), kernel=Gaussian(0.3), tol=1e-10, max_iter=3000).fit(X)
    H1, H2 = model.layer_codes_
    K = centre(model.decoder_kernels_[0](model.scale_ * H1))
    right = K @ H2 - H1 @ (H1.T @ K @ H2)
    assert np.allclose(np.linalg.solve(H2.T @ K @ H2, right.T).T, H2, atol=1e-4)


def test_fitted_codes_are_feasible_canonical_and_start_independent():
    kpca = DeepRKM((3, 2), tol=1e-9).fit(X)
    random = DeepRKM((3, 2), tol=1e-9, init="random", n_init=4, random_state=0, ridge=1e-8).fit(X)
    assert kpca.infeasibility_ < 1e-12
    assert random.objective_ == pytest.approx(kpca.objective_, rel=1e-2)  # another local optimum, not a lower one
    assert kpca.objective_ <= random.objective_ + 1e-6
    for H in kpca.layer_codes_:
        assert (H[np.abs(H).argmax(0), np.arange(H.shape[1])] > 0).all()
    assert all((np.diff(values) <= 0).all() for values in kpca.layer_values_)


def test_deterministic_start_has_no_variance():
    fits = [DeepRKM((3, 2), random_state=seed).fit(X).codes_ for seed in range(3)]
    assert np.array_equal(fits[0], fits[1])
    assert np.array_equal(fits[0], fits[2])


def test_several_starts_keep_the_best():
    one = DeepRKM((3, 2), init="random", n_init=1, random_state=3, ridge=1e-8).fit(X)
    many = DeepRKM((3, 2), init="random", n_init=5, random_state=3, ridge=1e-8).fit(X)
    assert many.objective_ <= one.objective_ + 1e-9


def test_per_layer_constraint_is_weaker():
    joint = DeepRKM((3, 2)).fit(X)
    free = DeepRKM((3, 2), constraint="per_layer").fit(X)
    assert free.objective_ <= joint.objective_
    assert np.abs(free.layer_codes_[0].T @ free.layer_codes_[1]).max() > 1e-2
    assert np.abs(joint.layer_codes_[0].T @ joint.layer_codes_[1]).max() < 1e-12
    assert DeepRKM((60, 50), constraint="per_layer", out_of_sample="paper", max_iter=5, tol=1.0).fit(
        X
    ).codes_.shape == (75, 110)


def test_eta_scale_and_weight():
    a = DeepRKM((3, 2), eta=(1.0, 2.0)).fit(X)
    b = DeepRKM((3, 2), eta=(3.0, 6.0)).fit(X)
    assert a.objective_ == pytest.approx(3 * b.objective_, rel=1e-6)
    heavy = DeepRKM((3, 2), eta=(1.0, 0.1)).fit(X)  # the paper's gamma = 10: more weight on layer 2
    assert heavy.layer_values_[1].sum() > a.layer_values_[1].sum()
    assert heavy.layer_values_[0].sum() < a.layer_values_[0].sum()


@pytest.mark.parametrize("solver", [*SOLVERS, ProjectedGradient(tol=1e-6)])
def test_every_solver_by_name(solver):
    best = DeepRKM((3, 2), kernel=Gaussian(0.3)).fit(X).objective_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model = DeepRKM((3, 2), kernel=Gaussian(0.3), solver=solver, max_iter=400).fit(X)
    assert model.infeasibility_ < 1e-12
    # The rates of the first two are for long runs; the penalty method may end in another local optimum.
    rel = 0.5 if solver in ("cayley_adam", "penalty_adam") else 2e-2 if solver == "penalty_lbfgs" else 1e-3
    assert model.objective_ == pytest.approx(best, rel=rel)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kept", [None, [0], [2, 1]])
def test_denoising_weights_are_an_orthogonal_projection(center, kept):
    K = Gaussian(0.3)(X)
    cross = Gaussian(0.3)(NEW, X)
    model = DeepRKM((3, 2), kernel="precomputed", center=center).fit(K)
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
    weights = DeepRKM(8, kernel="precomputed", center=False, ridge=1e-8).fit(K).denoise(K)
    assert np.allclose(weights @ K, K, atol=1e-8)


@pytest.mark.parametrize("preimage", ["ridge", "fixed_point"])
@pytest.mark.parametrize("layer", [1, 2, 3])
def test_denoising_helps_on_curves(layer, preimage):
    clean, _ = make_moons(200, noise=0.0, random_state=0)
    noisy = clean + np.random.default_rng(0).normal(scale=0.15, size=clean.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the third layer is hard to predict
        model = DeepRKM((6, 4, 3), kernel=Gaussian(2.0), decoder_kernel=Gaussian("median"), preimage=preimage).fit(
            noisy
        )
    back = model.denoise(noisy, layer=layer)
    errors = ((back - clean) ** 2).mean(1)
    if layer == 1:
        assert errors.mean() < 0.9 * ((noisy - clean) ** 2).mean()
    else:  # few codes of a deep layer keep the trend only
        assert np.median(errors) < 0.6 * clean.var(0).mean()
    one = model.denoise(noisy, layer=layer, components=[0])
    assert not np.allclose(one, back)


def test_deep_layers_denoise_better_by_regression_than_by_a_chain_of_pre_images():
    clean, _ = make_moons(150, noise=0.0, random_state=0)
    noisy = clean + np.random.default_rng(0).normal(scale=0.1, size=clean.shape)
    errors = {}
    for preimage in ("ridge", "fixed_point"):
        model = DeepRKM((8, 4), kernel=Gaussian(2.0), preimage=preimage).fit(noisy)
        errors[preimage] = ((model.denoise(noisy, layer=2) - clean) ** 2).mean()
        chain = model.denoise(noisy, layer=2, weighting="paper")
        assert np.abs(chain).max() < 3.0 * np.abs(noisy).max()  # and never runs away
        one = model.denoise(noisy, layer=2, components=[1])
        code = model.transform(noisy, layer=2)[:, 1:2]
        if preimage == "ridge":  # a function of that component alone
            close = np.argsort(code[:, 0])
            steps = np.abs(np.diff(one[close], axis=0)).max(1)
            assert np.median(steps) < 0.05 * clean.std()
    assert errors["ridge"] < 0.3 * errors["fixed_point"]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("widths", [3, (3, 2)])
def test_feature_error_is_the_distance_from_the_projection(center, widths):
    kernel = Gaussian(0.3)
    K, cross = kernel(X), kernel(NEW, X)
    model = DeepRKM(widths, kernel=kernel, center=center).fit(X)
    found = model.reconstruction_error(NEW, space="feature")
    b = model.set_params(preimage="fixed_point")._projection(
        0, torch.as_tensor(cross), [0, 1, 2], "projection"
    )  # the weights of denoise
    b = b.numpy()
    assert np.allclose(found, 1.0 - 2.0 * (b * cross).sum(1) + (b @ K * b).sum(1), atol=1e-9)
    by_gram = DeepRKM(widths, kernel="precomputed", center=center).fit(K)
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
    with pytest.warns(UserWarning, match="pass diag="):
        model.reconstruction_error(Linear()(NEW, X))
    with pytest.raises(InputError, match="space='input' needs vector inputs"):
        model.reconstruction_error(K, space="input")


@pytest.mark.parametrize("preimage", ["ridge", "fixed_point"])
def test_inverse_transform_comes_back(preimage):
    model = DeepRKM((4, 3), preimage=preimage).fit(X)
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
        ({"eta": (1.0,)}, "eta must be one positive number, or one for each of the 2 layers"),
        ({"ridge": 0.0}, "ridge must be > 0 or 'loo'"),
        ({"multiplier": -1.0}, "multiplier must be > 0"),
        ({"decoder_kernel": (Gaussian(1.0), Gaussian(1.0))}, "decoder_kernel must be one kernel or a tuple of 1"),
        ({"decoder_kernel": Polynomial(3), "solver": "penalty_lbfgs"}, "unbounded below"),
        ({"constraint": "both"}, "constraint must be one of"),
        ({"code_scale": "n"}, "code_scale must be one of"),
        ({"out_of_sample": "best"}, "out_of_sample must be one of"),
        ({"preimage": "best"}, "preimage must be one of"),
        ({"bandwidths": True}, "bandwidths must be one of"),
        ({"bandwidths": "joint", "decoder_kernel": Polynomial(2)}, "needs kernels with a bandwidth"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"init": "zeros"}, "init must be one of"),
        ({"n_init": 0}, "n_init must be an integer >= 1"),
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
