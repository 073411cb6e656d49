"""Tensors on the CPU unless their device is named, whatever ``torch.set_default_device`` says."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def on_named_devices() -> AbstractContextManager[Any]:
    """Let tensors whose device is not named lie on the CPU; costs nothing where that is the default."""
    default = getattr(sys.modules.get("torch"), "get_default_device", None)  # another thread may be importing torch
    if default is None or default().type == "cpu":
        return nullcontext()
    return sys.modules["torch"].device("cpu")


def naming_devices(function: Callable[P, R]) -> Callable[P, R]:
    """Call a public function :func:`on_named_devices`."""

    @functools.wraps(function)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        with on_named_devices():
            return function(*args, **kwargs)

    return named
