"""Run cases of all subjects in turns until enough calls were made; say calls by class, failures, and one last line."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from studies.reliability.fuzz import subjects as every
from studies.reliability.fuzz.case import PATIENCE, Case, Failure, time_limit

KINDS = ("raw error", "silent NaN", "disagreement")


def run_case(name: str, seed: int, index: int, folder: Path, *, told: bool = False) -> Case:
    """One case, in an empty folder of its own."""
    room = Path(tempfile.mkdtemp(dir=folder))
    case = Case(name, seed, index, room, told=told)
    before = Path.cwd()
    os.chdir(room)
    try:
        with time_limit(PATIENCE), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what prepares a case; calls are judged with their own filters
            every.subjects()[name](case)
    except TimeoutError as error:
        case.fail("raw error", str(error))
    except Exception as error:  # in what prepares or compares, not in a call that is judged
        if told:
            raise
        case.fail("raw error", f"the walk itself raised {type(error).__name__}: {error}")
    finally:
        os.chdir(before)
        _empty(room)
    return case


def _empty(room: Path) -> None:
    for path in sorted(room.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    room.rmdir()


def run(
    names: Sequence[str], calls: int, seed: int, say: Callable[[str], None], most: int = 200
) -> tuple[Counter[str], list[Failure]]:
    """Cases of these subjects in turns: calls by subject, and what failed."""
    done: Counter[str] = Counter()
    failures: list[Failure] = []
    index = 0
    with tempfile.TemporaryDirectory(prefix="rkhs-fuzz-") as folder:
        while sum(done.values()) < calls and len(failures) < most:
            for name in names:
                case = run_case(name, seed, index, Path(folder))
                done[name] += case.calls
                for failure in case.failures:
                    say(str(failure))
                failures += case.failures
            index += 1
    return done, failures


def last_line(done: Counter[str], failures: Sequence[Failure]) -> str:
    """The sum of a run in one line."""
    counts = Counter(failure.kind for failure in failures)
    told = ", ".join(f"{counts[kind]} {kind if kind.endswith('NaN') else kind + 's'}" for kind in KINDS)
    return f"rkhs-fuzz: {sum(done.values())} calls, {told}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the fuzz; 0 if nothing failed.

    Parameters
    ----------
    argv : sequence of str, optional
        Default: the arguments of the process.
    """
    parser = argparse.ArgumentParser(prog="python -m studies.reliability.fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=5000, help="at least so many (default %(default)s)")
    parser.add_argument("--full", action="store_true", help="100,000 calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=200, help="failures after which to stop (default %(default)s)")
    parser.add_argument("--only", metavar="A,B,...", help="subjects; a part of a name is enough")
    parser.add_argument("--case", metavar="SUBJECT:SEED:INDEX", help="one case, with every call told")
    parser.add_argument("--list", action="store_true", help="print the subjects")
    args = parser.parse_args(argv)
    known = list(every.subjects())
    if args.list:
        print("\n".join(known))
        return 0
    if args.case:
        name, seed, index = args.case.split(":")
        with tempfile.TemporaryDirectory(prefix="rkhs-fuzz-") as folder:
            case = run_case(name, int(seed), int(index), Path(folder), told=True)
        return int(bool(case.failures))
    names = [name for name in known if args.only is None or any(part in name for part in args.only.split(","))]
    started = time.perf_counter()
    calls = 100_000 if args.full else args.calls
    done, failures = run(names, calls, args.seed, lambda text: print(text, flush=True), args.most)
    print("\n".join(f"{count:8d}  {name}" for name, count in sorted(done.items())))
    print(f"{time.perf_counter() - started:.0f} s, seed {args.seed}", file=sys.stderr)
    print(last_line(done, failures))
    return int(bool(failures))
