"""Algorithms; each is written once against the protocols of :mod:`rkhs.protocols`."""

from rkhs.solvers.adam import Adam
from rkhs.solvers.alternating import Alternating
from rkhs.solvers.base import Solver
from rkhs.solvers.cayley_adam import CayleyAdam
from rkhs.solvers.gradient_descent import GradientDescent
from rkhs.solvers.lbfgs import LBFGS
from rkhs.solvers.penalty import QuadraticPenalty
from rkhs.solvers.preimage import PreimageDescent
from rkhs.solvers.projected import ProjectedGradient
from rkhs.solvers.riemannian import RiemannianCG, RiemannianLBFGS
from rkhs.solvers.subspace import Subspace

__all__ = [
    "LBFGS",
    "Adam",
    "Alternating",
    "CayleyAdam",
    "GradientDescent",
    "PreimageDescent",
    "ProjectedGradient",
    "QuadraticPenalty",
    "RiemannianCG",
    "RiemannianLBFGS",
    "Solver",
    "Subspace",
]
