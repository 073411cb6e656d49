"""Solvers by name: each is the class of that name with its defaults."""

from __future__ import annotations

from functools import partial

from rkhs import solvers
from rkhs._core.lazy import ByName
from rkhs.solvers.base import Solver, as_solver

__all__ = ["DESCENTS", "DUAL_SOLVERS", "STIEFEL_SOLVERS", "as_solver", "named_solver"]


def _penalty(inner: str) -> Solver:
    return solvers.QuadraticPenalty(inner, tau=1e-3, tol=1e-12)


DESCENTS = ByName(
    "rkhs.solvers",
    lbfgs="LBFGS",
    adam="Adam",
    gradient_descent="GradientDescent",
    alternating="Alternating",
    minibatch="MiniBatch",
    doubly_stochastic="DoublyStochastic",
)
"""Of autoencoders."""

STIEFEL_SOLVERS = ByName(
    "rkhs.solvers",
    subspace="Subspace",
    riemannian_lbfgs="RiemannianLBFGS",
    riemannian_cg="RiemannianCG",
    projected_gradient="ProjectedGradient",
    cayley_adam="CayleyAdam",
    penalty_lbfgs=partial(_penalty, "lbfgs"),
    penalty_adam=partial(_penalty, "adam"),
)
"""Of problems whose answers have orthonormal columns."""

DUAL_SOLVERS = ByName(
    "rkhs.solvers",
    admm="ADMM",
    fista="FISTA",
    block_coordinate="BlockCoordinate",
    proximal_gradient="ProximalGradient",
    direct="Direct",
)
"""Of operator-valued machines."""


def named_solver(name: str) -> Solver:
    """The solver of a name, with its defaults; KeyError for another name."""
    tables = (DESCENTS, STIEFEL_SOLVERS, DUAL_SOLVERS)
    return next((table for table in tables if name in table), DESCENTS)[name]()
