"""A command of the command line, run in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rkhs.cli.main import main


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in a folder for this test alone; its status, and what it prints on standard error and output."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        status = main([*words])
        out = capsys.readouterr()
        return status, out.err, out.out

    return run
