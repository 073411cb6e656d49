"""The table of claims, its runs and the pages that are written from the verdicts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from rkhs._core.errors import InputError
from studies.papers.claims import __main__ as door, ablations, pages, runs, verdicts
from studies.papers.claims.ablations import ABLATIONS, ablate, did_it, read_ablations
from studies.papers.claims.ledger import PAPERS, WANTS, claims
from studies.papers.claims.rules import VERDICTS, cannot, direction, equal
from studies.papers.claims.runs import molecules, protocols
from studies.papers.claims.verdicts import RUNS, Part, read_verdict, verdict_of

runs.load()


def test_every_claim_has_a_run_and_a_verdict() -> None:
    assert set(RUNS) == set(claims())
    for claim in claims().values():
        assert claim.paper in PAPERS
        assert claim.parts
        assert read_verdict(claim.id) is not None, f"{claim.how} was not run"


def test_an_open_claim_says_what_would_decide_it() -> None:
    for claim in claims().values():
        found = read_verdict(claim.id)
        assert found is not None
        assert claim.wants in ("", *WANTS)
        assert claim.wants or found["verdict"] not in ("undecided", "cannot be tested"), claim.id


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


def test_the_page_of_results_has_the_same_counts() -> None:
    index = (pages.ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
    assert pages._counts().split(". ")[0] in index


def test_a_page_that_differs_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.txt"
    text = pages.PAGES["dual"].read_text(encoding="utf-8").replace("cannot be tested", "holds", 1)
    page.write_text(text, encoding="utf-8")
    monkeypatch.setitem(pages.PAGES, "dual", page)
    assert pages.written("dual") != text
    page.write_text("no block", encoding="utf-8")
    with pytest.raises(ValueError, match="must hold one block"):
        pages.written("dual")


def test_what_is_so_by_construction_is_named_and_does_not_count() -> None:
    sure = Part(equal([0.0], tolerance=0.0).limited("by construction"), "by construction")
    found = verdict_of(
        claims()["krl-rem1"], {"preimage": sure, "losses": Part(cannot("x"), "no")}, fast=False, minutes=0
    )
    assert found["verdict"] == "cannot be tested"
    assert pages._told(found["parts"]["preimage"]["paper"]).startswith("**holds** by construction, not counted:")
    kept = read_verdict("drkm-table3")
    assert kept is not None
    assert kept["parts"]["c"]["paper"]["limit"] == "by construction"


def test_minutes_of_the_index_are_those_that_were_needed() -> None:
    shared = {"drkm-fig7-8", "drkm-abstract"}  # their runs are those of figure 6
    for claim in claims().values():
        found = read_verdict(claim.id)
        assert found is not None
        if claim.id not in shared and max(found["minutes"], claim.minutes) > 0.5:
            assert 0.4 < claim.minutes / found["minutes"] < 2.5, f"{claim.id}: {found['minutes']} minutes"


# ---------------------------------------------------------------- ablations


def _made_up(options: dict[str, float]) -> dict[str, np.ndarray]:
    """A draw of noise that all settings share, one condition of size 1, and one that excludes the others' absence."""
    if options["third"] and not options["first"]:
        raise InputError("expected first with third")
    noise = np.random.default_rng(0).normal(size=6)
    jitter = np.random.default_rng(int(10 * options["second"])).normal(size=6)
    return {"x": noise + options["first"] + 0.01 * jitter}


def test_an_ablation_finds_the_condition_that_did_it() -> None:
    changes: ablations.Changes = {name: ({name: 1.0}, {name: 0.0}) for name in ("first", "second", "third")}
    (table,) = ablate(changes, _made_up, {"x": "number"})
    assert table["whole"]["change"] == pytest.approx(-1.0, abs=0.05)
    rows = {row["condition"]: row for row in table["changes"]}
    assert rows["first"]["from_paper"] == {}  # refused
    assert rows["first"]["from_ours"]["change"] == pytest.approx(1.0, abs=0.05)
    answers = {name: did_it(table["whole"], row["from_paper"], row["from_ours"]) for name, row in rows.items()}
    assert answers == {"first": "in part", "second": "no", "third": "no"}


def test_a_condition_did_it_if_both_steps_say_so() -> None:
    whole = {"change": 1.0, "standard_error": 0.1}

    def step(change: float, error: float = 0.1) -> dict[str, float]:
        return {"change": change, "standard_error": error}

    assert did_it(whole, step(0.9), step(-0.6)) == "yes"
    assert did_it(whole, step(0.9), step(0.6)) == "in part"  # the second leads away from the paper
    assert did_it(whole, step(0.4), step(-0.6)) == "in part"  # less than half
    assert did_it(whole, step(0.9, 0.5), step(-0.6, 0.4)) == "no"  # noise
    assert did_it(whole, {}, {}) == "no"
    assert did_it({"change": 0.1, "standard_error": 0.1}, step(0.9), step(-0.6)) == "no difference"


def test_every_ablation_was_run_and_stands_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {claims()[name].paper for name in ABLATIONS} == set(PAPERS)
    assert {path.stem for path in ablations.FILES.glob("*.json")} == set(ABLATIONS)
    for name in ABLATIONS:
        found = read_ablations(name)
        assert found is not None
        assert {table["part"] for table in found["tables"]} <= set(claims()[name].parts)
        assert f"| `{name}` (" in pages.PAGES[claims()[name].paper].read_text(encoding="utf-8").split("## Which")[1]
    monkeypatch.setattr(pages, "read_ablations", lambda name: None)
    assert pages.written("dual") != pages.PAGES["dual"].read_text(encoding="utf-8")


def test_an_ablation_is_kept_and_a_fast_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ablations, "FILES", tmp_path / "kept")
    monkeypatch.setattr(pages, "main", lambda: [])
    monkeypatch.setitem(ABLATIONS, "kae-b7", lambda fast: [{"part": "a", "paper": np.pi}])
    assert door.main(["ablation", "kae-b7", "--fast"]) == 0
    assert door.main(["ablation", "kae-b7"]) == 0
    assert read_ablations("kae-b7") is None
    assert door.main(["ablation", "kae-b7", "--update"]) == 0
    found = read_ablations("kae-b7")
    assert found is not None
    assert found["tables"] == [{"part": "a", "paper": 3.14159}]
    assert door.main(["ablation"]) == 0
    assert "./dev reproduce ablation kae-b7" in capsys.readouterr().out
    with pytest.raises(InputError, match="after ablation"):
        door.main(["ablation", "kae-none"])


# ---------------------------------------------------------------- runs


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
    assert not kept.exists(), "a real run writes to docs if asked alone"
    capsys.readouterr()
    assert door.main(["kae-b7", "--update", "--output", str(tmp_path)]) == 0
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


@pytest.mark.usefixtures("all_candidates")
@pytest.mark.slow
@pytest.mark.parametrize("name", _NEEDS_NOTHING)
def test_every_run_answers_its_parts_in_small(name: str) -> None:
    verdict_of(claims()[name], RUNS[name](True), fast=True, minutes=0.0)


def test_a_parameter_is_chosen_on_the_other_splits() -> None:
    errors = np.array([[0.0, 5.0], [3.0, 1.0], [3.0, 2.0]])  # the first split alone would choose the first parameter
    assert protocols._elsewhere(errors).tolist() == [5.0, 3.0, 3.0]


@pytest.mark.parametrize(
    ("at_half", "at_most", "verdict"),
    [
        ((-0.1, 0.0), (0.2, 0.1), "does not hold"),  # where rows have no weight, the error is higher
        ((-0.1, 0.0), (-0.1, 0.1), "holds"),
        ((-0.1, 0.0), (0.0, 0.1), "undecided"),
    ],
)
def test_gain_and_sparsity_are_asked_of_one_epsilon(
    at_half: tuple[float, float], at_most: tuple[float, float], verdict: str
) -> None:
    noise = np.array([-0.02, 0.01, 0.01])
    found = [{"rows": {e: (gain + x, share) for e, (gain, share) in ((0.5, at_half), (0.8, at_most))}} for x in noise]
    assert molecules._together_at(found, "made up")[0] == verdict
