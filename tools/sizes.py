"""What a capability costs, as a page: ``python tools/sizes.py [--write]``.

``tools/capabilities.toml`` has a row a capability. ``tests/test_sizes.py`` holds the ceilings, and that the page is up
to date.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
if str(REPOSITORY) not in sys.path:  # run as a script
    sys.path.insert(0, str(REPOSITORY))

from tools.measure_house import FUNCTIONS, ROOT, modules, statements  # noqa: E402

TABLE = REPOSITORY / "tools" / "capabilities.toml"
PAGE = REPOSITORY / "docs" / "results" / "sizes.md"
TEXT = """# What a capability costs

A row is a capability: the statements of its modules in `src`, docstrings left out, its test functions, and the number
that justifies its size, with the script that prints it. A dash means that no number is measured: such a capability is
the next to go. Statements stay below the ceiling, which may only fall. `python tools/sizes.py --write` writes this page
from `tools/capabilities.toml`; a test holds both.

| capability | statements | ceiling | tests | number | script |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Capability:
    """A row of the table; modules and tests are patterns of paths in ``src/rkhs`` and ``tests``."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    ceiling: int
    bench: str = ""  # the command that prints the number
    number: str = ""
    page: str = ""  # in docs, which shows the number


@cache
def capabilities() -> tuple[Capability, ...]:
    """The rows, in the order of the table."""
    rows = tomllib.loads(TABLE.read_text())["capability"]
    return tuple(Capability(**row | {key: tuple(row[key]) for key in ("modules", "tests")}) for row in rows)


@cache
def sources() -> dict[str, int]:
    """Statements of each module, by its path in the package."""
    return {path.relative_to(ROOT).as_posix(): statements(tree) for path, _, tree in modules().values()}


@cache
def owners(module: str) -> list[str]:
    """Capabilities whose pattern fits a module best; one, if the table is right."""
    fitting = [(len(glob), row.name) for row in capabilities() for glob in row.modules if fnmatch(module, glob)]
    return [name for length, name in fitting if length == max(fitting)[0]]


def modules_of(row: Capability) -> list[str]:
    """Paths of the modules of a capability."""
    return [module for module in sources() if owners(module) == [row.name]]


def size(row: Capability) -> int:
    """Statements of a capability."""
    return sum(sources()[module] for module in modules_of(row))


def count_tests(row: Capability) -> int:
    """Number of test functions in the files of a capability; cases of a parametrised test count once."""
    paths = {path for glob in row.tests for path in (REPOSITORY / "tests").glob(glob)}
    trees = (ast.parse(path.read_text()) for path in paths)
    found = (node for tree in trees for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    return sum(node.name.startswith("test_") for node in found)


def lines() -> Iterator[str]:
    """Rows of the page, and their sums."""
    total, tests = 0, 0
    for row in capabilities():
        number, bench = (f"[{row.number}](../{row.page})", f"`{row.bench}`") if row.bench else ("-", "-")
        counted = count_tests(row)
        yield f"| {row.name} | {size(row):,} | {row.ceiling:,} | {counted} | {number} | {bench} |"
        total, tests = total + size(row), tests + counted
    yield f"| all | {total:,} | {sum(row.ceiling for row in capabilities()):,} | {tests:,} | | |"


def page() -> str:
    """The whole page."""
    return TEXT + "\n".join(lines()) + "\n"


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/results/sizes.md")
    if parser.parse_args().write:
        PAGE.write_text(page())
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
