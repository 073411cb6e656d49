"""Long experiments as cells: every finished cell is a line of a file, so that a stopped run goes on where it was."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["add_cell_options", "cell_key", "finished_cells", "run_cells"]

Cell = dict[str, Any]


def cell_key(cell: Cell) -> str:
    """One text for the settings of a cell, whatever their order."""
    return json.dumps(cell, sort_keys=True)


def finished_cells(path: Path | None) -> dict[str, Cell]:
    """Results of the file by the settings of their cells; a line cut short by a crash is skipped."""
    found: dict[str, Cell] = {}
    for line in path.read_text().splitlines() if path is not None and path.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[row.pop("key")] = row
    return found


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
    """Do every cell of a plan that the file does not hold yet, saying how long it will take.

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
    done = finished_cells(path)
    missing = [cell for cell in plan if cell_key(cell) not in done]
    known = [done[cell_key(cell)]["seconds"] for cell in plan if cell_key(cell) in done]
    each = sum(known) / len(known) if known else seconds
    print(f"{len(plan)} cells, {len(known)} of them done; the others take about {len(missing) * each / 60:.1f} min")
    if path is not None and path.exists() and not path.read_text().endswith("\n"):
        with path.open("a") as file:  # the line that a crash cut short
            file.write("\n")
    started = time.perf_counter()
    for i, cell in enumerate(missing):
        spent = time.perf_counter() - started
        if i and minutes is not None and spent > 60 * minutes:
            print(f"stopped after {spent / 60:.1f} min, {len(missing) - i} cells are left: run the command again")
            break
        begun = time.perf_counter()
        result = work(cell)
        row = {**result, "seconds": round(time.perf_counter() - begun, 3)}
        done[cell_key(cell)] = row
        if path is not None:
            with path.open("a") as file:
                file.write(json.dumps({"key": cell_key(cell), **row}) + "\n")
    return [{**cell, **done[cell_key(cell)]} for cell in plan if cell_key(cell) in done]
