"""Which codes are useful: every method on every set, on rows that nothing has seen, with wins and losses.

Run: RKHS_DATA=... ./dev bench usefulness [--reduced]. Results are kept cell by cell as lines of JSON; a run that was
stopped goes on where it was. ``--report`` prints the tables of what is there, ``--against FOLDER`` also the default of
today beside that of the run in FOLDER, which an older checkout of the library made. A set or a method is one small file
in ``sets`` or ``methods``. Without RKHS_DATA only the sets of scikit-learn are measured.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from studies.bench.usefulness.earlier import against
from studies.bench.usefulness.methods import all_methods
from studies.bench.usefulness.protocol import components, make_task, measure
from studies.bench.usefulness.report import OURS, report
from studies.bench.usefulness.sets import DataSet, all_sets
from studies.harness.finished import Finished
from studies.harness.scripts import data_folder_if_any, run_script

KEY = ("set", "level", "seed", "method")
LEVELS = (10, 2)
GUESS = {"network": 15.0}  # seconds per cell before any is measured; 3 for the others


def main() -> None:
    """Measure what is missing, then print the tables."""
    args = _arguments()
    folder = data_folder_if_any()
    limit, seeds = (400, 2) if args.reduced else (1000, 5)
    seeds = args.seeds or seeds
    kind = "reduced" if args.reduced else "standard"
    args.output.mkdir(parents=True, exist_ok=True)
    file = Finished(args.output / f"{kind}.jsonl", KEY)
    methods = [
        m for m in all_methods() if getattr(m, "INSTALLED", True) and (not args.methods or m.NAME in args.methods)
    ]
    chosen = [s for s in all_sets(folder) if not args.sets or s.name in args.sets]
    if not args.report:
        measure_all(chosen, methods, range(args.first, seeds), limit, file, args.minutes)
    print(report(list(file.rows.values())))
    if args.against is not None:
        earlier = Finished(args.against / f"{kind}.jsonl", KEY)
        print("\n" + against(list(file.rows.values()), list(earlier.rows.values()), OURS))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench usefulness", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--reduced", action="store_true", help="at most 400 rows and two seeds, not 1,000 and five")
    parser.add_argument("--sets", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--methods", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--seeds", type=int, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="leave the seeds before it to others")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after the cell that passes this")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="compare with the run of an older checkout")
    default = Path(__file__).parents[2] / "output" / "usefulness"
    parser.add_argument("--output", type=Path, default=default, metavar="FOLDER", help="default: %(default)s")
    return parser.parse_args()


def measure_all(
    chosen: list[DataSet], methods: list[ModuleType], seeds: range, limit: int, file: Finished, minutes: float
) -> None:
    """Seeds outside, slow methods last, sets of no default first: what was measured so far covers what matters."""
    cells = list(file.rows.values())
    missing = [
        (seed, data, level, method)
        for seed in seeds
        for slow in (False, True)
        for data in sorted(chosen, key=lambda found: found.development)
        for level in LEVELS
        for method in methods
        if getattr(method, "SLOW", False) == slow
        and (method.GRAM or not data.gram)
        and json.dumps([data.name, level, seed, method.NAME]) not in file.rows
    ]
    _say(f"{len(missing)} cells to measure, {len(cells)} measured; about {_expected(missing, cells):.0f} minutes")
    start, last, task = time.perf_counter(), None, None
    torch.set_num_threads(1)
    with threadpool_limits(1):
        for count, (seed, data, level, method) in enumerate(missing):
            if time.perf_counter() - start > 60.0 * minutes:
                _say(f"stopped after {minutes:g} minutes with {len(missing) - count} cells to go; run again to go on")
                return
            if last != (data.name, seed):
                task, last = make_task(data, seed, limit), (data.name, seed)
            cell = {"set": data.name, "family": data.family, "development": data.development, "gram": data.gram}
            cell |= {"level": level, "seed": seed, "method": method.NAME, "ours": method.OURS}
            # UMAP asks OpenMP for all cores again, and a small network is then 100 times slower.
            torch.set_num_threads(1)
            cell |= _measured(task, level, method, seed)
            file.add(file.key_of(cell), cell)
            if sys.stderr.isatty():
                print(
                    f"\r{count + 1}/{len(missing)} {data.name}, {level}, {method.NAME}".ljust(79),
                    end="",
                    file=sys.stderr,
                )


def _measured(task: Any, level: int, method: ModuleType, seed: int) -> dict[str, Any]:
    p = components(task, level)
    size = {"n": len(task.train), "d": None if task.gram else task.train.shape[1], "p": p}
    if p is None:
        return size | {"left_out": "too few inputs or rows"}
    start = time.perf_counter()
    try:
        measured = measure(task, p, method, seed)
    except Exception as error:  # one method that fails on one set must not end hours of others; the report says so
        measured = {"failed": f"{type(error).__name__}: {error}"}
        _say(f"{method.NAME} failed: {measured['failed']}")
    return size | measured | {"cell_s": round(time.perf_counter() - start, 2)}


def _expected(missing: list[Any], cells: list[dict[str, Any]]) -> float:
    seconds: dict[str, list[float]] = {}
    for cell in cells:
        if "cell_s" in cell:
            seconds.setdefault(cell["method"], []).append(cell["cell_s"])
    mean = {name: statistics.fmean(values) for name, values in seconds.items()}
    return sum(mean.get(method.NAME, GUESS.get(method.NAME, 3.0)) for *_, method in missing) / 60.0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run_script(main)
