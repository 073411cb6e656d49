"""Resumable experiments: nothing is done twice, a broken last line costs one cell, the limit is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studies.harness.cells import run_cells
from studies.harness.finished import Finished

PLAN = [{"name": name, "split": split} for name in "ab" for split in range(3)]


def test_a_stopped_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, calls = tmp_path / "cells.jsonl", []

    def work(cell: dict[str, Any]) -> dict[str, Any]:
        calls.append(cell)
        return {"score": 10.0 * cell["split"]}

    first = run_cells(PLAN, work, path=path, minutes=0.0, seconds=30.0)
    assert [(row["name"], row["split"], row["score"]) for row in first] == [("a", 0, 0.0)]
    out = capsys.readouterr().out
    assert "6 cells, 0 of them done; the others take about 3 min" in out
    assert "5 cells are left: run the command again" in out
    assert "1 of 6 done, some 0 s left (name a, split 0)" in out
    assert "--cells" not in out  # a file is there
    path.write_text(path.read_text() + '{"key": "cut sho')
    rows = run_cells(PLAN, work, path=path)
    assert calls == PLAN
    assert [row["score"] for row in rows] == [0.0, 10.0, 20.0] * 2
    assert "6 cells, 1 of them done" in capsys.readouterr().out
    assert len(Finished(path).rows) == 6
    assert run_cells(PLAN[::-1], work, path=path) == rows[::-1]
    assert len(calls) == 6


def test_without_a_file_nothing_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(run_cells(PLAN, lambda cell: {})) == 6
    assert "--cells FILE keeps what is done" in capsys.readouterr().out
    assert Finished(None).rows == {} == Finished(tmp_path / "none").rows
