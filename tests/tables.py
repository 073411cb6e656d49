"""What a test reads of a file, as a command reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rkhs.data import Dataset
from rkhs.data.formats import TABLES, extension_of
from rkhs.data.frames import frame_blocks, read_frame, selected, to_dataset, with_index
from rkhs.data.items import kind_of, read_objects


def read_table(path: str | Path, *, index_column: Any = None, columns: Any = None, **read: Any) -> Dataset:
    """The rows of a table or an array."""
    if extension_of(path) not in TABLES:
        return read_objects(Path(path), kind_of(Path(path)), key=read.get("key"), fingerprint={})
    frame = with_index(read_frame(Path(path), read), index_column)
    return to_dataset(selected(frame, columns, None), str(path))


def read_blocks(path: str | Path, rows: int, **read: Any) -> list[Dataset]:
    """The rows of a table or an array, some at a time."""
    if extension_of(path) not in TABLES:
        return [read_table(path, **read)]
    return [to_dataset(with_index(frame, None), str(path)) for frame in frame_blocks(Path(path), read, rows)]
