"""What a run answers, and how it is written: values as csv, a figure, and the verdict as json."""

from __future__ import annotations

import csv
import datetime
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.harness.figures import new_figure, save_figure
from studies.papers.claims.ledger import Claim, claims
from studies.papers.claims.rules import Judged, together

__all__ = ["OUTPUT", "RUNS", "VERDICTS", "Part", "cells_of", "read_verdict", "run_of", "verdict_of", "write"]

ROOT = Path(__file__).resolve().parents[3]
VERDICTS = ROOT / "docs" / "results" / "verdicts"
OUTPUT = ROOT / "build" / "reproduce"


@dataclass(frozen=True)
class Part:
    """The answer to one part of a claim.

    Parameters
    ----------
    paper : Judged
        Under the conditions of the paper.
    ours : Judged or str
        With our defaults; a sentence where they do not apply.
    shown : tuple of Judged
        Rows that decide nothing, such as parameters chosen on test rows.
    """

    paper: Judged
    ours: Judged | str
    shown: tuple[Judged, ...] = ()


Answer = dict[str, Part]
RUNS: dict[str, Callable[[bool], Answer]] = {}
"""Runs by id; each takes ``fast`` and answers every part of its claim."""


def run_of(name: str) -> Callable[[Callable[[bool], Answer]], Callable[[bool], Answer]]:
    """Declare the run of a claim."""
    if name not in claims():
        raise KeyError(f"{name} is not in the table of claims")

    def declare(run: Callable[[bool], Answer]) -> Callable[[bool], Answer]:
        RUNS[name] = run
        return run

    return declare


def cells_of(name: str, fast: bool) -> Path | None:
    """File of finished cells of a claim, one for each wording of its conditions; None for a small run."""
    if fast:
        return None
    OUTPUT.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256(claims()[name].conditions.encode()).hexdigest()[:8]
    return OUTPUT / f"{name}-{key}.cells"


def _short(value: Any) -> Any:
    """Numbers with six digits, so that files stay small; numbers that are not finite as words."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if value == value and abs(value) < float("inf") else str(value)
    return value


def _row(judged: Judged | str) -> dict[str, Any] | str:
    if isinstance(judged, str):
        return judged
    row = {
        "verdict": judged.verdict,
        "found": judged.found,
        "rule": judged.rule,
        "repetitions": judged.repetitions,
        "mean": _short(judged.mean),
        "standard_error": _short(judged.error),
        "line": _short(judged.line),
        "settings": list(judged.values),
        "chosen_on": judged.chosen_on,
    }
    return {**row, **{name: _short(value) for name, value in judged.inputs.items()}}


def verdict_of(claim: Claim, answer: Answer, *, fast: bool, minutes: float) -> dict[str, Any]:
    """The verdict as plain types."""
    if answer.keys() != claim.parts.keys():
        raise KeyError(f"{claim.id} must answer {list(claim.parts)}; got {list(answer)}")
    ours = [part.ours for part in answer.values() if isinstance(part.ours, Judged)]
    parts = {
        name: {
            "claim": claim.parts[name],
            "paper": _row(part.paper),
            "ours": _row(part.ours),
            "shown": [_row(one) for one in part.shown],
        }
        for name, part in answer.items()
    }
    return {
        "id": claim.id,
        "what": claim.what,
        "where": claim.where,
        "printed": claim.printed,
        "conditions": claim.conditions,
        "stand_in": claim.stand_in,
        "rule": claim.rule,
        "verdict": "fast: not a verdict" if fast else together([part.paper for part in answer.values()]),
        "ours": "fast: not a verdict" if fast else together(ours) if ours else "does not apply",
        "date": datetime.date.today().isoformat(),
        "minutes": round(minutes, 2),
        "parts": parts,
    }


def _rows(answer: Answer) -> list[tuple[str, str, str, int, float]]:
    rows = []
    for name, part in answer.items():
        judged = [("paper", part.paper), *((f"shown {i + 1}", one) for i, one in enumerate(part.shown))]
        judged += [("ours", part.ours)] if isinstance(part.ours, Judged) else []
        for condition, one in judged:
            for setting, values in one.values.items():
                rows += [(name, condition, setting, i, value) for i, value in enumerate(values)]
    return rows


def _draw(claim: Claim, answer: Answer, path: Path) -> None:
    """The statistic of each part, one dot per repetition, beside the line that it is compared with."""
    parts = {name: part for name, part in answer.items() if part.paper.values}
    figure, axes = new_figure(max(1, len(parts)), size=(3.6, 3.4))
    for ax, (name, part) in zip(axes[0], parts.items(), strict=False):
        shown = [("paper", part.paper)] + ([("ours", part.ours)] if isinstance(part.ours, Judged) else [])
        labels: list[str] = []
        for condition, one in shown:
            for setting, values in one.values.items():
                ax.plot([len(labels)] * len(values), values, "o" if condition == "paper" else "x", alpha=0.6)
                labels.append(f"{condition}: {setting}")
        ax.axhline(part.paper.line, color="k", linewidth=0.8, linestyle="--")
        if part.paper.rule == "R3":
            ax.set_yscale("symlog", linthresh=1e-16)
        ax.set_xticks(range(len(labels)), labels, rotation=60, fontsize=6, ha="right")
        ax.set_title(f"({name}) {part.paper.verdict}", fontsize=9)
    figure.suptitle(f"{claim.id}: {claim.what}", fontsize=9)
    save_figure(figure, path)


def write(
    claim: Claim, answer: Answer, folder: Path, *, fast: bool, minutes: float, update: bool = False
) -> dict[str, Any]:
    """Write ``verdict.json``, ``values.csv`` and ``figure.png`` to a folder; ``update``: a real one also to docs."""
    verdict = verdict_of(claim, answer, fast=fast, minutes=minutes)
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(verdict, indent=1, ensure_ascii=False) + "\n"
    (folder / "verdict.json").write_text(text, encoding="utf-8")
    with (folder / "values.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("part", "conditions", "setting", "repetition", "value"))
        writer.writerows(_rows(answer))
    _draw(claim, answer, folder / "figure.png")
    if update and not fast:
        VERDICTS.mkdir(parents=True, exist_ok=True)
        (VERDICTS / f"{claim.id}.json").write_text(text, encoding="utf-8")
    return verdict


def read_verdict(name: str) -> dict[str, Any] | None:
    """The last real verdict on a claim; None if it was not run."""
    path = VERDICTS / f"{name}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
