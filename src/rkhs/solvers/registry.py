"""Solvers by name: each is the class of that name with its defaults."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import partial

from rkhs import solvers
from rkhs._core.errors import InputError, quote
from rkhs._core.lazy import ByName
from rkhs.solvers.base import Solver, check_options


def _penalty(inner: str) -> Solver:
    return solvers.QuadraticPenalty(inner, tau=1e-3, tol=1e-12)


DESCENTS = ByName(
    "rkhs.solvers",
    lbfgs="LBFGS",
    adam="Adam",
    gradient_descent="GradientDescent",
    alternating="Alternating",
)
"""Solvers of autoencoders."""

STIEFEL_SOLVERS = ByName(
    "rkhs.solvers",
    subspace="Subspace",
    riemannian_lbfgs="RiemannianLBFGS",
    projected_gradient="ProjectedGradient",
    cayley_adam="CayleyAdam",
    penalty_lbfgs=partial(_penalty, "lbfgs"),
    penalty_adam=partial(_penalty, "adam"),
)
"""Solvers of problems with orthonormal columns."""

DUAL_SOLVERS = ByName(
    "rkhs.solvers",
    admm="ADMM",
    fista="FISTA",
    proximal_gradient="ProximalGradient",
    direct="Direct",
)
"""Solvers of dual problems of operator-valued kernels."""


def as_solver(
    solver: Solver | str,
    names: Mapping[str, Callable[[], Solver]],
    max_iter: int | None = None,
    tol: float | None = None,
) -> Solver:
    """A solver given by name or as an object, checked, with the limits of an estimator where it has none of its own."""
    if isinstance(solver, Solver) or (isinstance(solver, str) and solver in names):
        found = (names[solver]() if isinstance(solver, str) else copy.copy(solver)).within(max_iter, tol)
        check_options(found)
        found._known = True
        return found
    example = next(iter(names.values()))()
    raise InputError(
        f"solver must be one of {', '.join(map(repr, names))}, or an object of rkhs.solvers such as {example!r}; "
        f"got {quote(solver)}"
    )


def named_solver(name: str) -> Solver:
    """The solver of a name, with its defaults; KeyError for another name."""
    tables = (DESCENTS, STIEFEL_SOLVERS, DUAL_SOLVERS)
    return next((table for table in tables if name in table), DESCENTS)[name]()
