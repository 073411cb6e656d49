"""Losses by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rkhs._core.errors import InputError
from rkhs._core.ownership import own
from rkhs.losses.base import Loss
from rkhs.losses.canonical import EpsilonInsensitive, Huber, Squared, SquaredEpsilonInsensitive

_NAMES: dict[str, Callable[[], Loss]] = {
    "squared": Squared,
    "squared_epsilon_insensitive": lambda: SquaredEpsilonInsensitive("auto"),
    "epsilon_insensitive": lambda: EpsilonInsensitive("auto"),
    "huber": lambda: Huber("auto"),
}

LOSS_NAMES = tuple(_NAMES)
"""Names that :func:`as_loss` takes; parameters are ``"auto"``, which estimators turn into numbers in fit."""


def as_loss(loss: Any, name: str = "loss") -> Loss:
    """Return the loss that a name or a loss object means.

    Parameters
    ----------
    loss : str or Loss
        ``"squared"``, ``"squared_epsilon_insensitive"``, ``"epsilon_insensitive"``, ``"huber"``, or an object, which is
        copied.
    name : str, default="loss"
        The argument, for the message.

    Returns
    -------
    Loss

    Raises
    ------
    InputError
        For any other value.

    References
    ----------
    Laforgue et al. (2020), theorem 6.

    Examples
    --------
    >>> from rkhs.losses.registry import as_loss
    >>> as_loss("huber")
    Huber(kappa='auto')
    """
    if isinstance(loss, Loss):
        return own(loss)
    if isinstance(loss, str) and loss in _NAMES:
        return _NAMES[loss]()
    known = ", ".join(repr(word) for word in _NAMES)
    raise InputError(f"{name} must be one of {known}, or a loss such as Huber(1.0); got {loss!r}")
