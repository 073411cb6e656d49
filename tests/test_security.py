"""What SECURITY.md says of limits, flags and tests is what the code has."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import rkhs
from rkhs import persistence
from rkhs._core import model_container
from rkhs.cli.main import whole_parser
from rkhs.reports import findings

ROOT = Path(__file__).resolve().parents[1]
PAGES = {name: (ROOT / name).read_text() for name in ("SECURITY.md", "docs/user/model_files.md")}


@pytest.mark.parametrize("name", PAGES)
def test_limits_are_those_of_the_code(name: str) -> None:
    text = " ".join(PAGES[name].split())
    small, times = persistence._SMALL / 2**20, persistence._TIMES
    assert (
        f"{model_container.LARGEST / 2**30:g} GiB, and at most {small:g} MiB more than {times} times the file" in text
    )
    assert len(re.findall(r"MiB more than", text)) == 1
    if "at most 5,000 items" in text:
        assert findings._MAX_DIAGNOSED == 5_000


@pytest.mark.parametrize("name", PAGES)
def test_flags_and_arguments_exist(name: str) -> None:
    text = PAGES[name].replace("./dev bench", "")
    (commands,) = whole_parser()._subparsers._group_actions
    parsers = (whole_parser(), *commands.choices.values())
    flags = {flag for parser in parsers for flag in parser._option_string_actions}
    bench = {"--others", "--rows", "--storage"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", text))
    assert named - flags - bench == set()
    loads = inspect.signature(rkhs.load).parameters
    assert {word for word in ("max_bytes", "expected_sha256") if f"`{word}=" in text} <= loads.keys()


def test_every_promise_names_a_test_that_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGES["SECURITY.md"]))
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
