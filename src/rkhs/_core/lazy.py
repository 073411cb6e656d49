"""Packages whose names are imported when they are first asked for, and tables of classes by name that import none."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def names_in_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose stub imports its names."""
    tree = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    where = {alias.name: str(node.module) for node in imports for alias in node.names}
    module = sys.modules[package]

    def find(name: str) -> Any:
        if name not in where:
            known = f"the public names are {', '.join(where)}"
            kernel = package != "rkhs.kernels" and "kernels" in where and hasattr(find("kernels"), name)
            instead = f"it is {package}.kernels.{name}" if kernel else known
            raise AttributeError(f"module {package!r} has no attribute {name!r}; {instead}")
        if where[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(where[name]), name)
        setattr(module, name, value)
        return value

    return find, lambda: sorted({*vars(module), *where}), sorted(where)


class ByName(Mapping[str, Any]):
    """Constructors by name: a class of a package, imported on first use, or a function."""

    def __init__(self, package: str, **names: str | Callable[[], Any]) -> None:
        self._package, self._names = package, names

    def __getitem__(self, name: str) -> Any:
        found = self._names[name]
        return getattr(import_module(self._package), found) if isinstance(found, str) else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
