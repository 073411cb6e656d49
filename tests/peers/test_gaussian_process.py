"""scikit-learn's tests of Gaussian process regression, with our kernels in place of RBF."""

from __future__ import annotations

import pytest

from tests.peers.installed import Difference, functions_of, load_tests
from tests.peers.shims import PROCESS_KERNELS

globals().update(functions_of(load_tests("sklearn.gaussian_process.tests.test_gpr", PROCESS_KERNELS)))

pytestmark = pytest.mark.filterwarnings(  # of scikit-learn's own kernels, in its own tests
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore:Predicted variances smaller than 0:UserWarning",
    "ignore:invalid value encountered in log:RuntimeWarning",
)

GAMMA = "the hyper-parameter of our stationary kernels is gamma, which grows where a length scale shrinks"
DIFFERENCES = {
    "test_lml_gradient": Difference(f"{GAMMA}: the test looks for a length_scale", StopIteration),
    "test_no_optimizer[kernel1-None]": Difference(f"{GAMMA}: theta of length 1 is log 1/2", AssertionError),
    "test_anisotropic_kernel": Difference(f"{GAMMA}: the ratio of the scales is the inverse one", AssertionError),
    "test_warning_bounds": Difference(f"{GAMMA}: the warning names gamma, and the other bound", pytest.fail.Exception),
}
