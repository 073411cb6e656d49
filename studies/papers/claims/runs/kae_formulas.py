"""Kernel PCA, the representer theorem and the formulas of the paper on kernel autoencoders (2019)."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
import torch

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.kernels import Gaussian, Linear
from rkhs.problems.autoencoder import items_autoencoder
from rkhs.solvers import Alternating
from studies.papers.claims.conditions import KAE
from studies.papers.claims.rules import Judged, equal, shows
from studies.papers.claims.verdicts import Answer, Part, run_of

_FORMULA = "no defaults enter: a formula"
_PLUS = "does not apply: the default model has free linear parts, which this statement does not cover"


def _fitted(model: Any, *data: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a run is judged by its numbers
        return model.fit(*data)


# ---------------------------------------------------------------- kernel PCA


def _against_rank(K: np.ndarray, p: int) -> float:
    """The larger of: relative error of the least objective; squared sine between the spaces, which is of its order."""
    n = len(K)
    w, U = np.linalg.eigh(K)
    model = _fitted(
        KernelAutoencoder(
            p, kernel="precomputed", decoder_kernel=Linear(), reg=(1e-8, 1e-8), tol=1e-12, max_iter=5000, **KAE
        ),
        K,
    )
    left = 0.5 * float(w[:-p].sum()) / n
    Q = np.linalg.qr(model.codes_)[0]
    sine = float(np.linalg.norm(Q @ Q.T - U[:, -p:] @ U[:, -p:].T, 2))
    return max(abs(model.objective_ / left - 1.0), sine**2)


def _printed_codes(F: np.ndarray, p: int) -> float:
    """Relative error of the rank that the printed matrices reach, and of their codes beside those of kernel PCA."""
    U, sigma, Vt = np.linalg.svd(F, full_matrices=False)
    A, B, K = U[:, :p] * sigma[:p] ** -1.5, U @ Vt, F @ F.T
    Y = K @ A
    best = np.linalg.norm(sigma[p:])
    pca = KernelPCA(p, kernel="precomputed", center=False).fit(K).transform(K)
    whitened = np.abs(pca / np.sqrt(sigma[:p])) - np.abs(Y)
    return float(max(abs(np.linalg.norm(F - Y @ Y.T @ B) / best - 1.0), np.abs(whitened).max() / np.abs(Y).max()))


@run_of("kae-kpca")
def kernel_pca(fast: bool) -> Answer:
    """Value and projector, in vectors and in the features of a Gaussian kernel."""
    rng = np.random.default_rng(0)
    found: dict[str, list[float]] = {"value": [], "codes": [], "kernel": []}
    for _ in range(2 if fast else 20):
        X, p = rng.normal(size=(25, 6)) * [3.0, 2.0, 1.5, 1.0, 0.7, 0.5], int(rng.integers(1, 4))
        found["value"].append(_against_rank(X @ X.T, p))
        found["codes"].append(_printed_codes(X, p))
        found["kernel"].append(_against_rank(np.asarray(Gaussian(0.1)(X)), p))
    answers = {}
    for part, errors in found.items():
        exact = part == "codes"
        name = f"largest error of {'rank and codes' if exact else 'value and squared sine'}"
        answers[part] = Part(equal(errors, tolerance=1e-8 if exact else 1e-5, name=name), _PLUS)
    return answers


# ---------------------------------------------------------------- Theorem 6


def _features(X: torch.Tensor) -> torch.Tensor:
    """Of the kernel ``(x y + 1)^2``."""
    d = X.shape[1]
    i, j = torch.triu_indices(d, d)
    twice = torch.where(i == j, 1.0, 2.0**0.5).to(X)
    return torch.cat([X[:, i] * X[:, j] * twice, 2.0**0.5 * X, torch.ones(len(X), 1).to(X)], 1)


def _outside(X: np.ndarray, widths: tuple[int, ...], reg: float, seed: int) -> float:
    """Share of the squared weights of a layer outside of the span of its features, at a minimum: the largest."""
    T, sizes = torch.as_tensor(X), (X.shape[1], *widths, X.shape[1])
    shapes = [(_features(torch.zeros(1, a).double()).shape[1], b) for a, b in itertools.pairwise(sizes)]

    def layers(flat: torch.Tensor) -> list[torch.Tensor]:
        parts = flat.split([a * b for a, b in shapes])
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w, Z = torch.tensor(flat, requires_grad=True), T
        for W in layers(w):
            Z = _features(Z) @ W
        value = 0.5 * ((T - Z) ** 2).sum(1).mean() + 0.5 * reg * (w**2).sum()
        value.backward()
        return float(value.detach()), np.asarray(w.grad)

    start = 0.5 * np.random.default_rng(seed).normal(size=sum(a * b for a, b in shapes))
    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-10}
    found = scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    shares, Z = [], T
    for W in layers(torch.tensor(found.x)):
        F = _features(Z)
        inside = torch.linalg.pinv(F) @ (F @ W)
        shares.append(float(((W - inside) ** 2).sum() / (W**2).sum().clamp_min(1e-300)))
        Z = F @ W
    return max(shares)


@run_of("kae-thm6")
def theorem_6(fast: bool) -> Answer:
    """Minimisers over weights lie in the span of the features of the points, which are fewer than the features."""
    answers = {}
    for name, widths in (("two", (2,)), ("three", (3, 2))):
        points = [np.random.default_rng(seed).normal(size=(4, 2)) for seed in range(2 if fast else 20)]
        shares = [_outside(X, widths, 1e-2, seed) for seed, X in enumerate(points)]
        answers[name] = Part(equal(shares, tolerance=1e-5, name="largest share outside of the span"), _PLUS)
    return answers


# ---------------------------------------------------------------- gradients, cost, distortion


def _difference_error(value: Callable[[np.ndarray], float], point: np.ndarray, G: np.ndarray) -> float:
    """Relative error of a slope against central differences along a drawn direction."""
    D = np.random.default_rng(3).normal(size=point.shape)
    h = 1e-5
    slope = (value(point + h * D) - value(point - h * D)) / (2.0 * h)
    return abs(float((G * D).sum()) / slope - 1.0)


Layers = tuple[list[np.ndarray], list[np.ndarray], list[float]]


def _layers(n: int, sizes: tuple[int, ...], rng: np.random.Generator) -> Layers:
    """Coefficients, positive operators, and bandwidths of the layers."""
    parts = [0.3 * rng.normal(size=(n, d)) for d in sizes]
    roots = [np.eye(d) + 0.3 * rng.normal(size=(d, d)) for d in sizes]
    return parts, [root @ root.T for root in roots], [0.3, *[1.0] * (len(sizes) - 1)]


def _objective(X: np.ndarray, layers: Layers, reg: float) -> float:
    """(4), layer by layer, from its definition."""
    Z, penalty = X, 0.0
    for Phi, A, gamma in zip(*layers, strict=True):
        K = np.asarray(Gaussian(gamma)(Z))
        penalty += float((Phi * (K @ Phi @ A)).sum())
        Z = K @ Phi @ A
    return float(((X - Z) ** 2).sum(1).mean()) + reg * penalty


def _printed_gradient(X: np.ndarray, layers: Layers, reg: float) -> list[np.ndarray]:
    """(9), (11) and (12), with the Jacobians of B.3 and the matrices of B.4 for Gaussian kernels, term by term."""
    parts, operators, gammas = layers
    Z, Ks = [X], []
    for Phi, A, gamma in zip(*layers, strict=True):
        Ks.append(np.asarray(Gaussian(gamma)(Z[-1])))
        Z.append(Ks[-1] @ Phi @ A)
    slopes = [-2.0 * g * K[:, :, None] * (z[:, None] - z[None]) for g, K, z in zip(gammas, Ks, Z[:-1], strict=True)]
    found = []
    for first, (Phi, A, K) in enumerate(zip(parts, operators, Ks, strict=True)):
        G = 2.0 * reg * K @ Phi @ A  # (11)
        J = K[:, :, None, None] * A  # own Jacobian; J[i, k] of the code of i in the coefficient of k
        for layer in range(first + 1, len(parts)):
            P, D = parts[layer], slopes[layer]
            N = P @ operators[layer] @ P.T
            G = G + 2.0 * reg * np.einsum("ij,ija,ikab->kb", N, D, J, optimize=True)  # (12)
            J = np.einsum("jp,ija,ikab->ikpb", P, D, J, optimize=True) + np.einsum(
                "jp,jia,jkab->ikpb", P, D, J, optimize=True
            )
            J = np.einsum("qp,ikpb->ikqb", operators[layer], J)
        found.append(G - 2.0 / len(X) * np.einsum("ia,ikab->kb", X - Z[-1], J))  # (9)
    return found


def _polynomial_errors(rng: np.random.Generator, c: int) -> tuple[float, float]:
    """Errors of the slopes of ``<x, x'>^c`` of B.4: from its formula, and from powers of the Gram matrix."""
    X, D, h = rng.normal(size=(10, 3)), rng.normal(size=3), 1e-5
    inner = X @ X.T
    slope = (((X + h * D) @ X.T) ** c - ((X - h * D) @ X.T) ** c) / (2.0 * h)
    with np.errstate(invalid="ignore"):
        powers = (inner ** (c - 1), (inner**c) ** ((c - 1) / c))
    found = [float(np.abs(c * P * (X @ D) - slope).max() / np.abs(slope).max()) for P in powers]
    return found[0], found[1]


def _held_errors(X: np.ndarray, rng: np.random.Generator) -> float:
    """(14) with ``N_L`` of (54) against the distortion, the last layer held; and the whole, that layer eliminated."""
    n, reg, Phi = len(X), 1e-2, 0.3 * rng.normal(size=(len(X), 2))
    K1 = np.asarray(Gaussian(0.3)(X))

    def inside(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        K2 = np.asarray(Gaussian(1.0)(K1 @ P))
        return K2, scipy.linalg.solve(K2 + n * reg * np.eye(n), X)

    K2, B = inside(Phi)
    W = np.linalg.inv(K2 + n * reg * np.eye(n))
    N, Z = W @ (X @ X.T) @ W, K1 @ Phi

    def pulled(M: np.ndarray) -> np.ndarray:
        """Gradient in the coefficients of ``sum M_ij k(z_i, z_j)``, ``M`` symmetric and held."""
        S = M * K2
        return np.asarray(K1 @ (-4.0 * (S.sum(1)[:, None] * Z - S @ Z)))

    # (14) and (13): -2/n sum_ij n reg N_ij dk(z_i, z_j), each of (z_i, z_j) moving; the norm of the last layer: (12).
    distortion, norm = pulled(-2.0 * reg * N), pulled(reg * N)

    def held(P: np.ndarray) -> float:
        return float(((X - inside(P)[0] @ B) ** 2).sum(1).mean())

    def eliminated(P: np.ndarray) -> float:
        K, best = inside(P)
        loss = float(((X - K @ best) ** 2).sum(1).mean())
        return loss + reg * float((best * (K @ best)).sum()) + reg * float((P * (K1 @ P)).sum())

    whole = distortion + norm + 2.0 * reg * K1 @ Phi
    return max(_difference_error(held, Phi, distortion), _difference_error(eliminated, Phi, whole))


@run_of("kae-grad")
def gradients(fast: bool) -> Answer:
    """The printed formulas against finite differences of the objective as it is defined; the scheme step by step."""
    errors, reduced, rises = [], [], []
    slopes: dict[int, list[tuple[float, float]]] = {2: [], 3: []}
    for seed in range(2 if fast else 20):
        rng = np.random.default_rng(seed)
        sizes, X = ((2, 2, 3) if seed % 2 else (2, 3)), rng.normal(size=(10, 3))
        layers = _layers(10, sizes, rng)
        flat, cuts = np.concatenate(layers[0], 1), np.cumsum(sizes)[:-1]

        def value(flat: np.ndarray, X: np.ndarray = X, layers: Layers = layers, cuts: np.ndarray = cuts) -> float:
            return _objective(X, (np.split(flat, cuts, 1), *layers[1:]), 1e-2)

        errors.append(_difference_error(value, flat, np.concatenate(_printed_gradient(X, layers, 1e-2), 1)))
        reduced.append(_held_errors(X, rng))
        for c, kept in slopes.items():
            kept.append(_polynomial_errors(rng, c))
        options: dict[str, Any] = {"kernel": Gaussian(0.3), "decoder_kernel": Gaussian(1.0), "reg": 1e-2}
        solver = Alternating(max_iter=30, tol=0.0)
        model = KernelAutoencoder(2, init="random", random_state=seed, solver=solver, **options, **KAE)
        values = [row["value"] for row in _fitted(model, rng.normal(size=(15, 3))).history_]
        rises.append(max(0.0, *(b / a - 1.0 for a, b in itertools.pairwise(values))))
    descent = equal(rises, tolerance=0.0, name="largest rise in a round").limited("by construction")
    formula, powers = np.moveaxis(np.array(list(slopes.values())), -1, 0)  # each (powers, draws)
    told = f"largest error {powers[0].max():.1e} for c = 2: the sign is lost where <x, x'> is negative"
    told += f"; {powers[1].max():.1e} for c = 3: a root of a negative number"
    return {
        "gradient": Part(equal(errors, tolerance=1e-5), _FORMULA),
        "polynomial": Part(equal(formula.ravel(), tolerance=1e-5), _FORMULA),
        "powers": Part(equal(powers.ravel(), tolerance=1e-5).saying(told), _FORMULA),
        "reduced": Part(equal(reduced, tolerance=1e-5), _FORMULA),
        "descent": Part(descent, _PLUS),
    }


def _seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def _slope(sizes: tuple[int, ...], work: Callable[[int], Callable[[], object]]) -> float:
    return float(np.polyfit(np.log(sizes), np.log([_seconds(work(size)) for size in sizes]), 1)[0])


def _drawn(n: int, L: int, p: int) -> tuple[np.ndarray, Layers, float]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, p)), _layers(n, (p,) * L, rng), 1e-2


def _reverse(n: int, p: int) -> Callable[[], object]:
    """Our value and gradient of two layers."""
    rng = np.random.default_rng(0)
    X, coefficients = (torch.as_tensor(0.3 * rng.normal(size=(n, width))) for width in (3, p + 3))
    K = torch.as_tensor(np.asarray(Gaussian(0.3)(X.numpy())))
    problem = items_autoencoder(K, X, (Gaussian(1.0),), (p,), (1e-2, 1e-2), moving=True)
    point = problem.encoder.pack(coefficients[:, :p], [coefficients[:, p:]])
    return lambda: problem.value_and_grad(point)


@run_of("kae-cost")
def cost(fast: bool) -> Answer:
    """Slopes of log time of the formulas as they are written; our gradient beside."""
    sizes: dict[str, tuple[tuple[int, ...], ...]] = {
        "objective": ((400, 800, 1600, 3200), (2, 4, 8, 16), (4, 16, 64)),
        "gradient": ((20, 40, 80, 160), (2, 4, 8), (2, 4, 8, 16)),
    }
    if fast:
        sizes = {name: tuple(row[:2] for row in rows) for name, rows in sizes.items()}
    fixed = {"objective": (800, 2, 4), "gradient": (24, 2, 3)}
    powers = {"objective": (2.0, 1.0, 1.0), "gradient": (3.0, 2.0, 3.0)}
    run: dict[str, Callable[..., object]] = {"objective": _objective, "gradient": _printed_gradient}

    def slopes(name: str) -> list[float]:
        def at(place: int) -> Callable[[int], Callable[[], object]]:
            def work(size: int) -> Callable[[], object]:
                given = [size if i == place else one for i, one in enumerate(fixed[name])]
                drawn = _drawn(*given)
                return lambda: run[name](*drawn)

            return work

        return [_slope(row, at(place)) for place, row in enumerate(sizes[name])]

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = {name: np.array([slopes(name) for _ in range(3)]) for name in sizes}
        by_n = [_slope(sizes["objective"][0], lambda n: _reverse(n, 4)) for _ in range(3)]
        by_p = [_slope(sizes["objective"][2], lambda p: _reverse(sizes["objective"][0][1], p)) for _ in range(3)]
    finally:
        torch.set_num_threads(threads)

    def judged(name: str) -> Judged:
        over = (found[name] - powers[name]).max(1)
        told = ", ".join(
            f"{mean:.2f} in {letter} (printed {power:g})"
            for mean, letter, power in zip(found[name].mean(0), "nLp", powers[name], strict=True)
        )
        return shows(over, at_most=0.3).saying(f"slopes of log time {told}")

    ours = (
        shows(by_n, at_most=2.3, name="our gradient by reverse mode: slope of log time in n"),
        shows(by_p, at_most=1.3, name="the same in p"),
    )
    return {"objective": Part(judged("objective"), _FORMULA), "gradient": Part(judged("gradient"), _FORMULA, ours)}


@run_of("kae-b7")
def distortion(fast: bool) -> Answer:
    """Distortion of new points by kernel values, and in the features."""
    errors = []
    for seed in range(3 if fast else 20):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(20, 2)), rng.normal(size=(7, 2))
        F, G = (_features(torch.as_tensor(one)).numpy() for one in (X, new))
        model = _fitted(
            KernelAutoencoder(2, kernel="precomputed", decoder_kernel=Gaussian(1.0), reg=1e-2, max_iter=50, **KAE),
            F @ F.T,
        )
        found = model.reconstruction_error(G @ F.T, diag=(G**2).sum(1))
        C = np.asarray(Gaussian(1.0)(model.transform(G @ F.T), model.codes_))
        W = np.asarray(Gaussian(1.0)(model.codes_)) + 20 * 1e-2 * np.eye(20)
        direct = ((G - C @ np.linalg.solve(W, F)) ** 2).sum(1)
        inverse = np.linalg.inv(W)
        N, cross = inverse @ (F @ F.T) @ inverse, G @ F.T
        printed = (G**2).sum(1) + ((C @ N) * C).sum(1) - 2.0 * ((C @ inverse) * cross).sum(1)
        errors.append(float(np.abs(np.r_[found / direct, printed / direct] - 1.0).max()))
    return {"a": Part(equal(errors, tolerance=1e-8), _FORMULA)}


# ---------------------------------------------------------------- figure 4


def _hessian(a: float, b: float, lam: float, mu: float, corrected: bool) -> np.ndarray:
    """Of ``(1 - a^2 b)^2 + lam a^2 + mu b^2``, the last term times ``a^2`` in the corrected one."""
    aa = -4.0 * b + 12.0 * a**2 * b**2 + 2.0 * lam + (2.0 * mu * b**2 if corrected else 0.0)
    ab = -4.0 * a + 8.0 * a**3 * b + (4.0 * mu * a * b if corrected else 0.0)
    bb = 2.0 * a**4 + 2.0 * mu * (a**2 if corrected else 1.0)
    return np.array([[aa, ab], [ab, bb]])


def _value(a: np.ndarray | float, b: np.ndarray | float, lam: float, mu: float, corrected: bool) -> Any:
    return (1.0 - a**2 * b) ** 2 + lam * a**2 + mu * b**2 * (a**2 if corrected else 1.0)


def _below(a: float, b: float, lam: float, mu: float, corrected: bool) -> float:
    """By how much the lowest value within .04 of a point is below its own: zero at a local minimum."""
    near = np.linspace(-0.04, 0.04, 81)
    values = _value(a + near[:, None], b + near[None], lam, mu, corrected)
    return float(max(0.0, _value(a, b, lam, mu, corrected) - values.min()))


def _figure_4(corrected: bool) -> dict[str, float]:
    """By how much each statement fails: zero where it holds."""
    strengths = (0.0, 0.1, 0.5, 2.0, 10.0)
    pairs = list(itertools.product(strengths, strengths))
    weak = [(lam, mu) for lam, mu in pairs if lam + mu < 1.0 and min(lam, mu) > 0.0]
    not_local = max(_below(0.0, 0.0, lam, mu, corrected) for lam, mu in weak)
    best = max(_value(1.0, 1.0, lam, mu, corrected) for lam, mu in weak)
    lines = max(_below(0.0, b, 0.0, 0.0, corrected) for b in (-0.05, -1.0, -3.0))
    on_curve = max(_value(a, a**-2.0, 0.0, 0.0, corrected) for a in (0.3, 1.0, -2.0))
    grid = np.linspace(-12.0, 12.0, 97)
    convex = []
    for lam, mu in pairs:
        hessians = [_hessian(a, b, lam, mu, corrected) for a in grid for b in grid]
        convex.append(float(np.linalg.eigvalsh(np.array(hessians))[:, 0].min()))
    return {
        "a": not_local + float(best >= 1.0),
        "b": lines + on_curve + float(_value(0.0, -1.0, 0.0, 0.0, corrected) <= 0.0),
        "c": float(max(convex) >= 0.0),
    }


@run_of("kae-fig4")
def figure_4(fast: bool) -> Answer:
    """Hessians at the stationary points, with the penalty as printed and with the norm of the decoder."""
    printed, corrected = _figure_4(False), _figure_4(True)
    words = {
        "a": "no value near (0, 0) is below that of it, 1; lambda + mu at (1, 1)",
        "b": "no value near (0, psi < 0) is below 1; 0 where phi^2 psi = 1",
        "c": "the Hessian has a negative eigenvalue somewhere for all 25 pairs",
    }
    ours = {
        **words,
        "a": "a local minimum, not a strict one: (0, psi < lambda / 2) has the same value; lambda + mu at (1, 1)",
    }

    def judged(found: dict[str, float], name: str, told: str) -> Judged:
        return equal([found[name]], tolerance=1e-15).saying(told)

    return {
        name: Part(
            judged(printed, name, words[name]),
            _FORMULA,
            (judged(corrected, name, f"with the norm of the decoder: {ours[name]}"),),
        )
        for name in words
    }
