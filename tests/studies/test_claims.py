"""The table of claims, its runs and the pages that are written from the verdicts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rkhs._core.errors import InputError
from studies.papers.claims import __main__ as door, pages, runs, verdicts
from studies.papers.claims.ledger import PAPERS, claims
from studies.papers.claims.rules import VERDICTS, cannot, direction, equal
from studies.papers.claims.verdicts import RUNS, Part, read_verdict, verdict_of

runs.load()


def test_every_claim_has_a_run_and_a_verdict() -> None:
    assert set(RUNS) == set(claims())
    for claim in claims().values():
        assert claim.paper in PAPERS
        assert claim.parts
        assert read_verdict(claim.id) is not None, f"{claim.how} was not run"


def test_the_pages_are_those_of_the_verdicts() -> None:
    for name, path in pages.PAGES.items():
        assert path.read_text(encoding="utf-8") == pages.written(name), (
            f"run python -m studies.papers.claims.pages: {path}"
        )


def test_verdicts_are_those_of_the_table() -> None:
    """A verdict that was reached for another claim, or by another rule, is run again."""
    for path in verdicts.VERDICTS.glob("*.json"):
        claim, found = claims()[path.stem], json.loads(path.read_text(encoding="utf-8"))
        assert found["verdict"] in VERDICTS
        assert found["rule"] == claim.rule, path.stem
        assert found["conditions"] == claim.conditions, path.stem
        assert {name: part["claim"] for name, part in found["parts"].items()} == claim.parts, path.stem


def test_a_page_that_differs_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.txt"
    text = pages.PAGES["dual"].read_text(encoding="utf-8").replace("cannot be tested", "holds", 1)
    page.write_text(text, encoding="utf-8")
    monkeypatch.setitem(pages.PAGES, "dual", page)
    assert pages.written("dual") != text
    page.write_text("no block", encoding="utf-8")
    with pytest.raises(ValueError, match="must hold one block"):
        pages.written("dual")


def test_a_run_writes_three_files_and_fast_ones_decide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="figures need the extra 'plots'")
    kept = tmp_path / "kept"
    monkeypatch.setattr(verdicts, "VERDICTS", kept)
    monkeypatch.setattr(pages, "main", lambda: [])
    shown = direction([1.0, 2.0], sign=1).chosen("test rows")
    monkeypatch.setitem(RUNS, "kae-b7", lambda fast: {"a": Part(equal([1e-12], tolerance=1e-8), "no", (shown,))})
    assert door.main(["kae-b7", "--fast", "--output", str(tmp_path)]) == 0
    folder = tmp_path / "fast" / "kae-b7"
    assert json.loads((folder / "verdict.json").read_text())["verdict"] == "fast: not a verdict"
    assert not kept.exists()
    assert door.main(["kae-b7", "--output", str(tmp_path)]) == 0
    assert "shown (test rows): holds: difference +1.5" in capsys.readouterr().out
    found = read_verdict("kae-b7")
    assert found is not None
    assert found["verdict"] == "holds"
    assert found["ours"] == "does not apply"
    with (tmp_path / "kae-b7" / "values.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["conditions"] for row in rows] == ["paper", "shown 1", "shown 1"]
    assert (tmp_path / "kae-b7" / "figure.png").stat().st_size > 1000


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(InputError, match="expected an id of the index"):
        door.main(["kae-none"])


def test_every_part_is_answered() -> None:
    with pytest.raises(KeyError, match="must answer"):
        verdict_of(claims()["kae-thm6"], {"two": Part(cannot("x"), "no")}, fast=False, minutes=0.0)


def test_the_index_lists_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == list(claims())


_NEEDS_NOTHING = [name for name in RUNS if not claims()[name].data]


@pytest.mark.slow
@pytest.mark.parametrize("name", _NEEDS_NOTHING)
def test_every_run_answers_its_parts_in_small(name: str) -> None:
    verdict_of(claims()[name], RUNS[name](True), fast=True, minutes=0.0)
