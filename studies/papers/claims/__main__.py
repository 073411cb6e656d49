"""Claims of the four papers: the index, one of them, or all.

Run: ./dev reproduce                      the index
     ./dev reproduce kae-thm1 [--fast]    one claim
     ./dev reproduce all [--fast] [--again]   all claims; a stopped run goes on
     ./dev reproduce ablation [ID] [--fast]   which condition of a claim makes our defaults differ; without ID, the list

Each run writes ``values.csv``, ``figure.png`` and ``verdict.json`` to build/reproduce/ID. A fast run exercises the same
code in small and decides nothing. With ``--update`` a real one is also kept in docs/results/verdicts, from which the
pages are written. Long runs keep their finished cells in build/reproduce and go on from them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from rkhs._core.errors import InputError, RkhsError
from studies.harness.scripts import run_script
from studies.papers.claims import ablations, pages, runs
from studies.papers.claims.ledger import Claim, claims
from studies.papers.claims.verdicts import OUTPUT, RUNS, read_verdict, write

__all__ = ["main"]


def _index() -> None:
    print(f"{'id':20s} {'minutes':>7s}  {'what':58s} {'under the paper’s conditions':30s} with our defaults (date)")
    for claim in claims().values():
        paper, ours, date = pages.state(claim)
        if paper == "not run yet":
            paper, ours = "not run yet", f"-  {claim.how}"
        print(f"{claim.id:20s} {claim.minutes:7g}  {claim.what:58s} {paper.split(' (')[0]:30s} {ours} {date}".rstrip())


def _run(claim: Claim, fast: bool, output: Path, *, update: bool = False) -> None:
    folder, small = output / ("fast" if fast else "") / claim.id, "too small to decide, here: " if fast else ""
    print(
        f"{claim.id}: {'small, ' if fast else f'about {claim.minutes:g} minutes of processor, '}begins",
        flush=True,
    )
    began = time.process_time()
    answer = RUNS[claim.id](fast)
    minutes = (time.process_time() - began) / 60.0
    verdict = write(claim, answer, folder, fast=fast, minutes=minutes, update=update)
    print(f"{claim.id} ({60 * minutes:.0f} s): {claim.what}: {verdict['verdict']}", flush=True)
    for name, part in verdict["parts"].items():
        ours = part["ours"] if isinstance(part["ours"], str) else f"{part['ours']['verdict']}: {part['ours']['found']}"
        print(f"  ({name}) {part['claim']}\n      paper: {small}{part['paper']['verdict']}: {part['paper']['found']}")
        for shown in part["shown"]:
            print(f"      shown ({shown['chosen_on']}): {small}{shown['verdict']}: {shown['found']}")
        print(f"      ours:  {small}{ours}", flush=True)
    print(f"  {folder}")


def _ablation(name: str | None, fast: bool, update: bool) -> None:
    """Run one ablation, or list them; ``update`` keeps a real one."""
    if name is None:
        print("\n".join(f"./dev reproduce ablation {key}" for key in ablations.ABLATIONS))
        return
    if name not in ablations.ABLATIONS:
        raise InputError(f"expected one of {', '.join(ablations.ABLATIONS)} after ablation; got {name!r}")
    began = time.process_time()
    tables = ablations.ABLATIONS[name](fast)
    minutes = (time.process_time() - began) / 60.0
    print(f"{name}: {minutes:.1f} minutes")
    if update and not fast:
        ablations.write_ablations(name, tables, minutes)
        pages.main()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the index, or run claims; returns 1 if one of several could not be run."""
    parser = argparse.ArgumentParser(
        prog="./dev reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("id", nargs="?", help="of the index, all, or ablation")
    parser.add_argument("of", nargs="?", help="with ablation: its id")
    parser.add_argument("--fast", action="store_true", help="small: not a verdict")
    parser.add_argument("--again", action="store_true", help="with all: also what has a verdict")
    parser.add_argument("--update", action="store_true", help="keep verdicts and pages in docs")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of csv, png and json")
    options = parser.parse_args(arguments)
    runs.load()
    if options.id is None:
        _index()
        return 0
    if options.id == "ablation":
        _ablation(options.of, options.fast, options.update)
        return 0
    if options.id != "all":
        claim = claims().get(options.id)
        if claim is None:
            raise InputError(f"expected an id of the index or the name of a script; got {options.id!r}")
        _run(claim, options.fast, options.output, update=options.update)
        if options.update:
            pages.main()
        return 0
    status = 0
    for claim in claims().values():
        if options.fast or options.again or read_verdict(claim.id) is None:
            try:
                _run(claim, options.fast, options.output, update=options.update)
            except (RkhsError, FileNotFoundError) as error:
                print(f"{claim.id}: could not be run: {error}")
                status = 1
    if options.update:
        pages.main()
    return status


if __name__ == "__main__":
    run_script(lambda: exit(main()))
