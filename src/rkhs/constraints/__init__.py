"""Sets that codes are kept on, written once for all solvers."""

from rkhs.constraints.base import Constraint, Unconstrained
from rkhs.constraints.sphere import Ball, Sphere, Whitened
from rkhs.constraints.stiefel import Stiefel

__all__ = ["Ball", "Constraint", "Sphere", "Stiefel", "Unconstrained", "Whitened"]
