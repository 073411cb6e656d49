"""scikit-learn's tests of kernel PCA, with ours in its place."""

from __future__ import annotations

import pytest

from rkhs._core.errors import InputError, NotPositiveSemidefiniteWarning
from tests.peers.installed import Difference, functions_of, load_tests
from tests.peers.shims import KernelPCA

MODULE = load_tests("sklearn.decomposition.tests.test_kernel_pca", {"sklearn.decomposition.KernelPCA": KernelPCA})
globals().update(functions_of(MODULE))

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::rkhs._core.errors.ColumnWarning"
)

SQUARE = "a Gram matrix that is not symmetric is refused: something went wrong before"
DIFFERENCES = {
    "test_kernel_pca_sparse": Difference(
        "inverse_transform of sparse rows gives weights on the training rows, where theirs is refused",
        pytest.fail.Exception,
    ),
    "test_kernel_pca_invalid_parameters": Difference(f"{SQUARE}, here already", AssertionError),
    "test_kernel_pca_precomputed_non_symmetric": Difference(SQUARE, InputError),
    "test_remove_zero_eig": Difference("items that are equal but for rounding are refused", InputError),
    "test_precomputed_kernel_not_psd": Difference(
        "negative eigenvalues are set to zero with a warning, whatever n_components is",
        NotPositiveSemidefiniteWarning,
    ),
    "test_kernel_pca_raise_not_fitted_error": Difference(
        "every model of vectors has inverse_transform: there is nothing to switch on", pytest.fail.Exception
    ),
}
