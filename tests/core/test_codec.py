"""What the codec writes down it gives back: values, types, dtypes and memory order."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from rkhs._core.codec import Decoder, Encoder, SizeError
from rkhs._core.errors import InputError


def there_and_back(value: Any) -> Any:
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(Encoder(arrays).encode(value), allow_nan=False)

    def no_class(name: str) -> type:
        raise AssertionError(name)

    return Decoder(arrays, no_class, 2**20).decode(json.loads(text))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return (
            type(b) is np.ndarray
            and a.dtype == b.dtype
            and a.shape == b.shape
            and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
        )
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and repr(a) == repr(b)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(st.characters(codec=None), max_size=9)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=12)
        | st.lists(inner, max_size=12).map(tuple)
        | st.dictionaries(st.text(st.characters(codec=None), max_size=4), inner, max_size=5)
    ),
    max_leaves=30,
)


@settings(max_examples=50, deadline=None)
@given(VALUES)
def test_plain_values_come_back_with_their_types(value: Any) -> None:
    assert same(there_and_back(value), value)


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3.5, dtype=np.float32),
        np.array(np.nan),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.array(["a", "bc"]),
        np.array(["a", None, "b"][::2], dtype=object),
        np.array([[f"{i}{j}" for i in range(4)] for j in range(5)]),
        [f"item {i}\u00e9\ud800" for i in range(20)],
        tuple("abcdefghij"),
        [np.arange(float(i)) for i in range(10)],
        [np.ones((i, 2), dtype=np.float32) for i in range(10)],
        [{"iteration": i, "value": 0.1 * i, "done": i > 3} for i in range(12)],
        [{"iteration": i, "value": 0.1 * i if i % 2 else i} for i in range(12)],
        [0.1 * i if i % 3 else float("nan") for i in range(12)],
        [None if i % 3 else f"item {i}" for i in range(12)],
        [(0.5 * i, None if i % 2 else "a", np.arange(float(i)), (i, True)) for i in range(10)],
        np.dtype(np.float32),
        2**70,
    ],
    ids=lambda value: type(value).__name__,
)
def test_arrays_and_long_lists_come_back(value: Any) -> None:
    back = there_and_back(value)
    assert same(back, value)
    if isinstance(value, np.ndarray):
        assert back.flags.f_contiguous == value.flags.f_contiguous


def test_foreign_byte_order_and_tensors_become_native_arrays() -> None:
    assert there_and_back(np.arange(3, dtype=">f8")).tolist() == [0.0, 1.0, 2.0]
    assert there_and_back(torch.arange(3)).tolist() == [0, 1, 2]


def test_long_lists_do_not_grow_the_json() -> None:
    arrays: dict[str, np.ndarray] = {}
    history = [{"iteration": i, "value": i / 7} for i in range(10_000)]
    assert len(json.dumps(Encoder(arrays).encode([history, [str(i) for i in range(10_000)]]))) < 1000
    rows = [(0.1 * i, str(i) if i % 7 else None, np.zeros(2)) for i in range(10_000)]
    assert len(json.dumps(Encoder(arrays).encode(rows))) < 1000


def test_a_random_state_continues_where_it_was() -> None:
    generator = np.random.RandomState(5)
    generator.standard_normal(3)
    again = there_and_back(generator)
    assert again.standard_normal(4).tolist() == generator.standard_normal(4).tolist()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, lambda x: x], r"Python functions cannot be stored .* \(spot\[1\]\)"),
        ([object()], r"got a object \(spot\[0\]\)"),
        ({1: 2}, "got a dict"),
        (np.array([1j]), "got dtype complex128"),
        (np.array([{}], dtype=object), "got a dict"),
        ({"a": {2, 3}}, r"got a set \(spot\['a'\]\)"),
        (np.longdouble(1), "longdouble"),
    ],
)
def test_what_has_no_description_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Encoder({}).encode(value, "spot")


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"$array": "missing"},
        {"$dtype": "O"},
        {"$scalar": "x", "dtype": "float64"},
        {"$texts": "a", "stops": "b", "kind": "list"},
        {"$dict": [[1]]},
        {"$float": "one"},
        {"$random_state": {"$dict": []}},
    ],
)
def test_damaged_descriptions_are_one_typed_error(damaged: Any) -> None:
    with pytest.raises(InputError):
        Decoder({}, lambda name: int, 2**20).decode(damaged)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint16])
@pytest.mark.parametrize("columns", [64, 67])
def test_rows_of_bits_take_an_eighth_of_a_byte(dtype: Any, columns: int) -> None:
    bits = (np.random.default_rng(0).random((100, columns)) < 0.3).astype(dtype)
    arrays: dict[str, np.ndarray] = {}
    Encoder(arrays).encode(bits)
    assert sum(array.nbytes for array in arrays.values()) == 100 * ((columns + 7) // 8)
    assert same(bits, there_and_back(bits))


def test_what_is_nearly_bits_is_stored_as_it_is() -> None:
    bits = (np.random.default_rng(0).random((100, 64)) < 0.3).astype(float)
    negative_zero, two, nan, turned = bits.copy(), bits.copy(), bits.copy(), np.asfortranarray(bits)
    negative_zero[0, 0], two[3, 3], nan[1, 1] = -0.0, 2.0, np.nan
    for array in (negative_zero, two, nan, turned, bits[:10], bits > 0.5):
        assert "$bits" not in Encoder({}).encode(array)
        assert same(array, there_and_back(array))


@pytest.mark.parametrize(
    "change", [{"columns": 80}, {"columns": 3.5}, {"columns": -1}, {"dtype": "object"}, {"dtype": None}]
)
def test_damaged_bits_are_refused(change: dict[str, Any]) -> None:
    arrays: dict[str, np.ndarray] = {}
    description = Encoder(arrays).encode(np.ones((100, 64)))
    with pytest.raises(InputError, match="the description of a stored object is damaged"):
        Decoder(arrays, lambda name: int, 2**20).decode({**description, **change})
    with pytest.raises(SizeError):
        Decoder(arrays, lambda name: int, 2**10).decode(description)
