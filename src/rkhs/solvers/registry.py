"""Solvers by name: each is the class of that name with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rkhs.solvers.adam import Adam
from rkhs.solvers.admm import ADMM
from rkhs.solvers.alternating import Alternating
from rkhs.solvers.base import Solver, as_solver
from rkhs.solvers.block_coordinate import BlockCoordinate
from rkhs.solvers.cayley_adam import CayleyAdam
from rkhs.solvers.direct import Direct
from rkhs.solvers.fista import FISTA
from rkhs.solvers.gradient_descent import GradientDescent
from rkhs.solvers.lbfgs import LBFGS
from rkhs.solvers.minibatch import DoublyStochastic, MiniBatch
from rkhs.solvers.penalty import QuadraticPenalty
from rkhs.solvers.projected import ProjectedGradient
from rkhs.solvers.proximal_gradient import ProximalGradient
from rkhs.solvers.riemannian import RiemannianCG, RiemannianLBFGS
from rkhs.solvers.subspace import Subspace

__all__ = ["DESCENTS", "DUAL_SOLVERS", "STIEFEL_SOLVERS", "as_solver", "named_solver"]

DESCENTS: dict[str, type[Solver]] = {
    "lbfgs": LBFGS,
    "adam": Adam,
    "gradient_descent": GradientDescent,
    "alternating": Alternating,
    "minibatch": MiniBatch,
    "doubly_stochastic": DoublyStochastic,
}
"""Of autoencoders."""

STIEFEL_SOLVERS: dict[str, Callable[[], Solver]] = {
    "subspace": Subspace,
    "riemannian_lbfgs": RiemannianLBFGS,
    "riemannian_cg": RiemannianCG,
    "projected_gradient": ProjectedGradient,
    "cayley_adam": CayleyAdam,
    "penalty_lbfgs": partial(QuadraticPenalty, "lbfgs", tau=1e-3, tol=1e-12),
    "penalty_adam": partial(QuadraticPenalty, "adam", tau=1e-3, tol=1e-12),
}
"""Of problems whose answers have orthonormal columns."""

DUAL_SOLVERS: dict[str, type[Solver]] = {
    "admm": ADMM,
    "fista": FISTA,
    "block_coordinate": BlockCoordinate,
    "proximal_gradient": ProximalGradient,
    "direct": Direct,
}
"""Of operator-valued machines."""


def named_solver(name: str) -> Solver:
    """The solver of a name, with its defaults; KeyError for another name."""
    every: dict[str, Callable[[], Solver]] = {**DESCENTS, **STIEFEL_SOLVERS, **DUAL_SOLVERS}
    return every[name]()
