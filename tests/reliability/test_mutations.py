"""The list of mistakes; ``python -m studies.reliability.mutations`` runs it, and ``test_house`` keeps it in step."""

from __future__ import annotations

import subprocess
import sys

import pytest

from studies.reliability.mistakes import MISTAKES
from studies.reliability.mutations import PACKAGE, ROOT, verdict

# Ways to use the library, and what it guarantees to others: no mathematics and no files of users.
LEFT_OUT = {"testing"}


def test_all_folders_have_mistakes() -> None:
    assert len({mistake.what for mistake in MISTAKES}) == len(MISTAKES) == 66
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders - {mistake.file.split("/")[0] for mistake in MISTAKES} == LEFT_OUT
    missing = [name for mistake in MISTAKES for name in mistake.tests if not (ROOT / "tests" / name).exists()]
    assert not missing


def test_only_a_failing_test_is_a_catch() -> None:
    assert verdict({"code": 1, "failed": "test_a", "seen": True}) == ""
    assert verdict({"code": 0, "failed": "", "seen": True}) == "survived"
    assert "not reached" in verdict({"code": 1, "failed": "test_a", "seen": False})
    assert "no verdict" in verdict({"code": 4, "failed": "", "seen": True})


@pytest.mark.slow
def test_a_mistake_is_caught() -> None:
    command = [sys.executable, "-m", "studies.reliability.mutations", "--only", "divided by the entropy"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines()[-1] == "R19: 1 of 1 caught"
