"""scikit-learn's tests of kernel ridge regression, with ours in its place."""

from __future__ import annotations

import pytest

from rkhs._core.errors import InputError
from tests.peers.installed import Difference, functions_of, load_tests
from tests.peers.shims import KernelRidge

MODULE = load_tests("sklearn.tests.test_kernel_ridge", {"sklearn.kernel_ridge.KernelRidge": KernelRidge})
globals().update(functions_of(MODULE))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

DIFFERENCES = {
    "test_kernel_ridge_singular_kernel": Difference(
        "our regulariser is positive: reg=0 has no unique solution", InputError
    ),
}
