"""Tables in the pages, written from the files of ``docs/results/verdicts`` and ``docs/results/ablations``.

Run: python -m studies.papers.claims.pages
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studies.papers.claims.ablations import did_it, read_ablations
from studies.papers.claims.ledger import PAPERS, WANTS, Claim, claims, claims_of
from studies.papers.claims.rules import CANNOT, UNDECIDED, VERDICTS
from studies.papers.claims.verdicts import ROOT, read_verdict

__all__ = ["PAGES", "main", "state", "written"]

PAGES = {
    "kae": ROOT / "docs" / "papers" / "kernel_autoencoders.md",
    "drkm": ROOT / "docs" / "papers" / "constr_drkm.md",
    "krl": ROOT / "docs" / "papers" / "representation_learning.md",
    "dual": ROOT / "docs" / "papers" / "duality_robust_losses.md",
    "all": ROOT / "docs" / "results" / "papers.md",
}
_BLOCK = "<!-- {1} of {0}: written by studies/papers/claims/pages.py -->\n\n{2}\n<!-- end of {1} -->"
_PATTERN = r"<!-- {1} of {0}:[^\n]*\n.*?<!-- end of {1} -->"


def state(claim: Claim) -> tuple[str, str, str]:
    """Verdict under the conditions of the paper, with our defaults, and the date."""
    found = read_verdict(claim.id)
    if found is None:
        return "not run yet", "not run yet", ""
    limit = f" (stand-in: {claim.stand_in})" if claim.stand_in and found["verdict"] != "cannot be tested" else ""
    return found["verdict"] + limit + (f" ({claim.note})" if claim.note else ""), found["ours"], found["date"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]) + "\n"


def _minutes(minutes: float) -> str:
    return f"{minutes:g} min" if minutes else "-"


def _index() -> str:
    rows = []
    for claim in claims().values():
        paper, ours, date = state(claim)
        rows.append(
            (claim.id, f"{claim.what} ({claim.where})", f"`{claim.how}`, {_minutes(claim.minutes)}", paper, ours, date)
        )
    heads = ("id", "what", "command, minutes on one core", "under the paper's conditions", "with our defaults", "date")
    return _counts() + "\n" + _table(heads, rows)


def _counts() -> str:
    """How many claims have which verdict, and what would decide the open ones."""
    found = {name: (read_verdict(name) or {"verdict": "not run yet"})["verdict"] for name in claims()}
    counts = Counter(found.values())
    words = dict(
        zip(VERDICTS, ("hold", "hold in part", "do not hold", "are undecided", "cannot be tested"), strict=True)
    )
    by = ", ".join(f"{counts[verdict]} {said}" for verdict, said in words.items())
    open_ = [claims()[name] for name, verdict in found.items() if verdict in (UNDECIDED, CANNOT)]
    wanted = Counter(claim.wants for claim in open_)
    told = ", ".join(f"{said} ({wanted[key]})" for key, said in WANTS.items())
    stand_ins = sum(bool(claim.stand_in) for claim in open_)
    last = f"Of the {len(open_)} last {stand_ins} are on a stand-in; what would decide them: {told}."
    return f"Of {len(found)} claims {by}. {last}\n"


def _told(row: dict[str, Any] | str) -> str:
    if isinstance(row, str):
        return row
    certain = " by construction, not counted" if row.get("limit") == "by construction" else ""
    words = f"**{row['verdict']}**{certain}: {row['found']}"
    chosen = "" if row["chosen_on"] == "nothing is chosen" else f" (parameters chosen on {row['chosen_on']})"
    return words + chosen


def _of_paper(paper: str) -> str:
    rows, waiting, conditions = [], [], []
    for claim in claims_of(paper):
        found = read_verdict(claim.id)
        if found is None:
            waiting.append(f"* `{claim.id}` ({claim.what}): not run yet; `{claim.how}`, {_minutes(claim.minutes)}.")
            continue
        printed = f" Printed: {claim.printed}." if claim.printed else ""
        conditions.append(f"* `{claim.id}`: {claim.conditions}.{printed}" if claim.conditions != "-" else "")
        limit = f" Stand-in: {claim.stand_in}." if claim.stand_in else ""
        for number, (name, part) in enumerate(found["parts"].items()):
            said = f"{part['claim']} ({claim.where})"
            head = f"`{claim.id}` ({name})" + (limit if number == 0 else "")
            shown = "".join(f"; shown beside it: {_told(one)}" for one in part["shown"])
            rows.append((head, said, _told(part["paper"]) + shown, _told(part["ours"])))
    text = _table(("claim", "what the paper claims", "under its conditions", "with our defaults"), rows)
    text += "\nWhat was run, and what is printed:\n\n" + "\n".join(filter(None, conditions)) + "\n"
    return text + ("\n" + "\n".join(waiting) + "\n" if waiting else "")


def _with_error(step: dict[str, float]) -> str:
    return f"{step['change']:+.3g} ± {step['standard_error']:.2g}" if step else "refused"


def _clear(step: dict[str, float]) -> bool:
    return not step or abs(step["change"]) > 2.0 * step["standard_error"]


def _ablations(paper: str) -> str:
    """One table a paper; conditions whose two steps are within two standard errors share a row."""
    rows = []
    for found in filter(None, map(read_ablations, [claim.id for claim in claims_of(paper)])):
        for table in found["tables"]:
            changes = [row for row in table["changes"] if _clear(row["from_paper"]) or _clear(row["from_ours"])]
            cells = []
            for row in changes:
                answer = did_it(table["whole"], row["from_paper"], row["from_ours"])
                steps = (_with_error(row["from_paper"]), _with_error(row["from_ours"]))
                cells.append((row["condition"], *steps, f"**{answer}**" if answer == "yes" else answer))
            rest = [row["condition"] for row in table["changes"] if row not in changes]
            cells += [("; ".join(rest), "within noise", "within noise", "no")] if rest else []
            whole = f"{table['paper']:.3g}; {table['ours']:.3g} ({_with_error(table['whole'])})"
            head = f"`{found['id']}` ({table['part']}): {table['measured']}; {table['draws']} draws"
            rows += [(*((head, whole) if number == 0 else ("", "")), *row) for number, row in enumerate(cells)]
    heads = (
        "claim, what is measured", "paper; ours (difference)", "condition (paper; ours)",
        "made ours, from the paper's", "made the paper's, from ours", "did it",
    )  # fmt: skip
    return _table(heads, rows)


def written(name: str) -> str:
    """The text of a page with its tables as the files say them."""
    blocks = {"verdicts": _index()} if name == "all" else {"verdicts": _of_paper(name), "ablations": _ablations(name)}
    text = PAGES[name].read_text(encoding="utf-8")
    for kind, body in blocks.items():
        block = _BLOCK.format(name, kind, body)
        text, count = re.subn(_PATTERN.format(name, kind), block.replace("\\", r"\\"), text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{PAGES[name]} must hold one block of {kind} of {name}; it holds {count}")
    return text


def main() -> list[Path]:
    """Write all pages; returns those that changed."""
    assert set(PAGES) == {*PAPERS, "all"}
    changed = []
    for name, path in PAGES.items():
        text = written(name)
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    print("\n".join(str(path) for path in main()) or "all pages are up to date")
