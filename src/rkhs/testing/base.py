"""Running a contract suite: every guarantee is one function, and the first broken one is named."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from torch import Tensor

from rkhs._core.config import Configurable


class BrokenPromise(AssertionError):
    """A class does not keep its contract; the message names the class, the guarantee and what was found.

    Examples
    --------
    >>> import torch
    >>> from rkhs.losses import Squared
    >>> from rkhs.testing import BrokenPromise, check_loss
    >>> class Wrong(Squared):
    ...     def gradient(self, R):
    ...         return 2.0 * R
    >>> try:
    ...     check_loss(Wrong())
    ... except BrokenPromise as error:
    ...     print(str(error)[:60])
    Wrong() breaks the guarantee 'gradient is that of the value'
    """


class _NotConcerned(Exception):
    """Raised by a guarantee that does not apply to the object: it is neither kept nor broken."""


def concerns(condition: bool) -> None:
    """Skip the guarantee unless the condition holds: it does not apply to this object."""
    if not condition:
        raise _NotConcerned


def keep(subject: object, guarantees: Mapping[Callable[..., None], Sequence[Any]]) -> tuple[str, ...]:
    """Check guarantees one after the other, and return the names of those that were kept."""
    kept = []
    for guarantee, arguments in guarantees.items():
        name = guarantee.__name__.strip("_").replace("_", " ")
        try:
            guarantee(*arguments)
        except _NotConcerned:
            continue
        except BrokenPromise as broken:
            raise BrokenPromise(f"{subject!r} breaks the guarantee '{name}': {broken}") from None
        except Exception as error:
            raise BrokenPromise(
                f"{subject!r} breaks the guarantee '{name}': it raised {type(error).__name__}: {error}"
            ) from error
        kept.append(name)
    return tuple(kept)


def require(condition: bool, message: str) -> None:
    """Raise :class:`BrokenPromise` with the message unless the condition holds."""
    if not condition:
        raise BrokenPromise(message)


def close(found: Tensor, expected: Tensor, tolerance: float, what: str) -> None:
    """Check that two tensors have one shape and agree to ``tolerance`` times the largest expected entry."""
    require(
        found.shape == expected.shape,
        f"{what} must have shape {tuple(expected.shape)}; got {tuple(found.shape)}",
    )
    if not expected.numel():
        return
    scale = max(float(expected.abs().max()), 1e-300)
    gap = float((found.to(expected) - expected).abs().max()) / scale
    require(gap <= tolerance, f"{what} must agree to {tolerance:.0e} of the largest entry; they differ by {gap:.1e}")


def taylor(value: Callable[[Tensor], float], X: Tensor, G: Tensor, seed: int, what: str) -> None:
    """Check a gradient ``G`` at ``X``: the Taylor remainder must fall with the square of the step."""
    require(G.shape == X.shape, f"{what} must have the shape {tuple(X.shape)} of its argument; got {tuple(G.shape)}")
    V = torch.from_numpy(np.random.default_rng(seed).normal(size=tuple(X.shape)))
    first, slope = value(X), float((G * V).sum())
    far, near = (abs(value(X + step * V) - first - step * slope) for step in (1e-3, 1e-4))
    rounding = 1e-12 * (abs(first) + abs(slope))
    falls = far < rounding or math.log10(far / max(near, 1e-300)) > 1.9
    require(falls, f"{what} is no gradient: the Taylor remainders of steps 1e-3 and 1e-4 are {far:.2e} and {near:.2e}")


def parameters_are_the_object(subject: Configurable, *_: Any) -> None:
    """The object is its constructor parameters: clone and comparison go by them, and it can be printed."""
    params = subject.get_params(deep=False)
    for name, value in params.items():
        require(
            getattr(subject, name) is value,
            f"the constructor must store {name} unchanged, as scikit-learn's clone demands",
        )
    rebuilt: Any = type(subject)(**params)
    require(rebuilt == subject, "an object built from get_params() must be equal to it")
    require(clone(subject) == subject, "clone() must give an equal object")
    require(bool(repr(subject)), "repr() must not be empty")
