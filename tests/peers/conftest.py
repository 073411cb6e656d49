"""What scikit-learn's own tests expect of their session, and the differences that each of our modules lists."""

from __future__ import annotations

import numpy as np
import pytest

# They take long, and less than the others depend on what is ours.
SLOW = {
    "test_constant_target",
    "test_custom_optimizer",
    "test_duplicate_input",
    "test_kernel_pca_solvers_equivalence",
    "test_lml_gradient",
    "test_predict_cov_vs_std",
    "test_random_starts",
    "test_sample_statistics",
    "test_sample_y_shape_with_prior",
    "test_y_multioutput",
    "test_y_normalization",
}


@pytest.fixture
def global_random_seed() -> int:
    return 42


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> type:
    return request.param


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        if item.path.parent.name != "peers":
            continue
        if item.originalname in SLOW:
            item.add_marker(pytest.mark.slow)
        listed = getattr(item.module, "DIFFERENCES", {})
        for difference in [listed[key] for key in (item.name, item.originalname) if key in listed][:1]:
            item.add_marker(
                pytest.mark.xfail(reason=difference.reason, raises=difference.raises, strict=True), append=False
            )
