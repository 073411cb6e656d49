"""Parts of models that follow from the rest, so that model files need not hold them.

The coefficients of the last layer are ``n x r`` numbers, and so are the coordinates of features as targets: nearly all
of a file. Both follow from the items, the codes and a few numbers, by the steps of the fit: a factorisation and a
linear system, ``2/3 n^3 + 2 n^2 r`` multiplications. The same holds for items that are rebuilt as vectors and have more
columns than rows, by a singular value decomposition, and for zeros and ones, which take little memory.

Each model has one completion, ``from_file``. A file is read by it; and when a file is written, a part is left out if
the completion of the rest gives it to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from rkhs._core.arrays import tensor_like
from rkhs._core.errors import InputError
from rkhs._core.stored import Stored
from rkhs.kernels.base import Kernel
from rkhs.problems.decoder import optimal_decoder
from rkhs.problems.semiparametric import semiparametric_decoder

Model = TypeVar("Model", bound=Stored)


def leanest(model: Model, candidates: Iterable[Model], parts: Callable[[Model], tuple[Any, ...]]) -> Model:
    """The first candidate whose completion gives the parts of the model to the last bit; else the model."""
    for lean in candidates:
        try:
            found = parts(lean.from_file())
        except InputError:  # a system that has no solution
            continue
        if all(a is b or np.array_equal(a, b) for a, b in zip(found, parts(model), strict=True)):
            return lean
    return model


@contextmanager
def completing() -> Iterator[None]:
    """Raise an error of the library where the parts of a file made by hand give no others."""
    try:
        yield
    except RuntimeError as error:
        raise InputError(f"the items of a model file do not give what it lacks ({error}); fit again") from error


def best_layer(
    kernel: Kernel, codes: np.ndarray, U: Tensor, reg: float, weights: np.ndarray | None = None, *, free: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Coefficients (n, r) and free linear part of the squared loss at fixed codes, by the steps of the fit."""
    Z = tensor_like(np.ascontiguousarray(codes), U)
    solve = semiparametric_decoder if free else optimal_decoder
    found = solve(kernel._gram(Z), Z, U, reg, None, None if weights is None else tensor_like(weights, U))
    return found.coefficients, found.linear


def spares_memory(items: np.ndarray) -> bool:
    """Whether items as targets take less memory than coordinates and coefficients that follow from them."""
    return items.shape[1] > len(items) or bool(((items == 0) | (items == 1)).all())
