"""The table of goals: every number has its script, and outputs are read as they are meant."""

from __future__ import annotations

from studies.reliability import __main__ as runner
from studies.reliability.goals import SCRIPTS

GOALS = {goal.number: goal for script in SCRIPTS for goal in script.goals}


def test_every_goal_has_a_script_and_every_file_of_a_script_exists() -> None:
    assert {f"R{k}" for k in range(1, 22) if k != 7} <= set(GOALS)  # R7 was of checkpoints
    named = {
        word for script in SCRIPTS for word in (*script.reduced, *script.full) if word.startswith(("tests/", "bench"))
    }
    assert not [name for name in named if not (runner.ROOT / name).exists()]
    modules = {w for s in SCRIPTS for w in (*s.reduced, *s.full) if w.startswith("studies.reliability.")}
    places = [runner.ROOT / name.replace(".", "/") for name in modules]
    assert not [place for place in places if not (place.is_dir() or place.with_suffix(".py").exists())]


def test_outputs_are_read_and_failures_are_seen() -> None:
    peers = (
        "R1: 20 estimators and settings pass every check, {} fail, 0 skipped; "
        "R2: 3 common checks pass, 0 fail, 0 skipped"
    )
    assert GOALS["R1"].read(peers.format(0), False) == (
        "20 estimators and settings pass every check, 0 fail, 0 skipped",
        True,
    )
    assert not GOALS["R1"].read(peers.format(1), True)[1]
    assert GOALS["R2"].read(peers.format(1), False)[1]
    assert GOALS["R20"].read(peers.format(0), True) == ("no figure was printed", False)
    assert GOALS["R4"].read("...\n150 passed, 1 skipped in 3 s", True) == ("tests: 150 passed, 1 skipped", True)
    assert not GOALS["R4"].read("...\n149 passed in 3 s", True)[1]
    assert not GOALS["R4"].read("...\n1 failed, 150 passed in 3 s", False)[1]
    fuzz = "rkhs-fuzz: 2500 calls, 0 raw errors, {} silent NaN, 0 disagreements"
    assert GOALS["R16"].read(fuzz.format(0), True) == (fuzz.format(0)[11:], True)
    assert not GOALS["R16"].read(fuzz.format(2), True)[1]
    assert GOALS["R13"].read("R13: import 0.21 s above torch, rkhs --help 0.11 s above Python", True)[1]
    assert not GOALS["R13"].read("R13: import 0.21 s above torch, rkhs --help 0.31 s above Python", True)[1]
    guard = (
        "asks that neither finished nor were refused: {} (must 0, stretch 0)\nlargest peak / announced: 0.9 (must 1.2)"
    )
    assert GOALS["R11"].read(guard.format(0), True) == ("largest peak / announced: 0.9", True)
    assert not GOALS["R11"].read(guard.format(1), True)[1]


def test_lines_of_the_page_are_replaced_one_by_one() -> None:
    page = f"# Title\n\n{runner.START}\n\n{runner.END}\n\nrest\n"
    rows = [runner.Row(GOALS[n], f"measured {n}", 1.0, True, "reduced") for n in ("R10", "R2")]
    first = runner.written(page, rows)
    again = runner.written(first, [runner.Row(GOALS["R2"], "other | words", 2.0, False, "full")])
    lines = [line for line in again.splitlines() if line.startswith("| R")]
    assert [line.split(" | ")[0] for line in lines] == ["| R2", "| R10"]
    assert "other / words | 2 s | full" in lines[0]
    assert "**not ok**" in lines[0]
    assert "measured R10 | 1 s | reduced" in lines[1]
    assert again.startswith("# Title")
    assert again.endswith("rest\n")


def test_the_page_has_the_place_for_the_table() -> None:
    text = runner.PAGE.read_text()
    assert text.index(runner.START) < text.index(runner.END)
