"""Algorithms; each is written once against the protocols of :mod:`rkhs.protocols`."""

from rkhs.solvers.adam import Adam
from rkhs.solvers.alternating import Alternating
from rkhs.solvers.base import Solver
from rkhs.solvers.gradient_descent import GradientDescent
from rkhs.solvers.lbfgs import LBFGS
from rkhs.solvers.preimage import PreimageDescent

__all__ = ["LBFGS", "Adam", "Alternating", "GradientDescent", "PreimageDescent", "Solver"]
