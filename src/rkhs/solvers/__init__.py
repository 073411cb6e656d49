"""Algorithms; each is written once against the protocols of :mod:`rkhs.protocols`."""

from rkhs.solvers.base import Solver
from rkhs.solvers.lbfgs import LBFGS

__all__ = ["LBFGS", "Solver"]
