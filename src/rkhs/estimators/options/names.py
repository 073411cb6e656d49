"""What names of options stand for: the objects whose parameters can be searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from rkhs._core.errors import InputError, shown
from rkhs.constraints import as_constraint
from rkhs.engines import make_engine
from rkhs.kernels.registry import as_kernel
from rkhs.losses import as_loss
from rkhs.solvers.registry import named_solver

_STANDS_FOR: dict[str, Callable[[Any], object]] = {
    "constraint": as_constraint,
    "engine": make_engine,
    "kernel": as_kernel,
    "loss": as_loss,
    "solver": named_solver,
}


def check_nested(asked: Iterable[str], parameters: Mapping[str, Any]) -> None:
    """Refuse ``solver__tol`` where ``solver`` is a name: only objects have parameters of their own."""
    for key in asked:
        name, nested, _ = key.partition("__")
        if not nested or name not in parameters or hasattr(parameters[name], "get_params"):
            continue
        given, example = parameters[name], ""
        with suppress(InputError, KeyError):  # what is no name stands for no object
            example = f" (for {given!r}: {_STANDS_FOR[name](given)!r})"
        raise InputError(
            f"{key} is a parameter of an object; got {name}={shown(given)}: give {name} an object{example}"
        )
