"""scikit-learn's tests of Nystroem and random Fourier features, with ours in their place."""

from __future__ import annotations

import pytest

from rkhs._core.errors import InputError
from tests.peers.installed import Difference, functions_of, load_tests
from tests.peers.shims import Nystroem, RBFSampler

MODULE = load_tests(
    "sklearn.tests.test_kernel_approximation",
    {"sklearn.kernel_approximation.Nystroem": Nystroem, "sklearn.kernel_approximation.RBFSampler": RBFSampler},
)
# Samplers that we do not have, and the dispatch of array libraries: ours read and give back NumPy arrays and tensors.
NOT_OURS = ("count_sketch", "chi2", "array_api")
globals().update({k: v for k, v in functions_of(MODULE).items() if not any(word in k for word in NOT_OURS)})

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OFFSETS = "our Fourier features are pairs of cosine and sine without random offsets, which has less variance"
DIFFERENCES = {
    "test_rbf_sampler_fitted_attributes_dtype": Difference(OFFSETS, AttributeError),
    "test_rbf_sampler_dtype_equivalence": Difference(OFFSETS, AttributeError),
    "test_nystroem_approximation": Difference(
        "additive_chi2 is minus a distance, not positive semi-definite: zero on every landmark", InputError
    ),
    "test_nystroem_callable": Difference("one value more is computed, to see that k(x, y) = k(y, x)", AssertionError),
    "test_nystroem_precomputed_kernel": Difference(
        "there are no parameters beside the kernel that could contradict it", pytest.fail.Exception
    ),
    "test_nystroem_component_indices": Difference("landmarks are kept as items, not as row numbers", AttributeError),
    "test_get_feature_names_out[RBFSampler]": Difference("the class is called RandomFeatures", AssertionError),
}
