"""Algorithms; each is written once against the protocols of :mod:`rkhs.protocols`."""

from rkhs.solvers.base import Solver
from rkhs.solvers.lbfgs import LBFGS
from rkhs.solvers.preimage import PreimageDescent

__all__ = ["LBFGS", "PreimageDescent", "Solver"]
