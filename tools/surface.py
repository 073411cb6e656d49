"""The public surface: each name that a door lists, with its signature.

``python -m tools.surface`` compares it with ``tests/public_names.txt``; ``--write`` rewrites that file. A door is a
module that users import from (``DOORS``); what its ``__all__`` lists is public. Every other module is private.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.measure_house import DOORS as DOCUMENTED

STORED = Path(__file__).resolve().parents[1] / "tests" / "public_names.txt"
DOORS = ("rkhs", *(f"rkhs.{name}" for name in DOCUMENTED))
MARKS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def parameter(one: inspect.Parameter) -> str:
    """Write a parameter with its type and default, alike in every version of Python."""
    text = MARKS.get(one.kind, "") + one.name
    if one.annotation is not one.empty:
        text += f": {one.annotation if isinstance(one.annotation, str) else getattr(one.annotation, '__name__', 'Any')}"
    if one.default is not one.empty:
        text += " = " + re.sub(r" at 0x[0-9a-f]+", "", repr(one.default))
    return text


def signature(value: Any) -> str:
    """Write the parameters and the result of a callable; a star stands before those that need their name."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    words, starred = [], False
    for one in found.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            words.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        words.append(parameter(one))
    result = found.return_annotation
    return f"({', '.join(words)})" + (f" -> {result}" if isinstance(result, str) else "")


def members(cls: type) -> Iterator[str]:
    """Write the public methods and attributes that this library gives a class."""
    for name in sorted(dir(cls)):
        member = inspect.getattr_static(cls, name)
        inner = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        home = getattr(inner, "__module__", None) or type(inner).__module__ or ""
        if name.startswith("_") or not home.startswith("rkhs"):
            continue
        yield (
            f"    .{name}{signature(inner)}"
            if inner is not getattr(member, "fget", None) and callable(inner)
            else (f"    .{name}")
        )


def public() -> Iterator[tuple[str, str, Any]]:
    """Each door, the names that it lists, and what they name."""
    for door in DOORS:
        module = importlib.import_module(door)
        for name in sorted(module.__all__):
            yield door, name, getattr(module, name)


def lines() -> list[str]:
    """Write the surface, a line a name; a name that another door lists first only points there."""
    text: list[str] = []
    first: dict[int, str] = {}
    for door, name, value in public():
        full = f"{door}.{name}"
        if inspect.ismodule(value):
            text.append(f"module {full}")
        elif not (inspect.isclass(value) or callable(value)):
            text.append(full)
        elif id(value) in first:
            text.append(f"{full} = {first[id(value)]}")
        else:
            first[id(value)] = full
            text.append(f"{'class ' if inspect.isclass(value) else ''}{full}{signature(value)}")
            text += members(value) if inspect.isclass(value) else ()
    return text


def homes() -> set[str]:
    """Full names of the public classes and functions where they are defined."""
    values = [value for _, _, value in public() if inspect.isclass(value) or inspect.isroutine(value)]
    return {f"{value.__module__}.{value.__qualname__}" for value in values}


def changes() -> str:
    """The difference between the stored surface and that of this checkout; empty where there is none."""
    stored = STORED.read_text(encoding="utf-8").splitlines() if STORED.is_file() else []
    return "\n".join(difflib.unified_diff(stored, lines(), "stored", "this checkout", n=0, lineterm=""))


def main(arguments: list[str]) -> int:
    """Compare or rewrite the stored surface."""
    if arguments == ["--write"]:
        STORED.write_text("\n".join(lines()) + "\n", encoding="utf-8", newline="\n")
    difference = changes()
    print(difference or f"{len(lines())} lines, as in {STORED.name}")
    return 1 if difference else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
