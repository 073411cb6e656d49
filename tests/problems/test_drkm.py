"""The deep restricted kernel machine: gradient, closed forms, laws and start points of docs/papers/constr_drkm.md."""

import pytest
import torch

from rkhs._core.errors import InputError
from rkhs._core.linalg import center_gram
from rkhs.constraints import Stiefel
from rkhs.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.solvers import ProjectedGradient, Subspace


def normal(n, p, seed):
    return torch.randn(n, p, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def machine(kernels=(), widths=(3,), eta=None, n=30, seed=0, center=False, **settings):
    K = Gaussian(0.3)._gram(normal(n, 4, 100 + seed))
    eta = eta or tuple(1.0 / (1 + layer) for layer in range(len(widths)))
    return ConstrainedDRKM.from_gram(
        K, center=center, kernels=tuple(kernels), n_components=tuple(widths), eta=tuple(eta), **settings
    )


def start(problem, seed=0):
    return problem.random_start(torch.Generator().manual_seed(seed))


THREE = (Gaussian(0.7), Matern(nu=1.5, gamma=0.9) + 0.3 * Linear() + Polynomial(2, 0.5, 0.2))


def naive_value(problem, H):
    """The definition with every centring matrix written out."""
    n = H.shape[0]
    C = torch.eye(n, dtype=H.dtype) - (1.0 / n if problem.center else 0.0)
    value, K = 0.0, problem.gram
    for layer, H_l in enumerate(problem.split(H)):
        value -= float(torch.trace(H_l.mT @ K @ H_l)) / (2 * problem.eta[layer])
        if layer < len(problem.kernels):
            K = C @ problem.kernels[layer]._gram(problem.scale * H_l) @ C
    return value


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("code_scale", ["unit", "sqrt_n"])
def test_value_and_gradient_of_three_layers(center, code_scale):
    P = machine(THREE, (3, 4, 2), (0.5, 2.0, 0.7), center=center, code_scale=code_scale)
    H, D = normal(30, 9, 1) / 5, normal(30, 9, 2)
    value, grad = P.value_and_grad(H)
    assert value == pytest.approx(naive_value(P, H), rel=1e-12)
    slope, errors = float((grad * D).sum()), []
    for step in (1e-3, 1e-4):
        plus, minus = (P.value_and_grad(H + sign * step * D)[0] for sign in (1, -1))
        errors.append(abs((plus - minus) / (2 * step) - slope))
    assert errors[0] < 1e-3 * max(1.0, abs(slope))
    assert errors[1] < 2e-2 * errors[0] + 1e-8 * abs(slope)  # central differences are of second order


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    "inner", [Gaussian(0.7), Matern(nu=2.5, gamma=0.8), Polynomial(2, 0.5, 0.2), 0.5 * Gaussian(1.0) + Linear()]
)
def test_frozen_model_has_the_gradient(inner, center):
    P = machine((inner, inner), (3, 4, 2), (0.5, 2.0, 0.7), center=center, code_scale="sqrt_n")
    H = start(P)
    model = P.freeze(H, P.fixed(H))
    value, grad = P.value_and_grad(H)
    assert model.value == pytest.approx(value, rel=1e-12)
    assert torch.dist(model.grad, grad) < 1e-10 * grad.norm()
    applied = torch.cat([f(H, P.fixed(H))[:, s] for f, s in zip(model.maps, P.spans, strict=True)], 1)
    assert torch.dist(applied, -grad) < 1e-10 * grad.norm()
    V, U = normal(30, 2, 5), normal(30, 2, 6)
    for f in model.maps:
        assert torch.allclose(U.mT @ f(V, P.fixed(V)), (V.mT @ f(U, P.fixed(U))).mT, atol=1e-9)


@pytest.mark.slow
def test_kernels_without_frozen_form_say_so():
    P = machine((Laplacian("l1", 0.5),), (3, 2))
    H = start(P)
    assert P.freeze(H, P.fixed(H)) is None
    done = Subspace(tol=1e-4, max_iter=200).solve(P, H)
    assert done.history[-1]["route"] == "riemannian"
    assert done.value < P.value_and_grad(H)[0]


@pytest.mark.parametrize("center", [False, True])
def test_one_layer_is_kernel_pca(center):
    P = machine((), (4,), (0.6,), center=center)
    done = Subspace(tol=1e-10).solve(P, start(P))
    values, vectors = torch.linalg.eigh(P.gram)
    assert done.value == pytest.approx(-float(values[-4:].sum()) / 1.2, rel=1e-12)
    U = vectors[:, -4:]
    assert torch.dist(done.point @ done.point.mT, U @ U.mT) < 1e-7
    assert P.value_and_grad(P.kpca_start())[0] == pytest.approx(done.value, rel=1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.8), (0.5, 2.0), (1.0, 0.0)])
def test_affine_inner_kernel_closed_form(a, b):
    n, (s1, s2), (e1, e2) = 25, (3, 2), (0.7, 1.3)
    P = machine((Polynomial(1, a, b),), (s1, s2), (e1, e2), n=n)
    ones = torch.ones(n, n, dtype=torch.float64)
    top = torch.linalg.eigvalsh(P.gram / (2 * e1) - b / (2 * e2) * ones).flip(0)[:s1].sum()
    best = -float(top) - b * n / (2 * e2)
    done = ProjectedGradient(tol=1e-11, max_iter=20000).solve(P, start(P))
    assert done.value == pytest.approx(best, rel=1e-12)
    assert Subspace(tol=1e-11).solve(P, start(P, 1)).value == pytest.approx(best, rel=1e-12)
    if b == 0.0:  # a linear inner kernel sees orthogonal codes as nothing
        assert P.value_and_grad(done.point)[0] == pytest.approx(-float(top), rel=1e-12)


def test_kkt_at_the_solution():
    P = machine((Gaussian(2.0),), (3, 2), code_scale="sqrt_n", center=True)
    done = Subspace(tol=1e-9).solve(P, start(P))
    _, grad = P.value_and_grad(done.point)
    multiplier = done.point.mT @ grad
    assert (multiplier - multiplier.mT).abs().max() < 1e-6
    assert torch.dist(grad, done.point @ multiplier) < 1e-6


@pytest.mark.parametrize("seed", range(2))
def test_rotation_eta_and_permutation_laws(seed):
    P = machine((Gaussian(1.5),), (3, 2), (0.5, 2.0), center=True, code_scale="sqrt_n")
    H = start(P, seed)
    value, grad = P.value_and_grad(H)
    Q = torch.block_diag(*(torch.linalg.qr(normal(s, s, s))[0] for s in (3, 2)))
    turned, turned_grad = P.value_and_grad(H @ Q)
    assert turned == pytest.approx(value, rel=1e-12)
    assert torch.allclose(turned_grad, grad @ Q, atol=1e-11)
    other = machine((Gaussian(1.5),), (3, 2), (1.5, 6.0), center=True, code_scale="sqrt_n")
    assert 3 * other.value_and_grad(H)[0] == pytest.approx(value, rel=1e-12)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(3))
    shuffled = ConstrainedDRKM(
        P.gram[order][:, order], P.kernels, P.n_components, P.eta, center=True, code_scale="sqrt_n"
    )
    assert shuffled.value_and_grad(H[order])[0] == pytest.approx(value, rel=1e-12)
    assert torch.allclose(shuffled.value_and_grad(H[order])[1], grad[order], atol=1e-11)


def test_canonical_rotation():
    P = machine((Gaussian(1.5),), (3, 2), center=True, code_scale="sqrt_n")
    H = start(P)
    Q = torch.block_diag(*(torch.linalg.qr(normal(s, s, s))[0] for s in (3, 2)))
    once = P.canonical(H)
    assert torch.allclose(P.canonical(H @ Q), once, atol=1e-9)
    assert P.value_and_grad(once)[0] == pytest.approx(P.value_and_grad(H)[0], rel=1e-12)
    for layer, H_l in enumerate(P.split(once)):
        M = H_l.mT @ P.layer_product(layer, once, H_l)
        assert torch.allclose(M, M.diagonal().diag(), atol=1e-9)
        assert bool((M.diagonal().diff() <= 1e-12).all())


@pytest.mark.parametrize("center", [False, True])
def test_starts_are_feasible_and_bound_holds(center):
    P = machine((Gaussian(1.0), Gaussian(1.0)), (3, 2, 2), (0.5, 1.0, 2.0), center=center)
    for H in (P.kpca_start(), start(P)):
        assert P.constraint.violation(H) < 1e-12
        value = P.value_and_grad(H)[0]
        assert value >= -sum(30 / (2 * eta) for eta in P.eta)
        if center:
            assert H.sum(0).abs().max() < 1e-10
    assert torch.equal(P.kpca_start(), P.kpca_start())


def test_rank_deficient_start_is_completed():
    """More components than the rank of the data's Gram matrix still give a feasible start."""
    X = normal(12, 2, 0)
    P = ConstrainedDRKM.from_gram(X @ X.mT, center=True, kernels=(Gaussian(1.0),), n_components=(5, 3), eta=(1.0, 1.0))
    assert Stiefel().violation(P.kpca_start()) < 1e-12


def test_kpca_start_is_better_than_random():
    P = machine((Gaussian(0.5),), (4, 2), (1.0, 1.0))
    assert P.value_and_grad(P.kpca_start())[0] < P.value_and_grad(start(P))[0]


def test_centred_is_the_centred_gram():
    K = Gaussian(0.3)._gram(normal(15, 3, 0))
    a = ConstrainedDRKM.from_gram(K, center=True, kernels=(), n_components=(2,), eta=(1.0,))
    assert torch.allclose(a.gram, center_gram(K))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"widths": (20, 11), "kernels": (Gaussian(1.0),)},
            "at most 30 orthogonal codes with n_samples=30; got 20 [+] 11",
        ),
        ({"widths": (30,), "center": True}, "at most 29 .*lost by centring"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(InputError, match=message):
        machine(**change)
