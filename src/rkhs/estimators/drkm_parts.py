"""What fitting a deep restricted kernel machine is made of: settings, solvers by name, starts, bandwidths."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import scipy.optimize
import torch
from torch import Tensor

from rkhs._core.checks import check_choice, check_count, check_number, check_seed, naming
from rkhs._core.errors import InputError
from rkhs._core.linalg import center_gram
from rkhs.constraints import Stiefel
from rkhs.estimators.storage import resolve_thinned
from rkhs.kernels.base import Kernel
from rkhs.kernels.registry import as_kernel
from rkhs.kernels.vectors.stationary import Stationary
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.protocols import Monitor, Solution
from rkhs.solvers import (
    CayleyAdam,
    ProjectedGradient,
    QuadraticPenalty,
    RiemannianCG,
    RiemannianLBFGS,
    Solver,
    Subspace,
)
from rkhs.spaces.digits import refuse_identical

if TYPE_CHECKING:
    from rkhs.estimators.deep_rkm import DeepRKM

SOLVERS = (
    "subspace",
    "riemannian_lbfgs",
    "riemannian_cg",
    "projected_gradient",
    "cayley_adam",
    "penalty_lbfgs",
    "penalty_adam",
)
_BOX = 10.0  # bandwidths stay within this factor of where they start
_ROUNDS = 20


@dataclass(frozen=True)
class Settings:
    """Checked parameters, one entry a layer."""

    widths: tuple[int, ...]
    eta: tuple[float, ...]
    multiplier: tuple[float, ...]
    kernels: tuple[Kernel, ...]
    constraint: Stiefel


def read_settings(estimator: DeepRKM) -> Settings:
    """Check the parameters of the estimator before any data are touched."""
    given = estimator.n_components
    widths = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not widths:
        raise InputError("n_components must be an integer or a non-empty tuple of integers, one a layer; got ()")
    widths = tuple(check_count(width, "n_components") for width in widths)
    inner = estimator.decoder_kernel
    kernels = tuple(inner) if isinstance(inner, (tuple, list)) else (inner,) * (len(widths) - 1)
    if len(kernels) != len(widths) - 1:
        raise InputError(
            f"decoder_kernel must be one kernel or a tuple of {len(widths) - 1}, one for each layer above the first; "
            f"got {len(kernels)}"
        )
    check_choice(estimator.constraint, "constraint", ("joint", "per_layer"))
    check_choice(estimator.code_scale, "code_scale", ("unit", "sqrt_n"))
    check_choice(estimator.out_of_sample, "out_of_sample", ("ridge", "block", "paper"))
    check_choice(estimator.preimage, "preimage", ("ridge", "fixed_point"))
    check_choice(estimator.bandwidths, "bandwidths", ("fixed", "joint"))
    check_choice(estimator.init, "init", ("kpca", "random"))
    if not (isinstance(estimator.ridge, str) and estimator.ridge == "loo"):
        check_number(estimator.ridge, "ridge", above=0.0, names=("loo",))
    check_count(estimator.n_init, "n_init")
    check_count(estimator.max_iter, "max_iter")
    check_number(estimator.tol, "tol", at_least=0.0)
    return Settings(
        widths,
        _per_layer(estimator.eta, "eta", len(widths)),
        _per_layer(estimator.multiplier, "multiplier", len(widths)),
        tuple(as_kernel(kernel) for kernel in kernels),
        Stiefel(blocks=widths if estimator.constraint == "per_layer" else None),
    )


def _per_layer(value: Any, name: str, layers: int) -> tuple[float, ...]:
    if isinstance(value, numbers.Real):
        value = (value,) * layers
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != layers:
        raise InputError(f"{name} must be one positive number, or one for each of the {layers} layers; got {value!r}")
    return tuple(check_number(entry, name, above=0.0) for entry in value)


def make_solver(given: Any, max_iter: int, tol: float) -> Solver:
    """A solver from its name; an object is taken as it is."""
    if isinstance(given, Solver):
        return given
    check_choice(given, "solver", SOLVERS)
    if given.startswith("penalty_"):
        return QuadraticPenalty(given.removeprefix("penalty_"), tau=1e-3, max_iter=max_iter, tol=1e-12)
    makers: dict[str, Any] = {
        "subspace": Subspace,
        "riemannian_lbfgs": RiemannianLBFGS,
        "riemannian_cg": RiemannianCG,
        "projected_gradient": ProjectedGradient,
        "cayley_adam": CayleyAdam,
    }
    return makers[given](max_iter=max_iter, tol=tol)


def build_machine(estimator: DeepRKM, settings: Settings, K: Tensor, factored: bool) -> tuple[ConstrainedDRKM, Tensor]:
    """The problem with every code kernel resolved on layer-wise kernel PCA codes, and these codes.

    The bandwidths come from the deterministic codes whatever the start, so that they do not depend on the seed.
    """
    shared: dict[str, Any] = {"center": estimator.center, "code_scale": estimator.code_scale}
    per_layer = settings.constraint.blocks is not None
    # The number of components is checked on the whole machine first, for one clear message.
    whole = ConstrainedDRKM.from_gram(
        K,
        kernels=settings.kernels,
        n_components=settings.widths,
        eta=settings.eta,
        constraint=settings.constraint,
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
            constraint=Stiefel(blocks=widths if per_layer else None),
        )
        H = part.extend(H)
        if layer < len(settings.kernels):
            codes, given = whole.scale * part.split(H)[layer], settings.kernels[layer]
            resolved.append(resolve_thinned(given, codes, None) if factored else given.resolve(codes))
    return part, H


def solve_machine(
    estimator: DeepRKM, settings: Settings, K: Tensor, kernel: Kernel, items: Any, *, factored: bool = False
) -> tuple[ConstrainedDRKM, Solution, Kernel]:
    """Best of all starts; returns the machine, the solution, and the input kernel (its bandwidth may have moved).

    ``K`` is the Gram matrix, or ``factored`` features of the items.
    """
    refuse_identical(K, factored=factored)
    problem, deterministic = build_machine(estimator, settings, K, factored)
    solver = make_solver(estimator.solver, estimator.max_iter, estimator.tol)
    with naming("solver"):
        solver.check(problem)
    rng = check_seed(estimator.random_state)
    best: tuple[ConstrainedDRKM, Solution, Kernel] | None = None
    for number in range(estimator.n_init):
        if estimator.init == "kpca" and number == 0:
            start = problem.kpca_start(deterministic)
        else:
            generator = torch.Generator(device="cpu").manual_seed(int(rng.randint(2**31 - 1)))
            start = problem.random_start(generator)
        monitor = Monitor(verbose=estimator.verbose, label=f"deep RKM, start {number + 1} of {estimator.n_init}")
        found = problem, solver.solve(problem, start, monitor), kernel
        if estimator.bandwidths == "joint":
            found = _with_bandwidths(found, solver, items, estimator.tol)
        if best is None or found[1].value < best[1].value:
            best = found
    assert best is not None
    return best


def _with_bandwidths(
    found: tuple[ConstrainedDRKM, Solution, Kernel], solver: Solver, items: Any, tol: float
) -> tuple[ConstrainedDRKM, Solution, Kernel]:
    """Alternate between the bandwidths, one bounded line search a layer, and the codes; the objective never rises.

    For given codes the objective is a sum over layers, each of which depends on its own bandwidth alone.
    """
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
        return layer_value(_with_gamma(kernel, math.exp(log_gamma)), items, block, eta, problem.center)

    box = (math.log(centre / _BOX), math.log(centre * _BOX))
    found = scipy.optimize.minimize_scalar(value, bounds=box, method="bounded", options={"xatol": 1e-4})
    ends = [(value(end), end) for end in (*box, math.log(kernel.gamma))]
    best = min([(float(found.fun), float(found.x)), *ends])
    return _with_gamma(kernel, math.exp(best[1]))


def _with_gamma(kernel: Any, gamma: float) -> Kernel:
    return type(kernel)(**{**kernel.get_params(deep=False), "gamma": gamma})


def layer_value(kernel: Kernel, items: Tensor, H: Tensor, eta: float, center: bool) -> float:
    """``-Tr(H^T K H) / (2 eta)`` of one layer for a kernel on given items."""
    T = H - H.mean(dim=0) if center else H
    return -0.5 / eta * float((T * (kernel._gram(items) @ T)).sum())
