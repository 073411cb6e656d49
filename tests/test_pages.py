"""The Python code of every page runs as it stands, one page after the other, in an empty folder."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

import rkhs

ROOT = Path(__file__).resolve().parents[1]
OWN_TESTS = {"read_any_file.md"}  # tests/data/test_read_any_file.py writes the files that its lines read
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in OWN_TESTS)]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Python blocks of a page, and the line on which each begins."""
    text = page.read_text()
    return [(text[: found.start(1)].count("\n"), found.group(1)) for found in BLOCK.finditer(text)]


@pytest.mark.slow
@pytest.mark.usefixtures("all_candidates")  # as a reader runs them
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for line, code in blocks(page):
        exec(compile("\n" * line + code, str(page), "exec"), names)  # tracebacks name the line of the page


def test_the_service_of_the_page_refuses_odd_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is an answer of status 400, and none stops the process."""
    monkeypatch.chdir(tmp_path)
    rkhs.save(rkhs.KernelPCA(2).fit([[float(i), float(i % 3)] for i in range(9)]), "model.rkhs")
    found: dict[str, Any] = {}
    exec(next(code for _, code in blocks(ROOT / "docs/user/service.md") if code.startswith("# service.py")), found)
    big = "1" + "0" * 400
    for body in (
        "",
        "{a:1}",
        "null",
        "3",
        "[]",
        "[1, 2]",
        "[{}]",
        "[[1]]",
        "[[1, null]]",
        "[" * 10**5,
        f"[[{big}, 1]]",
    ):
        statuses: list[str] = []
        environ = {"wsgi.input": io.BytesIO(body.encode()), "CONTENT_LENGTH": str(len(body))}
        found["app"](environ, lambda status, headers, statuses=statuses: statuses.append(status))
        assert statuses == ["400 Bad Request"], body[:20]
