"""Parameters that model files hold and estimators no longer have: the objects that took their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rkhs.engines import Dask, Threads

__all__ = ["renewed"]


def renewed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an estimator as its constructor takes them now.

    Parameters
    ----------
    parameters : mapping
        By the names of the version that wrote the file.

    Returns
    -------
    dict
    """
    given = dict(parameters)
    if "n_jobs" in given:
        _engine(given)
    return given


def _engine(given: dict[str, Any]) -> None:
    """``engine``, ``address`` and ``n_jobs``."""
    address, n_jobs, engine = given.pop("address", None), given.pop("n_jobs"), given["engine"]
    if engine == "dask":
        given["engine"] = Dask(address, n_workers=n_jobs)
    elif n_jobs is not None and engine in (None, "threads"):
        given["engine"] = Threads(n_jobs)
