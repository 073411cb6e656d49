"""Files made to hang, to fill the memory or to reach beside it: refused within a second and 100 MB, by one typed error.

Each has a valid checksum where it has one at all: only its writer was not rkhs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rkhs
from rkhs._core import model_container
from rkhs._core.codec import Encoder
from rkhs._core.errors import InputError, ModelFileError
from rkhs._core.model_container import Container, pack, read_container
from rkhs.cli.main import main
from rkhs.persistence import FORMAT, read_model

X = np.random.default_rng(3).normal(size=(24, 3))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Container:
    path = tmp_path_factory.mktemp("honest") / "m.rkhs"
    rkhs.save(rkhs.KernelPCA(2).fit(X), path)
    return read_container(path, FORMAT, 2**20)


@contextmanager
def within_a_second_and_100_mb() -> Iterator[None]:
    tracemalloc.start()
    before, start = tracemalloc.get_traced_memory()[0], time.process_time()
    try:
        yield
        seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert seconds < 1.0
    assert peak < 100e6


def refused(path: Path, message: str, **limits: Any) -> None:
    with within_a_second_and_100_mb(), pytest.raises(ModelFileError, match=message):
        rkhs.load(path, **limits)


# ---------------------------------------------------------------- what is no file


@pytest.mark.timeout(20)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_sockets_devices_and_folders_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink(tmp_path / "pipe", tmp_path / "link")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket"))  # an address has at most 107 letters
        for path, kind in [
            (tmp_path / "pipe", "a pipe"),
            (tmp_path / "link", "a pipe"),
            (tmp_path / "socket", "a socket"),
            (tmp_path, "a folder"),
            (Path("/dev/zero"), "a device"),
            (Path("/dev/stdin"), "expected a regular file|No such|denied"),
        ]:
            if path != Path("/dev/stdin") or not path.is_file():
                refused(path, kind)


def test_names_that_are_none_are_typed_errors() -> None:
    with pytest.raises(ModelFileError, match="null byte"):
        rkhs.load("a\0b")
    for path in (0, None, ["m.rkhs"]):
        with pytest.raises(InputError, match="path must be a text or a path"):
            rkhs.load(path)  # type: ignore[arg-type]


# ---------------------------------------------------------------- sizes of files


def sparse(path: Path, start: bytes, size: int) -> Path:
    path.write_bytes(start)
    os.truncate(path, size)
    return path


def with_header(entries: dict[str, Any]) -> bytes:
    metadata = {"rkhs": f"rkhs-model 2.0 {'0' * 64}\n{{}}"}
    header = json.dumps({"__metadata__": metadata, **entries}).encode()
    return struct.pack("<Q", len(header)) + header


def test_sparse_files_are_refused_by_their_size_and_header(tmp_path: Path, honest: Container) -> None:
    big = {"a": {"dtype": "F64", "shape": [2**37], "data_offsets": [0, 2**40]}}
    refused(sparse(tmp_path / "zeros", b"", 2**40), r"1\.0 TiB, more than the 1\.0 GiB.*larger max_bytes")
    refused(sparse(tmp_path / "zeros", b"", 2**40), "file of another kind", max_bytes=2**50)
    data = pack(honest.content, honest.arrays, FORMAT)
    refused(sparse(tmp_path / "longer", data, 2**30), "its header speaks of")
    refused(sparse(tmp_path / "header", struct.pack("<Q", 2**29) + b"{", 2**30), "header of at most 1 MiB")
    refused(sparse(tmp_path / "array", with_header(big), 2**40), "1.0 TiB, more than")
    refused(sparse(tmp_path / "short", with_header(big), 2**29), "its header speaks of 10995")


def test_a_wrong_checksum_is_found_before_memory_is_taken(tmp_path: Path) -> None:
    start = with_header({"a": {"dtype": "F64", "shape": [2**22], "data_offsets": [0, 2**25]}})
    path = sparse(tmp_path / "sum", start, len(start) + 2**25)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="checksum"):
        rkhs.load(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [10**9] * 80_000, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [True], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]},
        {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]},
        {"dtype": "O", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": 1, "data_offsets": [0, 8]},
        [1],
    ],
)
def test_headers_that_lie_about_arrays(entry: Any, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(with_header({"a": entry}) + bytes(8))
    refused(tmp_path / "m", "damaged")


# ---------------------------------------------------------------- what decodes to more than it is

Bomb = Callable[[dict[str, np.ndarray]], Any]


def wide_texts(arrays: dict[str, np.ndarray]) -> Any:
    return {"$strings": ["a", "b"], "shape": [2], "dtype": "<U400000000"}


def many_wide_texts(arrays: dict[str, np.ndarray]) -> Any:
    packed = Encoder(arrays).encode(["a"] * 10_000)
    return {"$strings": packed, "shape": [10_000], "dtype": "<U200000"}


def wide_table(arrays: dict[str, np.ndarray]) -> Any:
    arrays["bits"] = np.ones(500_000, dtype=np.bool_)
    return {"$rows": [{"$numbers": "bits", "kind": "list"}], "keys": ["a"], "kind": "list"}


def overlapping(key: str) -> Bomb:
    def bomb(arrays: dict[str, np.ndarray]) -> Any:
        arrays["data"] = np.zeros(400_000, dtype=np.uint8)
        arrays["stops"] = np.tile(np.array([400_000, 0]), 20_000)
        arrays["stops"][-1] = 400_000
        return {key: "data", "stops": "stops", "kind": "list"}

    return bomb


def named_many_times(arrays: dict[str, np.ndarray]) -> Any:
    arrays["numbers"] = np.zeros(100_000, dtype=np.float32)
    return [{"$numbers": "numbers", "kind": "list"}] * 5_000


def small_numbers(arrays: dict[str, np.ndarray]) -> Any:
    arrays["numbers"] = np.zeros(20_000_000, dtype=np.float16)
    return {"$numbers": "numbers", "kind": "list"}


def table_of_one_name(arrays: dict[str, np.ndarray]) -> Any:
    return {"$rows": [[1.0], [2.0]], "keys": ["a"], "kind": "list"}


def far_position(arrays: dict[str, np.ndarray]) -> Any:
    state = np.random.RandomState(0).get_state(legacy=False)
    return {"$random_state": Encoder(arrays).encode({**state, "state": {**state["state"], "pos": 10**6}})}


def scalar_of_an_array(arrays: dict[str, np.ndarray]) -> Any:
    arrays["bits"] = np.zeros(10_000_000, dtype=np.int8)
    return {"$scalar": {"$array": "bits"}, "dtype": "float64"}


BOMBS: dict[str, tuple[Bomb, str]] = {
    "wide texts": (wide_texts, "more than .* of memory"),
    "many wide texts": (many_wide_texts, "more than .* of memory"),
    "a table of two columns and one name": (table_of_one_name, "description of a stored object is damaged"),
    "a table of many small dicts": (wide_table, "more than .* of memory"),
    "overlapping texts": (overlapping("$texts"), "overlap"),
    "overlapping arrays": (overlapping("$arrays"), "overlap"),
    "an array of other numbers named many times": (named_many_times, "row of float64"),
    "numbers that grow": (small_numbers, "row of float64"),
    "a scalar that is an array": (scalar_of_an_array, "description of a stored object is damaged"),
    "a generator that reads beside its memory": (far_position, "position of a RandomState"),
    "lists in lists": (lambda arrays: json.loads("[" * 900 + "]" * 900), "damaged|cannot be built"),
}


def with_bomb(honest: Container, where: str, make: Bomb) -> bytes:
    arrays = dict(honest.arrays)
    bomb = make(arrays)
    part = {"$dict": [["bomb_", bomb]]} if where == "notes" else {**honest.content[where], "bomb_": bomb}
    return pack({**honest.content, where: part}, arrays, FORMAT)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_with_a_valid_checksum(name: str, honest: Container, tmp_path: Path) -> None:
    make, message = BOMBS[name]
    (tmp_path / "m").write_bytes(with_bomb(honest, "state", make))
    refused(tmp_path / "m", message)


@pytest.mark.parametrize("where", ["notes", "params"])
def test_bombs_in_every_part_of_a_file(where: str, honest: Container, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(with_bomb(honest, where, wide_table))
    refused(tmp_path / "m", "more than .* of memory")
    with within_a_second_and_100_mb():
        assert main(["info", str(tmp_path / "m")]) == 2


# ---------------------------------------------------------------- what is asked for


def test_max_bytes_is_the_limit_of_file_and_objects_together(tmp_path: Path) -> None:
    path, model = tmp_path / "m", rkhs.KernelPCA(2).fit(X)
    rkhs.save(model, path, notes={"wide": np.array(["a"] * 9 + ["b" * 1_000_000])})  # 38 MiB, from a file of 1 MiB
    assert read_model(path).notes["wide"].nbytes == 40_000_000
    rkhs.save(model, path, notes={"wide": np.array(["a"] * 29 + ["b" * 1_000_000])})  # three times that: doubtful
    refused(path, r"takes more than 101 MiB of memory, from a file of 982 KiB.*larger max_bytes")
    refused(path, "than the 512 KiB that it may have", max_bytes=2**19)
    refused(path, r"takes more than 115 MiB of memory", max_bytes=121_000_000)
    assert rkhs.load(path, max_bytes=123_000_000) is not None
    for wrong in (0, -1, True, 1.5, "1"):
        with pytest.raises(InputError, match="max_bytes must be a positive integer, or None"):
            rkhs.load(path, max_bytes=wrong)  # type: ignore[arg-type]


def test_expected_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m"
    rkhs.save(rkhs.KernelPCA(2).fit(X), path)
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert isinstance(rkhs.load(path, expected_sha256=right.upper()), rkhs.KernelPCA)
    rkhs.save(rkhs.KernelPCA(1).fit(X), path)
    refused(path, f"expected a file with SHA-256 {right}; got [0-9a-f]{{64}}: it is another", expected_sha256=right)
    path.write_bytes(b"not even a model")
    refused(path, "it is another file", expected_sha256=right)
    for wrong in ("", right[:-1], right + "0", "g" * 64, 5):
        with pytest.raises(InputError, match="expected_sha256 must be 64 hexadecimal digits"):
            rkhs.load(path, expected_sha256=wrong)  # type: ignore[arg-type]


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    rkhs.save(rkhs.KernelPCA(2).fit(X), path)
    real = model_container._array

    def late(handle: Any, place: Any) -> np.ndarray:
        os.utime(path)
        return real(handle, place)

    monkeypatch.setattr(model_container, "_array", late)
    refused(path, "changed while it was read")


def test_no_reader_unpickles() -> None:
    source = Path(rkhs.__file__).parent
    lines = [(path, line) for path in source.rglob("*.py") for line in path.read_text().splitlines()]
    found = [(path, line) for path, line in lines if re.search(r"(pickle|torch|joblib|marshal)\.loads?\(", line)]
    found += [(path, line) for path, line in lines if "np.load(" in line and "allow_pickle=False" not in line]
    assert not found


def test_every_command_takes_the_limits_of_model_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rkhs.save(rkhs.KernelPCA(2).fit(X), "m.rkhs")
    np.save("x.npy", X)
    np.save("z.npy", X[:, :2])
    right, wrong = hashlib.sha256(Path("m.rkhs").read_bytes()).hexdigest(), "0" * 64
    commands = {
        "info": ("m.rkhs",),
        "transform": ("m.rkhs", "x.npy", "-o", "codes.npy"),
        "decode": ("m.rkhs", "z.npy", "-o", "rows.npy"),
    }
    for name, words in commands.items():
        assert main([name, *words, "--sha256", right, "--max-bytes", "100000"]) == 0
        assert main([name, *words, "--sha256", wrong]) == 2
        assert main([name, *words, "--max-bytes", "1000"]) == 2
        said = capsys.readouterr().err
        assert f"expected a file with SHA-256 {wrong}" in said
        assert "pass a larger --max-bytes" in said
    assert main(["info", "m.rkhs", "--sha256", "0"]) == 2
    assert main(["info", "m.rkhs", "--max-bytes", "0"]) == 2
    said = capsys.readouterr().err
    assert "--sha256 must be 64 hexadecimal digits" in said
    assert "--max-bytes must be a positive integer" in said
    assert main(["export", "m.rkhs", "-o", "m.onnx", "--sha256", wrong]) == 2


def test_a_model_is_that_of_the_checksums_though_the_file_is_rewritten_between_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other, kept = tmp_path / "m", tmp_path / "other", tmp_path / "kept"
    rkhs.save(rkhs.KernelPCA(2).fit(X), path)
    for shift in range(1, 20):  # digits of numbers take more or less of the header
        rkhs.save(rkhs.KernelPCA(2).fit(X + shift), other)
        if other.stat().st_size == path.stat().st_size:
            break
    kept.write_bytes(path.read_bytes())
    right, stamp = hashlib.sha256(path.read_bytes()).hexdigest(), path.stat()
    header, array = model_container._header, model_container._array

    def rewrite() -> None:
        path.write_bytes(other.read_bytes())
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # as within one tick of the clock

    def rewritten_before(function: Any) -> Any:
        return lambda *args: (rewrite(), function(*args))[1]

    for name, function in (("_header", header), ("_array", array)):
        path.write_bytes(kept.read_bytes())
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        with monkeypatch.context() as patch:
            patch.setattr(model_container, name, rewritten_before(function))
            refused(path, "changed while it was read", expected_sha256=right)
            if name == "_array":  # what was read as the file of the header is noticed without a hash, too
                path.write_bytes(kept.read_bytes())
                os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
                refused(path, "changed while it was read")
