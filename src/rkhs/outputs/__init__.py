"""Output spaces in isometric coordinates: what problems and solvers see of the targets."""

from rkhs.outputs.base import OutputSpace
from rkhs.outputs.euclidean import Euclidean
from rkhs.outputs.functional import Functional, basis_functions
from rkhs.outputs.rkhs import RKHS

__all__ = ["RKHS", "Euclidean", "Functional", "OutputSpace", "basis_functions"]
