"""Sets that codes are kept on, written once for all solvers."""

from rkhs.constraints.base import Constraint, Unconstrained
from rkhs.constraints.stiefel import Stiefel

__all__ = ["Constraint", "Stiefel", "Unconstrained"]
