"""The containers that users hold data in, and what shares memory with what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rkhs._core.config import Configurable


def _memory_map(array: np.ndarray, folder: Path) -> np.ndarray:
    number = len(list(folder.iterdir()))
    made = np.memmap(folder / f"{number}.bin", array.dtype, "w+", shape=array.shape)
    made[:] = array
    return made


def _frame(array: np.ndarray, folder: Path) -> Any:
    import pandas

    return (pandas.DataFrame if array.ndim == 2 else pandas.Series)(array, copy=False)


# Each takes an array that the caller will overwrite, and a folder.
LENT: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "rows in order": lambda array, folder: array,
    "float32": lambda array, folder: array,
    "columns in order": lambda array, folder: array,
    "every other row": lambda array, folder: array,
    "tensor": lambda array, folder: torch.from_numpy(array),
    "memory map": lambda array, folder: array,
    "frame": _frame,
}


class Lent:
    """Data given to a fit in one kind of container, which are overwritten afterwards."""

    def __init__(self, form: str, folder: Path) -> None:
        self.form, self.folder = form, folder
        self.buffers: list[np.ndarray] = []
        self.before: list[np.ndarray] = []

    def __call__(self, value: Any) -> Any:
        """A container of the same numbers; lists of arrays keep the arrays themselves."""
        if isinstance(value, (list, tuple)):
            return type(value)(self(part) for part in value)
        if isinstance(value, dict):
            return {key: self(part) for key, part in value.items()}
        if not isinstance(value, np.ndarray):
            return value
        made = self._laid_out(value)
        self.buffers.append(made)
        self.before.append(made.copy())
        return LENT[self.form](made, self.folder)

    def _laid_out(self, value: np.ndarray) -> np.ndarray:
        if self.form == "float32" and value.dtype == np.float64:
            return value.astype(np.float32)
        if self.form == "columns in order":
            return np.array(value, order="F")
        if self.form == "every other row":
            return np.repeat(value, 2, axis=0)[::2]
        return _memory_map(value, self.folder) if self.form == "memory map" else value.copy()

    def check_untouched(self) -> None:
        for now, then in zip(self.buffers, self.before, strict=True):
            np.testing.assert_array_equal(now, then)

    def overwrite(self) -> None:
        for buffer in self.buffers:
            if buffer.dtype.kind in "iu":
                buffer[:] = buffer[::-1].copy()
            else:
                buffer *= -3
                buffer += 7


def arrays_in(value: Any, seen: set[int] | None = None) -> Iterator[np.ndarray]:
    """Every array and tensor that an object holds, at any depth."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
        parts: Any = value.ravel().tolist() if value.dtype == object else ()
    elif isinstance(value, torch.Tensor):
        yield value.detach().numpy()
        parts = ()
    elif isinstance(value, (list, tuple)):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, torch.nn.Module):
        parts = list(value.parameters())
    else:
        parts = vars(value).values() if hasattr(value, "__dict__") and not isinstance(value, type) else ()
    for part in list(parts):
        yield from arrays_in(part, seen)


def state(model: Any) -> dict[str, Any]:
    """What a model has besides its parameters."""
    params = model.get_params(deep=False)
    return {name: value for name, value in vars(model).items() if name not in params}


def shared(holder: Any, buffers: list[np.ndarray]) -> bool:
    return any(np.may_share_memory(own, buffer) for own in arrays_in(holder) for buffer in buffers)


def scramble(value: Any) -> None:
    """Change in place whatever of an object can be changed."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        value *= -3
        value += 7
    elif isinstance(value, torch.nn.Module):
        with torch.no_grad():
            for weight in value.parameters():
                weight.mul_(-3.0).add_(7.0)
    elif isinstance(value, (list, tuple)):
        for part in value:
            scramble(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            scramble(part)
            if isinstance(part, float):
                value[key] = 3.0 * part
    elif isinstance(value, Configurable):
        for name, part in value.get_params(deep=False).items():
            scramble(part)
            if isinstance(part, float):
                setattr(value, name, 3.0 * part)
