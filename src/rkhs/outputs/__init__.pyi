from rkhs.outputs.base import Euclidean as Euclidean, OutputSpace as OutputSpace
from rkhs.outputs.functional import Functional as Functional, basis_functions as basis_functions
from rkhs.outputs.rkhs import RKHS as RKHS
