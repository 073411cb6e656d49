"""The way from arrays of any layout to tensors: the same numbers, whatever lies in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, clone

from rkhs._core.arrays import as_numpy, check_items, give_back, tensor_like, to_tensor
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian, Kernel, Laplacian, Linear, ScaledInputs
from rkhs.losses import MaximumMargin
from tests.contracts.estimator_examples import CHOSEN, QUICK, for_estimator, plain
from tests.contracts.kernel_examples import VECTORS, items

CPU = torch.device("cpu")


def _packed(X: np.ndarray) -> np.ndarray:
    """Numbers between bytes of other kinds: odd strides, not aligned."""
    made = np.zeros(X.shape, dtype=[("byte", "i1"), ("number", "f8")])
    made["number"] = X
    return made["number"]


def _frozen(X: np.ndarray) -> np.ndarray:
    made = X.copy()
    made.flags.writeable = False
    return made


def _tiled(X: np.ndarray) -> np.ndarray:
    """Zero strides where all rows are equal, which one row always is."""
    return np.broadcast_to(X[0], X.shape) if len(X) == 1 else X


# Views and copies of a matrix; all hold its numbers.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "backwards": lambda X: X[::-1].copy()[::-1],
    "first of backwards": lambda X: np.concatenate([X[:0], X[::-1], np.ones((1, X.shape[1]))])[-2::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "both backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "columns in order": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "big endian": lambda X: X.astype(">f8"),
    "little endian": lambda X: X.astype("<f8"),
    "read-only": _frozen,
    "packed": _packed,
    "one row for all": _tiled,
    "longer": lambda X: X.astype(np.longdouble),
    "objects": lambda X: X.astype(object),
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


@layouts
def test_every_layout_becomes_the_same_tensor(layout: str) -> None:
    like = torch.zeros(1, dtype=torch.float64)
    for shape in ((1, 1), (1, 3), (5, 1), (5, 3)):
        X = np.random.default_rng(0).standard_normal(shape)
        laid = LAYOUTS[layout](X)
        np.testing.assert_array_equal(tensor_like(laid, like).numpy(), X)
        if laid.dtype.itemsize == 8 and laid.dtype.kind == "f":
            tensor = to_tensor(laid, torch.float64, CPU)
            np.testing.assert_array_equal(tensor.numpy(), X)
            assert tensor.is_contiguous()
            np.testing.assert_array_equal(give_back(laid, like).numpy(), X)


@pytest.mark.parametrize(
    "array", [np.eye(3)[::-1][:1], np.eye(3)[:, ::-1][:, :1], _packed(np.ones(1)), _frozen(np.eye(2))]
)
def test_memory_that_torch_refuses_is_copied(array: np.ndarray) -> None:
    tensor = to_tensor(array, torch.float64, CPU)
    np.testing.assert_array_equal(tensor.numpy(), array)
    if not (array.flags.writeable and array.flags.aligned):  # a single row is read forwards whatever its stride
        assert not np.may_share_memory(tensor.numpy(), array)


def test_memory_that_torch_can_view_is_not_copied() -> None:
    X = np.eye(3)
    assert np.may_share_memory(to_tensor(X, torch.float64, CPU).numpy(), X)
    assert np.may_share_memory(tensor_like(X.T, torch.eye(1, dtype=torch.float64)).numpy(), X)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", VECTORS)
def test_kernels_read_every_layout(kernel: Kernel) -> None:
    X, Y = (items(kernel, n, seed=n).numpy() for n in (5, 1))
    square, rows, diagonal = kernel(X), kernel(Y, X), kernel.diag(Y)
    for layout, change in LAYOUTS.items():
        if layout != "objects":  # refused, as texts would be
            np.testing.assert_array_equal(kernel(change(X)), square, err_msg=layout)
            np.testing.assert_array_equal(kernel(change(Y), change(X)), rows, err_msg=layout)
            np.testing.assert_array_equal(kernel.diag(change(Y)), diagonal, err_msg=layout)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", plain(QUICK), ids=repr)
def test_estimators_read_every_layout(estimator: BaseEstimator) -> None:
    rng = np.random.default_rng(0)
    X, new = for_estimator(estimator, (rng.standard_normal((12, 3)), rng.standard_normal((4, 3))))
    y = rng.standard_normal((12, 2)) if hasattr(estimator, "predict") else None
    with warnings.catch_warnings():
        for kind in (*CHOSEN, UserWarning):
            warnings.simplefilter("ignore", kind)
        model = estimator.fit(X, y)
        answer = model.transform if hasattr(model, "transform") else model.predict
        whole, one = answer(new), answer(new[:1])
        for layout, change in LAYOUTS.items():
            np.testing.assert_array_equal(answer(change(new)), whole, err_msg=layout)
            np.testing.assert_array_equal(answer(change(new[:1])), one, err_msg=layout)
        for layout in ("both backwards", "packed"):
            change = LAYOUTS[layout]
            again = clone(estimator).fit(change(X), None if y is None else change(y))
            answer = again.transform if hasattr(again, "transform") else again.predict
            np.testing.assert_array_equal(answer(new), whole, err_msg=layout)


@layouts
def test_parameters_of_every_layout(layout: str) -> None:
    X, values = np.random.default_rng(0).standard_normal((5, 3)), np.array([[1.0, 2.0, 3.0]])
    given = LAYOUTS[layout](values)
    np.testing.assert_array_equal(Linear(1.0, given[0])(X), Linear(1.0, values[0])(X))
    np.testing.assert_array_equal(ScaledInputs(Gaussian(1.0), given[0])(X), ScaledInputs(Gaussian(1.0), values[0])(X))
    R = torch.ones(1, 3, dtype=torch.float64)
    assert torch.equal(MaximumMargin(given).value(R), MaximumMargin(values).value(R))


def test_single_rows_of_a_view() -> None:
    X = np.random.default_rng(0).standard_normal((4, 3))
    for row in (X[::-1][:1], X[:, ::-1][:1], X[2:1:-1]):
        np.testing.assert_array_equal(Laplacian(gamma=1.0)(row, X), Laplacian(gamma=1.0)(row.copy(), X))


def test_series_are_read_by_position() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2.0, 3.0], index=[2, 0, 1])
    np.testing.assert_array_equal(as_numpy(series), [1.0, 2.0, 3.0])
    assert check_items(pandas.Series(["a", "b"], index=[1, 0])) == ["a", "b"]
    for unordered in ({"a", "b"}, frozenset("ab"), {"a": 1}):
        with pytest.raises(InputError, match="Wrap one object in a list"):
            check_items(unordered)
    frame = pandas.DataFrame({"a": [1.0, 2.0]}, index=[1, 0])
    assert as_numpy(frame) is frame
