"""Algorithms; each is written once against the protocols of :mod:`rkhs.protocols`."""

from rkhs.solvers.base import Solver
from rkhs.solvers.admm import ADMM
from rkhs.solvers.batched import GapSolver
from rkhs.solvers.lbfgs import LBFGS

__all__ = ["ADMM", "LBFGS", "GapSolver", "Solver"]
