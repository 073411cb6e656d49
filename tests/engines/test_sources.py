"""Rows from batches and files: read again whenever they are asked for, and refused where they are no rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from rkhs._core.errors import InputError
from rkhs.engines import as_rows

pandas = pytest.importorskip("pandas", reason="the extra tables is not installed")
pytest.importorskip("pyarrow", reason="the extra tables is not installed")

X = np.random.default_rng(0).normal(size=(900, 8))


class Loader:
    """Yields batches again whenever it is asked."""

    def __iter__(self) -> Iterator[np.ndarray]:
        yield from np.array_split(X, 7)


def test_batches_of_rows_are_rows(tmp_path: Path) -> None:
    frame = pandas.DataFrame(X, columns=list("abcdefgh"))
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=300)
    sources: list[Any] = [
        Loader(),
        (batch for batch in np.array_split(X, 3)),
        DataLoader(TensorDataset(torch.as_tensor(X)), batch_size=100, generator=torch.Generator()),
        tmp_path / "x.parquet",
    ]
    for source in sources:
        np.testing.assert_array_equal(as_rows(source).read(), X)


def test_temporary_files_go_with_their_rows() -> None:
    rows: Any = as_rows(Loader())
    path = Path(rows._layout[0])
    np.testing.assert_array_equal(rows.part(5, 300).read(10, 20), X[15:25])
    assert path.exists()
    del rows
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (iter([]), "X must yield batches of rows; got none"),
        (
            iter([np.zeros((2, 3)), np.zeros((2, 4))]),
            r"matrices of 3 columns .*; batch 1 has shape \(2, 4\)",
        ),
        (iter([np.zeros(3)]), r"batch 0 has shape \(3,\)"),
        (iter([np.array([["a"]])]), "real numbers"),
    ],
)
def test_batches_that_are_no_rows_are_refused(batches: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_rows(batches)
