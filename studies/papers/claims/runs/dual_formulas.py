"""Theorems and losses of the paper on duality (2020)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
import torch

from rkhs import FunctionalKernelRegressor, InputOutputKernelRegressor, OperatorKernelRegressor
from rkhs.kernels import FunctionalGaussian, Gaussian, Polynomial
from rkhs.losses import EpsilonInsensitive, Huber, Loss, Norm, Power, Squared, SquaredEpsilonInsensitive
from rkhs.metrics import stability_constants
from studies.papers.claims.conditions import DUAL
from studies.papers.claims.rules import bounded, equal
from studies.papers.claims.verdicts import Answer, Part, run_of

_FORMULA = "no defaults enter: a formula"
_SEVEN = "conjugates of seven that the library has (not its ball, nor its maximum margin)"
_EPS, _KAPPA = 0.3, 0.5
_LOSSES: tuple[Loss, ...] = (SquaredEpsilonInsensitive(_EPS), Huber(_KAPPA), EpsilonInsensitive(_EPS))


def _fit(model: Any, *data: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def _features(X: np.ndarray) -> np.ndarray:
    """Of the kernel ``(x y + 1)^2``."""
    i, j = np.triu_indices(X.shape[1])
    return np.hstack([X[:, i] * X[:, j] * np.where(i == j, 1.0, 2.0**0.5), 2.0**0.5 * X, np.ones((len(X), 1))])


def _linear(*terms: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """``h = sum_t F_t W_t C_t`` as a map from all weights, shape (n, q, p)."""
    return np.concatenate([np.einsum("nd,rq->nqdr", F, C).reshape(len(F), C.shape[1], -1) for F, C in terms], axis=2)


def _least_primal(G: np.ndarray, Y: np.ndarray, loss: Loss, reg: float) -> float:
    """The least value over all weights in the feature space."""
    if isinstance(loss, EpsilonInsensitive):
        return _least_with_kinks(G, Y, reg)
    T, M = torch.as_tensor(Y), torch.as_tensor(G)

    def primal(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = torch.as_tensor(flat)
        R = M @ w - T
        slope = torch.einsum("nqp,nq->p", M, loss.gradient(R)) / len(G) + reg * w
        return float(loss.value(R).mean() + 0.5 * reg * (w**2).sum()), slope.numpy()

    options = {"ftol": 1e-15, "gtol": 1e-11, "maxiter": 10_000}
    return float(
        scipy.optimize.minimize(primal, np.zeros(G.shape[2]), jac=True, method="L-BFGS-B", options=options).fun
    )


def _least_with_kinks(G: np.ndarray, Y: np.ndarray, reg: float) -> float:
    """For ``max(||r|| - epsilon, 0)``: one slack variable per sample, which makes a smooth problem with constraints."""
    n, _, p = G.shape

    def room(z: np.ndarray) -> np.ndarray:
        return np.asarray((_EPS + z[:n]) ** 2 - ((G @ z[n:] - Y) ** 2).sum(1))

    def slope(z: np.ndarray) -> np.ndarray:
        return np.hstack([np.diag(2.0 * (_EPS + z[:n])), -2.0 * np.einsum("nqp,nq->np", G, G @ z[n:] - Y)])

    found = scipy.optimize.minimize(
        lambda z: float(z[:n].mean() + 0.5 * reg * (z[n:] ** 2).sum()),
        np.concatenate([np.linalg.norm(Y, axis=1), np.zeros(p)]),
        jac=lambda z: np.concatenate([np.full(n, 1.0 / n), reg * z[n:]]),
        bounds=[(0.0, None)] * n + [(None, None)] * p,
        constraints={"type": "ineq", "fun": room, "jac": slope},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return float(found.fun)


def _above_least(predicted: np.ndarray, G: np.ndarray, Y: np.ndarray, loss: Loss, reg: float) -> float:
    """Primal value of a machine, from its predictions alone, over the least one, less 1."""
    w = np.linalg.lstsq(G.reshape(-1, G.shape[2]), predicted.ravel(), rcond=None)[0]  # its norm is that of the machine
    value = float(loss.value(torch.as_tensor(G @ w - Y)).mean()) + 0.5 * reg * float((w**2).sum())
    return abs(value / _least_primal(G, Y, loss, reg) - 1.0)


def _algorithm_1(
    K: np.ndarray, V: np.ndarray, loss: Loss, reg: float, *, printed: bool, rounds: int = 6_000
) -> np.ndarray:
    """Algorithm 1: step one over the Lipschitz constant; the threshold as printed, or the step times it."""
    M = K / (reg * len(K)) + (0.0 if isinstance(loss, EpsilonInsensitive) else 1.0) * np.eye(len(K))
    step = 1.0 / float(np.linalg.eigvalsh(M)[-1])
    shrink = 0.0 if isinstance(loss, Huber) else _EPS if printed else step * _EPS
    cap = _KAPPA if isinstance(loss, Huber) else 1.0 if isinstance(loss, EpsilonInsensitive) else np.inf
    W = np.zeros_like(V)
    for _ in range(rounds):
        W = W - step * (M @ W - V)
        W *= np.maximum(0.0, 1.0 - shrink / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300))
        W *= np.minimum(1.0, cap / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300))
    return W


def _distance(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.abs(found - exact).max() / np.abs(exact).max())


@run_of("dual-thm3")
def duality(fast: bool) -> Answer:
    """Primal over weights, Gram matrices of outputs, a sum of two kernels, and algorithm 1 to the letter."""
    errors: list[float] = []
    grams: list[float] = []
    sums: list[float] = []
    omegas: list[float] = []
    solved: dict[tuple[int, bool], list[float]] = {}
    for seed in range(2 if fast else 20):
        rng = np.random.default_rng(seed)
        X, Y, new, reg = rng.normal(size=(25, 2)), rng.normal(size=(25, 3)), rng.normal(size=(6, 2)), 1e-2
        k, F, exact = Polynomial(2, 1.0, 1.0), _features(X), {**DUAL, "tol": 1e-14}
        A, B = rng.normal(size=(2, 3, 3))
        for which, loss in enumerate(_LOSSES):
            model = _fit(OperatorKernelRegressor(k, loss=loss, reg=reg, **DUAL), X, Y)
            errors.append(_above_least(model.predict(X), _linear((F, np.eye(3))), Y, loss, reg))
            gram = _fit(
                InputOutputKernelRegressor("precomputed", output_kernel="precomputed", loss=loss, reg=reg, **DUAL),
                np.asarray(k(X)),
                Y @ Y.T,
            )
            scores = gram.scores(np.asarray(k(new, X)), Y @ Y.T, diag=(Y**2).sum(1))
            grams.append(_distance(scores, -((model.predict(new)[:, None] - Y) ** 2).sum(-1)))
            kernels = [(k, A @ A.T), (Polynomial(1, 1.0, 0.0), B @ B.T)]
            two = _fit(OperatorKernelRegressor(kernels, loss=loss, reg=reg, **DUAL), X, Y)
            sums.append(_above_least(two.predict(X), _linear((F, A.T), (X, B.T)), Y, loss, reg))
            fitted = _fit(OperatorKernelRegressor(Gaussian(1.0), loss=loss, reg=0.1, **exact), X, Y).predict(X)
            K = np.asarray(Gaussian(1.0)(X))
            for printed in (True,) if isinstance(loss, Huber) else (True, False):
                h = K @ _algorithm_1(K, Y, loss, 0.1, printed=printed) / (0.1 * 25)
                solved.setdefault((which, printed), []).append(_distance(h, fitted))
            wide = rng.normal(size=(25, 30)) / 10.0**0.5  # more dimensions than samples: K^Y has an inverse
            fitted = _fit(OperatorKernelRegressor(Gaussian(1.0), loss=loss, reg=0.1, **exact), X, wide).predict(X)
            V = np.linalg.cholesky(wide @ wide.T)
            omega = np.linalg.solve(V.T, _algorithm_1(K, V, loss, 0.1, printed=False).T).T  # W V^-1
            omegas.append(_distance(K @ omega @ wide / (0.1 * 25), fitted))
    name = "largest relative distance of predictions"

    def algorithm(which: int) -> Part:
        said = "with the step times epsilon, as ours: largest relative distance"
        paper, ours = (equal(solved[which, p], tolerance=1e-5, name=n) for p, n in ((True, name), (False, said)))
        return Part(paper, ours)

    return {
        "dual": Part(equal(errors, tolerance=1e-5), _FORMULA),
        "gram": Part(equal(grams, tolerance=1e-5), _FORMULA),
        "omega": Part(equal(omegas, tolerance=1e-5, name=name), _FORMULA),
        "sum": Part(equal(sums, tolerance=1e-5), _FORMULA),
        "algorithm": algorithm(0),
        "algorithm-svr": algorithm(2),
        "algorithm-huber": Part(equal(solved[1, True], tolerance=1e-5, name=name), "the same: it has no threshold"),
    }


# ---------------------------------------------------------------- losses

_Function = Callable[[float], float]


def _power(eta: float) -> tuple[_Function, _Function]:
    return lambda t: t**eta / eta, lambda s: s ** (eta / (eta - 1.0)) * (1.0 - 1.0 / eta)


_NORMS: dict[str, tuple[_Function, _Function]] = {  # f of the norm, and sup_t t s - f(t) over t >= 0; lambda = 1
    "power 1.5": _power(1.5),
    "power 2": _power(2.0),
    "power 3": _power(3.0),
    "norm": (lambda t: t, lambda s: 0.0 if s <= 1.0 else np.inf),
    "norm times log": (lambda t: t * np.log(max(t, 1e-300)), lambda s: np.exp(s - 1.0)),
    "ball": (lambda t: 0.0 if t <= 1.0 else np.inf, lambda s: s),
    "exponential": (np.expm1, lambda s: 0.0 if s <= 1.0 else s * np.log(s) - s + 1.0),
    "epsilon": (lambda t: max(t - _EPS, 0.0), lambda s: _EPS * s if s <= 1.0 else np.inf),
    "squared epsilon": (lambda t: 0.5 * max(t - _EPS, 0.0) ** 2, lambda s: 0.5 * s**2 + _EPS * s),
    "Huber": (
        lambda t: 0.5 * t**2 if t <= _KAPPA else _KAPPA * (t - _KAPPA / 2.0),
        lambda s: 0.5 * s**2 if s <= _KAPPA else np.inf,
    ),
}
_MARGINS: dict[str, tuple[_Function, _Function]] = {  # f of <y, z>, and its conjugate
    "maximum margin": (lambda t: max(0.0, 1.0 - t), lambda s: s if -1.0 <= s <= 0.0 else np.inf),
    "square": (lambda t: 0.5 * t**2, lambda s: 0.5 * s**2),
    "exponential": (lambda t: np.exp(-t), lambda s: -s * np.log(-s) + s if s < 0.0 else np.inf),
}


def _supremum(f: _Function, s: float, least: float = 0.0) -> float:
    """``sup_t s t - f(t)`` over ``[least, 50]``: on a grid, and between the neighbours of its best point."""
    grid = np.linspace(least, 50.0, 2_001)
    values = [s * t - f(float(t)) for t in grid]
    best = int(np.argmax(values))
    bounds = (grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)])
    found = scipy.optimize.minimize_scalar(
        lambda t: min(f(float(t)) - s * t, 1e300), bounds=bounds, method="bounded", options={"xatol": 1e-11}
    )
    return max(float(values[best]), -float(found.fun))


def _against_assumptions(exact: _Function, s: float, radial: bool, rng: np.random.Generator) -> float:
    """By how much a conjugate breaks assumption 1 or 2, at a point of the span of two outputs in three dimensions."""
    Y = rng.normal(size=(2, 3))
    omega = rng.normal(size=2) if radial else np.array([1.0, 0.0])
    omega *= s / np.linalg.norm(omega @ Y) if radial else s
    off = np.cross(*Y)  # orthogonal to both outputs

    def conjugate(a: np.ndarray, outputs: np.ndarray) -> float:
        if radial:  # of f(||y - y_1||)
            return exact(float(np.linalg.norm(a))) + float(a @ outputs[0])
        along = float(a @ outputs[0] / (outputs[0] @ outputs[0]))
        inside = np.allclose(a, along * outputs[0], atol=1e-9)
        return exact(along) if inside else np.inf  # of f(<y, y_1>)

    inside = conjugate(omega @ Y, Y)
    raised = conjugate(omega @ Y + rng.normal() * off, Y)
    turned = Y @ np.linalg.qr(rng.normal(size=(6, 3)))[0].T  # other outputs with the same Gram matrix
    return max(0.0, inside - raised) + abs(inside - conjugate(omega @ turned, turned))


@run_of("dual-prop1")
def conjugates(fast: bool) -> Answer:
    """All that are listed, against a numeric supremum and the two assumptions; then convexity of one of them."""
    rng, errors, ours, count = np.random.default_rng(0), [], [], 3 if fast else 20
    for radial, table in ((True, _NORMS), (False, _MARGINS)):
        for f, exact in table.values():
            for _ in range(count):
                s = float(rng.uniform(0.05, 0.45 if rng.uniform() < 0.5 else 3.0)) * (1.0 if radial else -1.0)
                if exact(s) < np.inf:
                    numeric = _supremum(f, s, 0.0 if radial else -50.0)
                    errors.append(abs(exact(s) - numeric) / max(1e-2, abs(numeric)))
                    errors.append(_against_assumptions(exact, s, radial, rng))
    losses = (Squared(), Power(1.5), Power(3.0), Norm(), *_LOSSES)
    for loss in losses:
        for _ in range(count):
            a = rng.normal(size=3)
            a *= 0.45 * rng.uniform(0.2, 1.0) / np.linalg.norm(a)  # inside every domain
            size, row = float(np.linalg.norm(a)), torch.as_tensor(a)[None]

            def value(t: float, loss: Loss = loss, row: torch.Tensor = row, size: float = size) -> float:
                return float(loss.value(t / size * row)[0])

            exact_value, numeric = float(loss.conjugate(row)[0]), _supremum(value, size)
            ours.append(abs(exact_value - numeric) / max(1e-2, abs(numeric)))
    y = np.array([0.1, 0.0])
    excess = 0.0 - 0.1 * float(np.log(0.1))  # value at the middle of y and -y, less the mean of the two
    return {
        "conjugates": Part(
            equal(errors, tolerance=1e-5, name="largest error"),
            equal(ours, tolerance=1e-5, name=f"{_SEVEN}: largest relative error"),
        ),
        "log": Part(
            equal([max(0.0, excess)], tolerance=1e-12).saying(
                f"at 0, between ({y[0]:g}, 0) and its opposite, it is {excess:.2g} above their mean: not convex"
            ),
            "the library does not have it",
        ),
    }


def _by_definition(loss: Loss, r: float) -> float:
    """The closed forms that are printed, as functions of the norm; the square has the half of (P1)."""
    if isinstance(loss, Huber):
        return 0.5 * r**2 if r <= _KAPPA else _KAPPA * (r - _KAPPA / 2.0)
    excess = max(r - _EPS, 0.0)
    return 0.5 * excess**2 if isinstance(loss, SquaredEpsilonInsensitive) else excess


def _convolution(loss: Loss, y: np.ndarray) -> float:
    """The infimal convolution of definitions 3 and 5, by a search over the vector that is taken off."""
    if isinstance(loss, Huber):

        def total(d: np.ndarray) -> float:
            return _KAPPA * float(np.linalg.norm(d)) + 0.5 * float(((y - d) ** 2).sum())

        starts = (y * 0.5, np.zeros_like(y))  # the second is a kink, where a descent does not stay
        found = scipy.optimize.minimize(total, starts[0], method="BFGS", options={"gtol": 1e-10})
        return min(float(found.fun), total(starts[1]))
    if np.linalg.norm(y) <= _EPS:
        return 0.0  # y itself is in the ball
    found = scipy.optimize.minimize(
        lambda d: 0.5 * float(((y - d) ** 2).sum()),  # the norm is least where its square is
        np.zeros_like(y),
        jac=lambda d: d - y,
        constraints={"type": "ineq", "fun": lambda d: _EPS**2 - float(d @ d), "jac": lambda d: -2.0 * d},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return float(found.fun) if isinstance(loss, SquaredEpsilonInsensitive) else (2.0 * float(found.fun)) ** 0.5


@run_of("dual-appb")
def values_of_losses(fast: bool) -> Answer:
    """Infimal convolutions against closed forms; ours: values, and proximal maps by their optimality."""
    R, errors, ours = np.random.default_rng(0).normal(size=(20 if fast else 200, 3)), [], []
    for loss in _LOSSES:
        T = torch.as_tensor(R)
        closed = np.array([_by_definition(loss, float(np.linalg.norm(r))) for r in R])
        found = np.array([_convolution(loss, r) for r in R])
        errors.append(float((np.abs(found - closed) / np.maximum(1e-2, closed)).max()))
        ours.append(float(np.abs(loss.value(T).numpy() - closed).max()))
        U = loss.prox_conjugate(T, 0.7)  # Moreau: T - U = 0.7 prox of f / 0.7 at T / 0.7, where f + f* = <., .>
        P = (T - U) / 0.7
        pair = loss.value(P) + loss.conjugate(U) - (P * U).sum(1)
        ours.append(float(pair.abs().max()))
    told = "values and proximal maps of the library: largest error"
    return {"a": Part(equal(errors, tolerance=1e-5), equal(ours, tolerance=1e-8, name=told))}


# ---------------------------------------------------------------- functions and stability


def _problem_9(K: np.ndarray, S: np.ndarray, R: np.ndarray, kappa: float, reg: float) -> np.ndarray:
    """(9), by projected gradient from its matrices."""
    n = len(K)
    step = 1.0 / (1.0 + float(np.linalg.eigvalsh(K)[-1]) * float(S.max()) / (reg * n))
    W = np.zeros_like(R)
    for _ in range(20_000):
        W = W - step * (W + K @ W * S / (reg * n) - R)
        W *= np.minimum(1.0, kappa / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300))
    return W


@run_of("dual-thm5-7")
def functional(fast: bool) -> Answer:
    """(9) against a primal problem; Huber with a large kappa; all functions of the basis."""
    projected, library, ridge, whole = [], [], [], []
    for seed in range(2 if fast else 20):
        rng = np.random.default_rng(seed)
        t, reg = np.linspace(0.0, 1.0, 30), 1e-2
        X, Y = rng.normal(size=(20, 30)).cumsum(1) / 5.0, rng.normal(size=(20, 30)).cumsum(1) / 5.0
        F, R = rng.normal(size=(20, 6)), rng.normal(size=(20, 7))  # inputs by six features; products <y_i, psi_j>
        S, kappa = 1.0 / np.arange(2.0, 9.0) ** 2, 2.0  # some samples at kappa, some below
        h = F @ F.T @ _problem_9(F @ F.T, S, R, kappa, reg) * S / (reg * 20)  # (8), in the functions psi_j
        projected.append(_above_least(h, _linear((F, np.diag(S**0.5))), R, Huber(kappa), reg))
        options: dict[str, Any] = dict(DUAL, basis="fourier", input_times=t, output_times=t, reg=reg)
        kernel = FunctionalGaussian(1.0, t)
        a = _fit(FunctionalKernelRegressor(kernel, loss=Huber(1e6), n_basis=7, **options), X, Y).predict(X)
        model = _fit(FunctionalKernelRegressor(kernel, loss=Squared(), n_basis=7, **options), X, Y)
        space, K = model.output_, np.asarray(kernel(X))
        ridge.append(_distance(a, _closed_form(K, space, Y, reg)))
        exact = {**options, "tol": 1e-14}
        own = _fit(FunctionalKernelRegressor(kernel, loss=Huber(_KAPPA), n_basis=7, **exact), X, Y).predict(X)
        products = (Y * space.weights) @ space.functions.T
        W = _problem_9(K, space.eigenvalues, products, _KAPPA, reg)
        library.append(_distance(own, K @ W * space.eigenvalues / (reg * 20) @ space.functions))
        whole.append(_all_functions(X[:8], Y[:8], t))
    said = "our machine against (9): largest relative distance"
    return {
        "huber": Part(equal(projected, tolerance=1e-5), equal(library, tolerance=1e-5, name=said)),
        "ridge": Part(equal(ridge, tolerance=1e-5), "the same machine"),
        "basis": Part(equal(whole, tolerance=1e-5), "the same machine"),
    }


def _closed_form(K: np.ndarray, space: Any, Y: np.ndarray, reg: float) -> np.ndarray:
    """Ridge regression on the functions of a basis: one linear system per function."""
    n, products = len(K), (Y * space.weights) @ space.functions.T
    columns = [
        K @ np.linalg.solve(np.eye(n) + value / (reg * n) * K, column) * value / (reg * n)
        for value, column in zip(space.eigenvalues, products.T, strict=True)
    ]
    return np.asarray(np.array(columns).T @ space.functions)


def _all_functions(X: np.ndarray, Y: np.ndarray, t: np.ndarray) -> float:
    """All eigenfunctions of the integral operator of a kernel on times, against one system for the operator itself."""
    times, reg = Gaussian(5.0), 1e-2
    options: dict[str, Any] = dict(DUAL, input_times=t, output_times=t, reg=reg, basis=times, n_basis=len(t))
    kernel = FunctionalGaussian(1.0, t)
    found = _fit(FunctionalKernelRegressor(kernel, loss=Squared(), **options), X, Y).predict(X)
    w = np.full(len(t), t[1] - t[0])
    w[[0, -1]] *= 0.5
    root, K, n = np.sqrt(w), np.asarray(kernel(X)), len(X)
    A = root[:, None] * np.asarray(times(t[:, None])) * root
    Phi = np.linalg.solve(np.kron(K, A) + n * reg * np.eye(n * len(t)), (Y * root).ravel()).reshape(n, -1)
    direct = K @ Phi @ A / root
    return float(np.abs(found - direct).max() / np.abs(direct).max())


@run_of("dual-thm8-10")
def stability(fast: bool) -> Answer:
    """Largest change of the loss at new points when one sample is left out, over beta; and the bound on the risk."""
    kept: list[float] = []
    literal: list[float] = []
    constants, bounds, n, reg = [], [], 20, 0.1
    for loss in _LOSSES:
        for seed in range(2 if fast else 50):
            rng = np.random.default_rng(seed)
            X, new = rng.normal(size=(n, 2)), rng.normal(size=(500, 2))
            Y, truth = rng.normal(size=(n, 2)), rng.normal(size=(500, 2))
            Y /= np.maximum(1.0, np.linalg.norm(Y, axis=1, keepdims=True))
            truth /= np.maximum(1.0, np.linalg.norm(truth, axis=1, keepdims=True))
            known = stability_constants(loss, n, reg, kernel_bound=1.0, output_bound=1.0)

            def predicted(rows: np.ndarray, reg: float, at: np.ndarray, loss: Loss = loss, X: np.ndarray = X,
                          Y: np.ndarray = Y) -> np.ndarray:  # fmt: skip
                model = _fit(OperatorKernelRegressor(Gaussian(1.0), loss=loss, reg=reg, **DUAL), X[rows], Y[rows])
                return np.asarray(model.predict(at))

            def value(h: np.ndarray, y: np.ndarray, loss: Loss = loss) -> np.ndarray:
                return np.asarray(loss.value(torch.as_tensor(h - y)))

            everyone = np.arange(n)
            h, seen = np.split(predicted(everyone, reg, np.vstack([new, X])), [len(new)])
            whole, shares = value(h, truth), []
            for scale, found in ((n / (n - 1), kept), (1.0, literal)):  # n reg stays, or reg does
                left = [predicted(np.delete(everyone, i), reg * scale, new) for i in (0, 1)]
                changes = [np.abs(value(one, truth) - whole) for one in left]
                found.append(max(float(change.max()) for change in changes) / known.beta)
                moved = [np.linalg.norm(one - h, axis=1) for one in left]
                shares += [float((c / np.maximum(m, 1e-9)).max()) for c, m in zip(changes, moved, strict=True)]
            constants.append(max(float(whole.max()) / known.M, max(shares) / known.C))
            room = 2.0 * known.beta + (4.0 * n * known.beta + known.M) * np.sqrt(np.log(10.0) / (2.0 * n))
            bounds.append((float(whole.mean() - value(seen, Y).mean())) / room)
    return {
        "beta": Part(
            bounded(kept, delta=0.0, name="beta"),
            "the same machine",
            (bounded(literal, delta=0.0, name="with the weight 1/(n - 1) instead: beta"),),
        ),
        "constants": Part(bounded(constants, delta=0.0, name="our M or C"), "the same machine"),
        "bound": Part(bounded(bounds, delta=0.1, name="the bound at delta .1"), "the same machine"),
    }
