"""The usefulness benchmark from end to end on one bundled set, and the statistics of its report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "usefulness"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "RKHS_DATA"}
    return subprocess.run(
        [sys.executable, str(FOLDER), "--reduced", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=120,
    )


def test_it_resumes_and_reports(tmp_path: Path) -> None:
    options = ["--sets", "wine", "--seeds", "1", "--output", str(tmp_path)]
    run(*options, "--methods", "PCA")
    # A line that a stop cut off is measured again.
    path = tmp_path / "reduced.jsonl"
    path.write_text(path.read_text() + '{"set": "wi')
    done = run(*options, "--methods", "PCA", "KernelAutoencoder")
    assert done.stderr.startswith("2 cells to measure, 2 measured")
    assert "## Development sets" in done.stdout
    assert "| PCA | 1 |" in done.stdout
    cells = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
    assert {(cell["method"], cell["level"]) for cell in cells} == {
        (m, level) for m in ("PCA", "KernelAutoencoder") for level in (2, 10)
    }
    assert all(0.0 < cell["fvu"] < 1.0 and cell["n"] == 134 and len(cell["rows"]) == 44 for cell in cells)


def test_critical_difference_and_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    monkeypatch.syspath_prepend(str(FOLDER))
    from report import compare, critical_difference  # type: ignore[import-not-found]

    # Demsar (2006), section 3.2.2: four classifiers, fourteen sets: 1.25; table 5: q = 3.164 for ten.
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(10, 30) == pytest.approx(3.164 * np.sqrt(110 / 180), rel=1e-3)
    rng = np.random.default_rng(0)
    rows = rng.uniform(1.0, 2.0, 50)
    assert compare({0: rows}, {0: rows + 0.1})[1] == -1
    assert compare({0: rows + 0.1}, {0: rows})[1] == 1
    assert compare({0: rows}, {0: rows[::-1].copy()}) == (pytest.approx(1.0), 0)
