"""Solution of a deep restricted kernel machine: settings, starts, solver and bandwidths."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.optimize
import torch
from torch import Tensor

from rkhs._core.arrays import as_tensor
from rkhs._core.checks import check_choice, check_count, check_number, check_seed, naming
from rkhs._core.errors import InputError
from rkhs._core.linalg import center_gram
from rkhs.estimators.options.combinations import check_combination
from rkhs.kernels import Kernel, Stationary, as_kernel
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.protocols import Monitor, Solution
from rkhs.solvers import QuadraticPenalty, Solver
from rkhs.solvers.registry import STIEFEL_SOLVERS, as_solver
from rkhs.spaces import InMemoryItems
from rkhs.spaces.features.base import resolve_subsampled

if TYPE_CHECKING:
    from rkhs.spaces.features import Storage

_CHOICES = {
    "code_scale": ("unit", "sqrt_n"),
    "out_of_sample": ("ridge", "block", "paper"),
    "bandwidths": ("fixed", "joint"),
    "init": ("kpca", "random"),
}
_TAKEN = (  # parameters that are used as they were given
    *("center", "code_scale", "out_of_sample", "bandwidths", "tol", "init", "random_state", "verbose"),
)
_BOX = 10.0  # bandwidths stay within this factor of their start
_ROUNDS = 20  # largest number of alternations between bandwidths and codes


@dataclass(frozen=True)
class Settings:
    """Checked parameters; ``widths`` and ``eta`` per layer, ``kernels`` of the layers above the first."""

    widths: tuple[int, ...]
    eta: tuple[float, ...]
    kernels: tuple[Kernel, ...]
    center: bool
    code_scale: str
    out_of_sample: str
    bandwidths: str
    solver: Solver
    tol: float
    init: str | np.ndarray  # an array: codes of all layers, (n, S)
    random_state: int | np.random.RandomState | None
    storage: Storage | str
    verbose: int | Literal["auto"]


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Check the parameters of a machine, by name, before any data are read."""
    widths = given["n_components"]
    widths = tuple(widths) if isinstance(widths, (tuple, list)) else (widths,)
    if not widths:
        raise InputError("n_components must be an integer or a non-empty tuple of integers, one per layer; got ()")
    widths = tuple(check_count(width, "n_components") for width in widths)
    for name, choices in _CHOICES.items():
        if name != "init" or not isinstance(given[name], np.ndarray):
            check_choice(given[name], name, choices)
    max_iter, tol = check_count(given["max_iter"], "max_iter"), check_number(given["tol"], "tol", at_least=0.0)
    return Settings(
        widths,
        _read_eta(given["eta"], len(widths)),
        _read_kernels(given["decoder_kernel"], len(widths) - 1),
        solver=as_solver(given["solver"], STIEFEL_SOLVERS, max_iter, tol),
        storage=check_combination("DeepRKM", given),
        **{name: given[name] for name in _TAKEN},
    )


def _read_kernels(given: Any, count: int) -> tuple[Kernel, ...]:
    """Kernels of codes, one for each layer above the first."""
    kernels = tuple(given) if isinstance(given, (tuple, list)) else (given,) * count
    if len(kernels) != count:
        raise InputError(
            f"decoder_kernel must be one kernel or a tuple of {count}, one for each layer above the first; "
            f"got {len(kernels)}"
        )
    found = tuple(as_kernel(kernel) for kernel in kernels)
    for kernel in found:
        if not kernel.differentiable:
            raise InputError(f"decoder_kernel must be differentiable; {type(kernel).__name__} is not. Use Gaussian")
    return found


def _read_eta(value: Any, layers: int) -> tuple[float, ...]:
    if isinstance(value, numbers.Real):
        value = (value,) * layers
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != layers:
        raise InputError(f"eta must be one positive number, or one for each of the {layers} layers; got {value!r}")
    return tuple(check_number(entry, "eta", above=0.0) for entry in value)


def build_machine(settings: Settings, K: Tensor, factored: bool) -> tuple[ConstrainedDRKM, Tensor]:
    """The problem with every code kernel resolved on layer-wise kernel PCA codes, and these codes."""
    shared: dict[str, Any] = {"center": settings.center, "code_scale": settings.code_scale}
    # The number of components is checked on the whole machine first, for one clear message.
    whole = ConstrainedDRKM.from_gram(
        K,
        kernels=settings.kernels,
        n_components=settings.widths,
        eta=settings.eta,
        factored=factored,
        **shared,
    )
    resolved: list[Kernel] = []
    H = K.new_zeros(K.shape[0], 0)
    for layer in range(len(settings.widths)):
        widths = settings.widths[: layer + 1]
        part = replace(
            whole,
            kernels=tuple(resolved),
            n_components=widths,
            eta=settings.eta[: layer + 1],
        )
        H = part.extend(H)
        if layer < len(settings.kernels):
            codes, given = whole.scale * part.split(H)[layer], settings.kernels[layer]
            resolved.append(resolve_subsampled(given, codes, None) if factored else given.resolve(codes))
    return part, H


def solve_machine(in_memory: InMemoryItems, settings: Settings) -> tuple[ConstrainedDRKM, Solution, Kernel]:
    """The machine, its solution, and the input kernel, whose bandwidth may have changed."""
    problem, deterministic = build_machine(settings, in_memory.values, in_memory.factored)
    solver = settings.solver
    with naming("solver"):
        solver.check(problem)
    if isinstance(settings.init, np.ndarray):
        start = _given_start(settings, settings.init, problem, deterministic)
    elif settings.init == "kpca":
        start = problem.kpca_start(deterministic)
    else:
        seed = int(check_seed(settings.random_state).randint(2**31 - 1))
        start = problem.random_start(torch.Generator(device="cpu").manual_seed(seed))
    monitor = Monitor(verbose=settings.verbose, label="deep RKM")
    found = problem, solver.solve(problem, start, monitor), in_memory.kernel
    return found if settings.bandwidths == "fixed" else _with_bandwidths(found, solver, in_memory.items, settings.tol)


def _given_start(settings: Settings, codes: np.ndarray, problem: ConstrainedDRKM, like: Tensor) -> Tensor:
    """Codes of all layers that were given; only the penalty method may start outside of the constraint."""
    if codes.shape != tuple(like.shape) or not np.isfinite(codes).all():
        raise InputError(f"init must be codes of all layers: finite, of shape {tuple(like.shape)}; got {codes.shape}")
    H = as_tensor(codes).to(like)
    return H if isinstance(settings.solver, QuadraticPenalty) else problem.constraint.project(H)


def _with_bandwidths(
    found: tuple[ConstrainedDRKM, Solution, Kernel], solver: Solver, items: Tensor, tol: float
) -> tuple[ConstrainedDRKM, Solution, Kernel]:
    """Alternate between the bandwidths, one bounded line search per layer, and the codes; the objective never rises."""
    problem, solution, kernel = found
    centres: list[float] = []
    for each in (kernel, *problem.kernels):
        if not isinstance(each, Stationary) or each.domain != "vectors":
            raise InputError(
                f"bandwidths='joint' needs kernels with a bandwidth gamma on every layer; got {each!r}. "
                "Use Gaussian, Laplacian or Matern on vectors, or bandwidths='fixed'"
            )
        centres.append(float(each.gamma))
    for _ in range(_ROUNDS):
        before, H = solution.value, solution.point
        first = _best_gamma(kernel, items, problem, 0, H, centres[0])
        inner = tuple(
            _best_gamma(each, problem.scale * problem.split(H)[layer], problem, layer + 1, H, centres[layer + 1])
            for layer, each in enumerate(problem.kernels)
        )
        gram = first._gram(items)
        moved = replace(problem, gram=center_gram(gram) if problem.center else gram, kernels=inner)
        after = solver.solve(moved, H)
        if not after.value <= before:
            break
        problem, solution, kernel = moved, after, first
        if before - after.value <= max(tol, 1e-9) * abs(before):
            break
    return problem, solution, kernel


def _best_gamma(kernel: Any, items: Tensor, problem: ConstrainedDRKM, layer: int, H: Tensor, centre: float) -> Kernel:
    block, eta = problem.split(H)[layer], problem.eta[layer]

    def value(log_gamma: float) -> float:
        return layer_value(kernel._with(gamma=math.exp(log_gamma)), items, block, eta, problem.center)

    box = (math.log(centre / _BOX), math.log(centre * _BOX))
    found = scipy.optimize.minimize_scalar(value, bounds=box, method="bounded", options={"xatol": 1e-4})
    ends = [(value(end), end) for end in (*box, math.log(kernel.gamma))]
    best = min([(float(found.fun), float(found.x)), *ends])
    return kernel._with(gamma=math.exp(best[1]))


def layer_value(kernel: Kernel, items: Tensor, H: Tensor, eta: float, center: bool) -> float:
    """``-Tr(H^T K H) / (2 eta)`` of one layer for a kernel on given items."""
    T = H - H.mean(dim=0) if center else H
    return -0.5 / eta * float((T * (kernel._gram(items) @ T)).sum())
