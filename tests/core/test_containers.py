"""A container is what was written, or a typed error: damage, other files, pipes, devices, sizes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from rkhs._core import model_container
from rkhs._core.errors import InputError, ModelFileError
from rkhs._core.model_container import pack, read_container, unpack, write_container

CONTENT = {"class": "x", "number": 0.1, "list": [1, 2]}
ARRAYS = {"a": np.arange(12.0).reshape(3, 4), "b": np.array([True, False]), "empty": np.zeros((0, 2))}


def test_a_container_comes_back_and_has_the_same_bytes_every_time(tmp_path: Path) -> None:
    write_container(tmp_path / "c", CONTENT, ARRAYS, (1, 0))
    found = read_container(tmp_path / "c", (1, 0), 2**20)
    assert found.content == CONTENT
    assert found.version == (1, 0)
    assert all(np.array_equal(found.arrays[k], ARRAYS[k]) and found.arrays[k].flags.writeable for k in ARRAYS)
    assert pack(CONTENT, ARRAYS, (1, 0)) == (tmp_path / "c").read_bytes()
    assert sorted(safetensors.numpy.load((tmp_path / "c").read_bytes())) == sorted(ARRAYS)


def test_arrays_in_any_memory_order_are_stored_as_they_look() -> None:
    odd = {"t": np.arange(6.0).reshape(2, 3).T, "s": np.arange(10.0)[::-2]}
    found = unpack(pack({}, odd, (1, 0)), "x", (1, 0))
    assert all(np.array_equal(found.arrays[k], odd[k]) for k in odd)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "an empty file"),
        (b"a,b\n1,2\n" * 9, "a file of another kind"),
        (pickle.dumps({"a": 1}), "pickle file, which is never loaded"),
        (b"PK\x03\x04" + b"0" * 50, "zip archive"),
        (safetensors.numpy.save({"a": np.ones(2)}), "safetensors file without a model"),
        (pack(CONTENT, ARRAYS, (1, 0))[:300], "cut off"),
        (pack(CONTENT, ARRAYS, (1, 0))[:-1], "damaged"),
        (pack(CONTENT, ARRAYS, (1, 0)) + b"0", "damaged"),
        ((2**40).to_bytes(8, "little") + b"{" + b" " * 99, "at most 1 MiB"),
    ],
)
def test_damage_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        unpack(data, "model.rkhs", (1, 0))


def test_a_name_twice_in_a_header_is_refused() -> None:
    data = pack(CONTENT, {"a": np.ones(1)}, (1, 0))
    size = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + size].decode().rstrip()
    entry = json.dumps(json.loads(header)["a"])
    twice = (header[:-1] + f',"a":{entry}}}').encode()
    with pytest.raises(ModelFileError, match="occurs twice"):
        unpack(len(twice).to_bytes(8, "little") + twice + data[8 + size :], "x", (1, 0))


def test_a_header_is_read_as_utf_8_whatever_its_zeros_say() -> None:
    data = pack(CONTENT, {"a": np.ones(1)}, (1, 0))
    size = int.from_bytes(data[:8], "little")
    wide = data[8 : 8 + size].decode().encode("utf-32-le")
    with pytest.raises(ModelFileError, match="damaged"):
        unpack(len(wide).to_bytes(8, "little") + wide + data[8 + size :], "x", (1, 0))


def test_truth_values_are_zero_or_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(model_container, "unpack", lambda *_: None)  # pack reads back what it wrote
        data = pack({}, {"b": np.array([0, 2], dtype=np.uint8).view(np.bool_)}, (1, 0))
    with pytest.raises(ModelFileError, match="neither 0 nor 1"):
        unpack(data, "x", (1, 0))


def test_arrays_that_are_no_real_numbers_are_refused() -> None:
    for wrong in (np.array([1j]), np.array(["a"]), np.array([1.0], dtype=">f8"), np.array([None])):
        with pytest.raises(InputError, match=r"real numbers and of bool; got dtype .* \(a\)"):
            pack({}, {"a": wrong}, (1, 0))


def test_later_minor_versions_are_read_and_later_major_ones_refused() -> None:
    assert unpack(pack(CONTENT, ARRAYS, (1, 7)), "x", (1, 7)).version == (1, 7)
    assert unpack(pack(CONTENT, ARRAYS, (1, 7)), "x", (1, 0)).content == CONTENT
    with pytest.raises(ModelFileError, match=r"format 2\.0.*Install the version that wrote it"):
        unpack(pack(CONTENT, ARRAYS, (2, 0)), "x", (1, 9))


def test_a_header_over_the_limit_is_refused_when_written() -> None:
    with pytest.raises(InputError, match="more than the 1 MiB"):
        pack({"text": "x" * 2**20}, {}, (1, 0))
