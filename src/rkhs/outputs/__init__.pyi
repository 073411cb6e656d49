from rkhs.outputs.base import OutputSpace as OutputSpace
from rkhs.outputs.euclidean import Euclidean as Euclidean
from rkhs.outputs.functional import Functional as Functional, basis_functions as basis_functions
from rkhs.outputs.rkhs import RKHS as RKHS
