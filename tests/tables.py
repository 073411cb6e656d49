"""What a test reads of a file, as a command reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rkhs.data import Dataset
from rkhs.data.dataset import existing_path
from rkhs.data.formats import TABLES, extension_of
from rkhs.data.frames import frame_blocks, read_frame, selected, to_dataset, with_index
from rkhs.data.items import kind_of, read_objects


def read_table(path: str | Path, *, index_column: Any = None, columns: Any = None, **read: Any) -> Dataset:
    """The rows of a table or an array."""
    file = existing_path(path)
    if extension_of(file) not in TABLES:
        return read_objects(file, kind_of(file), key=read.get("key"), fingerprint={})
    frame = with_index(read_frame(file, read), index_column)
    return to_dataset(selected(frame, columns, None), str(path))


def read_blocks(path: str | Path, rows: int, *, index_column: Any = None, **read: Any) -> list[Dataset]:
    """The rows of a table or an array, some at a time."""
    if extension_of(path) not in TABLES:
        return [read_table(path, **read)]
    return [to_dataset(with_index(frame, index_column), str(path)) for frame in frame_blocks(Path(path), read, rows)]
