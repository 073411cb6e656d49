"""The ablations: claims where the conditions of a paper and our defaults end differently."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import product

import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from rkhs import DeepRKM, KernelAutoencoder
from rkhs.augment import GaussianNoise
from rkhs.kernels import Gaussian, Tanimoto
from rkhs.losses import Squared, SquaredEpsilonInsensitive
from rkhs.solvers import ADMM, QuadraticPenalty
from studies.harness import lip_curves
from studies.papers import yeast
from studies.papers.claims.ablations import Ablation, Options, ablate, ablation_of
from studies.papers.claims.conditions import penalty_adam
from studies.papers.claims.runs import drkm_denoising, drkm_figures, kae_figures, protocols
from studies.papers.disentanglement import load_images
from studies.papers.few_labels_figures import load_set
from studies.papers.nci_robust import load_molecules
from studies.papers.shapes import circles, clusters, sample_shape

Changes = dict[str, tuple[Options, Options]]

_LINEAR: tuple[Options, Options] = ({"linear_part": "kernel"}, {"linear_part": "free"})
_PUBLISHED: Changes = {
    "centring (none; of the targets)": ({"center": False}, {}),
    "scaling (none; to unit variance)": ({"scale": False}, {}),
    "metric of the codes (0; .75)": ({"code_metric": 0.0}, {}),
}
"""What the published autoencoder lacks of our default one."""


def _plane(reg: float, rounds: int) -> Changes:
    solver = f"solver and linear parts ({rounds} rounds of algorithm 1, of the kernels; L-BFGS to the end, free)"
    return {
        "start (uniform coefficients; kernel PCA)": ({"init": "uniform"}, {}),
        "kernels (Gaussian of gamma 1; by default)": ({"kernel": Gaussian(1.0), "decoder_kernel": Gaussian(1.0)}, {}),
        f"regularisers ({reg:g}; by default)": ({"reg": (reg, reg)}, {}),
        solver: ({**kae_figures._rounds(rounds), **_LINEAR[0]}, _LINEAR[1]),
        **_PUBLISHED,
    }  # fmt: skip


def _codes(X: np.ndarray, options: Options, seed: int) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(KernelAutoencoder(1, random_state=seed, **options).fit(X).codes_)


def _columns(rows: list[dict[str, float]]) -> dict[str, list[float]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


@ablation_of("kae-fig6")
def gaussian_clusters(fast: bool) -> list[Ablation]:
    """Three clusters through one number, and the place of its extremes for two."""

    def one(draw: int, options: Options) -> dict[str, float]:
        two, of_two = clusters(100, kae_figures.CENTRES[:2], draw, 0.3)
        three, of_three = clusters(120, kae_figures.CENTRES, draw, 0.3)
        return {
            "three": kae_figures._thresholds(_codes(three, options, draw)[:, 0], of_three),
            "far": kae_figures._far(two, _codes(two, options, draw)[:, 0], of_two),
        }

    words = {
        "three": "share of points on the right side",
        "far": "rank correlation, inside clusters, of distances from the other cluster",
    }
    draws = range(2 if fast else 10)
    return ablate(_plane(1e-4, 200), lambda options: _columns([one(draw, options) for draw in draws]), words)


@ablation_of("kae-fig7")
def moons(fast: bool) -> list[Ablation]:
    """How far one number spreads two moons apart."""

    def one(draw: int, options: Options) -> float:
        X, label = make_moons(60 if fast else 200, noise=0.05, random_state=draw)
        return kae_figures._share_between(_codes(X, options, draw), label)

    draws = range(2 if fast else 10)
    words = {"share": "share of the variance of codes between moons"}
    return ablate(_plane(1e-4, 200), lambda options: {"share": [one(draw, options) for draw in draws]}, words)


@ablation_of("kae-fig3d-e")
def three_circles(fast: bool) -> list[Ablation]:
    """Circles told apart by one number: five rounds from uniform coefficients against our fit."""

    def one(draw: int, options: Options) -> float:
        X, label = circles(60 if fast else 150, draw)
        return kae_figures._share_between(_codes(X, options, draw), label)

    draws, words = range(2 if fast else 10), {"d": "share of the variance of codes between circles"}
    return ablate(_plane(1e-3, 5), lambda options: {"d": [one(draw, options) for draw in draws]}, words)


# ---------------------------------------------------------------- deep machines


def _machine(n: int) -> Changes:
    feasible = QuadraticPenalty(**penalty_adam(n).get_params())  # with the nearest feasible point at its end
    return {
        "solver (penalty with Adam, A.2; subspace)": ({"solver": feasible}, {}),
        "centring (none; of kernels)": ({"center": False}, {}),
        "scale of the codes (unit; root of n)": ({"code_scale": "unit"}, {}),
        "encoding of new points (formula (4); regression)": ({"out_of_sample": "paper"}, {}),
        "axes of the codes (as found; principal)": ({"canonical": False}, {}),
    }


@ablation_of("drkm-fig1")
def square(fast: bool) -> list[Ablation]:
    """Noise of the square: 100 points, the bandwidth by validation or from the median distance."""
    n, draws = (40, range(2)) if fast else (100, range(5))
    changes: Changes = {
        "bandwidths (one for both layers, by validation; medians of distances)": ({"grid": drkm_denoising.GRID}, {}),
        **_machine(n),
        "weights of denoising (printed; projection)": ({"weighting": "paper"}, {}),
    }

    def one(draw: int, options: Options) -> float:
        given = dict(options)
        grid, weighting = given.pop("grid", (None,)), given.pop("weighting", "projection")
        clean, noisy = sample_shape("square", n, drkm_denoising.SIGMA, 10 * draw)
        held_clean, held = sample_shape("square", n // 4, drkm_denoising.SIGMA, 10 * draw + 1)
        best = (np.inf, np.inf)
        for ratio in grid:
            kernel = Gaussian("median") if ratio is None else Gaussian(0.5 / (ratio * float(noisy.var(axis=0).sum())))
            second: Options = {} if ratio is None else {"decoder_kernel": kernel}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = DeepRKM((2, 1), kernel=kernel, random_state=0, **second, **given).fit(noisy)
                found = model.denoise(noisy, weighting=weighting)
                error = drkm_denoising.error_of(model.denoise(held, weighting=weighting), held_clean)
            best = min(best, (error, drkm_denoising.error_of(found, clean) / (2.0 * drkm_denoising.SIGMA**2) - 1.0))
        return best[1]

    words = {"square": "squared error over 2 sigma^2, less 1; 100 points"}
    return ablate(changes, lambda options: {"square": [one(draw, options) for draw in draws]}, words)


@ablation_of("drkm-table3")
def starts(fast: bool) -> list[Ablation]:
    """Kernel PCA start less a random one: 200 images a draw, one random start."""
    X, factors = load_images("coil20")
    X, factors = X[:: 8 if fast else 1].astype(np.float64), factors[:: 8 if fast else 1]
    n, draws = (20, range(2)) if fast else (200, range(5))
    changes: Changes = {
        "kernels (sigma^2 = 50; medians of distances)": (
            {"kernel": Gaussian(0.01), "decoder_kernel": Gaussian(0.01)}, {"kernel": Gaussian("median")}
        ),
        **_machine(n),
    }  # fmt: skip

    def measure(options: Options) -> dict[str, np.ndarray]:
        by_start = [
            np.array([drkm_figures._scores(X, factors, draw, start, n, True, **options) for draw in draws])
            for start in ("kpca", "random")
        ]
        return dict(zip("ab", (by_start[0] - by_start[1]).T, strict=True))

    words = {"a": "MIG from kernel PCA less MIG from a random start, 200 images", "b": "the same of IRS"}
    return ablate(changes, measure, words)


# ---------------------------------------------------------------- representation learning


@ablation_of("krl-fig3-mnist")
def denoised(fast: bool) -> list[Ablation]:
    """Disjoint draws of images; the regularisers of the paper's side are chosen under its conditions and kept."""
    X, _ = load_set("mnist", n_classes=5)
    half, draws = (30, range(2)) if fast else (225, range(5))
    std, fixed = 0.1**0.5, GaussianNoise(0.1**0.5, relative=False, copies=1)
    changes: Changes = {
        "codes and linear parts (on the sphere, of the kernels; free, free)": (
            {"constraint": "sphere", **_LINEAR[0]}, _LINEAR[1]
        ),
        "regularisers and decoder (chosen on training rows; by default)": ({"chosen": True}, {}),
        "kernel (Gaussian; chosen by default)": ({"kernel": Gaussian("median")}, {}),
        "codes of new points (one pass; refined)": ({"refine": False}, {}),
        **_PUBLISHED,
    }  # fmt: skip

    def parts(draw: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = X[2 * half * draw : 2 * half * (draw + 1)]
        noise = std * np.random.default_rng(draw).standard_normal((half, X.shape[1]))
        return rows[:half], rows[half:], rows[half:] + noise

    def error(train: np.ndarray, clean: np.ndarray, noisy: np.ndarray, draw: int, options: Options) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KernelAutoencoder(10, noise=fixed, random_state=draw, max_iter=100, **options).fit(train)
            return float(((model.inverse_transform(model.transform(noisy)) - clean) ** 2).mean())

    @cache
    def chosen(draw: int) -> Options:
        train, _, _ = parts(draw)
        held = train[: round(0.15 * half)]
        noisy = held + std * np.random.default_rng(100 + draw).standard_normal(held.shape)
        tried = [{"reg": reg, "decoder_kernel": Gaussian(gamma)} for reg, gamma in product(*protocols._GRID)]
        paper = {k: v for sides in changes.values() for k, v in sides[0].items() if k != "chosen"}
        return min(tried, key=lambda one: error(train[len(held) :], held, noisy, draw, {**paper, **one}))

    def one(draw: int, options: Options) -> float:
        given = {k: v for k, v in options.items() if k != "chosen"}
        return 1000.0 * error(*parts(draw), draw, {**given, **(chosen(draw) if "chosen" in options else {})})

    words = {"a": "squared error a pixel of noisy test images, times 1000"}
    return ablate(changes, lambda options: {"a": [one(draw, options) for draw in draws]}, words)


# ---------------------------------------------------------------- robust losses


@ablation_of("dual-fig7")
def robust_molecules(fast: bool) -> list[Ablation]:
    """Disjoint draws of molecules; epsilon is .5 throughout, nothing is chosen."""
    n, draws = (60, range(2)) if fast else (200, range(5))
    bits = load_molecules(1788)
    changes: Changes = {
        "regularisers (1e-5; by default)": ({"reg": (1e-5, 1e-5)}, {}),
        "kernel on the codes (Gaussian of gamma 1; by default)": ({"decoder_kernel": Gaussian(1.0)}, {}),
        "codes of new points (one pass; refined)": ({"refine": False}, {}),
        **_PUBLISHED,
    }

    @cache
    def gram(draw: int) -> np.ndarray:
        return np.asarray(Tanimoto()(bits[n * draw : n * (draw + 1)]))

    def one(draw: int, options: Options) -> float:
        train, test = train_test_split(np.arange(n), test_size=0.2, random_state=draw)
        shared = {"n_components": 10, "max_iter": 200, **options}
        K, errors = gram(draw), []
        for loss in (SquaredEpsilonInsensitive(0.5), Squared()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = KernelAutoencoder(kernel="precomputed", loss=loss, **shared).fit(K[np.ix_(train, train)])
                errors.append(float(model.reconstruction_error(K[np.ix_(test, train)], diag=1.0).mean()))
        return errors[0] / errors[1] - 1.0

    words = {"a": "held-out error at epsilon .5 over that of the squared loss, less 1"}
    return ablate(changes, lambda options: {"a": [one(draw, options) for draw in draws]}, words)


@ablation_of("dual-fig8")
def lip(fast: bool) -> list[Ablation]:
    """Two conditions; the 36 left-out curves are the draws."""
    changes: Changes = {
        "basis and means (published script; orthonormal)": ({"convention": "reference"}, {"convention": "orthonormal"}),
        "centring (none; mean curve)": ({"center": False}, {"center": True}),
    }  # fmt: skip

    def measure(options: Options) -> dict[str, np.ndarray]:
        gains = lip_curves.figure(ADMM(tol=1e-8), sizes=(6,), **options)["gains"][0]
        return {"gain": gains[:, int(gains.mean(0).argmin())]}

    return ablate(changes, measure, {"gain": "Huber less ridge, m = 6, kappa chosen on the same error"})


@ablation_of("dual-fig6")
def labels(fast: bool) -> list[Ablation]:
    """Two conditions; the 917 test rows of one split are the draws."""
    changes: Changes = {
        "centring (none; of inputs and targets)": ({"center": False}, {}),
        "criterion of the choice (squared error; norm)": ({"criterion": "squared"}, {}),
    }

    def measure(options: Options) -> dict[str, np.ndarray]:
        found = yeast.hamming_errors(reduced=fast, names=("ridge", "epsilon-ridge"), **options)
        return {"eps": 100.0 * np.subtract(found["epsilon-ridge"]["rows"], found["ridge"]["rows"])}

    return ablate(changes, measure, {"eps": "epsilon-ridge less ridge, wrong labels of 100"})
