"""Objects to JSON and a table of arrays, and back: the codec of model files.

The encoder keeps every bit: arrays with their dtype and memory order, floats by their shortest exact text. What is long
(texts, histories, lists of arrays) goes into arrays, so that the JSON stays small enough to be read as a file header.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import signature
from operator import attrgetter
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator

from rkhs._core.config import Configurable
from rkhs._core.errors import InputError
from rkhs._core.ownership import read_only
from rkhs._core.stored import Stored, check_types

_PLACES = frozenset({"engine", "device"})  # parameters that decide where a fit runs: not stored

_MIN_BITS = 2**12  # least size of arrays of zeros and ones that are packed into bits
_MIN_PACKED = 8  # lists from this length on are packed into arrays where that keeps their types
_DTYPES = frozenset({"bool", "float16", "float32", "float64"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
# What CPython takes, at most: a number in a list; a text, tuple or array without its content; a dict; a place in one.
_NUMBER, _OBJECT, _DICT, _ENTRY = 40, 144, 240, 40
_SHARED = frozenset({"$array", "$bits", "$strings", "$texts", "$numbers", "$arrays", "$rows"})
_NUMBERS = {float}, {int}, {bool}  # kinds of lists that are packed as numbers
_ATTRIBUTE = re.compile(r"(?!__)(_\w+|[^\W\d]\w*_)")
_TEXT_DTYPE = re.compile(r"\|O|[<>]U\d{1,9}")


class SizeError(InputError):
    """The objects that a file describes take more memory than the limit."""


class Encoder:
    """Describes objects in JSON types and moves their arrays into a table; repeated objects are stored once."""

    def __init__(self, arrays: dict[str, np.ndarray], name_of: Callable[[type], str] = attrgetter("__name__")) -> None:
        self.arrays, self._name_of = arrays, name_of
        self._known: dict[int, tuple[Any, Any]] = {}  # with the objects, so that no id is reused

    def encode(self, value: Any, where: str = "") -> Any:
        """Describe one object; ``where`` it stands is for messages."""
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if value is None or isinstance(value, (bool, int, float, str, np.generic, np.dtype)):
            return _encode_scalar(value, where)
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().numpy()
        if isinstance(value, (np.ndarray, list, tuple)):
            if id(value) not in self._known:
                if isinstance(value, np.ndarray):
                    found = _encode_array(value, self.arrays, where)
                else:
                    found = self._listed(value, where)
                self._known[id(value)] = (value, found)
            return self._known[id(value)][1]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return self._mapping(value, where)
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        if isinstance(value, np.random.RandomState):
            return {"$random_state": self.encode(dict(value.get_state(legacy=False)), where)}
        if isinstance(value, Stored):
            name, record = self._name_of(type(value)), value.in_file()
            parts = {one.name: getattr(record, one.name) for one in fields(record)}
            given = {key: part for key, part in parts.items() if part is not None}
            return {"$value": name, "fields": self.encoded(given, f"{where}.")}
        if isinstance(value, BaseEstimator) and not isinstance(value, Configurable):
            return {"$estimator": self.estimator(value, where)}
        if isinstance(value, Configurable):
            name, params = self._name_of(type(value)), value.get_params(deep=False)
            return {"$object": name, "params": self.encoded(params, f"{where or type(value).__name__}.")}
        raise InputError(_refusal(value, where))

    def encoded(self, values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
        """Describe named objects."""
        ordered = sorted(values.items())  # as a file has them, so that a model that is saved again gives the same bytes
        return {key: self.encode(value, f"{prefix}{key}".removeprefix(".")) for key, value in ordered}

    def estimator(self, value: Any, where: str = "") -> dict[str, Any]:
        """Class, parameters and fitted attributes of an estimator; without engine and device."""
        name, params = self._name_of(type(value)), value.get_params(deep=False)
        # Names that begin with _cache are by convention of this library what can be recomputed.
        state = {k: v for k, v in vars(value).items() if k not in params and not k.startswith("_cache")}
        kept, prefix = {k: v for k, v in params.items() if k not in _PLACES}, f"{where}."
        return {"class": name, "params": self.encoded(kept, prefix), "state": self.encoded(state, prefix)}

    def _listed(self, value: Sequence[Any], where: str) -> Any:
        kind = "tuple" if isinstance(value, tuple) else "list"
        packed = _pack(value, self.arrays) if len(value) >= _MIN_PACKED else None
        if packed is None and _is_table(value):
            packed = self._table(value, where)
        if packed is not None:
            return {**packed, "kind": kind}
        items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
        return {"$tuple": items} if kind == "tuple" else items

    def _table(self, rows: Sequence[Any], where: str) -> dict[str, Any]:
        names = {"keys": list(rows[0])} if isinstance(rows[0], dict) else {}
        columns = zip(*((row.values() for row in rows) if names else rows), strict=True)
        return {"$rows": [self.encode(list(one), f"{where}[:, {j}]") for j, one in enumerate(columns)], **names}

    def _mapping(self, value: dict[str, Any], where: str) -> Any:
        if len(value) >= _MIN_PACKED and all(type(item) is int and abs(item) < 2**63 for item in value.values()):
            return {"$dict": {"keys": _pack(list(value), self.arrays), "values": _pack([*value.values()], self.arrays)}}
        return {"$dict": [[key, self.encode(item, f"{where}[{key!r}]")] for key, item in value.items()]}


def _refusal(value: Any, where: str) -> str:
    place = f" ({where})" if where else ""
    if callable(value) and not isinstance(value, type):
        name = getattr(value, "__qualname__", type(value).__name__)
        return (
            f"Python functions cannot be stored in a model file; got {name}{place}. Keep the code that makes it and "
            "fit again, or fit on the Gram matrix with kernel='precomputed'"
        )
    return (
        f"a model file holds numbers, texts, arrays and objects of this library; got a {type(value).__name__}{place}. "
        "Turn items into texts or arrays before the fit, or fit on the Gram matrix with kernel='precomputed'"
    )


def _encode_scalar(value: Any, where: str) -> Any:
    if isinstance(value, np.dtype):
        if value.name in _DTYPES:
            return {"$dtype": value.name}
        raise InputError(f"a model file holds real dtypes; got dtype {value}{f' ({where})' if where else ''}")
    if isinstance(value, np.generic):
        if value.dtype.kind in "US":
            return str(value)
        if value.dtype.name not in _DTYPES:
            raise InputError(_refusal(value, where))
        value = value.item()
    if isinstance(value, float):  # also its subclasses, which JSON would write by their own repr
        value = float(value)
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, str):
        return str(value)
    return value


def _encode_array(value: np.ndarray, arrays: dict[str, np.ndarray], where: str) -> Any:
    native = value.astype(value.dtype.newbyteorder("="), copy=False)
    if native.dtype.name in _DTYPES:
        return _encode_numbers(native, arrays, where)
    if value.dtype.kind in "UO" and all(isinstance(item, str) for item in value.flat):
        flat = [str(item) for item in value.flat]
        texts = _pack(flat, arrays) if len(flat) >= _MIN_PACKED else None
        return {"$strings": flat if texts is None else texts, "shape": list(value.shape), "dtype": value.dtype.str}
    if value.dtype.kind == "O":
        raise InputError(_refusal(next(item for item in value.flat if not isinstance(item, str)), where))
    raise InputError(f"a model file holds real arrays; got dtype {value.dtype}{f' ({where})' if where else ''}")


def _encode_numbers(native: np.ndarray, arrays: dict[str, np.ndarray], where: str) -> Any:
    if native.ndim == 0:
        return {"$scalar": _encode_scalar(native[()], where), "dtype": native.dtype.name}
    if _are_bits(native):
        packed = np.packbits(native != 0, axis=1)
        return {"$bits": _add(packed, arrays), "columns": native.shape[1], "dtype": native.dtype.name}
    # Column order is kept: the same product of matrices may round differently in the other order.
    columns = native.ndim > 1 and native.flags.f_contiguous and not native.flags.c_contiguous
    reference = {"$array": _add(native.T if columns else native, arrays)}
    return {**reference, "order": "F"} if columns else reference


def _are_bits(array: np.ndarray) -> bool:
    """Whether rows of numbers are zeros and ones alone, such as fingerprints, in row-major order."""
    rows = array.ndim == 2 and array.size >= _MIN_BITS and array.flags.c_contiguous and array.dtype.itemsize > 1
    return rows and bool(((array == 0) | (array == 1)).all()) and not np.signbit(array).any()


def _add(array: np.ndarray, arrays: dict[str, np.ndarray]) -> str:
    name = f"array{len(arrays)}"
    arrays[name] = np.array(array, order="C", copy=True)
    return name


def _is_table(value: Sequence[Any]) -> bool:
    """Whether many values are tuples of one length, or those of a list dicts of the same texts."""
    many = len(value) >= _MIN_PACKED or (isinstance(value, list) and value and type(value[0]) is dict)
    alike = {_names(one) for one in value} if many else {None}
    return len(alike) == 1 and bool(*alike)


def _names(row: Any) -> tuple[str, ...] | int | None:
    if type(row) is dict:
        return tuple(row) if all(isinstance(key, str) for key in row) else None
    return len(row) if type(row) is tuple else None


def _pack(items: Sequence[Any], arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """Long lists of one kind as arrays: numbers, texts, arrays that differ in their first axis."""
    kinds = {type(item) for item in items}
    if kinds in _NUMBERS and (kinds != {int} or all(abs(item) < 2**63 for item in items)):
        return {"$numbers": _add(np.array(items), arrays)}
    if kinds <= {str, type(None)}:
        return _pack_texts(items, arrays)
    return _pack_arrays(items, arrays) if kinds == {np.ndarray} else None


def _pack_texts(items: Sequence[str | None], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    parts = [b"" if item is None else item.encode("utf-8", "surrogatepass") for item in items]
    stops = np.cumsum([len(part) for part in parts], dtype=np.int64)
    texts = {"$texts": _add(np.frombuffer(b"".join(parts), dtype=np.uint8), arrays), "stops": _add(stops, arrays)}
    absent = np.array([item is None for item in items])
    return {**texts, "absent": _add(absent, arrays)} if absent.any() else texts


def _pack_arrays(items: Sequence[np.ndarray], arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    alike = {(item.dtype, item.shape[1:]) for item in items if item.ndim}
    plain = all(item.ndim and item.flags.c_contiguous and item.dtype.name in _DTYPES for item in items)
    if not plain or len(alike) > 1 or not items[0].dtype.isnative:
        return None
    stops = np.cumsum([len(item) for item in items], dtype=np.int64)
    return {"$arrays": _add(np.concatenate(items), arrays), "stops": _add(stops, arrays)}


def _damaged(what: str = "") -> InputError:
    place = f" ({what})" if what else ""
    return InputError(f"the description of a stored object is damaged{place}; write the file again from the original")


def _of_kind(items: list[Any], value: dict[str, Any]) -> list[Any] | tuple[Any, ...]:
    return tuple(items) if value["kind"] == "tuple" else items


class Decoder:
    """Builds the objects that an :class:`Encoder` described, within a limit of memory."""

    def __init__(self, arrays: Mapping[str, np.ndarray], find_class: Callable[[str], type], max_bytes: int) -> None:
        self._arrays, self._find_class, self._left = dict(arrays), find_class, max_bytes
        self._built: dict[str, Any] = {}  # repeated objects, by their description

    def decode(self, value: Any) -> Any:
        """Build one object."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        try:
            if isinstance(value, dict):
                if not value.keys() & _SHARED:
                    return self._decode_dict(value)
                key = json.dumps(value)
                if key not in self._built:
                    self._built[key] = self._decode_dict(value)
                return self._built[key]
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise InputError(f"the description of a stored object is damaged ({error}); write it again") from error
        raise _damaged()

    def estimator(self, description: dict[str, Any]) -> Any:
        """The estimator of a description."""
        cls, params = self._class(description["class"], BaseEstimator), self._named(description["params"])
        unknown = sorted(params.keys() - (set(signature(cls).parameters) - _PLACES))
        if unknown or (issubclass(cls, Configurable) and not hasattr(cls, "fit")):
            raise InputError(
                f"a {cls.__name__} of this version has no parameters {', '.join(unknown)}, which the model file sets"
            )
        estimator = cls(**params)
        for key in description["state"]:
            # An attribute must not take the place of a method or of a parameter.
            taken = key in vars(estimator) or callable(getattr(cls, key, None))
            if taken or not _ATTRIBUTE.fullmatch(key):
                raise InputError(f"{key!r} is not the name of a fitted attribute")
        state = self._named(description["state"])
        check_types(cls, state)
        vars(estimator).update({name: read_only(value) for name, value in state.items()})
        if hasattr(estimator, "check_stored"):
            estimator.check_stored()
        return estimator

    def _class(self, name: Any, base: type) -> Any:
        cls = self._find_class(name)
        if not issubclass(cls, base):
            raise InputError(f"the model file has a {name!r} in a place where none is allowed")
        return cls

    def _named(self, values: dict[str, Any]) -> dict[str, Any]:
        return {key: self.decode(value) for key, value in values.items()}

    def _take(self, name: str, *dtypes: str) -> np.ndarray:
        array = self._arrays.pop(name)  # named once: what is named many times could fill any memory
        if dtypes and (array.dtype.name not in dtypes or array.ndim != 1):
            raise _damaged(f"{name} must be a row of {' or '.join(dtypes)}")
        return array

    def _spend(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise SizeError("the objects in the file take more memory than the limit")

    def _decode_dict(self, value: dict[str, Any]) -> Any:
        read = next((reader for key, reader in _READERS.items() if key in value), None)
        if read is None:
            raise _damaged()
        return read(self, value)

    def _dtype(self, value: dict[str, Any]) -> np.dtype:
        if value["$dtype"] not in _DTYPES:
            raise _damaged("a dtype")
        return np.dtype(value["$dtype"])

    def _scalar(self, value: dict[str, Any]) -> np.ndarray:
        scalar = self.decode(value["$scalar"])
        if value["dtype"] not in _DTYPES or not isinstance(scalar, (bool, int, float)):
            raise _damaged("a number")
        return np.array(scalar, dtype=value["dtype"])

    def _array(self, value: dict[str, Any]) -> np.ndarray:
        array = self._take(value["$array"])
        return array.T if value.get("order") == "F" else array

    def _tuple(self, value: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in value["$tuple"])

    def _rows(self, value: dict[str, Any]) -> Any:
        columns, keys = [self.decode(column) for column in value["$rows"]], value.get("keys")
        if not columns or any(type(column) not in (list, tuple) for column in columns):
            raise _damaged("rows of columns")
        self._spend(len(columns[0]) * (_DICT + _ENTRY * len(columns)))
        rows: list[Any] = list(zip(*columns, strict=True))
        return _of_kind(rows if keys is None else [dict(zip(keys, row, strict=True)) for row in rows], value)

    def _packed(self, value: dict[str, Any]) -> Any:
        return _of_kind(self._unpack(value), value)

    def _object(self, value: dict[str, Any]) -> Any:
        instance = self._class(value["$object"], Configurable)(**self._named(value["params"]))
        instance.check_stored()
        return instance

    def _value(self, value: dict[str, Any]) -> Any:
        cls, parts = self._class(value["$value"], Stored), self._named(value["fields"])
        parts = {one.name: None for one in fields(cls)} | parts
        check_types(cls, parts)
        record = cls(**parts)
        record.check_stored()
        return record.from_file()

    def _mapping(self, value: dict[str, Any]) -> dict[str, Any]:
        pairs = value["$dict"]
        if isinstance(pairs, list):
            return {key: self.decode(item) for key, item in pairs}
        keys, numbers = self._unpack(pairs["keys"]), self._unpack(pairs["values"])
        self._spend(_DICT + _ENTRY * 2 * len(keys))
        return dict(zip(keys, numbers, strict=True))

    def _bits(self, value: dict[str, Any]) -> np.ndarray:
        packed, columns = self._arrays.pop(value["$bits"]), value["columns"]
        fits = packed.dtype == np.uint8 and packed.ndim == 2 and type(columns) is int
        if not fits or value["dtype"] not in _DTYPES or packed.shape[1] != (columns + 7) // 8:
            raise _damaged("rows of bits")
        dtype = np.dtype(value["dtype"])
        self._spend(len(packed) * columns * (dtype.itemsize + 1))
        return np.unpackbits(packed, axis=1, count=columns).astype(dtype)

    def _random_state(self, value: dict[str, Any]) -> np.random.RandomState:
        state = self.decode(value["$random_state"])
        if not 0 <= state["state"]["pos"] <= 624:  # NumPy would read next to its memory
            raise _damaged("the position of a RandomState")
        generator = np.random.RandomState()
        generator.set_state(state)
        return generator

    def _strings(self, value: dict[str, Any]) -> np.ndarray:
        texts, shape = value["$strings"], value["shape"]
        if not _TEXT_DTYPE.fullmatch(value["dtype"]) or any(type(n) is not int or n < 0 for n in shape):
            raise _damaged("dtype or shape of an array of texts")
        dtype = np.dtype(value["dtype"])
        self._spend(math.prod(shape) * dtype.itemsize)
        flat = self._unpack(texts) if isinstance(texts, dict) else texts
        if len(flat) != math.prod(shape) or not all(isinstance(item, str) for item in flat):
            raise _damaged("an array of texts")
        return np.array(flat, dtype=dtype).reshape(shape)

    def _unpack(self, value: dict[str, Any]) -> list[Any]:
        if "$numbers" in value:
            return self._listed(self._take(value["$numbers"], "float64", "int64", "bool"))
        data = self._take(value["$texts"], "uint8") if "$texts" in value else self._take(value["$arrays"])
        stops = self._take(value["stops"], "int64")
        if (np.diff(stops, prepend=0) < 0).any() or (stops[-1] if len(stops) else 0) != len(data):
            raise _damaged("texts or arrays overlap")
        ends = self._listed(stops)
        starts = [0, *ends[:-1]]
        self._spend(data.nbytes + _OBJECT * len(ends))
        if "$texts" not in value:
            return [data[a:b].copy() for a, b in zip(starts, ends, strict=True)]
        texts = [self._text(data[a:b]) for a, b in zip(starts, ends, strict=True)]
        if "absent" in value:
            absent = self._listed(self._take(value["absent"], "bool"))
            return [None if gone else text for text, gone in zip(texts, absent, strict=True)]
        return texts

    def _text(self, data: np.ndarray) -> str:
        text = str(data.data, "utf-8", "surrogatepass")
        self._spend(0 if text.isascii() else 4 * len(text))
        return text

    def _listed(self, array: np.ndarray) -> list[Any]:
        """The entries of a row as Python objects."""
        self._spend(array.size * _NUMBER)
        return array.tolist()


# Readers of descriptions, by the key that each must hold.
_READERS: dict[str, Callable[[Decoder, dict[str, Any]], Any]] = {
    "$float": lambda _, value: float(value["$float"]),
    "$dtype": Decoder._dtype,
    "$scalar": Decoder._scalar,
    "$array": Decoder._array,
    "$bits": Decoder._bits,
    "$tuple": Decoder._tuple,
    "$strings": Decoder._strings,
    "$rows": Decoder._rows,
    **dict.fromkeys(("$numbers", "$texts", "$arrays"), Decoder._packed),
    "$dict": Decoder._mapping,
    "$random_state": Decoder._random_state,
    "$object": Decoder._object,
    "$value": Decoder._value,
    "$estimator": lambda decoder, value: decoder.estimator(value["$estimator"]),
}
