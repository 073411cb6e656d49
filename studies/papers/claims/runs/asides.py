"""Sentences beside the theorems: what a choice is for, what methods can do, what an iteration costs."""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import Any

import numpy as np
import torch

from rkhs import InputOutputKernelRegressor, KernelAutoencoder, KernelContrastive, KernelPCA, OperatorKernelRegressor
from rkhs.kernels import NTK, Gaussian, Kernel, Laplacian, Linear
from rkhs.losses import EpsilonInsensitive, Huber, Squared, SquaredEpsilonInsensitive
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.solvers import CayleyAdam, ProjectedGradient, QuadraticPenalty
from studies.papers.claims.conditions import DUAL, KAE, normal_start
from studies.papers.claims.rules import Judged, direction, equal, shows
from studies.papers.claims.verdicts import Answer, Part, run_of
from studies.papers.few_labels_figures import load_set

_FORMULA = "does not apply: a formula, no defaults enter"


def _quietly(model: Any, *data: Any, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **given)


# ---------------------------------------------------------------- representations (2024)


def _perfect(rng: np.random.Generator) -> float:
    """Error of the best Gaussian decoder of drawn distinct codes, relative to the targets."""
    Z, X = rng.normal(size=(15, 2)), rng.normal(size=(15, 4))
    K = np.asarray(Gaussian(30.0)(Z))
    return float(np.linalg.norm(K @ np.linalg.solve(K, X) - X) / np.linalg.norm(X))


def _size_of_codes(X: np.ndarray, reg: float, kernel: Kernel) -> float:
    model = KernelAutoencoder(2, kernel=kernel, decoder_kernel=kernel, reg=(reg, reg), random_state=0, **KAE)
    return float(np.sqrt((_quietly(model, X).codes_ ** 2).sum(1).mean()))


def _evenness(X: np.ndarray, reg: float) -> float:
    """Smallest over largest singular value of codes: near zero if all lie on a line, as in a collapse."""
    model = KernelContrastive(2, kernel=Gaussian(0.5), loss="spectral", reg=reg, n_neighbors=3, random_state=0)
    s = np.linalg.svd(_quietly(model, X).codes_, compute_uv=False)
    return float(s[-1] / s[0]) if s[0] > 0.0 else 0.0


@run_of("krl-def3")
def what_constraints_are_for(fast: bool) -> Answer:
    """Distinct codes under a universal decoder; codes without the sphere; codes with a weak and a strong penalty."""
    draws = range(3 if fast else 20)
    data = [np.random.default_rng(draw).normal(size=(50, 3)) for draw in draws]
    perfect = [_perfect(np.random.default_rng(draw)) for draw in draws]
    kernels = {"Gaussian": Gaussian(0.5), "Laplacian": Laplacian("l1", 0.5)}
    sizes = {
        f"{name}, lambda {50 * reg:g}": [_size_of_codes(X, reg, kernel) for X in data]
        for (name, kernel), reg in product(kernels.items(), (1e-2, 1e-4, 1e-6))
    }
    small = shows(sizes, at_most=0.1, name="root mean square of codes")
    small = small.saying(small.found + ": " + ", ".join(f"{key} {np.mean(v):.2f}" for key, v in sizes.items()))
    free = np.array([_evenness(X, 1e-8) for X in data])
    gain = {f"lambda {reg:g}": np.array([_evenness(X, reg) for X in data]) - free for reg in (1e-2, 1e-4, 1.0)}
    return {
        "perfect": Part(equal(perfect, tolerance=1e-8), _FORMULA),
        "zero": Part(small, "does not apply: the sphere is no default"),
        "collapse": Part(
            direction(gain, sign=1, name="evenness of codes less that at lambda 1e-8, first at 1e-2:"),
            "does not apply: no default",
        ),
    }


@run_of("krl-inductive")
def new_points(fast: bool) -> Answer:
    """Kernel PCA, one of the three that the sentence names, against projections of the features of new points."""
    misses = []
    for seed in range(3 if fast else 20):
        rng = np.random.default_rng(seed)
        X, new, k, n = rng.normal(size=(30, 3)), rng.normal(size=(6, 3)), Gaussian(0.5), 30
        model = KernelPCA(2, kernel=k).fit(X)
        K, H = np.asarray(k(X)), np.eye(n) - 1.0 / n
        w, U = np.linalg.eigh(H @ K @ H)
        rows = (np.asarray(k(new, X)) - K.mean(0)) @ H @ U[:, :-3:-1] / np.sqrt(w[:-3:-1])
        misses.append(float(np.linalg.norm(np.abs(rows) - np.abs(model.transform(new))) / np.linalg.norm(rows)))
    judged = shows(misses, at_least=1e-3, draws=0.5, name="distance to the projection of a new point")
    told = f"kernel PCA embeds new points by their projection, to {max(misses):.1e}"
    return {"kpca": Part(judged.saying(told), "the same: `KernelPCA.transform`")}


def _wide_network(X: np.ndarray, new: np.ndarray, width: int, steps: int) -> np.ndarray:
    """Outputs at new points of a ReLU network that rebuilds rows: full gradient descent on both layers.

    Weights are drawn twice with opposite signs of the second layer, so that the network starts at zero.
    """
    rng, half, d = np.random.default_rng(0), width // 2, X.shape[1]
    W, V = rng.normal(size=(half, d)), rng.normal(size=(half, d))
    parameters = [
        torch.tensor(np.vstack([W, W]), requires_grad=True),
        torch.tensor(np.vstack([V, -V]), requires_grad=True),
    ]

    def network(rows: np.ndarray) -> torch.Tensor:
        return torch.relu(torch.as_tensor(rows) @ parameters[0].T) @ parameters[1] * (2.0 / width) ** 0.5

    target = torch.as_tensor(X)
    rate = 1.0 / float(np.linalg.eigvalsh(np.asarray(NTK(1)(X)))[-1])
    for _ in range(steps):
        gradients = torch.autograd.grad(0.5 * ((network(X) - target) ** 2).sum(), parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= rate * gradient
    return np.asarray(network(new).detach().numpy())


@run_of("krl-ntk")
def infinite_width(fast: bool) -> Answer:
    """Networks of growing width against gradient descent in the space of the NTK, after as many steps."""
    widths, steps = ((64, 256), 50) if fast else ((64, 256, 1024, 4096), 400)
    slopes, last = [], []
    for seed in range(2 if fast else 5):
        rng = np.random.default_rng(seed)
        X, new = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in rng.normal(size=(2, 15, 3)))
        w, U = np.linalg.eigh(np.asarray(NTK(1)(X)))
        done = (1.0 - (1.0 - w / w[-1]) ** steps) / w  # K^-1 as far as so many steps have come
        limit = np.asarray(NTK(1)(new, X)) @ (U * done) @ (U.T @ X)
        gaps = [np.linalg.norm(_wide_network(X, new, m, steps) - limit) / np.linalg.norm(limit) for m in widths]
        slopes.append(float(np.polyfit(np.log(widths), np.log(gaps), 1)[0]))
        last.append(float(gaps[-1]))
    judged = shows(slopes, at_most=-0.3, name="slope of the log of the distance in the log of the width")
    return {"a": Part(judged.saying(f"{judged.found}; {np.mean(last):.1%} at width {widths[-1]:,}"), _FORMULA)}


# ---------------------------------------------------------------- duality (2020)


def _outside(A: np.ndarray, Y: np.ndarray) -> float:
    """Share of ``A y`` that lies outside of the span of the outputs."""
    Q = np.linalg.svd(Y, full_matrices=False)[2]
    images = Y @ A
    return float(np.linalg.norm(images - images @ Q.T @ Q) / np.linalg.norm(images))


def _conjugates(rng: np.random.Generator) -> tuple[float, float]:
    """Distance of the conjugates for two outputs with the same products with the psi: norms, and margins."""
    psi, omega = np.linalg.qr(rng.normal(size=(5, 2)))[0].T, rng.normal(size=2)
    alpha, inside = -omega @ psi, -omega @ psi / float(omega @ omega)
    outputs = (inside, inside + _orthogonal(psi, rng))
    loss = SquaredEpsilonInsensitive(0.3)
    norms = [float(loss.conjugate(torch.as_tensor(alpha[None]))[0]) + float(alpha @ y) for y in outputs]
    margins = [float(np.linalg.norm(alpha - (alpha @ y) / (y @ y) * y) < 1e-9) for y in outputs]  # finite or not
    return abs(norms[0] - norms[1]), abs(margins[0] - margins[1])


def _orthogonal(psi: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    v = rng.normal(size=psi.shape[1])
    return np.asarray(v - v @ psi.T @ psi)


@run_of("dual-remarks")
def remarks(fast: bool) -> Answer:
    """Limits of the losses, remarks 1 and 3, and decoding by evaluations of a loss."""
    few: list[list[float]] = []
    many: list[list[float]] = []
    limits, norms, margins, tricks = [], [], [], []
    exact: dict[str, Any] = {**DUAL, "tol": 1e-12, "max_iter": 10**5}
    for seed in range(3 if fast else 20):
        rng = np.random.default_rng(seed)
        X, Y, new = rng.normal(size=(25, 2)), rng.normal(size=(25, 3)), rng.normal(size=(6, 2))
        B = rng.normal(size=(5, 5))
        operators = rng.normal(size=(2, 3, 3))
        terms: Any = [(kernel, A @ A.T) for kernel, A in zip((Gaussian(1.0), Linear()), operators, strict=True)]
        for kernel in (Gaussian(1.0), terms):
            ridge, *others = (
                _quietly(OperatorKernelRegressor(kernel, loss=loss, reg=1e-2, **exact), X, Y).predict(new)
                for loss in (Squared(), SquaredEpsilonInsensitive(0.0), Huber(1e6))
            )
            limits += [float(np.linalg.norm(one - ridge) / np.linalg.norm(ridge)) for one in others]
        for count, kept in ((2, few), (5, many)):
            outputs = rng.normal(size=(count, 5))
            kept.append([_outside(A, outputs) for A in (B @ B.T, np.eye(5), outputs.T @ outputs)])
        norm, margin = _conjugates(rng)
        norms.append(norm)
        margins.append(margin)
        tricks.append(_by_loss_evaluations(X, Y, new))
    drawn, identity, covariance = np.array(few).T
    told = f"with 2 outputs in 5 dimensions a drawn operator leaves {drawn.mean():.0%} of A y outside, with 5 none"
    eligible = equal([*identity, *covariance, *np.array(many)[:, 0]], tolerance=1e-8, name="share of A y outside")
    return {
        "limits": Part(equal(limits, tolerance=1e-5), "the same: both are values of the loss"),
        "remark1": Part(eligible.saying(f"{eligible.found}; {told}"), _FORMULA),
        "remark3": Part(equal(norms, tolerance=1e-8, name="largest difference of conjugates"), _FORMULA),
        "remark3-products": Part(_products(margins), _FORMULA),
        "trick": Part(equal(tricks, tolerance=1e-8), _FORMULA),
    }


def _products(margins: list[float]) -> Judged:
    judged = equal(margins, tolerance=1e-8)
    told = f"finite for one of two outputs with the same products in {sum(margins):.0f} of {len(margins)} draws"
    return judged.saying(f"the conjugate of a function of <y, z> is {told}")


def _by_loss_evaluations(X: np.ndarray, Y: np.ndarray, new: np.ndarray) -> float:
    """Scores of candidates, less their mean, against sums of squared distances with the weights of the machine."""
    model = InputOutputKernelRegressor(
        Gaussian(1.0), output_kernel=Gaussian(0.5), loss=EpsilonInsensitive(0.1), reg=0.1, **DUAL
    )
    _quietly(model, X, Y)
    kernel = np.asarray(Gaussian(0.5)(Y))
    sums = -model.predict_weights(new) @ (2.0 - 2.0 * kernel)  # loss evaluations ||phi(z) - phi(y_i)||^2
    scores = np.asarray(model.scores(new, Y))
    sums, scores = (rows - rows.mean(1, keepdims=True) for rows in (sums, scores))
    return float(np.linalg.norm(sums - scores) / np.linalg.norm(scores))


# ---------------------------------------------------------------- deep machines (2021)


@run_of("drkm-cost")
def cost_of_an_iteration(fast: bool) -> Answer:
    """Processor time of an iteration of three solvers on the problem of table 1."""
    n, steps, draws = (60, 5, 2) if fast else (1000, 40, 5)
    kernel, X = Gaussian(0.01), torch.from_numpy(load_set("mnist", n=n)[0])
    shared: dict[str, Any] = {"center": False, "kernels": (kernel,), "n_components": (10, 5), "eta": (1.0, 1.0)}
    problem = ConstrainedDRKM.from_gram(kernel(X), **shared)
    seconds: dict[str, list[float]] = {"projected gradient": [], "Cayley Adam": [], "penalty": []}
    for draw in range(draws):
        start = torch.from_numpy(normal_start(n, (10, 5), draw))
        solvers = (
            ProjectedGradient(tol=0.0, max_iter=steps),
            CayleyAdam(5e-5, tol=0.0, max_iter=steps),
            QuadraticPenalty(mu=1.0, growth=8.0, tau=1e-5, max_outer=1, max_iter=steps),
        )
        for (name, kept), solver in zip(seconds.items(), solvers, strict=True):
            began = time.process_time()
            done = solver.solve(problem, start)
            kept.append((time.process_time() - began) / max(1, done.n_iter))
            print(f"  {name}, start {draw}: {1000 * kept[-1]:.2f} ms for each of {done.n_iter} iterations", flush=True)
    told = ", ".join(f"{name} {1000 * np.mean(values):.2f} ms" for name, values in seconds.items())
    answer = {}
    for part, name, line in (("a", "projected gradient", 5.0), ("penalty", "penalty", float(np.nextafter(1.0, 2.0)))):
        ratios = np.divide(seconds[name], seconds["Cayley Adam"])
        judged = shows(ratios, at_least=line, name=f"time of {name} over that of Cayley Adam")
        answer[part] = Part(judged.saying(f"{judged.found}; {told}"), "does not apply: one solver is the default")
    return answer
