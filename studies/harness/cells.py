"""Long experiments as cells: every finished cell is a line of a file, so that a stopped run goes on where it was."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from studies.harness.finished import Finished

__all__ = ["add_cell_options", "cell_key", "run_cells"]

Cell = dict[str, Any]


def cell_key(cell: Cell) -> str:
    """One text for the settings of a cell, whatever their order."""
    return json.dumps(cell, sort_keys=True)


def add_cell_options(parser: argparse.ArgumentParser) -> None:
    """Declare ``--cells`` and ``--minutes``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    parser.add_argument("--cells", type=Path, help="file of finished cells; a stopped run goes on from it")
    parser.add_argument("--minutes", type=float, help="start no cell after this time; run again to go on")


def run_cells(
    plan: Sequence[Cell],
    work: Callable[[Cell], Cell],
    *,
    path: Path | None = None,
    minutes: float | None = None,
    seconds: float = 1.0,
) -> list[Cell]:
    """Do every cell of a plan that the file does not hold yet; say after each how long the others will take.

    Parameters
    ----------
    plan : sequence of dict
        Settings, of plain types.
    work : callable
        Takes the settings, returns the results as plain types.
    path : Path, optional
        File of finished cells. None: nothing is kept.
    minutes : float, optional
        No cell is started after this time; one is always done.
    seconds : float, default=1.0
        Expected for one cell, until the file or the run knows better.

    Returns
    -------
    list of dict
        Settings, results and ``seconds`` of the finished cells, in the order of the plan.
    """
    file = Finished(path)
    done = file.rows
    missing = [cell for cell in plan if cell_key(cell) not in done]
    known = [done[cell_key(cell)]["seconds"] for cell in plan if cell_key(cell) in done]
    each = sum(known) / len(known) if known else seconds
    left = f"the others take about {_span(len(missing) * each)}"
    print(f"{len(plan)} cells, {len(known)} of them done; {left}", flush=True)
    if missing and path is None:
        print("nothing is kept if the run stops; --cells FILE keeps what is done, and goes on from it", flush=True)
    started = time.perf_counter()
    for i, cell in enumerate(missing):
        spent = time.perf_counter() - started
        if i and minutes is not None and spent > 60 * minutes:
            print(f"stopped after {spent / 60:.1f} min, {len(missing) - i} cells are left: run the command again")
            break
        begun = time.perf_counter()
        result = work(cell)
        file.add(cell_key(cell), {**result, "seconds": round(time.perf_counter() - begun, 3)})
        left = _span((time.perf_counter() - started) / (i + 1) * (len(missing) - i - 1))
        settings = ", ".join(f"{name} {value}" for name, value in cell.items())
        print(f"  {len(known) + i + 1} of {len(plan)} done, some {left} left ({settings})", flush=True)
    return [{**cell, **done[cell_key(cell)]} for cell in plan if cell_key(cell) in done]


def _span(seconds: float) -> str:
    """A time in the unit that people would take."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400.0 else f"{seconds / 3600:.1f} h"
