"""A file is the old one or the new one; a container is what was written, or a typed error."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from rkhs._core.errors import InputError, ModelFileError
from rkhs._core.files import atomic_path, pack, read_container, unpack, write_container

SRC = Path(__file__).resolve().parents[2] / "src"
CONTENT = {"class": "x", "number": 0.1, "list": [1, 2]}
ARRAYS = {"a": np.arange(12.0).reshape(3, 4), "b": np.array([True, False]), "empty": np.zeros((0, 2))}


def test_a_container_comes_back_and_has_the_same_bytes_every_time(tmp_path: Path) -> None:
    write_container(tmp_path / "c", CONTENT, ARRAYS, (1, 0))
    found = read_container(tmp_path / "c", (1, 0))
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
    with pytest.raises(ModelFileError, match="stands twice"):
        unpack(len(twice).to_bytes(8, "little") + twice + data[8 + size :], "x", (1, 0))


def test_later_minor_versions_are_read_and_later_major_ones_refused() -> None:
    assert unpack(pack(CONTENT, ARRAYS, (1, 7)), "x", (1, 7)).version == (1, 7)
    assert unpack(pack(CONTENT, ARRAYS, (1, 7)), "x", (1, 0)).content == CONTENT
    with pytest.raises(ModelFileError, match=r"format 2\.0.*pip install --upgrade"):
        unpack(pack(CONTENT, ARRAYS, (2, 0)), "x", (1, 9))


def test_a_header_over_the_limit_is_refused_when_written() -> None:
    with pytest.raises(InputError, match="more than the 1 MiB"):
        pack({"text": "x" * 2**20}, {}, (1, 0))


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_container(tmp_path / "c", {"old": 1}, {}, (1, 0))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_container(tmp_path / "c", {"new": 1}, {}, (1, 0))
    monkeypatch.undo()
    assert read_container(tmp_path / "c", (1, 0)).content == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_what_killed_writers_left_is_swept(tmp_path: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    stale = tmp_path / f".c.{gone.stdout.strip()}.00000000.tmp.rkhs"
    fresh = tmp_path / f".c.{gone.stdout.strip()}.11111111.tmp.rkhs"
    alive = tmp_path / f".c.{os.getpid()}.22222222.tmp.rkhs"
    other = tmp_path / ".cc.1.txt"
    for path in (stale, fresh, alive, other):
        path.write_text("x")
    for path in (stale, alive, other):
        os.utime(path, (0, 0))
    with atomic_path(tmp_path / "c.rkhs") as temporary:
        temporary.write_text("new")
    assert {p.name for p in tmp_path.iterdir()} == {"c.rkhs", fresh.name, alive.name, other.name}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("kills", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_kill_while_writing_never_leaves_half_a_file(tmp_path: Path, kills: int) -> None:
    code = (
        "import sys, numpy as np; from rkhs._core.files import write_container\n"
        "i = 0\n"
        "while True:\n"
        "    write_container(sys.argv[1], {'i': i % 2}, {'a': np.full(400_000, i % 2)}, (1, 0))\n"
        "    if i == 0: print('go', flush=True)\n"
        "    i += 1\n"
    )
    path, chance = tmp_path / "c.rkhs", random.Random(3)
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SRC)}
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"go\n"
            time.sleep(chance.uniform(0.0, 0.05))
            os.kill(writer.pid, signal.SIGKILL)
        found = read_container(path, (1, 0))
        assert (found.arrays["a"] == found.content["i"]).all()
