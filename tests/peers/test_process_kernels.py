"""scikit-learn's tests of the kernels of its Gaussian processes, with ours in place of RBF and Matern."""

from __future__ import annotations

import pytest

from rkhs._core.errors import InputError
from tests.peers.installed import Difference, functions_of, load_tests
from tests.peers.shims import PROCESS_KERNELS

globals().update(functions_of(load_tests("sklearn.gaussian_process.tests.test_kernels", PROCESS_KERNELS)))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DIFFERENCES = {
    "test_kernel_anisotropic": Difference(
        "theta holds scales of columns, the inverses of length scales", AssertionError
    ),
    "test_matern_kernel": Difference("our Matern kernel is that of nu = 0.5, 1.5 and 2.5 alone", InputError),
}
