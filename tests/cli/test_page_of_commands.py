"""The page of commands: each of its commands runs, and its table of flags is that of the parser."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from rkhs.cli.main import whole_parser
from rkhs.data import load_molecules

TEXT = (Path(__file__).resolve().parents[2] / "docs/user/command_line.md").read_text()
COMMANDS = [
    shlex.split(line)[1:]
    for block in re.findall(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL)
    for line in block.splitlines()
]


def write_files() -> None:
    """Small files of the kinds that the page names, with what their users want to find in them."""
    g = np.random.default_rng(0)
    size, rooms = g.uniform(20, 200, 50).round(), g.integers(1, 7, 50)
    city = np.where(size < 80, "Ulm", np.where(rooms < 4, "Bonn", "Kiel"))
    names = [f"h{i}" for i in range(50)]
    homes = pd.DataFrame({"id": names, "size": size, "rooms": rooms, "city": city, "price": 10 * size + 50 * rooms})
    homes.loc[3, "size"] = np.nan
    homes[:40].to_csv("homes.csv", index=False)
    homes[40:].to_csv("new_homes.csv", index=False)
    smiles = list(load_molecules().smiles[:20])
    Path("molecules.smi").write_text("\n".join(smiles))
    pd.DataFrame({"smiles": smiles, "solubility": [*map(len, smiles)]}).to_csv("molecules.csv", index=False)
    times = np.linspace(0, 1, 12)
    curves = np.sin(2 * np.pi * (times + g.uniform(size=(30, 1))))
    pd.DataFrame(curves, columns=times.round(2)).to_csv("curves.csv", index=False)


def test_every_command_of_the_page_runs(run: Callable[..., tuple[int, str, str]]) -> None:
    write_files()
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    exec(code, {})  # writes the Gram matrices
    for words in COMMANDS:
        status, err, out = run(*words)
        assert status == 0, (words, err)
        assert all(Path(words[i + 1]).exists() for i, word in enumerate(words) if word == "-o"), words
        if "curves" in words:
            assert "30 curves at 12 times" in out, out


def flags_by_command() -> tuple[list[str], dict[str, set[str]]]:
    """The commands, and those that have each flag."""
    (commands,) = (action for action in whole_parser()._actions if isinstance(action, argparse._SubParsersAction))
    found: dict[str, set[str]] = {}
    for command, parser in commands.choices.items():
        for action in parser._actions:
            if action.option_strings and "--help" not in action.option_strings:
                found.setdefault(action.option_strings[-1], set()).add(command)
    return list(commands.choices), found


def test_the_table_of_flags_is_that_of_the_parser() -> None:
    part = TEXT.split("## Which command has which flag")[1].split("\n## ")[0]
    rows = [line[1:-1].split("|") for line in part.splitlines() if line.startswith("|")]
    header, _, *rows = rows
    commands, expected = flags_by_command()
    assert [cell.strip(" `") for cell in header[1:]] == commands
    assert all(set(row[1:]) <= {"", "x"} for row in rows)
    stated = {
        flag: {command for command, cell in zip(commands, row[1:], strict=True) if cell}
        for row in rows
        for flag in re.findall(r"`(--[\w-]+)", row[0].partition(":")[0])
    }
    assert stated == expected


def commands_of(text: str) -> list[tuple[str, list[str]]]:
    """The command and the flags of each call of rkhs in code: a line of a block, perhaps continued, or a span."""
    fence = re.compile(r"^```([^\n]*)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
    blocks = [code for language, code in fence.findall(text) if language in ("", "sh", "console")]
    spans = re.findall(r"`([^`]+)`", fence.sub("", text))
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += [line.strip() for line in text.splitlines() if line.startswith("   rkhs ")]  # a block of a tutorial
    calls = [re.match(r"\s*rkhs ([a-z]+)\b(.*)", line) for line in [*lines, *(" ".join(s.split()) for s in spans)]]
    known, _ = flags_by_command()
    found = [(call[1], re.findall(r"(?<!\S)--[a-z][\w-]*", call[2])) for call in calls if call]
    return [(name, flags) for name, flags in found if name in known]


def test_every_command_of_every_page_has_flags_that_exist() -> None:
    root = Path(__file__).resolve().parents[2]
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "tutorials").glob("*.py")]
    _, known = flags_by_command()
    found = [(page, *call) for page in pages for call in commands_of(re.sub(r"(?m)^# ?", "", page.read_text()))]
    wrong = [
        f"{page.relative_to(root)}: rkhs {name} has no {flag}"
        for page, name, flags in found
        for flag in flags
        if flag != "--help" and name not in known.get(flag, set())
    ]
    assert not wrong, "\n".join(wrong)
    assert len(found) > 80
