"""Denoising of plane figures (2021, section 5.2): fits are cells of one file, which figures 1 to 3 and table 2 read."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rkhs import DeepRKM
from rkhs.kernels import Gaussian
from studies.harness.cells import run_cells
from studies.papers.claims.conditions import DRKM, layer_wise_start, penalty_adam
from studies.papers.claims.rules import HOLDS, PART, UNDECIDED, Judged, cannot, direction
from studies.papers.claims.verdicts import OUTPUT, Answer, Part, run_of
from studies.papers.drkm_table2 import NOISE
from studies.papers.shapes import SHAPES, sample_shape

GRID = (0.001, 0.01, 0.1, 1.0)  # sigma^2 over the variance of the points
SIGMA = 0.1
_SECOND = (0.1, 1.0)  # sigma^2 of layer 2 over the variance of the codes, where it is not that of layer 1
_POINTS, _PRINTED_POINTS = 1000, 3000  # bandwidths are chosen with the first number
_KEYS = ("points", "shape", "noise", "draw", "ratio", "second", "model")
_WEIGHTS = ("paper", "projection")
_SPIRAL, _INNER = np.array([1.5, 0.0]), 0.6  # its centre in figure 2, and half its radius

Cell = dict[str, Any]


def error_of(found: np.ndarray, clean: np.ndarray) -> float:
    """Mean squared distance of rows."""
    return float(((found - clean) ** 2).sum(1).mean())


def too_few(judged: Judged, n: int, printed: int = _PRINTED_POINTS) -> Judged:
    """Undecided where the paper has more points."""
    if n >= printed:
        return judged
    said = f"at N = {n}, where the paper has {printed}, {judged.rule} alone says {judged.verdict}: {judged.found}"
    return replace(judged, found=said, verdict=UNDECIDED)


# ---------------------------------------------------------------- fits


def _fitted(cell: Cell, noisy: np.ndarray, fast: bool) -> Any:
    """The machine of the paper, ours, or kernel PCA, with the bandwidths of a cell."""
    kernel, n = Gaussian(0.5 / (cell["ratio"] * float(noisy.var(axis=0).sum()))), len(noisy)
    if cell["model"] == "deep":
        second = kernel if cell["second"] is None else Gaussian(0.25 * n / cell["second"])  # codes have norm one
        start = layer_wise_start(noisy, (kernel, second), (2, 1))
        options = dict(DRKM, kernel=kernel, decoder_kernel=second, solver=penalty_adam(20 if fast else n))
        model = DeepRKM((2, 1), init=start, **options)
    elif cell["model"] == "ours":
        model = DeepRKM((2, 1), kernel=kernel, random_state=0)
    else:
        model = DeepRKM(3, kernel=kernel, center=cell["model"] == "ours, shallow", out_of_sample="paper")
    return model.fit(noisy)


def _distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """From each row of ``a`` to the nearest of ``b``."""
    return np.sqrt(((a[:, None] - b) ** 2).sum(-1).min(1))


def _single_components(model: Any, shape: str, noisy: np.ndarray, clean: np.ndarray) -> list[list[float]]:
    """What the sentences on figures 2 and 3 name, of each component of layer 1."""
    curve = sample_shape(shape, 4000, 0.0, 999)[0]
    found = [model.denoise(noisy, weighting="paper", components=[component]) for component in (0, 1)]
    outliers = [float((_distances(points, curve) > 3.0 * SIGMA).mean()) for points in found]
    centre, inner = (np.linalg.norm(points - _SPIRAL, axis=1) < _INNER for points in (clean, curve))
    near = [float(_distances(points[centre], curve[inner]).mean()) for points in found]
    lost = [float((_distances(curve[:2000], points) > 2.0 * SIGMA).mean()) for points in found]  # of the square
    return [outliers, near, lost]


def _work(cell: Cell, fast: bool) -> Cell:
    """Errors of validation and training points by weights, relative to doing nothing, and of single components."""
    shape, n, noise, draw = cell["shape"], cell["points"], cell["noise"], cell["draw"]
    clean, noisy = sample_shape(shape, n, noise, 10 * draw)
    held_clean, held = sample_shape(shape, n // 4, noise, 10 * draw + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _fitted(cell, noisy, fast)
        found: Cell = {
            weights: [
                error_of(model.denoise(points, weighting=weights), truth) / (2.0 * noise**2)
                for points, truth in ((held, held_clean), (noisy, clean))
            ]
            for weights in (_WEIGHTS if cell["model"] == "deep" else _WEIGHTS[1:])  # kernel PCA projects
        }
        if cell["model"] == "deep" and noise == SIGMA and "spiral" in shape and cell["second"] is None:
            found["components"] = _single_components(model, shape, noisy, clean)
    return found


def _path(fast: bool) -> Path | None:
    """File of finished fits; None for a small run."""
    if fast:
        return None
    OUTPUT.mkdir(parents=True, exist_ok=True)
    return OUTPUT / "drkm-denoising.cells"


def _fits(
    shapes: Iterable[tuple[str, float]],
    draws: int,
    n: int,
    *,
    grid: Sequence[float] = GRID,
    second: Sequence[float | None] = (None,),
    models: Sequence[str] = ("deep",),
    fast: bool = False,
) -> list[Cell]:
    """Fits of figures and noise levels, with every bandwidth."""
    plan = [
        {"points": n, "shape": shape, "noise": noise, "draw": draw, "ratio": ratio, "second": two, "model": model}
        for shape, noise in shapes
        for draw in range(draws)
        for model in models
        for ratio in grid
        for two in (second if model == "deep" else (None,))
    ]
    return run_cells(plan, partial(_work, fast=fast), path=_path(fast), seconds=0.000022 * n**2)


def chosen(cells: Iterable[Cell], weights: str, **of: Any) -> Cell:
    """The fit with the least error on validation points."""
    same = [cell for cell in cells if all(cell[name] == value for name, value in of.items())]
    return min(same, key=lambda cell: cell[weights][0])


def _at_printed_size(cells: Iterable[Cell], fast: bool) -> list[Cell]:
    """The same fits on as many points as the paper has."""
    plan = [{**{key: cell[key] for key in _KEYS}, "points": 60 if fast else _PRINTED_POINTS} for cell in cells]
    return run_cells(plan, partial(_work, fast=fast), path=_path(fast), seconds=200.0)


# ---------------------------------------------------------------- figures 1 to 3


def _ours(shape: str, seed: int, n: int) -> float:
    """Our defaults on the same points: error over that of doing nothing, which is 2 sigma^2."""
    clean, noisy = sample_shape(shape, n, SIGMA, 10 * seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DeepRKM((2, 1), kernel=Gaussian("median"), random_state=0).fit(noisy)
        return error_of(model.denoise(noisy), clean) / (2.0 * SIGMA**2) - 1.0


@run_of("drkm-fig1")
def shapes(fast: bool) -> Answer:
    """Error over 2 sigma^2, less 1."""
    n, draws, grid = (60, 2, GRID[1:2]) if fast else (_POINTS, 3, GRID)
    name, answers = "squared error over 2 sigma^2, less 1:", {}
    for part, shape in (("square", "square"), ("half", "half circle")):
        cells = _fits([(shape, SIGMA)], draws, n, grid=grid, second=(None, *_SECOND), fast=fast)
        best = [chosen(cells, "paper", draw=draw, second=None) for draw in range(draws)]
        found = _at_printed_size(best, fast)
        shares = {
            setting: [cell[weights][1] - 1.0 for cell in found]
            for setting, weights in zip(("weights of (11)", "projection"), _WEIGHTS, strict=True)
        }
        paper = direction(shares, sign=-1, name=name).chosen("validation points")
        free = [chosen(cells, "paper", draw=draw) for draw in range(draws)]
        one, two = (np.mean([cell["paper"][1] for cell in some]) - 1.0 for some in (best, free))
        paper = paper.saying(f"{paper.found}; with {n} points {one:+.3f}, with a bandwidth a layer {two:+.3f}")
        full = n if fast else _PRINTED_POINTS
        ours = direction([_ours(shape, seed, full) for seed in range(draws)], sign=-1, name=name)
        answers[part] = Part(too_few(paper, full), too_few(ours, full))
    return answers


@run_of("drkm-fig2-3")
def components(fast: bool) -> Answer:
    """What the sentences on figures 2 and 3 name, of the second component of layer 1 less the first."""
    n, draws, grid = (60, 2, GRID[1:2]) if fast else (_POINTS, 3, GRID)
    figures = ("square and spiral", "squares, spiral and ring")
    cells = _fits([(shape, SIGMA) for shape in figures], draws, n, grid=grid, fast=fast)
    best = [chosen(cells, "paper", shape=shape, draw=draw) for shape in figures for draw in range(draws)]
    full, found = 60 if fast else _PRINTED_POINTS, _at_printed_size(best, fast)
    few, many = (np.array([cell["components"] for cell in some]).reshape(2, draws, 3, 2) for some in (best, found))
    ours, answer = "does not apply: our codes are rotated to principal axes", {}
    parts = {
        "outliers": (0, 0, -1, "share of outliers"),
        "centre": (0, 1, -1, "distance to the inner half of the spiral"),
        "square": (0, 2, 1, "share of the square without a denoised point near"),
        "artifacts": (1, 0, -1, "share of outliers"),
    }
    for part, (figure, measure, sign, name) in parts.items():
        values, before = (some[figure, :, measure] for some in (many, few))
        judged = direction(values[:, 1] - values[:, 0], sign=sign, name=f"{name}, second less first component:")
        first, second = values.mean(0)
        less = (before[:, 1] - before[:, 0]).mean()
        judged = judged.saying(f"{judged.found}; {first:.3g} and {second:.3g}; with {n} points {less:+.3g}")
        answer[part] = Part(too_few(judged.chosen("validation points"), full), ours)
    answer["deeper"] = Part(cannot("the paper has no formula for denoising by a component of layer 2"), ours)
    return answer


# ---------------------------------------------------------------- table 2

_CELLS = [(shape, noise) for noise in NOISE for shape in SHAPES]
_RATIOS = (*GRID, 10.0)


def ratios(logs: np.ndarray, cells: Sequence[tuple[str, float]]) -> dict[str, Judged]:
    """Log ratios of errors, a row a draw and a column a cell: R1 pooled over the cells, and between groups of cells."""
    pooled = direction(logs.mean(1), sign=1, name="log ratio of errors, pooled:")
    wins = int((logs.mean(0) > 0.0).sum())
    each = "; ".join(f"{shape} at {noise:g} {np.exp(logs[:, j].mean()):.2f}" for j, (shape, noise) in enumerate(cells))
    if pooled.verdict == HOLDS and wins < len(cells):
        pooled = replace(pooled, verdict=PART)
    parts = {"a": pooled.saying(f"larger in {wins} of {len(cells)} cells; {pooled.found}; {each}")}
    groups = {
        "b": ([" and " in shape or "," in shape for shape, _ in cells], "figures 2 and 3 less square and half circle"),
        "c": ([noise == NOISE[0] for _, noise in cells], "noise .05 less the others"),
    }
    for part, (inside, name) in groups.items():
        of = np.array(inside)
        outside = ~of if (~of).any() else of  # a small run has one group
        gain = logs[:, of if of.any() else ~of].mean(1) - logs[:, outside].mean(1)
        parts[part] = direction(gain, sign=1, name=f"log ratio, {name}:")
    return {part: judged.chosen("validation points") for part, judged in parts.items()}


@run_of("drkm-table2")
def plane_figures(fast: bool) -> Answer:
    """Error of kernel PCA, by its projection, over that of the deep machine with the weights of the paper."""
    draws, n, figures, grid = (2, 20, _CELLS[:2], _RATIOS[1:2]) if fast else (3, 100, _CELLS, _RATIOS)
    models = ("deep", "shallow", "ours", "ours, shallow")
    cells = _fits(figures, draws, n, grid=grid, models=models, fast=fast)

    def logs(deep: str, shallow: str, weights: str) -> np.ndarray:
        def error(model: str, by: str, shape: str, noise: float, draw: int) -> float:
            of: Cell = {"model": model, "shape": shape, "noise": noise, "draw": draw, "second": None}
            return float(chosen(cells, by, **of)[by][1])

        pairs = [
            [(error(shallow, "projection", *at, i), error(deep, weights, *at, i)) for at in figures]
            for i in range(draws)
        ]
        return np.log(pairs) @ (1.0, -1.0)

    paper, projected = (ratios(logs("deep", "shallow", weights), figures) for weights in _WEIGHTS)
    ours = ratios(logs("ours", "ours, shallow", "projection"), figures)
    beside = {part: (judged.saying(f"by projection too: {judged.found}"),) for part, judged in projected.items()}
    return {part: Part(too_few(paper[part], n), too_few(ours[part], n), beside[part]) for part in paper}
