"""Lists of hostile calls with what must come of each, and the data and models that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError

RNG = np.random.default_rng(3)
N, D = 14, 3
X = RNG.standard_normal((N, D))
NEW = RNG.standard_normal((5, D))
K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 3.0)
K_NEW = np.exp(-((NEW[:, None] - X[None]) ** 2).sum(-1) / 3.0)


@dataclass(frozen=True)
class Case:
    """One hostile call, and what must come of it."""

    name: str
    act: Callable[[], Any]
    match: str = ""
    error: type[Exception] = InputError
    check: Callable[[Any], bool] | None = None


class HostileCalls:
    """The hostile calls of one kind, in the order in which they are written."""

    def __init__(self) -> None:
        self.to_refuse: list[Case] = []
        self.to_answer: list[Case] = []

    def refused(self, name: str, act: Callable[[], Any], match: str, error: type[Exception] = InputError) -> None:
        """The call raises ``error`` with a message that matches."""
        self.to_refuse.append(Case(name, act, match, error))

    def answered(self, name: str, act: Callable[[], Any], check: Callable[[Any], bool] | None = None) -> None:
        """The call returns finite numbers, which meet ``check``."""
        self.to_answer.append(Case(name, act, check=check))


def changed(value: Any, row: int = 2, column: int = 1, matrix: np.ndarray = X) -> np.ndarray:
    """A copy of the data with one entry replaced."""
    copy = matrix.copy()
    copy[row, column] = value
    return copy


def ae(**params: Any) -> KernelAutoencoder:
    return KernelAutoencoder(**{"max_iter": 100, **params})


def pca(**params: Any) -> KernelPCA:
    return KernelPCA(**params)


def rebuilt(model: Any, data: Any = X, new: Any = NEW, **fit: Any) -> list[Any]:
    """Everything that a fitted model says: codes, new codes, errors, and the way back."""
    model.fit(data, **fit)
    codes = model.transform(new)
    return [model.codes_, codes, model.reconstruction_error(new), model.inverse_transform(codes)]


MODELS: dict[str, Callable[..., Any]] = {"autoencoder": ae, "pca": pca}
