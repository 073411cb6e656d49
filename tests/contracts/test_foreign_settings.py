"""Settings and tensors that estimators meet: a default device of torch, no numbers, odd weights and labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, clone

import rkhs
from rkhs import KernelContrastive, KernelMap, KernelPCA, OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.evaluation import SmoothClassifier
from rkhs.kernels import Gaussian
from tests.contracts.estimator_examples import QUICK, configurations, is_pairwise
from tests.contracts.kernel_examples import ALL, items

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
y = X[:, 0] + 0.1 * RNG.normal(size=40)
NOTHING = torch.zeros(40, 4, device="meta")


@pytest.fixture
def default_device() -> Iterator[None]:
    """Tensors without a named device have no numbers, as on a GPU they would lie on the wrong one."""
    torch.set_default_device("meta")
    yield
    torch.set_default_device(None)


def answers(estimator: BaseEstimator) -> list[np.ndarray]:
    rows = X @ X.T if is_pairwise(estimator) else X
    estimator.fit(rows, y)
    found = [getattr(estimator, name)(rows) for name in ("transform", "predict") if hasattr(estimator, name)]
    if hasattr(estimator, "inverse_transform") and hasattr(estimator, "codes_"):
        found.append(estimator.inverse_transform(estimator.codes_))
    return [np.asarray(one) for one in found]


@pytest.mark.sample(6)
@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("estimator", configurations(QUICK), ids=repr)
def test_a_default_device_of_torch_changes_no_answer(estimator: BaseEstimator, request: pytest.FixtureRequest) -> None:
    expected = answers(clone(estimator))
    request.getfixturevalue("default_device")
    for one, other in zip(answers(clone(estimator)), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.sample(12)
@pytest.mark.parametrize("kernel", ALL)
def test_a_default_device_of_torch_changes_no_kernel_value(kernel: Any, request: pytest.FixtureRequest) -> None:
    rows = items(kernel, 66)
    expected = np.asarray(kernel(rows)), np.asarray(kernel.diag(rows))
    request.getfixturevalue("default_device")
    np.testing.assert_array_equal(np.asarray(kernel(rows)), expected[0])
    np.testing.assert_array_equal(np.asarray(kernel.diag(rows)), expected[1])


def test_a_default_device_of_torch_changes_no_module(default_device: None, tmp_path: Any) -> None:
    model = KernelPCA(2, kernel=Gaussian(0.2)).fit(X)
    found = rkhs.as_module(model)(torch.tensor(X, device="cpu"))
    np.testing.assert_allclose(found.numpy(), model.transform(X), atol=1e-12)


def test_tensors_without_numbers_are_refused() -> None:
    model = KernelPCA(2).fit(X)
    calls = (
        lambda: KernelPCA(2).fit(NOTHING),
        lambda: model.transform(NOTHING),
        lambda: OperatorKernelRegressor().fit(X, NOTHING[:, 0]),
        lambda: OperatorKernelRegressor().fit(X, y, sample_weight=NOTHING[:, 0]),
        lambda: Gaussian(1.0)(NOTHING),
        lambda: Gaussian(1.0)(torch.zeros(3, 4), NOTHING),
        lambda: Gaussian(1.0).diag(NOTHING),
    )
    for call in calls:
        with pytest.raises(InputError, match="got a tensor on the device 'meta', which has none"):
            call()


def test_a_module_gives_the_shapes_of_tensors_without_numbers() -> None:
    module = rkhs.as_module(KernelPCA(2).fit(X)).to("meta")
    assert module(NOTHING.double()).shape == (40, 2)
    refined = rkhs.as_module(rkhs.KernelAutoencoder(2, reg=1e-2, max_iter=2, tol=1.0).fit(X)).to("meta")
    with pytest.raises(InputError, match="refined codes"):
        refined(NOTHING.double())


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_one_weight_is_read_as_an_array_of_it(weight: float) -> None:
    for sample_weight in (weight, np.full(40, weight)):
        with pytest.raises(ValueError, match=r"sample_weight contains (NaN|infinity)"):
            OperatorKernelRegressor().fit(X, y, sample_weight=sample_weight)


def test_labels_are_of_one_kind_and_there_in_every_row() -> None:
    for model in (SmoothClassifier(), KernelContrastive(2, pairs="class", max_iter=2)):
        for one, other, message in [
            ("a", None, r"got None in row 1"),
            (None, None, r"got None in row 0"),
            ("a", np.nan, r"got nan in row 1"),
            ("a", 1, r"one kind; got int and str"),
        ]:
            with pytest.raises(InputError, match=message):
                model.fit(X, np.array([one, other] * 20, dtype=object))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_codes_of_a_map_have_the_dtype_of_the_training_data(dtype: Any) -> None:
    for rows in (X, X.astype(np.float32)):
        model = KernelMap(n_neighbors=5, dtype=dtype).fit(rows)
        assert model.codes_.dtype == rows.dtype == model.transform(rows).dtype
        np.testing.assert_array_equal(model.transform(rows), model.codes_)
