"""Engines by name."""

from __future__ import annotations

from typing import Any

from rkhs._core.errors import InputError
from rkhs.engines.base import Engine, Serial, Threads
from rkhs.engines.distributed import Dask

__all__ = ["make_engine"]


def make_engine(engine: Any = "serial", *, address: Any = None, n_jobs: int | None = None) -> Engine:
    """Return the engine that a name means.

    Parameters
    ----------
    engine : {"serial", "threads", "dask"} or Engine, default="serial"
        An engine is returned as it is.
    address : str, distributed.Client or None, default=None
        For ``"dask"``: the running cluster; None starts one.
    n_jobs : int or None, default=None
        Threads for ``"threads"``, worker processes for ``"dask"`` without an address; None: one a core.

    Returns
    -------
    Engine

    Raises
    ------
    InputError
        For another name, and an address with an engine that has none.

    Examples
    --------
    >>> from rkhs.engines import make_engine
    >>> make_engine("threads", n_jobs=2)
    Threads(n_jobs=2)
    """
    if engine != "dask" and address is not None:
        raise InputError(f"address is for engine='dask'; got engine={engine!r} and address={address!r}")
    if isinstance(engine, Engine):
        return engine
    if engine == "serial":
        return Serial()
    if engine == "threads":
        return Threads(-1 if n_jobs is None else n_jobs)
    if engine == "dask":
        return Dask(address, n_workers=n_jobs if n_jobs is None or n_jobs > 0 else None)
    raise InputError(f"engine must be 'serial', 'threads', 'dask' or an Engine; got {engine!r}")
