"""What a capability costs: ``tools/capabilities.toml`` is complete, and sizes stay below their ceilings."""

from __future__ import annotations

import re
from pathlib import Path

from tools.sizes import PAGE, REPOSITORY, capabilities, modules_of, owners, page, size, sources

NUMBER = re.compile(r"(?<![\w.])[.]?\d[\d,]*(?:\.\d+)?")


def test_every_module_belongs_to_one_capability() -> None:
    found = {module: owners(module) for module in sources()}
    wrong = {module: names for module, names in found.items() if len(names) != 1}
    assert not wrong, f"each module needs one row of tools/capabilities.toml: {wrong}"


def test_every_row_has_modules_and_every_pattern_a_file() -> None:
    empty = [row.name for row in capabilities() if not modules_of(row)]
    package, tests = REPOSITORY / "src" / "rkhs", REPOSITORY / "tests"
    dead = [glob for row in capabilities() for glob in row.modules if not any(package.glob(glob))]
    dead += [glob for row in capabilities() for glob in row.tests if not any(tests.glob(glob))]
    assert not empty + dead, f"rows without modules, patterns without files: {empty + dead}"


def test_every_capability_stays_under_its_ceiling() -> None:
    over = {row.name: f"{size(row)}, ceiling {row.ceiling}" for row in capabilities() if size(row) > row.ceiling}
    assert not over, f"a change that needs more deletes as much: {over}"


def test_the_numbers_stand_on_a_page_with_their_script() -> None:
    wrong = []
    for row in capabilities():
        if not row.bench:
            continue
        text = (REPOSITORY / "docs" / row.page).read_text()
        known = set(NUMBER.findall(text))
        wrong += [f"{row.name}: {number}" for number in NUMBER.findall(row.number) if number not in known]
        task, name = row.bench.split()[1:3]
        if row.bench not in " ".join(text.split()) and name not in text:
            wrong.append(f"{row.name}: {row.page} does not name {row.bench}")
        if task == "bench" and not any(
            Path(REPOSITORY, "studies", "bench", f"{name}{end}").exists() for end in ("", ".py")
        ):
            wrong.append(f"{row.name}: there is no {row.bench}")
    assert not wrong, wrong


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "write it by python tools/sizes.py --write"
