"""Contract suites for classes of your own: each says which guarantee a kernel, loss, solver or storage breaks."""

from rkhs.testing.base import BrokenPromise
from rkhs.testing.kernels import check_kernel
from rkhs.testing.losses import check_loss
from rkhs.testing.solvers import check_solver
from rkhs.testing.spaces import check_space

__all__ = ["BrokenPromise", "check_kernel", "check_loss", "check_solver", "check_space"]
