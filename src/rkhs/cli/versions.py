"""``rkhs versions``: what a bug report needs to say about the machine."""

from __future__ import annotations

import argparse
import platform
import re
from importlib import metadata

OPTIONS = ""


def run(args: argparse.Namespace) -> None:
    """Print one ``name version`` line for Python, rkhs and each of its dependencies; a missing extra is named."""
    del args
    print(f"python {platform.python_version()} on {platform.platform()}")
    print(f"rkhs {metadata.version('rkhs')}")
    for name, extra in _dependencies():
        try:
            print(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            print(f"{name} not installed" + (f" (pip install 'rkhs[{extra}]')" if extra else ""))


def _dependencies() -> list[tuple[str, str]]:
    """Read (package, extra) pairs from the installed metadata; tools of development are left out."""
    pairs: dict[str, str] = {}
    for line in metadata.requires("rkhs") or []:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == ['\"](\w+)['\"]", line)
        wanted = extra.group(1) if extra else ""
        if name and name.group() != "rkhs" and wanted not in ("test", "docs", "dev"):
            pairs.setdefault(name.group(), wanted)
    return list(pairs.items())
