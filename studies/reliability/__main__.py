"""Measure the goals R1 to R22 and print one table.

Run: ./dev reliability [--full] [--only R5,R7] [--write]. The reduced size is meant for 15 minutes on two idle cores;
``--full`` takes hours. ``--write`` puts the lines that were measured into ``docs/reliability.md``.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from studies.reliability.goals import SCRIPTS, Script, Targets

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- measured: the lines below are written by ./dev reliability --write -->", "<!-- end of measured -->"
SHOWN = ("torch", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Row:
    """What came of one goal."""

    goal: Targets
    measured: str
    seconds: float
    is_good: bool
    size: str

    @property
    def place(self) -> tuple[int, str]:
        return _place(self.goal.number)

    def cells(self) -> list[str]:
        day = datetime.date.today().isoformat()
        word = "ok" if self.is_good else "**not ok**"
        return [self.goal.number, self.goal.guarantee, self.measured, f"{self.seconds:.0f} s", self.size, day, word]


def _place(number: str) -> tuple[int, str]:
    found = re.match(r"R(\d+)(.*)", number)
    return (int(found.group(1)), found.group(2)) if found else (99, number)


def run(script: Script, *, full: bool, write: bool) -> list[Row]:
    """Run one script and read its output; what it printed is shown where a goal is missed."""
    command = [sys.executable, *(script.full if full else script.reduced)]
    if write and script.writes:
        command.append("--write")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **dict(script.settings if full else ())}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    rows = []
    for goal in script.goals:
        measured, is_good = goal.read(done.stdout, done.returncode == 0)
        rows.append(Row(goal, measured, seconds, is_good, "full" if full else "reduced"))
        print(f"{goal.number}: {'ok' if is_good else 'NOT OK'}, {seconds:.0f} s: {measured}", flush=True)
    if not all(row.is_good for row in rows):
        print(f"$ {' '.join(command[1:])}\n{(done.stdout + done.stderr)[-3000:]}", flush=True)
    return rows


def table(lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    head = ["", "goal", "measured", "time", "size", "date", ""]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *lines])


def written(text: str, rows: Sequence[Row]) -> str:
    """The page with these rows in place of those of the same number; the others stay as they are."""
    before, _, rest = text.partition(START)
    old, _, after = rest.partition(END)
    lines = {cells[0]: cells for cells in map(_cells, re.findall(r"(?m)^\| R.*\|$", old))}
    lines |= {row.goal.number: [cell.replace("|", "/") for cell in row.cells()] for row in rows}
    versions = ", ".join([f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in SHOWN)])
    ordered = [lines[number] for number in sorted(lines, key=_place)]
    return f"{before}{START}\n\n{table(ordered)}\n\nVersions: {versions}; {os.cpu_count()} cores.\n\n{END}{after}"


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.strip("|").split("|")]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./dev reliability", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="the long run, hours")
    parser.add_argument("--only", metavar="R5,R7", help="these goals alone")
    parser.add_argument("--jobs", type=int, default=2, help="scripts at a time (default %(default)s)")
    parser.add_argument("--write", action="store_true", help="write the lines into docs/reliability.md")
    args = parser.parse_args(argv)
    wanted = None if args.only is None else set(args.only.split(","))
    scripts = [s for s in SCRIPTS if (s.full if args.full else s.reduced)]
    scripts = [s for s in scripts if wanted is None or any(goal.number in wanted for goal in s.goals)]
    started = time.perf_counter()
    rows = [row for script in scripts if script.alone for row in run(script, full=args.full, write=args.write)]
    with ThreadPoolExecutor(args.jobs) as pool:
        together = [script for script in scripts if not script.alone]
        found = pool.map(lambda script: run(script, full=args.full, write=args.write), together)
        rows += [row for some in found for row in some]
    rows.sort(key=lambda row: row.place)
    print(table([row.cells() for row in rows]))
    if args.write:
        PAGE.write_text(written(PAGE.read_text(), rows))
    missed = [row.goal.number for row in rows if not row.is_good]
    print(f"{len(rows) - len(missed)} of {len(rows)} goals reached in {(time.perf_counter() - started) / 60:.0f} min")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
