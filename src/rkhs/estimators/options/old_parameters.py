"""Parameters that model files hold and estimators no longer have: the objects that took their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rkhs.augment import GaussianNoise
from rkhs.constraints import Ball, SoftSphere, Sphere
from rkhs.engines import Dask, Threads
from rkhs.solvers import Adam, Alternating, DoublyStochastic, GradientDescent, MiniBatch, Solver

__all__ = ["renewed"]


def renewed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of an estimator as its constructor takes them now."""
    given = dict(parameters)
    if given.keys() & {"address", "n_jobs"}:
        _engine(given)
    if given.keys() & {"softness", "renormalize"}:
        _constraint(given)
    if given.keys() & {"noise_std", "n_copies"}:
        _noise(given)
    if given.keys() & {"learning_rate", "batch_size", "coefficient_share"}:
        _solver(given)
    return given


def _engine(given: dict[str, Any]) -> None:
    """``engine``, ``address`` and ``n_jobs``."""
    address, n_jobs, engine = given.pop("address", None), given.pop("n_jobs", None), given.get("engine")
    if engine == "dask":
        given["engine"] = Dask(address, n_workers=n_jobs)
    elif n_jobs is not None and engine in (None, "threads"):
        given["engine"] = Threads(n_jobs)


def _constraint(given: dict[str, Any]) -> None:
    """``constraint``, ``softness`` and ``renormalize``."""
    softness, renormalize, name = given.pop("softness", 1.0), given.pop("renormalize", False), given["constraint"]
    if name == "soft" and softness != 1.0:
        given["constraint"] = SoftSphere(softness)
    elif name in ("sphere", "ball") and renormalize:
        given["constraint"] = Sphere(True) if name == "sphere" else Ball(True)


def _noise(given: dict[str, Any]) -> None:
    """``noise_std`` and ``n_copies``."""
    std, copies = given.pop("noise_std", 0.0), given.pop("n_copies", 1)
    given["noise"] = None if not std and copies == 1 else GaussianNoise(std, relative=False, copies=copies)


def _solver(given: dict[str, Any]) -> None:
    """``solver``, ``learning_rate``, ``batch_size`` and ``coefficient_share``."""
    # Older files hold some of them only.
    rate, size = given.pop("learning_rate", None), given.pop("batch_size", 1024)
    share, name = given.pop("coefficient_share", 0.25), given["solver"]
    step = {} if rate is None else {"learning_rate": rate}
    made: dict[str, Solver] = {
        "adam": Adam(**step),
        "gradient_descent": GradientDescent(**step),
        "alternating": Alternating(**step),
        "minibatch": MiniBatch(size, **step),
        "doubly_stochastic": DoublyStochastic(size, coefficient_share=share, **step),
    }
    if name in made and (rate, size, share) != (None, 1024, 0.25):
        given["solver"] = made[name]
