"""Codes of rows of any number, block by block, into a .npy file or a folder of parquet files."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rkhs._core.arrays import Items, tile_rows, tiles
from rkhs._core.checks import check_methods
from rkhs._core.errors import InputError, optional
from rkhs._core.files import as_path, atomic_path
from rkhs._core.threads import within_limit
from rkhs.engines import ArrayRows, Block, Rows, as_rows, make_engine, row_blocks
from rkhs.estimators.base import KernelEstimator
from rkhs.estimators.options.arguments import EngineLike
from rkhs.protocols import show

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
    """Encode rows with a fitted model, block by block, into the parquet files of a folder."""
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
            with atomic_path(_file(place, block)) as temporary:
                parquet.write_table(pa.table(columns), temporary)
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
    """Write what the files of a folder hold, or check it."""
    path = folder / _MANIFEST
    if path.exists():
        try:
            known = json.loads(path.read_text())
        except (OSError, ValueError):  # it is damaged, or of something else
            known = None
        if known == {"task": task}:
            return
        raise InputError(
            f"{str(folder)!r} holds codes of another model, other rows or another block size; choose another folder, "
            "or empty this one"
        )
    if any(folder.glob("*.parquet")):
        raise InputError(f"{str(folder)!r} holds parquet files of something else; choose another folder")
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps({"task": task}))


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


@within_limit
def transform_file(
    model: KernelEstimator,
    source: Items | Rows | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    progress: bool = False,
    layer: int | None = None,
) -> tuple[int, int]:
    """Encode rows of a file, or of any size, into a ``.npy`` file, a tile at a time."""
    if not os.fspath(path).lower().endswith(".npy"):
        raise InputError(f"codes are streamed to .npy files; got {os.fspath(path)!r}. Name a .npy file")
    check_is_fitted(model)
    if model.kernel_.domain != "vectors":
        raise InputError("streams are rows of numbers; this model reads other items. Leave out --stream")
    rows, options = as_rows(source), {} if layer is None else {"layer": layer}
    n, step, clock = rows.shape[0], tile_rows(model.map_.width), time.perf_counter()
    width = 0
    # Written in order, not through a memory map: on a full disk a map ends the process without a word.
    with atomic_path(path) as temporary, open(temporary, "wb") as handle:
        for tile in tiles(n, step):
            part = np.ascontiguousarray(model.transform(ArrayRows(rows.read(tile.start, tile.stop)), **options))
            if tile.start == 0:
                width = part.shape[1]
                head = {"descr": np.lib.format.dtype_to_descr(part.dtype), "fortran_order": False, "shape": (n, width)}
                np.lib.format.write_array_header_1_0(handle, head)
            handle.write(part.data)
            if progress:
                show(f"{tile.stop} of {n} rows", time.perf_counter() - clock, tile.stop / n)
    if progress:
        sys.stderr.write("\n")
    return n, width
