"""What a test reads of a file that a command wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rkhs.data import Dataset
from rkhs.data.formats import TABLES, extension_of
from rkhs.data.frames import read_frame, selected, to_dataset, with_index
from rkhs.data.items import kind_of, read_objects


def read_table(path: str | Path, *, index_column: Any = None, columns: Any = None, **read: Any) -> Dataset:
    """The rows of a table or an array, as a command reads them."""
    if extension_of(path) not in TABLES:
        return read_objects(Path(path), kind_of(Path(path)), fingerprint={})
    frame = with_index(read_frame(Path(path), read), index_column)
    return to_dataset(selected(frame, columns, None), str(path))
