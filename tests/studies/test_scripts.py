"""Scripts on benchmark data end with one sentence and status 2 where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rkhs._core.errors import InputError
from studies.harness.scripts import data_folder, run_script

ROOT = Path(__file__).resolve().parents[2]


def test_the_folder_is_that_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RKHS_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    for value, message in (("", "to load yeast; it is not set"), (str(tmp_path / "no"), "which is no folder")):
        monkeypatch.setenv("RKHS_DATA", value)
        with pytest.raises(InputError, match=message):
            data_folder("yeast")


def test_a_script_ends_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("RKHS_DATA", raising=False)
    monkeypatch.setattr("sys.argv", ["studies/bench/yeast_grid.py"])
    with pytest.raises(SystemExit) as stop:
        run_script(data_folder)
    assert stop.value.code == 2
    assert capsys.readouterr().err == (
        "yeast_grid: RKHS_DATA must name the folder of benchmark data; it is not set. "
        "./dev data FOLDER makes and checks it; "
        "docs/results/papers.md says which files it holds and where they come from\n"
    )
    with pytest.raises(ZeroDivisionError):  # a mistake of ours is shown whole
        run_script(lambda: 1 / 0)


def test_every_script_that_reads_benchmark_data_is_run_that_way() -> None:
    folders = ("studies", "tools")
    for path in (each for folder in folders for each in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        needs = "RKHS_DATA=... " in text or "data_folder(" in text
        if path.name in ("scripts.py", "robust.py") or "usefulness" in path.parts:  # these do without
            continue
        assert 'environ["RKHS_DATA"]' not in text, path.name
        assert not needs or '__name__ == "__main__"' not in text or "run_script(main)" in text, path.name
