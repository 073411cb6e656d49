"""Formulas of the paper on deep machines with orthogonal codes (2021)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.optimize
import torch

from rkhs import DeepRKM
from rkhs.kernels import Gaussian
from studies.papers.claims.conditions import DRKM
from studies.papers.claims.rules import HOLDS, PART, bounded, equal, shows
from studies.papers.claims.verdicts import Answer, Part, run_of

_FORMULA = "no defaults enter: a formula"


def _orthogonal(rng: np.random.Generator, n: int, s: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(n, s)))[0]


def _features(X: np.ndarray) -> np.ndarray:
    """Of the kernel ``(x y + 1)^2``."""
    i, j = np.triu_indices(X.shape[1])
    return np.hstack([X[:, i] * X[:, j] * np.where(i == j, 1.0, 2.0**0.5), 2.0**0.5 * X, np.ones((len(X), 1))])


def _energy(features: list[np.ndarray], H: list[np.ndarray], W: list[np.ndarray], lam: Any, eta: Any) -> float:
    """The objective of (3) with the interconnection matrices, a ``lambda`` and an ``eta`` for each layer."""
    total = 0.0
    for phi, h, w, a, b in zip(features, H, W, lam, eta, strict=True):
        total += -float(((phi @ w) * h).sum()) + 0.5 * a * float((h**2).sum()) + 0.5 * b * float((w**2).sum())
    return total


@run_of("drkm-eq7")
def eliminated(fast: bool) -> Answer:
    """(7) against (3) at its stationary weights, its lower bound, and where descents end."""
    errors, ratios = [], []
    for seed in range(5 if fast else 20):
        rng = np.random.default_rng(seed)
        X, eta, lam = rng.normal(size=(15, 2)), rng.uniform(0.5, 2.0, 2), rng.uniform(0.5, 2.0, 2)
        H = _orthogonal(rng, 15, 3)
        H1, H2 = H[:, :2], H[:, 2:]
        features = [_features(X), _features(H1)]
        W = [phi.T @ h / b for phi, h, b in zip(features, (H1, H2), eta, strict=True)]  # (6): no gradient in W
        K = [phi @ phi.T for phi in features]
        reduced = -sum(float(np.trace(h.T @ k @ h)) / (2.0 * b) for h, k, b in zip((H1, H2), K, eta, strict=True))
        full = _energy(features, [H1, H2], W, lam, eta)
        errors.append(abs((full - 0.5 * float(lam @ (2, 1))) / reduced - 1.0))
    rng, n = np.random.default_rng(0), 30
    X = rng.normal(size=(n, 2))
    options = dict(DRKM, kernel=Gaussian(0.5), decoder_kernel=Gaussian(0.5), tol=1e-8)
    for seed in range(10 if fast else 200):
        H = _orthogonal(rng, n, 3)
        K0, K1 = np.asarray(Gaussian(0.5)(X)), np.asarray(Gaussian(0.5)(H[:, :2]))
        value = -0.5 * np.trace(H[:, :2].T @ K0 @ H[:, :2]) - 0.5 * np.trace(H[:, 2:].T @ K1 @ H[:, 2:])
        ratios.append(float(-value / n))  # the bound is -n / 2 a layer, of two layers
        if seed < 5:
            found = DeepRKM((2, 1), init="random", random_state=seed, **options).fit(X).objective_
            ratios.append(float(-found / n))
    narrow: dict[str, Any] = {**options, "decoder_kernel": Gaussian(5.0), "solver": "riemannian_lbfgs"}
    ends = [DeepRKM((2, 1), init="random", random_state=seed, **narrow).fit(X) for seed in range(4 if fast else 20)]
    assert all(model.converged_ for model in ends)
    count = len(np.unique([round(model.objective_, 4) for model in ends]))
    return {
        "eliminated": Part(equal(errors, tolerance=1e-8), _FORMULA),
        "bounded": Part(bounded(ratios, delta=0.0, name="lower bound").saying(
            f"the cost is at most {max(ratios):.2f} of its bound below zero; continuous on a compact set"), _FORMULA),
        "several": Part(
            shows([count], at_least=2.0).saying(f"{len(ends)} descents end at {count} different costs"), _FORMULA
        ),
    }  # fmt: skip


@run_of("drkm-rkm")
def energy(fast: bool) -> Answer:
    """(2) against the objective of kernel PCA, at drawn codes, at the least ones and at eigenvectors."""
    above, tight, one, several = [], [], [], []
    for seed in range(5 if fast else 50):
        rng = np.random.default_rng(seed)
        phi, W, H = _features(rng.normal(size=(15, 2))), rng.normal(size=(6, 2)), rng.normal(size=(15, 2))
        lam, eta = rng.uniform(0.5, 2.0, 2)
        e = phi @ W
        pca = 0.5 * eta * float((W**2).sum()) - 0.5 / lam * float((e**2).sum())
        above.append(_energy([phi], [H], [W], (lam,), (eta,)) - pca)
        tight.append(abs(_energy([phi], [e / lam], [W], (lam,), (eta,)) / pca - 1.0))
        K = phi @ phi.T
        values, vectors = np.linalg.eigh(K)
        H = vectors[:, -2:]
        # W at its stationary value phi^T H / eta leaves lambda H - K H / eta, the gradient of (2) in H.
        one.append(min(_share(scale * H - K @ H) for scale in values[-2:]))
        several.append(_share(H * values[-2:] - K @ H))
    short = [float(value < 0.0) for value in above]
    return {
        "bound": Part(bounded(short, delta=0.0, name="energy below the objective").saying(
            f"(2) is above by {min(above):.3g} or more on {len(above)} draws"), _FORMULA),
        "tight": Part(equal(tight, tolerance=1e-8), _FORMULA),
        "one": Part(equal(one, tolerance=1e-8, name="gradient of (2), a share of lambda H,"), _FORMULA),
        "several": Part(equal(several, tolerance=1e-8, name="gradient of (2), a share of lambda H,"), _FORMULA),
    }  # fmt: skip


def _share(gradient: np.ndarray) -> float:
    """Norm of a gradient over that of its two orthonormal codes."""
    return float(np.linalg.norm(gradient) / 2.0**0.5)


def _deep_energy(flat: torch.Tensor, X: torch.Tensor, n: int) -> torch.Tensor:
    """``J_deep`` with linear features, two layers of two components, lambda = eta = 1, in all its variables."""
    d = X.shape[1]
    H1, H2, W1, W2 = (part.view(-1, 2) for part in flat.split([2 * n, 2 * n, 2 * d, 4]))
    total = -((X @ W1) * H1).sum() - ((H1 @ W2) * H2).sum()
    return total + 0.5 * (flat**2).sum()


@run_of("drkm-cstab")
def stabilised(fast: bool) -> Answer:
    """Along rays, at a stationary point of ``J``, and at a point where ``J = -1 / c``."""
    n, rng = 10, np.random.default_rng(0)
    X = torch.as_tensor(3.0 * rng.normal(size=(n, 3)))
    size = 2 * n + 2 * n + 6 + 4

    def gradient(flat: torch.Tensor, stabilised: bool) -> tuple[float, np.ndarray]:
        x = flat.clone().requires_grad_()
        J = _deep_energy(x, X, n)
        (J + 0.5 * J**2 if stabilised else J).backward()
        return float(J.detach()), np.asarray(x.grad)

    U, _, V = np.linalg.svd(X.numpy())
    ray = torch.zeros(size, dtype=torch.float64)
    ray[: 2 * n].view(n, 2)[:, 0] = torch.as_tensor(U[:, 0])
    ray[4 * n : 4 * n + 6].view(3, 2)[:, 0] = torch.as_tensor(V[0])
    along = [float(_deep_energy(t * ray, X, n)) for t in (1.0, 10.0, 100.0)]
    # Zero is stationary for both; on the ray J falls through -1 = -1 / c, where only the stabilised one is stationary.
    same = float(np.abs(gradient(0.0 * ray, True)[1]).max())
    t = float((-1.0 / along[0]) ** 0.5)
    value, plain = gradient(t * ray, False)
    other = float(np.abs(gradient(t * ray, True)[1]).max())
    extra = float(np.abs(plain).max())
    told, gaussian, bounded_below = _with_gaussian(np.asarray(X) / 3.0)
    rays = {"linear": [along[2]], "Gaussian": [gaussian]}
    falls = shows(rays, at_most=-1e3, name="cost a hundred times along a ray")
    falls = falls.saying(f"cost {along[0]:.3g}, {along[1]:.3g}, {along[2]:.3g} at 1, 10, 100 times a point; {told}")
    if falls.verdict == HOLDS and bounded_below:
        falls = replace(falls, verdict=PART)
    return {
        "unbounded": Part(falls, _FORMULA),
        "same": Part(
            equal([same, extra if other < 1e-10 else 0.0], tolerance=1e-8).saying(
                f"stationary points of J are kept; but at J = {value:.3g} = -1/c the other gradient is {other:.0e} "
                f"where that of J is {extra:.2g}"
            ),
            _FORMULA,
        ),
    }


def _with_gaussian(X: np.ndarray) -> tuple[str, float, bool]:
    """``J_deep`` of Gaussian kernels, weights at their minimum, far along a ray; and whether larger constants bound it.

    There ``J_deep = 1/2 sum_l Tr(H_l^T (lambda I - K / eta) H_l)``, and no eigenvalue of ``K`` is above ``N``.
    """
    n, kernel = len(X), Gaussian(0.5)
    top = float(np.linalg.eigvalsh(np.asarray(kernel(X)))[-1])
    far = 0.5 * 100.0**2 * (1.0 - top)  # the codes of layer 2 are zero
    rng, least = np.random.default_rng(0), np.inf
    for _ in range(200):
        H1, H2 = rng.normal(size=(2, n, 2)) * 10.0 ** rng.uniform(-2.0, 2.0)
        K = [np.asarray(kernel(X)), np.asarray(kernel(H1))]
        least = min(least, sum(0.5 * float(np.sum(H * (H - k @ H / n))) for H, k in zip((H1, H2), K, strict=True)))
    told = f"Gaussian kernels: {far:.3g} at 100 times; with lambda eta = N it is never below 0 (least {least:.2g})"
    return told, far, least >= 0.0


def _layer_wise(X: np.ndarray, kernel: Gaussian) -> tuple[np.ndarray, np.ndarray]:
    """Leading eigenvectors, layer after layer, each layer orthogonal in itself."""
    H1 = np.linalg.eigh(np.asarray(kernel(X)))[1][:, -2:]
    return H1, np.linalg.eigh(np.asarray(kernel(H1)))[1][:, -2:]


def _cosine(H: np.ndarray) -> float:
    """The largest cosine of two columns."""
    U = H / np.linalg.norm(H, axis=0)
    return float(np.abs(U.T @ U - np.eye(U.shape[1])).max())


@run_of("drkm-orth")
def orthogonality(fast: bool) -> Answer:
    """Eigenvectors layer by layer, then descent of the stabilised objective over all codes without constraint."""
    kept: list[float] = []
    lost: dict[str, list[float]] = {"from the layer-wise solution": [], "from normal values": []}
    for seed in range(2 if fast else 10):
        rng, kernel = np.random.default_rng(seed), Gaussian(0.5)
        X = rng.normal(size=(30, 2))
        H1, H2 = _layer_wise(X, kernel)
        kept.append(max(_cosine(H1), _cosine(H2)))
        K0, c = torch.as_tensor(np.asarray(kernel(X))), 1.0

        def cost(flat: np.ndarray, K0: torch.Tensor = K0, c: float = c) -> tuple[float, np.ndarray]:
            x = torch.tensor(flat, requires_grad=True)
            A, B = x.view(2, 30, 2)
            K1 = torch.exp(-0.5 * ((A[:, None] - A[None]) ** 2).sum(-1))
            J = -0.5 * ((A * (K0 @ A)).sum() + (B * (K1 @ B)).sum()) + 0.5 * (x**2).sum()  # lambda = eta = 1
            J = J + 0.5 * c * J**2
            J.backward()
            return float(J.detach()), np.asarray(x.grad)

        noise = rng.normal(size=120)
        for found, start in zip(lost.values(), (np.stack([H1, H2]).ravel() + 0.01 * noise, noise), strict=True):
            end = scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
            found.append(max(_cosine(H) for H in end.reshape(2, 30, 2)))
    layers = equal(kept, tolerance=1e-8, name="largest cosine").limited("by construction")
    layers = layers.saying(f"{layers.found}; by construction: eigenvectors of a symmetric matrix")
    without = shows(lost, at_least=0.01, draws=1.0, name="largest cosine of two features of a layer, mean")
    return {
        "layerwise": Part(layers, _FORMULA),
        "lost": Part(without, "does not apply: our machine has the constraint"),
    }


@run_of("drkm-eq4-5")
def encoding(fast: bool) -> Answer:
    """Codes and weights of the library in the paper's setting against the formulas, and against a projection."""
    codes, weights, ours, projected = [], [], [], []
    for seed in range(3 if fast else 20):
        rng = np.random.default_rng(seed)
        X, new, k = rng.normal(size=(20, 2)), rng.normal(size=(6, 2)), Gaussian(0.5)
        options: dict[str, Any] = dict(DRKM, kernel=k, decoder_kernel=k, init="random", random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DeepRKM((2, 1), eta=(2.0, 1.0), **options).fit(X)
            H1, H2 = model.layer_codes_
            h1 = np.asarray(k(new, X)) @ H1 / 2.0
            h2 = np.asarray(k(h1, H1)) @ H2
            for layer, h in ((1, h1), (2, h2)):
                codes.append(float(np.abs(model.transform(new, layer=layer) - h).max() / np.abs(h).max()))
            beta = np.asarray(k(new, X)) @ H1 @ H1.T
            shown = model.denoise(new, weighting="paper")
        weights.append(max(_stationary(x, b, X) for x, b in zip(shown, beta, strict=True)))
        # Centred features of kernel PCA of one layer, with which v^k = sum_i h_ik phi(x_i) and P can be written out.
        K = np.asarray(k(X))
        K = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
        values, vectors = np.linalg.eigh(K)
        phi, h = vectors * np.sqrt(np.maximum(values, 0.0)), vectors[:, -2:]
        v = phi.T @ h
        exact = phi @ v @ np.linalg.pinv(v)  # P phi(x) of the training points
        printed = K @ h @ h.T @ phi
        projected.append(float(np.linalg.norm(printed - exact) / np.linalg.norm(exact)))
        defect = np.asarray(k(X, X)) @ H1 / 2.0 - H1
        ours.append(float(np.linalg.norm(defect) / np.linalg.norm(H1)))
    apart = equal(projected, tolerance=1e-8, name="distance to the projection, as a share of it")
    return {
        "encode": Part(
            equal(codes, tolerance=1e-8),
            f"does not apply: a regression on the codes; (4) misses those of training points by {np.mean(ours):.2g} "
            "of their norm",
        ),
        "denoise": Part(equal(weights, tolerance=1e-5, name="gradient of (11) at the answer"), _FORMULA),
        "projection": Part(
            apart.saying(f"{apart.found}: with alpha = h, components have their eigenvalue as squared norm"),
            "does not apply: the weights are those of the projection",
        ),
    }


def _stationary(x: np.ndarray, beta: np.ndarray, X: np.ndarray) -> float:
    """Gradient of ``k(x, x) - 2 beta^T k(x)`` at a pre-image, relative to the sum of its terms."""
    k = np.asarray(Gaussian(0.5)(x[None], X))[0]
    terms = (beta * k)[:, None] * (x - X)
    return float(np.abs(terms.sum(0)).max() / max(np.abs(terms).sum(), 1e-300))
