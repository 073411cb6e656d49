"""Arguments of a benchmark, written as their defaults, and the line that says where its numbers were measured."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from typing import Any

import numpy as np
import torch

import rkhs

__all__ = ["bench_arguments", "environment"]


def environment() -> str:
    """Versions, cores and threads that numbers depend on, in one line."""
    versions = f"rkhs {rkhs.__version__}, Python {platform.python_version()}"
    libraries = f"NumPy {np.__version__}, PyTorch {torch.__version__}"
    return f"{versions}, {libraries}; {os.cpu_count()} cores, {torch.get_num_threads()} threads"


def bench_arguments(description: str | None, **options: Any) -> argparse.Namespace:
    """Read the flags of a benchmark, and print its environment on standard error.

    Parameters
    ----------
    description : str or None
        The text of ``--help``: ``__doc__`` of the script.
    **options : bool, int, float, str, list or dict
        Default of each flag: ``rows=400`` is ``--rows N``, ``view=False`` the switch ``--view``, a list takes several
        values of the type of its first one; a dict holds the arguments of ``add_argument``.

    Returns
    -------
    argparse.Namespace
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in options.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **_settings(default))
    arguments = parser.parse_args()
    sys.stderr.write(f"{environment()}\n")
    return arguments


def _settings(default: Any) -> dict[str, Any]:
    """Arguments of ``add_argument`` for a flag of this default."""
    if isinstance(default, dict):
        return default
    if isinstance(default, bool):
        return {"action": "store_true"}
    if isinstance(default, list):
        return {"nargs": "*", "default": default, "type": type(default[0]) if default else str}
    return {"default": default, "type": type(default)}
