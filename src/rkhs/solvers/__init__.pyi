from rkhs.solvers.adam import Adam as Adam, CayleyAdam as CayleyAdam
from rkhs.solvers.admm import ADMM as ADMM
from rkhs.solvers.base import Solver as Solver
from rkhs.solvers.batched import GapSolver as GapSolver
from rkhs.solvers.direct import Direct as Direct, leave_one_out_residuals as leave_one_out_residuals
from rkhs.solvers.fista import FISTA as FISTA, ProximalGradient as ProximalGradient
from rkhs.solvers.gradient_descent import Alternating as Alternating, GradientDescent as GradientDescent
from rkhs.solvers.lbfgs import LBFGS as LBFGS
from rkhs.solvers.penalty import QuadraticPenalty as QuadraticPenalty
from rkhs.solvers.preimage import PreimageDescent as PreimageDescent, PreimageInBox as PreimageInBox
from rkhs.solvers.projected import ProjectedGradient as ProjectedGradient
from rkhs.solvers.riemannian import RiemannianLBFGS as RiemannianLBFGS
from rkhs.solvers.subspace import Subspace as Subspace
