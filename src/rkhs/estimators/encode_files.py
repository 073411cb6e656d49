"""Codes of any number of rows, written block by block to the parquet files of a folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from rkhs._core.checks import check_methods
from rkhs._core.errors import InputError, optional
from rkhs._core.files import as_path, atomic_file
from rkhs._core.threads import within_limit
from rkhs.engines import Block, Rows, as_rows, make_engine, row_blocks
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.options.arguments import EngineLike

_MANIFEST = "_rkhs.json"
_SAMPLED = 1024  # rows that a fingerprint reads


@within_limit
def encode_to_parquet(
    model: KernelEstimator,
    X: Any,
    folder: Any,
    *,
    engine: EngineLike = "serial",
    block_size: int = 16384,
) -> int:
    """Encode rows with a fitted model, block by block, into the parquet files of a folder.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> from rkhs.estimators import encode_to_parquet
    >>> X = load_iris().data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n_rows = encode_to_parquet(KernelPCA(2).fit(X), X, folder, block_size=100)
    ...     codes = pd.read_parquet(folder)
    >>> n_rows, codes.shape
    (150, (150, 2))
    """
    pa, parquet = optional("pyarrow"), optional("pyarrow.parquet")
    check_methods(model, "model", ("transform",))
    rows = as_rows(X)
    blocks = row_blocks(rows.shape[0], block_size)
    place = _make_folder(folder)
    _check_manifest(place, _fingerprint(*_sample(rows), model.transform(rows.read(0, 1)), np.array(block_size)))
    missing = [block for block in blocks if not _file(place, block).exists()]
    running = make_engine(engine)
    try:
        placed = running.place(rows)
        for block, codes in zip(missing, running.map(_encode_block, missing, placed, model), strict=True):
            columns = {f"component{j}": codes[:, j] for j in range(codes.shape[1])}
            with atomic_file(_file(place, block)) as handle:
                parquet.write_table(pa.table(columns), handle)
    finally:
        if running is not engine:
            running.close()
    return rows.shape[0]


def _make_folder(folder: Any) -> Path:
    place = as_path(folder, "folder")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(
            f"folder must be a folder, or a name where one can be made; got {str(folder)!r} ({error}); name another"
        ) from error
    return place


def _file(folder: Path, block: Block) -> Path:
    return folder / f"part-{block.index:08d}.parquet"


def _check_manifest(folder: Path, task: str) -> None:
    """Write the manifest of a folder, or check that it is that of the same task."""
    path = folder / _MANIFEST
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # damaged, or another file of that name
            known = None
        if known == {"task": task}:
            return
        raise InputError(
            f"{str(folder)!r} holds codes of another model, other rows or another block size; choose another folder, "
            "or empty this one"
        )
    if any(folder.glob("*.parquet")):
        raise InputError(f"{str(folder)!r} holds parquet files of something else; choose another folder")
    with atomic_file(path) as handle:
        handle.write(json.dumps({"task": task}).encode())


def _sample(rows: Rows) -> list[np.ndarray]:
    """The shape of rows and 1024 of them, in sixteen stretches: a file is opened a few times, not a thousand."""
    n = rows.shape[0]
    chosen = np.unique(np.linspace(0, n - 1, min(n, _SAMPLED)).astype(np.int64))
    runs = np.array_split(chosen, min(len(chosen), 16))
    return [np.array(rows.shape), *(rows.read(int(run[0]), min(int(run[0]) + len(run), n)) for run in runs)]


def _fingerprint(*arrays: np.ndarray) -> str:
    """SHA-256 of arrays, with their shapes and dtypes."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype.str} {array.shape} ".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def _encode_block(items: np.ndarray, block: Block, model: KernelEstimator) -> np.ndarray:
    return np.ascontiguousarray(model.transform(items))
