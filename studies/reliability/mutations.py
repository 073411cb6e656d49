"""Put small mistakes into the code, one at a time, and see whether the quick tests around each notice: goal R19.

Run: python -m studies.reliability.mutations [--jobs 2] [--only WORDS] [--every 6]. No file is changed: each mistake
lives in a forked process, which compiles the one file with the mistake in it. A mistake is caught if a test fails with
it and passes without it. The list is in ``mistakes``; the last line counts.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from studies.reliability.mistakes import MISTAKES, Mistake

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "rkhs"
SECONDS = 300.0  # for the tests around one mistake; beyond that nobody says that they noticed
ALLOWED = 0.05  # share of the mistakes that may survive
# Loaded once, before the processes are forked; nothing of rkhs, which each compiles for itself.
HEAVY = ("numpy", "scipy.linalg", "scipy.optimize", "scipy.sparse.linalg", "torch", "safetensors.numpy")
HEAVY_SKLEARN = ("sklearn.ensemble", "sklearn.model_selection", "sklearn.neighbors", "sklearn.svm")


def changed(mistake: Mistake) -> str:
    """The file with the mistake in it."""
    text = (PACKAGE / mistake.file).read_text()
    if text.count(mistake.old) != 1:
        raise SystemExit(f"{mistake.file} must hold this once, not {text.count(mistake.old)} times: {mistake.old}")
    return text.replace(mistake.old, mistake.new)


def compile_instead(path: Path, text: str, seen: list[str]) -> None:
    """Let this process import ``text`` where it would import ``path``; note in ``seen`` that it did."""
    plain = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if Path(self.path).resolve() != path:
            return plain(self, fullname)
        seen.append(fullname)
        code: CodeType = compile(text, self.path, "exec", dont_inherit=True)
        return code

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class FirstFailure:
    """The first test that fails."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def run_tests(tests: list[str], mistake: Mistake | None) -> dict[str, Any]:
    """Run tests in this process, with the mistake if there is one."""
    seen: list[str] = []
    if mistake is not None:
        compile_instead(PACKAGE / mistake.file, changed(mistake), seen)
    first = FirstFailure()
    options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=120", "--no-header"]
    code = int(pytest.main([*tests, *options, "--rootdir", str(ROOT)], plugins=[first]))
    return {"code": code, "failed": first.name, "seen": bool(seen)}


@dataclass
class Child:
    """A forked process that runs tests and writes down what came of them."""

    answer: Path
    started: float = field(default_factory=time.monotonic)
    pid: int = 0

    def start(self, work: Callable[[], dict[str, Any]]) -> Child:
        self.pid = os.fork()
        if self.pid == 0:
            try:
                with open(os.devnull, "w", encoding="utf-8") as nowhere:
                    os.dup2(nowhere.fileno(), 1)
                self.answer.write_text(json.dumps(work()))
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        return self

    def ended(self) -> bool:
        if os.waitpid(self.pid, os.WNOHANG) != (0, 0):
            return True
        if time.monotonic() - self.started < SECONDS:
            return False
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return True

    def result(self) -> dict[str, Any]:
        return json.loads(self.answer.read_text()) if self.answer.exists() else {"code": -1, "failed": "", "seen": True}


def verdict(found: dict[str, Any]) -> str:
    """What a run with a mistake says by itself."""
    if not found["seen"]:
        return "not reached: no test imports the file"
    if found["failed"]:
        return ""
    return "survived" if found["code"] == 0 else f"no verdict: the tests ended with {found['code']}"


def judge(mistake: Mistake, answer: Path) -> Iterator[Child | str]:
    """Yield the processes to run, one after the other, and last what is said: empty where the mistake was caught."""
    tests = [str(ROOT / "tests" / name) for name in mistake.tests]
    child = Child(answer).start(lambda: run_tests(tests, mistake))
    yield child
    found = child.result()
    said = verdict(found)
    if not said:
        alone = Child(answer.with_suffix(".alone")).start(lambda: run_tests([str(ROOT / found["failed"])], None))
        yield alone
        if alone.result()["code"] != 0:
            said = f"no verdict: {found['failed']} fails without the mistake too"
    print(f"{'caught by ' + found['failed'] if not said else said.upper()}: {mistake.file}: {mistake.what}", flush=True)
    yield said


def campaign(mistakes: list[Mistake], jobs: int, folder: Path) -> int:
    """Judge all, so many at a time; how many were caught."""
    waiting = [judge(mistake, folder / str(number)) for number, mistake in enumerate(mistakes)]
    running: list[tuple[Iterator[Child | str], Child]] = []
    caught = 0
    while waiting or running:
        while waiting and len(running) < jobs:
            steps = waiting.pop(0)
            running.append((steps, _child(next(steps))))
        time.sleep(0.02)
        for steps, child in list(running):
            if child.ended():
                running.remove((steps, child))
                step = next(steps)
                if isinstance(step, Child):
                    running.append((steps, step))
                else:
                    caught += not step
    return caught


def _child(step: Child | str) -> Child:
    assert isinstance(step, Child)
    return step


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--only", default="", help="mistakes with these words in their file or description")
    parser.add_argument("--every", type=int, default=1, help="of the list only every so many (default: all)")
    args = parser.parse_args(argv)
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    for name in (*HEAVY, *HEAVY_SKLEARN):
        importlib.import_module(name)
    for name in ("pandas", "matplotlib.pyplot", "polars", "rdkit.Chem"):  # extras, where they are there
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    assert not any(name == "rkhs" or name.startswith("rkhs.") for name in sys.modules)
    chosen = [one for one in MISTAKES[:: args.every] if args.only in f"{one.file}: {one.what}"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        caught = campaign(chosen, args.jobs, Path(folder))
    print(f"R19: {caught} of {len(chosen)} caught")
    return 0 if len(chosen) - caught <= ALLOWED * len(chosen) else 1


if __name__ == "__main__":
    raise SystemExit(main())
