"""The same numbers in every container that a user may bring, and containers that must be refused.

Each container gives an object and the plain C-ordered float64 array that it means.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse
import torch

from studies.reliability.fuzz.case import Case

Held = tuple[Any, np.ndarray]


def _cast(dtype: str) -> Callable[[Case, np.ndarray], Held]:
    def make(case: Case, X: np.ndarray) -> Held:
        with np.errstate(all="ignore"):
            cast = X.astype(dtype)
        return cast, cast.astype(np.float64)

    return make


def _whole(dtype: str) -> Callable[[Case, np.ndarray], Held]:
    def make(case: Case, X: np.ndarray) -> Held:
        low = 0 if dtype.startswith("u") else -100
        with np.errstate(all="ignore"):
            whole = np.clip(np.nan_to_num(np.round(X)), low, 100).astype(dtype)
        return whole, whole.astype(np.float64)

    return make


def _bool(case: Case, X: np.ndarray) -> Held:
    return X > 0, (X > 0).astype(np.float64)


def _stepped(case: Case, X: np.ndarray) -> Held:
    room = np.full(tuple(3 * s for s in X.shape), 7.0)
    view = room[tuple(slice(1, None, 3) for _ in X.shape)]
    view[...] = X
    return view, X


def _negative(case: Case, X: np.ndarray) -> Held:
    flips = tuple(slice(None, None, -1) if case.chance(0.7) else slice(None) for _ in X.shape)
    return X[flips].copy()[flips], X


def _first_of_reversed(case: Case, X: np.ndarray) -> Held:
    """A length-one axis that has kept its negative stride."""
    longer = np.concatenate([X, X])[::-1]
    return longer[:1], np.ascontiguousarray(longer[:1])


def _zero_stride(case: Case, X: np.ndarray) -> Held:
    row = X[:1] if len(X) else np.zeros((1, *X.shape[1:]))
    view = np.broadcast_to(row, X.shape)
    return view, np.ascontiguousarray(view)


def _fortran(case: Case, X: np.ndarray) -> Held:
    return np.asfortranarray(X), X


def _unaligned(case: Case, X: np.ndarray) -> Held:
    raw = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(X.shape)
    view[...] = X
    return view, X


def _read_only(case: Case, X: np.ndarray) -> Held:
    fixed = X.copy()
    fixed.flags.writeable = False
    return fixed, X


def _mapped(case: Case, X: np.ndarray) -> Held:
    path = Path(case.folder) / f"mapped{len(list(Path(case.folder).iterdir()))}.npy"  # others stay as they are
    np.save(path, X)
    return np.load(path, mmap_mode=case.one_of(["r", "c", "r+"])), X


def _objects(case: Case, X: np.ndarray) -> Held:
    return X.astype(object), X


def _unmasked(case: Case, X: np.ndarray) -> Held:
    return np.ma.MaskedArray(X.copy(), mask=np.zeros(X.shape, bool) if case.chance(0.5) else False), X


def _lists(case: Case, X: np.ndarray) -> Held:
    return X.tolist(), X


def _tuples(case: Case, X: np.ndarray) -> Held:
    return (tuple(map(tuple, X.tolist())) if X.ndim == 2 else tuple(X.tolist())), X


def _rows(case: Case, X: np.ndarray) -> Held:
    return list(X.copy()), X


def _tensor(dtype: torch.dtype) -> Callable[[Case, np.ndarray], Held]:
    def make(case: Case, X: np.ndarray) -> Held:
        tensor = torch.from_numpy(X.copy()).to(dtype)
        return tensor, tensor.to(torch.float64).numpy().copy()

    return make


def _grad(case: Case, X: np.ndarray) -> Held:
    return torch.from_numpy(X.copy()).requires_grad_(), X


def _strided_tensor(case: Case, X: np.ndarray) -> Held:
    wide = torch.zeros(*(2 * s for s in X.shape), dtype=torch.float64)
    view = wide[tuple(slice(None, None, 2) for _ in X.shape)]
    view.copy_(torch.from_numpy(X.copy()))
    return view, X


def _expanded_tensor(case: Case, X: np.ndarray) -> Held:
    row = torch.from_numpy(X[:1].copy() if len(X) else np.zeros((1, *X.shape[1:])))
    view = row.expand(*X.shape)
    return view, view.numpy().copy()


def _index(case: Case, n: int) -> Any:
    kind = case.one_of(["range", "shuffled", "text", "repeated", "dates"])
    if kind == "shuffled":
        return case.rng.permutation(n)
    if kind == "text":
        return [f"row {i}" for i in case.rng.permutation(n)]
    if kind == "repeated":
        return case.rng.integers(0, max(1, n // 2), n)
    if kind == "dates":
        return pd.date_range("2020-01-01", periods=n)
    return range(n)


def _names(case: Case, d: int) -> list[Any]:
    return [f"c{j}" for j in range(d)]


def _pandas(case: Case, X: np.ndarray) -> Held:
    if X.ndim == 1:
        return pd.Series(X.copy(), index=_index(case, len(X)), name=case.one_of([None, "y", 0])), X
    return pd.DataFrame(X.copy(), index=_index(case, len(X)), columns=_names(case, X.shape[1])), X


def _pandas_mixed(case: Case, X: np.ndarray) -> Held:
    """Columns of several types."""
    if X.ndim == 1:
        return pd.Series(X.copy(), index=_index(case, len(X)), dtype="Float64"), X
    columns, meant = {}, np.empty_like(X)
    for j in range(X.shape[1]):
        dtype = case.one_of(["float64", "float32", "int64", "Float64", "bool"])
        with np.errstate(all="ignore"):
            whole = np.clip(np.nan_to_num(np.round(X[:, j])), -100, 100)
            kept = whole if dtype == "int64" else X[:, j] > 0 if dtype == "bool" else X[:, j]
            columns[f"c{j}"] = pd.array(kept, dtype=dtype)
            meant[:, j] = np.asarray(kept, dtype=np.float32 if dtype == "float32" else np.float64)
    return pd.DataFrame(columns, index=_index(case, len(X))), meant


def _polars(case: Case, X: np.ndarray) -> Held:
    if X.ndim == 1:
        return pl.Series("y", X.copy()), X
    return pl.DataFrame(X.copy(), schema=[f"c{j}" for j in range(X.shape[1])], orient="row"), X


RECORDING = "tensor with gradient"  # kernels, features and estimators record none, and refuse it
CONTAINERS: dict[str, Callable[[Case, np.ndarray], Held]] = {
    "float32": _cast("f4"),
    "big-endian float32": _cast(">f4"),
    "big-endian float64": _cast(">f8"),
    "float16": _cast("f2"),
    "longdouble": _cast("g"),
    "int8": _whole("i1"),
    "int64": _whole("i8"),
    "big-endian int32": _whole(">i4"),
    "uint8": _whole("u1"),
    "bool": _bool,
    "object": _objects,
    "Fortran order": _fortran,
    "steps": _stepped,
    "negative strides": _negative,
    "first of reversed": _first_of_reversed,
    "zero strides": _zero_stride,
    "unaligned": _unaligned,
    "read-only": _read_only,
    "memory map": _mapped,
    "unmasked": _unmasked,
    "lists": _lists,
    "tuples": _tuples,
    "list of rows": _rows,
    "tensor": _tensor(torch.float64),
    "float32 tensor": _tensor(torch.float32),
    "float16 tensor": _tensor(torch.float16),
    "bfloat16 tensor": _tensor(torch.bfloat16),
    RECORDING: _grad,
    "strided tensor": _strided_tensor,
    "expanded tensor": _expanded_tensor,
    "pandas": _pandas,
    "pandas of types": _pandas_mixed,
    "polars": _polars,
}
SINGLE = {"float32", "big-endian float32", "float32 tensor", "bfloat16 tensor"}  # answers come back in this dtype

FRAMES = {"pandas", "pandas of types", "polars"}


def held(case: Case, X: np.ndarray, name: str) -> Held:
    """``X`` in a container, and the plain array that it means."""
    return CONTAINERS[name](case, X)


def choose(case: Case, count: int, besides: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """Some containers, without repetition; none that is refused."""
    names = [name for name in CONTAINERS if name not in besides | {RECORDING}]
    return [names[i] for i in case.rng.permutation(len(names))[:count]]


def refused(case: Case, X: np.ndarray) -> tuple[str, Any]:
    """Something that is not a matrix of finite real numbers."""
    n = len(X)
    with np.errstate(all="ignore"):
        bad: dict[str, Callable[[], Any]] = {
            "complex": lambda: X + 1j,
            "complex tensor": lambda: torch.from_numpy(X + 1j),
            "texts": lambda: np.full(X.shape, "a"),
            "bytes": lambda: np.full(X.shape, b"a"),
            "dates": lambda: np.full(X.shape, np.datetime64("2020-01-01")),
            "durations": lambda: np.full(X.shape, np.timedelta64(3, "s")),
            "records": lambda: np.zeros(n, dtype=[("a", "f8"), ("b", "f8")]),
            "masked": lambda: np.ma.MaskedArray(X, mask=np.eye(*X.shape, dtype=bool) if X.ndim == 2 else X[0] == X),
            "ragged": lambda: [[1.0]] + [[1.0, 2.0]] * max(n - 1, 1),
            "not a number": lambda: np.where(np.arange(X.size).reshape(X.shape) == 0, np.nan, X),
            "infinite": lambda: np.where(np.arange(X.size).reshape(X.shape) == 0, np.inf, X),
            "infinite float32": lambda: np.where(np.arange(X.size).reshape(X.shape) == 0, np.inf, X).astype("f4"),
            "tensor with NaN": lambda: torch.full(X.shape, torch.nan),
            "none": lambda: None,
            "number": lambda: 3.0,
            "text": lambda: "data.csv",
            "dict": lambda: {"a": 1.0},
            "set": lambda: {1.0, 2.0},
            "generator": lambda: (row for row in X),
            "objects": lambda: np.array([[object()] * 2] * max(n, 1), dtype=object),
            "holes": lambda: np.full(X.shape, None, dtype=object),
            "three axes": lambda: X[None, :, None] if X.ndim == 1 else X[None],
            "no axis": lambda: np.float64(1.0),
            "no rows": lambda: X[:0],
            "sparse": lambda: scipy.sparse.csr_array((np.atleast_2d(X) if X.ndim < 3 else X[0]) * 1j),
            "sparse tensor": lambda: torch.eye(max(n, 2)).to_sparse(),
            "frame of texts": lambda: pd.DataFrame({"c0": ["a"] * n}),
            "frame of dates": lambda: pd.DataFrame({"c0": [datetime.datetime(2020, 1, 1)] * n}),
            "frame with holes": lambda: pd.DataFrame({"c0": pd.array([None] * n, dtype="Float64")}),
            "polars of texts": lambda: pl.DataFrame({"c0": ["a"] * n}),
            "polars with holes": lambda: pl.DataFrame({"c0": [None] * n}, schema={"c0": pl.Float64}),
            "object": object,
            "class": lambda: dict,
        }
        if X.ndim == 2:
            bad["one axis"] = lambda: X[:, 0]
            bad["no columns"] = lambda: X[:, :0]
        name = case.one_of(bad)
        return name, bad[name]()
