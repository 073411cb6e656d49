"""Engines by name."""

from __future__ import annotations

from typing import Any

from rkhs._core.errors import InputError
from rkhs._core.lazy import ByName
from rkhs.engines.base import Engine

_NAMES = ByName("rkhs.engines", serial="Serial", threads="Threads", dask="Dask")


def make_engine(engine: Any = "serial") -> Engine:
    """Return the engine that a name means: the class of that name with its defaults.

    Parameters
    ----------
    engine : {"serial", "threads", "dask"} or Engine, default="serial"
        An engine is returned as it is.

    Returns
    -------
    Engine

    Raises
    ------
    InputError
        For another name.

    Examples
    --------
    >>> from rkhs.engines import make_engine
    >>> make_engine("threads")
    Threads()
    """
    if isinstance(engine, Engine):
        return engine
    if isinstance(engine, str) and engine in _NAMES:
        return _NAMES[engine]()
    raise InputError(
        "engine must be 'serial', 'threads', 'dask' or an object of rkhs.engines such as Threads(2) or "
        f"Dask('tcp://host:8786'); got {engine!r}"
    )
