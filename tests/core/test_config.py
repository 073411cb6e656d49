"""Objects described by their parameters: equality, clone, and the JSON form."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from rkhs._core.codec import Decoder, Encoder
from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs.kernels import FunctionalLaplacian


class Box(Configurable):
    def __init__(self, content: Any = None, label: str = "box") -> None:
        self.content = content
        self.label = label


class Bag(Box):
    pass


def round_trip(value: Any) -> Any:
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(Encoder(arrays).encode(value), allow_nan=False)
    return Decoder(arrays, lambda name: {"Box": Box, "Bag": Bag}[name], 2**20).decode(json.loads(text))


VALUES: list[Any] = [
    None, True, 3, -2.5, "text", [1, "a"], (1.0, None), {"a": 1, "$float": (2,)}, {"$array": "b"}, [], (), {},
    Box(), Box(np.arange(3.0)), Box((Bag(1), [Box("x")]), label="outer"), Box({"deep": Bag(np.eye(2))}),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_round_trip(value: Any) -> None:
    back = round_trip(value)
    assert type(back) is type(value)
    assert back == value


@pytest.mark.parametrize("value", [float("inf"), -float("inf")])
def test_infinity(value: float) -> None:
    assert round_trip(value) == value
    assert np.isnan(round_trip(float("nan")))


def test_arrays_keep_type_and_values() -> None:
    for array in (np.arange(6, dtype=np.int32).reshape(2, 3).T, np.array([True, False]), np.float32([1.5])):
        back = round_trip(array)
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)
    words = round_trip(np.array(["a", "bc"]))
    assert words.dtype.kind == "U"
    assert words.tolist() == ["a", "bc"]
    assert round_trip(np.array(["a"], dtype=object)).dtype == object
    assert isinstance(round_trip(torch.ones(2)), np.ndarray)
    assert round_trip(np.float64(2.0)) == 2.0
    assert round_trip(np.int64(2)) == 2
    arrays: dict[str, np.ndarray] = {}
    source = np.zeros(2)
    Encoder(arrays).encode(source)
    source += 1.0
    assert not arrays["array0"].any()


def test_what_cannot_be_written() -> None:
    for value in (lambda x: x, {1: 2}, object(), 1j, np.array([object()])):
        with pytest.raises(InputError, match=r"model file"):
            Encoder({}).encode(Box(value))


@pytest.mark.parametrize("value", [{"$array": "absent"}, {"unknown": 1}, {}, object()])
def test_damaged_descriptions(value: Any) -> None:
    with pytest.raises(InputError, match=r"^the description of a stored object is damaged"):
        Decoder({}, lambda name: Box, 2**20).decode(value)


def test_equality_and_clone() -> None:
    one = Box(np.arange(3.0))
    assert one == Box(np.arange(3.0))
    assert one != Box(np.arange(4.0))
    assert one != Bag(np.arange(3.0))
    assert one != "box"
    assert Box([np.ones(1)]) == Box([np.ones(1)])
    assert Box([np.ones(1)]) != Box([np.ones(1), 2])
    assert clone(one) == one
    assert clone(one) is not one
    assert Box(Bag(1)).get_params()["content__content"] == 1
    assert hash(one) == hash(Box([0, 1, 2])) == hash(clone(one))
    assert hash(one) != hash(Bag(np.arange(3.0)))


def test_parameters_of_any_kind_of_array_are_compared_by_their_values() -> None:
    pandas = pytest.importorskip("pandas")
    for make in (pandas.Series, np.array, torch.tensor):
        first, same, other = (FunctionalLaplacian(1.0, make(times)) for times in ([0.0, 1.0], [0.0, 1.0], [0.0, 2.0]))
        assert first == same
        assert first != other
