"""One method in two runs of the benchmark: does any task get worse than it was? ``--against FOLDER``.

The two runs have the same sets, splits and rows; only the library differs. Rows are compared in pairs. A method that is
really the same would be beyond one standard error above on 16 % of the tasks and beyond two on 2.3 %, by chance alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from studies.bench.usefulness.heads import HEADS

Cells = list[dict[str, Any]]
Task = tuple[str, int]  # set and number of components asked for

_CHANCE = {1: 0.159, 2: 0.023}  # of a normal number, to lie so many standard errors above zero


def against(cells: Cells, earlier: Cells, method: str) -> str:
    """Tables of errors and of learners of one method, now against earlier; sets of no default and others apart."""
    parts = []
    for title, development in (("Sets that were not used to choose defaults", False), ("Development sets", True)):
        now, before = (_of(run, method, development) for run in (cells, earlier))
        if now.keys() & before.keys():
            parts += [f"## {title}: {method}, now against the earlier run", errors(now, before), learners(now, before)]
    return "\n\n".join(parts) or f"the two runs share no task of {method}"


def _of(cells: Cells, method: str, development: bool) -> dict[Task, dict[int, dict[str, Any]]]:
    """Cells of a method by task and split."""
    found: dict[Task, dict[int, dict[str, Any]]] = {}
    for cell in cells:
        if cell["method"] == method and cell["development"] == development and "fit_s" in cell:
            found.setdefault((cell["set"], cell["level"]), {})[cell["seed"]] = cell
    return found


def errors(now: dict[Task, dict[int, dict[str, Any]]], before: dict[Task, dict[int, dict[str, Any]]]) -> str:
    """Ratio of errors and of seconds, and tasks whose errors are above by one and by two paired standard errors."""
    lines = [
        "| components | tasks | ratio of errors | of seconds | above by a standard error (chance) | by two (chance) |",
        "|---|---|---|---|---|---|",
    ]
    for level in (10, 2):
        apart: dict[str, float] = {}
        ratios, seconds = [], []
        for task in sorted(now.keys() & before.keys()):
            pairs = [(now[task][s], before[task][s]) for s in sorted(now[task].keys() & before[task].keys())]
            pairs = [(a, b) for a, b in pairs if "rows" in a and "rows" in b and len(a["rows"]) == len(b["rows"])]
            if task[1] != level or not pairs:
                continue
            first, second = (np.concatenate([pair[i]["rows"] for pair in pairs]) for i in (0, 1))
            apart[task[0]] = in_standard_errors(first - second)
            ratios.append(math.log(max(float(first.mean()), 1e-12) / max(float(second.mean()), 1e-12)))
            seconds += [math.log(a["fit_s"] / b["fit_s"]) for a, b in pairs]
        if apart:
            worse = " | ".join(_worse(apart, limit) for limit in (1, 2))
            times = math.exp(np.mean(seconds))
            lines.append(f"| {level} | {len(apart)} | {math.exp(np.mean(ratios)):.3f} | {times:.2f} | {worse} |")
    return "\n".join(lines)


def learners(now: dict[Task, dict[int, dict[str, Any]]], before: dict[Task, dict[int, dict[str, Any]]]) -> str:
    """Mean difference of each learner's scores on the codes, over tasks, and tasks that are lower beyond errors.

    Standard errors are over the splits, of which there must be three.
    """
    lines = ["| learner | tasks | difference of scores | lower by one | lower by two |", "|---|---|---|---|---|"]
    for head in HEADS:
        apart, differences = {}, []
        for task in sorted(now.keys() & before.keys()):
            shared = sorted(now[task].keys() & before[task].keys())
            pairs = [(now[task][s].get("heads", {}), before[task][s].get("heads", {})) for s in shared]
            found = np.array([a[head] - b[head] for a, b in pairs if head in a and head in b])
            if len(found):
                differences.append(float(found.mean()))
            if len(found) >= 3:
                apart[f"{task[0]} {task[1]}"] = -in_standard_errors(found)
        if differences:
            worse = " | ".join(_worse(apart, limit) if apart else "too few splits" for limit in (1, 2))
            lines.append(f"| {head} | {len(differences)} | {np.mean(differences):+.4f} | {worse} |")
    return "\n".join(lines)


def in_standard_errors(differences: np.ndarray) -> float:
    """The mean of paired differences over its standard error; 0 where all are 0."""
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(len(differences))
    if error > 0.0:
        return mean / error
    return math.copysign(math.inf, mean) if mean else 0.0


def _worse(apart: dict[str, float], limit: int) -> str:
    """How many tasks are above a number of standard errors, how many chance would give, and their names."""
    names = [f"{name} ({value:+.1f})" for name, value in apart.items() if value > limit]
    said = f"{len(names)} ({_CHANCE[limit] * len(apart):.1f})"
    return said + (f": {', '.join(names)}" if names and (limit == 2 or len(names) <= 4) else "")
