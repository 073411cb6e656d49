"""Theorems and remarks of the paper on representation learning with kernels (2024)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.optimize
import torch
from scipy.stats import spearmanr
from sklearn.datasets import load_iris, make_moons
from sklearn.neighbors import KNeighborsClassifier

from rkhs import KernelAutoencoder, KernelContrastive
from rkhs._core.errors import InputError
from rkhs.augment import GaussianNoise
from rkhs.kernels import Gaussian, Polynomial
from studies.papers.claims.conditions import KAE
from studies.papers.claims.rules import cannot, direction, equal, shows
from studies.papers.claims.verdicts import Answer, Part, run_of
from studies.papers.few_labels import split_rows

_FORMULA = "does not apply: a formula, no defaults enter"
_POLYNOMIAL = Polynomial(2, 1.0, 1.0)


def _features(X: np.ndarray) -> np.ndarray:
    """Of the kernel ``(x y + 1)^2``."""
    i, j = np.triu_indices(X.shape[1])
    return np.hstack([X[:, i] * X[:, j] * np.where(i == j, 1.0, 2.0**0.5), 2.0**0.5 * X, np.ones((len(X), 1))])


def _triples(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X + 0.1 * rng.normal(size=X.shape), rng.normal(size=(n, d))


def _fit(model: Any, X: np.ndarray, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **given)


def _contrastive(X: np.ndarray, P: np.ndarray, N: np.ndarray, h: int, kernel: Any = _POLYNOMIAL, **options: Any) -> Any:
    model = KernelContrastive(h, kernel=kernel, negatives="permutation", **options)
    return _fit(model, X, positives=P, negatives=N)


def _form(X: np.ndarray, P: np.ndarray, N: np.ndarray) -> np.ndarray:
    """Quadratic form of the simple loss over all features: the loss of weights ``W`` is ``Tr(W^T M W)``."""
    M = _features(X).T @ (_features(N) - _features(P))
    return np.asarray(0.5 * (M + M.T))


def _printed_kernels(kernel: Any, X: np.ndarray, P: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, ...]:
    """``K_3``, ``K_1`` with the transpose of ``K_3`` in its lower left block, and ``K_2`` of theorem 3."""

    def k(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(kernel(A, B))

    K, K3 = k(X, X), k(X, N) - k(X, P)
    delta = k(N, N) + k(P, P) - k(N, P) - k(P, N)
    B = np.vstack([K3, delta]) @ np.hstack([K, K3])
    return K3, np.block([[K, K3], [K3.T, delta]]), -0.5 * (B + B.T)


def _inverse_root(K: np.ndarray, cut: float = 0.0) -> np.ndarray:
    w, V = np.linalg.eigh(K)
    kept = w > cut * w.max()
    return np.asarray(V[:, kept] / np.sqrt(w[kept]) @ V[:, kept].T)


@run_of("krl-thm1")
def theorem_1(fast: bool) -> Answer:
    """Descent over all weights: what of the answer lies outside of the span of the data."""
    found: dict[str, list[float]] = {"spectral loss, squared norm": [], "squared error, norm as printed": []}
    for seed in range(200):
        X, P, N = _triples(seed, 2, 3)  # six points in ten features
        try:
            reg = float(_contrastive(X, P, N, 2, loss="spectral").reg_)
        except InputError:  # this draw has no minimum but zero
            continue
        if len(found["spectral loss, squared norm"]) == (2 if fast else 20):
            break
        A, B, C = (torch.as_tensor(_features(one)) for one in (X, P, N))
        rng = np.random.default_rng(seed)
        points, targets = torch.cat([A, B, C]), torch.as_tensor(rng.normal(size=(6, 2)))

        def spectral(W: Any, A: Any = A, B: Any = B, C: Any = C, reg: float = reg) -> Any:
            z, p, q = A @ W, B @ W, C @ W
            return (-2.0 * (z * p).sum(1) + (z * q).sum(1) ** 2).sum() + reg * (W**2).sum()

        def squares(W: Any, points: Any = points, targets: Any = targets) -> Any:
            return ((points @ W - targets) ** 2).sum() + 0.1 * (W**2).sum().sqrt()

        span = np.linalg.qr(points.numpy().T)[0]
        for name, loss in zip(found, (spectral, squares), strict=True):
            W = _least(loss, rng)
            found[name].append(float(np.linalg.norm(W - span @ (span.T @ W))) / max(float(np.linalg.norm(W)), 1e-12))
    judged = equal([value for row in found.values() for value in row], tolerance=1e-5, name="largest share outside:")
    told = ", ".join(f"{name} {max(row):.1e} of {len(row)} problems" for name, row in found.items())
    ours = "does not apply: our maps are combinations of the data, by construction"
    return {"a": Part(judged.saying(f"largest share outside of the span: {told} (at most 1e-05)"), ours)}


def _least(loss: Any, rng: np.random.Generator) -> np.ndarray:
    """Weights (10, 2) of least loss, of five descents."""

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        W = torch.tensor(flat.reshape(10, 2), requires_grad=True)
        found = loss(W)
        found.backward()
        return float(found.detach()), np.asarray(W.grad).ravel()

    options = {"ftol": 1e-18, "gtol": 1e-12, "maxiter": 20000, "maxfun": 40000}
    starts = [rng.normal(size=20) for _ in range(5)]
    ends = [scipy.optimize.minimize(value, start, jac=True, method="L-BFGS-B", options=options) for start in starts]
    return np.asarray(min(ends, key=lambda one: float(one.fun)).x).reshape(10, 2)


def _in_the_ball(M: np.ndarray, h: int, rng: np.random.Generator) -> np.ndarray:
    """Projected descent of ``Tr(C^T M C)`` over ``C^T C <= I`` from a random start: a minimiser of problem (2)."""
    C = rng.normal(size=(len(M), h)) / len(M)
    step = 1.0 / np.abs(np.linalg.eigvalsh(M)).max()
    for _ in range(5000):
        U, s, V = np.linalg.svd(C - step * M @ C, full_matrices=False)
        C = U * np.minimum(s, 1.0) @ V
    return np.asarray(C)


@run_of("krl-thm2")
def theorem_2(fast: bool) -> Answer:
    """Two anchors have two negative eigenvalues: with two components both sides are true, with three both are false."""
    outside, excess, least = [], [], []
    for seed in range(3 if fast else 20):
        X, P, N = _triples(seed, 2, 3)  # six points in ten features: the complement has four dimensions
        M, rng = _form(X, P, N), np.random.default_rng(seed)
        w, V = np.linalg.eigh(M)
        assert (w < -1e-9).sum() == 2
        full = np.linalg.qr(np.vstack([_features(one) for one in (X, P, N)]).T, mode="complete")[0]
        span, beyond = full[:, :6], full[:, 6:]
        two, three = (_in_the_ball(span.T @ M @ span, h, rng) for h in (2, 3))
        model = _contrastive(X, P, N, 2)
        outside.append(
            max(
                float(np.linalg.norm(two.T @ two - np.eye(2))),  # problem (2): orthonormal
                float(np.trace(two.T @ span.T @ M @ span @ two) / w[:2].sum() - 1.0),
                float(np.linalg.norm(beyond.T @ V[:, :2])),  # problem (1): in the span
                abs(model.objective_ / w[:2].sum() - 1.0),
            )
        )
        W = np.hstack([V[:, :2], beyond[:, :1]])  # orthonormal; its last column is outside of the span
        excess.append(abs(float(np.trace(W.T @ M @ W)) / w[:3].sum() - 1.0))
        excess.append(abs(float(np.trace(three.T @ span.T @ M @ span @ three)) / w[:2].sum() - 1.0))
        least.append(float(np.linalg.norm(three.T @ three - np.eye(3))))
        assert not _contrastive(X, P, N, 3).representer_holds_
        assert model.representer_holds_
    told = (
        f"a minimiser of (2) has |W^T W - I| of {min(least):.2g} at least, and one of (1) a column outside of the span"
    )
    only = equal(excess if min(least) > 1e-3 else [np.inf], tolerance=1e-8, name="their losses above the minima:")
    name = "largest |W^T W - I| of a minimiser of (2), or part of one of (1) outside of the span:"
    return {
        "if": Part(equal(outside, tolerance=1e-8, name=name), _FORMULA),
        "onlyif": Part(
            only.saying(f"{told}; {only.found}"),
            "does not apply: our components without a positive eigenvalue are zero, with a warning",
        ),
    }


@run_of("krl-thm3")
def theorem_3(fast: bool) -> Answer:
    """The formulas as printed, but for one block, against eigenvectors over all features; the printed matrix."""
    errors, skew = [], []
    for seed in range(3 if fast else 20):
        X, P, N = _triples(seed, 3, 4)  # nine points in fifteen features
        new = np.random.default_rng(seed + 1000).normal(size=(5, 4))
        K3, K1, K2 = _printed_kernels(_POLYNOMIAL, X, P, N)
        root = _inverse_root(K1)
        mu, A2 = np.linalg.eigh(root @ K2 @ root)
        assert mu[-2] >= 0.0
        A = root @ A2[:, -2:]
        w, V = np.linalg.eigh(_form(X, P, N))

        def embed(points: np.ndarray, X: Any = X, P: Any = P, N: Any = N, A: Any = A) -> np.ndarray:
            differences = np.asarray(_POLYNOMIAL(points, N)) - np.asarray(_POLYNOMIAL(points, P))
            return np.asarray(np.hstack([np.asarray(_POLYNOMIAL(points, X)), differences]) @ A)

        loss = float((embed(X) * (embed(N) - embed(P))).sum())
        model = _contrastive(X, P, N, 2, strict=True)
        codes = (embed(new), model.transform(new), _features(new) @ V[:, :2])
        products = [Z @ Z.T for Z in codes]  # the same for every rotation of the components
        size = float(np.linalg.norm(products[2]))
        errors.append(
            max(
                abs(loss / w[:2].sum() - 1.0),
                float(np.linalg.norm(A.T @ K1 @ A - np.eye(2))),
                *(float(np.linalg.norm(one - products[2])) / size for one in products[:2]),
            )
        )
        skew.append(float(np.linalg.norm(K3 - K3.T) / np.linalg.norm(K3)))
    told = f"the lower left block is printed as K_3; it must be its transpose ({max(skew):.2g} of its norm apart)"
    return {
        "a": Part(equal(errors, tolerance=1e-8), _FORMULA),
        "printed": Part(equal(skew, tolerance=1e-12).saying(told), _FORMULA),
    }


def _definition_2(Z: np.ndarray, K_inverse: np.ndarray, reg: float, n: int) -> float:
    """The loss of theorem 4 at codes in rows."""
    a, p, q = Z[:n], Z[n : 2 * n], Z[2 * n :]
    return float((-2.0 * (a * p).sum(1) + (a * q).sum(1) ** 2).sum() + reg * np.trace(Z.T @ K_inverse @ Z))


def _slope_2(Z: np.ndarray, K_inverse: np.ndarray, reg: float, n: int) -> np.ndarray:
    """Its gradient as printed."""
    a, p, q = Z[:n], Z[n : 2 * n], Z[2 * n :]
    s = (a * q).sum(1)[:, None]
    return 2.0 * reg * K_inverse @ Z + np.vstack([-2.0 * p + 2.0 * s * q, -2.0 * a, 2.0 * s * a])


@run_of("krl-thm4")
def theorem_4(fast: bool) -> Answer:
    """Value, gradient, embedding of new points, and a direction along which the loss falls without end."""
    values, slopes, embedded, falls = [], [], [], []
    for seed in range(3 if fast else 20):
        X, P, N = _triples(seed, 10, 5)
        kernel, points = Gaussian(0.5), np.vstack([X, P, N])
        K = np.asarray(kernel(points))
        inverse, rng = np.linalg.inv(K), np.random.default_rng(seed)
        model = _contrastive(X, P, N, 2, kernel, loss="spectral", tol=1e-12, max_iter=20000)
        Z, reg = model.transform(points), float(model.reg_)
        terms = -2.0 * (Z[:10] * Z[10:20]).sum(1) + (Z[:10] * Z[20:]).sum(1) ** 2
        definition = float(terms.sum()) + reg * model.map_norm_**2
        rest = np.linalg.norm(_slope_2(Z, inverse, reg, 10)) / np.linalg.norm(2.0 * reg * inverse @ Z)
        values.append(max(abs(_definition_2(Z, inverse, reg, 10) / definition - 1.0), 1e-3 * float(rest)))
        new = rng.normal(size=(5, 5))
        by_formula = np.asarray(kernel(new, points)) @ inverse @ Z
        embedded.append(float(np.linalg.norm(model.transform(new) - by_formula) / np.linalg.norm(by_formula)))
        Z, D, h = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), 1e-5
        up, down = (_definition_2(Z + sign * h * D, inverse, 0.5, 10) for sign in (1.0, -1.0))
        slopes.append(abs(float((_slope_2(Z, inverse, 0.5, 10) * D).sum()) / ((up - down) / (2.0 * h)) - 1.0))
        a = Z[:10]
        ray = np.vstack([a, a, 0.0 * a])  # anchors and positives alike, negatives zero
        small = 0.1 * 2.0 * float((a * a).sum()) / float(np.trace(ray.T @ inverse @ ray))
        falls.append([_definition_2(far * ray, inverse, small, 10) for far in (1e3, 1e4)])
    lowest, left = np.array(falls), "largest relative error, or a thousandth of the gradient left,"
    told = f"for a small lambda it is unbounded: {lowest[:, 0].max():.1e} a thousand times along a ray, "
    told += f"{lowest[:, 1].max():.1e} ten thousand times"
    return {
        "value": Part(equal(values, tolerance=1e-8, name=left), _FORMULA),
        "gradient": Part(equal(slopes, tolerance=1e-5), _FORMULA),
        "new": Part(equal(embedded, tolerance=1e-8), _FORMULA),
        "minimum": Part(
            equal(np.maximum(0.0, -lowest[:, 1]), tolerance=1e6).saying(told),
            "does not apply: our default has all points as negatives, where the loss is bounded for every lambda",
        ),
    }


_CODES = Gaussian(2.0)


def _definition_3(K: np.ndarray, Z: np.ndarray, X: np.ndarray, lam: float) -> float:
    """Least loss of definition 3 over the maps that give the codes ``Z``: least norms, least squares."""
    KZ = np.asarray(_CODES(Z))
    w, V = np.linalg.eigh(KZ)
    root = V * np.sqrt(np.maximum(w, 0.0)) @ V.T
    rows = np.vstack([root, lam**0.5 * np.eye(len(Z))])
    B = np.linalg.lstsq(rows, np.vstack([X, np.zeros_like(X)]), rcond=None)[0]  # in an orthonormal basis
    A = np.linalg.solve(K, Z)
    return float(((X - root @ B) ** 2).sum() + lam * (A * (K @ A)).sum() + lam * (B**2).sum())


def _theorem_5(K: np.ndarray, Z: np.ndarray, X: np.ndarray, lam: float) -> float:
    """The expression as printed, with codes and samples in rows."""
    KZ = np.asarray(_CODES(Z))
    Q = KZ @ np.linalg.solve(KZ + lam * np.eye(len(Z)), X)
    norms = np.trace(Z.T @ np.linalg.solve(K, Z)) + np.trace(Q.T @ np.linalg.solve(KZ, Q))
    return float(((Q - X) ** 2).sum() + lam * norms)


def _sphere(X: np.ndarray, **options: Any) -> Any:
    return _fit(
        KernelAutoencoder(
            3, kernel=Gaussian(2.0), decoder_kernel=_CODES, constraint="sphere", reg=1e-2, max_iter=30, **options, **KAE
        ),
        X,
    )


@run_of("krl-thm5")
def theorem_5(fast: bool) -> Answer:
    """Printed expression, definition and fitted objective (our scale: half of it over n); new points."""
    errors, new_errors = [], []
    for seed in range(3 if fast else 20):
        rng = np.random.default_rng(seed)
        X, new, lam = rng.normal(size=(12, 4)), rng.normal(size=(5, 4)), 12 * 1e-2
        model = _sphere(X)
        K = np.asarray(Gaussian(2.0)(X)) + 1e-8 * np.eye(12)  # what our model adds
        other = rng.normal(size=(12, 3))
        found = [2.0 * 12 * model.objective_ / _theorem_5(K, model.codes_, X, lam)]
        for Z in (model.codes_, other / np.linalg.norm(other, axis=1, keepdims=True)):
            found.append(_theorem_5(K, Z, X, lam) / _definition_3(K, Z, X, lam))
        errors.append(max(abs(ratio - 1.0) for ratio in found))
        errors[-1] = max(errors[-1], float(np.abs((model.codes_**2).sum(1) - 1.0).max()))
        codes = np.asarray(Gaussian(2.0)(new, X)) @ np.linalg.solve(K, model.codes_)
        KZ = np.asarray(_CODES(model.codes_))
        back = np.asarray(_CODES(codes, model.codes_)) @ np.linalg.solve(KZ + lam * np.eye(12), X)
        ours = model.transform(new)
        pairs = ((ours, codes), (model.inverse_transform(ours), back))
        new_errors.append(max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs))
    same = "does not apply: the same formula, only the scale differs"
    return {"a": Part(equal(errors, tolerance=1e-8), same), "new": Part(equal(new_errors, tolerance=1e-8), same)}


@run_of("krl-rem2")
def remark_2(fast: bool) -> Answer:
    """The same with the Gram matrix of noisy inputs."""
    errors = []
    for seed in range(3 if fast else 20):
        X = np.random.default_rng(seed).normal(size=(12, 4))
        model = _sphere(X, noise=GaussianNoise(0.3, relative=False, copies=1), random_state=seed)
        K = np.asarray(Gaussian(2.0)(model.model_.encoder.map.items)) + 1e-8 * np.eye(12)
        value = _theorem_5(K, model.layer_codes_[0], X, 12 * 1e-2)
        errors.append(abs(2.0 * 12 * model.objective_ / value - 1.0))
    return {"a": Part(equal(errors, tolerance=1e-8), "does not apply: the same formula, only the scale differs")}


@run_of("krl-rem1")
def remark_1(fast: bool) -> Answer:
    """Every feature of a Gaussian kernel has norm one: a projection of another norm is the feature of no point."""
    apart, losses = [], []
    for seed in range(2 if fast else 10):
        X, k = np.random.default_rng(seed).normal(size=(40, 2)), Gaussian(0.5)
        K, H = np.asarray(k(X)), np.eye(40) - 1.0 / 40
        w, U = np.linalg.eigh(H @ K @ H)
        projections = 1.0 / 40 + H @ U[:, -1:] @ U[:, -1:].T  # a column a point, in coefficients of the features
        norms = np.sqrt((projections * (K @ projections)).sum(0))
        apart += ((1.0 - norms) ** 2 / norms**2).tolist()
        kernel_loss = float(w[:-1].sum())
        model = _fit(KernelAutoencoder(1, kernel=k, decoder_kernel=Gaussian(1.0), reg=1e-3, max_iter=100, **KAE), X)
        input_loss = float(model.reconstruction_error(X).sum())
        losses.append(abs(kernel_loss - input_loss) / max(kernel_loss, input_loss))
    name = "squared distance of a projection to any feature, over its squared norm, at least:"
    share = float(np.mean(np.array(apart) >= 1e-3))
    some = shows(apart, at_least=1e-3, draws=0.5, name=name)
    two = shows(losses, at_least=1e-3, draws=1.0, name="relative difference of the losses").limited("by construction")
    return {
        "preimage": Part(
            some.saying(f"no pre-image of {share:.0%} of {len(apart)} projections: {some.found}"), _FORMULA
        ),
        "losses": Part(two, _FORMULA),
    }


_SIZES = (25, 50, 100, 200, 400)
_MANY = (25, 100, 400, 1600)


def _two_clusters(n: int, seed: int) -> tuple[float, float]:
    """Gap between test and training loss of a map that fits the training points and sends others to the wrong side.

    Points are ``s (1 + u / 2)`` with a random sign ``s``; codes are 1 or -1, the decoder is the identity, of norm one.
    The encoder lies in the space of the kernel ``exp(-|x - x'|)``; its squared norm is the second number. Of all
    functions with the same values at its nodes it has the least norm: a closed form between neighbours.
    """
    rng = np.random.default_rng(seed)

    def points(m: int) -> tuple[np.ndarray, np.ndarray]:
        sign = rng.choice((-1.0, 1.0), size=m)
        return sign * (1.0 + 0.5 * rng.random(m)), sign

    (x, sign), (fresh, _) = points(n), points(5000)
    width = min(0.1 * float(np.diff(np.sort(x)).min()), 1.0 / (400 * n))
    grid = np.concatenate([np.linspace(-1.5, -1.0, 6), np.linspace(1.0, 1.5, 6)])
    nodes = np.concatenate([x, x - width, x + width, grid])
    order = np.argsort(nodes)
    nodes, values = nodes[order], np.concatenate([sign, -sign, -sign, -np.sign(grid)])[order]
    steps = np.diff(nodes)

    def error(a: np.ndarray) -> float:
        i = np.clip(np.searchsorted(nodes, a) - 1, 0, len(steps) - 1)
        left, right = np.sinh(nodes[i + 1] - a), np.sinh(a - nodes[i])
        codes = (values[i] * left + values[i + 1] * right) / np.sinh(steps[i])
        return float(((a - codes) ** 2).mean())

    decay = np.exp(-steps)
    norm = values[0] ** 2 + float(((values[1:] - decay * values[:-1]) ** 2 / -np.expm1(-2.0 * steps)).sum())
    return error(fresh) - error(x), norm


@run_of("krl-thm6-7")
def bounds(fast: bool) -> Answer:
    """Terms by the number of points; the gap between test and training loss; a case that theorem 7 does not cover."""
    sizes, groups, draws = (_SIZES[:3], 2, 2) if fast else (_SIZES, 4, 5)

    def triples(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        X, _ = make_moons(n, noise=0.1, random_state=seed)
        N, _ = make_moons(n, noise=0.1, random_state=seed + 10**6)
        return X, X + 0.1 * rng.normal(size=X.shape), N

    def gap(n: int, seed: int) -> float:
        model = _contrastive(*triples(n, seed), 2, Gaussian(1.0))
        a, p, q = (model.transform(one) for one in triples(4000, seed + 5000))
        return abs(float((a * (q - p)).sum(1).mean()) - model.objective_ / n)

    def slope(values: Any) -> float:
        return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])

    slopes, wrong, terms_7 = [], [], []
    for group in range(groups):
        slopes.append(slope([np.mean([gap(n, 100 * group + draw) for draw in range(draws)]) for n in sizes]))
        wrong.append([_two_clusters(n, group) for n in _MANY])
    for n in _MANY:  # r = lambda (omega_1^2 + 1) = 1/n, omega_2 = gamma = d = 1, delta = .05
        terms_7.append(1.0 / n + n**-0.5 + float(np.sqrt(np.log(20.0) / n)))
    traces = [float(np.trace(np.asarray(Gaussian(1.0)(triples(n, 0)[0])))) for n in sizes]
    terms = {
        "theorem 6, alpha of sqrt(h) Tr K as our text prints it": [
            slope([2**0.5 * t / n for n, t in zip(sizes, traces, strict=True)])
        ],
        "theorem 6, alpha of sqrt(h Tr K)": [slope([(2 * t) ** 0.5 / n for n, t in zip(sizes, traces, strict=True)])],
        "theorem 7": [slope([n**-0.5 for n in sizes])],
    }
    falls = shows(terms, at_most=-0.3, name="slope of the log of the complexity term in log n")
    told = "; ".join(f"{name} {values[0]:+.2f}" for name, values in terms.items())
    gaps, norms = np.moveaxis(np.array(wrong), -1, 0)
    falling = [float(np.polyfit(np.log(_MANY), np.log(row), 1)[0]) for row in gaps]
    limit = shows(falling, at_most=-0.3, name="slope of the log of the gap in log n")
    return {
        "bounds": Part(cannot("the O(.) terms have no constants: no number can be compared"), _FORMULA),
        "term": Part(falls.saying(f"slope of the log of the term in log n: {told} (at most -0.3)"), _FORMULA),
        "decrease": Part(
            shows(slopes, at_most=-0.3, name="slope of the log of the mean absolute gap in log n"), _FORMULA
        ),
        "limit": Part(
            limit.saying(
                f"{limit.found}: the gap is {gaps.min():.2f} to {gaps.max():.2f} at n = {_MANY[0]} to {_MANY[-1]:,}, "
                f"while the terms fall from {terms_7[0]:.2f} to {terms_7[-1]:.2f}; omega_1^2 is up to {norms.max():.1e}"
            ),
            _FORMULA,
        ),
    }


@run_of("krl-downstream")
def downstream(fast: bool) -> Answer:
    """The bound has unknown constants; whether a smaller loss goes with fewer errors, over maps of one class."""
    X, y = load_iris(return_X_y=True)
    found = []
    for split in range(2 if fast else 20):
        hidden, lab, test = split_rows(y, split)
        A, rng = X[np.r_[hidden, lab]], np.random.default_rng(split)
        P, N = A + 0.1 * A.std(0) * rng.normal(size=A.shape), A[rng.permutation(len(A))]
        kernel = Gaussian(1.0)
        _, K1, K2 = _printed_kernels(kernel, A, P, N)
        root = _inverse_root(K1, 1e-6)
        best = np.linalg.eigh(root @ K2 @ root)[1][:, -2:]

        def rows(points: np.ndarray, A: Any = A, P: Any = P, N: Any = N, kernel: Any = kernel) -> np.ndarray:
            kP, kN = np.asarray(kernel(points, P)), np.asarray(kernel(points, N))
            return np.hstack([np.asarray(kernel(points, A)), kN - kP])

        losses, errors = [], []
        for t in np.linspace(0.0, 1.0, 5 if fast else 30):
            random = np.linalg.qr(root @ K1 @ rng.normal(size=best.shape))[0]
            W = root @ np.linalg.qr((1.0 - t) * best + t * random)[0]
            z, p, q, Z, Z_test = (rows(one) @ W for one in (A, P, N, X[lab], X[test]))
            losses.append(float((z * (q - p)).sum()))
            errors.append(1.0 - KNeighborsClassifier(3).fit(Z, y[lab]).score(Z_test, y[test]))
        found.append(float(spearmanr(losses, errors).statistic))
    smaller = direction(found, sign=1, overlap=0.45 / 0.55, name="rank correlation of loss and error:")
    return {
        "a": Part(
            cannot("c_1 and c_2 stand in an appendix that we do not have; without them it says nothing"),
            "does not apply",
        ),
        "better": Part(cannot("it is said of the bound, which has unknown constants"), _FORMULA, (smaller,)),
    }
