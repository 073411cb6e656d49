"""Is a new checkout slower than an old one? Runs commands in both, in turns, and compares processor times.

    python tools/compare_checkouts.py OLD NEW --runs 9 -- -m studies.bench.kae
    python tools/compare_checkouts.py OLD NEW --printed -- -m studies.bench.fits digits

The command is a script of the new checkout and its arguments. Both runs take this script, each with the ``src`` of its
checkout, so that the library alone differs. Printed: median, least and largest processor time (user and system) of
each, and the ratio of the medians. With ``--printed`` the seconds are what the script prints last, so that the start of
Python does not count. The exit status is 1 if the ratio is above ``--at-most``.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path


def seconds(checkout: Path, scripts: Path, command: list[str], *, printed: bool) -> float:
    """Processor time of one run of a script on the library of a checkout, or the number that it prints last."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run([sys.executable, *command], cwd=scripts, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed in {checkout}:\n{done.stderr[-2000:]}")
    if printed:
        return float(done.stdout.split()[-1])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(argv: list[str] | None = None) -> int:
    """Run both in turns and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--at-most", type=float, default=1.05, help="largest ratio of the medians")
    parser.add_argument("--printed", action="store_true", help="compare the last number that the script prints")
    given = sys.argv[1:] if argv is None else argv
    cut = given.index("--") if "--" in given else len(given)
    args, command = parser.parse_args(given[:cut]), given[cut + 1 :]
    if not command:
        parser.error("name a script after --, such as -m studies.bench.kae")
    checkouts = {"old": args.old.resolve(), "new": args.new.resolve()}
    times: dict[str, list[float]] = {name: [] for name in checkouts}
    for run in range(args.runs):
        order = list(checkouts) if run % 2 == 0 else list(checkouts)[::-1]
        for name in order:
            times[name].append(seconds(checkouts[name], checkouts["new"], command, printed=args.printed))
    for name, found in times.items():
        print(
            f"{name}: median {statistics.median(found):.2f} s ({min(found):.2f} to {max(found):.2f}, {len(found)} runs)"
        )
    ratio = statistics.median(times["new"]) / statistics.median(times["old"])
    print(f"new / old: {ratio:.3f}")
    return int(ratio > args.at_most)


if __name__ == "__main__":
    sys.exit(main())
