"""Sets that codes are kept on, written once for all solvers."""

from rkhs.constraints.base import Constraint, Unconstrained

__all__ = ["Constraint", "Unconstrained"]
