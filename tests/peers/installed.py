"""Tests that another library ships with itself, run against ours.

Nothing of them is copied: the installed module is executed once more under another name while the library's own names
stand for ours, and its test functions are handed to pytest.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from contextlib import ExitStack
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest


class Difference(NamedTuple):
    """Why a test of a peer fails with ours, and how: another exception is a failure, and so is none."""

    reason: str
    raises: type[BaseException] | tuple[type[BaseException], ...]


def load_tests(name: str, replaced: Mapping[str, Any]) -> ModuleType:
    """Execute an installed test module with some of the names that it imports replaced.

    Parameters
    ----------
    name : str
        Of the module, such as "sklearn.tests.test_kernel_ridge". Without it the caller's module is skipped.
    replaced : dict
        What stands in place of what, by dotted path ("sklearn.kernel_ridge.KernelRidge"), while the module is executed.
    """
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.loader is None:
        pytest.skip(f"the installed scikit-learn ships without {name}", allow_module_level=True)
    module = importlib.util.module_from_spec(spec)
    with ExitStack() as stack:
        for path, ours in replaced.items():
            stack.enter_context(patch(path, ours))
        spec.loader.exec_module(module)
    return module


def functions_of(module: ModuleType) -> dict[str, Any]:
    """The test functions of a module by name."""
    return {name: value for name, value in vars(module).items() if name.startswith("test_") and callable(value)}
