"""Codes in the files of a folder, which a second call goes on with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rkhs import KernelPCA
from rkhs._core.errors import InputError
from rkhs.engines import Threads
from rkhs.estimators.encode_files import encode_to_parquet

X = np.random.default_rng(0).normal(size=(9000, 4))


def test_codes_go_to_parquet_by_blocks_and_go_on(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    model = KernelPCA(2).fit(X[:60])
    folder = tmp_path / "codes"
    assert encode_to_parquet(model, X, folder, block_size=2000) == 9000
    files = sorted(folder.glob("*.parquet"))
    assert len(files) == 5
    table = np.concatenate([parquet.read_table(file).to_pandas().to_numpy() for file in files])
    np.testing.assert_allclose(table, model.transform(X), atol=1e-12)
    first = [file.read_bytes() for file in files]
    files[1].unlink()
    untouched = files[2].stat().st_mtime_ns
    encode_to_parquet(model, X, folder, engine=Threads(2), block_size=2000)
    assert [file.read_bytes() for file in files] == first
    assert files[2].stat().st_mtime_ns == untouched
    for changed in (X[:-1], X + 1e-9, X.astype(np.float32)):
        with pytest.raises(InputError, match="codes of another model, other rows or another block size"):
            encode_to_parquet(model, changed, folder, block_size=2000)
