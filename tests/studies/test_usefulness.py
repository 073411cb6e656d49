"""The usefulness benchmark from end to end on one bundled set, and the statistics of its report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from studies.bench.usefulness.__main__ import main
from studies.bench.usefulness.earlier import against, in_standard_errors
from studies.bench.usefulness.report import compare, critical_difference, duels


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run the benchmark in this process, on the sets of scikit-learn alone."""
    monkeypatch.delenv("RKHS_DATA", raising=False)

    def call(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["usefulness", "--reduced", *arguments])
        main()

    return call


@pytest.mark.slow
def test_it_resumes_and_reports(run: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--sets", "wine", "--seeds", "1", "--output", str(tmp_path)]
    run(*options, "--methods", "PCA")
    # A line that a stop cut off is measured again.
    path = tmp_path / "reduced.jsonl"
    path.write_text(path.read_text() + '{"set": "wi')
    capsys.readouterr()
    run(*options, "--methods", "PCA", "KernelAutoencoder")
    done = capsys.readouterr()
    assert done.err.startswith("2 cells to measure, 2 measured")
    assert "## Development sets" in done.out
    assert "| PCA | 1 |" in done.out
    cells = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    assert {(cell["method"], cell["level"]) for cell in cells} == {
        (m, level) for m in ("PCA", "KernelAutoencoder") for level in (2, 10)
    }
    assert all(0.0 < cell["fvu"] < 1.0 and cell["n"] == 134 and len(cell["rows"]) == 44 for cell in cells)


def test_critical_difference_and_verdicts() -> None:
    # Demsar (2006), section 3.2.2: four classifiers, fourteen sets: 1.25; table 5: q = 3.164 for ten.
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(10, 30) == pytest.approx(3.164 * np.sqrt(110 / 180), rel=1e-3)
    rng = np.random.default_rng(0)
    rows = rng.uniform(1.0, 2.0, 50)
    assert compare({0: rows}, {0: rows + 0.1})[1] == -1
    assert compare({0: rows + 0.1}, {0: rows})[1] == 1
    assert compare({0: rows}, {0: rows[::-1].copy()}) == (pytest.approx(1.0), 0)


def test_times_are_compared_on_the_same_rows() -> None:
    def cell(method: str, seed: int, seconds: float) -> dict[str, object]:
        return {"set": "a", "seed": seed, "method": method, "rows": [1.0, 2.0], "fit_s": seconds}

    ours = [cell("KernelAutoencoder", seed, seconds) for seed, seconds in enumerate((1.0, 3.0, 9.0))]
    network = [cell("network", seed, seconds) for seed, seconds in ((1, 10.0), (2, 90.0), (3, 1.0))]
    # Nothing is compared where no split is of both, as in a run that was stopped.
    assert len(duels([ours[0], network[0]]).splitlines()) == 2
    # Splits 1 and 2 are those of both: 0.3 and 0.1.
    assert duels([*ours, *network]).splitlines()[-1].endswith("| none | 0.2 (0.15 to 0.25) |")


def test_an_earlier_run_is_compared_in_pairs() -> None:
    rng = np.random.default_rng(0)

    def cell(name: str, seed: int, more: float, smooth: float) -> dict[str, object]:
        rows = [float(value) for value in rng.uniform(1.0, 2.0, 40)]
        fixed = {"set": name, "level": 10, "seed": seed, "method": "KernelAutoencoder", "development": False}
        return {**fixed, "rows": [row + more for row in rows], "fit_s": 1.0, "heads": {"smooth": smooth}}

    before = [cell(name, seed, 0.0, 0.5) for name in ("a", "b") for seed in (0, 1, 2)]
    now = []
    for old in before:  # set b is worse by 0.1 and a little noise, set a is what it was
        more = 0.0 if old["set"] == "a" else 0.1
        rows = [row + more * (1.0 + 0.1 * (i % 2)) for i, row in enumerate(old["rows"])]  # type: ignore[arg-type, attr-defined]
        now.append({**old, "rows": rows, "fit_s": 2.0, "heads": {"smooth": 0.5 - more * (1.0 + 0.2 * old["seed"])}})  # type: ignore[operator]
    said = against(now, before, "KernelAutoencoder")  # type: ignore[arg-type]
    (errors,) = [line for line in said.splitlines() if line.startswith("| 10 |")]
    assert errors.split(" | ")[1] == "2"
    assert errors.split(" | ")[3] == "2.00"
    assert "1 (0.3): b (+" in errors
    assert "1 (0.0): b (+" in errors
    assert "a (" not in errors
    (smooth,) = [line for line in said.splitlines() if line.startswith("| smooth |")]
    assert smooth.startswith("| smooth | 2 | -0.0600 | 1 (0.3): b 10 (+10.4)")
    two = [cell for cell in now if cell["seed"] != 2]
    assert "| smooth | 2 | -0.0550 | too few splits |" in against(two, before, "KernelAutoencoder")  # type: ignore[arg-type]
    assert against(now, [], "KernelAutoencoder").startswith("the two runs share no task")
    assert in_standard_errors(np.zeros(3)) == 0.0
    assert in_standard_errors(np.full(3, -1.0)) == -np.inf
    assert in_standard_errors(np.array([1.0, 3.0])) == pytest.approx(2.0)
