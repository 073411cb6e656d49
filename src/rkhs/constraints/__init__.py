"""Sets that codes are kept on, written once for all solvers."""

from rkhs.constraints.base import Constraint, Unconstrained
from rkhs.constraints.sphere import Ball, SoftSphere, Sphere, Whitened, as_constraint
from rkhs.constraints.stiefel import Stiefel

__all__ = ["Ball", "Constraint", "SoftSphere", "Sphere", "Stiefel", "Unconstrained", "Whitened", "as_constraint"]
