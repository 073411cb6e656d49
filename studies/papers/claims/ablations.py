"""Which difference did it: where the paper's conditions and our defaults disagree, one condition is changed at a time.

Run: ./dev reproduce ablation        the list
     ./dev reproduce ablation ID     one claim of it; --fast exercises the code

From the conditions of the paper one condition is made ours, and from our defaults one is made the paper's. Differences
are paired over draws of data. A condition did it if both steps are of the sign of the whole difference, by more than
two standard errors, and at least half of it; in part if one of the two is. This rule was fixed before the runs.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rkhs._core.errors import InputError
from studies.papers.claims.verdicts import ROOT

__all__ = ["ABLATIONS", "FILES", "ablate", "ablation_of", "did_it", "read_ablations", "write_ablations"]

FILES = ROOT / "docs" / "results" / "ablations"

Options = dict[str, Any]
Changes = Mapping[str, tuple[Options, Options]]
Measured = Mapping[str, Sequence[float] | np.ndarray]
"""Of each statistic one value per draw of data."""
Ablation = dict[str, Any]

ABLATIONS: dict[str, Callable[[bool], list[Ablation]]] = {}
"""Runs by id of the claim."""


def ablation_of(name: str) -> Callable[[Callable[[bool], list[Ablation]]], Callable[[bool], list[Ablation]]]:
    """Declare the run of the ablations of a claim."""

    def declare(run: Callable[[bool], list[Ablation]]) -> Callable[[bool], list[Ablation]]:
        ABLATIONS[name] = run
        return run

    return declare


def _step(values: np.ndarray, base: np.ndarray, overlap: float) -> dict[str, float]:
    """Mean of paired differences and its standard error."""
    d = values - base
    return {"change": float(d.mean()), "standard_error": float(d.std(ddof=1) * np.sqrt(1.0 / len(d) + overlap))}


def did_it(whole: Mapping[str, float], from_paper: Mapping[str, float], from_ours: Mapping[str, float]) -> str:
    """By the rule above: ``"yes"``, ``"in part"`` or ``"no"``; a step that is refused (empty) is not one.

    ``"no difference"`` where the whole is within two standard errors: nothing did it.
    """
    if abs(whole["change"]) <= 2.0 * whole["standard_error"]:
        return "no difference"
    sign = np.sign(whole["change"])
    steps = [(sign, from_paper), (-sign, from_ours)]
    good = [
        bool(step)
        and s * step["change"] > 2.0 * step["standard_error"]
        and 2.0 * s * step["change"] >= abs(whole["change"])
        for s, step in steps
    ]
    return "yes" if all(good) else "in part" if any(good) else "no"


def ablate(
    changes: Changes,
    measure: Callable[[Options], Measured],
    words: Mapping[str, str],
    *,
    overlap: float = 0.0,
) -> list[Ablation]:
    """One table of steps a statistic.

    Parameters
    ----------
    changes : mapping of str to (dict, dict)
        Each condition in words, with its options in the paper and in our defaults.
    measure : callable
        Takes the options of all conditions; answers each statistic, one value per draw of data.
    words : mapping of str to str
        The statistics in words, after the part of the claim that each belongs to.
    overlap : float
        ``n_test / n_train`` for splits of one set.
    """
    known: dict[frozenset[str], dict[str, np.ndarray]] = {}

    def at(paper: frozenset[str]) -> dict[str, np.ndarray]:
        if paper not in known:
            options = {k: v for name, sides in changes.items() for k, v in sides[name not in paper].items()}
            try:
                known[paper] = {name: np.asarray(values, dtype=float) for name, values in measure(options).items()}
            except InputError as error:  # two conditions that exclude each other
                print(f"  refused: {error}", flush=True)
                known[paper] = {}
            shown = {name: round(float(values.mean()), 5) for name, values in known[paper].items()}
            print(f"  as in the paper: {', '.join(sorted(paper)) or 'nothing'}: {shown}", flush=True)
        return known[paper]

    every = frozenset(changes)
    tables = []
    for part, said in words.items():
        paper, ours = at(every)[part], at(frozenset())[part]
        rows = []
        for name in changes:
            row: dict[str, Any] = {"condition": name}
            for key, base, there in (("from_paper", paper, every - {name}), ("from_ours", ours, frozenset({name}))):
                row[key] = _step(at(there)[part], base, overlap) if at(there) else {}
            rows.append(row)
        tables.append(
            {
                "part": part, "measured": said, "draws": len(paper), "paper": float(paper.mean()),
                "ours": float(ours.mean()), "whole": _step(ours, paper, overlap), "changes": rows,
            }
        )  # fmt: skip
    return tables


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def write_ablations(name: str, tables: list[Ablation], minutes: float) -> None:
    """Keep the steps of a claim among the pages."""
    FILES.mkdir(parents=True, exist_ok=True)
    kept = {"id": name, "date": datetime.date.today().isoformat(), "minutes": round(minutes, 2), "tables": tables}
    text = json.dumps(_rounded(kept), indent=1, ensure_ascii=False) + "\n"
    (FILES / f"{name}.json").write_text(text, encoding="utf-8")


def read_ablations(name: str) -> dict[str, Any] | None:
    """The steps of a claim; None if they were not run."""
    path = FILES / f"{name}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
