"""What a reader, an installer and a shell meet: the repository's text, its packaging, and how fast it starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import rkhs

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def run(code: str, *arguments: str, path: Path = ROOT / "src") -> subprocess.CompletedProcess[str]:
    """Run Python code in a fresh interpreter that sees this checkout's sources."""
    env = {**os.environ, "PYTHONPATH": str(path), "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT, env=env, check=False
    )


# ---------------------------------------------------------------- repository text


def repository_files() -> list[Path]:
    """Every file of the repository that is text; without git, every file outside hidden and built folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if listed.returncode == 0:
        paths = [ROOT / line for line in listed.stdout.splitlines()]
    else:
        paths = [p for p in ROOT.rglob("*") if not {".venv", "build", "dist"} & set(p.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8192]]


def test_no_path_of_a_machine_stands_in_the_repository() -> None:
    machine = re.compile(
        r"(?<![\w.:/-])/(?:work|home|root|Users|opt|mnt)/\w|/tmp/(?:venv|wt)|file:/{2,3}\w|[A-Z]:\\Users"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in repository_files()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if machine.search(line)
    ]
    assert not found, found


def test_every_document_named_in_the_text_is_in_the_repository() -> None:
    files = repository_files()
    known = {path.name for path in files}
    named = re.compile(r"(?<![\w/*{<.-])(?:[\w-]+/)*([\w-]+\.md)\b")
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        if path.suffix in {".md", ".py", ".toml", ".rst", ".txt", ".sh", ""}
        for name in named.findall(path.read_text(errors="replace"))
        if name not in known
    ]
    assert not found, f"documents that a reader of the repository cannot open: {found}"


# ---------------------------------------------------------------- packaging


def requirement_names(lines: list[str]) -> set[str]:
    return {re.split(r"[\s<>=!~\[;#]", line)[0] for line in lines} - {"", "rkhs"}


def test_every_dependency_has_one_tested_pin() -> None:
    project = PROJECT["project"]
    wanted = requirement_names(project["dependencies"])
    for lines in project["optional-dependencies"].values():
        wanted |= requirement_names(lines)
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", pin) for pin in pins)
    names = [pin.split("==")[0] for pin in pins]
    assert len(names) == len(set(names))
    assert not wanted - set(names), "named in pyproject.toml, not pinned in constraints.txt"


def test_upper_bounds_are_the_one_that_is_needed() -> None:
    project = PROJECT["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    assert [line for line in lines if re.search(r"<|==|~=", line)] == ["multimethod<2"]


def test_version_is_said_once_and_again() -> None:
    assert rkhs.__version__ == PROJECT["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text().splitlines()
    assert f'version: "{rkhs.__version__}"' in citation
    assert f"license: {PROJECT['project']['license']}" in citation


def test_import_contracts_hold() -> None:
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    done = run("from importlinter.cli import lint_imports; raise SystemExit(lint_imports(no_cache=True))")
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- start-up


def test_importing_rkhs_imports_nothing_heavy() -> None:
    done = run("import sys, rkhs; dir(rkhs); print(*{name.split('.')[0] for name in sys.modules})")
    assert done.returncode == 0, done.stderr
    assert not {"torch", "sklearn", "scipy", "numpy", "safetensors", "matplotlib"} & set(done.stdout.split())


HELP = (
    "import sys; from rkhs.cli.main import main\ntry: main(['--help'])\nfinally: print(*sys.modules, file=sys.stderr)"
)


def test_help_imports_nothing_heavy() -> None:
    done = run(HELP)
    assert done.returncode == 0, done.stderr
    assert "usage: rkhs" in done.stdout
    assert not {"torch", "sklearn", "scipy", "numpy"} & set(done.stderr.split())


def test_help_starts_in_under_300_milliseconds() -> None:
    def fastest(code: str) -> float:
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            run(code)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    assert fastest(HELP) - fastest("") < 0.3


def test_the_page_on_citing_says_what_the_citation_file_says() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    page = " ".join((ROOT / "docs/more/cite.md").read_text(encoding="utf-8").replace("{RKHSs}", "RKHSs").split())
    titles = re.findall(r'^ *(?:- type: .*\n *)?title: "(.*)"$', citation, re.MULTILINE)
    assert len(titles) == 5
    for title in titles:
        assert f"title = {{{title}}}" in page
    assert f"version = {{{rkhs.__version__}}}" in page
