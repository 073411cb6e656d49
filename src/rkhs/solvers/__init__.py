"""Algorithms; each is written once against the protocols of :mod:`rkhs.protocols`."""

from rkhs.solvers.adam import Adam
from rkhs.solvers.admm import ADMM
from rkhs.solvers.alternating import Alternating
from rkhs.solvers.base import Solver
from rkhs.solvers.batched import GapSolver
from rkhs.solvers.block_coordinate import BlockCoordinate
from rkhs.solvers.box_preimage import PreimageInBox
from rkhs.solvers.cayley_adam import CayleyAdam
from rkhs.solvers.direct import Direct, leave_one_out_residuals
from rkhs.solvers.fista import FISTA
from rkhs.solvers.gradient_descent import GradientDescent
from rkhs.solvers.lbfgs import LBFGS
from rkhs.solvers.minibatch import DoublyStochastic, MiniBatch
from rkhs.solvers.penalty import QuadraticPenalty
from rkhs.solvers.preimage import PreimageDescent
from rkhs.solvers.projected import ProjectedGradient
from rkhs.solvers.proximal_gradient import ProximalGradient
from rkhs.solvers.riemannian import RiemannianCG, RiemannianLBFGS
from rkhs.solvers.row_newton import RowNewton
from rkhs.solvers.subspace import Subspace

__all__ = [
    "ADMM",
    "FISTA",
    "LBFGS",
    "Adam",
    "Alternating",
    "BlockCoordinate",
    "CayleyAdam",
    "Direct",
    "DoublyStochastic",
    "GapSolver",
    "GradientDescent",
    "MiniBatch",
    "PreimageDescent",
    "PreimageInBox",
    "ProjectedGradient",
    "ProximalGradient",
    "QuadraticPenalty",
    "RiemannianCG",
    "RiemannianLBFGS",
    "RowNewton",
    "Solver",
    "Subspace",
    "leave_one_out_residuals",
]
