"""The pages that explain how to add a class: their code runs, and their classes keep the promises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).resolve().parents[2] / "docs" / "user"


@pytest.mark.parametrize("page", ["add_a_kernel", "add_a_loss", "add_a_solver"])
def test_the_page_runs_and_checks_its_class(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (PAGES / f"{page}.md").read_text()
    assert f"rkhs.testing.check_{page.removeprefix('add_a_')}" in text
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(block, names)
