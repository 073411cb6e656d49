"""Change model files of every kind, and load what comes out: the same model or one typed error, and no code.

Two families for each file of ``tests/golden``, and the first for a checkpoint as well:

* *damaged*: bytes changed as disks, networks and editors change them. What loads must hold what the original holds.
* *forged*: descriptions and arrays changed, and the checksum made right again. What loads is the forger's model; what
  does not must be a ``ModelFileError``, within the memory and the time of a refusal. A pipeline that loads is used as
  well: scikit-learn's compiled code must find nothing in it that makes it read or write beside its arrays.

Run: python -m tests.reliability.mutated_files [--full]
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from rkhs._core.containers import Container, pack, unpack
from rkhs._core.errors import CheckpointError, InputError, ModelFileError
from rkhs._core.pipeline_steps import STEPS, find_step
from rkhs.engines import Journal
from rkhs.persistence import FORMAT, load, registry

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
DAMAGE = ("bit", "header byte", "truncate", "insert", "delete", "swap", "zeros", "digit")
CODE = ("compile", "exec", "os.exec", "os.posix_spawn", "os.system", "pickle.find_class", "subprocess.Popen")
SECONDS = 2.0  # for one file; a refusal takes milliseconds, but other programs run too

_watched: list[str] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "compile" and str(arguments[0]).startswith("b'def foo"):  # inspect: the signature of a built-in method
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


_KEYS = ("", "$array", "$dict", "$rows", "$texts", "$table", "$strings", "transform", "__class__", "kind", "stops")


def _strange_value(arrays: list[str], chance: random.Random) -> Any:
    name, classes = (
        chance.choice([*arrays, "no such array"]),
        sorted([*registry(), *(f"sklearn.{name}" for name in STEPS)]),
    )
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
        {"$table": [], "rows": 10**9, "kind": "list"},
        {"$rows": [{"$numbers": name, "kind": "list"}] * 2, "kind": "list"},
        {"$strings": ["a"], "shape": [1], "dtype": f"<U{10 ** chance.randint(0, 9)}"},
        {"$texts": name, "stops": chance.choice([*arrays, "x"]), "kind": "tuple"},
        {"$object": chance.choice([*classes, "os.system", "builtins.eval"]), "params": {}},
        {"$dict": [["a", 1], ["a", 2]]},
        {"$estimator": {"class": chance.choice([*classes, "os.system"]), "params": {}, "state": {}}},
        {"$slice": [0, chance.choice([None, 10**12]), chance.choice([1, 0])]},
        {"$type": chance.choice(["float64", "object", "module"])},
        {"$function": chance.choice(["log1p", "frombuffer", "load"])},
        {"$cells": ["a", None, 1.5], "shape": [chance.choice([3, 10**9])]},
        {"$by_number": [[0, 1]]},
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
        self.code: list[str] = []
        self.slow: list[str] = []

    @property
    def is_clean(self) -> bool:
        return not (self.wrong or self.untyped or self.code or self.slow)

    def line(self) -> str:
        counts = (
            f"{len(self.wrong)} wrong, {len(self.untyped)} untyped, {len(self.code)} ran code, {len(self.slow)} slow"
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
                    with suppress(Exception):  # a forged model may make no sense
                        model.transform(self.items)
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


def try_model(path: Path, folder: Path, n_damaged: int, n_forged: int, seed: int) -> Outcome:
    """Damage and forge one model file many times."""
    outcome, chance, place = Outcome(path.stem), random.Random(f"{path.stem} {seed}"), folder / "m.rkhs"
    data = path.read_bytes()
    original = unpack(data, path.name, FORMAT)
    outcome.items = _items_of(path)
    for number in range(n_damaged):
        kind = DAMAGE[number % len(DAMAGE)]
        changed = damaged(data, kind, chance)
        place.write_bytes(changed)
        if outcome.read(place, f"{kind} {number}") and not _same(unpack(changed, path.name, FORMAT), original):
            outcome.wrong.append(f"{kind} {number}")
    for number in range(n_forged):
        try:
            place.write_bytes(forged(original, chance))
        except InputError:  # too large a header: no such file can be
            continue
        outcome.read(place, f"forged {number}")
    return outcome


def _items_of(path: Path) -> Any:
    """New items for a pipeline; None for other models."""
    known = json.loads(path.with_suffix(".json").read_text()) if path.stem.startswith("pipeline") else {"kind": None}
    return known["items"] if known["kind"] == "texts" else np.array(known["items"]) if known["kind"] else None


def _same(found: Container, original: Container) -> bool:
    return (
        found.content == original.content
        and found.arrays.keys() == original.arrays.keys()
        and all(found.arrays[k].tobytes() == original.arrays[k].tobytes() for k in found.arrays)
        and all(found.arrays[k].dtype == original.arrays[k].dtype for k in found.arrays)
    )


def try_checkpoint(folder: Path, n_damaged: int, seed: int) -> Outcome:
    """Damage a checkpoint: it is refused, or goes on from a record that was written."""
    outcome, chance, place = Outcome("checkpoint"), random.Random(seed), folder / "fit.journal"
    with Journal(place, "task") as journal:
        for number in range(3):
            journal.add("stage", {"number": number}, {"point": np.full(5, float(number))})
    data = place.read_bytes()
    for number in range(n_damaged):
        kind = [*DAMAGE[:1], *DAMAGE[2:7]][number % 6]  # it has no header of its own
        place.write_bytes(damaged(data, kind, chance))
        outcome.files += 1
        try:
            with Journal(place, "task") as journal:
                last = journal.last("stage")
            outcome.loaded += 1
        except CheckpointError:
            continue
        except Exception as error:
            outcome.untyped.append(f"{kind} {number}: {type(error).__name__}: {error}")
            continue
        if last is not None and not (last[1]["point"] == float(last[0]["number"])).all():
            outcome.wrong.append(f"{kind} {number}")
    return outcome


def campaign(n_damaged: int, n_forged: int, seed: int = 0) -> list[Outcome]:
    """Every golden file, and a checkpoint."""
    files = sorted(GOLDEN.glob("*.rkhs"))
    for name in STEPS:
        find_step(f"sklearn.{name}")
    for path in files:
        model, items = load(path), _items_of(path)  # what is imported on first use is no code of a file
        if items is not None:
            model.transform(items)
    sys.addaudithook(_watch)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outcomes = [try_model(path, folder, n_damaged, n_forged, seed) for path in files]
        return [*outcomes, try_checkpoint(folder, n_damaged, seed)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="5,000 damaged and 2,000 forged files of every kind")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    n_damaged, n_forged = (5_000, 2_000) if args.full else (200, 100)
    repr(BaseEstimator())  # scikit-learn imports what shows estimators, in messages too, at the first use
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    outcomes = campaign(n_damaged, n_forged, args.seed)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for outcome in outcomes:
        print(outcome.line())
        for text in [*outcome.wrong, *outcome.untyped, *outcome.code, *outcome.slow][:5]:
            print(f"    {text}")
    wrong, untyped, code, slow = (
        sum(len(getattr(outcome, name)) for outcome in outcomes) for name in ("wrong", "untyped", "code", "slow")
    )
    print(
        f"R5: {sum(outcome.files for outcome in outcomes)} files of {len(outcomes)} kinds: {wrong} wrong loads, "
        f"{untyped} untyped errors, {code} code runs, {slow} slow; {grown:.0f} MiB at most"
    )
    return 0 if all(outcome.is_clean for outcome in outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
