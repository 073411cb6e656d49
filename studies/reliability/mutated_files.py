"""Change model files of every kind, and load and use what comes out: the same model or one typed error, and no code.

Three families for the file of each case of ``file_kinds``:

* *damaged*: bytes changed as disks, networks and editors change them. What loads must hold what the original holds.
* *forged*: descriptions and arrays replaced, and the checksum made right again. What loads is the forger's model; what
  does not must be a ``ModelFileError``, within the memory and the time of a refusal.
* *bent*: shapes, dtypes, places, lengths, numbers and names of a file changed one at a time, with a right checksum:
  near enough to an honest file to be loaded. What loads is used on new items.

In use, too, an error must be one of the library's own, and nothing may write or read outside its arrays: a process that
ends by itself is a missed goal.

Run: python -m studies.reliability.mutated_files [--full]
"""

from __future__ import annotations

import argparse
import copy
import io
import json
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from rkhs._core.errors import InputError, ModelFileError, RkhsError
from rkhs._core.model_container import Container, pack, unpack
from rkhs._core.stored import hints_of
from rkhs.data import molecular_fingerprints
from rkhs.persistence import FORMAT, load, registry, save
from studies.reliability.file_kinds import CASES, answers, made

DAMAGE = ("bit", "header byte", "truncate", "insert", "delete", "swap", "zeros", "digit")
CODE = ("compile", "exec", "os.exec", "os.posix_spawn", "os.system", "pickle.find_class", "subprocess.Popen")
SECONDS = 2.0  # for one file; a refusal takes milliseconds, but other programs run too

_watched: list[str] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    known = ("b'def foo", "b\"{'descr'")  # inspect: the signature of a built-in method; the head of an array of NumPy
    if event == "compile" and str(arguments[0]).startswith(known):
        return
    if _watched is not None and (event in CODE or event == "import" or event.startswith(("socket.", "ctypes."))):
        _watched.append(f"{event} {arguments[:1]}")


def damaged(data: bytes, kind: str, chance: random.Random) -> bytes:
    """Bytes that differ from the given ones in a way that disks, networks and editors produce."""
    size, header, changed = len(data), 8 + int.from_bytes(data[:8], "little"), bytearray(data)
    at = chance.randrange(size)
    if kind == "bit":
        changed[at] ^= 1 << chance.randrange(8)
    elif kind == "header byte":
        changed[chance.randrange(min(header, size))] = chance.randrange(256)
    elif kind == "truncate":
        del changed[at:]
    elif kind == "insert":
        changed[at:at] = chance.randbytes(chance.randint(1, 16))
    elif kind == "delete":
        del changed[at : at + chance.randint(1, 16)]
    elif kind == "swap":
        other, length = chance.randrange(size), chance.randint(1, 64)
        changed[at : at + length], changed[other : other + length] = (
            data[other : other + length],
            data[at : at + length],
        )
    elif kind == "zeros":
        length = min(chance.randint(1, 512), size - at)
        changed[at : at + length] = bytes(length)
    else:
        digits = [i for i in range(min(header, size)) if chr(data[i]).isdigit()]
        changed[chance.choice(digits)] = ord(chance.choice("0123456789"))
    return bytes(changed)


def forged(original: Container, chance: random.Random) -> bytes:
    """A file with a right checksum whose description or arrays were changed in one to three places."""
    content, arrays = copy.deepcopy(original.content), dict(original.arrays)
    for _ in range(chance.randint(1, 3)):
        if arrays and chance.random() < 0.3:
            name = chance.choice(sorted(arrays))
            arrays[name] = _other_array(arrays[name], chance)
        else:
            _change_description(content, sorted(arrays), chance)
    return pack(content, arrays, FORMAT)


def bent(original: Container, chance: random.Random) -> bytes:
    """A file with a right checksum in which one array, number, name or length is another one."""
    content, arrays = copy.deepcopy(original.content), dict(original.arrays)
    names = [name for name in sorted(arrays) if name != "skops"]
    if "skops" in arrays and chance.random() < 0.7:
        arrays["skops"] = _bent_archive(arrays["skops"], chance)
    elif names and chance.random() < 0.6:
        name = chance.choice(names)
        arrays[name] = bent_array(arrays[name], chance)
    else:
        _bend_description(content, chance)
    return pack(content, arrays, FORMAT)


def bent_array(array: np.ndarray, chance: random.Random) -> np.ndarray:
    """An array of another shape or dtype, or with one other number."""
    how = chance.randrange(8)
    axis = chance.randrange(array.ndim) if array.ndim else 0
    if how == 0 and array.ndim:
        return np.take(array, range(max(array.shape[axis] - 1, 0)), axis=axis)
    if how == 1 and array.size:
        return np.concatenate([array, np.take(array, [0], axis=axis)], axis=axis)
    if how == 2:
        return array.T.copy() if array.ndim > 1 else array.reshape(-1, 1)
    if how == 3:
        return array.reshape(-1)[: chance.randint(0, 2)]
    if how == 4:
        with np.errstate(all="ignore"):
            return np.nan_to_num(array).astype(chance.choice(["float64", "float32", "int64", "uint8", "bool"]))
    changed = array.copy().reshape(-1)
    if changed.size:
        whole = [10**6, -1, 2**31 - 1, 0]
        value = chance.choice(whole if array.dtype.kind in "iu" else [*whole, np.nan, np.inf, -1e300, 0.5])
        with np.errstate(all="ignore"):
            changed[chance.randrange(changed.size)] = np.array(value).astype(array.dtype)
    return changed.reshape(array.shape)


def _bend_description(content: dict[str, Any], chance: random.Random) -> None:
    outside = ("library", "class", "sklearn")
    places = [(holder, key) for holder, key in _places(content) if not (holder is content and key in outside)]
    holder, key = chance.choice(places)
    value = holder[key]
    if isinstance(value, bool) or value is None:
        holder[key] = chance.choice([True, False, None, 1, "x"])
    elif isinstance(value, (int, float)):
        holder[key] = chance.choice([0, -1, value + 1, 10**6, 0.5, 1e308, None, "1", {"$float": "nan"}])
    elif isinstance(value, str):
        alike = [name for name in registry() if name.split(".")[0] == value.split(".")[0] and value in registry()]
        holder[key] = chance.choice([*alike, "", "auto", value + "x", None, 3])
    elif isinstance(value, list):
        holder[key] = chance.choice([value[:-1], [*value, *value[:1]], value[::-1], [], None])
    elif isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = chance.choice([None, 1, "x"])


def _bent_archive(data: np.ndarray, chance: random.Random) -> np.ndarray:
    """What skops wrote, with one array or one place of its description changed."""
    with zipfile.ZipFile(io.BytesIO(data.tobytes())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice([*sorted(parts), "schema.json"])
    if name.endswith(".npy"):
        buffer = io.BytesIO()
        np.save(buffer, bent_array(np.load(io.BytesIO(parts[name])), chance))
        parts[name] = buffer.getvalue()
    elif name == "schema.json":
        schema = json.loads(parts[name])
        _bend_description(schema, chance)
        parts[name] = json.dumps(schema).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for key, part in parts.items():
            archive.writestr(key, part)
    return np.frombuffer(out.getvalue(), dtype=np.uint8)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree of lists and dicts: the container and the key."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _change_description(content: dict[str, Any], arrays: list[str], chance: random.Random) -> None:
    places = list(_places(content))
    holder, key = chance.choice(places)
    other, other_key = chance.choice(places)
    how = chance.randrange(5)
    if how == 0:
        holder[key] = copy.deepcopy(other[other_key])
    elif how == 1 and isinstance(holder, dict):
        del holder[key]
    elif how == 2 and isinstance(holder, dict):
        holder[chance.choice([*_KEYS, str(other_key)])] = holder.pop(key)
    elif how == 3 and isinstance(holder[key], list):
        holder[key] = holder[key] * chance.randint(0, 3)
    else:
        holder[key] = _strange_value(arrays, chance)


_KEYS = ("", "$array", "$dict", "$rows", "$texts", "keys", "$strings", "transform", "__class__", "kind", "stops")


def _strange_value(arrays: list[str], chance: random.Random) -> Any:
    name, classes = chance.choice([*arrays, "no such array"]), sorted(registry())
    plain = [
        None,
        True,
        -1,
        0,
        1,
        2**31,
        2**63,
        10**400,
        -1.5,
        1e308,
        "",
        "x" * 1000,
        "<U99999999",
        "|O",
        [],
        {},
        [[]] * 9,
    ]
    described = [
        *({f"${kind}": name} for kind in ("array", "scalar", "strings", "numbers", "texts", "random_state", "float")),
        {"$array": name, "order": "F"},
        {"$rows": [[1], [2]], "keys": ["a", chance.choice(["a", "b"])], "kind": "list"},
        {"$rows": [{"$numbers": name, "kind": "list"}] * 2, "kind": "list"},
        {"$strings": ["a"], "shape": [1], "dtype": f"<U{10 ** chance.randint(0, 9)}"},
        {"$texts": name, "stops": chance.choice([*arrays, "x"]), "kind": "tuple"},
        {"$object": chance.choice([*classes, "os.system", "builtins.eval"]), "params": {}},
        {"$dict": [["a", 1], ["a", 2]]},
        {"$estimator": {"class": chance.choice([*classes, "os.system"]), "params": {}, "state": {}}},
        {"$value": chance.choice([*classes, "os.system"]), "fields": {}},
        {"$tuple": [1]},
        {"$dtype": chance.choice(["float64", "O", "V8"])},
        {"$float": chance.choice(["nan", "inf", "-inf", "one"])},
    ]
    return copy.deepcopy(chance.choice([*plain, *described]))


def _other_array(array: np.ndarray, chance: random.Random) -> np.ndarray:
    how = chance.randrange(6)
    if how == 0:
        return array[: chance.randint(0, len(array))]
    if how == 1:
        return array.reshape(-1)
    if how == 2:
        return array[None]
    if how == 3:
        return np.frombuffer(array.tobytes(), dtype=chance.choice(["uint8", "int8"]))
    if how == 4:
        return np.full_like(array, chance.choice([0, 1])) if array.dtype == bool else np.full_like(array, 117)
    with np.errstate(all="ignore"):
        return array.astype(chance.choice(["float64", "float16", "int64", "bool"]))


class Outcome:
    """What came of the files of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind, self.files, self.loaded = kind, 0, 0
        self.items: Any = None  # to be transformed by what loads
        self.wrong: list[str] = []
        self.untyped: list[str] = []
        self.raw: list[str] = []  # errors in use that are none of ours
        self.code: list[str] = []
        self.slow: list[str] = []

    @property
    def is_clean(self) -> bool:
        return not (self.wrong or self.untyped or self.raw or self.code or self.slow)

    def line(self) -> str:
        counts = (
            f"{len(self.wrong)} wrong, {len(self.untyped)} untyped, {len(self.raw)} raw in use, "
            f"{len(self.code)} ran code, {len(self.slow)} slow"
        )
        return f"{self.kind:40s} {self.files:6d} files, {self.loaded:4d} loaded, {counts}"

    def read(self, path: Path, what: str) -> bool:
        """Load a file; True if it loaded."""
        global _watched
        self.files, _watched, start = self.files + 1, [], time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = load(path)
                self.loaded += 1
                if self.items is not None:
                    self._use(model, what)
            return True
        except ModelFileError:
            return False
        except BaseException as error:  # what must not be
            self.untyped.append(f"{what}: {type(error).__name__}: {error}")
            return False
        finally:
            self.code += [f"{what}: {event}" for event in _watched]
            _watched = None
            if time.process_time() - start > SECONDS:
                self.slow.append(what)

    def _use(self, model: Any, what: str) -> None:
        """Let a model say what it can of new items."""
        try:
            answers(model, self.items)
        except RkhsError:
            pass
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}:{frame.lineno}"
            self.raw.append(f"{what}: {type(error).__name__}: {str(error)[:80]} ({place})")


def try_model(path: Path, folder: Path, n_damaged: int, n_forged: int, seed: int, items: Any = None) -> Outcome:
    """Damage, forge and bend one model file many times."""
    outcome, chance, place = Outcome(path.stem), random.Random(f"{path.stem} {seed}"), folder / "m.rkhs"
    data = path.read_bytes()
    original = unpack(data, path.name, FORMAT)
    for number in range(n_damaged):
        kind = DAMAGE[number % len(DAMAGE)]
        changed = damaged(data, kind, chance)
        place.write_bytes(changed)
        if outcome.read(place, f"{kind} {number}") and not _same(unpack(changed, path.name, FORMAT), original):
            outcome.wrong.append(f"{kind} {number}")
    outcome.items = items
    for number in range(2 * n_forged):
        change = forged if number % 2 else bent
        try:
            place.write_bytes(change(original, chance))
        except (InputError, ValueError, OverflowError):  # too large a header, NaN in JSON: no such file can be
            continue
        outcome.read(place, f"{change.__name__} {number}")
    return outcome


def _same(found: Container, original: Container) -> bool:
    return (
        found.content == original.content
        and found.arrays.keys() == original.arrays.keys()
        and all(found.arrays[k].tobytes() == original.arrays[k].tobytes() for k in found.arrays)
        and all(found.arrays[k].dtype == original.arrays[k].dtype for k in found.arrays)
    )


def campaign(n_damaged: int, n_forged: int, seed: int = 0, names: Iterable[str] = CASES) -> list[Outcome]:
    """The file of every case."""
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, case in enumerate(CASES):
            if case in names:
                model, items = made(number, case)
                path = folder / f"{case}.rkhs"
                save(model, path)
                answers(load(path), items)  # what is imported on first use is no code of a file
                _start_watching()
                outcomes.append(try_model(path, folder, n_damaged, n_forged, seed, items))
        return outcomes


@cache
def _start_watching() -> None:
    for cls in registry().values():
        hints_of(cls)  # evaluates annotations of the library
    molecular_fingerprints(["C"])  # a forged kernel may read molecules
    sys.addaudithook(_watch)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full", action="store_true", help="5,000 damaged, 2,000 forged and 2,000 bent files of every kind"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=5, help="faults of each kind of file that are printed")
    parser.add_argument("--only", nargs="*", default=list(CASES), metavar="CASE", help="these kinds of files alone")
    args = parser.parse_args(argv)
    n_damaged, n_forged = (5_000, 2_000) if args.full else (200, 100)
    repr(BaseEstimator())  # scikit-learn imports what shows estimators, in messages too, at the first use
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes = campaign(n_damaged, n_forged, args.seed, args.only)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for outcome in outcomes:
        print(outcome.line())
        for text in [*outcome.wrong, *outcome.untyped, *outcome.raw, *outcome.code, *outcome.slow][: args.show]:
            print(f"    {text}")
    names = ("wrong", "untyped", "raw", "code", "slow")
    wrong, untyped, raw, code, slow = (sum(len(getattr(outcome, name)) for outcome in outcomes) for name in names)
    print(
        f"R5: {sum(outcome.files for outcome in outcomes)} files of {len(outcomes)} kinds: {wrong} wrong loads, "
        f"{untyped} untyped errors, {raw} raw errors in use, {code} code runs, {slow} slow; {grown:.0f} MiB at most"
    )
    return 0 if all(outcome.is_clean for outcome in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
